/* SPDX-License-Identifier: BSD-2-Clause */
/* Two fabrics of one process, driven by one thread. */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>

#include "softnic/clock.h"
#include "tests/fabric/port.h"
#include "tests/harness/harness.h"

static struct port a, b;

static void open_pair(void)
{
	ports_open(&a, &b);
}

static void close_pair(void)
{
	ports_close(&a, &b);
}

Test(pair, send__arrives_in_order_both_ways, .init = open_pair, .fini = close_pair)
{
	ports_exchange(&a, &b, SN_FAB_MAX);
}

Test(pair, deliver__may_send, .init = open_pair, .fini = close_pair)
{
	ports_echo(&a, &b);
}

static void open_resting_pair(void)
{
	port_open(&a, 0);
	port_open(&b, SN_FAB_RESTS);
	port_aim(&a, &b.addr);
	port_aim(&b, &a.addr);
	cr_assert_eq(port_send(&a, 0, 64), 0);
	ports_settle(&a, &b);
}

#if defined(__x86_64__)
/* A rest is over before the next line if this thread is interrupted there. */
Test(pair, poll__of_packets_begins_a_rest, .init = open_resting_pair, .fini = close_pair)
{
	uint32_t i = 1;

	do {
		cr_assert_lt(i, 1000u, "b never rests");
		cr_assert_eq(port_send(&a, i++, 64), 0);
		sn_fab_poll(b.fab, 32);
	} while (!sn_fab_rests(b.fab));
	sn_sleep_us(1000);
	cr_assert_not(sn_fab_rests(b.fab));
}
#endif

Test(pair, quiet__in_a_rest_sees_packets, .init = open_resting_pair, .fini = close_pair)
{
	cr_assert_eq(port_send(&a, 1, 64), 0);
	sn_fab_poll(b.fab, 32);
	cr_assert_eq(port_send(&a, 2, 64), 0);
	cr_assert_not(sn_fab_quiet(b.fab));
}

Test(pair, poll__that_leaves_packets_begins_no_rest, .init = open_resting_pair, .fini = close_pair)
{
	sn_sleep_us(1000);
	cr_assert_eq(port_send(&a, 1, 64), 0);
	cr_assert_eq(port_send(&a, 2, 64), 0);
	cr_assert_eq(sn_fab_poll(b.fab, 1), 1);
	cr_assert_not(sn_fab_rests(b.fab));
}

Test(pair, send__to_an_absent_gid_is_unreachable, .init = open_pair, .fini = close_pair)
{
	struct sn_addr absent = a.addr;

	absent.raw[3] ^= 1;
	port_aim(&a, &absent);
	cr_assert_eq(port_send(&a, 0, 64), -EHOSTUNREACH);
}

Test(pair, send__of_bad_length_is_refused, .init = open_pair, .fini = close_pair)
{
	static uint8_t big[SN_FAB_MAX + 1];
	struct iovec iov = {big, sizeof(big)};

	cr_assert_eq(sn_fab_send(a.fab, &a.peer, &iov, 1), -EMSGSIZE);
	iov.iov_len = 0;
	cr_assert_eq(sn_fab_send(a.fab, &a.peer, &iov, 1), -EMSGSIZE);
}

Test(pair, open__of_a_taken_address_fails, .init = open_pair, .fini = close_pair)
{
	struct sn_fab_config config = {.gid = a.addr};
	struct sn_fab *fab = (void *)1;

	cr_assert_eq(sn_fab_open(&config, &fab), -EADDRINUSE);
	cr_assert_eq(fab, (void *)1, "the failed open changed its output");
}

Test(pair, stop__leaves_packets_for_the_next_poll, .init = open_resting_pair, .fini = close_pair)
{
	sn_sleep_us(1000);
	b.stops = true;
	for (uint32_t i = 1; i < 4; i++)
		cr_assert_eq(port_send(&a, i, 64), 0);
	for (unsigned int i = 1; i < 4; i++) {
		cr_expect_eq(sn_fab_poll(b.fab, 32), 1);
		cr_expect_eq(b.last, i);
		cr_expect_not(sn_fab_rests(b.fab));
	}
}

