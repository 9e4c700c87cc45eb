/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts and times for `make bench-scale`, in one process:
 *	scale IA endpoints N CALLS [US]	8-byte writes over N endpoints in turns, and their completions:
 *					ns of a post, of the dequeue of a completion, and of an operation;
 *					numbers of dequeues that found no completion: before one, and one
 *					at the end of each batch, which is expected.
 *					US: time for the device between the posts and the first dequeue
 *	scale IA memory			bytes, and ns to register, to free and to bind them
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf/dat_bench/bench.h"

enum { BATCH = 16, TRIES = 21, SMALLEST = 4096, WARM = 4 };
static const size_t largest = (size_t)256 << 20;
static const uint64_t wait_ns = 20000000000u;	/* only guards against hangs */

#define CALL __attribute__((noinline, used)) static

static struct pair p;
static unsigned int patience_us, early, nothing;

/* Functions that make one DAT call each. The profiler finds them by name. */
CALL DAT_RETURN scale_post(void)
{
	DAT_LMR_TRIPLET l = region_segment(&p.local, 0, 8);
	DAT_RMR_TRIPLET r = region_target(&p.remote, 0, 8);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	return dat_ep_post_rdma_write(p.a.ep, 1, &l, cookie, &r, DAT_COMPLETION_DEFAULT_FLAG);
}

CALL DAT_RETURN scale_dequeue(DAT_EVENT *ev)
{
	return dat_evd_dequeue(p.a.req_evd, ev);
}

/* Dequeues from an empty EVD, to measure a dequeue that comes before its completion. */
CALL DAT_RETURN scale_nothing(DAT_EVENT *ev)
{
	return dat_evd_dequeue(p.a.req_evd, ev);
}

/* Polls at the target. If calls drive the software adapters, this call drives the target's adapter. */
CALL DAT_RETURN scale_target(DAT_EVENT *ev)
{
	return dat_evd_dequeue(p.b.req_evd, ev);
}

