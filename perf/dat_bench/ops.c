/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/dat_bench/bench.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include <dat/dapl_direct.h>

bool bench_warm;

static const uint64_t wait_ns = 20000000000u;	/* only guards against hangs */

/* A list of four segments that together have the same bytes as one. Inlined into its caller, as SHARED is. */
enum { SEGMENTS = 4 };

static inline __attribute__((always_inline)) void
pieces_of(const struct region *r, uint64_t len, DAT_LMR_TRIPLET l[SEGMENTS])
{
	unsigned int i;

	for (i = 0; i < SEGMENTS; i++)
		l[i] = region_segment(r, i * len / SEGMENTS, len / SEGMENTS);
}

static DAT_RMR_TRIPLET target_at(const struct pair *p, unsigned int place, uint64_t len)
{
	return region_target(&p->remote, place % PAIR_PLACES * PAIR_BYTES, len);
}

/* Returns a target address. It changes each time, because a second write to an address may have to
 * wait for the first. */
static DAT_RMR_TRIPLET next_target(const struct pair *p, uint64_t len)
{
	static unsigned int turn;

	return target_at(p, turn++, len);
}

static const DAT_DTO_COOKIE cookie = { .as_64 = 7 };

/* Marks a function that several of the measured ones share. The profiler counts instructions from the
 * start of a measured function to the DAT call, so the shared function is inlined. */
#define SHARED static inline __attribute__((always_inline)) DAT_RETURN

SHARED post_write(struct pair *p, DAT_RMR_TRIPLET to, uint64_t len)
{
	DAT_LMR_TRIPLET l = region_segment(&p->local, 0, len);

	return dat_ep_post_rdma_write(p->a.ep, 1, &l, cookie, &to, DAT_COMPLETION_DEFAULT_FLAG);
}

