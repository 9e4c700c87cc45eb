/* SPDX-License-Identifier: BSD-2-Clause */
/* dapl_ep_post_n(3): posts several requests by the calls for one. */
#include "core/api.h"
#include "core/front/slots.h"

#include <dat/dapl_direct.h>

static DAT_LMR_TRIPLET local_of(const struct dapl_work *w)
{
	return (DAT_LMR_TRIPLET){.lmr_context = w->lmr_context, .virtual_address = w->address,
				 .segment_length = w->length};
}

static DAT_RETURN post_bind(const struct dap_hot *calls, DAT_EP_HANDLE ep, const struct dapl_work *w)
{
	DAT_LMR_TRIPLET what = local_of(w);

	if (!dap_obj_get(w->rmr_handle, DAP_RMR, NULL))
		return front_bad_handle(DAP_SUB_HANDLE_RMR);
#ifdef DAP_DAT20
	return calls->rmr_bind(w->rmr_handle, w->lmr_handle, &what, (DAT_MEM_PRIV_FLAGS)w->privileges,
			       DAT_VA_TYPE_VA, ep, w->cookie, (DAT_COMPLETION_FLAGS)w->flags,
			       w->new_context);
#else
	return calls->rmr_bind(w->rmr_handle, &what, (DAT_MEM_PRIV_FLAGS)w->privileges, ep, w->cookie,
			       (DAT_COMPLETION_FLAGS)w->flags, w->new_context);
#endif
}

DAT_RETURN front_post_one(const struct dap_hot *calls, DAT_EP_HANDLE ep, const struct dapl_work *w)
{
	DAT_COMPLETION_FLAGS flags = (DAT_COMPLETION_FLAGS)w->flags;
	DAT_COUNT n = w->segments ? w->segments : 1;
	DAT_LMR_TRIPLET one = local_of(w), *iov = w->segments ? w->iov : &one;
	DAT_RMR_TRIPLET remote = {.rmr_context = w->rmr_context, .segment_length = w->length};

#ifdef DAP_DAT20
	remote.virtual_address = w->target;
#else
	remote.target_address = w->target;
#endif
	switch (w->op) {
	case DAPL_WORK_WRITE:
		return calls->rdma_write(ep, n, iov, w->cookie, &remote, flags);
	case DAPL_WORK_READ:
		return calls->rdma_read(ep, n, iov, w->cookie, &remote, flags);
	case DAPL_WORK_SEND:
		return calls->post_send(ep, n, iov, w->cookie, flags);
	case DAPL_WORK_BIND:
		return post_bind(calls, ep, w);
	default:
		return front_bad_arg(3);
	}
}

DAT_RETURN front_list_args(DAT_COUNT n, const void *list, const DAT_COUNT *done)
{
	if (n <= 0)
		return front_bad_arg(2);
	if (!list)
		return front_bad_arg(3);
	return done ? DAT_SUCCESS : front_bad_arg(4);
}

DAT_RETURN front_ep_post_n(DAT_EP_HANDLE handle, DAT_COUNT n, const struct dapl_work *work,
			   DAT_COUNT *posted)
{
	static const struct dap_hot checked = {
		.post_send = front_ep_post_send, .rdma_read = front_ep_post_rdma_read,
		.rdma_write = front_ep_post_rdma_write, .rmr_bind = front_rmr_bind,
	};
	DAT_RETURN bad;

	if (!dap_obj_get(handle, DAP_EP, NULL))
		return front_bad_handle(DAP_SUB_HANDLE_EP);
	bad = front_list_args(n, work, posted);
	if (bad)
		return bad;
	for (*posted = 0; *posted < n; ++*posted) {
		bad = front_post_one(&checked, handle, &work[*posted]);
		if (bad)
			break;
	}
	return bad;
}
