/* SPDX-License-Identifier: BSD-2-Clause */
/* Transfers of all sizes, alignments and numbers of segments; each byte and the guards are checked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf/common/stats.h"
#include "perf/common/verify.h"
#include "perf/dat_integrity/integrity.h"

/* Sizes around inline limits, a cache line, each MTU of InfiniBand, the MTU of an EFA, and powers
 * of two. */
static const size_t sizes[] = {
	0, 1, 2, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024,
	1025, 2047, 2048, 2049, 4095, 4096, 4097, 8927, 8928, 8929, 65535, 65536, 65537, LEN_MAX - 1,
	LEN_MAX,
};

static const unsigned int alignments[] = { 0, 1, 2, 3, 4, 5, 6, 7, 63 };

struct shape {
	enum op op;
	size_t len;
	unsigned int local, remote;	/* offset of the first byte from an aligned address */
	unsigned int segments;
};

/* Segments in an area, with guard bytes before, between and after them. */
struct layout {
	DAT_LMR_TRIPLET t[SEGS_MAX];
	unsigned int n;
	size_t end;
};

struct transfer {
	struct world *w;
	struct report *r;
	struct shape s;
	uint64_t number, random;
	unsigned char guard;
	unsigned char *bytes;		/* the bytes that must arrive */
	struct layout local, remote;
	bool planted;
};

static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Cuts the bytes at random; a segment may be empty. Only the first one has the shape's
 * alignment. */
static void lay_out(struct layout *l, const struct area *m, size_t len, unsigned int n,
		    unsigned int align, uint64_t *random)
{
	uint64_t cut[SEGS_MAX + 1] = { 0 };
	size_t at = 0;

	for (unsigned int i = 1; i < n; i++)
		cut[i] = draw(random) % (len + 1);
	cut[n] = len;
	qsort(cut, n, sizeof(*cut), compare_u64);
	for (unsigned int i = 0; i < n; i++) {
		at = (at + GUARD + 63) / 64 * 64 + (i ? draw(random) % 64 : align);
		l->t[i] = (DAT_LMR_TRIPLET){
			.lmr_context = m->lmr, .segment_length = cut[i + 1] - cut[i],
			.virtual_address = (DAT_VADDR)(uintptr_t)(m->mem + at),
		};
		at += cut[i + 1] - cut[i];
	}
	l->n = n;
	l->end = at + GUARD;
}

static unsigned char *segment_of(const struct layout *l, unsigned int i)
{
	return (unsigned char *)(uintptr_t)l->t[i].virtual_address;
}

static void prepare_target(const struct transfer *t, const struct area *m, const struct layout *l)
{
	memset(m->mem, t->guard, l->end);
}

static void prepare_source(const struct transfer *t, const struct layout *l)
{
	const unsigned char *from = t->bytes;

	for (unsigned int i = 0; i < l->n; i++) {
		memcpy(segment_of(l, i), from, l->t[i].segment_length);
		from += l->t[i].segment_length;
	}
}

/* Returns the offset of the first byte from here on that is not a guard byte; end if all are. */
static const unsigned char *find_not(const unsigned char *p, const unsigned char *end, unsigned char guard)
{
	while (p < end && *p == guard)
		p++;
	return p;
}

static int fail(struct transfer *t, const char *what)
{
	const struct shape *s = &t->s;

	t->r->op[s->op].failed++;
	report_failure(t->r, "%s of %zu bytes, alignments %u and %u, %u segments, transfer %llu: %s",
		       op_names[s->op], s->len, s->local, s->remote, s->segments,
		       (unsigned long long)t->number, what);
	return -1;
}

static int fail_at(struct transfer *t, const char *what, size_t at)
{
	char text[96];

	snprintf(text, sizeof(text), "%s, offset %zu", what, at);
	return fail(t, text);
}

/* Changes a byte of the first transfer that moves data, to test the check. That transfer has one segment. */
static void plant_fault(struct transfer *t, const struct layout *l)
{
	if (t->planted || !t->s.len || t->r->plant == PLANT_NOTHING)
		return;
	segment_of(l, 0)[t->r->plant == PLANT_GUARD ? l->t[0].segment_length : 0] ^= 1;
	t->planted = true;
}

