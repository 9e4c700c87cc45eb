/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters of the InfiniBand extension. They are always on. They combine the counts of slow
 * calls, rare completions and the connection manager with queue indices and with one or two
 * instructions per post and dequeue. Dequeues that an adapter does not count read as all ones, DAT's
 * value for unknown. Counters of what does not exist here (datagrams, MRAs) read as 0.
 *
 * A reset does not clear a counter: its value at the reset is subtracted.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cm/cm.h"
#include "core/ep/ep.h"
#include "core/evd/evd.h"
#include "core/hw.h"
#include "core/front/slots.h"
#include "core/ia.h"
#include "core/obj.h"

#include <dat2/dat_ib_extensions.h>

#define UNKNOWN UINT64_MAX

/* Room for the handle type with the most counters. */
struct count20 {
	uint64_t value[DCNT_IA_ALL_COUNTERS];
	unsigned int n;
};

static uint64_t load(const uint64_t *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

static void count_objects(const struct dap_ia *ia, uint64_t *v)
{
	const struct core_ia *own = core_ia(ia);
	static const struct { enum dap_type type; uint8_t made, freed; } kinds[] = {
		{ DAP_PZ, DCNT_IA_PZ_CREATE, DCNT_IA_PZ_FREE },
		{ DAP_LMR, DCNT_IA_LMR_CREATE, DCNT_IA_LMR_FREE },
		{ DAP_RMR, DCNT_IA_RMR_CREATE, DCNT_IA_RMR_FREE },
		{ DAP_PSP, DCNT_IA_PSP_CREATE, DCNT_IA_PSP_FREE },
		{ DAP_RSP, DCNT_IA_RSP_CREATE, DCNT_IA_RSP_FREE },
		{ DAP_EVD, DCNT_IA_EVD_CREATE, DCNT_IA_EVD_FREE },
		{ DAP_EP, DCNT_IA_EP_CREATE, DCNT_IA_EP_FREE },
		{ DAP_SRQ, DCNT_IA_SRQ_CREATE, DCNT_IA_SRQ_FREE },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		v[kinds[i].made] = load(&own->made[kinds[i].type]);
		v[kinds[i].freed] = load(&own->freed[kinds[i].type]);
	}
	v[DCNT_IA_PSP_CREATE] = load(&own->psps_named);
	v[DCNT_IA_PSP_CREATE_ANY] = load(&own->psps_any);
	v[DCNT_IA_CM_LISTEN] = v[DCNT_IA_PSP_CREATE] + v[DCNT_IA_PSP_CREATE_ANY] + v[DCNT_IA_RSP_CREATE];
}

static void count_connections(const struct dap_cm_counts *c, uint64_t *v)
{
	v[DCNT_IA_SP_CR] = v[DCNT_IA_CM_REQ_RX] = c->req_rx;
	v[DCNT_IA_SP_CR_ACCEPTED] = v[DCNT_IA_CM_REP_TX] = c->rep_tx;
	v[DCNT_IA_SP_CR_REJECTED] = v[DCNT_IA_CM_USER_REJ_TX] = c->user_rej_tx;
	v[DCNT_IA_CM_USER_REJ_RX] = c->user_rej_rx;
	v[DCNT_IA_CM_ERR_REJ_TX] = c->rej_tx - c->user_rej_tx;
	v[DCNT_IA_CM_ERR_REJ_RX] = c->rej_rx - c->user_rej_rx;
	v[DCNT_IA_CM_REQ_TX] = c->req_tx;
	v[DCNT_IA_CM_REP_RX] = c->rep_rx;
	v[DCNT_IA_CM_RTU_TX] = c->rtu_tx;
	v[DCNT_IA_CM_RTU_RX] = c->rtu_rx;
	v[DCNT_IA_CM_ACTIVE_EST] = c->go_rx;
	v[DCNT_IA_CM_PASSIVE_EST] = c->go_tx;
	v[DCNT_IA_CM_DREQ_TX] = c->disc_tx;
	v[DCNT_IA_CM_DREQ_RX] = c->disc_rx;
	v[DCNT_IA_CM_ERR_REQ_RETRY] = c->retries;
	v[DCNT_IA_CM_ERR_REFUSED] = c->ended[DAP_CM_NON_PEER_REJECTED];
	v[DCNT_IA_CM_ERR_RESET] = c->ended[DAP_CM_BROKEN];
	v[DCNT_IA_CM_ERR_TIMEOUT] = c->ended[DAP_CM_TIMED_OUT];
	v[DCNT_IA_CM_ERR] = v[DCNT_IA_CM_ERR_REFUSED] + v[DCNT_IA_CM_ERR_RESET] +
			    v[DCNT_IA_CM_ERR_TIMEOUT] + c->ended[DAP_CM_UNREACHABLE];
}

static void count_ia(struct dap_ia *ia, struct count20 *c)
{
	struct core_ia *own = core_ia(ia);
	struct dap_cm_counts cm;

	c->n = DCNT_IA_ALL_COUNTERS;
	count_objects(ia, c->value);
	dap_cm_count(ia->cm, &cm);
	count_connections(&cm, c->value);
	for (int i = 0; i < 5; i++)
		c->value[DCNT_IA_ASYNC_ERROR] += load(&own->asyncs[i]);
	c->value[DCNT_IA_ASYNC_QP_ERROR] =
		load(&own->asyncs[DAP_EV_ASYNC_EP_BROKEN - DAP_EV_ASYNC_EVD_OVERFLOW]);
	c->value[DCNT_IA_ASYNC_CQ_ERROR] = load(&own->asyncs[0]);
	for (int i = DCNT_IA_MEM_ALLOC; i <= DCNT_IA_MEM_FREE; i++)
		c->value[i] = UNKNOWN;
	/* The port's own counters are not read. */
	for (int i = DCNT_IA_LNK_ERR_RCV; i < DCNT_IA_ALL_COUNTERS; i++)
		c->value[i] = UNKNOWN;
}

static void put_work(struct count20 *c, const struct dap_ep_counts *all, enum dap_count what, int number,
		     int bytes)
{
	c->value[number] = all->work[what].number;
	if (bytes >= 0)
		c->value[bytes] = all->work[what].bytes;
}

static void count_posts(const struct dap_ep *ep, const struct dap_ep_counts *all, struct count20 *c)
{
	put_work(c, all, DAP_COUNT_SEND, DCNT_EP_POST_SEND, DCNT_EP_POST_SEND_DATA);
	put_work(c, all, DAP_COUNT_WRITE, DCNT_EP_POST_WRITE, DCNT_EP_POST_WRITE_DATA);
	put_work(c, all, DAP_COUNT_READ, DCNT_EP_POST_READ, DCNT_EP_POST_READ_DATA);
	if (!ep->srq)
		put_work(c, all, DAP_COUNT_POST_RECV, DCNT_EP_POST_RECV, DCNT_EP_POST_RECV_DATA);
	put_work(c, all, DAP_COUNT_RECV, DCNT_EP_RECV, DCNT_EP_RECV_DATA);
	/* The adapter counts all receives: subtract the special ones to get plain ones. */
	c->value[DCNT_EP_RECV] -= all->work[DAP_COUNT_RECV_IMM].number +
				  all->work[DAP_COUNT_RECV_WRITE_IMM].number +
				  all->work[DAP_COUNT_RECV_FAILED].number;
}

static void count_ep(struct dap_ep *ep, struct count20 *c)
{
	struct dap_ep_counts all;

	dap_totals_ep(ep, &all);
	c->n = DCNT_EP_ALL_COUNTERS;
	for (unsigned int i = 0; i < c->n; i++)
		c->value[i] = UNKNOWN;
	c->value[DCNT_EP_POST_SEND_UD] = c->value[DCNT_EP_POST_SEND_UD_DATA] = 0;
	c->value[DCNT_EP_RECV_UD] = c->value[DCNT_EP_RECV_UD_DATA] = 0;
	c->value[DCNT_EP_CONNECT] = load(&core_ep(ep)->counts.connects);
	c->value[DCNT_EP_DISCONNECT] = load(&core_ep(ep)->counts.disconnects);
	put_work(c, &all, DAP_COUNT_WRITE_IMM, DCNT_EP_POST_WRITE_IMM, DCNT_EP_POST_WRITE_IMM_DATA);
	put_work(c, &all, DAP_COUNT_CMP_SWAP, DCNT_EP_POST_CMP_SWAP, -1);
	put_work(c, &all, DAP_COUNT_FETCH_ADD, DCNT_EP_POST_FETCH_ADD, -1);
	put_work(c, &all, DAP_COUNT_RECV_IMM, DCNT_EP_RECV_IMM, DCNT_EP_RECV_IMM_DATA);
	put_work(c, &all, DAP_COUNT_RECV_WRITE_IMM, DCNT_EP_RECV_RDMA_IMM, DCNT_EP_RECV_RDMA_IMM_DATA);
	count_posts(ep, &all, c);
}

/* Events returned by slow and hot dequeues, and dequeues that found none. */
static void count_dequeues(struct dap_evd *evd, struct count20 *c)
{
	struct core_evd *own = core_evd(evd);
	uint64_t found = load(&own->counts.found), of_cq = 0, hot_missed = 0, events = 0;

	if (evd->has_cq && !evd->obj.ia->hw->cq_total)
		return;
	if (evd->has_cq)
		evd->obj.ia->hw->cq_total(evd, &of_cq, &hot_missed, &events);
	c->value[DCNT_EVD_DEQUEUE_FOUND] = found + of_cq;
	c->value[DCNT_EVD_DEQUEUE_NOT_FOUND] =
		load(&own->counts.missed) + load(&own->idle_looks) + hot_missed;
	c->value[DCNT_EVD_DEQUEUE] = c->value[DCNT_EVD_DEQUEUE_FOUND] +
				     c->value[DCNT_EVD_DEQUEUE_NOT_FOUND];
	c->value[DCNT_EVD_DEQUEUE_POLL] = load(&own->counts.polls) + of_cq + hot_missed;
	c->value[DCNT_EVD_DEQUEUE_POLL_FOUND] = load(&own->counts.polled) + of_cq;
	c->value[DCNT_EVD_DTO_CALLBACK] = events;
}

static void count_evd(struct dap_evd *evd, struct count20 *c)
{
	struct core_evd *own = core_evd(evd);
	struct dap_evd_counts counts;

	pthread_mutex_lock(&own->lock);
	counts = own->counts;
	pthread_mutex_unlock(&own->lock);
	c->n = DCNT_EVD_ALL_COUNTERS;
	for (unsigned int i = 0; i < c->n; i++)
		c->value[i] = UNKNOWN;
	c->value[DCNT_EVD_WAIT] = counts.waits;
	c->value[DCNT_EVD_WAIT_BLOCKED] = counts.sleeps;
	c->value[DCNT_EVD_WAIT_NOTIFY] = counts.notifies;
	c->value[DCNT_EVD_CONN_CALLBACK] = counts.connection_events;
	count_dequeues(evd, c);
}

/* Fills c. Returns the place of the values at the last reset, or NULL if the handle has no
 * counters. */
static uint64_t **read_counters(DAT_HANDLE handle, struct count20 *c)
{
	*c = (struct count20){ 0 };
	switch (dap_obj_type(handle)) {
	case DAP_IA:
		count_ia(handle, c);
		return &core_ia(handle)->cleared;
	case DAP_EP:
		count_ep(handle, c);
		return &core_ep(handle)->cleared;
	case DAP_EVD:
		count_evd(handle, c);
		return &core_evd(handle)->cleared;
	default:
		return NULL;
	}
}

static bool is_meant(const struct count20 *c, int which, unsigned int i)
{
	return (unsigned int)which == i || (unsigned int)which == c->n;
}

/* Subtracts the values at the last reset; on a reset stores the current ones. The IA's lock is
 * held. */
static int since_reset(uint64_t **cleared, int which, bool reset, struct count20 *c)
{
	if (reset && !*cleared)
		*cleared = calloc(c->n, sizeof(**cleared));
	if (reset && !*cleared)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
	for (unsigned int i = 0; *cleared && i < c->n; i++) {
		uint64_t now = c->value[i], then = (*cleared)[i];

		if (now == UNKNOWN)
			continue;
		if (now < then)		/* another thread has read the counter later, and reset it first */
			now = then;
		c->value[i] = now - then;
		if (reset && is_meant(c, which, i))
			(*cleared)[i] = now;
	}
	return 0;
}

/* which: the number of a counter, or all of them. */
static DAT_RETURN read_counts(DAT_HANDLE handle, int which, int reset, struct count20 *c)
{
	uint64_t **cleared = read_counters(handle, c);
	struct dap_ia *ia;
	int err;

	if (!cleared)
		return front_bad_handle(DAP_SUB_HANDLE1);
	if (which < 0 || (unsigned int)which > c->n)
		return front_bad_arg(3);
	ia = ((const struct dap_obj *)handle)->ia;
	pthread_mutex_lock(&core_ia(ia)->lock);
	err = since_reset(cleared, which, reset, c);
	pthread_mutex_unlock(&core_ia(ia)->lock);
	return front_return(err);
}

/* Each counter goes to its own index, even if only one is asked for (as in dapl 2.1). */
DAT_RETURN front_query_counters(DAT_HANDLE handle, va_list args)
{
	int which = va_arg(args, int);
	DAT_UINT64 *out = va_arg(args, DAT_UINT64 *);
	int reset = va_arg(args, int);
	struct count20 c;
	DAT_RETURN ret;

	if (!out && dap_obj_type(handle) != DAP_NONE)
		return front_bad_arg(4);
	ret = read_counts(handle, which, reset, &c);
	for (unsigned int i = 0; ret == DAT_SUCCESS && i < c.n; i++) {
		if (is_meant(&c, which, i))
			out[i] = c.value[i];
	}
	return ret;
}

/* Prints the counters that are known and not 0 to standard output, by their numbers in
 * dat_ib_extensions.h. */
DAT_RETURN front_print_counters(DAT_HANDLE handle, va_list args)
{
	int which = va_arg(args, int);
	int reset = va_arg(args, int);
	struct count20 c;
	DAT_RETURN ret = read_counts(handle, which, reset, &c);

	if (ret != DAT_SUCCESS)
		return ret;
	for (unsigned int i = 0; i < c.n; i++) {
		if (c.value[i] && c.value[i] != UNKNOWN && is_meant(&c, which, i))
			printf("%p counter %u: %" PRIu64 "\n", handle, i, c.value[i]);
	}
	return DAT_SUCCESS;
}
