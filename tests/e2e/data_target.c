/* SPDX-License-Identifier: BSD-2-Clause */
/* One-sided transfers need no help from the target's program, which sleeps, computes, or is in the
 * kernel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/e2e/rig.h"

#define BYTES (1u << 20)

static struct end a;
static struct th_child peer;

static void setup(void)
{
}

static void teardown(void)
{
	th_kill(&peer);
	end_close(&a);
}

TestSuite(data_target, .timeout = 180);

enum manner { COMPUTES, SLEEPS, READS_A_PIPE };

struct where {
	DAT_CONN_QUAL qual;
	DAT_RMR_TRIPLET memory;
};

static volatile unsigned int sink;

/* Computes, without any call, until the last byte of the transfer has changed. */
static void compute_until(const char *mem)
{
	const volatile char *last = mem + BYTES - 1;
	uint64_t end = th_now_ms() + SOON_MS;

	while (*last != 'z' && th_now_ms() < end) {
		for (unsigned int i = 0; i < 100000; i++)
			sink = sink * 31 + i;
	}
}

static void target_connect(int sock, struct end *e)
{
	struct where where;

	end_open(e, BYTES, NULL);
	end_listen(e);
	where.qual = e->qual;
	where.memory = far(e, 0, BYTES);
	th_send(sock, &where, sizeof(where));
	must(dat_cr_accept(end_request(e), e->ep, 0, NULL));
	took_conn(e, e->ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	same(th_meet(sock), 0);
}

static void connect_to(struct where *w)
{
	end_open(&a, 2 * BYTES, NULL);
	same(th_recv(peer.sock, w, sizeof(*w)), 0);
	must(end_dial(a.ep, w->qual, SOON_MS * 1000u));
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	same(th_meet(peer.sock), 0);
}

/* The target makes no DAT call after ESTABLISHED. */
static int target(int sock, void *arg)
{
	enum manner manner = *(enum manner *)arg;
	struct end e;
	char c;

	target_connect(sock, &e);
	if (manner == COMPUTES)
		compute_until(e.mem);
	else if (manner == SLEEPS)
		while (e.mem[BYTES - 1] != 'z')
			th_sleep_ms(50);
	same(th_recv(sock, &c, 1), 0);
	check(filled(e.mem, BYTES - 1, 77));
	same(th_meet(sock), 0);
	end_close(&e);
	return 0;
}

static void transfer(enum manner manner)
{
	struct where w;

	peer_spawn(&peer, target, &manner);
	connect_to(&w);
	fill(a.mem, BYTES - 1, 77);
	a.mem[BYTES - 1] = 'y';
	for (uint64_t i = 0; i < 3; i++) {
		must(do_write(&a, i, 0, w.memory, 0));
		must(do_read(&a, i + 10, BYTES, w.memory, 0));
		took(a.req_evd, i, DAT_DTO_SUCCESS);
		took(a.req_evd, i + 10, DAT_DTO_SUCCESS);
		check(!memcmp(a.mem, a.mem + BYTES, BYTES));
	}
	/* All transfers have completed while the target's program was busy. Only now may it
	 * continue. */
	a.mem[BYTES - 1] = 'z';
	must(do_write(&a, 4, 0, w.memory, 0));
	took(a.req_evd, 4, DAT_DTO_SUCCESS);
	same(th_send(peer.sock, "x", 1), 0);
	same(th_meet(peer.sock), 0);
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	peer_done(&peer);
}

RIG_TEST(data_target, transfer__completes_while_the_target_computes)
{
	transfer(COMPUTES);
}

RIG_TEST(data_target, transfer__completes_while_the_target_sleeps)
{
	transfer(SLEEPS);
}

RIG_TEST(data_target, transfer__completes_while_the_target_is_in_the_kernel)
{
	transfer(READS_A_PIPE);
}

/* The thread that waits for the completion sleeps, too: no thread polls. */
RIG_TEST(data_target, transfer__completes_while_target_and_writer_sleep)
{
	rig_sleeps = true;
	transfer(SLEEPS);
}

/* number of writes without completions, more than any queue can hold */
static unsigned int many(void)
{
	return getenv("DAPL_ALL") ? 100000 : 3000;
}

/* The target blocks in one system call after ESTABLISHED. */
static int blocked_target(int sock, void *arg)
{
	struct end e;
	uint64_t got;
	char c;

	(void)arg;
	target_connect(sock, &e);
	same(read(sock, &c, 1), 1);
	for (uint64_t i = 0; i < many(); i++) {
		memcpy(&got, e.mem + i * sizeof(got), sizeof(got));
		same(got, i);
	}
	same(th_meet(sock), 0);
	end_close(&e);
	return 0;
}

RIG_TEST(data_target, suppressed_writes__complete_while_the_target_makes_no_call)
{
	unsigned int n = many();
	DAT_RMR_TRIPLET to;
	uint64_t begin;
	struct where w;

	peer_spawn(&peer, blocked_target, NULL);
	connect_to(&w);
	to = w.memory;
	to.segment_length = sizeof(uint64_t);
	begin = th_now_ms();
	for (uint64_t i = 0; i < n; i++) {
		memcpy(a.mem + i * sizeof(i), &i, sizeof(i));
		to.target_address = w.memory.target_address + i * sizeof(i);
		soon(do_write(&a, i, i * sizeof(i), to, i + 1 < n ? SUPPRESS : 0));
	}
	took(a.req_evd, n - 1, DAT_DTO_SUCCESS);
	fprintf(stderr, "note: %u suppressed writes of 8 bytes to a blocked target: %llu ms\n", n,
		(unsigned long long)(th_now_ms() - begin));
	same(th_send(peer.sock, "x", 1), 0);
	same(th_meet(peer.sock), 0);
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	peer_done(&peer);
}