static int check_target(struct transfer *t, const struct area *m, const struct layout *l)
{
	const unsigned char *at = m->mem, *bad, *from = t->bytes;

	plant_fault(t, l);
	for (unsigned int i = 0; i < l->n; i++) {
		const unsigned char *p = segment_of(l, i);
		size_t len = l->t[i].segment_length;

		bad = find_not(at, p, t->guard);
		if (bad != p)
			return fail_at(t, "a guard byte before the data has changed", (size_t)(bad - m->mem));
		for (size_t j = 0; memcmp(p, from, len) && j < len; j++)
			if (p[j] != from[j])
				return fail_at(t, "a byte of the data is wrong",
					       (size_t)(from - t->bytes) + j);
		at = p + len;
		from += len;
	}
	bad = find_not(at, m->mem + l->end, t->guard);
	if (bad != m->mem + l->end)
		return fail_at(t, "a guard byte behind the data has changed", (size_t)(bad - m->mem));
	return 0;
}

static int posted(struct transfer *t, DAT_RETURN ret, const char *call)
{
	return dat_ok(ret, call) ? 0 : fail(t, call);
}

/* Waits for n requests and receives, all of which must succeed. */
static int wait_for(struct transfer *t, unsigned int requests, unsigned int receives)
{
	const unsigned int count[QUEUES] = { requests, receives, 0 };

	if (world_wait(t->w, count))
		return fail(t, "no completion");
	for (unsigned int q = 0; q < QUEUES; q++)
		for (unsigned int i = 0; i < count[q]; i++)
			if (t->w->done[q][i].status != DAT_DTO_SUCCESS)
				return fail(t, dat_status_name(t->w->done[q][i].status));
	return 0;
}

static const DAT_DTO_COOKIE cookie;

static int do_send(struct transfer *t)
{
	struct world *w = t->w;

	if (posted(t, dat_ep_post_recv(w->b.ep, (DAT_COUNT)t->remote.n, t->remote.t, cookie,
				       DAT_COMPLETION_DEFAULT_FLAG), "dat_ep_post_recv") ||
	    posted(t, dat_ep_post_send(w->a.ep, (DAT_COUNT)t->local.n, t->local.t, cookie,
				       DAT_COMPLETION_DEFAULT_FLAG), "dat_ep_post_send") ||
	    wait_for(t, 1, 1))
		return -1;
	if (w->done[Q_RECEIVE][0].length != t->s.len)
		return fail(t, "the receive has a wrong length");
	return check_target(t, &w->remote, &t->remote);
}

static DAT_RMR_TRIPLET target_of(const struct transfer *t, DAT_RMR_CONTEXT context)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = context, .segment_length = t->s.len,
				  .TARGET_ADDRESS = t->remote.t[0].virtual_address };
}

