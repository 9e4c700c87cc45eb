/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tries each call that takes an endpoint in each of its states. A row is one statement. Each of its cells
 * begins with new adapters on both sides.
 */
#include "tests/conformance/fixture.h"

#define U DAT_EP_STATE_UNCONNECTED
#define A DAT_EP_STATE_ACTIVE_CONNECTION_PENDING
#define M DAT_EP_STATE_COMPLETION_PENDING
#define C DAT_EP_STATE_CONNECTED
#define G DAT_EP_STATE_DISCONNECT_PENDING
#define D DAT_EP_STATE_DISCONNECTED
#define R DAT_EP_STATE_RESERVED
#define P DAT_EP_STATE_PASSIVE_CONNECTION_PENDING
#define T DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING

/* NO: the call returns INVALID_STATE, and the state stays */
enum { STATES = 9, STAYS = -1, NO = -2, GONE = -3 };

static const DAT_EP_STATE states[STATES] = { U, R, P, T, A, M, C, G, D };
static const char *const names[STATES] = {
	"UNCONNECTED", "RESERVED", "PASSIVE_CONNECTION_PENDING", "TENTATIVE_CONNECTION_PENDING",
	"ACTIVE_CONNECTION_PENDING", "COMPLETION_PENDING", "CONNECTED", "DISCONNECT_PENDING",
	"DISCONNECTED",
};

struct row {
	DAT_RETURN (*call)(struct bring *b);
	/* the attribute to be modified; such a row has no call of its own */
	DAT_EP_PARAM_MASK mask;
	int next[STATES];
};

static DAT_RETURN modify(struct bring *b, DAT_EP_PARAM_MASK mask)
{
	DAT_EP_PARAM p;

	must(dat_ep_query(b->s.ep, DAT_EP_FIELD_ALL, &p));
	if (mask == DAT_EP_FIELD_PZ_HANDLE)
		must(dat_pz_create(b->s.ia, &p.pz_handle));
	return tried(dat_ep_modify(b->s.ep, mask, &p));
}

static void one_cell(const struct row *row, int i)
{
	const int next = row->next[i];
	const uint32_t want = next == NO ? DAT_INVALID_STATE : DAT_SUCCESS;
	DAT_EP_STATE now;
	DAT_RETURN ret;
	struct bring b;

	if (!bring(&b, states[i])) {
		bring_done(&b);
		return;
	}
	ret = row->call ? row->call(&b) : modify(&b, row->mask);
	if (!is(ret, want))
		conform_fail(__FILE__, __LINE__,
			     "in the endpoint state %s the call returned %s (0x%08x)", names[i],
			     code_name(DAT_GET_TYPE(ret)), ret);
	if (next == GONE) {
		check(is(dat_ep_free(b.s.ep), DAT_INVALID_HANDLE));
	} else {
		now = state_of(b.s.ep);
		/* An intermediate state may be over before it is seen. */
		if (now != (next < 0 ? states[i] : (DAT_EP_STATE)next) &&
		    !(next == (int)M && now == C) && !(next == (int)G && now == D))
			conform_fail(__FILE__, __LINE__,
				     "in the endpoint state %s the call leads to the wrong state "
				     "%d",
				     names[i], (int)now);
	}
	bring_done(&b);
}

static void all_cells(const void *arg)
{
	for (int i = 0; i < STATES; i++)
		one_cell(arg, i);
}

/* ---- Calls ---- */

static DAT_RETURN connect_it(struct bring *b)
{
	side_listen(&b->peer);
	return dial(b->s.ep, &b->peer, b->peer.qual, SOON);
}

/* Duplicates the connection of another endpoint of the side. It has its own EVDs, because those of
 * the side may hold events. */
static DAT_RETURN dup_connect_it(struct bring *b)
{
	struct side here = b->s, there = b->peer;

	here.conn_evd = side_evd(&here, 8, DAT_EVD_CONNECTION_FLAG);
	there.conn_evd = side_evd(&there, 8, DAT_EVD_CONNECTION_FLAG);
	there.cr_evd = side_evd(&there, 8, DAT_EVD_CR_FLAG);
	there.psp = DAT_HANDLE_NULL;
	here.ep = side_ep(&here, NULL);
	there.ep = side_ep(&there, NULL);
	join(&here, here.ep, &there, there.ep);
	return tried(dat_ep_dup_connect(b->s.ep, here.ep, SOON, 0, NULL, DAT_QOS_BEST_EFFORT));
}

