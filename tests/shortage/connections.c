/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections, made and ended repeatedly, with windows in between. */
#include <stdlib.h>
#include <string.h>

#include "core/dap.h"
#include "tests/shortage/shortage.h"

static DAT_EP_HANDLE ep[2];	/* the active and the passive endpoint */
static DAT_CONN_QUAL qual;

static bool make_ep(DAT_EP_HANDLE *to)
{
	DAT_EP_ATTR attr = small();
	DAT_HANDLE *out = keep();

	if (!MAKE(dat_ep_create(b.ia, b.pz, b.dto_evd, b.dto_evd, b.conn_evd, &attr, out)))
		return false;
	*to = *out;
	return true;
}

static bool make_both(void)
{
	DAT_HANDLE *psp;

	if (!make_ep(&ep[0]) || !make_ep(&ep[1]))
		return false;
	psp = keep();
	return MAKE(dat_psp_create_any(b.ia, &qual, b.cr_evd, DAT_PSP_CONSUMER_FLAG, psp));
}

/* Returns a request, or null if the attempt has ended. */
static DAT_CR_HANDLE request(void)
{
	DAT_EVENT ev;
	DAT_EVENT_NUMBER n = next_of(b.cr_evd, b.conn_evd, &ev);

	if (!n)
		odd("a connection attempt without an answer did not end");
	return n == DAT_CONNECTION_REQUEST_EVENT ? ev.event_data.cr_arrival_event_data.cr_handle :
						   DAT_HANDLE_NULL;
}

/* Checks that both sides get the result. */
static bool both_established(void)
{
	bool all = true;
	DAT_EVENT ev;

	for (int i = 0; i < 2; i++) {
		DAT_EVENT_NUMBER n = next(b.conn_evd, &ev);

		if (!n)
			odd("a connection attempt ended without an event");
		all &= n == DAT_CONNECTION_EVENT_ESTABLISHED;
	}
	return all;
}

static bool dial(void)
{
	return STEP(dat_ep_connect(ep[0], b.address, qual, SOON_MS * 1000, 0, NULL, DAT_QOS_BEST_EFFORT,
				   DAT_CONNECT_DEFAULT_FLAG));
}

static bool accept_it(void)
{
	DAT_CR_HANDLE cr = request();

	if (!cr)
		return false;
	if (!STEP(dat_cr_accept(cr, ep[1], 0, NULL))) {
		STEP(dat_cr_reject(cr));
		return false;
	}
	return both_established();
}

static bool join(void)
{
	return dial() && accept_it();
}

/* Connects two more endpoints, as the first two are. */
static bool join_likewise(void)
{
	DAT_EP_HANDLE first = ep[0];

	return make_ep(&ep[0]) && make_ep(&ep[1]) &&
	       STEP(dat_ep_dup_connect(ep[0], first, SOON_MS * 1000, 0, NULL, DAT_QOS_BEST_EFFORT)) &&
	       accept_it();
}

static bool completed(int n)
{
	bool all = true;
	DAT_EVENT ev;

	while (n--) {
		if (!next(b.dto_evd, &ev)) {
			odd("a post ended without an event");
			return false;
		}
		all &= ev.event_number == DAT_DTO_COMPLETION_EVENT
			? ev.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS
			: ev.event_data.rmr_completion_event_data.status == DAT_RMR_BIND_SUCCESS;
	}
	return all;
}

static bool talk(void)
{
	DAT_LMR_TRIPLET to = piece(0, 64), from = piece(4096, 64);
	DAT_DTO_COOKIE c = { .as_64 = 1 };

	return STEP(dat_ep_post_recv(ep[1], 1, &to, c, DAT_COMPLETION_DEFAULT_FLAG)) &&
	       STEP(dat_ep_post_send(ep[0], 1, &from, c, DAT_COMPLETION_DEFAULT_FLAG)) && completed(2);
}

static bool part(void)
{
	bool all = STEP(dat_ep_disconnect(ep[0], DAT_CLOSE_ABRUPT_FLAG));
	DAT_EVENT ev;

	for (int i = 0; i < 2; i++) {
		if (!next(b.conn_evd, &ev))
			odd("a connection ended without an event");
	}
	return all && STEP(dat_ep_reset(ep[0])) && STEP(dat_ep_reset(ep[1]));
}

static bool connect_twice(void)
{
	return make_both() && join() && talk() && part() && join() && talk() && join_likewise() && talk();
}

Test(shortage, connect__each_shortage_is_reported_and_leaks_nothing, .timeout = 120)
{
	bench_open();
	each_failure(connect_twice);
	bench_close();
}

/* An endpoint of a connection counts its receives of an SRQ. */
static bool count_receives(void)
{
	DAT_SRQ_ATTR srq_attr = { 8, 1, DAT_SRQ_LW_DEFAULT };
	DAT_COUNT n = -7, span = -7;
	DAT_EP_ATTR attr = small();
	DAT_HANDLE *out;
	DAT_SRQ_HANDLE srq;
	bool done;

	if (!make_both())
		return false;
	out = keep();
	if (!MAKE(dat_srq_create(b.ia, b.pz, &srq_attr, out)))
		return false;
	srq = *out;
	out = keep();
	if (!MAKE(dat_ep_create_with_srq(b.ia, b.pz, b.dto_evd, b.dto_evd, b.conn_evd, srq, &attr, out)))
		return false;
	ep[1] = *out;
	if (!join())
		return false;
	done = STEP(dat_ep_recv_query(ep[1], &n, &span));
	if (!done && (n != -7 || span != -7))
		odd("a failed query wrote a count");
	return done;
}

