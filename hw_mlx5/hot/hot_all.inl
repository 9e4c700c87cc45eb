/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All variants of the hot functions of one API level. Who includes this gives what differs between
 * the levels: m5_rmr_va, m5_event_dto, m5_is_plain, m5_is_lmr and M5_ARG_*. Here is what both have.
 */
#define M5_RET DAT_RETURN
#define M5_LMR DAT_LMR_TRIPLET
#define M5_RMR DAT_RMR_TRIPLET
#define M5_EVENT DAT_EVENT

/* A length as triplets have it: what is loaded as such is not extended before it has to be. */
#ifdef DAP_DAT20
typedef uint32_t m5_len;
#else
typedef uint64_t m5_len;
#endif
static inline uint32_t m5_lmr_key(const DAT_LMR_TRIPLET *t) { return t->lmr_context; }
static inline uint64_t m5_lmr_va(const DAT_LMR_TRIPLET *t) { return t->virtual_address; }
static inline m5_len m5_lmr_len(const DAT_LMR_TRIPLET *t) { return t->segment_length; }
static inline uint32_t m5_rmr_key(const DAT_RMR_TRIPLET *t) { return t->rmr_context; }
static inline m5_len m5_rmr_len(const DAT_RMR_TRIPLET *t) { return t->segment_length; }

static M5_COLD DAT_RETURN m5_fail(int err)
{
	return front_return(err);
}

#define m5_event_rare front_event
#define m5_dequeue_cold front_dequeue_cold

#include "hw_mlx5/hot/post.inl"
#include "hw_mlx5/hot/post_recv.inl"
#include "hw_mlx5/hot/post_any.inl"
#include "hw_mlx5/hot/post_srq.inl"
#ifdef DAP_DAT20
#include "hw_mlx5/hot/post_ext.inl"
#endif
#include "hw_mlx5/hot/bind.inl"
#ifdef DAP_DAT20
#include "hw_mlx5/hot/bind_ext.inl"
#endif
#include "hw_mlx5/hot/poll.inl"
#include "hw_mlx5/hot/poll_n.inl"

#define M5_LOCKED false
#define M5_V(name) name##_silicon
#include "hw_mlx5/hot/hot12.inl"
#undef M5_LOCKED
#undef M5_V

#define M5_LOCKED true
#define M5_V(name) name##_silicon_locked
#include "hw_mlx5/hot/hot12.inl"
#undef M5_LOCKED
#undef M5_V

#ifdef DAP_DAT20
#define M5_EXT(v) .send_inval = m5_send_inval_##v, .write_immed = m5_write_imm_##v, .atomic = m5_atomic_##v,
#else
#define M5_EXT(v)
#endif
#define M5_HOT12(v)                                                                                \
	{                                                                                          \
		.post_send = m5_send12_##v, .post_recv = m5_recv12_##v,                            \
		.rdma_read = m5_read12_##v, .rdma_write = m5_write12_##v,                          \
		.rmr_bind = (M5_BIND_FN)(void (*)(void))m5_bind12_##v,                             \
		.evd_dequeue = m5_dequeue12_##v,                                                   \
		.evd_dequeue_n = m5_dequeue_n12_##v, .srq_post_recv = m5_srq12_##v, M5_EXT(v)      \
	}

static const struct dap_hot silicon = M5_HOT12(silicon);
static const struct dap_hot silicon_locked = M5_HOT12(silicon_locked);

#ifdef M5_V3
#define M5_KIND(kind) kind "-v3"
#define M5_HOT_TABLES m5_hot_tables_v3
#else
#define M5_KIND(kind) kind
#define M5_HOT_TABLES m5_hot_tables
#endif

static const struct m5_hot_table tables[] = {
	{ M5_KIND(""), true, DAP_API, &silicon },
	{ M5_KIND("-locked"), false, DAP_API, &silicon_locked },
};

const struct m5_hot_table *M5_HOT_TABLES(unsigned int *n)
{
	*n = sizeof(tables) / sizeof(tables[0]);
	return tables;
}
