/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Shared receive queues: create, resize, count, destroy.
 *
 * The device follows links from WQE to WQE, so posting a WQE requires the index of the next one.
 * That one, the head, is reserved. A queue for n receives uses n + 1 WQEs; the ring has twice as
 * many, for a later resize.
 */
#include <errno.h>
#include <stdlib.h>

#include "hw_mlx5/lock.h"
#include "hw_mlx5/ops.h"

#define MAX_WQES 32768u			/* the counters have 16 bits */
#define DBREC_BYTES 64u

static int shape(const struct m5_ia *ia, struct dap_srq *srq, struct m5_srq *q)
{
	uint32_t most = ia->dev.max_srq_wqe < MAX_WQES ? ia->dev.max_srq_wqe : MAX_WQES;
	uint32_t want = srq->max_recv_dtos + 1;

	if (!srq->max_recv_dtos || want > most || srq->max_recv_iov > M5_MAX_IOV)
		return -EINVAL;
	if (!srq->max_recv_iov)
		srq->max_recv_iov = 1;
	q->size = want > most / 2 ? most : 1u << m5_log2_up(2 * want);
	q->usable = want;
	q->max_iov = (uint8_t)srq->max_recv_iov;
	q->shift = (uint8_t)m5_log2_up((uint32_t)sizeof(struct m5_next_seg) +
				       srq->max_recv_iov * (uint32_t)sizeof(struct m5_data_seg));
	srq->room = q->size - 1;
	return 0;
}

static int make_rmp(struct dap_srq *srq, struct m5_srq *q)
{
	struct m5_ctl *ctl = m5_ia(srq->obj.ia)->ctl;
	struct m5_rmp_param p = {
		.pdn = m5_pz(srq->pz)->pdn,
		.umem_id = q->mem.umem.id,
		.log_size = (unsigned int)__builtin_ctz(q->size),
		.log_stride = q->shift,
		.offset = q->mem.offset,
		.dbrec = q->mem.offset + ((uint64_t)q->size << q->shift),
	};

	q->rmp.ctl = ctl;
	return m5_cmd_rmp(ctl, &p, &q->rmp.obj, &q->rmp.rmpn);
}

int m5_srq_create(struct dap_srq *srq)
{
	struct m5_ia *ia = m5_ia(srq->obj.ia);
	struct m5_srq q = { .head = 0 };
	int err = shape(ia, srq, &q);

	if (err)
		return err;
	err = m5_mem_alloc_own(ia->ctl, ((size_t)q.size << q.shift) + DBREC_BYTES, &q.mem);
	if (err)
		return err;
	q.ring = q.mem.base;
	q.dbrec = (volatile uint32_t *)(q.ring + ((size_t)q.size << q.shift));
	q.slots = calloc(q.size, sizeof(*q.slots));
	if (!q.slots) {
		err = -ENOMEM;
		goto err_mem;
	}
	q.slots[q.head].bytes = 1;
	err = make_rmp(srq, &q);
	if (err)
		goto err_slots;
	m5_ia_async_settle(srq->obj.ia);
	*m5_srq(srq) = q;
	return 0;

err_slots:
	free(q.slots);
err_mem:
	m5_mem_free(ia->ctl, &q.mem, 0);
	return err;
}

int m5_srq_destroy(struct dap_srq *srq)
{
	struct m5_ctl *ctl = m5_ia(srq->obj.ia)->ctl;
	struct m5_srq *q = m5_srq(srq);
	int err = ctl->ops->obj_destroy(q->rmp.obj);

	free(q->slots);
	m5_mem_free(ctl, &q->mem, err);
	return err;
}

static bool find_free(struct m5_srq *q, uint32_t *index)
{
	for (uint32_t n = q->usable; n; n--) {
		uint32_t i = q->scan;

		q->scan = i + 1 < q->usable ? i + 1 : 0;
		if (!__atomic_load_n(&q->slots[i].bytes, __ATOMIC_ACQUIRE)) {
			*index = i;
			return true;
		}
	}
	return false;
}

bool m5_srq_search(struct dap_srq *srq, uint32_t *index)
{
	struct m5_srq *q = m5_srq(srq);

	return find_free(q, index) || (dap_srq_reap(srq) && find_free(q, index));
}

/* Returns the number of WQEs in use, not counting the head. *last: the highest index of a WQE in use or
 * of the head. */
static uint32_t in_use(const struct m5_srq *q, uint32_t *last)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < q->size; i++) {
		if (__atomic_load_n(&q->slots[i].bytes, __ATOMIC_ACQUIRE)) {
			*last = i;
			n++;
		}
	}
	return n - 1;
}

static void lock(struct dap_srq *srq)
{
	if (m5_ia(srq->obj.ia)->locked)
		m5_spin_lock(&m5_srq(srq)->lock);
}

static void unlock(struct dap_srq *srq)
{
	if (m5_ia(srq->obj.ia)->locked)
		m5_spin_unlock(&m5_srq(srq)->lock);
}

/* WQEs in use keep their index until they complete, which limits how far it can shrink. */
int m5_srq_resize(struct dap_srq *srq, uint32_t recvs)
{
	struct m5_srq *q = m5_srq(srq);
	uint32_t last = 0;
	int err = 0;

	if (recvs >= q->size)
		return -ENOMEM;
	lock(srq);
	if (in_use(q, &last) > recvs) {
		err = -EBUSY;
	} else {
		q->usable = last > recvs ? last + 1 : recvs + 1;
		q->scan = 0;
		srq->max_recv_dtos = q->usable - 1;
	}
	unlock(srq);
	return err;
}

int m5_srq_limit(struct dap_srq *srq, uint32_t limit)
{
	return m5_cmd_rmp_arm(&m5_srq(srq)->rmp, limit);
}

int m5_srq_count(struct dap_srq *srq, uint32_t *available, uint32_t *outstanding)
{
	struct m5_srq *q = m5_srq(srq);
	uint32_t last;
	uint16_t taken;
	int err = m5_cmd_rmp_taken(&q->rmp, &taken);

	if (err)
		return err;
	lock(srq);
	*available = (uint16_t)(q->pi - taken);
	*outstanding = in_use(q, &last);
	unlock(srq);
	return 0;
}
