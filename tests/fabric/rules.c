/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules of a fault script: their syntax, and the packets on which they act. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/fabric/port.h"
#include "tests/harness/harness.h"

static struct port a, b;
static char why[256];

static int parse_word(void *fault, char *word)
{
	(void)fault;
	return strcmp(word, "far") ? -EINVAL : 0;
}

static int parse(const char *text, struct sn_script *script)
{
	static const char *const ops[] = {"even", "odd", NULL};
	static const struct sn_script_terms terms = {
		.ops = ops, .actions = ~(1u << SN_CORRUPT), .max_qpn = 255, .max_psn = 255,
	};

	why[0] = '\0';
	return sn_script_parse(text, &terms, script, parse_word, NULL, why, sizeof(why));
}

Test(rules, parse__wrong_part_is_named_with_what_is_allowed)
{
	static const char *const all[][3] = {
		{"lose:op=odd", "lose", "drop, delay, reorder, dup"},
		{"corrupt:op=odd", "corrupt", "drop, delay, reorder, dup"},
		{"drop:op=write", "drop:op=write", "even, odd"},
		{"far;drop:psn=x", "drop:psn=x", "+n"},
		{"drop:psn=+0", "psn=+0", "n >= 1"},
		{"drop:psn=256", "psn=256", "packet number"},
		{"drop:psn=", "psn=", "packet number"},
		{"drop:qpn=-1", "qpn=-1", "or all"},
		{"drop:dir=both", "dir=both", "in or out"},
		{"drop:times=0", "times=0", "from 1"},
		{"drop:times=4294967296", "times=4294967296", "from 1"},
		{"drop:every=0", "every=0", "from 1"},
		{"drop:every=x", "every=x", "from 1"},
		{"drop:every=4294967296", "every=4294967296", "from 1"},
		{"drop:us=5", "us=5", "only in a delay"},
		{"delay:us=1000001", "us=1000001", "1000000"},
		{"drop:op", "drop:op", "op=, qpn=, psn=, dir=, times=, every= and us="},
		{"drop:size=3", "drop:size", "op=, qpn=, psn=, dir=, times=, every= and us="},
		{"near", "near", "softnic-run(1)"},
		{"drop:op=odd;near", "near", "softnic-run(1)"},
		{"drop=0.1", "drop=0.1", "unknown word or wrong value"},
	};
	struct sn_script script;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		cr_expect_eq(parse(all[i][0], &script), -EINVAL, "\"%s\" was accepted", all[i][0]);
		cr_expect(strstr(why, all[i][1]) && strstr(why, all[i][2]), "\"%s\": %s", all[i][0], why);
	}
}

Test(rules, parse__too_many_rules_are_refused)
{
	char text[1024] = "far";
	struct sn_script script;

	for (int i = 0; i < SN_RULES; i++)
		strcat(text, ";drop:op=odd");
	cr_assert_eq(parse(text, &script), 0, "%s", why);
	cr_assert_eq(script.rules, SN_RULES);
	strcat(text, ";drop:op=odd");
	cr_assert_eq(parse(text, &script), -EINVAL);
	cr_assert(strstr(why, "at most 16"), "%s", why);
}

Test(rules, parse__items_are_read_and_the_rest_has_defaults)
{
	struct sn_script s;

	cr_assert_eq(parse("delay:op=odd,qpn=0x10,psn=7,dir=in,times=3,us=9;drop:;;dup:psn=+5,qpn=all", &s),
		     0, "%s", why);
	cr_assert_eq(s.rules, 3);
	cr_assert(s.rule[0].action == SN_DELAY && s.rule[0].op == 1 && s.rule[0].in && s.rule[0].times == 3 &&
		  s.rule[0].us == 9);
	cr_assert(!s.rule[0].any_qpn && s.rule[0].qpn == 16 && !s.rule[0].any_psn && s.rule[0].psn == 7);
	cr_assert(s.rule[1].action == SN_DROP && s.rule[1].op == -1 && !s.rule[1].in && s.rule[1].any_qpn &&
		  s.rule[1].any_psn && s.rule[1].skip == 0 && s.rule[1].times == 1);
	cr_assert(s.rule[2].action == SN_DUP && s.rule[2].any_psn && s.rule[2].skip == 4);
	cr_assert(s.rule[0].every == 1 && s.rule[1].every == 1);
	cr_assert_eq(parse("drop:every=5;drop:times=2,every=1", &s), 0, "%s", why);
	cr_assert(s.rule[0].every == 5 && s.rule[0].times == UINT32_MAX);
	cr_assert(s.rule[1].every == 1 && s.rule[1].times == 2);
}

/* ---- Effects: a sends packets by their numbers */

static struct sn_fab_faults script_of(const char *text)
{
	struct sn_fab_faults faults = {0};

