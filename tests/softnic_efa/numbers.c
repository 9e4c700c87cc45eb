/* SPDX-License-Identifier: BSD-2-Clause */
/* Packet numbers: state is kept for the last 4,096 of them. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/efa/wire.h"
#include "softnic/fabric/fabric.h"
#include "tests/softnic_efa/rig.h"

enum { NUMBERS = 4096, READS = 5000, QPN = 7, REPEATS = 1 << 20, WRITES = 4 * 4096 };
enum { FLIGHT = 512, WAITING = 4096 };

/* A peer that acknowledges all responses, except perhaps the first. */
static struct peer {
	struct sn_fab *fab;
	struct sn_fab_dest dest;
	uint32_t most;			/* the highest packet number so far */
	bool all;			/* acknowledge the first response, too */
	bool later;			/* do not acknowledge responses when they arrive */
	unsigned int heard;		/* responses so far, repeated ones included */
	unsigned int acked;		/* requests acknowledged with status 0 so far */
} peer;

static void say_with(struct sne_hdr *h, const void *payload)
{
	struct iovec iov[2] = { { h, sizeof(*h) }, { (void *)(uintptr_t)payload, h->len } };

	h->magic = SNE_MAGIC;
	h->version = SNE_VERSION;
	h->src_life = h->src_life ? h->src_life : 1;
	h->msg_len = h->msg_len ? h->msg_len : h->len;
	cr_assert_eq(sn_fab_send(peer.fab, &peer.dest, iov, h->len ? 2 : 1), 0);
}

static void say(struct sne_hdr *h)
{
	say_with(h, NULL);
}

static void heard(void *ctx, const struct sn_addr *src, const void *pkt, size_t len)
{
	struct sne_hdr h;

	(void)ctx;
	(void)src;
	cr_assert(len >= sizeof(h));
	memcpy(&h, pkt, sizeof(h));
	if (h.kind == SNE_K_ACK && !h.status)
		peer.acked += 1 + h.len / (unsigned int)sizeof(struct sne_ack);
	if (h.kind != SNE_K_DATA)
		return;
	peer.heard++;
	if (h.seq > peer.most)
		peer.most = h.seq;
	if (!peer.later && (h.seq || peer.all))
		say(&(struct sne_hdr){ .kind = SNE_K_ACK, .seq = h.seq });
}

static void gone(void *ctx, const struct sn_addr *addr)
{
	(void)ctx;
	(void)addr;
}

static uint16_t ah;

static void open_both(struct side *s)
{
	struct sn_fab_config config = { .protocol = SNE_MAGIC, .deliver = heard, .down = gone };

	side_open(s, &(struct setup){ .flags = SOFTNIC_EFA_NO_THREAD });
	side_ready(s, 0);
	memset(&peer, 0, sizeof(peer));
	memcpy(config.gid.raw, s->caps.gid, 16);
	config.gid.raw[14] ^= 1;
	memcpy(peer.dest.gid.raw, s->caps.gid, 16);
	cr_assert_eq(sn_fab_open(&config, &peer.fab), 0);
	cr_assert_eq(softnic_efa_ah_create(s->nic, s->pd, config.gid.raw, &ah), 0);
}

static void close_both(struct side *s)
{
	softnic_efa_close(s->nic);
	sn_fab_close(peer.fab);
	free(s->mem);
}

static void turns(const struct side *s, unsigned int n)
{
	while (n--) {
		softnic_efa_pump(s->nic);
		sn_fab_poll(peer.fab, 64);
	}
}

static void ask(const struct side *s, uint32_t number)
{
	say(&(struct sne_hdr){ .kind = SNE_K_READ, .seq = number, .una = number, .src_qpn = QPN,
			       .dst_qpn = s->qp.qpn, .qkey = QKEY, .msg = number, .msg_len = 8,
			       .rkey = s->rkey, .addr = (uintptr_t)s->mem });
}

Test(numbers, answers__beyond_the_sequence_numbers_wait_for_the_oldest_ack, .timeout = 60)
{
	struct side s;

	open_both(&s);
	for (uint32_t i = 0; i < READS; i++) {
		ask(&s, i);
		turns(&s, 1);
	}
	/* an idle turn takes long, so this is enough time for all retries */
	turns(&s, 100);
	cr_expect_eq(peer.most, NUMBERS - 1,
		     "the device sent a wrong number of packets, %u, ahead of the oldest one",
		     peer.most);
	peer.all = true;
	turns(&s, 5000);
	cr_expect_eq(peer.most, READS - 1);
	close_both(&s);
}

/* One ACK acknowledges each packet that it names, up to an entry with an invalid status. */
Test(numbers, ack__of_several_packets_acknowledges_each, .timeout = 60)
{
	const struct sne_ack more[] = { { 1, 0 }, { 2, 0 }, { 3, 200 }, { 4, 0 } };	/* 200 is no status */
	struct side s;

	open_both(&s);
	peer.later = true;
	for (uint32_t i = 0; i < 5; i++)
		ask(&s, i);
	for (int i = 0; i < 1000 && peer.most < 4; i++)
		turns(&s, 1);
	cr_assert_eq(peer.most, 4, "the last response of five did not come");
	say_with(&(struct sne_hdr){ .kind = SNE_K_ACK, .len = sizeof(more) }, more);
	turns(&s, 1);
	expect_violations(&s, "rx.malformed");
	/* an idle turn takes long, so this is enough time for one retry of each packet */
	peer.heard = 0;
	for (int i = 0; i < 1000 && !peer.heard; i++)
		turns(&s, 1);
	cr_expect_eq(peer.heard, 2, "the device repeated %u responses instead of the two without an ACK",
		     peer.heard);
	close_both(&s);
}

