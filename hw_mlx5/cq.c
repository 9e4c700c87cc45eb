/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Completion queues: create, destroy, and their events.
 *
 * An EVD of n events gets a CQ of at least 3n and n + 64 entries, for small n even 7n. Entries
 * beyond n are for internal completions of suppressed work, which the consumer does not count. Each
 * endpoint reserves as many as it can have in the CQ at a time (qp.c), and the CQ grows if there is no
 * room (resize.c), so internal completions never overflow it. One more entry is for the CQE that ends a
 * ring.
 */
#include <errno.h>

#include "hw_mlx5/lock.h"
#include "hw_mlx5/ops.h"

#define DBREC_BYTES 64u
#define LEAST_ROOM 64u
#define AMPLE_ROOM 16384u	/* 1 MiB of CQEs */

static unsigned int cq_log(unsigned int entries)
{
	unsigned int room = 6 * entries < AMPLE_ROOM ? 6 * entries : AMPLE_ROOM;

	if (room < 2 * entries)
		room = 2 * entries;
	if (room < LEAST_ROOM)
		room = LEAST_ROOM;
	return 32u - (unsigned int)__builtin_clz(entries + room - 1);
}

static int make_cq(struct m5_ia *ia, struct m5_cq *cq)
{
	struct m5_cq_param p = {
		.log_size = cq->log,
		.uar_page = ia->uar.page,
		.eqn = ia->eqn,
		.umem_id = cq->mem.umem.id,
		.offset = cq->mem.offset,
		.dbrec = cq->mem.offset + cq->mem.len - DBREC_BYTES,
	};

	return m5_cmd_cq(ia->ctl, &p, &cq->obj, &cq->cqn);
}

int m5_cq_create(struct dap_evd *evd, unsigned int entries)
{
	struct m5_ia *ia = m5_ia(evd->obj.ia);
	struct m5_cq *cq = m5_cq(evd), new = { .dir = ia->dir };
	int err;

	if (entries > ia->dev.max_cqe / 4)
		return -ENOMEM;
	new.log = cq_log(entries);
	new.mask = (1u << new.log) - 1;
	new.room = new.mask - entries;
	new.uar = ia->uar.base;
	new.uar_page = ia->uar.page;
	err = m5_mem_alloc(ia->ctl, ((size_t)sizeof(struct m5_cqe) << new.log) + DBREC_BYTES,
			   &new.mem);
	if (err)
		return err;
	new.ring = new.mem.base;
	new.dbrec = (volatile uint32_t *)(new.ring + new.mem.len - DBREC_BYTES);
	m5_cq_ring_init(&new, 0);
	m5_cq_set_ci(&new, 0);
	err = make_cq(ia, &new);
	if (err) {
		m5_mem_free(ia->ctl, &new.mem, 0);
		return err;
	}
	m5_ia_async_settle(evd->obj.ia);
	*cq = new;
	pthread_mutex_init(&cq->mutex, NULL);
	return 0;
}

int m5_cq_destroy(struct dap_evd *evd)
{
	struct m5_ia *ia = m5_ia(evd->obj.ia);
	struct m5_cq *cq = m5_cq(evd);
	int err = ia->ctl->ops->obj_destroy(cq->obj);

	if (cq->ch)
		ia->ctl->ops->evch_destroy(cq->ch);
	cq->ch = NULL;
	if (cq->grown.base)
		m5_mem_free(ia->ctl, &cq->grown, err);
	m5_mem_free(ia->ctl, &cq->mem, err);
	pthread_mutex_destroy(&cq->mutex);
	return err;
}

/* The first wait creates the channel, because it costs a file descriptor. */
static int open_channel(struct dap_evd *evd)
{
	const struct m5_ctl_ops *ops = m5_ia(evd->obj.ia)->ctl->ops;
	struct m5_cq *cq = m5_cq(evd);
	struct m5_evch *ch;
	int err;

	if (cq->ch)
		return 0;
	err = ops->evch_create(m5_ia(evd->obj.ia)->ctl, &ch);
	if (err)
		return err;
	err = ops->evch_bind(ch, cq->obj, cq->cqn);
	if (err)
		ops->evch_destroy(ch);
	else
		cq->ch = ch;
	return err;
}

/* PRM, "CQ Doorbell": writes command and index to the record, then both halves to the UAR. */
int m5_cq_arm(struct dap_evd *evd, bool solicited_only)
{
	struct m5_cq *cq = m5_cq(evd);
	int err = open_channel(evd);
	uint32_t cmd;
	be64_t db;

	if (err)
		return err;
	cmd = (cq->arm_sn & 3) << 28 | (solicited_only ? 1u << 24 : 0) | (cq->ci & 0xffffff);
	db = cpu_to_be64((uint64_t)cmd << 32 | cq->cqn);
	dap_mb_cqe_before_ci();
	dap_store_dbrec(&cq->dbrec[1], htobe32(cmd));
	m5_mmio_ring(m5_ia(evd->obj.ia), cq->uar, cq->uar_page, M5_UAR_CQ_DOORBELL, db.be);
	return 0;
}

int m5_cq_fd(struct dap_evd *evd)
{
	int err = open_channel(evd);

	return err ? err : m5_ia(evd->obj.ia)->ctl->ops->evch_fd(m5_cq(evd)->ch);
}

bool m5_cq_drain_fd(struct dap_evd *evd)
{
	struct m5_cq *cq = m5_cq(evd);
	int n = cq->ch ? m5_ia(evd->obj.ia)->ctl->ops->evch_drain(cq->ch) : 0;

	/* The serial number increases with each event, so that the device does not ignore a new arm
	 * as an old one. */
	if (n > 0)
		__atomic_store_n(&cq->arm_sn, cq->arm_sn + 1, __ATOMIC_RELAXED);
	return n < 0;
}
