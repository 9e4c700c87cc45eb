/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The triplets and events of the API level being compiled, for the hot functions of the backends.
 * In 2.0 triplets have 32-bit lengths, events name the operation, and binds name the LMR.
 */
#ifndef DAP_FRONT_TRIPLET_H
#define DAP_FRONT_TRIPLET_H

#include "core/front/level.h"
#include "core/probe.h"

static inline uint32_t front_lmr_key(const DAT_LMR_TRIPLET *t) { return t->lmr_context; }
static inline uint64_t front_lmr_va(const DAT_LMR_TRIPLET *t) { return t->virtual_address; }
static inline front_len front_lmr_len(const DAT_LMR_TRIPLET *t) { return t->segment_length; }
static inline uint32_t front_rmr_key(const DAT_RMR_TRIPLET *t) { return t->rmr_context; }
static inline front_len front_rmr_len(const DAT_RMR_TRIPLET *t) { return t->segment_length; }

/* Argument numbers of a bind. */
#ifdef DAP_DAT20
enum {
	FRONT_ARG_TRIPLET = DAP_SUB_ARG3, FRONT_ARG_PRIV = DAP_SUB_ARG4,
	FRONT_ARG_VA_TYPE = DAP_SUB_ARG5, FRONT_ARG_FLAGS = DAP_SUB_ARG8,
	FRONT_ARG_CONTEXT = DAP_SUB_ARG9
};
#else
enum {
	FRONT_ARG_TRIPLET = DAP_SUB_ARG2, FRONT_ARG_PRIV = DAP_SUB_ARG3,
	FRONT_ARG_FLAGS = DAP_SUB_ARG6, FRONT_ARG_CONTEXT = DAP_SUB_ARG7
};
#endif

static inline uint64_t front_rmr_va(const DAT_RMR_TRIPLET *t)
{
#ifdef DAP_DAT20
	return t->virtual_address;
#else
	return t->target_address;
#endif
}

/* Returns true if lmr is the LMR that a bind names beside the triplet; 1.2 names none. */
static inline bool front_is_lmr(const struct dap_lmr *lmr, const void *handle)
{
#ifdef DAP_DAT20
	return lmr == handle;
#else
	(void)lmr;
	(void)handle;
	return true;
#endif
}

/* dat_rmr_bind(3): remote rights need the same local rights of the LMR; their bits are one
 * lower. */
static inline unsigned int front_local_rights(unsigned int priv)
{
	return (priv & (DAP_PRIV_REMOTE_READ | DAP_PRIV_REMOTE_WRITE)) >> 1;
}

/* Fills the event of a successful completion. op: enum dap_dto_op. */
static inline void front_event_dto(DAT_EVENT *event, struct dap_evd *evd, struct dap_ep *ep,
				   uint64_t cookie, uint64_t bytes, unsigned int op)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = evd;
	dto->ep_handle = ep;
	dto->user_cookie.as_64 = cookie;
	dto->status = DAT_DTO_SUCCESS;
	dto->transfered_length = (front_len)bytes;
	DAP_PROBE4(dequeue, ep, cookie, (front_len)bytes, DAP_DTO_SUCCESS);
#ifdef DAP_DAT20
	dto->operation = (DAT_DTOS)op;
	dto->rmr_context = 0;
#else
	(void)op;
#endif
}

/*
 * Checks triplet and rights of a bind against the LMR. Returns 0 and the LMR, or a DAP_ERR. lmr:
 * its handle, if the API level names it.
 */
int front_bind_range(const struct dap_rmr *rmr, const void *lmr, const DAT_LMR_TRIPLET *triplet,
		     unsigned int priv, struct dap_lmr **found);

#endif
