/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "tests/e2e/life.h"

#define LEN 16384u

/* Records the result of a step. Returns false if the life must end. */
static bool step(struct life *l, DAT_RETURN ret, const char *what)
{
	l->step = what;
	l->ret = ret;
	return ret == DAT_SUCCESS;
}
#define STEP(call) step(l, (call), #call)

/* Waits for an event on the EVD or on the connection EVD. */
static bool look(struct life *l, DAT_EVD_HANDLE evd, DAT_EVENT *ev)
{
	bool beside = evd != l->a.conn_evd && evd != l->b.conn_evd;

	if (dat_evd_dequeue(evd, ev) != DAT_SUCCESS &&
	    (!beside || (dat_evd_dequeue(l->a.conn_evd, ev) != DAT_SUCCESS &&
			 dat_evd_dequeue(l->b.conn_evd, ev) != DAT_SUCCESS)))
		return false;
	l->event = ev->event_number;
	return true;
}

static bool expect_event(struct life *l, DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *ev,
			 const char *what)
{
	step(l, DAT_SUCCESS, what);
	l->event = 0;
	TH_WITHIN(10000, look(l, evd, ev));
	return l->event == number;
}

static bool expect_done(struct life *l, DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, const char *what)
{
	DAT_EVENT ev;

	if (!expect_event(l, evd, number, &ev, what))
		return false;
	l->status = ev.event_data.dto_completion_event_data.status;
	return l->status == DAT_DTO_SUCCESS;
}

static bool open_one(struct life *l, struct end *e)
{
	const DAT_EVD_FLAGS dto = DAT_EVD_DTO_FLAG, bind = DAT_EVD_RMR_BIND_FLAG;
	static char memory[2][LEN] __attribute__((aligned(4096)));
	DAT_REGION_DESCRIPTION region = { .for_va = memory[e == &l->b] };
	DAT_EP_ATTR attr = rig_attr();

	e->mem = region.for_va;
	return STEP(rig_ia_open(&e->async, &e->ia)) && STEP(dat_pz_create(e->ia, &e->pz)) &&
	       STEP(dat_evd_create(e->ia, 8, NULL, DAT_EVD_CR_FLAG, &e->cr_evd)) &&
	       STEP(dat_evd_create(e->ia, 8, NULL, DAT_EVD_CONNECTION_FLAG, &e->conn_evd)) &&
	       STEP(dat_evd_create(e->ia, 64, NULL, dto, &e->recv_evd)) &&
	       STEP(dat_evd_create(e->ia, 64, NULL, dto | bind, &e->req_evd)) &&
	       STEP(dat_ep_create(e->ia, e->pz, e->recv_evd, e->req_evd, e->conn_evd, &attr,
				  &e->ep)) &&
	       STEP(dat_lmr_create(e->ia, DAT_MEM_TYPE_VIRTUAL, region, LEN, e->pz,
				   DAT_MEM_PRIV_ALL_FLAG, &e->lmr, &e->lmr_context, &e->rmr_context,
				   NULL, NULL));
}

/* The model always counts: it is unknown only if the command failed. */
static bool count_srq(struct life *l, DAT_SRQ_HANDLE srq)
{
	DAT_SRQ_PARAM p = { .available_dto_count = 0 };

	return STEP(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &p)) &&
	       step(l, rig_model() && p.available_dto_count == DAT_VALUE_UNKNOWN ?
		    DAT_INSUFFICIENT_RESOURCES : DAT_SUCCESS, "count of the SRQ");
}

/* An SRQ, if the adapter supports them. */
static bool share(struct life *l, struct end *e)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_LMR_TRIPLET t = seg(e, 0, 64);
	DAT_DTO_COOKIE c = { .as_64 = 6 };
	DAT_PROVIDER_ATTR provider;
	DAT_SRQ_HANDLE srq;

	if (!STEP(dat_ia_query(e->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &provider)))
		return false;
	return !provider.srq_supported ||
	       (STEP(dat_srq_create(e->ia, e->pz, &attr, &srq)) && STEP(dat_srq_post_recv(srq, 1, &t, c)) &&
		STEP(dat_srq_set_lw(srq, 1)) && count_srq(l, srq) && STEP(dat_srq_free(srq)));
}

