/* SPDX-License-Identifier: BSD-2-Clause */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/conformance/fixture.h"

static DAT_NAME_PTR name_of(bool peer)
{
	const char *name = peer && conform_options.peer_ia ? conform_options.peer_ia
							   : th_ia(conform_options.ia);

	return (DAT_NAME_PTR)(uintptr_t)name;
}

void spawn_end(struct th_child *child, int (*fn)(int sock, void *arg), void *arg)
{
	if (conform_options.one_process)
		skip("the test cannot open the adapter in two processes");
	same(th_spawn(child, fn, arg), 0);
}

DAT_IA_HANDLE ia_open(DAT_EVD_HANDLE *async)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	*async = DAT_HANDLE_NULL;
	must(dat_ia_open(name_of(false), 8, async, &ia));
	return ia;
}

DAT_EVD_HANDLE side_evd(struct side *s, DAT_COUNT qlen, int flags)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	must(dat_evd_create(s->ia, qlen, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)flags, &evd));
	return evd;
}

/* Returns attributes that every adapter supports. */
DAT_EP_ATTR side_attr(void)
{
	return (DAT_EP_ATTR){
		.service_type = DAT_SERVICE_TYPE_RC, .qos = DAT_QOS_BEST_EFFORT,
		.max_message_size = MEM, .max_rdma_size = MEM,
		.max_recv_dtos = DTOS, .max_request_dtos = DTOS, .max_recv_iov = 4,
		.max_request_iov = 4, .max_rdma_read_in = 4, .max_rdma_read_out = 4,
		.srq_soft_hw = DAT_HW_DEFAULT, .max_rdma_read_iov = 4, .max_rdma_write_iov = 4,
	};
}

DAT_EP_HANDLE side_ep_on(struct side *s, const DAT_EP_ATTR *attr, DAT_EVD_HANDLE recv_evd)
{
	DAT_EP_ATTR usual = side_attr();
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	must(dat_ep_create(s->ia, s->pz, recv_evd ? recv_evd : s->recv_evd, s->req_evd, s->conn_evd,
			   attr ? attr : &usual, &ep));
	return ep;
}

DAT_EP_HANDLE side_ep(struct side *s, const DAT_EP_ATTR *attr)
{
	return side_ep_on(s, attr, NULL);
}

DAT_LMR_HANDLE side_lmr(struct side *s, DAT_PZ_HANDLE pz, int priv, DAT_LMR_CONTEXT *lmr_context,
			DAT_RMR_CONTEXT *rmr_context)
{
	DAT_REGION_DESCRIPTION region = { .for_va = s->mem };
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
	DAT_LMR_CONTEXT lc;
	DAT_RMR_CONTEXT rc;
	DAT_VLEN size;
	DAT_VADDR at;

	must(dat_lmr_create(s->ia, DAT_MEM_TYPE_VIRTUAL, region, MEM, pz, (DAT_MEM_PRIV_FLAGS)priv,
			    &lmr, lmr_context ? lmr_context : &lc, rmr_context ? rmr_context : &rc,
			    &size, &at));
	return lmr;
}

