/* SPDX-License-Identifier: BSD-2-Clause */
/* Accesses that the adapter has to refuse, without changing a byte that it may not change. */
#include <string.h>

#include "perf/dat_integrity/integrity.h"

/* The memory that a transfer uses at each side: a part of the side's area. The part is an LMR or a
 * window of its own. */
enum { PART_AT = 8192 + 5, PART_LEN = 9000, GUARD_BYTE = 0xa5, DATA_BYTE = 0x3c };

enum key {
	WHOLE,		/* the LMR of the whole area */
	PART, PART_NO_WRITE, PART_NO_READ,
	WRONG, FREED,
	WINDOW, WINDOW_NO_WRITE, WINDOW_NO_READ, UNBOUND,
	KEYS
};

enum kind { SENDS, RECEIVES, WRITES, READS };

static const struct row {
	const char *name;
	enum kind kind;
	/* local: a key of consumer a. remote: a key of consumer b, also for b's receives */
	enum key local, remote;
	/* bytes by which the transfer begins before the part (negative) or ends after the part */
	int shift;
} rows[] = {
	{ "write, wrong context", WRITES, WHOLE, WRONG, 0 },
	{ "read, wrong context", READS, WHOLE, WRONG, 0 },
	{ "write, context of a freed LMR", WRITES, WHOLE, FREED, 0 },
	{ "read, context of a freed LMR", READS, WHOLE, FREED, 0 },
	{ "write, a byte before the LMR", WRITES, WHOLE, PART, -1 },
	{ "write, a byte behind the LMR", WRITES, WHOLE, PART, 1 },
	{ "read, a byte before the LMR", READS, WHOLE, PART, -1 },
	{ "read, a byte behind the LMR", READS, WHOLE, PART, 1 },
	{ "write, LMR without remote write", WRITES, WHOLE, PART_NO_WRITE, 0 },
	{ "read, LMR without remote read", READS, WHOLE, PART_NO_READ, 0 },
	{ "write, a byte before the window", WRITES, WHOLE, WINDOW, -1 },
	{ "write, a byte behind the window", WRITES, WHOLE, WINDOW, 1 },
	{ "read, a byte before the window", READS, WHOLE, WINDOW, -1 },
	{ "read, a byte behind the window", READS, WHOLE, WINDOW, 1 },
	{ "write, window without remote write", WRITES, WHOLE, WINDOW_NO_WRITE, 0 },
	{ "read, window without remote read", READS, WHOLE, WINDOW_NO_READ, 0 },
	{ "write, unbound window", WRITES, WHOLE, UNBOUND, 0 },
	{ "read, unbound window", READS, WHOLE, UNBOUND, 0 },
	{ "send, wrong local context", SENDS, WRONG, WHOLE, 0 },
	{ "write, wrong local context", WRITES, WRONG, WHOLE, 0 },
	{ "read, wrong local context", READS, WRONG, WHOLE, 0 },
	{ "receive, wrong local context", RECEIVES, WHOLE, WRONG, 0 },
	{ "send, a byte before the local LMR", SENDS, PART, WHOLE, -1 },
	{ "send, a byte behind the local LMR", SENDS, PART, WHOLE, 1 },
	{ "write, a byte before the local LMR", WRITES, PART, WHOLE, -1 },
	{ "write, a byte behind the local LMR", WRITES, PART, WHOLE, 1 },
	{ "read, a byte before the local LMR", READS, PART, WHOLE, -1 },
	{ "read, a byte behind the local LMR", READS, PART, WHOLE, 1 },
	{ "receive, a byte before the local LMR", RECEIVES, WHOLE, PART, -1 },
	{ "receive, a byte behind the local LMR", RECEIVES, WHOLE, PART, 1 },
	{ "read, local LMR without local write", READS, PART_NO_WRITE, WHOLE, 0 },
	{ "receive, local LMR without local write", RECEIVES, WHOLE, PART_NO_WRITE, 0 },
};

/* The contexts of one side, by kind of key. */
struct keys {
	DAT_LMR_CONTEXT local[KEYS];
	DAT_RMR_CONTEXT remote[KEYS];
};

