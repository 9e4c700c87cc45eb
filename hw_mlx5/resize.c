/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Growing a CQ (PRM, "Resizing a CQ"). The device ends the old ring with a special CQE and goes on
 * in the new one, with a continuous index. CQEs that the consumer has not taken move from the old
 * ring to the new one, one entry further because of the special CQE.
 */
#include <errno.h>

#include "hw_mlx5/lock.h"
#include "hw_mlx5/ops.h"

void m5_cq_ring_init(const struct m5_cq *cq, uint32_t first)
{
	for (uint32_t i = 0; i <= cq->mask; i++) {
		uint32_t index = first + i;

		m5_cqe_at(cq, index)->op_own =
			(uint8_t)(M5_CQE_INVALID << 4 | (~(index >> cq->log) & 1));
	}
}

/* Returns -EIO if the old ring has no CQE that ends it. */
static int move_cqes(const struct m5_cq *old, const struct m5_cq *new)
{
	uint32_t end = m5_cq_end(old);

	for (uint32_t i = old->ci; i != end; i++) {
		const struct m5_cqe *src = m5_cqe_at(old, i);
		struct m5_cqe *dst = m5_cqe_at(new, i + 1);

		if (src->op_own >> 4 == M5_CQE_RESIZE)
			return 0;
		*dst = *src;
		dst->op_own = (uint8_t)((src->op_own & 0xfe) | ((i + 1) >> new->log & 1));
	}
	return -EIO;
}

static int switch_ring(struct dap_evd *evd, const struct m5_mem *mem, unsigned int log)
{
	struct m5_ia *ia = m5_ia(evd->obj.ia);
	struct m5_cq *cq = m5_cq(evd), new = { .ring = mem->base, .log = log,
					       .mask = (1u << log) - 1 };
	struct m5_cq_param p = { .log_size = log, .uar_page = cq->uar_page,
				 .umem_id = mem->umem.id, .offset = mem->offset };
	uint64_t before;
	int err;

	m5_cq_ring_init(&new, cq->ci + 1);
	err = m5_cmd_cq_resize(ia->ctl, cq->obj, cq->cqn, &p);
	if (err)
		return err;
	err = move_cqes(cq, &new);
	/* The counts continue; the CQE that ended the ring is not an event. */
	before = m5_cq_passed(cq) - cq->ci;
	__atomic_add_fetch(&cq->rings, 1, __ATOMIC_ACQ_REL);
	__atomic_store_n(&cq->before, before, __ATOMIC_RELAXED);
	m5_count_add(&cq->aside, 1);
	cq->ring = new.ring;
	m5_index_set(&cq->log, new.log);
	m5_index_set(&cq->mask, new.mask);
	m5_index_set(&cq->lap, cq->ci >> cq->log);
	m5_cq_publish(cq, cq->ci + 1);
	__atomic_add_fetch(&cq->rings, 1, __ATOMIC_RELEASE);
	if (err)
		dap_log(DAP_LOG_ERR, "EVD %p of %s: completions were lost when its CQ grew (no final CQE in "
			"the old ring): free its endpoints, and create it with a greater evd_min_qlen",
			(void *)evd, evd->obj.ia->name);
	return 0;
}

static int grow_cq(struct dap_evd *evd, unsigned int log)
{
	struct m5_ia *ia = m5_ia(evd->obj.ia);
	struct m5_cq *cq = m5_cq(evd);
	struct m5_mem mem, old;
	int err;

	if (!ia->dev.cq_resize || 1u << log > ia->dev.max_cqe)
		return -ENOSPC;
	err = m5_mem_alloc(ia->ctl, (size_t)sizeof(struct m5_cqe) << log, &mem);
	if (err)
		return err;
	m5_cq_own(evd);
	err = switch_ring(evd, &mem, log);
	m5_cq_release(evd);
	if (err) {
		m5_mem_free(ia->ctl, &mem, 0);
		return err;
	}
	old = cq->grown;
	cq->grown = mem;
	if (old.base)
		m5_mem_free(ia->ctl, &old, 0);
	return 0;
}

/* Makes room for entries of the consumer and for internal ones; ia->lock is held. */
static int make_room(struct dap_evd *evd, uint64_t entries, uint64_t internal)
{
	struct m5_cq *cq = m5_cq(evd);
	unsigned int log = cq->log;
	int err = 0;

	while ((uint64_t)1 << log <= entries + internal)
		log++;
	if (log > 30)
		return -ENOSPC;
	if (log != cq->log)
		err = grow_cq(evd, log);
	if (err)
		return err;
	cq->room = cq->mask - (uint32_t)entries;
	return 0;
}

int m5_cq_resize(struct dap_evd *evd, unsigned int entries)
{
	struct m5_ia *ia = m5_ia(evd->obj.ia);
	int err;

	pthread_mutex_lock(&ia->lock);
	err = make_room(evd, entries, m5_cq(evd)->reserved);
	pthread_mutex_unlock(&ia->lock);
	return err;
}

int m5_cq_reserve(struct dap_evd *evd, uint32_t internal)
{
	struct m5_ia *ia = m5_ia(evd->obj.ia);
	struct m5_cq *cq = m5_cq(evd);
	int err = 0;

	pthread_mutex_lock(&ia->lock);
	if (cq->room - cq->reserved < internal)
		err = make_room(evd, cq->mask - cq->room, cq->reserved + internal);
	if (!err)
		cq->reserved += internal;
	pthread_mutex_unlock(&ia->lock);
	return err;
}

void m5_cq_unreserve(struct dap_evd *evd, uint32_t internal)
{
	struct m5_ia *ia = m5_ia(evd->obj.ia);

	pthread_mutex_lock(&ia->lock);
	dap_invariant(&evd->obj, m5_cq(evd)->reserved >= internal);
	m5_cq(evd)->reserved -= internal;
	pthread_mutex_unlock(&ia->lock);
}
