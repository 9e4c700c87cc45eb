/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two streams on one EVD, in all 36 pairs of the matrix of dat_ia_query(3): events of supported pairs
 * arrive and can be told apart, other pairs are refused.
 */
#include "tests/e2e/ends.h"

#define STREAMS 6

/* A stream that feeds the EVD, and its objects. */
struct feed {
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE near, away;	/* endpoints of a and of b */
	DAT_PSP_HANDLE psp;
	DAT_RMR_HANDLE rmr;
	DAT_IA_HANDLE ia;
	DAT_SRQ_HANDLE srq;
	/* the software event has the address of this variable as its pointer */
	char software;
};

static void setup(void)
{
	end_open(&a, RIG_MEM, NULL);
	end_open(&b, RIG_MEM, NULL);
}

TestSuite(evd_merge, .timeout = 60);

/* ---- Endpoints ---- */

static void make_eps(struct feed *f, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE req, DAT_EVD_HANDLE conn)
{
	DAT_EP_ATTR attr = rig_attr();

	must(dat_ep_create(a.ia, a.pz, recv, req, conn, &attr, &f->near));
	f->away = end_ep(&b, NULL);
}

static void free_eps(struct feed *f)
{
	must(dat_ep_free(f->near));
	took_conn(&b, f->away, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(dat_ep_free(f->away));
}

/* ---- the streams: how to cause an event, how to check it, how to free the objects ---- */

static void software_feed(struct feed *f)
{
	DAT_EVENT ev = { .event_number = DAT_SOFTWARE_EVENT };

	ev.event_data.software_event_data.pointer = &f->software;
	must(dat_evd_post_se(f->evd, &ev));
}

static bool software_is(const struct feed *f, const DAT_EVENT *ev)
{
	return ev->event_number == DAT_SOFTWARE_EVENT &&
	       ev->event_data.software_event_data.pointer == &f->software;
}

static void software_end(struct feed *f, const DAT_EVENT *ev)
{
	(void)f;
	(void)ev;
}

static void cr_feed(struct feed *f)
{
	DAT_CONN_QUAL qual;

	must(dat_psp_create_any(a.ia, &qual, f->evd, DAT_PSP_CONSUMER_FLAG, &f->psp));
	f->away = end_ep(&b, NULL);
	must(end_dial(f->away, qual, SOON_MS * 1000u));
}

static bool cr_is(const struct feed *f, const DAT_EVENT *ev)
{
	return ev->event_number == DAT_CONNECTION_REQUEST_EVENT &&
	       ev->event_data.cr_arrival_event_data.sp_handle.psp_handle == f->psp;
}

static void cr_end(struct feed *f, const DAT_EVENT *ev)
{
	must(dat_cr_reject(ev->event_data.cr_arrival_event_data.cr_handle));
	took_conn(&b, f->away, DAT_CONNECTION_EVENT_PEER_REJECTED);
	must(dat_ep_free(f->away));
	must(dat_psp_free(f->psp));
}

static void dto_feed(struct feed *f)
{
	make_eps(f, f->evd, a.req_evd, a.conn_evd);
	end_join(&a, f->near, &b, f->away);
	a.ep = f->near;
	b.ep = f->away;
	must(do_recv(&a, 7, 0, 64));
	must(do_send(&b, 8, 0, 64, SUPPRESS));
}

static bool dto_is(const struct feed *f, const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;

	return ev->event_number == DAT_DTO_COMPLETION_EVENT && d->ep_handle == f->near &&
	       d->user_cookie.as_64 == 7 && d->status == DAT_DTO_SUCCESS;
}

static void ep_end(struct feed *f, const DAT_EVENT *ev)
{
	(void)ev;
	free_eps(f);
}

static void connection_feed(struct feed *f)
{
	make_eps(f, a.recv_evd, a.req_evd, f->evd);
	end_listen(&b);
	must(end_dial(f->near, b.qual, SOON_MS * 1000u));
	must(dat_cr_accept(end_request(&b), f->away, 0, NULL));
	took_conn(&b, f->away, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static bool connection_is(const struct feed *f, const DAT_EVENT *ev)
{
	return ev->event_number == DAT_CONNECTION_EVENT_ESTABLISHED &&
	       ev->event_data.connect_event_data.ep_handle == f->near;
}

static void bind_feed(struct feed *f)
{
	DAT_RMR_CONTEXT context;

	make_eps(f, a.recv_evd, f->evd, a.conn_evd);
	end_join(&a, f->near, &b, f->away);
	a.ep = f->near;
	must(dat_rmr_create(a.pz, &f->rmr));
	must(do_bind(&a, f->rmr, 9, 0, 4096, RIGHTS_RW, &context));
}

static bool bind_is(const struct feed *f, const DAT_EVENT *ev)
{
	return ev->event_number == DAT_RMR_BIND_COMPLETION_EVENT &&
	       ev->event_data.rmr_completion_event_data.rmr_handle == f->rmr;
}

static void bind_end(struct feed *f, const DAT_EVENT *ev)
{
	(void)ev;
	must(dat_rmr_free(f->rmr));
	free_eps(f);
}

/* dat_ia_open(3): an IA uses the asynchronous EVD of another one. The event is the low watermark of
 * an SRQ. */
static void async_feed(struct feed *f)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	DAT_EVD_HANDLE evd = f->evd;
	DAT_PZ_HANDLE pz;

	must(rig_ia_open(&evd, &f->ia));
	check(evd == f->evd);
	must(dat_pz_create(f->ia, &pz));
	must(dat_srq_create(f->ia, pz, &attr, &f->srq));
	must(dat_srq_set_lw(f->srq, 1));
}

static bool async_is(const struct feed *f, const DAT_EVENT *ev)
{
	return ev->event_data.asynch_error_event_data.dat_handle == f->srq &&
	       ev->event_number == DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR;
}

static void async_end(struct feed *f, const DAT_EVENT *ev)
{
	(void)ev;
	must(dat_ia_close(f->ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* The streams, in the order of the matrix. */
static const struct stream {
	int flag;
	void (*feed)(struct feed *f);
	bool (*is)(const struct feed *f, const DAT_EVENT *ev);
	void (*end)(struct feed *f, const DAT_EVENT *ev);
} streams[STREAMS] = {
	{ DAT_EVD_SOFTWARE_FLAG, software_feed, software_is, software_end },
	{ DAT_EVD_CR_FLAG, cr_feed, cr_is, cr_end },
	{ DAT_EVD_DTO_FLAG, dto_feed, dto_is, ep_end },
	{ DAT_EVD_CONNECTION_FLAG, connection_feed, connection_is, ep_end },
	{ DAT_EVD_RMR_BIND_FLAG, bind_feed, bind_is, bind_end },
	{ DAT_EVD_ASYNC_FLAG, async_feed, async_is, async_end },
};

/* ---- Pairs ---- */

/* Takes two events in any order, one of each stream. */
static void take_both(DAT_EVD_HANDLE evd, const struct stream *of[2], struct feed feeds[2])
{
	DAT_EVENT ev[2];
	bool crossed;

	for (int k = 0; k < 2; k++) {
		check(rig_next(evd, &ev[k], SOON_MS));
		check(ev[k].evd_handle == evd);
	}
	rig_empty(evd);
	crossed = !of[0]->is(&feeds[0], &ev[0]);
	check(of[0]->is(&feeds[0], &ev[crossed]) && !of[0]->is(&feeds[0], &ev[!crossed]));
	check(of[1]->is(&feeds[1], &ev[!crossed]) && !of[1]->is(&feeds[1], &ev[crossed]));
	of[0]->end(&feeds[0], &ev[crossed]);
	of[1]->end(&feeds[1], &ev[!crossed]);
}

static void merged(const struct stream *first, const struct stream *second)
{
	const struct stream *of[2] = { first, second };
	struct feed feeds[2] = { 0 };
	DAT_EVD_HANDLE evd = NULL;

	must(dat_evd_create(a.ia, 64, NULL, (DAT_EVD_FLAGS)(first->flag | second->flag), &evd));
	for (int k = 0; k < 2; k++) {
		feeds[k].evd = evd;
		of[k]->feed(&feeds[k]);
	}
	take_both(evd, of, feeds);
	must(dat_evd_free(evd));
}

/* dat_ia_query(3), evd_stream_merging_supported */
RIG_TEST(evd_merge, streams__of_each_pair_arrive_and_can_be_told_apart)
{
	DAT_PROVIDER_ATTR attr;
	unsigned int announced = 0;

	rig_needs_srq();
	must(dat_ia_query(a.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	for (int i = 0; i < STREAMS; i++) {
		for (int j = 0; j < STREAMS; j++) {
			DAT_EVD_HANDLE evd = NULL;
			int flags = streams[i].flag | streams[j].flag;

			if (attr.evd_stream_merging_supported[i][j]) {
				announced++;
				merged(&streams[i], &streams[j]);
				continue;
			}
			must_fail(dat_evd_create(a.ia, 64, NULL, (DAT_EVD_FLAGS)flags, &evd),
				  DAT_INVALID_PARAMETER);
			check(!evd);
		}
	}
	/* An EVD with one stream is always supported. */
	check(announced >= STREAMS);
}
