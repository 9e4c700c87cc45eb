/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/dat_bench/bench.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#ifdef DAP_DAT20
#define TARGET virtual_address
#define LENGTH DAT_SEG_LENGTH
#else
#define TARGET target_address
#define LENGTH DAT_VLEN
#endif

static const uint64_t wait_ns = 20000000000u;	/* against hangs, no measure */

static DAT_LMR_TRIPLET at(const struct region *r, uint64_t len)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = r->lmr_context,
				  .virtual_address = (DAT_VADDR)(uintptr_t)r->buf,
				  .segment_length = (LENGTH)len };
}

/* The same bytes in four pieces. Part of its caller, see bind_window. */
enum { SEGMENTS = 4 };

static inline __attribute__((always_inline)) void
pieces_of(const struct region *r, uint64_t len, DAT_LMR_TRIPLET l[SEGMENTS])
{
	unsigned int i;

	for (i = 0; i < SEGMENTS; i++) {
		l[i] = at(r, len / SEGMENTS);
		l[i].virtual_address += i * len / SEGMENTS;
	}
}

static DAT_RMR_TRIPLET target(const struct pair *p, uint64_t len)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = p->remote.rmr_context,
				  .TARGET = (DAT_VADDR)(uintptr_t)p->remote.buf,
				  .segment_length = (LENGTH)len };
}

static const DAT_DTO_COOKIE cookie = { .as_64 = 7 };

/* One call each. External and not inlined: the profiler finds them by name. */
#if defined(__clang__)
#define BENCH_CALL __attribute__((noinline, used)) static DAT_RETURN
#else
#define BENCH_CALL __attribute__((noinline, noclone, used)) static DAT_RETURN
#endif

BENCH_CALL bench_write8(struct pair *p)
{
	DAT_LMR_TRIPLET l = at(&p->local, 8);
	DAT_RMR_TRIPLET r = target(p, 8);

	return dat_ep_post_rdma_write(p->a.ep, 1, &l, cookie, &r, DAT_COMPLETION_DEFAULT_FLAG);
}

/* Work for the dequeue that is measured; the first post of an endpoint must not count above. */
BENCH_CALL bench_feed(struct pair *p)
{
	DAT_LMR_TRIPLET l = at(&p->local, 8);
	DAT_RMR_TRIPLET r = target(p, 8);

	return dat_ep_post_rdma_write(p->a.ep, 1, &l, cookie, &r, DAT_COMPLETION_DEFAULT_FLAG);
}

BENCH_CALL bench_write64(struct pair *p)
{
	DAT_LMR_TRIPLET l = at(&p->local, 64);
	DAT_RMR_TRIPLET r = target(p, 64);

	return dat_ep_post_rdma_write(p->a.ep, 1, &l, cookie, &r, DAT_COMPLETION_DEFAULT_FLAG);
}

BENCH_CALL bench_write_pieces(struct pair *p)
{
	DAT_RMR_TRIPLET r = target(p, BENCH_BIG);
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
	DAT_LMR_TRIPLET l = at(&p->local, BENCH_BIG);
	DAT_RMR_TRIPLET r = target(p, BENCH_BIG);

	return dat_ep_post_rdma_write(p->a.ep, 1, &l, cookie, &r, DAT_COMPLETION_DEFAULT_FLAG);
}

BENCH_CALL bench_read4k(struct pair *p)
{
	DAT_LMR_TRIPLET l = at(&p->local, BENCH_BIG);
	DAT_RMR_TRIPLET r = target(p, BENCH_BIG);

	return dat_ep_post_rdma_read(p->a.ep, 1, &l, cookie, &r, DAT_COMPLETION_DEFAULT_FLAG);
}

