/* SPDX-License-Identifier: BSD-2-Clause */
/* A process that does not run for a while delays requests, and fails none. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "softnic/efa/nic.h"
#include "tests/harness/clock.h"
#include "tests/harness/harness.h"
#include "tests/softnic_efa/rig.h"

static struct side a, b, third;
static struct wqe w;

TestSuite(stopped, .timeout = 60);

static uint64_t turns(void)
{
	struct softnic_efa_counters ctr;

	softnic_efa_counters(a.nic, &ctr);
	return ctr.turns;
}

/* A machine stands still for a minute. Afterwards the peer's process is not the first to run: until it runs,
 * its device is locked. */
Test(stopped, write__succeeds_although_the_machine_stood_still)
{
	pthread_mutex_t *peer;
	struct cqe c = { 0 };
	uint64_t before;

	side_open(&a, &(struct setup){ 0 });
	side_open(&b, &(struct setup){ 0 });
	side_meet(&a, &b);
	side_ready(&a, 0);
	side_ready(&b, 0);
	peer = &((struct sne_nic *)b.nic)->lock;
	pthread_mutex_lock(peer);
	w_rdma(&a, &w, OP_WRITE, 0, 1, 0, 0, 100);
	post(&a, &w);
	stand_still(60);
	before = turns();
	cr_assert(TH_WITHIN(20000, turns() > before + 20));
	cr_assert(!cqe_poll(&a, &c), "the write failed with status %u", c.status);
	pthread_mutex_unlock(peer);
	cr_assert(TH_WITHIN(20000, cqe_poll(&a, &c)));
	cr_assert_eq(c.status, 0);
	side_close(&a);
	side_close(&b);
}

/* The peer stops within its answer, and has not read all acknowledgements of its data. */
Test(stopped, read__waits_for_a_stopped_peer_like_other_requests)
{
	struct cqe c = { 0 };

	pair_open(&a, &b, &(struct setup){ 0 });
	fill(b.mem, MEM, 7);
	w_rdma(&a, &w, OP_READ, 0, 1, 0, 0, MEM);
	post(&a, &w);
	pair_turns(&b, &a, 30);
	for (int i = 0; i < 1500; i++)
		softnic_efa_pump(a.nic);
	cr_assert(!cqe_poll(&a, &c), "the read failed with status %u", c.status);
	c = cqe_wait(&a, &b);
	cr_assert_eq(c.status, 0);
	cr_assert(!memcmp(a.mem, b.mem, MEM));
	pair_close(&a, &b);
}

/* Side a sends to b, which is stopped, then to a third device. Afterwards b runs again. */
static void send_past_stopped_peer(unsigned int window, uint16_t n, uint16_t len)
{
	const struct setup setup = { .window = window, .sq = 1024, .rq = 1024, .cq = 2048,
				     .flags = SOFTNIC_EFA_NO_THREAD };
	struct cqe c;

	pair_open(&a, &b, &setup);
	side_open(&third, &setup);
	side_ready(&third, 0);
	for (uint16_t i = 0; i < n; i++)
		rx_post(&b, i, 0, len);
	for (uint16_t i = 0; i < n; i++) {
		w_send(&a, &w, i, 0, len);
		post(&a, &w);
	}
	for (int i = 0; i < 300; i++)
		softnic_efa_pump(a.nic);
	side_meet(&a, &third);
	rx_post(&third, 1, 0, len);
	w_send(&a, &w, n, 0, len);
	post(&a, &w);
	c = cqe_wait(&a, &third);
	cr_assert_eq(c.req_id, n, "request %u completed with status %u first", c.req_id, c.status);
	cr_assert_eq(c.status, 0);
	for (uint16_t i = 0; i < n; i++) {
		c = cqe_wait(&a, &b);
		cr_assert_eq(c.status, 0);
		cr_assert(window > 1 || c.req_id == i, "request %u completed before %u", c.req_id, i);
	}
	pair_abandon(&a, &b);
	softnic_efa_close(third.nic);
	free(third.mem);
}

Test(stopped, peer_whose_link_is_full__delays_no_send_to_another)
{
	send_past_stopped_peer(1, 117, 8928);
}

/* More packets than may be unacknowledged. */
Test(stopped, peer_with_many_requests__delays_no_send_to_another)
{
	send_past_stopped_peer(64, 600, 10);
	send_past_stopped_peer(1, 600, 10);
}

/* The peer is a fabric that reads nothing. It says of the first send that it had no receive for it. */
Test(stopped, retry_for_a_peer_whose_link_is_full__delays_no_retry_for_another)
{
	struct sne_hdr rnr = { .magic = SNE_MAGIC, .version = SNE_VERSION, .kind = SNE_K_ACK,
			       .status = SNE_REMOTE_RNR, .src_life = 1 };
	struct iovec iov = { &rnr, sizeof(rnr) };
	struct sn_fab_dest dest;
	struct sn_fab *peer;
	uint8_t gid[16];
	uint16_t ah;
	struct cqe c;

	pair_open(&a, &b, &(struct setup){ .sq = 256, .rnr_retry = 7 });
	peer = side_stranger(&a, SNE_MAGIC, 1, &dest);
	memcpy(gid, a.caps.gid, sizeof(gid));
	gid[1] ^= 1;
	gid[2] = 1;
	cr_assert_eq(softnic_efa_ah_create(a.nic, a.pd, gid, &ah), 0);
	for (uint16_t i = 0; i < 200; i++) {
		w_send(&a, &w, i, 0, 8928);
		put16(w.b + 12, ah);
		post(&a, &w);
	}
	pair_turns(&a, &b, 200);
	cr_assert_eq(sn_fab_send(peer, &dest, &iov, 1), 0);
	w_send(&a, &w, 200, 0, 10);
	post(&a, &w);
	pair_turns(&a, &b, 200);
	rx_post(&b, 1, 0, 100);
	c = cqe_wait(&a, &b);
	cr_assert_eq(c.req_id, 200, "request %u completed with status %u first", c.req_id, c.status);
	cr_assert_eq(c.status, 0);
	pair_abandon(&a, &b);
	sn_fab_close(peer);
}

/* A turn each millisecond is enough. A thread that spins takes thousands. */
Test(stopped, thread__rests_while_the_link_of_a_stopped_peer_is_full)
{
	const struct setup setup = { .sq = 256 }, stopped = { .flags = SOFTNIC_EFA_NO_THREAD };
	uint64_t before, start;

	side_open(&a, &setup);
	side_open(&b, &stopped);
	side_meet(&a, &b);
	side_ready(&a, 0);
	for (uint16_t i = 0; i < 200; i++) {
		w_send(&a, &w, i, 0, 8928);
		post(&a, &w);
	}
	before = turns();
	start = th_now_ms();
	usleep(500000);
	cr_expect_lt(turns() - before, 50 * (th_now_ms() - start), "%llu turns",
		     (unsigned long long)(turns() - before));
	pair_abandon(&a, &b);
}

/*
 * libefa and libmlx5 release a spin lock after each poll, which drives the device behind softnic-run. UCX
 * releases one in its hooks of the allocator, also when the device's own thread allocates.
 */
Test(stopped, pump__in_a_thread_inside_the_device_returns)
{
	pthread_mutex_t *lock;

	pair_open(&a, &b, &(struct setup){ 0 });
	lock = &((struct sne_nic *)a.nic)->lock;
	pthread_mutex_lock(lock);
	cr_expect_not(softnic_efa_pump(a.nic));
	pthread_mutex_unlock(lock);
	pair_close(&a, &b);
}
