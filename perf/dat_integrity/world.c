/* SPDX-License-Identifier: BSD-2-Clause */
/* Two connected endpoints of one process, their memory, and waits that poll both sides. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "perf/common/pair.h"
#include "perf/common/stats.h"
#include "perf/dat_integrity/integrity.h"

enum { DTOS = 8, SPINS_PER_YIELD = 256 };
#define WAIT_NS UINT64_C(30000000000)

static DAT_COUNT at_most(DAT_COUNT n)
{
	return n < SEGS_MAX ? n : SEGS_MAX;
}

static int make_endpoint(const struct world *w, struct consumer *c)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC, .max_message_size = LEN_MAX,
		.max_rdma_size = LEN_MAX, .qos = DAT_QOS_BEST_EFFORT, .max_recv_dtos = DTOS,
		.max_request_dtos = DTOS, .max_rdma_read_in = 4, .max_rdma_read_out = 4,
		.max_recv_iov = at_most(w->attr.max_iov_segments_per_dto),
		.max_request_iov = at_most(w->attr.max_iov_segments_per_dto),
		.max_rdma_read_iov = at_most(w->attr.max_iov_segments_per_rdma_read),
		.max_rdma_write_iov = at_most(w->attr.max_iov_segments_per_rdma_write),
	};

	c->broken = false;
	return consumer_make_ep(c, &attr);
}

static int world_connect(struct world *w)
{
	return make_endpoint(w, &w->a) || make_endpoint(w, &w->b) ||
	       pair_connect(&w->a, &w->b, w->qual, WAIT_NS) ? -1 : 0;
}

int world_register(struct consumer *c, void *mem, size_t len, DAT_MEM_PRIV_FLAGS rights,
		   DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *local, DAT_RMR_CONTEXT *remote)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = mem };
	DAT_VADDR addr;
	DAT_VLEN size;

	return dat_ok(dat_lmr_create(c->ia, DAT_MEM_TYPE_VIRTUAL, desc, len, c->pz, rights, VA_TYPE lmr,
				     local, remote, &size, &addr), "dat_lmr_create") ? 0 : -1;
}

static int make_area(struct consumer *c, struct area *m)
{
	m->mem = aligned_alloc(4096, AREA);
	if (!m->mem) {
		fprintf(stderr, "no memory for a buffer of %d bytes\n", AREA);
		return -1;
	}
	return world_register(c, m->mem, AREA, DAT_MEM_PRIV_ALL_FLAG, &m->handle, &m->lmr,
			      &m->rmr);
}

int world_open(struct world *w, const char *ia)
{
	if (consumer_open(&w->a, ia) || consumer_open(&w->b, ia) ||
	    !dat_ok(dat_ia_query(w->a.ia, NULL, DAT_IA_FIELD_ALL, &w->attr, 0, NULL),
		    "dat_ia_query") ||
	    make_area(&w->a, &w->local) || make_area(&w->b, &w->remote))
		return -1;
	w->windows = w->attr.max_rmrs > 0;
	if (w->windows && !dat_ok(dat_rmr_create(w->b.pz, &w->rmr), "dat_rmr_create"))
		return -1;
	return dat_ok(dat_psp_create_any(w->b.ia, &w->qual, w->b.cr_evd, DAT_PSP_CONSUMER_FLAG,
					 &w->b.psp), "dat_psp_create_any") ? world_connect(w) : -1;
}

void world_close(struct world *w)
{
	consumer_close(&w->a);
	consumer_close(&w->b);
	free(w->local.mem);
	free(w->remote.mem);
}

/* Events of an endpoint that was freed do not count. */
static bool take_done(struct world *w, enum queue q, struct done *done)
{
	struct consumer *c = q == Q_REQUEST ? &w->a : &w->b;
	const DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EVENT ev;

	if (dat_evd_dequeue(q == Q_RECEIVE ? c->recv_evd : c->req_evd, &ev) != DAT_SUCCESS)
		return false;
	if (ev.event_number == DAT_RMR_BIND_COMPLETION_EVENT) {
		done->status = ev.event_data.rmr_completion_event_data.status;
		return true;
	}
	d = &ev.event_data.dto_completion_event_data;
	done->status = d->status;
	done->length = d->transfered_length;
	return d->ep_handle == c->ep;
}

int world_wait(struct world *w, const unsigned int count[QUEUES])
{
	uint64_t until = now_ns() + WAIT_NS;
	unsigned int n[QUEUES] = { 0 }, spins = 0;

	while (n[Q_REQUEST] < count[Q_REQUEST] || n[Q_RECEIVE] < count[Q_RECEIVE] ||
	       n[Q_BIND] < count[Q_BIND]) {
		for (unsigned int q = 0; q < QUEUES; q++)
			if (n[q] < count[q] && take_done(w, q, &w->done[q][n[q]]))
				n[q]++;
		if (++spins % SPINS_PER_YIELD)
			continue;
		if (now_ns() > until) {
			fprintf(stderr, "no completion has come for 30 s\n");
			return -1;
		}
		sched_yield();
	}
	return 0;
}

int world_wait_end(struct world *w)
{
	return consumer_wait_end(&w->a, WAIT_NS) || consumer_wait_end(&w->b, WAIT_NS) ? -1 : 0;
}

int world_reconnect(struct world *w)
{
	/* The call also fails if the connection is already ending. */
	if (!consumer_ended(&w->a))
		(void)dat_ep_disconnect(w->a.ep, DAT_CLOSE_ABRUPT_FLAG);
	if (world_wait_end(w)) {
		fprintf(stderr, "a connection does not end within 30 s\n");
		return -1;
	}
	if (!dat_ok(dat_ep_free(w->a.ep), "dat_ep_free") ||
	    !dat_ok(dat_ep_free(w->b.ep), "dat_ep_free"))
		return -1;
	w->a.ep = w->b.ep = DAT_HANDLE_NULL;
	return world_connect(w);
}

int world_bind(struct world *w, size_t at, size_t len, DAT_MEM_PRIV_FLAGS rights,
	       DAT_RMR_CONTEXT *context)
{
	static const unsigned int one[QUEUES] = { [Q_BIND] = 1 };
	DAT_LMR_TRIPLET range = {
		.lmr_context = w->remote.lmr, .segment_length = len,
		.virtual_address = (DAT_VADDR)(uintptr_t)(w->remote.mem + at),
	};
	DAT_RMR_COOKIE cookie = { .as_64 = at };

	if (!dat_ok(consumer_bind(w->rmr, w->remote.handle, &range, rights, w->b.ep, cookie,
				  DAT_COMPLETION_DEFAULT_FLAG, context), "dat_rmr_bind") ||
	    world_wait(w, one))
		return -1;
	if (w->done[Q_BIND][0].status == DAT_DTO_SUCCESS)
		return 0;
	fprintf(stderr, "a bind completed with status %s\n", dat_status_name(w->done[Q_BIND][0].status));
	return -1;
}
