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

DAT_RETURN front_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			 DAT_IA_HANDLE *ia);
DAT_RETURN front_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_evd, DAT_IA_ATTR_MASK ia_mask,
			  DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK prov_mask,
			  DAT_PROVIDER_ATTR *prov_attr);
DAT_RETURN front_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);
DAT_RETURN front_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context);
DAT_RETURN front_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context);
DAT_RETURN front_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type);
DAT_RETURN front_cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent, DAT_CNO_HANDLE *cno);
DAT_RETURN front_cno_modify_agent(DAT_CNO_HANDLE cno, DAT_OS_WAIT_PROXY_AGENT agent);
DAT_RETURN front_cno_query(DAT_CNO_HANDLE cno, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param);
DAT_RETURN front_cno_free(DAT_CNO_HANDLE cno);
DAT_RETURN front_cno_wait(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd);
DAT_RETURN front_cr_query(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param);
DAT_RETURN front_cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT pd_size,
			   const DAT_PVOID pd);
DAT_RETURN front_cr_handoff(DAT_CR_HANDLE cr, DAT_CONN_QUAL handoff);
DAT_RETURN front_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
			    DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd);
DAT_RETURN front_evd_query(DAT_EVD_HANDLE evd, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param);
DAT_RETURN front_evd_modify_cno(DAT_EVD_HANDLE evd, DAT_CNO_HANDLE cno);
DAT_RETURN front_evd_enable(DAT_EVD_HANDLE evd);
DAT_RETURN front_evd_disable(DAT_EVD_HANDLE evd);
DAT_RETURN front_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			  DAT_EVENT *event, DAT_COUNT *nmore);
DAT_RETURN front_evd_resize(DAT_EVD_HANDLE evd, DAT_COUNT qlen);
DAT_RETURN front_evd_post_se(DAT_EVD_HANDLE evd, const DAT_EVENT *event);
DAT_RETURN front_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event);
DAT_RETURN front_evd_free(DAT_EVD_HANDLE evd);
/* the extension in dapl_direct.h */
DAT_RETURN front_evd_dequeue_n(DAT_EVD_HANDLE evd, DAT_COUNT max, DAT_EVENT *events,
			       DAT_COUNT *count);
DAT_RETURN front_evd_dequeue_ts(DAT_EVD_HANDLE evd, DAT_EVENT *event, struct dapl_stamp *stamp);
DAT_RETURN front_ep_post_n(DAT_EP_HANDLE ep, DAT_COUNT n, const struct dapl_work *work,
			   DAT_COUNT *posted);
DAT_RETURN front_cno_fd(DAT_CNO_HANDLE cno, int *fd);
DAT_RETURN front_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
			   DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
			   const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep);
DAT_RETURN front_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param);
DAT_RETURN front_ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param);
DAT_RETURN front_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR to, DAT_CONN_QUAL conn_qual,
			    DAT_TIMEOUT timeout, DAT_COUNT pd_size, const DAT_PVOID pd, DAT_QOS qos,
			    DAT_CONNECT_FLAGS flags);
DAT_RETURN front_ep_dup_connect(DAT_EP_HANDLE ep, DAT_EP_HANDLE dup, DAT_TIMEOUT timeout,
				DAT_COUNT pd_size, const DAT_PVOID pd, DAT_QOS qos);
DAT_RETURN front_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags);
DAT_RETURN front_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN front_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN front_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				   DAT_COMPLETION_FLAGS flags);
DAT_RETURN front_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				    DAT_COMPLETION_FLAGS flags);
DAT_RETURN front_ep_get_status(DAT_EP_HANDLE ep, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
			       DAT_BOOLEAN *request_idle);
DAT_RETURN front_ep_free(DAT_EP_HANDLE ep);
DAT_RETURN front_lmr_query(DAT_LMR_HANDLE lmr, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param);
DAT_RETURN front_lmr_free(DAT_LMR_HANDLE lmr);
DAT_RETURN front_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr);
DAT_RETURN front_rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param);
DAT_RETURN front_rmr_free(DAT_RMR_HANDLE rmr);
DAT_RETURN front_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL conn_qual, DAT_EVD_HANDLE evd,
			    DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp);
DAT_RETURN front_psp_query(DAT_PSP_HANDLE psp, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param);
DAT_RETURN front_psp_free(DAT_PSP_HANDLE psp);
DAT_RETURN front_rsp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL conn_qual, DAT_EP_HANDLE ep,
			    DAT_EVD_HANDLE evd, DAT_RSP_HANDLE *rsp);
DAT_RETURN front_rsp_query(DAT_RSP_HANDLE rsp, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param);
DAT_RETURN front_rsp_free(DAT_RSP_HANDLE rsp);
DAT_RETURN front_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz);
DAT_RETURN front_pz_query(DAT_PZ_HANDLE pz, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param);
DAT_RETURN front_pz_free(DAT_PZ_HANDLE pz);
DAT_RETURN front_psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *conn_qual, DAT_EVD_HANDLE evd,
				DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp);
DAT_RETURN front_ep_reset(DAT_EP_HANDLE ep);
DAT_RETURN front_evd_set_unwaitable(DAT_EVD_HANDLE evd);
DAT_RETURN front_evd_clear_unwaitable(DAT_EVD_HANDLE evd);
DAT_RETURN front_lmr_sync_rdma_read(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *iov, DAT_VLEN n);
DAT_RETURN front_lmr_sync_rdma_write(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *iov, DAT_VLEN n);
DAT_RETURN front_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
				    DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
				    DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep);
DAT_RETURN front_ep_recv_query(DAT_EP_HANDLE ep, DAT_COUNT *nbufs, DAT_COUNT *span);
DAT_RETURN front_ep_set_watermark(DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard);
DAT_RETURN front_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
			    DAT_SRQ_HANDLE *srq);
DAT_RETURN front_srq_free(DAT_SRQ_HANDLE srq);
DAT_RETURN front_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			       DAT_DTO_COOKIE cookie);
DAT_RETURN front_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param);
DAT_RETURN front_srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT max_recv_dtos);
DAT_RETURN front_srq_set_lw(DAT_SRQ_HANDLE srq, DAT_COUNT low_watermark);

#ifdef DAP_DAT20
#include "core/front/dat20/slots.h"
#else
DAT_RETURN front_cr_reject(DAT_CR_HANDLE cr);
DAT_RETURN front_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE mem_type, DAT_REGION_DESCRIPTION region,
			    DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
			    DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
			    DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *reg_size, DAT_VADDR *reg_addr);
DAT_RETURN front_rmr_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
			  DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
			  DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *rmr_context);
#endif

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