Test(pair, close__is_seen_and_a_new_device_is_reached, .init = open_pair, .fini = close_pair)
{
	struct sn_addr addr = b.addr;

	cr_assert_eq(port_send(&a, 0, 64), 0);
	ports_settle(&a, &b);
	sn_fab_close(b.fab);
	sn_fab_poll(a.fab, 1);
	cr_assert_eq(a.down, 1);
	cr_assert_eq(port_send(&a, 1, 64), -EHOSTUNREACH);
	port_open_at(&b, &addr, 0);
	port_aim(&b, &a.addr);
	cr_assert_eq(port_send(&a, 2, 64), 0);
	ports_settle(&a, &b);
	cr_assert_eq(b.got, 1);
	cr_assert_eq(b.last, 2);
}

/* Packets sent before the close are still delivered. */
Test(pair, close__delivers_sent_packets, .init = open_pair)
{
	cr_assert_eq(port_send(&a, 0, 64), 0);
	cr_assert_eq(port_send(&a, 1, 64), 0);
	ports_settle(&a, &b);
	cr_assert_eq(port_send(&a, 2, 64), 0);
	sn_fab_close(a.fab);
	sn_fab_poll(b.fab, 64);
	cr_assert_eq(b.got, 3);
	cr_assert_eq(b.down, 1);
	sn_fab_close(b.fab);
}

Test(pair, close__delivers_sent_packets_to_a_device_that_stops, .init = open_pair)
{
	cr_assert_eq(port_send(&a, 0, 64), 0);
	ports_settle(&a, &b);
	b.stops = true;
	for (uint32_t i = 1; i < 4; i++)
		cr_assert_eq(port_send(&a, i, 64), 0);
	sn_fab_close(a.fab);
	sn_fab_poll(b.fab, 64);
	cr_expect_eq(b.got, 4);
	cr_expect_eq(b.down, 1);
	sn_fab_close(b.fab);
}

Test(pair, full_ring__loses_nothing_and_sleep_requests_room, .init = open_pair, .fini = close_pair)
{
	struct sn_fab_stats stats;
	struct pollfd woken;
	uint32_t n = 0;

	while (port_send(&a, n, 2000) == 0)
		cr_assert_lt(++n, PORT_RING / 2000);
	cr_assert_gt(n, 20);
	cr_assert_not(sn_fab_has_room(a.fab, &a.peer));
	cr_assert(sn_fab_unread(a.fab, &a.peer));
	cr_assert(sn_fab_sleep(a.fab), "the producer cannot sleep until there is room");
	sn_fab_poll(b.fab, 1000);
	cr_assert_eq(b.got, n);
	woken = (struct pollfd){sn_fab_fd(a.fab), POLLIN, 0};
	cr_assert_eq(poll(&woken, 1, 1000), 1, "the consumer did not wake the producer");
	cr_assert(sn_fab_has_room(a.fab, &a.peer));
	cr_assert_not(sn_fab_unread(a.fab, &a.peer));
	cr_assert_not(sn_fab_sleep(a.fab), "the producer sleeps although the room has not been used");
	cr_assert(sn_fab_sleep(a.fab), "a producer that sends no more cannot sleep");
	cr_assert_eq(port_send(&a, n, 2000), 0);
	ports_settle(&a, &b);
	cr_assert_eq(b.got, n + 1);
	cr_assert_eq(b.bad + b.disordered, 0);
	sn_fab_stats(a.fab, &stats);
	cr_assert_eq(stats.full, 1);
}

Test(pair, polling__makes_no_wakeups, .init = open_pair, .fini = close_pair)
{
	struct sn_fab_stats stats;
	uint32_t i;

	for (i = 0; i < 1000; i++) {
		cr_assert_eq(port_send(&a, i, 64), 0);
		sn_fab_poll(b.fab, 16);
	}
	sn_fab_stats(a.fab, &stats);
	cr_assert_eq(stats.wakeups, 0);
}

