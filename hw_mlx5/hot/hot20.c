/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * The hot functions of uDAPL 2.0. Triplets are shorter there, events say what has completed, and a
 * bind names its LMR; all else is made of the same bodies as those of 1.2.
 */
#include "hw_mlx5/hot/hot.h"
#include "hw_mlx5/lock.h"

static inline uint64_t m5_rmr_va(const DAT_RMR_TRIPLET *t) { return t->virtual_address; }

typedef uint64_t __attribute__((may_alias, aligned(4))) m5_pair;
_Static_assert(offsetof(DAT_DTO_COMPLETION_EVENT_DATA, rmr_context) ==
	       offsetof(DAT_DTO_COMPLETION_EVENT_DATA, operation) + 4, "one word");

static inline void m5_event_dto(DAT_EVENT *event, struct dap_evd *evd, struct dap_ep *ep,
				uint64_t cookie, uint64_t bytes, enum dap_dto_op op)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = evd;
	dto->ep_handle = ep;
	dto->user_cookie.as_64 = cookie;
	dto->status = DAT_DTO_SUCCESS;
	dto->transfered_length = (DAT_SEG_LENGTH)bytes;
	/* The operation, and no context: one store on the little-endian hosts that seg.inl asks for. */
	*(m5_pair *)(void *)&dto->operation = op;
}

/* The others bring more than data. */
static inline bool m5_is_plain(unsigned int cqe_op)
{
	return cqe_op == M5_CQE_RESP_SEND;
}

static inline bool m5_is_lmr(const struct dap_lmr *lmr, const void *handle)
{
	return lmr == handle;
}

/* What an LMR of this length has beyond the triplet's: by one register, where gcc takes two. */
static inline uint64_t m5_room(uint64_t length, const DAT_LMR_TRIPLET *t)
{
	uint64_t less = -(uint64_t)t->segment_length;

	__asm__("" : "+r"(less));
	return less + length;
}

/*
 * A bind: the parameters, and how they are passed on. What callers put on the stack is one structure
 * here, which the psABI of x86-64 (3.2.3) has in the same places: gcc would take a register for
 * each of the three from the beginning, and save others for it.
 */
#if defined(__x86_64__)
struct m5_stacked {
	volatile DAT_RMR_COOKIE cookie;	/* or it is loaded long before it is wanted */
	DAT_COMPLETION_FLAGS flags;
	DAT_RMR_CONTEXT *context;
};
_Static_assert(offsetof(struct m5_stacked, flags) == 8 &&
	       offsetof(struct m5_stacked, context) == 16 && sizeof(struct m5_stacked) == 24,
	       "the arguments from the seventh on, eight bytes each");
#define M5_BIND_CALL                                                                               \
	DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *triplet,                    \
	DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep, struct m5_stacked on
#define M5_BIND_PASS rmr, lmr, triplet, priv, va_type, ep, on
#define M5_BIND_ARG(arg) on.arg
#else
#define M5_BIND_CALL                                                                               \
	DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *triplet,                    \
	DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,     \
	DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context
#define M5_BIND_PASS rmr, lmr, triplet, priv, va_type, ep, cookie, flags, context
#define M5_BIND_ARG(arg) arg
#endif
/* As the table has it. */
#define M5_BIND_FN                                                                                 \
	DAT_RETURN (*)(DAT_RMR_HANDLE, DAT_LMR_HANDLE, const DAT_LMR_TRIPLET *,                    \
		       DAT_MEM_PRIV_FLAGS, DAT_VA_TYPE, DAT_EP_HANDLE, DAT_RMR_COOKIE,             \
		       DAT_COMPLETION_FLAGS, DAT_RMR_CONTEXT *)
/* Its second half takes what is still needed, in the same places; and the key that will be. */
#define M5_GO_ARGS                                                                                 \
	struct dap_rmr *rmr, uint64_t cookie, const DAT_LMR_TRIPLET *triplet M5_SPARE,             \
	unsigned int priv M5_SPARE, uint32_t key, struct dap_ep *ep
#define M5_GO_PASS(key) rmr, M5_BIND_ARG(cookie).as_64, triplet, priv, key, ep
#define M5_PRIV_REG "rcx"	/* where priv is */
#define M5_BIND_LMR lmr
/* Flags, or addresses that count from 0: one test. */
#define M5_BIND_ODD ((unsigned int)M5_BIND_ARG(flags) | (unsigned int)va_type)
_Static_assert(DAT_VA_TYPE_VA == 0, "the plain kind has no bit");

enum {				/* where the arguments of a bind stand */
	M5_ARG_TRIPLET = DAP_SUB_ARG3, M5_ARG_PRIV = DAP_SUB_ARG4, M5_ARG_FLAGS = DAP_SUB_ARG8,
	M5_ARG_VA_TYPE = DAP_SUB_ARG5, M5_ARG_CONTEXT = DAP_SUB_ARG9
};

#include "hw_mlx5/hot/hot_all.inl"
