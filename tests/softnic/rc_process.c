/* SPDX-License-Identifier: BSD-2-Clause */
/* Two processes: the target sleeps, computes, stops or dies while the other one accesses its
 * memory. */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "softnic/mlx5/prm.h"
#include "tests/harness/harness.h"
#include "tests/softnic/rc_rig.h"

static struct rig rig;
static struct rig_qp qp;
static struct rig_peer peer;
static struct th_child child;

static void start(int (*fn)(int sock, void *arg), const struct rig_conn *conn)
{
	peer = rig_spawn(&child, fn, &rig, &qp, conn);
}

/* A target that blocks in a system call unrelated to its device. */
static int sleeper(int sock, void *arg)
{
	(void)arg;
	peer = rig_join(sock, &rig, &qp, NULL);
	th_meet(sock);
	rig_expect_violations(&rig, "");
	rig_close(&rig);
	return 0;
}

static struct rig_cqe move(unsigned int op, size_t off, uint32_t len)
{
	rig_post_ring(&qp, &(struct rig_wr){.op = op, .va = rig.data + off, .len = len,
					    .raddr = (uint8_t *)peer.data + off, .rkey = peer.key});
	return rig_wait(&rig, NULL);
}

static void write_and_read_back(uint32_t len, uint32_t seed)
{
	rig_fill(rig.data, len, seed);
	cr_assert_eq(move(RIG_WRITE, 0, len).op, 0);
	memset(rig.data, 0, len);
	cr_assert_eq(move(RIG_READ, 0, len).op, 0);
	cr_assert(rig_filled(rig.data, len, seed));
}

Test(rc_process, one_sided__completes_while_the_target_sleeps, .timeout = 60)
{
	unsigned int i;

	start(sleeper, NULL);
	for (i = 0; i < 20; i++)
		write_and_read_back(i % 2 ? 8 : 1u << 20, i);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, TH_PEER_MS), 0);
	rig_expect_violations(&rig, "");
	rig_close(&rig);
}

/* A target that waits for a word of its memory to change, and makes no call to its device. */
static int computer(int sock, void *arg)
{
	volatile uint8_t *word;

	(void)arg;
	peer = rig_join(sock, &rig, &qp, NULL);
	word = rig.data;
	while (*word != 0xaa)
		th_yield();
	rig_close(&rig);
	return 0;
}

Test(rc_process, one_sided__completes_while_the_target_computes, .timeout = 60)
{
	start(computer, NULL);
	write_and_read_back(100000, 3);
	rig.data[0] = 0xaa;
	cr_assert_eq(move(RIG_WRITE, 0, 1).op, 0);
	cr_assert_eq(th_join(&child, TH_PEER_MS), 0);
	rig_close(&rig);
}

/* A packet to a stopped process does not count as lost, however short the timeout. */
Test(rc_process, stopped_target__continues, .timeout = 60)
{
	struct rig_cqe cqe;
	int status;

	start(sleeper, &(struct rig_conn){.timeout = 1});
	write_and_read_back(1000, 1);
	kill(child.pid, SIGSTOP);
	cr_assert_eq(waitpid(child.pid, &status, WUNTRACED), child.pid);
	rig_post_ring(&qp, &(struct rig_wr){.op = RIG_READ, .va = rig.data, .len = 5000,
					    .raddr = peer.data, .rkey = peer.key});
	th_sleep_ms(700);	/* much longer than all retries take */
	cr_assert_not(rig_poll(&rig, &cqe));
	kill(child.pid, SIGCONT);
	cr_assert_eq(rig_wait(&rig, NULL).op, 0);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, TH_PEER_MS), 0);
	rig_close(&rig);
}

/* Sends before its peer does, so it makes a link of its own. Answers a request, and refuses the next one. */
static int calls_first(int sock, void *arg)
{
	(void)arg;
	peer = rig_join(sock, &rig, &qp, NULL);
	rig_post_ring(&qp, &(struct rig_wr){.op = RIG_WRITE, .va = rig.data, .len = 8,
					    .raddr = peer.data, .rkey = peer.key});
	th_meet(sock);
	th_meet(sock);
	cr_assert(TH_WITHIN(20000, rig_event(&rig) == 0x11));
	th_meet(sock);
	th_meet(sock);
	rig_close(&rig);
	return 0;
}

