/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/efa_dat/rig.h"

#include <arpa/inet.h>
#include <dat/dat_registry.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct end a, b;

/* ---- Messages: replaces core's log ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char text[65536];
static size_t length;

void dap_log(unsigned int kind, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	(void)kind;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&lock);
	if (length + strlen(line) + 2 < sizeof(text))
		length += (size_t)sprintf(text + length, "%s\n", line);
	pthread_mutex_unlock(&lock);
}

bool was_said(const char *words)
{
	bool found;

	pthread_mutex_lock(&lock);
	found = strstr(text, words) != NULL;
	pthread_mutex_unlock(&lock);
	return found;
}

void said(const char *words)
{
	cr_assert(TH_WITHIN(SOON_MS, was_said(words)), "no log line contains `%s'; the log:\n%s",
		  words, text);
}

/* ---- Ends ---- */

static DAT_EVD_HANDLE evd(struct end *e, int flags)
{
	DAT_EVD_HANDLE h = DAT_HANDLE_NULL;

	ok(dat_evd_create(e->ia, 128, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)flags, &h));
	return h;
}

static DAT_EP_ATTR attr(void)
{
	return (DAT_EP_ATTR){
		.max_recv_dtos = DTOS, .max_request_dtos = DTOS, .max_recv_iov = 2,
		.max_request_iov = 2, .max_rdma_read_in = 4, .max_rdma_read_out = 4,
		.max_rdma_read_iov = 2, .max_rdma_write_iov = 2,
	};
}

void end_new_ep(struct end *e)
{
	DAT_EP_ATTR ep = attr();

	ok(dat_ep_create(e->ia, e->pz, e->recv, e->req, e->conn, &ep, &e->ep));
}

