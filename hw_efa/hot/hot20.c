/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * The hot functions of uDAPL 2.0. Triplets are shorter there, events say what has completed, and a
 * bind names its LMR; all else is made of the same bodies as those of 1.2. The immediate is this
 * driver's own, and an EFA has no atomics: that part of the extension is refused.
 */
#include "hw_efa/hot/hot.h"
#include "hw_efa/obj.h"

static inline uint64_t efa_rmr_va(const DAT_RMR_TRIPLET *t) { return t->virtual_address; }

static inline void efa_event_dto(DAT_EVENT *event, struct dap_evd *evd, struct dap_ep *ep,
				 uint64_t cookie, uint64_t bytes, unsigned int op)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = evd;
	dto->ep_handle = ep;
	dto->user_cookie.as_64 = cookie;
	dto->status = DAT_DTO_SUCCESS;
	dto->transfered_length = (DAT_SEG_LENGTH)bytes;
	dto->operation = (DAT_DTOS)op;
	dto->rmr_context = 0;
}

static inline bool efa_is_lmr(const struct dap_lmr *lmr, const void *handle)
{
	return lmr == handle;
}

enum {				/* where the arguments of a bind stand */
	EFA_ARG_TRIPLET = DAP_SUB_ARG3, EFA_ARG_PRIV = DAP_SUB_ARG4, EFA_ARG_FLAGS = DAP_SUB_ARG8,
	EFA_ARG_CONTEXT = DAP_SUB_ARG9
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

EFA_COLD DAT_RETURN efa_no_write_imm(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				     DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to,
				     DAT_UINT32 imm, DAT_COMPLETION_FLAGS flags)
{
	(void)ep;
	(void)n;
	(void)iov;
	(void)cookie;
	(void)to;
	(void)imm;
	(void)flags;
	return DAT_CLASS_ERROR | DAT_MODEL_NOT_SUPPORTED;
}

EFA_COLD DAT_RETURN efa_no_atomic(DAT_EP_HANDLE ep, bool swap, DAT_UINT64 operand,
				  DAT_UINT64 compare, DAT_LMR_TRIPLET *result,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *at,
				  DAT_COMPLETION_FLAGS flags)
{
	(void)ep;
	(void)swap;
	(void)operand;
	(void)compare;
	(void)result;
	(void)cookie;
	(void)at;
	(void)flags;
	return DAT_CLASS_ERROR | DAT_MODEL_NOT_SUPPORTED;
}

EFA_COLD DAT_RETURN efa_hot_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr,
				 const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS priv,
				 DAT_VA_TYPE va_type, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
				 DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	if (va_type != DAT_VA_TYPE_VA)	/* attribute zb_supported */
		return efa_ret_error(DAP_ERR(DAP_MODEL_NOT_SUPPORTED, DAP_SUB_NONE));
	return efa_bind_any(rmr, lmr, triplet, priv, ep, cookie.as_64, flags, context);
}
