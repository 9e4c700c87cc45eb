/* SPDX-License-Identifier: BSD-2-Clause */
/* Packet numbers: state is kept for the last 4,096 of them. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/efa/wire.h"
#include "softnic/fabric/fabric.h"
#include "tests/softnic_efa/rig.h"

enum { NUMBERS = 4096, READS = 5000, QPN = 7 };

/* A peer that acknowledges all responses, except perhaps the first. */
static struct peer {
	struct sn_fab *fab;
	struct sn_fab_dest dest;
	uint32_t most;			/* the highest packet number so far */
	bool all;			/* also acknowledge the first response */
} peer;

static void say(struct sne_hdr *h)
{
	struct iovec iov = { h, sizeof(*h) };

	h->magic = SNE_MAGIC;
	h->version = SNE_VERSION;
	h->src_life = 1;
	cr_assert_eq(sn_fab_send(peer.fab, &peer.dest, &iov, 1), 0);
}

static void heard(void *ctx, const struct sn_addr *src, const void *pkt, size_t len)
{
	struct sne_hdr h;

	(void)ctx;
	(void)src;
	cr_assert(len >= sizeof(h));
	memcpy(&h, pkt, sizeof(h));
	if (h.kind != SNE_K_DATA)
		return;
	if (h.seq > peer.most)
		peer.most = h.seq;
	if (h.seq || peer.all)
		say(&(struct sne_hdr){ .kind = SNE_K_ACK, .seq = h.seq });
}

static void gone(void *ctx, const struct sn_addr *addr)
{
	(void)ctx;
	(void)addr;
}

static void peer_open(const struct side *s)
{
	struct sn_fab_config config = { .protocol = SNE_MAGIC, .deliver = heard, .down = gone };
	uint16_t ah;

	memset(&peer, 0, sizeof(peer));
	memcpy(config.gid.raw, s->caps.gid, 16);
	config.gid.raw[14] ^= 1;
	memcpy(peer.dest.gid.raw, s->caps.gid, 16);
	cr_assert_eq(sn_fab_open(&config, &peer.fab), 0);
	cr_assert_eq(softnic_efa_ah_create(s->nic, s->pd, config.gid.raw, &ah), 0);
}

static void turns(const struct side *s, unsigned int n)
{
	while (n--) {
		softnic_efa_pump(s->nic);
		sn_fab_poll(peer.fab, 64);
	}
}

Test(numbers, answers__wait_for_the_oldest, .timeout = 60)
{
	struct side s;

	side_open(&s, &(struct setup){ .flags = SOFTNIC_EFA_NO_THREAD });
	side_ready(&s, 0);
	peer_open(&s);
	for (uint32_t i = 0; i < READS; i++) {
		say(&(struct sne_hdr){ .kind = SNE_K_READ, .seq = i, .una = i, .src_qpn = QPN,
				       .dst_qpn = s.qp.qpn, .qkey = QKEY, .msg = i, .msg_len = 8,
				       .rkey = s.rkey, .addr = (uintptr_t)s.mem });
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
	softnic_efa_close(s.nic);
	sn_fab_close(peer.fab);
	free(s.mem);
}
