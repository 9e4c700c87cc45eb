/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hot calls where callers drive the software EFA themselves: the functions of the hardware; after a
 * post the device looks at the doorbells, and a dequeue that finds nothing lets it take a turn and
 * looks again. Compiled for each API level.
 */
#include "hw_efa/calls.h"
#include "hw_efa/hot/hot.h"
#include "hw_efa/lock.h"

/* The functions of the hardware. */
static const struct dap_hot *hard(struct dap_ia *ia)
{
	return efa_ia(ia)->calls;
}

static DAT_RETURN posted(struct dap_ep *ep, DAT_RETURN ret)
{
	struct efa_engine *eng = efa_ia(ep->obj.ia)->eng;
	struct efa_ep *e = efa_ep(ep);

	if (ret != DAT_SUCCESS)
		return ret;
	efa_enter(eng);
	if (e->sq.kicked != e->sq.pi)
		efa_kick(eng, e);
	efa_leave(eng);
	return ret;
}

static DAT_RETURN soft_send(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct dap_ep *ep = handle;

	return posted(ep, hard(ep->obj.ia)->post_send(ep, n, iov, cookie, flags));
}

static DAT_RETURN soft_recv(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct dap_ep *ep = handle;

	return hard(ep->obj.ia)->post_recv(ep, n, iov, cookie, flags);
}

static DAT_RETURN soft_read(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *from,
			    DAT_COMPLETION_FLAGS flags)
{
	struct dap_ep *ep = handle;

	return posted(ep, hard(ep->obj.ia)->rdma_read(ep, n, iov, cookie, from, flags));
}

static DAT_RETURN soft_write(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to,
			     DAT_COMPLETION_FLAGS flags)
{
	struct dap_ep *ep = handle;

	return posted(ep, hard(ep->obj.ia)->rdma_write(ep, n, iov, cookie, to, flags));
}

static DAT_RETURN soft_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct dap_evd *evd = handle;
	struct efa_engine *eng = efa_evd(evd)->eng;
	DAT_RETURN ret = hard(evd->obj.ia)->evd_dequeue(evd, event);

	if (ret != FRONT_CQ_EMPTY || !eng)
		return ret;
	efa_enter(eng);
	efa_pump(eng);
	efa_leave(eng);
	return hard(evd->obj.ia)->evd_dequeue(evd, event);
}

const struct dap_hot *efa_soft_calls(void)
{
	static const struct dap_hot calls = {
		.post_send = soft_send, .post_recv = soft_recv,
		.rdma_read = soft_read, .rdma_write = soft_write,
		.rmr_bind = efa_hot_bind, .srq_post_recv = efa_no_srq,
#ifdef DAP_DAT20
		.write_immed = efa_no_write_imm, .atomic = efa_no_atomic,
#endif
		.evd_dequeue = soft_dequeue,
	};

	return &calls;
}