/* The receive of a message after the write shows that the data has arrived at b. */
static int do_write(struct transfer *t, DAT_RMR_CONTEXT context)
{
	DAT_RMR_TRIPLET to = target_of(t, context);
	struct world *w = t->w;

	if (posted(t, dat_ep_post_recv(w->b.ep, 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_recv") ||
	    posted(t, dat_ep_post_rdma_write(w->a.ep, (DAT_COUNT)t->local.n, t->local.t, cookie, &to,
					     DAT_COMPLETION_DEFAULT_FLAG), "dat_ep_post_rdma_write") ||
	    posted(t, dat_ep_post_send(w->a.ep, 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_send") ||
	    wait_for(t, 2, 1))
		return -1;
	return check_target(t, &w->remote, &t->remote);
}

static int do_read(struct transfer *t, DAT_RMR_CONTEXT context)
{
	DAT_RMR_TRIPLET from = target_of(t, context);

	if (posted(t, dat_ep_post_rdma_read(t->w->a.ep, (DAT_COUNT)t->local.n, t->local.t, cookie, &from,
					    DAT_COMPLETION_DEFAULT_FLAG), "dat_ep_post_rdma_read") ||
	    wait_for(t, 1, 0))
		return -1;
	return check_target(t, &t->w->local, &t->local);
}

/* Writes through a window of exactly these bytes, and reads them back through it. */
static int do_window(struct transfer *t)
{
	struct world *w = t->w;
	size_t at = (size_t)(segment_of(&t->remote, 0) - w->remote.mem);
	DAT_RMR_CONTEXT context, none;

	if (world_bind(w, at, t->s.len, DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
		       &context))
		return fail(t, "the window could not be bound");
	if (do_write(t, context))
		return -1;
	prepare_target(t, &w->local, &t->local);
	if (do_read(t, context))
		return -1;
	return world_bind(w, at, 0, DAT_MEM_PRIV_NONE_FLAG, &none) ?
	       fail(t, "the window could not be unbound") : 0;
}

/* Returns -1 if the connection is broken and cannot be made again. */
static int do_transfer(struct transfer *t)
{
	const struct shape *s = &t->s;
	bool reads = s->op == OP_READ;
	struct world *w = t->w;
	int err;

	t->number++;
	t->random = t->r->seed + t->number * UINT64_C(0xd1342543de82ef95);
	t->guard = (unsigned char)draw(&t->random);
	pattern_fill(t->bytes, s->len, t->r->seed, t->number);
	lay_out(&t->local, &w->local, s->len, s->segments, s->local, &t->random);
	lay_out(&t->remote, &w->remote, s->len, s->op == OP_SEND ? s->segments : 1, s->remote, &t->random);
	prepare_target(t, reads ? &w->local : &w->remote, reads ? &t->local : &t->remote);
	prepare_source(t, reads ? &t->remote : &t->local);
	switch (s->op) {
	case OP_SEND: err = do_send(t); break;
	case OP_WRITE: err = do_write(t, w->remote.rmr); break;
	case OP_READ: err = do_read(t, w->remote.rmr); break;
	default: err = do_window(t); break;
	}
	t->r->op[s->op].transfers++;
	t->r->op[s->op].bytes += s->len;
	return err ? world_reconnect(w) : 0;
}

static unsigned int most_segments(const struct world *w, enum op op)
{
	DAT_COUNT n = w->attr.max_iov_segments_per_dto;

	if (op == OP_WRITE || op == OP_WINDOW)
		n = w->attr.max_iov_segments_per_rdma_write;
	if (op == OP_READ || (op == OP_WINDOW && w->attr.max_iov_segments_per_rdma_read < n))
		n = w->attr.max_iov_segments_per_rdma_read;
	return n < SEGS_MAX ? (unsigned int)n : SEGS_MAX;
}

/* A quick run tries a quarter of the pairs of alignments and of the numbers of segments. */
static bool is_skipped(const struct transfer *t, unsigned int i)
{
	return t->r->quick && (i + t->s.len + t->s.op) % 4;
}

/* With one segment, tries each pair of alignments; with each number of segments, a random pair. */
static int transfer_size(struct transfer *t)
{
	enum { N = sizeof(alignments) / sizeof(*alignments) };
	unsigned int most = most_segments(t->w, t->s.op);

	t->s.segments = 1;
	for (unsigned int i = 0; i < N * N; i++) {
		t->s.local = alignments[i / N];
		t->s.remote = alignments[i % N];
		if (!is_skipped(t, i + i / N) && do_transfer(t))
			return -1;
	}
	for (unsigned int n = 2; n <= most; n++) {
		t->s.segments = n;
		t->s.local = alignments[draw(&t->random) % N];
		t->s.remote = alignments[draw(&t->random) % N];
		if ((n == most || !is_skipped(t, n)) && do_transfer(t))
			return -1;
	}
	return 0;
}

int transfer_all(struct world *w, struct report *r)
{
	struct transfer t = { .w = w, .r = r, .bytes = malloc(LEN_MAX) };
	int err = t.bytes ? 0 : -1;

	for (uint64_t round = 0; round < r->rounds && r->failures < MESSAGES_MAX && !err; round++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes) && !err; i++)
			for (unsigned int op = 0; op < OPS && !err; op++) {
				/* A bind of zero bytes would be an unbind. */
				if (op == OP_WINDOW && (!w->windows || !sizes[i]))
					continue;
				t.s = (struct shape){ .op = op, .len = sizes[i] };
				if (r->failures < MESSAGES_MAX)
					err = transfer_size(&t);
			}
	free(t.bytes);
	return err;
}