/* The peer's answers are in a link that this device has not noticed yet. A wire has no such links. */
Test(rc_process, qp_to_error__after_answers_by_a_new_link_completes_the_requests, .timeout = 60)
{
	struct rig_peer self;

	cr_assert_eq(th_spawn(&child, calls_first, NULL), 0);
	rig_open(&rig, SOFTNIC_NO_THREAD, 0);
	rig_qp(&rig, &qp);
	self = rig_peer(&qp);
	peer = rig_exchange(child.sock, &qp, &self, NULL);
	cr_assert_eq(th_meet(child.sock), 0);
	rig_post(&qp, &(struct rig_wr){.op = RIG_READ, .va = rig.data, .len = 8, .raddr = peer.data,
				       .rkey = peer.key});
	rig_post_ring(&qp, &(struct rig_wr){.op = RIG_WRITE, .va = rig.data, .len = 8,
					    .raddr = peer.data, .rkey = peer.key ^ 1});
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_meet(child.sock), 0);
	rig_qp_to(&qp, CMD_2ERR_QP);
	cr_assert_eq(rig_wait(&rig, NULL).syndrome, 0);
	cr_assert_eq(rig_wait(&rig, NULL).syndrome, 0x13);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, TH_PEER_MS), 0);
	rig_expect_violations(&rig, "");
	rig_close(&rig);
}

static int without_descriptors(int sock, void *arg)
{
	int err;

	(void)arg;
	peer = rig_join(sock, &rig, &qp, NULL);
	err = th_fds_limit(0);
	th_meet(sock);
	th_meet(sock);
	th_fds_restore();
	rig_close(&rig);
	return err;
}

Test(rc_process, write__target_out_of_descriptors_is_a_transport_error, .timeout = 60)
{
	start(without_descriptors, NULL);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(move(RIG_WRITE, 0, 8).syndrome, 0x15);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, TH_PEER_MS), 0);
	rig_close(&rig);
}

Test(rc_process, killed_target__is_a_transport_error_within_a_second, .timeout = 60)
{
	struct rig_cqe cqe;
	unsigned int i, flushed = 0;

	start(sleeper, &(struct rig_conn){.timeout = 20});
	for (i = 0; i < 16; i++)
		rig_post(&qp, &(struct rig_wr){.op = i % 2 ? RIG_READ : RIG_WRITE, .va = rig.data,
					       .len = 1u << 20, .raddr = peer.data,
					       .rkey = peer.key});
	rig_ring(&qp);
	cr_assert_eq(rig_wait(&rig, NULL).op, 0);
	kill(child.pid, SIGKILL);
	th_watch();
	do {
		cqe = rig_wait(&rig, NULL);
	} while (cqe.op == 0);
	cr_assert_eq(cqe.syndrome, 0x15);
	cr_assert_lt(th_watched_ms(), 1000);
	while (cqe.counter != 15) {
		cqe = rig_wait(&rig, NULL);
		cr_assert_eq(cqe.syndrome, 5);
		flushed++;
	}
	cr_assert_leq(flushed, 15);
	th_kill(&child);
	rig_close(&rig);
}

/* If each ping has to wait for a processor, the test ends after this time, with fewer pings. */
enum { PINGS = 20000, PINGS_MS = 20000 };

static int ponger(int sock, void *arg)
{
	unsigned int i = 0;

	(void)arg;
	peer = rig_join(sock, &rig, &qp, NULL);
	rig_recv(&qp, rig.data, 64);
	while (i != PINGS - 1) {
		struct rig_cqe cqe;

		do
			cqe = rig_wait(&rig, NULL);
		while (cqe.op == 0);
		if (cqe.op != 2)
			return 1;
		memcpy(&i, rig.data, sizeof(i));
		rig_recv(&qp, rig.data, 64);
		rig_post_ring(&qp, &(struct rig_wr){.op = RIG_SEND, .va = rig.data, .len = 8});
	}
	th_meet(sock);
	rig_close(&rig);
	return 0;
}

Test(rc_process, pingpong__of_two_pollers_arrives_unchanged, .timeout = 300)
{
	uint64_t until = th_now_ms() + PINGS_MS;
	unsigned int i;

	start(ponger, NULL);
	rig_recv(&qp, rig.data + 64, 64);
	for (i = 0; i < PINGS; i++) {
		struct rig_cqe cqe;

		if (th_now_ms() > until)
			i = PINGS - 1;
		memcpy(rig.data, &i, sizeof(i));
		rig_post_ring(&qp, &(struct rig_wr){.op = RIG_SEND, .va = rig.data, .len = 8});
		do
			cqe = rig_wait(&rig, NULL);
		while (cqe.op == 0);
		cr_assert_eq(cqe.op, 2);
		cr_assert_eq(memcmp(rig.data + 64, &i, sizeof(i)), 0);
		rig_recv(&qp, rig.data + 64, 64);
	}
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, TH_PEER_MS), 0);
	rig_close(&rig);
}
