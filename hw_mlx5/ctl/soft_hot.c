/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hot calls for callers that drive the software ConnectX themselves: they call the hardware's
 * functions. After a post the model gets its doorbell. A dequeue that finds nothing drives the
 * model and polls again. Compiled for each API level.
 */
#include "hw_mlx5/hot/hot.h"
#include "hw_mlx5/lock.h"
#include "softnic/softnic.h"

/* The hot functions for hardware. All handles begin with a struct dap_obj. */
static const struct dap_hot *hw_calls(const void *handle)
{
	const struct dap_obj *obj = handle;

	return m5_ia(obj->ia)->calls;
}

static uint8_t *block_at(const struct m5_sq *sq, uint32_t pi)
{
	return sq->ring + ((size_t)(pi & sq->mask) << M5_BB_SHIFT);
}

/* Returns the index of the last WQE in [pi, end). */
static uint32_t last_wqe(const struct m5_sq *sq, uint32_t pi, uint32_t end)
{
	for (;;) {
		const struct m5_ctrl_seg *ctrl = (const void *)block_at(sq, pi);
		uint32_t blocks = ((be32_to_cpu(ctrl->qpn_ds) & 0x3f) + 3) / 4;

		if (!blocks || end - pi <= blocks)
			return pi;
		pi += blocks;
	}
}

/* Passes all posted WQEs to the model, also those that other threads have posted since. The caller
 * owns the queue. */
static void ring_model(struct softnic *nic, struct m5_sq *sq)
{
	/* Offset of the half register that the hardware's function has just written. */
	uint32_t offset = (uint32_t)((sq->reg ^ 256) & 0xfff);
	uint32_t pi = sq->rung, n = sq->pi - pi;

	sq->rung = sq->pi;
	if (n < sq->bf_bb_limit && (pi & sq->mask) + n <= sq->mask + 1)
		softnic_mmio_write(nic, sq->uar_page, offset, block_at(sq, pi),
				   (size_t)n << M5_BB_SHIFT);
	else
		softnic_mmio_write(nic, sq->uar_page, offset,
				   block_at(sq, last_wqe(sq, pi, sq->pi)), sizeof(uint64_t));
}

static DAT_RETURN after_post(DAT_EP_HANDLE handle, DAT_RETURN ret)
{
	struct dap_ep *ep = handle;
	const struct m5_ia *ia;
	struct m5_sq *sq;

	if (ret != DAT_SUCCESS)
		return ret;
	ia = m5_ia(ep->obj.ia);
	sq = &m5_ep(ep)->sq;
	if (ia->locked)
		m5_spin_lock(&sq->lock);
	if (sq->rung != sq->pi)
		ring_model(ia->ctl->soft, sq);
	if (ia->locked)
		m5_spin_unlock(&sq->lock);
	return ret;
}

static DAT_RETURN soft_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return after_post(ep, hw_calls(ep)->post_send(ep, n, iov, cookie, flags));
}

/* Receives need no doorbell. */
static DAT_RETURN soft_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return hw_calls(ep)->post_recv(ep, n, iov, cookie, flags);
}

static DAT_RETURN soft_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *from,
			    DAT_COMPLETION_FLAGS flags)
{
	return after_post(ep, hw_calls(ep)->rdma_read(ep, n, iov, cookie, from, flags));
}

static DAT_RETURN soft_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to,
			     DAT_COMPLETION_FLAGS flags)
{
	return after_post(ep, hw_calls(ep)->rdma_write(ep, n, iov, cookie, to, flags));
}

/* If a request fails, the requests before it have been posted. */
static DAT_RETURN soft_post_n(DAT_EP_HANDLE ep, DAT_COUNT n, const struct dapl_work *work,
			      DAT_COUNT *posted)
{
	DAT_RETURN ret = hw_calls(ep)->ep_post_n(ep, n, work, posted);

	after_post(ep, DAT_SUCCESS);
	return ret;
}

#ifdef DAP_DAT20