static DAT_RETURN reserve_it(struct bring *b)
{
	DAT_RSP_HANDLE rsp;

	return tried(dat_rsp_create(b->s.ia, some_qual(1), b->s.ep, b->s.cr_evd, &rsp));
}

/* Accepts the request of another endpoint of the peer. */
static DAT_RETURN accept_it(struct bring *b)
{
	DAT_PSP_HANDLE psp;

	must(dat_psp_create(b->s.ia, some_qual(2), b->s.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	must(dial(side_ep(&b->peer, NULL), &b->s, some_qual(2), SOON));
	return tried(dat_cr_accept(side_request(&b->s), b->s.ep, 0, NULL));
}

static DAT_RETURN leave_gracefully(struct bring *b)
{
	return tried(dat_ep_disconnect(b->s.ep, DAT_CLOSE_GRACEFUL_FLAG));
}

static DAT_RETURN leave_abruptly(struct bring *b)
{
	return tried(dat_ep_disconnect(b->s.ep, DAT_CLOSE_ABRUPT_FLAG));
}

static DAT_RETURN reset_it(struct bring *b)
{
	return tried(dat_ep_reset(b->s.ep));
}

static DAT_RETURN free_it(struct bring *b)
{
	return tried(dat_ep_free(b->s.ep));
}

static DAT_RETURN recv_it(struct bring *b)
{
	return do_recv(&b->s, 1, 0, 64);
}

static DAT_RETURN send_it(struct bring *b)
{
	return do_send(&b->s, 1, 0, 64, DEFAULT);
}

static DAT_RETURN read_it(struct bring *b)
{
	return do_read(&b->s, 1, 0, far(&b->peer, 0, 64), DEFAULT);
}

static DAT_RETURN write_it(struct bring *b)
{
	return do_write(&b->s, 1, 0, far(&b->peer, 0, 64), DEFAULT);
}

static DAT_RETURN bind_it(struct bring *b)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	must(dat_rmr_create(b->s.pz, &rmr));
	return do_bind(&b->s, rmr, 1, 0, 64, DAT_MEM_PRIV_REMOTE_READ_FLAG, &context);
}

static DAT_RETURN query_it(struct bring *b)
{
	DAT_EP_PARAM p;

	return tried(dat_ep_query(b->s.ep, DAT_EP_FIELD_ALL, &p));
}

static DAT_RETURN status_of_it(struct bring *b)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	return tried(dat_ep_get_status(b->s.ep, &state, &recv_idle, &request_idle));
}

/* A consumer's context can be set and read in each state of an endpoint. */
static DAT_RETURN context_of_it(struct bring *b)
{
	DAT_HANDLE_TYPE type;
	DAT_CONTEXT c;

	must(dat_set_consumer_context(b->s.ep, cookie(5)));
	must(dat_get_handle_type(b->s.ep, &type));
	same(type, DAT_HANDLE_TYPE_EP);
	return tried(dat_get_consumer_context(b->s.ep, &c));
}