static bool join(struct life *l, unsigned int connect_ms)
{
	DAT_EVENT ev;

	return STEP(dat_psp_create_any(l->b.ia, &l->b.qual, l->b.cr_evd, DAT_PSP_CONSUMER_FLAG,
				       &l->b.psp)) &&
	       STEP(end_dial(l->a.ep, l->b.qual, connect_ms * 1000)) &&
	       expect_event(l, l->b.cr_evd, DAT_CONNECTION_REQUEST_EVENT, &ev,
			    "connection request") &&
	       STEP(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, l->b.ep, 0,
				  NULL)) &&
	       expect_event(l, l->b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &ev,
			    "ESTABLISHED at the listener") &&
	       expect_event(l, l->a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &ev,
			    "ESTABLISHED at the caller");
}

static bool move(struct life *l)
{
	struct end *a = &l->a, *b = &l->b;
	const DAT_EVENT_NUMBER dto = DAT_DTO_COMPLETION_EVENT;
	DAT_RMR_CONTEXT c;

	return STEP(do_recv(b, 1, 0, 4096)) && STEP(do_send(a, 1, 0, 4096, 0)) &&
	       expect_done(l, a->req_evd, dto, "completion of the send") &&
	       expect_done(l, b->recv_evd, dto, "completion of the receive") &&
	       STEP(dat_rmr_create(b->pz, &l->rmr)) &&
	       STEP(do_bind(b, l->rmr, 2, 0, 8192, RIGHTS_RW, &c)) &&
	       expect_done(l, b->req_evd, DAT_RMR_BIND_COMPLETION_EVENT,
			   "completion of the bind") &&
	       STEP(do_write(a, 3, 0, through(c, b, 0, 8192), 0)) &&
	       expect_done(l, a->req_evd, dto, "completion of the write") &&
	       STEP(do_read(a, 4, 8192, through(c, b, 0, 8192), 0)) &&
	       expect_done(l, a->req_evd, dto, "completion of the read");
}

/* Waits for an event. Waits need a descriptor and memory of their own. */
static bool wait_for_one(struct life *l)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	return STEP(do_recv(&l->b, 5, 0, 64)) && STEP(do_send(&l->a, 5, 0, 64, SUPPRESS)) &&
	       STEP(dat_evd_wait(l->b.recv_evd, 10000000, 1, &ev, &more)) &&
	       STEP(dat_evd_resize(l->b.recv_evd, 1000));
}

static bool part(struct life *l)
{
	DAT_EVENT ev;

	return STEP(dat_ep_disconnect(l->a.ep, DAT_CLOSE_GRACEFUL_FLAG)) &&
	       expect_event(l, l->a.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &ev,
			    "DISCONNECTED at the caller") &&
	       expect_event(l, l->b.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &ev,
			    "DISCONNECTED at the listener") &&
	       STEP(dat_ep_reset(l->a.ep)) && STEP(dat_ep_free(l->a.ep));
}

bool life_run(struct life *l, unsigned int connect_ms)
{
	bool well;

	*l = (struct life){ 0 };
	well = open_one(l, &l->a) && open_one(l, &l->b) && share(l, &l->b) && join(l, connect_ms) &&
	       move(l) && wait_for_one(l) && part(l);
	if (l->a.ia && dat_ia_close(l->a.ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS)
		well = step(l, 1, "dat_ia_close of the caller");
	if (l->b.ia && dat_ia_close(l->b.ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS)
		well = step(l, 1, "dat_ia_close of the listener");
	if (well)
		l->step = NULL;
	return well;
}

bool life_ended_well(const struct life *l)
{
	if (!l->step)
		return true;
	/* dat_ia_open(3): this code stands for a provider that cannot even be loaded. */
	if (DAT_GET_TYPE(l->ret) == DAT_PROVIDER_NOT_FOUND)
		return !l->a.ia;
	if (l->ret != DAT_SUCCESS)
		return DAT_GET_TYPE(l->ret) == DAT_INSUFFICIENT_RESOURCES;
	switch (l->event) {
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_TIMED_OUT:
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
	case DAT_CONNECTION_EVENT_BROKEN:
		return true;
	case DAT_DTO_COMPLETION_EVENT:
		return l->status == DAT_DTO_ERR_TRANSPORT || l->status == FLUSHED;
	default:
		return false;
	}
}

const char *life_words(const struct life *l)
{
	static char text[256];

	snprintf(text, sizeof(text), "step %s: return code 0x%08x, event 0x%x, status %d",
		 l->step ? l->step : "all steps succeeded", l->ret, l->event, l->status);
	return text;
}