BENCH_CALL bench_send4k(struct pair *p)
{
	DAT_LMR_TRIPLET l = at(&p->local, BENCH_BIG);

	return dat_ep_post_send(p->a.ep, 1, &l, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

BENCH_CALL bench_recv(struct pair *p)
{
	DAT_LMR_TRIPLET l = at(&p->remote, BENCH_BIG);

	return dat_ep_post_recv(p->b.ep, 1, &l, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

/* Part of its caller: instructions are counted on the edge to the DAT call. */
static inline __attribute__((always_inline)) DAT_RETURN
bind_window(struct pair *p, const DAT_LMR_TRIPLET *l, DAT_MEM_PRIV_FLAGS priv)
{
#ifdef DAP_DAT20
	return dat_rmr_bind(p->rmr, p->window.lmr, l, priv, DAT_VA_TYPE_VA, p->a.ep, cookie,
			    DAT_COMPLETION_DEFAULT_FLAG, &p->context);
#else
	return dat_rmr_bind(p->rmr, l, priv, p->a.ep, cookie, DAT_COMPLETION_DEFAULT_FLAG,
			    &p->context);
#endif
}

static DAT_RETURN rmr_bind(struct pair *p, uint64_t len, DAT_MEM_PRIV_FLAGS priv)
{
	DAT_LMR_TRIPLET l = at(&p->window, len);

	return bind_window(p, &l, priv);
}

BENCH_CALL bench_bind(struct pair *p)
{
	DAT_LMR_TRIPLET l = at(&p->window, BENCH_BIG);

	return bind_window(p, &l, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
}

BENCH_CALL bench_rebind(struct pair *p)
{
	DAT_LMR_TRIPLET l = at(&p->window, BENCH_BIG);

	return bind_window(p, &l, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
}

BENCH_CALL bench_unbind(struct pair *p)
{
	DAT_LMR_TRIPLET l = at(&p->window, 0);

	return bind_window(p, &l, DAT_MEM_PRIV_NONE_FLAG);
}

BENCH_CALL bench_dequeue_one(struct pair *p)
{
	DAT_EVENT ev;

	return dat_evd_dequeue(p->a.req_evd, &ev);
}

BENCH_CALL bench_dequeue_some(struct pair *p)
{
	DAT_EVENT ev;

	return dat_evd_dequeue(p->a.req_evd, &ev);
}

BENCH_CALL bench_dequeue_many(struct pair *p)
{
	DAT_EVENT ev;

	return dat_evd_dequeue(p->a.req_evd, &ev);
}

BENCH_CALL bench_dequeue_none(struct pair *p)
{
	DAT_EVENT ev;

	return dat_evd_dequeue(p->b.req_evd, &ev);
}

const struct bench_op bench_ops[] = {
	{ "post write 8 B inline", "bench_write8", bench_write8, 0, 0, 0, 0, 0 },
	{ "post write 64 B inline", "bench_write64", bench_write64, 0, 0, 0, 0, 0 },
	{ "post write 4 KB", "bench_write4k", bench_write4k, 0, 0, 0, 0, 0 },
	{ "post read 4 KB", "bench_read4k", bench_read4k, 0, 0, 0, 0, 0 },
	{ "post send 4 KB", "bench_send4k", bench_send4k, 0, 0, 1, 0, 0 },
	{ "post write 4 segments", "bench_write_pieces", bench_write_pieces, 0, 0, 0, 0, 0 },
	{ "post send 4 segments", "bench_send_pieces", bench_send_pieces, 0, 0, 1, 0, 0 },
	{ "post recv", "bench_recv", bench_recv, 0, 1, 0, 0, 0 },
	{ "bind unbound RMR", "bench_bind", bench_bind, 1, 0, 0, 0, 0 },
	{ "rebind RMR", "bench_rebind", bench_rebind, 1, 0, 0, 0, 0 },
	{ "unbind RMR", "bench_unbind", bench_unbind, 1, 0, 0, 0, 0 },
	{ "dequeue one completion", "bench_dequeue_one", bench_dequeue_one, 0, 0, 0, 1, 0 },
	{ "dequeue none", "bench_dequeue_none", bench_dequeue_none, 0, 0, 0, 0, 0 },
	{ "dequeue, 64 endpoints", "bench_dequeue_some", bench_dequeue_some, 0, 0, 0, 1, BENCH_SOME },
	{ "dequeue, 4096 endpoints", "bench_dequeue_many", bench_dequeue_many, 0, 0, 0, 1, BENCH_MANY },
	{ NULL, NULL, NULL, 0, 0, 0, 0, 0 },
};

/* Waits for n completions of the EVD, sleeping in between: the device has a thread of its own. */
static int reap(DAT_EVD_HANDLE evd, unsigned int n)
{
	uint64_t until = now_ns() + wait_ns;
	DAT_EVENT ev;

	while (n) {
		if (dat_evd_dequeue(evd, &ev) != DAT_SUCCESS) {
			if (now_ns() > until) {
				fprintf(stderr, "%u completions are missing\n", n);
				return -1;
			}
			sched_yield();
			continue;
		}
		if (ev.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS &&
		    ev.event_number == DAT_DTO_COMPLETION_EVENT) {
			fprintf(stderr, "completion: %s\n",
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
	*ns += now_ns() - t;
	if (!bad)
		return 0;
	if (last == DAT_SUCCESS)
		fprintf(stderr, "%s: succeeded %u times where it must not\n", op->name, bad);
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

/* Binds go one by one: each must find the window as its row says. */
static int bind_batch(struct pair *p, const struct bench_op *op, uint64_t *ns)
{
	bool unbind = op->call == bench_unbind;
	bool before = unbind || op->call == bench_rebind;

	if (!dat_ok(rmr_bind(p, before ? BENCH_BIG : 0, before ? DAT_MEM_PRIV_REMOTE_READ_FLAG :
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

/*
 * All completions must be there before the first call: nothing but time tells without a call. Where
 * the device's thread was kept from its work for longer, the batch is taken back and tried again.
 */
static int dequeue_batch(struct pair *p, const struct bench_op *op, uint64_t *ns)
{
	unsigned int wait_us, i, got;
	uint64_t t, spent;

	for (wait_us = 20000; wait_us < 3000000; wait_us *= 3) {
		for (i = 0; i < BENCH_BATCH; i++) {
			bench_crowd_next(p);
			if (!dat_ok(bench_feed(p), "dat_ep_post_rdma_write"))
				return -1;
		}
		usleep(wait_us);
		t = now_ns();
		for (got = 0; got < BENCH_BATCH && op->call(p) == DAT_SUCCESS; got++)
			;
		spent = now_ns() - t;
		if (got == BENCH_BATCH) {
			*ns += spent;
			return 0;
		}
		if (reap(p->a.req_evd, BENCH_BATCH - got))
			return -1;
	}
	fprintf(stderr, "%s: completions take seconds\n", op->name);
	return -1;
}

static int post_batch(struct pair *p, const struct bench_op *op, uint64_t *ns)
{
	if (op->needs_receive && many_recvs(p, BENCH_BATCH))
		return -1;
	if (calls(p, op, BENCH_BATCH, DAT_SUCCESS, ns) || reap(p->a.req_evd, BENCH_BATCH))
		return -1;
	return op->needs_receive ? reap(p->b.recv_evd, BENCH_BATCH) : 0;
}

static int batch(struct pair *p, const struct bench_op *op, unsigned int *made, uint64_t *ns)
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

/* The median of the batches: one that was put off the CPU is no cost of the call. */
int bench_run(struct pair *p, const struct bench_op *op, unsigned int n, double *ns)
{
	unsigned int done, made;
	struct samples batches;
	uint64_t spent = 0;
	int rc = batch(p, op, &made, &spent);

	if (rc || samples_init(&batches, n))
		return -1;
	for (done = 0; rc == 0 && done < n; done += made) {
		spent = 0;
		rc = batch(p, op, &made, &spent);
		samples_add(&batches, spent);
	}
	*ns = (double)samples_quantile(&batches, 0.5) / made;
	samples_free(&batches);
	return rc;
}
