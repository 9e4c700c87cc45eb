/* SPDX-License-Identifier: BSD-2-Clause */
/* WRITEs to a target in another process: order, rights, and a peer that dies in the middle of one. */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "tests/harness/harness.h"
#include "tests/softnic/rc_rig.h"

enum { LEN = 4096, FAR = 1 << 20, BULK = 1 << 18 };

static struct rig rig;
static struct rig_qp qp;
static struct rig_peer peer;
static struct th_child child;

static void start(int (*fn)(int sock, void *arg))
{
	peer = rig_spawn(&child, fn, &rig, &qp, NULL);
}

static void finish(void)
{
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, TH_PEER_MS), 0);
	rig_close(&rig);
}

static void post(unsigned int op, size_t off, uint32_t len)
{
	rig_post_ring(&qp, &(struct rig_wr){.op = op, .va = rig.data + off, .len = len,
					    .raddr = (uint8_t *)peer.data + off, .rkey = peer.key});
}

static struct rig_cqe move(unsigned int op, size_t off, uint32_t len)
{
	post(op, off, len);
	return rig_wait(&rig, NULL);
}

/* Writes twice: the first write makes the target cache the key, the second one uses the cache. */
static void get_to_know(void)
{
	cr_assert_eq(move(RIG_WRITE, FAR, 8).op, 0);
	cr_assert_eq(move(RIG_WRITE, FAR, 8).op, 0);
}

static int sleeper(int sock, void *arg)
{
	(void)arg;
	peer = rig_join(sock, &rig, &qp, NULL);
	th_meet(sock);
	rig_expect_violations(&rig, "");
	rig_close(&rig);
	return 0;
}

Test(rc_peer, wrong_range_or_key__is_judged_by_the_target, .timeout = 60)
{
	start(sleeper);
	get_to_know();
	rig_post_ring(&qp, &(struct rig_wr){.op = RIG_WRITE, .va = rig.data, .len = 16,
					    .raddr = (uint8_t *)peer.data + RIG_DATA - 8,
					    .rkey = peer.key});
	cr_assert_eq(rig_wait(&rig, NULL).syndrome, 0x13);
	th_kill(&child);
	rig_close(&rig);
}

/* A target whose memory never changes once the key is destroyed, whatever was in flight. */
static int revoker(int sock, void *arg)
{
	volatile uint64_t *word;
	uint64_t last;
	bool kept = true;

	(void)arg;
	peer = rig_join(sock, &rig, &qp, NULL);
	word = (volatile uint64_t *)(void *)rig.data;
	while (*word < 1000)
		th_yield();
	rig_destroy_key(&rig, rig.key);
	last = *word;
	for (uint64_t end = th_now_ms() + 50; th_now_ms() < end && kept;)
		kept = *word == last;
	th_meet(sock);
	rig_close(&rig);
	return kept ? 0 : 1;
}

Test(rc_peer, destroyed_key__is_not_used_any_more, .timeout = 60)
{
	struct rig_cqe cqe;
	uint64_t i = 0;

	start(revoker);
	do {
		i++;
		memcpy(rig.data, &i, sizeof(i));
		cqe = move(RIG_WRITE, 0, 8);
	} while (cqe.op == 0);
	cr_assert_eq(cqe.syndrome, 0x13);
	cr_assert_geq(i, 1000);
	finish();
}

/* A message follows a write. It must never arrive before the write. */
enum { ROUNDS = 500 };

static int reader(int sock, void *arg)
{
	bool ordered = true;

	(void)arg;
	peer = rig_join(sock, &rig, &qp, NULL);
	for (uint64_t i = 1; i <= ROUNDS && ordered; i++) {
		uint64_t seen[2];

		rig_recv(&qp, rig.data + FAR, 8);
		th_send(sock, &i, 1);
		if (rig_wait(&rig, NULL).op != 2)
			return 2;
		memcpy(&seen[0], rig.data, 8);
		memcpy(&seen[1], rig.data + LEN - 8, 8);
		ordered = seen[0] == i && seen[1] == i;
	}
	th_meet(sock);
	rig_close(&rig);
	return ordered ? 0 : 1;
}

