/* SPDX-License-Identifier: BSD-2-Clause */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/api/conn.h"

DAT_CONN_QUAL conn_qual(void)
{
	return th_qual();
}

DAT_IA_ADDRESS_PTR conn_host(void)
{
	static struct sockaddr_in host;

	host.sin_family = AF_INET;
	host.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return (DAT_IA_ADDRESS_PTR)&host;
}

static DAT_EVD_HANDLE evd(struct side *s, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE h = NULL;

	assert_ok(dat_evd_create(s->ia, 32, DAT_HANDLE_NULL, flags, &h));
	return h;
}

DAT_EP_HANDLE side_ep(struct side *s)
{
	DAT_EP_HANDLE ep = NULL;

	assert_ok(dat_ep_create(s->ia, s->pz, s->dto_evd, s->dto_evd, s->conn_evd, NULL, &ep));
	return ep;
}

void side_open(struct side *s)
{
	DAT_REGION_DESCRIPTION region;

	memset(s, 0, sizeof(*s));
	s->mem = aligned_alloc(4096, 4096);
	memset(s->mem, 0, 4096);
	region.for_va = s->mem;
	assert_ok(dat_ia_open((char *)api_ia_name(), 8, &s->async, &s->ia));
	assert_ok(dat_pz_create(s->ia, &s->pz));
	s->cr_evd = evd(s, DAT_EVD_CR_FLAG);
	s->conn_evd = evd(s, DAT_EVD_CONNECTION_FLAG);
	s->dto_evd = evd(s, DAT_EVD_DTO_FLAG);
	s->ep = side_ep(s);
	assert_ok(dat_lmr_create(s->ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, s->pz,
				 DAT_MEM_PRIV_ALL_FLAG, &s->lmr, &s->context, NULL, NULL, NULL));
}

void side_close(struct side *s)
{
	if (!s->ia)
		return;
	assert_ok(dat_ia_close(s->ia, DAT_CLOSE_ABRUPT_FLAG));
	free(s->mem);
	s->ia = NULL;
}

void side_close_gracefully(struct side *s)
{
	assert_ok(dat_ep_free(s->ep));
	assert_ok(dat_lmr_free(s->lmr));
	assert_ok(dat_evd_free(s->cr_evd));
	assert_ok(dat_evd_free(s->conn_evd));
	assert_ok(dat_evd_free(s->dto_evd));
	assert_ok(dat_pz_free(s->pz));
	assert_ok(dat_ia_close(s->ia, DAT_CLOSE_GRACEFUL_FLAG));
	free(s->mem);
	s->ia = NULL;
}

struct side a, b;

void sides_open(void)
{
	side_open(&a);
	side_open(&b);
}

void sides_close(void)
{
	side_close(&a);
	side_close(&b);
}

void side_listen(struct side *s)
{
	assert_ok(dat_psp_create(s->ia, conn_qual(), s->cr_evd, DAT_PSP_CONSUMER_FLAG, &s->psp));
}

