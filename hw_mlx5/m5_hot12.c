/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The hot functions of uDAPL 1.2, one set for each variant of device and instance. */
#include "hw_mlx5/m5_hot.h"
#include "hw_mlx5/m5_obj.h"

#define M5_RET DAT_RETURN
#define M5_LMR DAT_LMR_TRIPLET
#define M5_RMR DAT_RMR_TRIPLET
#define M5_EVENT DAT_EVENT

static inline uint32_t m5_lmr_key(const DAT_LMR_TRIPLET *t) { return t->lmr_context; }
static inline uint64_t m5_lmr_va(const DAT_LMR_TRIPLET *t) { return t->virtual_address; }
static inline uint64_t m5_lmr_len(const DAT_LMR_TRIPLET *t) { return t->segment_length; }
static inline uint32_t m5_rmr_key(const DAT_RMR_TRIPLET *t) { return t->rmr_context; }
static inline uint64_t m5_rmr_va(const DAT_RMR_TRIPLET *t) { return t->target_address; }
static inline uint64_t m5_rmr_len(const DAT_RMR_TRIPLET *t) { return t->segment_length; }

static M5_COLD DAT_RETURN m5_fail(int err)
{
	return dap12_return(err);
}

static inline void m5_event_dto(DAT_EVENT *event, struct dap_evd *evd, struct dap_ep *ep,
				uint64_t cookie, uint64_t bytes)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = evd;
	dto->ep_handle = ep;
	dto->user_cookie.as_64 = cookie;
	dto->status = DAT_DTO_SUCCESS;
	dto->transfered_length = bytes;
}

#define m5_event_rare dap12_event
#define m5_dequeue_cold dap12_dequeue_cold

#include "hw_mlx5/m5_post.inl"
#include "hw_mlx5/m5_post_any.inl"
#include "hw_mlx5/m5_post_srq.inl"
#include "hw_mlx5/m5_bind.inl"
#include "hw_mlx5/m5_poll.inl"

#define M5_SOFT false
#define M5_LOCKED false
#define M5_V(name) name##_silicon
#include "hw_mlx5/m5_hot12.inl"
#undef M5_LOCKED
#undef M5_V

#define M5_LOCKED true
#define M5_V(name) name##_silicon_locked
#include "hw_mlx5/m5_hot12.inl"
#undef M5_SOFT
#undef M5_LOCKED
#undef M5_V

#define M5_SOFT true
#define M5_LOCKED false
#define M5_V(name) name##_model
#include "hw_mlx5/m5_hot12.inl"
#undef M5_LOCKED
#undef M5_V

#define M5_LOCKED true
#define M5_V(name) name##_model_locked
#include "hw_mlx5/m5_hot12.inl"

#define M5_HOT12(v)                                                                                \
	{                                                                                          \
		.post_send = m5_send12_##v, .post_recv = m5_recv12_##v,                            \
		.rdma_read = m5_read12_##v, .rdma_write = m5_write12_##v,                          \
		.rmr_bind = m5_bind12_##v, .evd_dequeue = m5_dequeue12_##v,                        \
		.srq_post_recv = m5_srq12_##v,                        \
	}

static const struct m5_hot_table tables[] = {
	{ "silicon", true, true, M5_HOT12(silicon) },
	{ "silicon-locked", true, false, M5_HOT12(silicon_locked) },
	{ "model", false, true, M5_HOT12(model) },
	{ "model-locked", false, false, M5_HOT12(model_locked) },
};

const struct m5_hot_table *m5_hot_tables(unsigned int *n)
{
	*n = sizeof(tables) / sizeof(tables[0]);
	return tables;
}
