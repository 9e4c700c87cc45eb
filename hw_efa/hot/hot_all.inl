/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All variants of the hot functions of one API level. Who includes this gives what differs between
 * the levels: efa_rmr_va, efa_event_dto, efa_is_lmr and EFA_ARG_*. Here is what both have.
 */
#define EFA_RET DAT_RETURN
#define EFA_LMR DAT_LMR_TRIPLET
#define EFA_RMR DAT_RMR_TRIPLET
#define EFA_EVENT DAT_EVENT

static inline uint32_t efa_lmr_key(const DAT_LMR_TRIPLET *t) { return t->lmr_context; }
static inline uint64_t efa_lmr_va(const DAT_LMR_TRIPLET *t) { return t->virtual_address; }
static inline uint64_t efa_lmr_len(const DAT_LMR_TRIPLET *t) { return t->segment_length; }
static inline uint32_t efa_rmr_key(const DAT_RMR_TRIPLET *t) { return t->rmr_context; }
static inline uint64_t efa_rmr_len(const DAT_RMR_TRIPLET *t) { return t->segment_length; }

static EFA_COLD DAT_RETURN efa_ret_error(int err)
{
	return front_return(err);
}

static inline DAT_RETURN efa_ret(int err)
{
	return efa_likely(!err) ? DAT_SUCCESS : efa_ret_error(err);
}

#define efa_event_rare front_event
#define efa_dequeue_cold front_dequeue_cold

#include "hw_efa/hot/post.inl"
#include "hw_efa/hot/dequeue.inl"

/* What the triplet and the rights of a bind ask for, against the LMR under them. */
static EFA_COLD int efa_bind_range(const struct dap_rmr *rmr, const void *handle,
				   const DAT_LMR_TRIPLET *t, unsigned int priv,
				   struct dap_lmr **out)
{
	struct dap_lmr *lmr = dap_lmr_find(rmr->obj.ia, efa_lmr_key(t));
	uint64_t va = efa_lmr_va(t), len = efa_lmr_len(t);
	unsigned int lacks;

	if (!lmr || lmr->pz != rmr->pz || len > lmr->length || va - lmr->addr > lmr->length - len)
		return DAP_ERR(DAP_INVALID_PARAMETER, EFA_ARG_TRIPLET);
	if (!efa_is_lmr(lmr, handle))
		return DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_LMR);
	if (priv & ~(unsigned int)DAP_PRIV_ALL)
		return DAP_ERR(DAP_INVALID_PARAMETER, EFA_ARG_PRIV);
	/* Remote read wants local read, remote write local write: the same bits, one place down. */
	lacks = (priv & (DAP_PRIV_REMOTE_READ | DAP_PRIV_REMOTE_WRITE)) >> 1 & ~lmr->priv;
	if (lacks)
		return DAP_ERR(DAP_PRIVILEGES_VIOLATION, lacks & DAP_PRIV_LOCAL_READ ?
			       DAP_SUB_PRIV_READ : DAP_SUB_PRIV_WRITE);
	*out = lmr;
	return 0;
}

/* A command to the device for each: nothing of it is fast. */
static EFA_COLD DAT_RETURN efa_bind_any(struct dap_rmr *rmr, const void *handle,
					const DAT_LMR_TRIPLET *t, unsigned int priv, void *ep,
					uint64_t cookie, unsigned int flags, uint32_t *context)
{
	const unsigned int allow = DAP_COMP_SUPPRESS | DAP_COMP_UNSIGNALLED | DAP_COMP_BARRIER;
	const struct dap_ep *e = dap_obj_get(ep, DAP_EP, rmr->obj.ia);
	struct dap_lmr *lmr = NULL;
	int err = 0;

	if (!t)
		return efa_ret_error(DAP_ERR(DAP_INVALID_PARAMETER, EFA_ARG_TRIPLET));
	if (!context)
		return efa_ret_error(DAP_ERR(DAP_INVALID_PARAMETER, EFA_ARG_CONTEXT));
	if (!e)
		return efa_ret_error(DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_EP));
	if (flags & ~allow || (flags & DAP_COMP_UNSIGNALLED &&
			       !(e->attr.request_completion_flags & DAP_COMP_UNSIGNALLED)))
		err = DAP_ERR(DAP_INVALID_PARAMETER, EFA_ARG_FLAGS);
	if (!err && efa_lmr_len(t))
		err = efa_bind_range(rmr, handle, t, priv, &lmr);
	if (!err)
		err = efa_bind(rmr, ep, lmr, efa_lmr_va(t), efa_lmr_len(t), priv, cookie, flags,
			       context);
	return efa_ret(err);
}

#define EFA_WIDE false
#define EFA_V(name) name##_silicon
#include "hw_efa/hot/hot12.inl"
#undef EFA_WIDE

#define EFA_WIDE true
#define EFA_V(name) name##_silicon_wide
#include "hw_efa/hot/hot12.inl"
#undef EFA_WIDE

#ifdef DAP_DAT20
#define EFA_EXT .write_immed = efa_no_write_imm, .atomic = efa_no_atomic,
#else
#define EFA_EXT
#endif
#define EFA_HOT12(v)                                                                               \
	{                                                                                          \
		.post_send = efa_send12_##v, .post_recv = efa_recv12_##v,                          \
		.rdma_read = efa_read12_##v, .rdma_write = efa_write12_##v,                        \
		.rmr_bind = efa_hot_bind, .evd_dequeue = efa_dequeue12_##v,                          \
		.srq_post_recv = efa_no_srq, EFA_EXT                                               \
	}

static const struct dap_hot silicon = EFA_HOT12(silicon);
static const struct dap_hot silicon_wide = EFA_HOT12(silicon_wide);

static const struct efa_hot_table tables[] = {
	{ "", false, DAP_API, &silicon },
	{ "-wide", true, DAP_API, &silicon_wide },
};

const struct efa_hot_table *efa_hot_tables(unsigned int *n)
{
	*n = sizeof(tables) / sizeof(tables[0]);
	return tables;
}