/* The first packet of a peer may be an ACK. If its numbers are beyond 2^31, they seem old beside 0. */
Test(numbers, ack__of_a_new_peer_says_where_its_numbers_begin, .timeout = 60)
{
	enum { FIRST = 0x90000000 };
	struct side s;

	open_both(&s);
	peer.all = true;
	say(&(struct sne_hdr){ .kind = SNE_K_ACK, .una = FIRST });
	turns(&s, 1);
	ask(&s, FIRST);
	for (int i = 0; i < 1000 && !peer.heard; i++)
		turns(&s, 1);
	cr_expect(peer.heard, "the request of a peer with high numbers got no response");
	close_both(&s);
}

/* One of the two packets of a write with immediate. */
static void write_half(struct side *s, uint32_t life, uint32_t number, uint32_t msg, uint32_t off)
{
	static const uint8_t bytes[10];
	struct sne_hdr h = {
		.kind = SNE_K_WRITE, .flags = SNE_F_IMM, .src_life = life, .seq = number, .una = number,
		.src_qpn = QPN, .dst_qpn = s->qp.qpn, .qkey = QKEY, .msg = msg, .msg_len = 2 * sizeof(bytes),
		.off = off, .len = sizeof(bytes), .rkey = s->rkey, .addr = (uintptr_t)s->mem,
	};

	say_with(&h, bytes);
	turns(s, 1);
}

/* Half of a write arrives, and the rest never. Then the peer writes the message with the same number. */
static void write_twice(uint32_t life, uint32_t number)
{
	struct side s;
	struct cqe c;

	open_both(&s);
	rx_post(&s, 1, 0, 100);
	write_half(&s, 1, 0, 5, 0);
	write_half(&s, life, number, 5, 0);
	cr_assert_not(cqe_poll(&s, &c), "half of the write completed it");
	write_half(&s, life, number + 1, 5, 10);
	cr_assert(cqe_poll(&s, &c));
	cr_expect_eq(c.status, 0);
	cr_expect_eq(c.length, 20);
	close_both(&s);
}

/* A QP repeats the numbers of its messages after 2^20 of them. */
Test(numbers, write__whose_message_number_repeats_does_not_count_packets_of_the_old_one, .timeout = 60)
{
	write_twice(1, REPEATS);
}

Test(numbers, write__of_a_reopened_peer_does_not_count_packets_of_the_old_one, .timeout = 60)
{
	write_twice(2, 0);
}

Test(numbers, flow__of_a_peer_that_closed_amid_a_write_ends_with_its_ah, .timeout = 60)
{
	struct side s;

	open_both(&s);
	write_half(&s, 1, 0, 5, 0);
	sn_fab_close(peer.fab);
	for (int i = 0; i < 1000; i++)
		softnic_efa_pump(s.nic);
	cr_assert_eq(softnic_efa_object_count(s.nic, "flow"), 1);
	cr_assert_eq(softnic_efa_ah_destroy(s.nic, s.pd, ah), 0);
	cr_expect_eq(softnic_efa_object_count(s.nic, "flow"), 0);
	softnic_efa_close(s.nic);
	free(s.mem);
}

Test(numbers, writes__that_arrive_in_part_have_a_limit, .timeout = 60)
{
	struct side s;

	open_both(&s);
	rx_post(&s, 1, 0, 100);
	for (uint32_t i = 0; i <= WRITES; i++)
		write_half(&s, 1, i, i, 0);
	turns(&s, 100);
	cr_expect_eq(peer.acked, WRITES, "%u halves were accepted", peer.acked);
	write_half(&s, 1, WRITES + 1, 0, 10);
	write_half(&s, 1, WRITES + 2, WRITES, 0);
	turns(&s, 100);
	cr_expect_eq(peer.acked, WRITES + 2, "the end of a write made no room for another");
	close_both(&s);
}

/* The peer acknowledges no response, so after FLIGHT of them further reads wait. */
Test(numbers, reads__that_wait_for_their_response_have_a_limit, .timeout = 60)
{
	struct side s;

	open_both(&s);
	peer.later = true;
	for (uint32_t i = 0; i <= FLIGHT + WAITING; i++) {
		ask(&s, i);
		turns(&s, 1);
	}
	turns(&s, 60);
	cr_expect_eq(peer.acked, FLIGHT + WAITING, "%u reads were accepted", peer.acked);
	peer.later = false;
	peer.all = true;
	turns(&s, 5000);
	ask(&s, FLIGHT + WAITING + 1);
	turns(&s, 100);
	cr_expect_eq(peer.acked, FLIGHT + WAITING + 1, "there is no room after all responses");
	close_both(&s);
}
