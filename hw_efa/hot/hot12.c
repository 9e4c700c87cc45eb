/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The hot functions of uDAPL 1.2, one set for each variant of device and instance. */
#include "hw_efa/hot/hot.h"
#include "hw_efa/obj.h"

static inline uint64_t efa_rmr_va(const DAT_RMR_TRIPLET *t) { return t->target_address; }

static inline void efa_event_dto(DAT_EVENT *event, struct dap_evd *evd, struct dap_ep *ep,
				 uint64_t cookie, uint64_t bytes, unsigned int op)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = evd;
	dto->ep_handle = ep;
	dto->user_cookie.as_64 = cookie;
	dto->status = DAT_DTO_SUCCESS;
	dto->transfered_length = bytes;
	(void)op;
}

/* The LMR is the one that the triplet names. */
static inline bool efa_is_lmr(const struct dap_lmr *lmr, const void *handle)
{
	(void)lmr;
	(void)handle;
	return true;
}

enum {				/* where the arguments of a bind stand */
	EFA_ARG_TRIPLET = DAP_SUB_ARG2, EFA_ARG_PRIV = DAP_SUB_ARG3, EFA_ARG_FLAGS = DAP_SUB_ARG6,
	EFA_ARG_CONTEXT = DAP_SUB_ARG7
};

#include "hw_efa/hot/hot_all.inl"

EFA_COLD DAT_RETURN efa_no_srq(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			       DAT_DTO_COOKIE cookie)
{
	(void)srq;
	(void)n;
	(void)iov;
	(void)cookie;
	return DAT_CLASS_ERROR | DAT_MODEL_NOT_SUPPORTED;
}

EFA_COLD DAT_RETURN efa_hot_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
				 DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
				 DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	return efa_bind_any(rmr, NULL, triplet, priv, ep, cookie.as_64, flags, context);
}
