/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that is stopped, or calls exec, while it has WRITEs in flight or is their target. sh/tree forbids
 * the calls by which a process could still copy to another one then.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/harness.h"
#include "tests/softnic/rc_rig.h"

enum { BULK = 1 << 16, LARGE = 1 << 20, FAR = 2 << 20, WRITES = 50, GUARD_MS = 20000 };

static struct rig rig;
static struct rig_qp qp;
static struct rig_peer peer;
static struct th_child child;

static void start(int (*fn)(int sock, void *arg))
{
	peer = rig_spawn(&child, fn, &rig, &qp, NULL);
}

static void post(size_t off, uint32_t len)
{
	rig_post_ring(&qp, &(struct rig_wr){.op = RIG_WRITE, .va = rig.data + off, .len = len,
					    .raddr = (uint8_t *)peer.data + off, .rkey = peer.key});
}

static struct rig_cqe move(size_t off, uint32_t len)
{
	post(off, len);
	return rig_wait(&rig, NULL);
}

/* Sends a WRITE first: a target that has executed a WRITE has cached the key. */
static void get_to_know(void)
{
	for (unsigned int i = 0; i < 2; i++)
		cr_assert_eq(move(FAR, 8).op, 0);
}

static bool is_stopped(void)
{
	int status;

	return waitpid(child.pid, &status, WNOHANG | WUNTRACED) == child.pid && WIFSTOPPED(status);
}

/* Checks that the rest of the device works, whatever state the child is in. */
static void check_device(void)
{
	struct rig_qp a, b;

	rig_qp(&rig, &a);
	rig_qp(&rig, &b);
	rig_connect(&a, &b, NULL);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_WRITE, .va = rig.data + FAR, .len = 64,
					   .raddr = rig.data + FAR + 64, .rkey = rig.key});
	do
		th_yield();
	while (rig_wait(&rig, NULL).qpn != a.qpn);
}

static int stops_in_write(int sock, void *arg)
{
	struct rig_cqe cqe;

	(void)arg;
	peer = rig_join(sock, &rig, &qp, NULL);
	get_to_know();
	memset(rig.data, 0x5a, BULK);
	post(0, BULK);
	raise(SIGSTOP);
	cqe = rig_wait(&rig, NULL);
	if (cqe.op == 0)
		cqe = move(0, BULK);
	th_meet(sock);
	rig_close(&rig);
	return cqe.syndrome == 0x13 ? 0 : 1;
}

Test(rc_late, write__initiator_stopped_before_copy_leaves_freed_memory_untouched, .timeout = 60)
{
	start(stops_in_write);
	cr_assert(TH_WITHIN(GUARD_MS, is_stopped()));
	rig_destroy_key(&rig, rig.key);
	rig.key = rig_key(&rig, rig.data + FAR, LARGE, 15);
	rig_fill(rig.data, BULK, 7);
	check_device();
	kill(child.pid, SIGCONT);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, GUARD_MS), 0);
	cr_assert(rig_filled(rig.data, BULK, 7),
		  "the peer wrote to memory after its key was destroyed");
	rig_close(&rig);
}

static int stops_in_help(int sock, void *arg)
{
	const volatile uint64_t *last;

	(void)arg;
	peer = rig_join(sock, &rig, &qp, NULL);
	last = (void *)(rig.data + LARGE - 8);
	while (*last < WRITES)
		softnic_pump(rig.nic);
	raise(SIGSTOP);
	th_meet(sock);
	rig_close(&rig);
	return 0;
}

Test(rc_late, post__target_stopped_in_copy_returns, .timeout = 60)
{
	uint64_t i = 0;
	bool stopped;

	start(stops_in_help);
	do {
		i++;
		memcpy(rig.data + LARGE - 8, &i, sizeof(i));
		post(0, LARGE);
		for (stopped = false; !stopped && !rig_poll(&rig, &(struct rig_cqe){ 0 });)
			stopped = is_stopped();
	} while (!stopped && i < 2 * WRITES);
	cr_assert(stopped || TH_WITHIN(GUARD_MS, is_stopped()));
	post(0, LARGE);
	check_device();
	kill(child.pid, SIGCONT);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, GUARD_MS), 0);
	rig_close(&rig);
}

/* An address that is unused in the program, before and after exec. */
static uint8_t *const common = (void *)(uintptr_t)0x200000000000;

static void *map_common(void)
{
	return mmap(common, BULK, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

/* Runs in the program that exec started. It has its own memory at the address that the old program
 * had registered. */
__attribute__((constructor)) static void be_new_program(void)
{
	const char *fd = getenv("RC_LATE_SOCK");
	bool clean = true;

	if (!fd)
		return;
	if (map_common() != common)
		_exit(2);
	th_meet(atoi(fd));
	th_meet(atoi(fd));
	for (size_t i = 0; i < BULK; i++)
		clean &= !common[i];
	_exit(clean ? 0 : 1);
}

static int becomes_another(int sock, void *arg)
{
	char *const argv[] = { (char[]){ "softnic" }, NULL };
	const volatile uint64_t *last = (void *)(common + BULK - 8);
	struct rig_peer self;
	char fd[16];

	(void)arg;
	rig_open(&rig, 0, 0);
	rig_qp(&rig, &qp);
	if (map_common() != common)
		return 2;
	self = rig_peer(&qp);
	self.data = common;
	self.key = rig_key(&rig, common, BULK, 15);
	peer = rig_exchange(sock, &qp, &self, NULL);
	while (*last < WRITES)
		th_yield();
	snprintf(fd, sizeof(fd), "%d", dup(sock));
	setenv("RC_LATE_SOCK", fd, 1);
	execv("/proc/self/exe", argv);
	return 3;
}

Test(rc_late, write__target_called_exec_leaves_new_program_untouched, .timeout = 60)
{
	struct rig_cqe cqe;
	uint64_t i = 0;

	start(becomes_another);
	memset(rig.data, 0x5a, BULK);
	do {
		i++;
		memcpy(rig.data + BULK - 8, &i, sizeof(i));
		cqe = move(0, BULK);
	} while (cqe.op == 0);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, GUARD_MS), 0, "the peer wrote to memory of the new program");
	rig_close(&rig);
}