	cr_assert_eq(parse(text, &faults.script), 0, "%s", why);
	return faults;
}

static void set(struct port *port, const char *text)
{
	struct sn_fab_faults faults = script_of(text);

	cr_assert_eq(sn_fab_set_faults(port->fab, &faults), 0);
}

static void send(const uint32_t *numbers, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		cr_assert_eq(port_send(&a, numbers[i], 40), 0);
	ports_settle(&a, &b);
}

static void expect(const uint32_t *numbers, unsigned int n)
{
	cr_assert_eq(b.got, n, "%u packets arrived instead of %u", b.got, n);
	for (unsigned int i = 0; i < n; i++)
		cr_assert_eq(b.log[i], numbers[i], "packet %u is %#x instead of %#x", i, b.log[i],
			     numbers[i]);
	cr_assert_eq(b.bad, 0);
}

#define SEND(...) send((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)
#define EXPECT(...) expect((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

/* Each scene runs by memory and by UDP, with the rules at the sender and at the receiver. */
static void play(const char *rules, void (*scene)(void))
{
	char text[200];

	for (unsigned int i = 0; i < 4; i++) {
		if (i & 1)
			ports_open_udp(&a, &b, "127.0.0.1");
		else
			ports_open(&a, &b);
		snprintf(text, sizeof(text), "%s,dir=%s", rules, i & 2 ? "in" : "out");
		set(i & 2 ? &b : &a, text);
		scene();
		ports_close(&a, &b);
	}
}

/* The third and the fourth packet of each QP, however the packets of the QPs are mixed. */
static void two_of_each_qp(void)
{
	struct sn_fab_stats out, in;

	SEND(0x100, 0x200, 0x101, 0x201, 0x202, 0x203, 0x204, 0x102, 0x103, 0x104);
	EXPECT(0x100, 0x200, 0x101, 0x201, 0x204, 0x104);
	sn_fab_stats(a.fab, &out);
	sn_fab_stats(b.fab, &in);
	cr_assert_eq(out.dropped + in.dropped, 4);
}

Test(rules, psn__counts_from_the_first_packet_of_each_qp)
{
	play("drop:psn=+3,times=2", two_of_each_qp);
}

/* The third and the sixth packet of each QP, and the ninth. */
static void third_of_each_qp(void)
{
	SEND(0x100, 0x200, 0x201, 0x101, 0x102, 0x103, 0x202, 0x104, 0x105, 0x106, 0x107, 0x108);
	EXPECT(0x100, 0x200, 0x201, 0x101, 0x103, 0x104, 0x106, 0x107);
}

Test(rules, every__acts_on_each_nth_packet_without_end)
{
	play("drop:every=3", third_of_each_qp);
}

/* From the second packet on, every other one, and two in all. */
static void twice_from_the_second(void)
{
	SEND(1, 2, 3, 4, 5, 6, 7, 8, 9);
	EXPECT(1, 2, 4, 6, 7, 8, 9);
}

Test(rules, every__counts_from_psn_and_ends_after_times)
{
	play("drop:every=2,psn=+2,times=2", twice_from_the_second);
}

static void by_number(void)
{
	SEND(0x105, 0x205, 0x106, 0x105, 0x105);
	EXPECT(0x205, 0x106, 0x105);
}

/* A number matches retransmissions, too. */
Test(rules, psn__without_plus_is_the_number_of_the_packet)
{
	play("drop:psn=5,qpn=1,times=2", by_number);
}

static void by_op(void)
{
	SEND(0x102, 0x104, 0x101, 0x106, 0x103);
	EXPECT(0x102, 0x104, 0x101, 0x106);
}

Test(rules, op__counts_only_its_packets)
{
	play("drop:op=odd,psn=+2", by_op);
}

static void twice(void)
{
	SEND(1, 2, 3, 4);
	EXPECT(1, 2, 2, 3, 4);
}

Test(rules, dup__repeats_the_packet)
{
	play("dup:op=even", twice);
}

/* The packet of another QP does not pass it. */
static void overtaken(void)
{
	SEND(0x101, 0x201, 0x103, 0x105);
	EXPECT(0x201, 0x103, 0x101, 0x105);
}

Test(rules, reorder__waits_for_the_next_packet_of_the_qp)
{
	play("reorder:qpn=1", overtaken);
}

static void delayed(void)
{
	SEND(1, 2);
	cr_assert(TH_WITHIN(20000, (sn_fab_poll(a.fab, 1), sn_fab_poll(b.fab, 1), b.got == 2)));
	cr_assert_eq(sn_fab_deadline(a.fab) + sn_fab_deadline(b.fab), 0);
}

Test(rules, delay__ends_after_its_time)
{
	play("delay:psn=+1,us=3000", delayed);
}