DAT_RETURN side_try_connect(struct side *s, DAT_EP_HANDLE ep, DAT_TIMEOUT timeout)
{
	(void)s;
	return dat_ep_connect(ep, conn_host(), conn_qual(), timeout, 0, NULL, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

void side_connect(struct side *s)
{
	assert_ok(side_try_connect(s, s->ep, DAT_TIMEOUT_INFINITE));
}

DAT_CR_HANDLE side_request(struct side *s)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	assert_ok(dat_evd_wait(s->cr_evd, CONN_SOON, 1, &ev, &more));
	cr_assert_eq(ev.event_number, DAT_CONNECTION_REQUEST_EVENT);
	return ev.event_data.cr_arrival_event_data.cr_handle;
}

DAT_CONNECTION_EVENT_DATA side_event(struct side *s, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	assert_ok(dat_evd_wait(s->conn_evd, CONN_SOON, 1, &ev, &more));
	cr_assert_eq(ev.event_number, number, "event 0x%x arrived instead of 0x%x", ev.event_number,
		     number);
	cr_assert_eq(ev.event_data.connect_event_data.ep_handle, ep);
	return ev.event_data.connect_event_data;
}

void side_quiet(struct side *s)
{
	DAT_EVENT ev;

	assert_ret(dat_evd_dequeue(s->conn_evd, &ev), DAT_QUEUE_EMPTY);
}

void side_pair(struct side *a, struct side *b)
{
	if (!b->psp)
		side_listen(b);
	side_connect(a);
	assert_ok(dat_cr_accept(side_request(b), b->ep, 0, NULL));
	side_event(b, b->ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	side_event(a, a->ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

DAT_EP_STATE side_state(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state;

	assert_ok(dat_ep_get_status(ep, &state, NULL, NULL));
	return state;
}

static DAT_LMR_TRIPLET buffer(struct side *s)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = s->context,
				  .virtual_address = (DAT_VADDR)(uintptr_t)s->mem,
				  .segment_length = 64 };
}

DAT_RETURN side_recv(struct side *s, DAT_EP_HANDLE ep, DAT_UINT64 cookie)
{
	DAT_DTO_COOKIE c = { .as_64 = cookie };
	DAT_LMR_TRIPLET t = buffer(s);

	return dat_ep_post_recv(ep, 1, &t, c, DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN side_send(struct side *s, DAT_EP_HANDLE ep, DAT_UINT64 cookie)
{
	DAT_DTO_COOKIE c = { .as_64 = cookie };
	DAT_LMR_TRIPLET t = buffer(s);

	return dat_ep_post_send(ep, 1, &t, c, DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_DTO_COMPLETION_STATUS side_dto(struct side *s, DAT_UINT64 cookie)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	assert_ok(dat_evd_wait(s->dto_evd, CONN_SOON, 1, &ev, &more));
	cr_assert_eq(ev.event_number, DAT_DTO_COMPLETION_EVENT);
	cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, cookie,
		     "the completion has the wrong cookie %llu",
		     (unsigned long long)ev.event_data.dto_completion_event_data.user_cookie.as_64);
	return ev.event_data.dto_completion_event_data.status;
}

/* ---- Bringing an endpoint into each state ---- */

static void reserve(struct side *s)
{
	DAT_RSP_HANDLE rsp;

	assert_ok(dat_rsp_create(s->ia, conn_qual(), s->ep, s->cr_evd, &rsp));
}

static void be_asked(struct side *s, struct side *peer)
{
	reserve(s);
	side_connect(peer);
	side_request(s);
}

/* The peer has posted no receive, so a send stays outstanding. */
static void be_leaving(struct side *s, struct side *peer)
{
	side_pair(s, peer);
	assert_ok(side_send(s, s->ep, 1));
	assert_ok(dat_ep_disconnect(s->ep, DAT_CLOSE_GRACEFUL_FLAG));
}

/* The peer is stopped before it can answer. */
static void complete_never(struct side *s, struct th_child *stopped)
{
	DAT_CR_HANDLE cr;
	int status;

	side_listen(s);
	cr_assert_eq(th_meet(stopped->sock), 0);
	cr = side_request(s);
	cr_assert_eq(kill(stopped->pid, SIGSTOP), 0);
	cr_assert_eq(waitpid(stopped->pid, &status, WUNTRACED), stopped->pid);
	assert_ok(dat_cr_accept(cr, s->ep, 0, NULL));
}

static int connector(int sock, void *arg)
{
	struct side s;

	(void)arg;
	side_open(&s);
	th_meet(sock);
	side_connect(&s);
	th_sleep_ms(60000);
	return 0;
}

void side_spawn_connector(struct th_child *child)
{
	conn_qual();
	cr_assert_eq(th_spawn(child, connector, NULL), 0);
}

void side_bring(struct side *s, struct side *peer, struct th_child *child, DAT_EP_STATE state)
{
	switch (state) {
	case DAT_EP_STATE_UNCONNECTED:
		break;
	case DAT_EP_STATE_RESERVED:
		reserve(s);
		break;
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		be_asked(s, peer);
		break;
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		side_connect(s);
		break;
	case DAT_EP_STATE_CONNECTED:
		side_pair(s, peer);
		break;
	case DAT_EP_STATE_DISCONNECTED:
		side_connect(s);
		assert_ok(dat_ep_disconnect(s->ep, DAT_CLOSE_ABRUPT_FLAG));
		side_event(s, s->ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		break;
	case DAT_EP_STATE_DISCONNECT_PENDING:
		be_leaving(s, peer);
		break;
	default:
		complete_never(s, child);
	}
	cr_assert_eq(side_state(s->ep), state);
}