#define REFUSED_BY_POST "refused by the post"

static const DAT_DTO_COOKIE cookie;

static int make_keys(struct consumer *c, const struct area *m, struct keys *k)
{
	static const DAT_MEM_PRIV_FLAGS rights[KEYS] = {
		[PART] = DAT_MEM_PRIV_ALL_FLAG, [FREED] = DAT_MEM_PRIV_ALL_FLAG,
		[PART_NO_WRITE] = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG,
		[PART_NO_READ] = DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
	};
	DAT_LMR_HANDLE lmr;

	for (unsigned int i = 0; i < KEYS; i++) {
		if (!rights[i])
			continue;
		if (world_register(c, m->mem + PART_AT, PART_LEN, rights[i], &lmr, &k->local[i],
				   &k->remote[i]))
			return -1;
		if (i == FREED && !dat_ok(dat_lmr_free(lmr), "dat_lmr_free"))
			return -1;
	}
	k->local[WHOLE] = m->lmr;
	k->remote[WHOLE] = m->rmr;
	k->local[WRONG] = m->lmr ^ 0x5a5a00;
	k->remote[WRONG] = m->rmr ^ 0x5a5a00;
	return 0;
}

static int bind_key(struct world *w, enum key key, DAT_RMR_CONTEXT *context)
{
	DAT_MEM_PRIV_FLAGS rights = 0;
	DAT_RMR_CONTEXT none;

	if (key != WINDOW_NO_READ)
		rights |= DAT_MEM_PRIV_REMOTE_READ_FLAG;
	if (key != WINDOW_NO_WRITE)
		rights |= DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	if (world_bind(w, PART_AT, PART_LEN, rights, context))
		return -1;
	return key == UNBOUND ? world_bind(w, PART_AT, 0, DAT_MEM_PRIV_NONE_FLAG, &none) : 0;
}

/* Returns where a transfer of len bytes with this key begins. If the key has a shift, the transfer
 * crosses a bound of the part. */
static size_t begin_of(enum key key, int shift, size_t len)
{
	if (key == WHOLE || !shift)
		return PART_AT;
	return shift < 0 ? PART_AT - 1 : PART_AT + PART_LEN - len + 1;
}

