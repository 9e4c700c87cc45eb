/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared Receive Queues. */
#include <errno.h>

#include "core/ep/ep.h"
#include "core/evd/evd.h"
#include "core/hw.h"
#include "core/mem/srq.h"
#include "core/obj.h"

static bool is_possible(const struct dap_caps *caps, const struct dap_srq_args *args)
{
	return args->max_recv_dtos && args->max_recv_dtos <= caps->max_recv_per_srq &&
	       args->max_recv_iov <= caps->max_iov && args->low_watermark <= args->max_recv_dtos;
}

int dap_srq_create(struct dap_ia *ia, const struct dap_srq_args *args, struct dap_srq **out)
{
	struct dap_srq *srq;
	int err;

	if (!ia->caps.max_srqs)
		return DAP_ERR(DAP_MODEL_NOT_SUPPORTED, DAP_SUB_NONE);
	if (!is_possible(&ia->caps, args))
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_NONE);
	srq = dap_obj_alloc(DAP_SRQ, ia);
	if (!srq)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
	srq->pz = args->pz;
	srq->max_recv_dtos = args->max_recv_dtos;
	srq->max_recv_iov = args->max_recv_iov;
	err = ia->hw->srq_create(srq);
	if (err) {
		dap_obj_free(srq);
		return dap_err_from_errno(err);
	}
	pthread_mutex_init(&core_srq(srq)->lock, NULL);
	pthread_mutex_init(&core_srq(srq)->eager_lock, NULL);
	dap_pz_hold(srq->pz);
	dap_obj_set_table(&srq->obj, DAP_TABLE_SRQ_LIVE);
	err = args->low_watermark ? dap_srq_set_lw(srq, args->low_watermark) : 0;
	if (err) {
		dap_srq_destroy(srq);
		return err;
	}
	*out = srq;
	return 0;
}

void dap_srq_destroy(struct dap_srq *srq)
{
	srq->obj.ia->hw->srq_destroy(srq);
	dap_pz_drop(srq->pz);
	dap_obj_free(srq);
}

int dap_srq_free(struct dap_srq *srq)
{
	if (__atomic_load_n(&srq->refs, __ATOMIC_ACQUIRE))
		return DAP_ERR(DAP_SRQ_IN_USE, DAP_SUB_STATE_SRQ_IN_USE);
	dap_srq_destroy(srq);
	return 0;
}

/* The backend itself refuses a length below the receives that it counts. */
static bool fits_set_aside(struct dap_srq *srq, uint32_t recvs)
{
	uint32_t n = __atomic_load_n(&core_srq(srq)->set_aside, __ATOMIC_RELAXED);
	uint32_t available, outstanding;

	return !n || srq->obj.ia->hw->srq_count(srq, &available, &outstanding) || n + outstanding <= recvs;
}

static int resize_locked(struct dap_srq *srq, uint32_t recvs)
{
	int err;

	if (recvs < core_srq(srq)->low_watermark || !fits_set_aside(srq, recvs))
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_NONE);
	err = srq->obj.ia->hw->srq_resize(srq, recvs);
	if (err == -EBUSY)
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_NONE);
	return err ? dap_err_from_errno(err) : 0;
}

int dap_srq_resize(struct dap_srq *srq, uint32_t recvs)
{
	int err;

	if (!recvs || recvs > srq->obj.ia->caps.max_recv_per_srq)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_NONE);
	pthread_mutex_lock(&core_srq(srq)->lock);
	err = resize_locked(srq, recvs);
	pthread_mutex_unlock(&core_srq(srq)->lock);
	return err;
}

int dap_srq_set_lw(struct dap_srq *srq, uint32_t low_watermark)
{
	struct core_srq *own = core_srq(srq);
	int err;

	pthread_mutex_lock(&own->lock);
	if (low_watermark > srq->max_recv_dtos) {
		pthread_mutex_unlock(&own->lock);
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_NONE);
	}
	err = srq->obj.ia->hw->srq_limit(srq, low_watermark);
	if (!err)
		own->low_watermark = low_watermark;
	pthread_mutex_unlock(&own->lock);
	return err ? dap_err_from_errno(err) : 0;
}

void dap_srq_query(struct dap_srq *srq, struct dap_srq_info *info)
{
	struct core_srq *own = core_srq(srq);

	pthread_mutex_lock(&own->lock);
	*info = (struct dap_srq_info){.max_recv_dtos = srq->max_recv_dtos,
				      .max_recv_iov = srq->max_recv_iov,
				      .low_watermark = own->low_watermark};
	info->broken = __atomic_load_n(&own->broken, __ATOMIC_ACQUIRE);
	info->counted = !srq->obj.ia->hw->srq_count(srq, &info->available, &info->outstanding);
	info->outstanding += __atomic_load_n(&own->set_aside, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&own->lock);
}

/* DAT 1.2 has no event number for this watermark: the event is an internal error, whose reason
 * depends on the handle's type. */
void dap_srq_low(struct dap_srq *srq)
{
	dap_async_post(srq->obj.ia, DAP_EV_ASYNC_INTERNAL, &srq->obj, DAP_SRQ_LOW_WATERMARK);
}

/* DAT 1.2 has no event number for an SRQ in error, so the event is an internal error, too. */
void dap_srq_broken(struct dap_srq *srq)
{
	if (!__atomic_exchange_n(&core_srq(srq)->broken, 1, __ATOMIC_ACQ_REL))
		dap_async_post(srq->obj.ia, DAP_EV_ASYNC_INTERNAL, &srq->obj, DAP_SRQ_TO_ERROR);
}

void dap_srq_hold(struct dap_srq *srq)
{
	__atomic_add_fetch(&srq->refs, 1, __ATOMIC_RELAXED);
}

void dap_srq_drop(struct dap_srq *srq)
{
	uint32_t before = __atomic_fetch_sub(&srq->refs, 1, __ATOMIC_RELEASE);

	dap_invariant(&srq->obj, before > 0);
}

void dap_srq_join(struct dap_srq *srq, struct dap_ep *ep)
{
	struct core_srq *own = core_srq(srq);

	if (!core_evd(ep->recv_evd)->internal)
		return;
	pthread_mutex_lock(&own->eager_lock);
	core_ep(ep)->srq_next = own->eager;
	own->eager = ep;
	pthread_mutex_unlock(&own->eager_lock);
}

void dap_srq_leave(struct dap_srq *srq, struct dap_ep *ep)
{
	struct core_srq *own = core_srq(srq);
	struct dap_ep **p = &own->eager;

	pthread_mutex_lock(&own->eager_lock);
	while (*p && *p != ep)
		p = &core_ep(*p)->srq_next;
	if (*p)
		*p = core_ep(ep)->srq_next;
	pthread_mutex_unlock(&own->eager_lock);
}

bool dap_srq_reap(struct dap_srq *srq)
{
	struct core_srq *own = core_srq(srq);
	bool some = false;

	pthread_mutex_lock(&own->eager_lock);
	for (struct dap_ep *ep = own->eager; ep; ep = core_ep(ep)->srq_next)
		some |= dap_ep_reap(ep, true);
	pthread_mutex_unlock(&own->eager_lock);
	return some;
}