SHARED post_send(struct pair *p, uint64_t len)
{
	DAT_LMR_TRIPLET l = region_segment(&p->local, 0, len);

	return dat_ep_post_send(p->a.ep, 1, &l, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

/* Functions that make one DAT call each. They are external and not inlined, so that the profiler
 * finds them by name. */
#if defined(__clang__)
#define BENCH_CALL __attribute__((noinline, used)) static DAT_RETURN
#else
#define BENCH_CALL __attribute__((noinline, noclone, used)) static DAT_RETURN
#endif

BENCH_CALL bench_write8(struct pair *p) { return post_write(p, next_target(p, 8), 8); }
BENCH_CALL bench_write8_same(struct pair *p) { return post_write(p, target_at(p, 0, 8), 8); }
BENCH_CALL bench_write64(struct pair *p) { return post_write(p, next_target(p, 64), 64); }
BENCH_CALL bench_send8(struct pair *p) { return post_send(p, 8); }

/* These post the writes and messages whose completions the measured dequeue takes. They are other functions
 * than the measured posts, so that the profiler does not count them as such. */
BENCH_CALL bench_feed(struct pair *p) { return post_write(p, next_target(p, 8), 8); }
BENCH_CALL bench_feed_message(struct pair *p) { return post_send(p, 8); }

BENCH_CALL bench_write_pieces(struct pair *p)
{
	DAT_RMR_TRIPLET r = next_target(p, BENCH_BIG);
	DAT_LMR_TRIPLET l[SEGMENTS];

	pieces_of(&p->local, BENCH_BIG, l);
	return dat_ep_post_rdma_write(p->a.ep, SEGMENTS, l, cookie, &r,
				      DAT_COMPLETION_DEFAULT_FLAG);
}

BENCH_CALL bench_send_pieces(struct pair *p)
{
	DAT_LMR_TRIPLET l[SEGMENTS];

	pieces_of(&p->local, BENCH_BIG, l);
	return dat_ep_post_send(p->a.ep, SEGMENTS, l, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

BENCH_CALL bench_write4k(struct pair *p)
{
	return post_write(p, next_target(p, BENCH_BIG), BENCH_BIG);
}

BENCH_CALL bench_read4k(struct pair *p)
{
	DAT_LMR_TRIPLET l = region_segment(&p->local, 0, BENCH_BIG);
	DAT_RMR_TRIPLET r = next_target(p, BENCH_BIG);

	return dat_ep_post_rdma_read(p->a.ep, 1, &l, cookie, &r, DAT_COMPLETION_DEFAULT_FLAG);
}

BENCH_CALL bench_send4k(struct pair *p) { return post_send(p, BENCH_BIG); }

BENCH_CALL bench_recv(struct pair *p)
{
	DAT_LMR_TRIPLET l = region_segment(&p->remote, 0, BENCH_BIG);

	return dat_ep_post_recv(p->b.ep, 1, &l, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

SHARED bind_window(struct pair *p, uint64_t len, DAT_MEM_PRIV_FLAGS priv)
{
	DAT_LMR_TRIPLET l = region_segment(&p->window, 0, len);

	return consumer_bind(p->rmr, p->window.lmr, &l, priv, p->a.ep, cookie, DAT_COMPLETION_DEFAULT_FLAG,
			     &p->context);
}

BENCH_CALL bench_bind(struct pair *p)
{
	return bind_window(p, BENCH_BIG, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
}

BENCH_CALL bench_rebind(struct pair *p)
{
	return bind_window(p, BENCH_BIG, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
}

BENCH_CALL bench_unbind(struct pair *p) { return bind_window(p, 0, DAT_MEM_PRIV_NONE_FLAG); }

SHARED dequeue(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	return dat_evd_dequeue(evd, &ev);
}

BENCH_CALL bench_dequeue_one(struct pair *p) { return dequeue(p->a.req_evd); }
BENCH_CALL bench_dequeue_message(struct pair *p) { return dequeue(p->b.recv_evd); }
BENCH_CALL bench_dequeue_some(struct pair *p) { return dequeue(p->a.req_evd); }
BENCH_CALL bench_dequeue_many(struct pair *p) { return dequeue(p->a.req_evd); }
BENCH_CALL bench_dequeue_none(struct pair *p) { return dequeue(p->b.req_evd); }

/* Dequeues several completions at once through dapl_direct.h, whose inline part is counted too. */
static DAT_COUNT taken_short;	/* number of calls that found fewer completions than requested */

BENCH_CALL bench_take(DAT_EVD_HANDLE evd, DAT_COUNT n)
{
	DAT_EVENT events[BENCH_BATCH];
	DAT_COUNT got;
	DAT_RETURN ret = dapl_evd_dequeue_n(evd, n, events, &got);

	if (ret != DAT_SUCCESS || got == n)
		return ret;
	taken_short = got;
	return (DAT_RETURN)DAT_QUEUE_EMPTY;
}

BENCH_CALL bench_each_of_1(struct pair *p) { return bench_take(p->a.req_evd, 1); }
BENCH_CALL bench_each_of_4(struct pair *p) { return bench_take(p->a.req_evd, 4); }
BENCH_CALL bench_each_of_16(struct pair *p) { return bench_take(p->a.req_evd, 16); }

#define ROW(text, fn) .name = (text), .function = #fn, .call = (fn)

const struct bench_op bench_ops[] = {
	{ ROW("post write 8 B inline", bench_write8), .on = BENCH_ORDERED },
	{ ROW("post write 8 B", bench_write8), .on = BENCH_UNORDERED },
	{ ROW("post write 8 B, same place", bench_write8_same), .on = BENCH_UNORDERED },
	{ ROW("post write 64 B inline", bench_write64), .on = BENCH_ORDERED },
	{ ROW("post write 4 KB", bench_write4k) },
	{ ROW("post read 4 KB", bench_read4k) },
	{ ROW("post send 8 B", bench_send8), .needs_receive = true, .on = BENCH_UNORDERED },
	{ ROW("post send 4 KB", bench_send4k), .needs_receive = true },
	{ ROW("post write 4 segments", bench_write_pieces), .on = BENCH_ORDERED },
	{ ROW("post send 4 segments", bench_send_pieces), .needs_receive = true,
	  .on = BENCH_ORDERED },
	{ ROW("post recv", bench_recv), .receives = true },
	{ ROW("bind unbound RMR", bench_bind), .binds = true, .on = BENCH_ORDERED },
	{ ROW("rebind RMR", bench_rebind), .binds = true, .on = BENCH_ORDERED },
	{ ROW("unbind RMR", bench_unbind), .binds = true, .on = BENCH_ORDERED },
	{ ROW("dequeue one completion", bench_dequeue_one), .dequeues = 1 },
	{ ROW("dequeue one message", bench_dequeue_message), .dequeues = 1, .messages = true,
	  .on = BENCH_UNORDERED },
	{ ROW("dequeue none", bench_dequeue_none) },
	{ ROW("each of 1 dequeued", bench_each_of_1), .dequeues = 1, .on = BENCH_ORDERED },
	{ ROW("each of 4 dequeued", bench_each_of_4), .dequeues = 4, .on = BENCH_ORDERED },
	{ ROW("each of 16 dequeued", bench_each_of_16), .dequeues = 16, .on = BENCH_ORDERED },
	{ ROW("post_n, each of 16 writes 8 B", bench_post_16), .posts = BENCH_BATCH,
	  .on = BENCH_ORDERED },
	{ ROW("dequeue, 64 endpoints", bench_dequeue_some), .dequeues = 1,
	  .endpoints = BENCH_SOME, .on = BENCH_ORDERED },
	{ ROW("dequeue, 4096 endpoints", bench_dequeue_many), .dequeues = 1,
	  .endpoints = BENCH_MANY, .on = BENCH_ORDERED },
	{ 0 },
};

/* Waits for n completions of the EVD. Sleeps between polls, because the device has its own
 * thread. */
static int reap(DAT_EVD_HANDLE evd, unsigned int n)
{
	uint64_t until = now_ns() + wait_ns;
	DAT_EVENT ev;

	while (n) {
		if (dat_evd_dequeue(evd, &ev) != DAT_SUCCESS) {
			if (now_ns() > until) {
				fprintf(stderr, "%u completions have not come within %ju s\n", n,
					(uintmax_t)(wait_ns / 1000000000u));
				return -1;
			}
			sched_yield();
			continue;
		}
		if (ev.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS &&
		    ev.event_number == DAT_DTO_COMPLETION_EVENT) {
			fprintf(stderr, "a request completed with status %s\n",
				dat_status_name(ev.event_data.dto_completion_event_data.status));
			return -1;
		}
		n--;
	}
	return 0;
}

static int calls(struct pair *p, const struct bench_op *op, unsigned int n, DAT_RETURN want,
		 uint64_t *ns)
{
	unsigned int i, bad = 0;
	DAT_RETURN ret = want, last = want;
	uint64_t t = now_ns();

	for (i = 0; i < n; i++) {
		ret = op->call(p);
		bad += DAT_GET_TYPE(ret) != DAT_GET_TYPE(want);
		last = DAT_GET_TYPE(ret) != DAT_GET_TYPE(want) ? ret : last;
	}
	*ns += since_ns(t);
	if (!bad)
		return 0;
	if (last == DAT_SUCCESS)
		fprintf(stderr, "%s: %u calls succeeded that must fail\n", op->name, bad);
	else
		dat_ok(last, op->name);
	return -1;
}

static int many_recvs(struct pair *p, unsigned int n)
{
	while (n--)
		if (!dat_ok(bench_recv(p), "dat_ep_post_recv"))
			return -1;
	return 0;
}

/* Binds run one at a time, because each needs the window in the state that its row names. */
static int bind_batch(struct pair *p, const struct bench_op *op, uint64_t *ns)
{
	bool unbind = op->call == bench_unbind;
	bool before = unbind || op->call == bench_rebind;

	if (!dat_ok(bind_window(p, before ? BENCH_BIG : 0, before ? DAT_MEM_PRIV_REMOTE_READ_FLAG :
				DAT_MEM_PRIV_NONE_FLAG), "dat_rmr_bind") || reap(p->a.req_evd, 1) ||
	    calls(p, op, 1, DAT_SUCCESS, ns))
		return -1;
	return reap(p->a.req_evd, 1);
}

static int recv_batch(struct pair *p, const struct bench_op *op, uint64_t *ns)
{
	unsigned int i;

	if (calls(p, op, BENCH_BATCH, DAT_SUCCESS, ns))
		return -1;
	for (i = 0; i < BENCH_BATCH; i++)
		if (!dat_ok(bench_send4k(p), "dat_ep_post_send"))
			return -1;
	return reap(p->a.req_evd, BENCH_BATCH) || reap(p->b.recv_evd, BENCH_BATCH) ? -1 : 0;
}

/* Dequeues n completions with op, or fewer if they have not arrived. */
static unsigned int dequeue_some(struct pair *p, const struct bench_op *op, unsigned int n)
{
	unsigned int got;

	for (got = 0; got < n && op->call(p) == DAT_SUCCESS; got += op->dequeues)
		;
	got += (unsigned int)taken_short;
	taken_short = 0;
	return got;
}

static int feed_op(struct pair *p, const struct bench_op *op)
{
	if (!op->messages)
		return dat_ok(bench_feed(p), "dat_ep_post_rdma_write") ? 0 : -1;
	return many_recvs(p, 1) || !dat_ok(bench_feed_message(p), "dat_ep_post_send") ? -1 : 0;
}

/*
 * Polls at the peer. An EFA's driver counts writes, and a peer that never polls returns no credits.
 */
static void peer_looks(struct pair *p)
{
	DAT_EVENT ev;

	dat_evd_dequeue(p->b.req_evd, &ev);
}

static void wait_for_device(struct pair *p, unsigned int us)
{
	unsigned int i;

	if (!bench_warm)
		usleep(us);
	for (i = 0; bench_warm && i < us / 200; i++)
		peer_looks(p);
}

/*
 * Returns how long to wait before the first call of a batch. All completions must have arrived by
 * then, and without a call only time can ensure that. If the device's thread was late, the batch is
 * discarded and repeated. The first calls after the wait are not timed: a program that polls all
 * the time has its code and tables in the cache.
 */
static unsigned int first_wait_us;

static int dequeue_batch(struct pair *p, const struct bench_op *op, uint64_t *ns)
{
	DAT_EVD_HANDLE evd = op->messages ? p->b.recv_evd : p->a.req_evd;
	unsigned int wait_us, i, got;
	uint64_t t, spent;

	for (wait_us = first_wait_us; wait_us < 3000000; wait_us *= 3) {
		peer_looks(p);
		for (i = 0; i < BENCH_WARM + BENCH_BATCH; i++) {
			bench_crowd_next(p);
			if (feed_op(p, op))
				return -1;
		}
		wait_for_device(p, wait_us);
		got = dequeue_some(p, op, BENCH_WARM);
		t = now_ns();
		got += dequeue_some(p, op, BENCH_BATCH);
		spent = since_ns(t);
		if (reap(evd, BENCH_WARM + BENCH_BATCH - got) ||
		    (op->messages && reap(p->a.req_evd, BENCH_WARM + BENCH_BATCH)))
			return -1;
		if (got == BENCH_WARM + BENCH_BATCH) {
			*ns += spent;
			return 0;
		}
	}
	fprintf(stderr, "%s: the completions of a batch take seconds\n", op->name);
	return -1;
}

static int post_batch(struct pair *p, const struct bench_op *op, uint64_t *ns)
{
	if (op->needs_receive && many_recvs(p, BENCH_BATCH))
		return -1;
	if (calls(p, op, BENCH_BATCH / (op->posts ?: 1), DAT_SUCCESS, ns) ||
	    reap(p->a.req_evd, BENCH_BATCH))
		return -1;
	peer_looks(p);
	return op->needs_receive ? reap(p->b.recv_evd, BENCH_BATCH) : 0;
}

static int run_batch(struct pair *p, const struct bench_op *op, unsigned int *made, uint64_t *ns)
{
	*made = op->binds ? 1 : BENCH_BATCH;
	if (op->binds)
		return bind_batch(p, op, ns);
	if (op->receives)
		return recv_batch(p, op, ns);
	if (op->dequeues)
		return dequeue_batch(p, op, ns);
	if (op->call == bench_dequeue_none)
		return calls(p, op, BENCH_BATCH, DAT_CLASS_ERROR | DAT_QUEUE_EMPTY, ns);
	return post_batch(p, op, ns);
}

/* Returns the median of the batches, so that a batch that lost the CPU has no effect. */
int bench_run(struct pair *p, const struct bench_op *op, unsigned int n, double *ns)
{
	static bool has_written;
	unsigned int done, made;
	struct samples batches;
	uint64_t spent = 0;
	int rc;

	first_wait_us = batch_wait_us(n / BENCH_BATCH);
	/* An EFA posts RDMA on the fast path after the first one of a connection has succeeded. */
	if (p->no_rmr && !has_written) {
		if (!dat_ok(bench_feed(p), "dat_ep_post_rdma_write") || reap(p->a.req_evd, 1))
			return -1;
		peer_looks(p);
		has_written = true;
	}
	rc = run_batch(p, op, &made, &spent);

	if (rc || samples_init(&batches, n))
		return -1;
	for (done = 0; rc == 0 && done < n; done += made) {
		spent = 0;
		rc = run_batch(p, op, &made, &spent);
		samples_add(&batches, spent);
	}
	*ns = (double)samples_quantile(&batches, 0.5) / made;
	samples_free(&batches);
	return rc;
}