/* After the first packet, a poll finds the second and the third one due. */
static void delayed_in_order(void)
{
	struct timespec pause = {.tv_nsec = 2 * 20000 * 1000};

	SEND(1, 2);
	cr_assert(TH_WITHIN(20000, (sn_fab_poll(a.fab, 1), sn_fab_poll(b.fab, 1), b.got >= 1)));
	cr_assert_eq(port_send(&a, 3, 40), 0);
	sn_fab_poll(b.fab, 1);
	nanosleep(&pause, NULL);
	cr_assert(TH_WITHIN(20000, (sn_fab_poll(a.fab, 1), sn_fab_poll(b.fab, 1), b.got == 3)));
	EXPECT(1, 2, 3);
}

Test(rules, delay__keeps_the_order_of_packets_with_the_same_delay)
{
	play("delay:psn=+1,us=1;delay:psn=+2,times=9,us=20000", delayed_in_order);
}

static void many_delayed(void)
{
	for (uint32_t i = 0; i < PORT_LOG; i++)
		cr_assert_eq(port_send(&a, i, 40), 0);
	cr_assert(TH_WITHIN(20000, (sn_fab_poll(a.fab, 1), sn_fab_poll(b.fab, 1), b.got == PORT_LOG)));
	cr_assert_eq(b.disordered, 0);
}

Test(rules, delay__of_many_packets_keeps_their_order)
{
	play("delay:every=1,us=20000", many_delayed);
}

Test(rules, dir__packets_of_the_other_direction_are_untouched)
{
	ports_open(&a, &b);
	set(&a, "drop:times=9,dir=in");
	set(&b, "drop:times=9,dir=out");
	SEND(1, 2);
	EXPECT(1, 2);
	ports_close(&a, &b);
}

Test(rules, rules__count_independently)
{
	ports_open(&a, &b);
	set(&a, "dup:op=even,psn=+2;drop:psn=+1;drop:op=odd,psn=+4");
	SEND(1, 2, 3, 4, 5, 7);
	EXPECT(2, 3, 4, 4, 5);
	ports_close(&a, &b);
}

/* Anyone may send packets to queue pairs that do not exist. Their number must not fill the memory. */
Test(rules, packets__of_more_queue_pairs_than_a_script_counts_pass)
{
	enum { MORE = 10 };
	struct sn_fab_stats stats;

	ports_open(&a, &b);
	set(&b, "drop:dir=in");
	for (uint32_t qpn = 0; qpn < SN_STREAMS + MORE; qpn++) {
		cr_assert_eq(port_send(&a, qpn << 8, 40), 0);
		if (qpn % 64 == 0)
			ports_settle(&a, &b);
	}
	ports_settle(&a, &b);
	sn_fab_stats(b.fab, &stats);
	cr_assert_eq(stats.dropped, SN_STREAMS);
	cr_assert_eq(b.got, MORE);
	ports_close(&a, &b);
}

Test(rules, end__loses_what_was_held_on_arrival_and_sends_the_rest)
{
	static const struct sn_fab_faults none;

	ports_open(&a, &b);
	set(&a, "delay:us=1000000");
	port_send(&a, 1, 40);
	port_send(&a, 2, 40);
	cr_assert_eq(sn_fab_set_faults(a.fab, &none), 0);
	ports_settle(&a, &b);
	EXPECT(2, 1);
	set(&b, "delay:us=1000000,dir=in");
	port_send(&a, 3, 40);
	port_send(&a, 4, 40);
	sn_fab_poll(b.fab, 64);
	cr_assert_eq(sn_fab_set_faults(b.fab, &none), 0);
	ports_settle(&a, &b);
	EXPECT(2, 1, 4);
	cr_assert_eq(sn_fab_deadline(b.fab), 0);
	ports_close(&a, &b);
}

/* What a sends is captured before its faults, and what b receives after its own. */
static void capture_over(const char *ip)
{
	struct sn_fab_faults faults = script_of("drop:psn=3;dup:psn=4");

	faults.capture = true;
	if (ip)
		ports_open_udp(&a, &b, ip);
	else
		ports_open(&a, &b);
	cr_assert_eq(sn_fab_set_faults(a.fab, &faults), 0);
	faults = script_of("drop:psn=5,dir=in");
	faults.capture = true;
	cr_assert_eq(sn_fab_set_faults(b.fab, &faults), 0);
	SEND(1, 2, 3, 4, 5);
	EXPECT(1, 2, 4, 4);
	cr_assert(a.captured[0] == 5 && a.captured[1] == 0 && b.captured[0] == 0 && b.captured[1] == 4);
	ports_close(&a, &b);
}

Test(rules, capture__sees_the_side_of_the_adapter)
{
	capture_over(NULL);
	capture_over("127.0.0.1");
}