static DAT_RETURN soft_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *triplet,
			    DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep,
			    DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			    DAT_RMR_CONTEXT *context)
{
	return after_post(ep, hw_calls(rmr)->rmr_bind(rmr, lmr, triplet, priv, va_type, ep, cookie, flags,
						      context));
}

static DAT_RETURN soft_send_inval(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
				  DAT_RMR_CONTEXT context)
{
	return after_post(ep, hw_calls(ep)->send_inval(ep, n, iov, cookie, flags, context));
}

static DAT_RETURN soft_write_immed(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to,
				   DAT_UINT32 imm, DAT_COMPLETION_FLAGS flags)
{
	return after_post(ep, hw_calls(ep)->write_immed(ep, n, iov, cookie, to, imm, flags));
}

static DAT_RETURN soft_atomic(DAT_EP_HANDLE ep, bool swap, DAT_UINT64 operand, DAT_UINT64 compare,
			      DAT_LMR_TRIPLET *result, DAT_DTO_COOKIE cookie,
			      const DAT_RMR_TRIPLET *at, DAT_COMPLETION_FLAGS flags)
{
	return after_post(ep, hw_calls(ep)->atomic(ep, swap, operand, compare, result, cookie, at, flags));
}

#else

static DAT_RETURN soft_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
			    DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
			    DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	return after_post(ep, hw_calls(rmr)->rmr_bind(rmr, triplet, priv, ep, cookie, flags, context));
}

#endif

static uint64_t missed(struct dap_evd *evd)
{
	return __atomic_load_n(&m5_cq(evd)->missed, __ATOMIC_RELAXED);
}

/* The CQ was empty: drive the model, which may have work. The first poll is not counted as a
 * miss. */
static M5_COLD void drive_device(struct dap_evd *evd)
{
	const struct m5_ia *ia = m5_ia(evd->obj.ia);
	struct m5_cq *cq = m5_cq(evd);

	m5_cq_enter(cq, ia->locked);
	m5_count_add(&cq->missed, -UINT64_C(1));
	m5_cq_leave(cq, ia->locked);
	softnic_pump(ia->ctl->soft);
}

static DAT_RETURN soft_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct dap_evd *evd = handle;
	const struct dap_hot *calls = hw_calls(evd);
	uint64_t before = missed(evd);
	DAT_RETURN ret = calls->evd_dequeue(evd, event);

	if (ret != FRONT_CQ_EMPTY || missed(evd) == before)
		return ret;
	drive_device(evd);
	return calls->evd_dequeue(evd, event);
}

static DAT_RETURN soft_dequeue_n(DAT_EVD_HANDLE handle, DAT_COUNT max, DAT_EVENT *events,
				 DAT_COUNT *count)
{
	struct dap_evd *evd = handle;
	const struct dap_hot *calls = hw_calls(evd);
	uint64_t before = missed(evd);
	DAT_RETURN ret = calls->evd_dequeue_n(evd, max, events, count);

	if (ret != FRONT_CQ_EMPTY || missed(evd) == before)
		return ret;
	drive_device(evd);
	return calls->evd_dequeue_n(evd, max, events, count);
}

static DAT_RETURN soft_srq_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				DAT_DTO_COOKIE cookie)
{
	return hw_calls(srq)->srq_post_recv(srq, n, iov, cookie);
}

const struct dap_hot *m5_soft_calls(void)
{
	static const struct dap_hot calls = {
		.post_send = soft_send, .post_recv = soft_recv,
		.rdma_read = soft_read, .rdma_write = soft_write, .rmr_bind = soft_bind,
#ifdef DAP_DAT20
		.send_inval = soft_send_inval, .write_immed = soft_write_immed,
		.atomic = soft_atomic,
#endif
		.evd_dequeue = soft_dequeue, .evd_dequeue_n = soft_dequeue_n,
		.ep_post_n = soft_post_n, .srq_post_recv = soft_srq_recv,
	};

	return &calls;
}
