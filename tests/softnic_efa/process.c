/* SPDX-License-Identifier: BSD-2-Clause */
/* Two processes: targets that sleep, die or fork while others access their memory. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/harness.h"
#include "tests/softnic_efa/rig.h"

struct name {
	uint8_t gid[16];
	uint16_t qpn;
	void *mem;
	uint32_t rkey;
};

static struct side s;
static struct th_child child;

static void open_threaded(unsigned int flags)
{
	side_open(&s, &(struct setup){ .flags = flags, .cq_flags = SOFTNIC_EFA_CQ_EVENTS });
	side_ready(&s, 7);
}

static void exchange(int sock)
{
	struct name mine = { .qpn = s.qp.qpn, .mem = s.mem, .rkey = s.rkey }, peer;

	memcpy(mine.gid, s.caps.gid, 16);
	cr_assert_eq(th_send(sock, &mine, sizeof(mine)), 0);
	cr_assert_eq(th_recv(sock, &peer, sizeof(peer)), 0);
	side_name(&s, peer.qpn, peer.mem, peer.rkey);
	cr_assert_eq(softnic_efa_ah_create(s.nic, s.pd, peer.gid, &s.ah), 0);
	cr_assert_eq(th_meet(sock), 0);
}

static bool completed(struct cqe *c)
{
	softnic_efa_pump(s.nic);
	return cqe_poll(&s, c);
}

static struct cqe wait_one(void)
{
	struct cqe c = { 0 };

	cr_assert(TH_WITHIN(30000, completed(&c)));
	return c;
}

/* A target that blocks in a system call unrelated to its device. */
static int sleeper(int sock, void *arg)
{
	(void)arg;
	open_threaded(0);
	fill(s.mem, MEM, 7);
	exchange(sock);
	th_meet(sock);
	expect_violations(&s, "");
	side_close(&s);
	return 0;
}

static struct cqe rdma(unsigned int op, uint32_t off, uint32_t len)
{
	struct wqe w;

	w_rdma(&s, &w, op, 0, 1, off, off, len);
	post(&s, &w);
	return wait_one();
}

Test(process, target_sleeps__one_sided_operations_complete)
{
	static uint8_t want[MEM];

	cr_assert_eq(th_spawn(&child, sleeper, NULL), 0);
	open_threaded(0);
	exchange(child.sock);
	cr_assert_eq(rdma(OP_READ, 0, MEM).status, 0);
	fill(want, MEM, 7);
	cr_assert(!memcmp(s.mem, want, MEM));
	fill(s.mem, 100000, 8);
	cr_assert_eq(rdma(OP_WRITE, 0, 100000).status, 0);
	memcpy(want, s.mem, 100000);
	memset(s.mem, 0, MEM);
	cr_assert_eq(rdma(OP_READ, 0, 200000).status, 0);
	cr_assert(!memcmp(s.mem, want, 200000));
	th_meet(child.sock);
	cr_assert_eq(th_join(&child, 30000), 0);
	expect_violations(&s, "");
	side_close(&s);
}

Test(process, target_killed__ends_requests_with_status_13)
{
	struct cqe c;

	cr_assert_eq(th_spawn(&child, sleeper, NULL), 0);
	open_threaded(0);
	exchange(child.sock);
	cr_assert_eq(rdma(OP_READ, 0, 100).status, 0);
	th_kill(&child);
	c = rdma(OP_READ, 0, 100);
	cr_assert_eq(c.status, 13);
	c = rdma(OP_WRITE, 0, MEM);
	cr_assert_eq(c.status, 13);
	side_close(&s);
}

static bool event_came(void)
{
	return __atomic_load_n(&s.events, __ATOMIC_ACQUIRE) != 0;
}

/* A target that sleeps until its event. Only the device's thread runs. */
static int waiter(int sock, void *arg)
{
	struct cqe c;

	(void)arg;
	open_threaded(0);
	rx_post(&s, 3, 0, 100);
	__atomic_store_n(s.cq.doorbell, 1u << 31, __ATOMIC_RELEASE);
	softnic_efa_kick_cq(s.nic, s.cq.cq);
	exchange(sock);
	cr_assert(TH_WITHIN(30000, event_came()));
	cr_assert(cqe_poll(&s, &c));
	cr_assert_eq(c.req_id, 3);
	th_meet(sock);
	side_close(&s);
	return 0;
}

Test(process, armed_cq__gets_its_event_from_the_thread)
{
	struct wqe w;

	cr_assert_eq(th_spawn(&child, waiter, NULL), 0);
	open_threaded(0);
	exchange(child.sock);
	w_send(&s, &w, 1, 0, 10);
	post(&s, &w);
	cr_assert_eq(wait_one().status, 0);
	th_meet(child.sock);
	cr_assert_eq(th_join(&child, 30000), 0);
	side_close(&s);
}

/* Doorbells are stored without a call. */
Test(process, scanned_doorbells__need_no_call)
{
	struct cqe c;
	struct wqe w;

	open_threaded(SOFTNIC_EFA_SCAN | SOFTNIC_EFA_LOOPBACK_ONLY);
	cr_assert_eq(softnic_efa_ah_create(s.nic, s.pd, s.caps.gid, &s.ah), 0);
	side_name(&s, s.qp.qpn, s.mem, s.rkey);
	for (uint16_t i = 0; i < 200; i++) {
		rx_desc(&s, i, s.mem + 1000, 100, s.lkey | 3u << 30);
		__atomic_store_n(s.qp.rq.doorbell, s.rq_pc & 0xffff, __ATOMIC_RELEASE);
		w_send(&s, &w, i, 0, 10);
		post_phase(&s, &w);
		__atomic_store_n(s.qp.sq.doorbell, s.sq_pc & 0xffff, __ATOMIC_RELEASE);
		cr_assert(TH_WITHIN(30000, cqe_poll(&s, &c)));
		cr_assert_eq(c.status, 0);
		cr_assert(TH_WITHIN(30000, cqe_poll(&s, &c)));
	}
	expect_violations(&s, "");
	side_close(&s);
}

Test(process, fork__the_child_has_no_device)
{
	struct softnic_efa_counters ctr;
	uint16_t pd;
	int status;
	pid_t pid;

	open_threaded(0);
	cr_assert_eq(softnic_efa_ah_create(s.nic, s.pd, s.caps.gid, &s.ah), 0);
	pid = th_fork();
	if (!pid) {
		bool ok = softnic_efa_pd_alloc(s.nic, &pd) == -19 && !softnic_efa_pump(s.nic);

		softnic_efa_kick(s.nic, s.qp.handle);
		softnic_efa_close(s.nic);
		_exit(ok ? 0 : 1);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status));
	side_name(&s, s.qp.qpn, s.mem, s.rkey);
	cr_assert_eq(rdma(OP_WRITE, 0, 100).status, 0);
	softnic_efa_counters(s.nic, &ctr);
	cr_assert_gt(ctr.wqes, 0);
	side_close(&s);
}

Test(process, close__leaves_no_descriptor_thread_or_mapping)
{
	struct th_usage before, after;

	open_threaded(0);
	cr_assert_eq(softnic_efa_ah_create(s.nic, s.pd, s.caps.gid, &s.ah), 0);
	side_close(&s);
	th_usage(&before);
	open_threaded(0);
	cr_assert_eq(softnic_efa_ah_create(s.nic, s.pd, s.caps.gid, &s.ah), 0);
	side_close(&s);
	th_usage(&after);
	cr_assert_eq(after.fds, before.fds);
	cr_assert_eq(after.threads, before.threads);
}
