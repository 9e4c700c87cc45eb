/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * With bind_doorbell=shared a suppressed bind is written and not told to the device: what is posted
 * next to the endpoint rings for both (m5_bind_ring). Where nothing may follow, the calls that end
 * something, or ask how far the device is, ring here. They take the queue's lock where it has one;
 * in an instance that is not threadsafe the consumer has no other thread at the endpoint meanwhile.
 */
#include "hw_mlx5/m5_lock.h"
#include "softnic/softnic.h"

void m5_sq_ring(struct m5_sq *sq, uint64_t ctrl)
{
	sq->bf_end = sq->bf_all;
	__atomic_store_n(&sq->left, 0, __ATOMIC_RELAXED);
	dap_wmb_wqe_before_dbrec();
	dap_store_dbrec(&sq->dbrec[1], htobe32(sq->pi & 0xffff));
	if (sq->soft) {
		softnic_mmio_write(sq->soft, sq->uar_page, (uint32_t)(sq->reg & 0xfff), &ctrl,
				   sizeof(ctrl));
	} else {
		dap_wmb_dbrec_before_mmio();
		dap_mmio_store64((volatile uint64_t *)sq->reg, ctrl);
		dap_wc_flush();
	}
	sq->reg ^= 256;
}

void m5_sq_ring_left(struct m5_sq *sq)
{
	uint64_t ctrl = __atomic_load_n(&sq->left, __ATOMIC_RELAXED);

	if (ctrl)
		m5_sq_ring(sq, ctrl);
}

void m5_qp_ring_left(struct dap_ep *ep)
{
	bool locked = m5_ia(ep->obj.ia)->locked;
	struct m5_sq *sq = &m5_ep(ep)->sq;

	if (!__atomic_load_n(&sq->left, __ATOMIC_RELAXED))
		return;
	if (locked)
		m5_spin_lock(&sq->lock);
	m5_sq_ring_left(sq);
	if (locked)
		m5_spin_unlock(&sq->lock);
}