void end_open(struct end *e, const char *name, const char *params)
{
	DAT_PROVIDER_INFO info = { .dapl_version_major = DAT_VERSION_MAJOR,
				   .dapl_version_minor = DAT_VERSION_MINOR,
				   .is_thread_safe = DAT_FALSE };
	DAT_REGION_DESCRIPTION region;

	setenv("DAT_OVERRIDE", "/dev/null", 1);
	snprintf(info.ia_name, sizeof(info.ia_name), "%s", name);
	dat_provider_init(&info, params);
	*e = (struct end){ .mem = aligned_alloc(4096, MEM) };
	memset(e->mem, 0, MEM);
	region.for_va = e->mem;
	ok(dat_ia_open((DAT_NAME_PTR)(uintptr_t)name, 8, &e->async, &e->ia));
	ok(dat_pz_create(e->ia, &e->pz));
	e->cr = evd(e, DAT_EVD_CR_FLAG);
	e->conn = evd(e, DAT_EVD_CONNECTION_FLAG);
	e->recv = evd(e, DAT_EVD_DTO_FLAG);
	e->req = evd(e, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	end_new_ep(e);
	ok(dat_lmr_create(e->ia, DAT_MEM_TYPE_VIRTUAL, region, MEM, e->pz, DAT_MEM_PRIV_ALL_FLAG,
			  &e->lmr, &e->lmr_context, &e->rmr_context, NULL, NULL));
}

void end_close(struct end *e)
{
	ok(dat_ia_close(e->ia, DAT_CLOSE_ABRUPT_FLAG));
	free(e->mem);
}

DAT_CR_HANDLE end_request(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	DAT_EVENT ev;

	if (!b.psp)
		ok(dat_psp_create_any(b.ia, &b.qual, b.cr, DAT_PSP_CONSUMER_FLAG, &b.psp));
	ok(dat_ep_connect(a.ep, (DAT_IA_ADDRESS_PTR)&to, b.qual, SOON_MS * 1000u, 0, NULL,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	cr_assert(TH_WITHIN(SOON_MS, dat_evd_dequeue(b.cr, &ev) == DAT_SUCCESS));
	return ev.event_data.cr_arrival_event_data.cr_handle;
}

void pair_join(void)
{
	ok(dat_cr_accept(end_request(), b.ep, 0, NULL));
	took_conn(&b, DAT_CONNECTION_EVENT_ESTABLISHED);
	took_conn(&a, DAT_CONNECTION_EVENT_ESTABLISHED);
}

void pair_open(const char *a_params, const char *b_params)
{
	end_open(&a, "soft-efa-0", a_params);
	end_open(&b, "soft-efa-1", b_params);
	pair_join();
}

void pair_close(void)
{
	end_close(&a);
	end_close(&b);
}

struct dap_ep *inner(const struct end *e)
{
	return (struct dap_ep *)e->ep;
}

struct efa_ep *inner_efa(const struct end *e)
{
	return efa_ep(inner(e));
}

struct softnic_efa *device(const struct end *e)
{
	return efa_ia((struct dap_ia *)e->ia)->ctl->soft;
}

/* ---- Requests ---- */

static DAT_LMR_TRIPLET near(const struct end *e, uint32_t off, uint32_t len)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = e->lmr_context,
				  .virtual_address = (uintptr_t)e->mem + off,
				  .segment_length = len };
}

static DAT_RMR_TRIPLET far(const struct end *e, uint32_t off, uint32_t len)
{
	const struct end *t = e == &a ? &b : &a;

	return (DAT_RMR_TRIPLET){ .rmr_context = t->rmr_context,
				  .target_address = (uintptr_t)t->mem + off,
				  .segment_length = len };
}

DAT_RETURN do_send(struct end *e, uint64_t cookie, uint32_t off, uint32_t len)
{
	DAT_LMR_TRIPLET l = near(e, off, len);

	return dat_ep_post_send(e->ep, 1, &l, (DAT_DTO_COOKIE){ .as_64 = cookie },
				DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN do_recv(struct end *e, uint64_t cookie, uint32_t off, uint32_t len)
{
	DAT_LMR_TRIPLET l = near(e, off, len);

	return dat_ep_post_recv(e->ep, 1, &l, (DAT_DTO_COOKIE){ .as_64 = cookie },
				DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN do_write(struct end *e, uint64_t cookie, uint32_t off, uint32_t at, uint32_t len)
{
	DAT_LMR_TRIPLET l = near(e, off, len);
	DAT_RMR_TRIPLET r = far(e, at, len);

	return dat_ep_post_rdma_write(e->ep, 1, &l, (DAT_DTO_COOKIE){ .as_64 = cookie }, &r,
				      DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN do_read(struct end *e, uint64_t cookie, uint32_t off, uint32_t at, uint32_t len)
{
	DAT_LMR_TRIPLET l = near(e, off, len);
	DAT_RMR_TRIPLET r = far(e, at, len);

	return dat_ep_post_rdma_read(e->ep, 1, &l, (DAT_DTO_COOKIE){ .as_64 = cookie }, &r,
				     DAT_COMPLETION_DEFAULT_FLAG);
}

/* ---- Events ---- */

DAT_DTO_COMPLETION_STATUS took(DAT_EVD_HANDLE from, uint64_t cookie)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EVENT ev;

	cr_assert(TH_WITHIN(SOON_MS, dat_evd_dequeue(from, &ev) == DAT_SUCCESS),
		  "no completion has the cookie %llu; the log:\n%s", (unsigned long long)cookie,
		  text);
	d = &ev.event_data.dto_completion_event_data;
	cr_assert_eq(d->user_cookie.as_64, cookie);
	return d->status;
}

void took_none(DAT_EVD_HANDLE from)
{
	DAT_EVENT ev;

	cr_assert_neq(dat_evd_dequeue(from, &ev), DAT_SUCCESS);
}

void took_conn(struct end *e, DAT_EVENT_NUMBER number)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	cr_assert_eq(dat_evd_wait(e->conn, SOON_MS * 1000u, 1, &ev, &more), DAT_SUCCESS,
		     "no connection event came; the log:\n%s", text);
	cr_assert_eq(ev.event_number, number, "the wrong connection event 0x%x came; the log:\n%s",
		     ev.event_number, text);
	cr_assert_eq(ev.event_data.connect_event_data.ep_handle, e->ep);
}

void both_broken(void)
{
	DAT_EVENT ev;

	took_conn(&a, DAT_CONNECTION_EVENT_BROKEN);
	took_conn(&b, DAT_CONNECTION_EVENT_BROKEN);
	cr_assert_neq(dat_evd_dequeue(a.conn, &ev), DAT_SUCCESS);
	cr_assert_neq(dat_evd_dequeue(b.conn, &ev), DAT_SUCCESS);
}
