/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The hot functions of uDAPL 1.2, one set for each variant of device and instance. */
#include "hw_mlx5/hot/hot.h"
#include "hw_mlx5/lock.h"

static inline uint64_t m5_rmr_va(const DAT_RMR_TRIPLET *t) { return t->target_address; }

static inline void m5_event_dto(DAT_EVENT *event, struct dap_evd *evd, struct dap_ep *ep,
				uint64_t cookie, uint64_t bytes, enum dap_dto_op op)
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

/* Every kind of receive is one and the same event. */
static inline bool m5_is_plain(unsigned int cqe_op)
{
	return cqe_op < M5_CQE_RESIZE;
}

/* The LMR is the one that the triplet names. */
static inline bool m5_is_lmr(const struct dap_lmr *lmr, const void *handle)
{
	(void)lmr;
	(void)handle;
	return true;
}

/* What an LMR of this length has beyond the triplet's. */
static inline uint64_t m5_room(uint64_t length, const DAT_LMR_TRIPLET *t)
{
	return length - t->segment_length;
}

/* A bind: the parameters, and how they are passed on. */
#define M5_BIND_CALL                                                                               \
	DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS priv,               \
	DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,                       \
	DAT_RMR_CONTEXT *context
#define M5_BIND_PASS rmr, triplet, priv, ep, cookie, flags, context
#define M5_BIND_ARG(arg) arg
/* As the table has it. */
#define M5_BIND_FN DAT_RETURN (*)(M5_BIND_CALL)
/* Its second half takes what is still needed, in the same places; and the key that will be. */
#define M5_GO_ARGS                                                                                  \
	struct dap_rmr *rmr, const DAT_LMR_TRIPLET *triplet M5_SPARE, unsigned int priv M5_SPARE,  \
	struct dap_ep *ep, uint64_t cookie, uint32_t key
#define M5_GO_PASS(key) rmr, triplet, priv, ep, cookie.as_64, key
#define M5_PRIV_REG "rdx"	/* where priv is */
#define M5_BIND_LMR NULL
#define M5_BIND_ODD flags

enum {				/* where the arguments of a bind stand */
	M5_ARG_TRIPLET = DAP_SUB_ARG2, M5_ARG_PRIV = DAP_SUB_ARG3, M5_ARG_FLAGS = DAP_SUB_ARG6,
	M5_ARG_CONTEXT = DAP_SUB_ARG7
};

#include "hw_mlx5/hot/hot_all.inl"
