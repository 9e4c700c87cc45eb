/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The location of a QP's and a CQ's queues: the model's own mapping of the memory that libefa has mapped
 * as well.
 */
#include <errno.h>
#include <string.h>

#include "softnic/uverbs/efadv/efadv.h"

struct wq_attr {			/* the layout of efadv_wq_attr */
	uint64_t comp_mask;
	uint8_t *buffer;
	uint32_t entry_size, num_entries;
	uint32_t *doorbell;
	uint32_t max_batch;
	uint16_t caps;			/* since 65.0 */
	uint8_t reserved[2];
};
_Static_assert(sizeof(struct wq_attr) == 40, "efadv_wq_attr");

struct cq_attr {			/* the layout of efadv_cq_attr */
	uint64_t comp_mask;
	uint8_t *buffer;
	uint32_t entry_size, num_entries;
	uint32_t *doorbell;		/* since 60.0 */
};
_Static_assert(sizeof(struct cq_attr) == 32, "efadv_cq_attr");

enum { MIN_CQ_ATTR = 24 };

EXPORT int efadv_query_qp_wqs(struct ibv_qp *qp, struct wq_attr *sq, struct wq_attr *rq,
			      uint32_t inlen);
EXPORT int efadv_query_cq(struct ibv_cq *cq, struct cq_attr *attr, uint32_t inlen);

/* Copies the fields that both sides know; the rest stays unchanged. */
static void put_attr(void *dst, size_t len, const void *src, size_t size)
{
	memcpy(dst, src, len < size ? len : size);
}

static void tell_wq(const struct softnic_efa_ring *r, uint32_t max_batch, struct wq_attr *attr,
		    uint32_t inlen)
{
	const struct wq_attr a = {
		.buffer = r->ring, .entry_size = r->entry_size, .num_entries = r->depth,
		.doorbell = (uint32_t *)r->doorbell, .max_batch = max_batch,
	};

	put_attr(attr, inlen, &a, sizeof(a));
}

int efadv_query_qp_wqs(struct ibv_qp *qp, struct wq_attr *sq, struct wq_attr *rq, uint32_t inlen)
{
	struct softnic_efa_qp q;
	int err;

	if (inlen < offsetof(struct wq_attr, caps))
		return EINVAL;
	err = sed_front()->queues(qp->context, false, qp->handle, &q, sizeof(q));
	if (err)
		return err;
	tell_wq(&q.sq, q.max_batch, sq, inlen);
	tell_wq(&q.rq, q.rq.depth, rq, inlen);
	return 0;
}

int efadv_query_cq(struct ibv_cq *cq, struct cq_attr *attr, uint32_t inlen)
{
	struct uve_cq q;
	struct cq_attr a;
	int err;

	if (inlen < MIN_CQ_ATTR)
		return EINVAL;
	err = sed_front()->queues(cq->context, true, cq->handle, &q, sizeof(q));
	if (err)
		return err;
	a = (struct cq_attr){
		.buffer = q.cq.ring, .entry_size = q.attr.entry_size, .num_entries = q.attr.entries,
		.doorbell = (uint32_t *)q.cq.doorbell,
	};
	if (sed_release() == WITH_QUERIES && inlen > MIN_CQ_ATTR)
		inlen = MIN_CQ_ATTR;
	put_attr(attr, inlen, &a, sizeof(a));
	return 0;
}