static DAT_RETURN close_gracefully(struct bring *b)
{
	return tried(dat_ia_close(b->s.ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static DAT_RETURN close_abruptly(struct bring *b)
{
	DAT_RETURN ret = tried(dat_ia_close(b->s.ia, DAT_CLOSE_ABRUPT_FLAG));

	b->s.ia = DAT_HANDLE_NULL;
	return ret;
}

static DAT_RETURN recv_query_it(struct bring *b)
{
	DAT_COUNT n, span;
	DAT_RETURN ret = tried(dat_ep_recv_query(b->s.ep, &n, &span));

	if (!b->s.attr.ep_recv_info_supported && is(ret, DAT_MODEL_NOT_SUPPORTED))
		skip("ep_recv_info_supported is 0: dat_ep_recv_query answers MODEL_NOT_SUPPORTED");
	return ret;
}

static DAT_RETURN watermark_it(struct bring *b)
{
	DAT_RETURN ret = tried(dat_ep_set_watermark(b->s.ep, DAT_WATERMARK_INFINITE,
						    DAT_WATERMARK_INFINITE));

	if (!(b->s.attr.srq_watermarks_supported & 0x110) && is(ret, DAT_MODEL_NOT_SUPPORTED))
		skip("srq_watermarks_supported has no high watermark: dat_ep_set_watermark answers "
		     "MODEL_NOT_SUPPORTED");
	return ret;
}

#define ROW(name_, page_, fn_, ...)                                                                \
	static const struct row name_##_row = { fn_, 0, { __VA_ARGS__ } };                         \
	STATEMENT_ROW(name_##__in_each_state, page_, DESCRIPTION, all_cells, &name_##_row)

/* clang-format off */
/*                                             UNC    RSV    PAS    TEN    ACT    CPL    CON    DSP    DIS */
ROW(ep_connect, dat_ep_connect, connect_it,    A,     NO,    NO,    NO,    NO,    NO,    NO,    NO,    NO);
ROW(ep_dup_connect, dat_ep_dup_connect, dup_connect_it,
					       A,     NO,    NO,    NO,    NO,    NO,    NO,    NO,    NO);
ROW(rsp_create, dat_rsp_create, reserve_it,    R,     NO,    NO,    NO,    NO,    NO,    NO,    NO,    NO);
ROW(cr_accept, dat_cr_accept, accept_it,       M,     NO,    NO,    NO,    NO,    NO,    NO,    NO,    NO);
ROW(ep_disconnect_graceful, dat_ep_disconnect, leave_gracefully,
					       NO,    NO,    NO,    NO,    D,     D,     G,     STAYS, STAYS);
ROW(ep_disconnect_abrupt, dat_ep_disconnect, leave_abruptly,
					       NO,    NO,    NO,    NO,    D,     D,     D,     D,     STAYS);
ROW(ep_reset, dat_ep_reset, reset_it,          STAYS, NO,    NO,    NO,    NO,    NO,    NO,    NO,    U);
ROW(ep_free, dat_ep_free, free_it,             GONE,  NO,    NO,    NO,    GONE,  GONE,  GONE,  GONE,  GONE);
ROW(ep_post_recv, dat_ep_post_recv, recv_it,   STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS);
ROW(ep_post_send, dat_ep_post_send, send_it,   NO,    NO,    NO,    NO,    NO,    NO,    STAYS, NO,    STAYS);
ROW(ep_post_rdma_read, dat_ep_post_rdma_read, read_it,
					       NO,    NO,    NO,    NO,    NO,    NO,    STAYS, NO,    STAYS);
ROW(ep_post_rdma_write, dat_ep_post_rdma_write, write_it,
					       NO,    NO,    NO,    NO,    NO,    NO,    STAYS, NO,    STAYS);
ROW(rmr_bind, dat_rmr_bind, bind_it,           NO,    NO,    NO,    NO,    NO,    NO,    STAYS, NO,    STAYS);
ROW(ep_query, dat_ep_query, query_it,          STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS);
ROW(ep_get_status, dat_ep_get_status, status_of_it,
					       STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS);
ROW(ep_recv_query, dat_ep_recv_query, recv_query_it,
					       STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS);
ROW(ep_set_watermark, dat_ep_set_watermark, watermark_it,
					       STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS);
ROW(get_consumer_context, dat_get_consumer_context, context_of_it,
					       STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS);
ROW(ia_close_graceful, dat_ia_close, close_gracefully,
					       NO,    NO,    NO,    NO,    NO,    NO,    NO,    NO,    NO);
ROW(ia_close_abrupt, dat_ia_close, close_abruptly,
					       GONE,  GONE,  GONE,  GONE,  GONE,  GONE,  GONE,  GONE,  GONE);
/* clang-format on */

/* Attributes that may change until a connection is requested or accepted. The PZ may change only on
 * an endpoint that the provider made. */
#define MODIFY(name_, bit, reserved, passive)                                                      \
	static const struct row name_##_row = {                                                    \
		NULL, DAT_EP_FIELD_##bit, { STAYS, reserved, passive, STAYS, NO, NO, NO, NO, NO }  \
	};                                                                                         \
	STATEMENT_ROW(ep_modify_##name_##__in_each_state, dat_ep_modify, DESCRIPTION, all_cells,   \
		      &name_##_row)
MODIFY(pz, PZ_HANDLE, NO, NO);
MODIFY(recv_evd, RECV_EVD_HANDLE, STAYS, STAYS);
MODIFY(request_evd, REQUEST_EVD_HANDLE, STAYS, STAYS);
MODIFY(connect_evd, CONNECT_EVD_HANDLE, STAYS, STAYS);
MODIFY(service_type, EP_ATTR_SERVICE_TYPE, STAYS, STAYS);
MODIFY(max_message_size, EP_ATTR_MAX_MESSAGE_SIZE, STAYS, STAYS);
MODIFY(max_rdma_size, EP_ATTR_MAX_RDMA_SIZE, STAYS, STAYS);
MODIFY(qos, EP_ATTR_QOS, STAYS, STAYS);
MODIFY(recv_completion_flags, EP_ATTR_RECV_COMPLETION_FLAGS, STAYS, STAYS);
MODIFY(request_completion_flags, EP_ATTR_REQUEST_COMPLETION_FLAGS, STAYS, STAYS);
MODIFY(max_recv_dtos, EP_ATTR_MAX_RECV_DTOS, STAYS, STAYS);
MODIFY(max_request_dtos, EP_ATTR_MAX_REQUEST_DTOS, STAYS, STAYS);
MODIFY(max_recv_iov, EP_ATTR_MAX_RECV_IOV, STAYS, STAYS);
MODIFY(max_request_iov, EP_ATTR_MAX_REQUEST_IOV, STAYS, STAYS);
MODIFY(max_rdma_read_in, EP_ATTR_MAX_RDMA_READ_IN, STAYS, STAYS);
MODIFY(max_rdma_read_out, EP_ATTR_MAX_RDMA_READ_OUT, STAYS, STAYS);
MODIFY(max_rdma_read_iov, EP_ATTR_MAX_RDMA_READ_IOV, STAYS, STAYS);
MODIFY(max_rdma_write_iov, EP_ATTR_MAX_RDMA_WRITE_IOV, STAYS, STAYS);

/* The request at a Reserved Service Point belongs to the endpoint with which that point was created. */
STATEMENT(cr_accept__in_passive_connection_pending, dat_cr_accept, DESCRIPTION)
{
	struct bring b;

	bring(&b, P);
	must(dat_cr_accept(b.cr, b.s.ep, 0, NULL));
	took_conn(&b.s, b.s.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	same(state_of(b.s.ep), C);
	bring_done(&b);
}

/* The request at this Public Service Point belongs to the endpoint that the provider made for it. */
STATEMENT(cr_accept__in_tentative_connection_pending, dat_cr_accept, DESCRIPTION)
{
	struct bring b;

	if (!bring(&b, T))
		skip("ep_creator is NEVER: dat_psp_create answers MODEL_NOT_SUPPORTED");
	must(dat_cr_accept(b.cr, DAT_HANDLE_NULL, 0, NULL));
	took_conn(&b.s, b.s.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	same(state_of(b.s.ep), C);
	bring_done(&b);
}

STATEMENT(ep_modify__specific_attributes, dat_ep_modify, DESCRIPTION)
{
	DAT_EP_PARAM p;
	DAT_RETURN ret;
	struct side s;

	side_open(&s);
	must(dat_ep_query(s.ep, DAT_EP_FIELD_ALL, &p));
	ret = tried(dat_ep_modify(s.ep, DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |
				  DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR, &p));
	if (is(ret, DAT_INVALID_PARAMETER) && !p.ep_attr.ep_provider_specific_count)
		skip("the provider has no attributes of its own for an endpoint");
	must_be(DAT_SUCCESS, ret);
	side_close(&s);
}