static int batch(uint64_t *post, uint64_t *dequeue)
{
	uint64_t t = now_ns(), until = t + wait_ns, before;
	unsigned int i, got = 0;
	DAT_EVENT ev;

	for (i = 0; i < BATCH; i++) {
		bench_crowd_next(&p);
		before = now_ns();
		if (!dat_ok(scale_post(), "dat_ep_post_rdma_write"))
			return -1;
		*post += now_ns() - before;
	}
	if (patience_us)
		usleep(patience_us);
	while (got < BATCH) {
		scale_target(&ev);
		before = now_ns();
		if (scale_dequeue(&ev) != DAT_SUCCESS) {
			if (before > until)
				return -1;
			early++;
			sched_yield();
			continue;
		}
		*dequeue += now_ns() - before;
		got++;
		if (ev.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			return -1;
	}
	if (!patience_us)
		return 0;
	nothing++;
	return scale_nothing(&ev) == DAT_SUCCESS ? -1 : 0;
}

/* The measured part. The profiler counts while this function runs. */
CALL int scale_measured(unsigned int calls, uint64_t *post, uint64_t *dequeue)
{
	unsigned int done;

	for (done = 0; done < calls; done += BATCH)
		if (batch(post, dequeue))
			return -1;
	return 0;
}

static int endpoints(unsigned int n, unsigned int calls)
{
	uint64_t post = 0, dequeue = 0, start;
	unsigned int done;

	if (bench_crowd(&p, n) != BENCH_CROWD_OK)
		return 1;
	/* Each endpoint posts once before, so that one-time work is not measured. */
	for (done = 0; done < n + WARM * BATCH; done += BATCH)
		if (batch(&post, &dequeue))
			return 1;
	post = dequeue = early = nothing = 0;
	start = now_ns();
	if (scale_measured(calls, &post, &dequeue))
		return 1;
	calls = (calls + BATCH - 1) / BATCH * BATCH;
	printf("%u\t%.1f\t%.1f\t%.1f\t%u\t%u\n", n, (double)post / calls, (double)dequeue / calls,
	       (double)(now_ns() - start) / calls, early, nothing);
	return 0;
}

static uint64_t median(uint64_t *v)
{
	qsort(v, TRIES, sizeof(*v), compare_u64);
	return v[TRIES / 2];
}

static int bind_once(const struct region *r, size_t len, uint64_t *ns)
{
	DAT_LMR_TRIPLET l = region_segment(r, 0, len);
	DAT_RMR_COOKIE cookie = { .as_64 = 1 };
	uint64_t t = now_ns();
	DAT_RMR_CONTEXT context;
	DAT_EVENT ev;

	if (!dat_ok(dat_rmr_bind(p.rmr, &l, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, p.a.ep, cookie,
				 DAT_COMPLETION_DEFAULT_FLAG, &context), "dat_rmr_bind") ||
	    consumer_completion(&p.a, p.a.req_evd, &ev))
		return -1;
	*ns = now_ns() - t;
	return ev.event_data.rmr_completion_event_data.status == DAT_DTO_SUCCESS ? 0 : -1;
}

static int register_once(void *buf, size_t len, uint64_t *make, uint64_t *drop, uint64_t *bind)
{
	struct region r = { .buf = buf, .len = len };
	DAT_REGION_DESCRIPTION desc = { .for_va = buf };
	uint64_t t = now_ns();
	DAT_VADDR addr;
	DAT_VLEN size;
	int rc;

	if (!dat_ok(dat_lmr_create(p.a.ia, DAT_MEM_TYPE_VIRTUAL, desc, len, p.a.pz,
				   DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
				   &r.lmr, &r.lmr_context, &r.rmr_context, &size, &addr),
		    "dat_lmr_create"))
		return -1;
	*make = now_ns() - t;
	/* Measures the second of two binds, because the first bind of an RMR does extra work in the
	 * next one. */
	rc = bind_once(&r, len, bind) || bind_once(&r, len, bind);
	if (rc || bind_once(&p.window, PAIR_BYTES, &t))
		return -1;
	t = now_ns();
	if (!dat_ok(dat_lmr_free(r.lmr), "dat_lmr_free"))
		return -1;
	*drop = now_ns() - t;
	return 0;
}

static int memory(void)
{
	uint64_t make[TRIES], drop[TRIES], bind[TRIES];
	void *buf = aligned_alloc(SMALLEST, largest);
	size_t len;
	int i;

	if (!buf) {
		fprintf(stderr, "no memory for %zu bytes\n", largest);
		return 1;
	}
	memset(buf, 1, largest);
	for (len = SMALLEST; len <= largest; len *= 4) {
		for (i = 0; i < TRIES; i++)
			if (register_once(buf, len, &make[i], &drop[i], &bind[i]))
				return 1;
		printf("%zu\t%ju\t%ju\t%ju\n", len, (uintmax_t)median(make), (uintmax_t)median(drop),
		       (uintmax_t)median(bind));
	}
	free(buf);
	return 0;
}

/* Returns 0 if the text is no number from 1 to most. */
static unsigned int number(const char *text, unsigned long most)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	return *end || n > most ? 0 : (unsigned int)n;
}

int main(int argc, char **argv)
{
	bool memory_only = argc == 3 && !strcmp(argv[2], "memory");
	unsigned int n = 0, calls = 0;
	int status;

	if (argc > 4 && argc < 7 && !strcmp(argv[2], "endpoints")) {
		n = number(argv[3], BENCH_MANY);
		calls = number(argv[4], 100000000);
		patience_us = argc > 5 ? number(argv[5], 10000000) : 0;
	}
	if (!memory_only && (!n || !calls)) {
		fprintf(stderr, "usage: scale-bench IA memory\n       scale-bench IA endpoints N CALLS [US], "
			"N from 1 to %d\n", BENCH_MANY);
		return 2;
	}
	if (pair_open(&p, argv[1]))
		return 1;
	status = memory_only ? memory() : endpoints(n, calls);
	pair_close(&p);
	return status;
}
