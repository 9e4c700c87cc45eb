/* SPDX-License-Identifier: BSD-2-Clause */
/* Behaviour of an EFA's keys, handles and queues that AWS's documents leave open. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "perf/common/stats.h"
#include "perf/dat_first_light/efa_raw.h"

void probe_rkey(const struct light *l, struct answer *a)
{
	enum { REGISTRATIONS = 200 };
	unsigned int again = 0, later = 0;
	static uint32_t seen[REGISTRATIONS];
	struct raw r;

	if (!raw_open(l, &r, 0))
		return;
	for (int i = 0; i < REGISTRATIONS; i++) {
		unsigned int access = EFA_LOCAL_WRITE | EFA_REMOTE_READ;
		struct efa_mr mr;

		if (r.ctl->ops->mr_reg(r.ctl, r.pd, (uintptr_t)r.mem, 4096, access, &mr))
			return;
		seen[i] = mr.rkey;
		again += i && seen[i - 1] == mr.rkey;
		for (int k = 0; k + 1 < i; k++)
			if (seen[k] == mr.rkey) {
				later++;
				break;
			}
		r.ctl->ops->mr_dereg(r.ctl, &mr);
	}
	if (again)
		tune(a, "nothing: a bind that gets its last key again registers once more",
		     "yes: %u of %d keys at once, %u later", again, REGISTRATIONS, later);
	else if (later)
		good(a, "later: %u of %d keys are of an earlier registration, none of the last one", later,
		     REGISTRATIONS);
	else
		good(a, "no: each of %d registrations has another key", REGISTRATIONS);
}

enum { PATTERN = 0x5a, WRITE_AT = RAW_MEM / 2, WRITE_LEN = RAW_MEM / 2 };

/* Writes a pattern into the memory after its deregistration has returned. True: the device has
 * overwritten it. */
static bool written_after(struct raw *r, uint32_t len)
{
	struct efa_cqe c;

	memset(r->mem + WRITE_AT, PATTERN, len);
	while (raw_wait(r, &c, 100))
		;
	for (uint32_t i = 0; i < len; i++)
		if (r->mem[WRITE_AT + i] != PATTERN)
			return true;
	return false;
}

enum deregistered { REFUSED, IDLE, QUIET, WRITTEN };

/* Posts a large write of len bytes, and deregisters its target us microseconds later. */
static enum deregistered dereg_under_write(struct raw *r, uint32_t len, useconds_t us, double *ms)
{
	unsigned int access = EFA_LOCAL_WRITE | EFA_REMOTE_WRITE;
	struct raw_rdma d = { EFA_OP_RDMA_WRITE, 0, WRITE_AT, len, 0 };
	struct efa_cqe c;
	struct efa_mr mr;
	uint64_t start;
	bool ended;

	if (r->ctl->ops->mr_reg(r->ctl, r->pd, (uintptr_t)r->mem + WRITE_AT, len, access, &mr))
		return REFUSED;
	d.rkey = mr.rkey;
	/* the refused write has moved the QP to ERR, so make a new one */
	if (!raw_qp(r, &r->a, 1))
		return REFUSED;
	raw_rdma(r, &r->a, &r->b, &d);
	usleep(us);
	ended = raw_wait(r, &c, 0);
	start = now_ns();
	if (r->ctl->ops->mr_dereg(r->ctl, &mr))
		return REFUSED;
	if (ended)
		return IDLE;
	*ms += (double)(now_ns() - start) / 1e6;
	return written_after(r, len) ? WRITTEN : QUIET;
}

/* Makes TRIES tries. A try counts if the write was still running when its target was deregistered. */
void probe_dereg(const struct light *l, struct answer *a)
{
	enum { TRIES = 10, MOST = 100 };
	uint32_t len = WRITE_LEN;
	int counted = 0;
	struct raw r;
	double ms = 0;

	if (!raw_open(l, &r, 0) || !raw_ah(&r, r.pd, &r.ah))
		return;
	if (!r.ctl->caps.rdma_write) {
		skipped(a, "the adapter does no RDMA write");
		return;
	}
	len = r.ctl->caps.max_rdma_size < len ? r.ctl->caps.max_rdma_size : len;
	for (int i = 0; i < MOST && counted < TRIES; i++)
		switch (dereg_under_write(&r, len, (useconds_t)counted * 20, &ms)) {
		case REFUSED:
			return;
		case IDLE:
			break;
		case QUIET:
			counted++;
			break;
		case WRITTEN:
			bad(a, "nothing: do not reuse memory of a window before its peer is known to be idle",
			    "no: the peer's write goes on after the call has returned");
			return;
		}
	if (!counted) {
		skipped(a, "each write had ended before its memory was deregistered");
		return;
	}
	good(a, "yes: in %d tries with %u KiB in flight no byte came later; %.2f ms each", counted, len >> 10,
	     ms / counted);
}

/* Opens an IA, which creates at least one object of each kind. */
void probe_least(const struct light *l, struct answer *a)
{
	struct efa_cq_res cq;
	struct raw_qp q;
	struct raw r;
	int err;

	if (!raw_open(l, &r, 0))
		return;
	err = r.ctl->ops->cq_create(r.ctl, 16, &cq);
	if (err)
		bad(a, "nothing", "no: a CQ of 16 is refused: %s", strerror(-err));
	else if (!raw_qp(&r, &q, 1))
		bad(a, "nothing", "no: a QP with a receive queue of 1 is refused");
	else
		good(a, "yes: a CQ of 16 has %u places, a receive queue of 1 has %u", cq.ring.entries,
		     q.res.rq.entries);
}

/* Creates a large CQ. The kernel needs 1 MiB of contiguous memory for it, which a fragmented host
 * may lack. */
void probe_cq_size(const struct light *l, struct answer *a)
{
	uint32_t wanted = 32768, entries;
	struct efa_cq_res cq;
	char set[32];
	struct raw r;

	if (!raw_open(l, &r, 0))
		return;
	if (wanted > r.ctl->caps.max_cqe)
		for (wanted = 16; wanted * 2 <= r.ctl->caps.max_cqe;)
			wanted *= 2;
	for (entries = wanted; entries >= 16; entries /= 2)
		if (!r.ctl->ops->cq_create(r.ctl, entries, &cq))
			break;
	snprintf(set, sizeof(set), "efa_cq=%u", entries);
	if (entries < 16)
		bad(a, "nothing", "no: no CQ can be created");
	else if (entries < wanted)
		tune(a, set, "no: %u at most", entries);
	else
		good(a, "yes: %u", entries);
}

void probe_two_pds(const struct light *l, struct answer *a)
{
	struct efa_ah first, second;
	struct raw r;
	void *pd;

	if (!raw_open(l, &r, 0) || r.ctl->ops->pd_alloc(r.ctl, &pd) || !raw_ah(&r, r.pd, &first) ||
	    !raw_ah(&r, pd, &second))
		return;
	if (first.number == second.number)
		tune(a, "nothing", "no: both PDs have number %u", first.number);
	else
		good(a, "yes: %u and %u", first.number, second.number);
}
