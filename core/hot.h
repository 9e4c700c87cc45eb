/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hot calls of an API level, as a backend gives them to core. They take the handle as it is: its
 * type is right and the endpoint's state allows the call (live table), or core has just checked
 * both (checked table). They check everything else that the consumer can see.
 */
#ifndef DAP_HOT_H
#define DAP_HOT_H

#include "core/dap.h"
#include "core/front/level.h"

struct dapl_work;
struct dapl_stamp;

struct dap_hot {
	DAT_RETURN (*post_send)(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
				DAT_COMPLETION_FLAGS);
	DAT_RETURN (*post_recv)(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
				DAT_COMPLETION_FLAGS);
	DAT_RETURN (*rdma_read)(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
				const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS);
	DAT_RETURN (*rdma_write)(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
				 const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS);
	/* The front has checked the RMR. The backend checks the endpoint argument: with dap_obj_get
	 * in the cold case, by its table pointer in the hot case. */
#ifdef DAP_DAT20
	DAT_RETURN (*rmr_bind)(DAT_RMR_HANDLE, DAT_LMR_HANDLE, const DAT_LMR_TRIPLET *,
			       DAT_MEM_PRIV_FLAGS, DAT_VA_TYPE, DAT_EP_HANDLE, DAT_RMR_COOKIE,
			       DAT_COMPLETION_FLAGS, DAT_RMR_CONTEXT *);
#else
	DAT_RETURN (*rmr_bind)(DAT_RMR_HANDLE, const DAT_LMR_TRIPLET *, DAT_MEM_PRIV_FLAGS,
			       DAT_EP_HANDLE, DAT_RMR_COOKIE, DAT_COMPLETION_FLAGS,
			       DAT_RMR_CONTEXT *);
#endif
#ifdef DAP_DAT20
	/* A send that invalidates a context at the peer. NULL: caps.rmr_for_ep is not set. */
	DAT_RETURN (*send_inval)(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
				 DAT_COMPLETION_FLAGS, DAT_RMR_CONTEXT);
	/* The front has checked the endpoint; argument numbers are those of rdma_write. NULL, here
	 * and in atomic: the front returns DAT_MODEL_NOT_SUPPORTED. */
	DAT_RETURN (*write_immed)(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
				  const DAT_RMR_TRIPLET *, DAT_UINT32 imm, DAT_COMPLETION_FLAGS);
	/* swap: stores operand if the old value equals compare; otherwise adds operand. */
	DAT_RETURN (*atomic)(DAT_EP_HANDLE, bool swap, DAT_UINT64 operand, DAT_UINT64 compare,
			     DAT_LMR_TRIPLET *result, DAT_DTO_COOKIE, const DAT_RMR_TRIPLET *,
			     DAT_COMPLETION_FLAGS);
#endif
	DAT_RETURN (*evd_dequeue)(DAT_EVD_HANDLE, DAT_EVENT *);
	/* dapl_evd_dequeue_n() of dapl_direct.h. NULL: core dequeues the events one by one. */
	DAT_RETURN (*evd_dequeue_n)(DAT_EVD_HANDLE, DAT_COUNT max, DAT_EVENT *, DAT_COUNT *count);
	/* dapl_ep_post_n() of dapl_direct.h. NULL: core posts the requests one by one. */
	DAT_RETURN (*ep_post_n)(DAT_EP_HANDLE, DAT_COUNT n, const struct dapl_work *, DAT_COUNT *posted);
	/* NULL if srq_create of struct dap_hw refuses: then there is no SRQ to post to. */
	DAT_RETURN (*srq_post_recv)(DAT_SRQ_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE);
};

/* Converts a neutral event to the consumer's form. */
void front_event(const struct dap_event *from, struct dap_evd *evd, DAT_EVENT *to);
/* Converts a DAP_ERR to the consumer's code. */
DAT_RETURN front_return(int err);
/* The slow path of evd_dequeue: a software event, a waiting thread, or no event. */
DAT_RETURN front_dequeue_cold(struct dap_evd *evd, DAT_EVENT *event) __attribute__((cold));
/* Reports the first bad argument of evd_dequeue_n or ep_post_n, or DAT_SUCCESS. */
DAT_RETURN front_list_args(DAT_COUNT n, const void *list, const DAT_COUNT *done) __attribute__((cold));
/* Posts one request of ep_post_n by these calls. */
DAT_RETURN front_post_one(const struct dap_hot *calls, DAT_EP_HANDLE ep, const struct dapl_work *work)
	__attribute__((cold));

#endif