Test(pair, sleeping__is_woken_once_per_sleep, .init = open_pair, .fini = close_pair)
{
	struct pollfd fd;
	struct sn_fab_stats stats;

	cr_assert_eq(port_send(&a, 0, 64), 0);
	ports_settle(&a, &b);
	cr_assert(sn_fab_sleep(b.fab));
	fd = (struct pollfd){sn_fab_fd(b.fab), POLLIN, 0};
	cr_assert_eq(poll(&fd, 1, 0), 0);
	cr_assert_eq(port_send(&a, 1, 64), 0);
	cr_assert_eq(port_send(&a, 2, 64), 0);
	cr_assert_eq(poll(&fd, 1, 1000), 1);
	cr_assert_not(sn_fab_sleep(b.fab), "the fabric can sleep although packets wait");
	sn_fab_awake(b.fab);
	sn_fab_service(b.fab);
	cr_assert_eq(sn_fab_poll(b.fab, 16), 2);
	cr_assert_eq(poll(&fd, 1, 0), 0,
		     "the descriptor is still readable after all packets were read");
	sn_fab_stats(a.fab, &stats);
	cr_assert_eq(stats.wakeups, 1);
}

Test(pair, own_address__is_a_loopback)
{
	uint32_t i;

	port_open(&a, SN_FAB_ALONE);
	port_aim(&a, &a.addr);
	for (i = 0; i < 500; i++) {
		cr_assert_eq(port_send(&a, i, port_len(i)), 0);
		if (i % 5 == 4)
			sn_fab_poll(a.fab, 64);
	}
	cr_assert_eq(a.got, 500);
	cr_assert_eq(a.bad + a.disordered, 0);
	a.peer.gid.raw[0] ^= 1;
	cr_assert_eq(port_send(&a, 0, 64), -EHOSTUNREACH,
		     "a send to an unknown address did not return -EHOSTUNREACH");
	cr_assert_eq(sn_fab_fd(a.fab), -1);
	sn_fab_close(a.fab);
}

Test(pair, open_and_close__leak_nothing)
{
	struct th_usage before, after;
	int i;

	for (i = 0; i < 40; i++) {
		if (i == 8)
			th_usage(&before);
		open_pair();
		cr_assert_eq(port_send(&a, 0, 64), 0);
		ports_settle(&a, &b);
		close_pair();
	}
	th_usage(&after);
	cr_assert_eq(after.fds, before.fds);
	cr_assert_leq(after.maps, before.maps + 2);
}

/* Each allocation and mapping of the open and of the first packet fails once: it returns an error,
 * without side effects. */
Test(pair, no_memory__is_an_error_and_leaks_nothing)
{
	struct sn_fab_config config = {.flags = 0};
	unsigned int kinds[] = {TH_FAIL_HEAP, TH_FAIL_MMAP}, k;
	struct th_usage before, after;
	unsigned long n, count;

	open_pair();
	th_usage(&before);
	for (k = 0; k < 2; k++) {
		for (n = 1, count = n; n <= count; n++) {
			struct port c = {0};
			struct sn_fab *fab;

			config.gid = a.addr;
			config.gid.raw[0] ^= 0xff;
			config.deliver = NULL;
			th_fail_start(kinds[k], n);
			if (!sn_fab_open(&config, &fab)) {
				c.fab = fab;
				port_aim(&c, &b.addr);
				if (!port_send(&c, 0, 64))
					ports_settle(&b, &b);
			}
			count = th_fail_stop();
			if (c.fab)
				sn_fab_close(c.fab);
			ports_settle(&a, &b);
		}
		cr_assert_gt(count, 0);
	}
	th_usage(&after);
	cr_assert_eq(after.fds, before.fds);
	close_pair();
}

Test(pair, no_descriptors__is_an_error_until_there_are, .init = open_pair, .fini = close_pair)
{
	unsigned int left;

	/* A link needs two descriptors: a socket and, until it is passed on, a file. */
	for (left = 0; left < 2; left++) {
		cr_assert_eq(th_fds_limit(left), 0);
		cr_expect_eq(port_send(&a, 0, 64), -EMFILE,
			     "the send did not return -EMFILE with %u descriptors left", left);
		sn_fab_poll(b.fab, 8);
		th_fds_restore();
	}
	cr_assert_eq(port_send(&a, 0, 64), 0);
	ports_settle(&a, &b);
	cr_assert_geq(b.got, 1);
}