Test(shortage, recv_query__each_shortage_is_reported_and_leaks_nothing, .timeout = 120)
{
	bench_open();
	if (!b.has_srq)
		cr_skip_test("an EFA has no SRQ");
	each_failure(count_receives);
	bench_close();
}

/* A refused handoff leaves the request as it was: it can be handed off again. */
static bool hand_off(DAT_CR_HANDLE *cr)
{
	DAT_CR_PARAM before, after;
	bool first;

	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	STEP(dat_cr_query(*cr, DAT_CR_FIELD_ALL, &before));
	first = STEP(dat_cr_handoff(*cr, b.qual));
	if (!first) {
		STEP(dat_cr_query(*cr, DAT_CR_FIELD_ALL, &after));
		if (memcmp(&after, &before, sizeof(after)))
			odd("a refused handoff changed the request");
	}
	if (first || STEP(dat_cr_handoff(*cr, b.qual)))
		*cr = request();
	return first;
}

static bool reject(DAT_CR_HANDLE cr)
{
	DAT_EVENT ev;

	return cr && STEP(dat_cr_reject(cr)) &&
	       next(b.conn_evd, &ev) == DAT_CONNECTION_EVENT_PEER_REJECTED;
}

/* A request is reserved, rejected, or handed off to another process. */
static bool refuse(void)
{
	DAT_HANDLE *rsp;
	DAT_CR_HANDLE cr;
	bool done;

	if (!make_both())
		return false;
	rsp = keep();
	if (!MAKE(dat_rsp_create(b.ia, b.qual, ep[1], b.cr_evd, rsp)) || !dial())
		return false;
	cr = request();
	done = cr && hand_off(&cr);
	return reject(cr) && done;
}

Test(shortage, cr_reject__each_shortage_is_reported_and_leaks_nothing, .timeout = 120)
{
	bench_open();
	each_failure(refuse);
	bench_close();
}

/* The provider makes an endpoint for each request to a public service point, and for a reserved one. */
static bool refuse_with_provided(void)
{
	DAT_HANDLE *sp;

	if (!make_ep(&ep[0]))
		return false;
	sp = keep();
	if (!MAKE(dat_psp_create_any(b.ia, &qual, b.cr_evd, DAT_PSP_PROVIDER_FLAG, sp)) || !dial() ||
	    !reject(request()) || !STEP(dat_ep_reset(ep[0])))
		return false;
	sp = keep();
	qual = b.qual;
	return MAKE(dat_rsp_create(b.ia, qual, DAT_HANDLE_NULL, b.cr_evd, sp)) && dial() && reject(request());
}

Test(shortage, provided_ep__each_shortage_is_reported_and_leaks_nothing, .timeout = 120)
{
	bench_open();
	each_failure(refuse_with_provided);
	bench_close();
}

/*
 * Binds often enough to use up the keys of one mkey, so that another mkey is created. Where every
 * bind creates one, a few binds are enough.
 */
static bool bind_often(void)
{
	DAT_LMR_TRIPLET t = piece(0, 4096);
	DAT_RMR_COOKIE c = { .as_64 = 2 };
	DAT_RMR_CONTEXT context = 0, old;
	DAT_HANDLE *rmr = keep();
	int binds = b.has_srq ? 260 : 40;
	DAT_RMR_HANDLE window;

	if (!MAKE(dat_rmr_create(b.pz, rmr)))
		return false;
	window = *rmr;
	for (int i = 0; i < binds; i++) {
		old = context;
		if (!STEP(dat_rmr_bind(window, &t, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep[0], c,
				       DAT_COMPLETION_DEFAULT_FLAG, &context))) {
			if (context != old)
				odd("a refused bind wrote a context");
			return false;
		}
		if (!completed(1))
			return false;
	}
	return true;
}

static bool connect_and_bind(void)
{
	return make_both() && join() && bind_often();
}

Test(shortage, rmr_bind__each_shortage_is_reported_and_leaks_nothing, .timeout = 120)
{
	bench_open();
	each_failure(connect_and_bind);
	bench_close();
}

/* A fatal error of the device is reported, and ends all connections. Afterwards all objects can be
 * freed. */
Test(shortage, async__device_failure_is_reported_and_ends_connections, .timeout = 60)
{
	DAT_EP_HANDLE another;
	DAT_EVENT ev;

	bench_open();
	if (!b.has_srq)
		cr_skip_test("an EFA does not report that it has failed");
	cr_assert(make_both() && join());
	bench_fault("fatal");
	cr_assert_eq(next(b.async, &ev), DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	cr_assert_eq(ev.event_data.asynch_error_event_data.dat_handle, b.ia);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(next(b.conn_evd, &ev), DAT_CONNECTION_EVENT_BROKEN);
	cr_assert_not(make_ep(&another));
	free_all();
	no_trouble();
	bench_close();
}

/* A planted defect of the library ends the IA in the same way. */
Test(shortage, async__broken_invariant_is_reported_and_ends_connections, .timeout = 60)
{
	DAT_EVENT ev;

	unsetenv("DAPL_DBG_ABORT");
	bench_open();
	cr_assert(make_both() && join());
	cr_assert_not(dap_invariant((struct dap_obj *)ep[0], ep[0] == ep[1]));
	cr_assert_eq(next(b.async, &ev), DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	cr_assert_eq(ev.event_data.asynch_error_event_data.dat_handle, b.ia);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(next(b.conn_evd, &ev), DAT_CONNECTION_EVENT_BROKEN);
	free_all();
	no_trouble();
	bench_close();
}
