/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions behind the 68 slots of a uDAPL 1.2 provider: thin fronts that check types, masks
 * and ranges, call core, and translate the result. The post calls, dequeue and bind here are the
 * checked ones; live tables have the backend's functions instead (core/front/provider.c).
 *
 * A front never trusts a handle: dap_obj_get decides what it is.
 */
#ifndef DAP_FRONT_SLOTS_H
#define DAP_FRONT_SLOTS_H

#include "core/front/level.h"

#include "core/dap.h"
#include "core/hot.h"

/* The slots of uDAPL 1.2; 2.0 has them, too, three with more arguments. */
#define FRONT_SLOTS(X) \
	X(ia_open) X(ia_query) X(ia_close) X(set_consumer_context) X(get_consumer_context) \
	X(get_handle_type) X(cno_create) X(cno_modify_agent) X(cno_query) X(cno_free) \
	X(cno_wait) X(cr_query) X(cr_accept) X(cr_reject) X(cr_handoff) X(evd_create) \
	X(evd_query) X(evd_modify_cno) X(evd_enable) X(evd_disable) X(evd_wait) X(evd_resize) \
	X(evd_post_se) X(evd_dequeue) X(evd_free) X(ep_create) X(ep_query) X(ep_modify) \
	X(ep_connect) X(ep_dup_connect) X(ep_disconnect) X(ep_post_send) X(ep_post_recv) \
	X(ep_post_rdma_read) X(ep_post_rdma_write) X(ep_get_status) X(ep_free) X(lmr_create) \
	X(lmr_query) X(lmr_free) X(rmr_create) X(rmr_query) X(rmr_bind) X(rmr_free) \
	X(psp_create) X(psp_query) X(psp_free) X(rsp_create) X(rsp_query) X(rsp_free) \
	X(pz_create) X(pz_query) X(pz_free) X(psp_create_any) X(ep_reset) \
	X(evd_set_unwaitable) X(evd_clear_unwaitable) X(lmr_sync_rdma_read) \
	X(lmr_sync_rdma_write) X(ep_create_with_srq) X(ep_recv_query) X(ep_set_watermark) \
	X(srq_create) X(srq_free) X(srq_post_recv) X(srq_query) X(srq_resize) X(srq_set_lw)

#ifdef DAP_DAT20
#include "core/front/dat20/slots.h"
#else
#define FRONT_SLOTS_20(X)
#endif

/* Each front has the type of its slot: that of front_ep_connect() is the one of ep_connect_func. */
#define FRONT_DECLARE(call) extern __typeof__(*((DAT_PROVIDER *)0)->call##_func) front_##call;
FRONT_SLOTS(FRONT_DECLARE)
FRONT_SLOTS_20(FRONT_DECLARE)

/* The extension in dapl_direct.h. */
DAT_RETURN front_evd_dequeue_n(DAT_EVD_HANDLE evd, DAT_COUNT max, DAT_EVENT *events,
			       DAT_COUNT *count);
DAT_RETURN front_evd_dequeue_ts(DAT_EVD_HANDLE evd, DAT_EVENT *event, struct dapl_stamp *stamp);
DAT_RETURN front_ep_post_n(DAT_EP_HANDLE ep, DAT_COUNT n, const struct dapl_work *work,
			   DAT_COUNT *posted);
DAT_RETURN front_cno_fd(DAT_CNO_HANDLE cno, int *fd);

/* Returns 0 if the endpoint may post a request with these segments, else a DAP_ERR. ep may be NULL. */
int front_check_request(const struct dap_ep *ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
			uint32_t priv);
/* Returns 0 if the endpoint may post an RDMA write of these segments to this buffer, else a DAP_ERR. */
int front_check_write(const struct dap_ep *ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
		      const DAT_RMR_TRIPLET *remote);

/* INVALID_PARAMETER for argument n, counted from 1. */
static inline DAT_RETURN front_bad_arg(int n)
{
	return front_return(DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG1 + n - 1));
}

/* If core returns INVALID_PARAMETER without an argument's number, argument n is invalid. */
static inline DAT_RETURN front_return_arg(int err, int n)
{
	return err == DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_NONE) ? front_bad_arg(n) : front_return(err);
}

/* Returns INVALID_HANDLE with the subtype of the expected handle. */
static inline DAT_RETURN front_bad_handle(enum dap_err_sub sub)
{
	return front_return(DAP_ERR(DAP_INVALID_HANDLE, sub));
}

#endif