static void open_with(struct side *s, bool peer, const DAT_EP_ATTR *attr)
{
	memset(s, 0, sizeof(*s));
	s->is_peer = peer;
	s->mem = mmap(NULL, MEM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(s->mem != MAP_FAILED);
	must(dat_ia_open(name_of(peer), 8, &s->async, &s->ia));
	must(dat_ia_query(s->ia, NULL, DAT_IA_FIELD_ALL, &s->ia_attr, DAT_PROVIDER_FIELD_ALL,
			  &s->attr));
	must(dat_pz_create(s->ia, &s->pz));
	s->cr_evd = side_evd(s, 32, DAT_EVD_CR_FLAG);
	s->conn_evd = side_evd(s, 32, DAT_EVD_CONNECTION_FLAG);
	s->recv_evd = side_evd(s, 64, DAT_EVD_DTO_FLAG);
	s->req_evd = side_evd(s, 64, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	s->soft_evd = side_evd(s, 8, DAT_EVD_SOFTWARE_FLAG);
	s->ep = side_ep(s, attr);
	s->lmr = side_lmr(s, s->pz, DAT_MEM_PRIV_ALL_FLAG, &s->lmr_context, &s->rmr_context);
}

void side_open(struct side *s)
{
	open_with(s, false, NULL);
}

void side_open_peer(struct side *s)
{
	open_with(s, true, NULL);
}

static void forget(struct side *s)
{
	munmap(s->mem, MEM);
	s->ia = NULL;
	s->mem = NULL;
}

void side_close(struct side *s)
{
	if (!s->ia)
		return;
	must(dat_ia_close(s->ia, DAT_CLOSE_ABRUPT_FLAG));
	forget(s);
}

void side_free(struct side *s)
{
	if (s->psp)
		must(dat_psp_free(s->psp));
	must(dat_ep_free(s->ep));
	must(dat_lmr_free(s->lmr));
	must(dat_evd_free(s->soft_evd));
	must(dat_evd_free(s->req_evd));
	must(dat_evd_free(s->recv_evd));
	must(dat_evd_free(s->conn_evd));
	must(dat_evd_free(s->cr_evd));
	must(dat_pz_free(s->pz));
	must(dat_ia_close(s->ia, DAT_CLOSE_GRACEFUL_FLAG));
	forget(s);
}

/* ---- Connections ---- */

DAT_IA_ADDRESS_PTR side_address(struct side *s)
{
	return s->ia_attr.ia_address_ptr;
}

void side_listen(struct side *s)
{
	if (!s->psp)
		must(dat_psp_create_any(s->ia, &s->qual, s->cr_evd, DAT_PSP_CONSUMER_FLAG, &s->psp));
}

DAT_CONN_QUAL some_qual(int i)
{
	return th_qual() + (DAT_CONN_QUAL)i;
}

DAT_RETURN dial_with(DAT_EP_HANDLE ep, struct side *to, DAT_CONN_QUAL qual, const void *pd, int len)
{
	return tried(dat_ep_connect(ep, side_address(to), qual, SOON, len,
				    (DAT_PVOID)(uintptr_t)pd, DAT_QOS_BEST_EFFORT,
				    DAT_CONNECT_DEFAULT_FLAG));
}

DAT_RETURN dial(DAT_EP_HANDLE ep, struct side *to, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout)
{
	return tried(dat_ep_connect(ep, side_address(to), qual, timeout, 0, NULL,
				    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

DAT_CR_HANDLE side_request(struct side *s)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	must(dat_evd_wait(s->cr_evd, SOON, 1, &ev, &more));
	same(ev.event_number, DAT_CONNECTION_REQUEST_EVENT);
	return ev.event_data.cr_arrival_event_data.cr_handle;
}

DAT_EP_HANDLE ep_of(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM p;

	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &p));
	return p.local_ep_handle;
}

void give_all(struct side *s, DAT_EP_HANDLE ep)
{
	const DAT_EP_PARAM p = {
		.pz_handle = s->pz, .recv_evd_handle = s->recv_evd,
		.request_evd_handle = s->req_evd, .connect_evd_handle = s->conn_evd,
	};

	must(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
			   DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE, &p));
}

DAT_CONNECTION_EVENT_DATA took_conn(struct side *s, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	must(dat_evd_wait(s->conn_evd, SOON, 1, &ev, &more));
	same(ev.event_number, number);
	check(ev.event_data.connect_event_data.ep_handle == ep);
	return ev.event_data.connect_event_data;
}

/* On a busy host the time may be over before the refusal comes. Then the next attempt has more time. */
void no_listener(struct side *from, DAT_EP_HANDLE ep, struct side *to, DAT_CONN_QUAL qual)
{
	DAT_TIMEOUT us = 500000;
	DAT_COUNT more;
	DAT_EVENT ev;

	while (true) {
		must(dial(ep, to, qual, us));
		must(dat_evd_wait(from->conn_evd, SOON, 1, &ev, &more));
		check(ev.event_data.connect_event_data.ep_handle == ep);
		us *= 4;
		if (ev.event_number != DAT_CONNECTION_EVENT_TIMED_OUT || us > SOON)
			break;
		must(dat_ep_reset(ep));
	}
	same(ev.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

void join(struct side *a, DAT_EP_HANDLE ea, struct side *b, DAT_EP_HANDLE eb)
{
	side_listen(b);
	must(dial(ea, b, b->qual, SOON));
	must(dat_cr_accept(side_request(b), eb, 0, NULL));
	took_conn(b, eb, DAT_CONNECTION_EVENT_ESTABLISHED);
	took_conn(a, ea, DAT_CONNECTION_EVENT_ESTABLISHED);
}

void two_open_apart(struct side *a, struct side *b)
{
	side_open(a);
	side_open_peer(b);
}

void two_open_with(struct side *a, struct side *b, const DAT_EP_ATTR *attr)
{
	open_with(a, false, attr);
	open_with(b, true, attr);
	join(a, a->ep, b, b->ep);
}

void two_open(struct side *a, struct side *b)
{
	two_open_with(a, b, NULL);
}

void two_close(struct side *a, struct side *b)
{
	side_close(a);
	side_close(b);
}

DAT_EP_STATE state_of(DAT_EP_HANDLE ep)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	must(dat_ep_get_status(ep, &state, &recv_idle, &request_idle));
	return state;
}

bool gets_to(DAT_EP_HANDLE ep, DAT_EP_STATE state)
{
	return TH_WITHIN(SOON_MS, state_of(ep) == state);
}

/* ---- States ---- */

static void reserve(struct bring *b)
{
	must(dat_rsp_create(b->s.ia, some_qual(0), b->s.ep, b->s.cr_evd, &b->rsp));
}

static void be_asked(struct bring *b)
{
	reserve(b);
	must(dial(b->peer.ep, &b->s, some_qual(0), SOON));
	b->cr = side_request(&b->s);
}

static void be_provided(struct bring *b)
{
	DAT_PSP_HANDLE psp;

	must(dat_psp_create(b->s.ia, some_qual(0), b->s.cr_evd, DAT_PSP_PROVIDER_FLAG, &psp));
	must(dial(b->peer.ep, &b->s, some_qual(0), SOON));
	b->cr = side_request(&b->s);
	b->s.ep = ep_of(b->cr);
	give_all(&b->s, b->s.ep);
}

static void be_dialling(struct bring *b)
{
	side_listen(&b->peer);
	must(dial(b->s.ep, &b->peer, b->peer.qual, SOON));
}

/* The peer has posted no receive, so a send stays outstanding. */
static void be_leaving(struct bring *b)
{
	join(&b->s, b->s.ep, &b->peer, b->peer.ep);
	must(do_send(&b->s, 1, 0, 64, DEFAULT));
	must(dat_ep_disconnect(b->s.ep, DAT_CLOSE_GRACEFUL_FLAG));
}

static int dial_when_told(int sock, void *arg)
{
	DAT_CONN_QUAL qual;
	struct side s;

	(void)arg;
	side_open_peer(&s);
	if (th_recv(sock, &qual, sizeof(qual)))
		return 1;
	must(dial(s.ep, &s, qual, DAT_TIMEOUT_INFINITE));
	th_sleep_ms(60000);
	return 0;
}

/* The peer is stopped before it can answer the dat_cr_accept. */
static void complete_never(struct bring *b)
{
	int status;

	side_listen(&b->s);
	same(th_send(b->child.sock, &b->s.qual, sizeof(b->s.qual)), 0);
	b->cr = side_request(&b->s);
	same(kill(b->child.pid, SIGSTOP), 0);
	same(waitpid(b->child.pid, &status, WUNTRACED), b->child.pid);
	must(dat_cr_accept(b->cr, b->s.ep, 0, NULL));
}

bool bring(struct bring *b, DAT_EP_STATE state)
{
	memset(b, 0, sizeof(*b));
	if (state == DAT_EP_STATE_COMPLETION_PENDING)
		spawn_end(&b->child, dial_when_told, NULL);
	side_open(&b->s);
	side_open_peer(&b->peer);
	if (state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING &&
	    b->s.attr.ep_creator == DAT_PSP_CREATES_EP_NEVER)
		return false;
	switch (state) {
	case DAT_EP_STATE_UNCONNECTED: break;
	case DAT_EP_STATE_RESERVED: reserve(b); break;
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING: be_asked(b); break;
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING: be_provided(b); break;
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING: be_dialling(b); break;
	case DAT_EP_STATE_COMPLETION_PENDING: complete_never(b); break;
	case DAT_EP_STATE_CONNECTED: join(&b->s, b->s.ep, &b->peer, b->peer.ep); break;
	case DAT_EP_STATE_DISCONNECT_PENDING: be_leaving(b); break;
	default:
		join(&b->s, b->s.ep, &b->peer, b->peer.ep);
		must(dat_ep_disconnect(b->s.ep, DAT_CLOSE_ABRUPT_FLAG));
		took_conn(&b->s, b->s.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	}
	same(state_of(b->s.ep), state);
	return true;
}

void bring_done(struct bring *b)
{
	side_close(&b->s);
	side_close(&b->peer);
	if (b->child.pid)
		th_kill(&b->child);
}

void needs_end_to_end(const struct side *s)
{
	DAT_PROVIDER_ATTR attr;

	must(dat_ia_query(s->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	for (int i = 0; i < attr.num_provider_specific_attr; i++)
		if (!strcmp(attr.provider_specific_attr[i].name, "send_completion") &&
		    !strcmp(attr.provider_specific_attr[i].value, "at the peer's adapter"))
			skip("send_completion is at the peer's adapter");
}
