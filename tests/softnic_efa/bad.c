/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers that send noise, and allocations that fail: nothing breaks and nothing leaks. */
#include <criterion/criterion.h>
#include <string.h>

#include "softnic/efa/wire.h"
#include "softnic/fabric/fabric.h"
#include "tests/harness/harness.h"
#include "tests/softnic_efa/rig.h"

static struct side a, b;

/* Writes a packet, each field of which is either correct or noise. */
static size_t noise(uint8_t *pkt, uint64_t *rng)
{
	struct sne_hdr h = {
		.magic = SNE_MAGIC, .version = SNE_VERSION, .kind = (uint8_t)(1 + *rng % 6),
		.src_life = 7, .dst_qpn = a.qp.qpn, .qkey = QKEY, .rkey = a.rkey,
		.addr = (uintptr_t)a.mem,
	};
	uint8_t *bytes = (uint8_t *)&h;
	uint64_t r;

	for (int i = 0; i < 4; i++) {
		*rng = *rng * UINT64_C(6364136223846793005) + 1442695040888963407u;
		r = *rng >> 20;
		if (r & 1)
			bytes[8 + r / 2 % (sizeof(h) - 8)] = (uint8_t)(r >> 30);
	}
	if (h.len > 64)
		h.len = 64;
	memcpy(pkt, &h, sizeof(h));
	return *rng % 16 ? sizeof(h) + h.len : *rng % 100 + 1;
}

Test(bad, invalid_packets__do_no_harm, .timeout = 60)
{
	uint8_t pkt[256] = { 0 };
	struct sn_fab_dest dest;
	uint64_t rng = 99;
	struct sn_fab *fab;
	struct wqe w;

	pair_open(&a, &b, &(struct setup){ .rnr_retry = 7 });
	fab = side_stranger(&a, SNE_MAGIC, 0, &dest);
	for (uint16_t i = 0; i < 32; i++)
		rx_post(&a, i, 4096, 100);
	for (int i = 0; i < 20000; i++) {
		struct iovec iov = { pkt, noise(pkt, &rng) };

		sn_fab_send(fab, &dest, &iov, 1);
		softnic_efa_pump(a.nic);
		sn_fab_poll(fab, 64);
	}
	/* Checks that the device still serves correct peers. */
	softnic_efa_violations_clear(a.nic);
	w_rdma(&b, &w, OP_WRITE, 0, 1, 0, 8192, 500);
	fill(b.mem, 500, 3);
	post(&b, &w);
	cr_assert_eq(cqe_wait(&b, &a).status, 0);
	cr_assert(!memcmp(b.mem, a.mem + 8192, 500));
	sn_fab_close(fab);
	side_close(&a);
	side_close(&b);
}

/* Opens an address of its own, sends one packet from it, and closes. */
static void visit(unsigned int number)
{
	struct sne_hdr h = {
		.magic = SNE_MAGIC, .version = SNE_VERSION, .kind = SNE_K_SEND, .src_life = 7,
		.dst_qpn = a.qp.qpn, .qkey = QKEY,
	};
	struct iovec iov = { &h, sizeof(h) };
	struct sn_fab_dest dest;
	struct sn_fab *fab = side_stranger(&a, SNE_MAGIC, number, &dest);

	cr_assert_eq(sn_fab_send(fab, &dest, &iov, 1), 0);
	for (int i = 0; i < 100; i++)
		softnic_efa_pump(a.nic);
	cr_assert_geq(softnic_efa_object_count(a.nic, "flow"), 1);
	sn_fab_close(fab);
	for (int i = 0; i < 100; i++)
		softnic_efa_pump(a.nic);
}

Test(bad, peers__that_are_gone_are_forgotten, .timeout = 60)
{
	uint16_t ah;
	uint8_t gid[16] = { 1 };

	side_open(&a, &(struct setup){ 0 });
	side_ready(&a, 7);
	for (unsigned int i = 0; i < 50; i++)
		visit(i);
	/* If an acknowledgement had a reference to the last flow when its link ended, that flow is
	 * left too. */
	cr_assert_leq(softnic_efa_object_count(a.nic, "flow"), 2);
	cr_assert_eq(softnic_efa_ah_create(a.nic, a.pd, a.caps.gid, &a.ah), 0);
	cr_assert_eq(softnic_efa_ah_create(a.nic, a.pd, gid, &ah), 0);
	cr_assert_eq(softnic_efa_object_count(a.nic, "flow"), 2,
		     "the address handle of a new peer created no flow");
	cr_assert_eq(softnic_efa_ah_destroy(a.nic, a.pd, ah), 0);
	cr_assert_eq(softnic_efa_object_count(a.nic, "flow"), 1);
	softnic_efa_violations_clear(a.nic);
	side_close(&a);
}

/* A device of another model is not accepted as a peer: each of its links is refused at once. */
Test(bad, other_protocol__is_not_joined)
{
	struct softnic_efa_counters ctr;
	struct sn_fab_dest dest;
	uint8_t junk[100] = { 0 };
	struct iovec iov = { junk, sizeof(junk) };
	struct sn_fab *fab;

	pair_open(&a, &b, &(struct setup){ 0 });
	fab = side_stranger(&a, 0, 0, &dest);
	for (int i = 0; i < 1000; i++) {
		sn_fab_send(fab, &dest, &iov, 1);
		softnic_efa_pump(a.nic);
		sn_fab_poll(fab, 64);
	}
	softnic_efa_counters(a.nic, &ctr);
	cr_assert_eq(ctr.rx_packets, 0);
	sn_fab_close(fab);
	pair_close(&a, &b);
}

/* Makes all requests that a driver makes, with each allocation failing in turn. True: none
 * failed. */
static bool whole_life(unsigned long n)
{
	struct softnic_efa_config config = { .flags = SOFTNIC_EFA_NO_THREAD, .seed = 1 };
	struct softnic_efa_cq_attr ca = { .entries = 16, .entry_size = 32, .sub_cqs = 1 };
	struct softnic_efa_qp_attr qa = { .sq_depth = 32, .rq_depth = 32 };
	struct softnic_efa_caps caps;
	struct softnic_efa *nic;
	struct softnic_efa_cq cq = { 0 };
	struct softnic_efa_qp qp;
	uint32_t lkey, rkey;
	uint16_t ah;
	bool ok;

	th_fail_start(TH_FAIL_HEAP | TH_FAIL_MMAP, n);
	ok = !softnic_efa_open(&config, &nic);
	if (ok) {
		softnic_efa_caps(nic, &caps);
		ok = !softnic_efa_pd_alloc(nic, &qa.pd) && !softnic_efa_cq_create(nic, &ca, &cq) &&
			!softnic_efa_mr_reg(nic, qa.pd, &caps, 64, 0, 0, &lkey, &rkey) &&
			!softnic_efa_ah_create(nic, qa.pd, caps.gid, &ah);
		qa.send_cq = qa.recv_cq = cq.cq;
		ok = ok && !softnic_efa_qp_create(nic, &qa, &qp);
		softnic_efa_close(nic);
	}
	th_fail_stop();
	return ok;
}

Test(bad, allocations_that_fail__leave_nothing)
{
	struct th_usage before, after;
	unsigned long n = 1;

	cr_assert(whole_life(1000000));
	th_usage(&before);
	while (!whole_life(n))
		cr_assert_lt(n++, 200);
	cr_assert_gt(n, 8, "too few allocations were tried");
	th_usage(&after);
	cr_assert_eq(after.fds, before.fds);
	cr_assert_leq(after.maps, before.maps + 2);
}
