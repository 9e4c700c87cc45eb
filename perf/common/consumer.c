/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/common/consumer.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf/common/stats.h"

enum { EVD_QLEN = 256, SPINS_PER_YIELD = 2048, PAGE = 4096 };

bool dat_ok(DAT_RETURN ret, const char *what)
{
	const char *major = "unknown return code", *minor = "";

	if (ret == DAT_SUCCESS)
		return true;
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "%s: %s %s (0x%08x)\n", what, major, minor, (unsigned int)ret);
	return false;
}

const char *dat_event_name(DAT_EVENT_NUMBER n)
{
	switch (n) {
	case DAT_CONNECTION_EVENT_ESTABLISHED: return "ESTABLISHED";
	case DAT_CONNECTION_EVENT_PEER_REJECTED: return "PEER_REJECTED";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED: return "NON_PEER_REJECTED";
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR: return "ACCEPT_COMPLETION_ERROR";
	case DAT_CONNECTION_EVENT_DISCONNECTED: return "DISCONNECTED";
	case DAT_CONNECTION_EVENT_BROKEN: return "BROKEN";
	case DAT_CONNECTION_EVENT_TIMED_OUT: return "TIMED_OUT";
	case DAT_CONNECTION_EVENT_UNREACHABLE: return "UNREACHABLE";
	case DAT_CONNECTION_REQUEST_EVENT: return "CONNECTION_REQUEST";
	case DAT_DTO_COMPLETION_EVENT: return "DTO_COMPLETION";
	case DAT_RMR_BIND_COMPLETION_EVENT: return "RMR_BIND_COMPLETION";
	default: return "event of another stream";
	}
}

const char *dat_status_name(DAT_DTO_COMPLETION_STATUS s)
{
	static const char *const name[] = {
		"SUCCESS", "FLUSHED", "LOCAL_LENGTH", "LOCAL_EP", "LOCAL_PROTECTION",
		"BAD_RESPONSE", "REMOTE_ACCESS", "REMOTE_RESPONDER", "TRANSPORT",
		"RECEIVER_NOT_READY", "PARTIAL_PACKET", "RMR_OPERATION_FAILED",
	};

	return (unsigned int)s < sizeof(name) / sizeof(*name) ? name[s] : "unknown status";
}

bool ia_opened(DAT_RETURN ret, const char *name)
{
	if (dat_ok(ret, "dat_ia_open"))
		return true;
	/* Other failures are those of a line, and the registry or the provider has printed the reason. */
	if (DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND && DAT_GET_SUBTYPE(ret))
		fprintf(stderr, "%s: is there a line for it in dat.conf (see DAT_OVERRIDE)? "
			"DAT_DBG_TYPE=0xff prints why it was refused\n", name);
	return false;
}

static int make_evd(struct consumer *c, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	return dat_ok(dat_evd_create(c->ia, EVD_QLEN, DAT_HANDLE_NULL, flags, evd),
		      "dat_evd_create") ? 0 : -1;
}

int consumer_open(struct consumer *c, const char *ia_name)
{
	DAT_RETURN ret;

	c->async_evd = DAT_HANDLE_NULL;
	ret = dat_ia_openv((DAT_NAME_PTR)(uintptr_t)ia_name, 8, &c->async_evd, &c->ia,
			   DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
			   c->threadsafe ? DAT_TRUE : DAT_FALSE);
	if (!ia_opened(ret, ia_name))
		return -1;
	if (!dat_ok(dat_pz_create(c->ia, &c->pz), "dat_pz_create"))
		return -1;
	if (make_evd(c, DAT_EVD_CR_FLAG, &c->cr_evd) ||
	    make_evd(c, DAT_EVD_CONNECTION_FLAG, &c->conn_evd) ||
	    make_evd(c, DAT_EVD_DTO_FLAG, &c->recv_evd) ||
	    make_evd(c, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &c->req_evd))
		return -1;
	if (!c->idle_ns)
		c->idle_ns = 30u * 1000000000ull;
	return 0;
}

int consumer_expect(struct consumer *c, unsigned int connections)
{
	/* Each connection needs room for two events: it may be established, and end, while others
	 * are established. */
	DAT_COUNT n = (DAT_COUNT)(2 * connections);

	if (n <= EVD_QLEN)
		return 0;
	return dat_ok(dat_evd_resize(c->conn_evd, n), "dat_evd_resize") ? 0 : -1;
}