static DAT_RETURN post_row(struct world *w, const struct row *row, DAT_LMR_TRIPLET *at_a,
			   DAT_LMR_TRIPLET *at_b, const DAT_RMR_TRIPLET *target)
{
	DAT_RETURN ret = DAT_SUCCESS;

	if (row->kind == WRITES)
		return dat_ep_post_rdma_write(w->a.ep, 1, at_a, cookie, target,
					      DAT_COMPLETION_DEFAULT_FLAG);
	if (row->kind == READS)
		return dat_ep_post_rdma_read(w->a.ep, 1, at_a, cookie, target,
					     DAT_COMPLETION_DEFAULT_FLAG);
	ret = dat_ep_post_recv(w->b.ep, 1, at_b, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	return ret == DAT_SUCCESS ? dat_ep_post_send(w->a.ep, 1, at_a, cookie,
						     DAT_COMPLETION_DEFAULT_FLAG) : ret;
}

/* An instance with validation refuses an invalid local segment when it is posted. */
static bool is_refused_by_post(DAT_RETURN ret)
{
	DAT_RETURN type = DAT_GET_TYPE(ret);

	return type == DAT_PRIVILEGES_VIOLATION || type == DAT_PROTECTION_VIOLATION ||
	       type == DAT_INVALID_PARAMETER;
}

/* Compares all bytes in and around the part, except those that a transfer of this row may
 * change. */
static bool is_unchanged(const struct area *m, bool part_may_change)
{
	const unsigned char *p = m->mem;

	for (size_t i = 0; i < PART_AT + PART_LEN + PART_AT; i++)
		if (p[i] != GUARD_BYTE &&
		    !(part_may_change && i >= PART_AT && i < PART_AT + PART_LEN))
			return false;
	return true;
}

static const char *judge_row(struct world *w, const struct row *row, DAT_RETURN ret)
{
	const unsigned int count[QUEUES] = {
		[Q_REQUEST] = row->kind != RECEIVES, [Q_RECEIVE] = row->kind == RECEIVES,
	};
	bool into_a = row->kind == READS, bounds = row->shift != 0;
	/* The packets before the refused one may have been written. */
	bool permitted = bounds || (!into_a && row->local != WHOLE);
	const struct done *done = w->done[row->kind == RECEIVES ? Q_RECEIVE : Q_REQUEST];
	const char *found = REFUSED_BY_POST;

	if (ret == DAT_SUCCESS) {
		if (world_wait(w, count))
			return "no completion";
		found = dat_status_name(done->status);
		if (done->status != DAT_DTO_SUCCESS && world_wait_end(w))
			return "the connection does not break";
		if (done->status == DAT_DTO_SUCCESS)
			return found;
	} else if (!is_refused_by_post(ret)) {
		dat_ok(ret, row->name);
		return "not posted";
	}
	return is_unchanged(into_a ? &w->local : &w->remote, permitted) ? found : "a byte has changed";
}

static bool is_local(const struct row *row)
{
	return row->kind == RECEIVES || row->local != WHOLE;
}

static bool is_of_window(const struct row *row)
{
	return row->remote >= WINDOW;
}

static int refuse_row(struct world *w, struct report *r, const struct row *row, size_t len,
		      const struct keys *a, struct keys *b)
{
	size_t from = begin_of(row->local, row->shift, len), to = begin_of(row->remote, row->shift, len);
	DAT_LMR_TRIPLET at_a = {
		.lmr_context = a->local[row->local], .segment_length = len,
		.virtual_address = (DAT_VADDR)(uintptr_t)(w->local.mem + from),
	};
	DAT_LMR_TRIPLET at_b = {
		.lmr_context = b->local[row->remote], .segment_length = len,
		.virtual_address = (DAT_VADDR)(uintptr_t)(w->remote.mem + to),
	};
	DAT_RMR_TRIPLET target = { .segment_length = len, .TARGET_ADDRESS = at_b.virtual_address };
	struct refusal *x = &r->refusal[r->n_refusals++];

	*x = (struct refusal){
		.name = row->name, .len = len, .found = "the window could not be bound",
		.expected = is_local(row) ? "LOCAL_PROTECTION" : "REMOTE_ACCESS",
	};
	memset(w->local.mem, row->kind == READS ? GUARD_BYTE : DATA_BYTE, 2 * PART_AT + PART_LEN);
	memset(w->remote.mem, row->kind == READS ? DATA_BYTE : GUARD_BYTE, 2 * PART_AT + PART_LEN);
	if (!is_of_window(row) || bind_key(w, row->remote, &b->remote[row->remote]) == 0) {
		target.rmr_context = b->remote[row->remote];
		x->found = judge_row(w, row, post_row(w, row, &at_a, &at_b, &target));
	}
	x->good = !strcmp(x->found, x->expected) ||
		  (!strcmp(x->expected, "LOCAL_PROTECTION") && !strcmp(x->found, REFUSED_BY_POST));
	if (!x->good)
		report_failure(r, "%s, %zu bytes: %s instead of %s", x->name, len, x->found, x->expected);
	return world_reconnect(w);
}

/* Lengths: one byte, more than fits into a WQE, and several packets. */
static const size_t lengths[] = { 1, 300, PART_LEN };

int refuse_all(struct world *w, struct report *r)
{
	struct keys a = { 0 }, b = { 0 };

	if (make_keys(&w->a, &w->local, &a) || make_keys(&w->b, &w->remote, &b))
		return -1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (size_t n = 0; n < sizeof(lengths) / sizeof(*lengths); n++) {
			if ((is_of_window(&rows[i]) && !w->windows) || r->failures >= MESSAGES_MAX)
				continue;
			if (refuse_row(w, r, &rows[i], lengths[n], &a, &b))
				return -1;
		}
	return 0;
}