Test(rc_peer, message__comes_after_the_writes_before_it, .timeout = 60)
{
	start(reader);
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		uint8_t go;

		cr_assert_eq(th_recv(child.sock, &go, 1), 0);
		memcpy(rig.data, &i, 8);
		memcpy(rig.data + LEN - 8, &i, 8);
		post(RIG_WRITE, 0, LEN);
		if (i % 2)
			cr_assert_eq(rig_wait(&rig, NULL).op, 0);
		post(RIG_SEND, 0, 8);
		for (uint64_t n = i % 2; n < 2; n++)
			cr_assert_eq(rig_wait(&rig, NULL).op, 0);
	}
	finish();
}

/* A process that writes into its peer until it is killed. */
static int writer(int sock, void *arg)
{
	(void)arg;
	peer = rig_join(sock, &rig, &qp, NULL);
	for (uint64_t i = 1;; i++) {
		memcpy(rig.data, &i, 8);
		if (move(RIG_WRITE, 0, i % 64 ? 8 : 1u << 20).op)
			return 1;
	}
}

Test(rc_peer, killed_initiator__leaves_nothing_locked, .timeout = 120)
{
	for (unsigned int turn = 0; turn < 20; turn++) {
		volatile uint64_t *word;

		start(writer);
		word = (volatile uint64_t *)(void *)rig.data;
		while (*word < 100 + 17 * turn)
			th_yield();
		th_kill(&child);
		rig_destroy_key(&rig, rig.key);
		rig_close(&rig);
	}
}

/* A process that polls its device and checks only the last bytes. */
static int watcher(int sock, void *arg)
{
	volatile uint64_t *last;
	bool whole = true;

	(void)arg;
	peer = rig_join(sock, &rig, &qp, NULL);
	last = (volatile uint64_t *)(void *)(rig.data + BULK - 8);
	for (uint64_t i = 0; i < ROUNDS && whole;) {
		softnic_pump(rig.nic);
		i = *last;
		for (size_t at = 0; at < BULK; at += LEN)
			whole &= *(volatile uint64_t *)(void *)(rig.data + at) >= i;
	}
	th_meet(sock);
	rig_close(&rig);
	return whole ? 0 : 1;
}

Test(rc_peer, large_write__shows_its_last_bytes_last, .timeout = 120)
{
	start(watcher);
	get_to_know();
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		for (size_t at = 0; at < BULK; at += 8)
			memcpy(rig.data + at, &i, 8);
		cr_assert_eq(move(RIG_WRITE, 0, BULK).op, 0);
	}
	finish();
}

/* A process that polls until it is killed. */
static int poller(int sock, void *arg)
{
	(void)arg;
	peer = rig_join(sock, &rig, &qp, NULL);
	while (rig.nic)
		softnic_pump(rig.nic);
	return 0;
}

Test(rc_peer, killed_poller__is_a_transport_error, .timeout = 120)
{
	for (unsigned int turn = 0; turn < 10; turn++) {
		struct rig_cqe cqe;
		unsigned int i = 0;

		start(poller);
		get_to_know();
		do {
			if (++i == 20 + 7 * turn)
				kill(child.pid, SIGKILL);
			cqe = move(RIG_WRITE, 0, BULK);
		} while (cqe.op == 0);
		cr_assert_eq(cqe.syndrome, 0x15);
		th_kill(&child);
		rig_close(&rig);
	}
}

Test(rc_peer, killed_target__is_a_transport_error, .timeout = 60)
{
	struct rig_cqe cqe;

	start(sleeper);
	get_to_know();
	kill(child.pid, SIGKILL);
	do
		cqe = move(RIG_WRITE, 0, LEN);
	while (cqe.op == 0);
	cr_assert_eq(cqe.syndrome, 0x15);
	th_kill(&child);
	rig_close(&rig);
}