int consumer_make_ep(struct consumer *c, const DAT_EP_ATTR *attr)
{
	DAT_EP_ATTR copy, *p = NULL;

	if (attr) {
		copy = *attr;
		p = &copy;
	}
	return dat_ok(dat_ep_create(c->ia, c->pz, c->recv_evd, c->req_evd, c->conn_evd, p, &c->ep),
		      "dat_ep_create") ? 0 : -1;
}

void consumer_close(struct consumer *c)
{
	if (c->ia != DAT_HANDLE_NULL)
		dat_ok(dat_ia_close(c->ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	c->ia = DAT_HANDLE_NULL;
}

int region_create(struct consumer *c, struct region *r, size_t len, DAT_MEM_PRIV_FLAGS priv)
{
	DAT_REGION_DESCRIPTION desc;
	DAT_VLEN size;
	DAT_VADDR addr;
	DAT_RETURN ret;

	r->len = len;
	r->buf = NULL;
	if (posix_memalign(&r->buf, PAGE, (len + PAGE - 1) / PAGE * PAGE)) {
		fprintf(stderr, "no memory for a buffer of %zu bytes\n", len);
		return -1;
	}
	memset(r->buf, 0, (len + PAGE - 1) / PAGE * PAGE);
	desc.for_va = r->buf;
	ret = dat_lmr_create(c->ia, DAT_MEM_TYPE_VIRTUAL, desc, len, c->pz, priv,
			     VA_TYPE &r->lmr, &r->lmr_context, &r->rmr_context, &size, &addr);
	if (dat_ok(ret, "dat_lmr_create"))
		return 0;
	free(r->buf);
	r->buf = NULL;
	return -1;
}

void region_free(struct region *r)
{
	if (r->buf)
		dat_ok(dat_lmr_free(r->lmr), "dat_lmr_free");
	free(r->buf);
	r->buf = NULL;
}

int consumer_listen(struct consumer *c, uint64_t conn_qual)
{
	DAT_RETURN ret = dat_psp_create(c->ia, conn_qual, c->cr_evd, DAT_PSP_CONSUMER_FLAG, &c->psp);

	if (dat_ok(ret, "dat_psp_create"))
		return 0;
	if (DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE)
		fprintf(stderr, "another process listens at %llu: -p chooses another qualifier\n",
			(unsigned long long)conn_qual);
	return -1;
}

int consumer_wait_request(struct consumer *c, DAT_CR_HANDLE *cr, uint64_t timeout_ns)
{
	DAT_TIMEOUT us = timeout_ns ? (DAT_TIMEOUT)(timeout_ns / 1000) : DAT_TIMEOUT_INFINITE;
	DAT_COUNT more;
	DAT_EVENT ev;

	if (!dat_ok(dat_evd_wait(c->cr_evd, us, 1, &ev, &more), "dat_evd_wait for a connection"))
		return -1;
	if (ev.event_number != DAT_CONNECTION_REQUEST_EVENT) {
		fprintf(stderr, "event %s has come instead of a connection request\n",
			dat_event_name(ev.event_number));
		return -1;
	}
	*cr = ev.event_data.cr_arrival_event_data.cr_handle;
	return 0;
}

const char *consumer_address(const DAT_IA_ATTR *a, char *buf, socklen_t size)
{
	const DAT_SOCK_ADDR *sa = a->ia_address_ptr;
	const void *addr = &((const struct sockaddr_in *)(const void *)sa)->sin_addr;

	if (!sa)
		return "none";
	if (sa->sa_family == AF_INET6)
		addr = &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr;
	return inet_ntop(sa->sa_family, addr, buf, size) ? buf : "none";
}

const char *consumer_own_host(struct consumer *c, char *buf, socklen_t size)
{
	DAT_IA_ATTR a;

	if (!dat_ok(dat_ia_query(c->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &a, 0, NULL), "dat_ia_query") ||
	    consumer_address(&a, buf, size) != buf)
		return "127.0.0.1";
	return buf;
}

int consumer_resolve(const char *host, struct sockaddr_storage *to)
{
	struct addrinfo hint = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *list;
	int err = getaddrinfo(host, NULL, &hint, &list);

	if (err) {
		hint.ai_family = AF_INET6;
		err = getaddrinfo(host, NULL, &hint, &list);
	}
	if (err) {
		fprintf(stderr, "cannot find the address of host %s: %s\n", host, gai_strerror(err));
		return -1;
	}
	memcpy(to, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return 0;
}

int consumer_request(struct consumer *c, const char *host, uint64_t conn_qual, uint32_t timeout_us,
		     const void *pd, int len)
{
	struct sockaddr_storage to;

	if (consumer_resolve(host, &to))
		return -1;
	return dat_ok(dat_ep_connect(c->ep, (DAT_IA_ADDRESS_PTR)&to, conn_qual, timeout_us, len,
				     (DAT_PVOID)(uintptr_t)pd, DAT_QOS_BEST_EFFORT,
				     DAT_CONNECT_DEFAULT_FLAG), "dat_ep_connect") ? 0 : -1;
}

int consumer_connect(struct consumer *c, const char *host, uint64_t conn_qual,
		     uint32_t timeout_us, const void *my_pd, int my_len, void *pd, int *pd_len)
{
	if (consumer_request(c, host, conn_qual, timeout_us, my_pd, my_len))
		return -1;
	if (!consumer_wait_established(c, pd, pd_len))
		return 0;
	fprintf(stderr, c->end == DAT_CONNECTION_EVENT_PEER_REJECTED ?
		"the program that listens on %s, at %llu (-p), refused: see its output; both sides must run "
		"the same program and release\n" : "does the other side listen on %s, at %llu (-p)?\n", host,
		(unsigned long long)conn_qual);
	return -1;
}

int consumer_wait_established(struct consumer *c, void *pd, int *pd_len)
{
	DAT_CONNECTION_EVENT_DATA *d;
	DAT_COUNT more;
	DAT_EVENT ev;

	if (!dat_ok(dat_evd_wait(c->conn_evd, DAT_TIMEOUT_INFINITE, 1, &ev, &more),
		    "dat_evd_wait for the connection"))
		return -1;
	c->end = ev.event_number;
	if (ev.event_number != DAT_CONNECTION_EVENT_ESTABLISHED) {
		fprintf(stderr, "not connected: %s\n", dat_event_name(ev.event_number));
		return -1;
	}
	d = &ev.event_data.connect_event_data;
	if (pd) {
		if (d->private_data_size < *pd_len)
			*pd_len = d->private_data_size;
		memcpy(pd, d->private_data, (size_t)*pd_len);
	}
	return 0;
}

bool consumer_ended(struct consumer *c)
{
	DAT_EVENT ev;

	if (c->broken)
		return true;
	if (dat_evd_dequeue(c->conn_evd, &ev) != DAT_SUCCESS)
		return false;
	c->end = ev.event_number;
	c->broken = true;
	return true;
}

static int next_event(struct consumer *c, DAT_EVD_HANDLE evd, DAT_EVENT *ev, uint64_t until)
{
	unsigned int spins = 0;
	DAT_COUNT more;
	DAT_RETURN ret;

	for (;;) {
		if (c->blocking)
			ret = dat_evd_wait(evd, 100000, 1, ev, &more);
		else
			ret = dat_evd_dequeue(evd, ev);
		if (ret == DAT_SUCCESS)
			return 0;
		if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY &&
		    DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED &&
		    DAT_GET_TYPE(ret) != DAT_INTERRUPTED_CALL) {
			dat_ok(ret, "waiting for a completion");
			return -1;
		}
		if (!c->blocking && ++spins % SPINS_PER_YIELD)
			continue;
		if (consumer_ended(c) || now_ns() > until)
			return -1;
		sched_yield();
	}
}

int consumer_completion(struct consumer *c, DAT_EVD_HANDLE evd, DAT_EVENT *ev)
{
	if (next_event(c, evd, ev, now_ns() + c->idle_ns) == 0)
		return 0;
	/* A completion that is older than the end of the connection is still returned. */
	if (c->broken && dat_evd_dequeue(evd, ev) == DAT_SUCCESS)
		return 0;
	if (!c->broken)
		fprintf(stderr, "no completion has come for %llu s: is the peer stopped?\n",
			(unsigned long long)(c->idle_ns / 1000000000u));
	return -1;
}

/* Polls some more after the timeout, because a busy host may not have run this process before. */
int consumer_wait_end(struct consumer *c, uint64_t timeout_ns)
{
	enum { LATE_LOOKS = 1000 };
	uint64_t until = now_ns() + timeout_ns;
	unsigned int late = 0;

	while (!consumer_ended(c)) {
		if (now_ns() > until && late++ == LATE_LOOKS)
			return -1;
		sched_yield();
	}
	return 0;
}

int consumer_heard_end(struct consumer *c)
{
	return consumer_wait_end(c, 10 * 1000000000ull);
}
