/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Effects of a completion beside its event; every caller that takes a CQE must apply them.
 *
 * Scatter to CQE: the device leaves a small message, or the data of a small read, in the CQE, and
 * the poller copies it to the WQE's buffers. The WQE is still there, because its slot is released
 * later.
 */
#include <string.h>

#include "hw_mlx5/lock.h"

#define SMALL_MAX 32u			/* most data in a CQE of 64 bytes */

const uint8_t m5_dto_of_opcode[256] = {
	[M5_OP_SEND] = DAP_OP_SEND,
	[M5_OP_RDMA_WRITE] = DAP_OP_RDMA_WRITE,
	[M5_OP_RDMA_READ] = DAP_OP_RDMA_READ,
	[M5_OP_RDMA_WRITE_IMM] = DAP_OP_WRITE_IMMED,
	[M5_OP_ATOMIC_FA] = DAP_OP_FETCH_ADD,
	[M5_OP_ATOMIC_CS] = DAP_OP_CMP_SWAP,
};

/* The scatter list of a WQE: its offset in the ring, and the number of its segments. */
struct list {
	const uint8_t *ring;
	size_t at;			/* in bytes */
	size_t mask;			/* bytes of the ring less one; all ones: the list does not wrap */
	unsigned int n;
};

/* Addresses in a zero-based LMR are offsets. NULL: the LMR has been freed. */
static void *memory_of(const struct dap_ia *ia, const struct m5_data_seg *seg)
{
	const struct dap_lmr *lmr = dap_lmr_find(ia, be32_to_cpu(seg->lkey));

	return lmr ? (void *)(uintptr_t)(be64_to_cpu(seg->va) - lmr->addr + lmr->mem) : NULL;
}

static void spread(const struct dap_ia *ia, struct list l, const uint8_t *data, uint32_t len)
{
	for (; l.n && len; l.n--, l.at += sizeof(struct m5_data_seg)) {
		const struct m5_data_seg *seg =
			(const struct m5_data_seg *)(l.ring + (l.at & l.mask));
		uint32_t room = be32_to_cpu(seg->byte_count);
		uint32_t now = len < room ? len : room;
		void *to = memory_of(ia, seg);

		if (to)
			memcpy(to, data, now);
		data += now;
		len -= now;
	}
}

/* PRM: the list of a READ follows two segments (control, remote address), the list of an atomic
 * three. */
static struct list request_list(const struct m5_sq *sq, uint32_t index, bool read)
{
	size_t at = (size_t)(index & sq->mask) << M5_BB_SHIFT;
	const struct m5_ctrl_seg *ctrl = (const struct m5_ctrl_seg *)(sq->ring + at);
	unsigned int before = read ? 2 : 3, ds = be32_to_cpu(ctrl->qpn_ds) & 0x3f;

	return (struct list){ .ring = sq->ring, .at = at + before * M5_DS,
			      .mask = (((size_t)sq->mask + 1) << M5_BB_SHIFT) - 1,
			      .n = ds > before ? ds - before : 0 };
}

/* Shorter lists end with an empty segment, which takes no data. */
static struct list receive_list(const struct m5_rq *rq, uint32_t index)
{
	return (struct list){ .ring = rq->ring, .at = (size_t)(index & rq->mask) * rq->stride,
			      .mask = SIZE_MAX, .n = rq->max_iov };
}

void m5_cqe_spread(struct dap_ep *ep, const struct m5_cqe *cqe)
{
	uint32_t index = be16_to_cpu(cqe->wqe_counter), len = be32_to_cpu(cqe->byte_cnt);
	const struct m5_ep *e = m5_ep(ep);
	struct list l;

	if (len > SMALL_MAX)
		len = SMALL_MAX;
	if (cqe->op_own >> 4 != M5_CQE_REQ)
		l = receive_list(&e->rq, index);
	else
		l = request_list(&e->sq, index, m5_cqe_dto(cqe) == DAP_OP_RDMA_READ);
	spread(ep->obj.ia, l, cqe->small, len);
}

void m5_bind_done(struct m5_slot *slots, uint32_t mask, uint32_t index, bool ok)
{
	const struct m5_slot *second = &slots[(index & mask) + 1];
	struct dap_rmr *rmr = (struct dap_rmr *)(uintptr_t)second->cookie;
	struct m5_rmr *r = m5_rmr(rmr);

	uint64_t was = __atomic_load_n(&r->done, __ATOMIC_RELAXED), now;

	do {
		if (was >> 32 != second->bytes)
			return;
		now = ok ? (was & ~(uint64_t)M5_RMR_COUNT) | ((was + 1) & M5_RMR_COUNT) :
			   was | M5_RMR_UNSURE;
	} while (!__atomic_compare_exchange_n(&r->done, &was, now, true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}
