/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A latency is only comparable with a reference from the same moment. The reference is the time of
 * a cache line from one core to the other and back, measured just before and just after in the same
 * run.
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "perf/common/line.h"
#include "perf/dat_bench/bench.h"

enum { RECVS = 8 };

/* memory of both processes */
struct shared {
	struct line line;
	_Atomic uint64_t qual;		/* at which the child listens; 0: not yet */
};

struct side {
	struct consumer c;
	struct region send, recv;
};

static int post_recv(struct side *s)
{
	DAT_LMR_TRIPLET l = region_segment(&s->recv, 0, 8);
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	return dat_ok(dat_ep_post_recv(s->c.ep, 1, &l, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		      "dat_ep_post_recv") ? 0 : -1;
}

static int side_open(struct side *s, const char *ia)
{
	DAT_MEM_PRIV_FLAGS rw = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	int i;

	s->c.idle_ns = 10000000000u;
	if (consumer_open(&s->c, ia) || consumer_make_ep(&s->c, NULL) ||
	    region_create(&s->c, &s->send, 8, rw) || region_create(&s->c, &s->recv, 8, rw))
		return -1;
	for (i = 0; i < RECVS; i++)
		if (post_recv(s))
			return -1;
	return 0;
}

static int send8(struct side *s)
{
	DAT_LMR_TRIPLET l = region_segment(&s->send, 0, 8);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_EVENT ev;

	/* The previous send has completed by now, so this does not wait. */
	while (dat_evd_dequeue(s->c.req_evd, &ev) == DAT_SUCCESS)
		;
	return dat_ok(dat_ep_post_send(s->c.ep, 1, &l, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		      "dat_ep_post_send") ? 0 : -1;
}

static int receive8(struct side *s)
{
	DAT_EVENT ev;

	if (consumer_completion(&s->c, s->c.recv_evd, &ev))
		return -1;
	if (ev.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		return -1;
	return post_recv(s);
}

/* The provider chooses an unused qualifier. */
static int listen_anywhere(struct side *s, _Atomic uint64_t *where)
{
	DAT_CONN_QUAL qual;

	if (!dat_ok(dat_psp_create_any(s->c.ia, &qual, s->c.cr_evd, DAT_PSP_CONSUMER_FLAG, &s->c.psp),
		    "dat_psp_create_any"))
		return -1;
	atomic_store(where, qual);
	return 0;
}

static int child(const char *ia, unsigned int rounds, struct shared *s)
{
	struct side b = { .send.buf = NULL };
	DAT_CR_HANDLE cr;
	unsigned int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	line_echo(&s->line, LINE_ROUNDS);
	if (side_open(&b, ia) || listen_anywhere(&b, &s->qual) ||
	    consumer_wait_request(&b.c, &cr, 10000000000u) ||
	    !dat_ok(dat_cr_accept(cr, b.c.ep, 0, NULL), "dat_cr_accept") ||
	    consumer_wait_established(&b.c, NULL, NULL))
		return 1;
	for (i = 0; i < rounds; i++)
		if (receive8(&b) || send8(&b))
			return 1;
	consumer_wait_end(&b.c, 5000000000u);
	consumer_close(&b.c);
	atomic_store(&s->line.turn, 0);
	line_echo(&s->line, LINE_ROUNDS);
	return 0;
}

static int parent(const char *ia, struct shared *s, unsigned int rounds, double *ns)
{
	struct side a = { .send.buf = NULL };
	unsigned int i, warm = rounds / 10;
	char own[INET6_ADDRSTRLEN];
	uint64_t t = 0;

	if (side_open(&a, ia))
		return -1;
	while (!atomic_load(&s->qual))
		sched_yield();
	if (consumer_request(&a.c, consumer_own_host(&a.c, own, sizeof(own)), s->qual, 10000000, NULL, 0) ||
	    consumer_wait_established(&a.c, NULL, NULL))
		return -1;
	for (i = 0; i < rounds; i++) {
		if (i == warm)
			t = now_ns();
		if (send8(&a) || receive8(&a))
			return -1;
	}
	*ns = (double)(now_ns() - t) / (rounds - warm) / 2;
	consumer_close(&a.c);
	return 0;
}

/* This process may be waiting for the other one. */
static void on_end(int signal, siginfo_t *info, void *context)
{
	static const char killed[] = "dat_bench: a signal has ended the other process\n";

	(void)signal;
	(void)context;
	if (info->si_code == CLD_EXITED && info->si_status == 0)
		return;
	if (info->si_code != CLD_EXITED)
		(void)!write(STDERR_FILENO, killed, sizeof(killed) - 1);
	_exit(1);
}

int bench_latency(const char *ia, unsigned int rounds, double *send_ns, double *line_ns)
{
	struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct sigaction act = { .sa_sigaction = on_end, .sa_flags = SA_SIGINFO | SA_NOCLDSTOP };
	pid_t pid;

	if (s == MAP_FAILED || sigaction(SIGCHLD, &act, NULL))
		return -1;
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -1;
	if (pid == 0)
		_exit(child(ia, rounds, s));
	*line_ns = line_ping(&s->line, LINE_ROUNDS);
	/* If this process ends, so does the other one. */
	if (parent(ia, s, rounds, send_ns))
		return -1;
	while (atomic_load(&s->line.turn) != 0)
		sched_yield();
	*line_ns = (*line_ns + line_ping(&s->line, LINE_ROUNDS)) / 2;
	return 0;
}
