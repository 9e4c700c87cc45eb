/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts, events and bytes of the rig. */
#include <string.h>

#include "tests/e2e/rig.h"

/* ---- Posts ---- */

DAT_LMR_TRIPLET seg(const struct end *e, size_t off, size_t len)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = e->lmr_context,
				  .virtual_address = (DAT_VADDR)(uintptr_t)(e->mem + off),
				  .segment_length = len };
}

DAT_RMR_TRIPLET through(DAT_RMR_CONTEXT context, const struct end *e, size_t off, size_t len)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = context,
				  .target_address = (DAT_VADDR)(uintptr_t)e->mem + off,
				  .segment_length = len };
}

DAT_RMR_TRIPLET far(const struct end *e, size_t off, size_t len)
{
	return through(e->rmr_context, e, off, len);
}

static DAT_DTO_COOKIE cookie_of(uint64_t cookie)
{
	return (DAT_DTO_COOKIE){ .as_64 = cookie };
}

DAT_RETURN do_recv(struct end *e, uint64_t cookie, size_t off, size_t len)
{
	DAT_LMR_TRIPLET t = seg(e, off, len);

	return dat_ep_post_recv(e->ep, 1, &t, cookie_of(cookie), DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN do_send(struct end *e, uint64_t cookie, size_t off, size_t len, int flags)
{
	DAT_LMR_TRIPLET t = seg(e, off, len);

	return dat_ep_post_send(e->ep, 1, &t, cookie_of(cookie), (DAT_COMPLETION_FLAGS)flags);
}

DAT_RETURN do_write(struct end *e, uint64_t cookie, size_t off, DAT_RMR_TRIPLET to, int flags)
{
	DAT_LMR_TRIPLET t = seg(e, off, to.segment_length);

	return dat_ep_post_rdma_write(e->ep, 1, &t, cookie_of(cookie), &to,
				      (DAT_COMPLETION_FLAGS)flags);
}

DAT_RETURN do_read(struct end *e, uint64_t cookie, size_t off, DAT_RMR_TRIPLET from, int flags)
{
	DAT_LMR_TRIPLET t = seg(e, off, from.segment_length);

	return dat_ep_post_rdma_read(e->ep, 1, &t, cookie_of(cookie), &from,
				     (DAT_COMPLETION_FLAGS)flags);
}

DAT_RETURN do_bind(struct end *e, DAT_RMR_HANDLE rmr, uint64_t cookie, size_t off, size_t len,
		   DAT_MEM_PRIV_FLAGS priv, DAT_RMR_CONTEXT *context)
{
	DAT_LMR_TRIPLET t = seg(e, off, len);
	DAT_RMR_COOKIE c = { .as_64 = cookie };

	return dat_rmr_bind(rmr, &t, priv, e->ep, c, DAT_COMPLETION_DEFAULT_FLAG, context);
}

bool rig_posted(DAT_RETURN ret)
{
	if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES)
		return false;
	must(ret);
	return true;
}

/* ---- Events ---- */

bool rig_sleeps;

bool rig_next(DAT_EVD_HANDLE evd, DAT_EVENT *ev, unsigned int ms)
{
	DAT_RETURN ret;
	DAT_COUNT more;

	if (!rig_sleeps)
		return TH_WITHIN(ms, dat_evd_dequeue(evd, ev) == DAT_SUCCESS);
	ret = dat_evd_wait(evd, ms * 1000, 1, ev, &more);
	if (DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED)
		must(ret);
	return ret == DAT_SUCCESS;
}

void rig_empty(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	must_fail(dat_evd_dequeue(evd, &ev), DAT_QUEUE_EMPTY);
}

static DAT_DTO_COMPLETION_EVENT_DATA dto(DAT_EVD_HANDLE evd, uint64_t cookie)
{
	DAT_EVENT ev;

	check(rig_next(evd, &ev, SOON_MS));
	same(ev.event_number, DAT_DTO_COMPLETION_EVENT);
	same(ev.evd_handle, evd);
	same(ev.event_data.dto_completion_event_data.user_cookie.as_64, cookie);
	return ev.event_data.dto_completion_event_data;
}

size_t took(DAT_EVD_HANDLE evd, uint64_t cookie, DAT_DTO_COMPLETION_STATUS status)
{
	DAT_DTO_COMPLETION_EVENT_DATA d = dto(evd, cookie);

	same(d.status, status);
	return d.transfered_length;
}

DAT_DTO_COMPLETION_STATUS took_error(DAT_EVD_HANDLE evd, uint64_t cookie)
{
	DAT_DTO_COMPLETION_EVENT_DATA d = dto(evd, cookie);

	check(d.status != DAT_DTO_SUCCESS);
	return d.status;
}

void took_range(DAT_EVD_HANDLE evd, uint64_t first, uint64_t last, DAT_DTO_COMPLETION_STATUS status)
{
	for (uint64_t i = first; i <= last; i++)
		took(evd, i, status);
}

void took_bind(DAT_EVD_HANDLE evd, DAT_RMR_HANDLE rmr, uint64_t cookie,
	       DAT_RMR_BIND_COMPLETION_STATUS status)
{
	DAT_EVENT ev;
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *b = &ev.event_data.rmr_completion_event_data;

	check(rig_next(evd, &ev, SOON_MS));
	same(ev.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	same(b->rmr_handle, rmr);
	same(b->user_cookie.as_64, cookie);
	same(b->status, status);
}

void took_conn(struct end *e, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	must(dat_evd_wait(e->conn_evd, SOON_MS * 1000u, 1, &ev, &more));
	same(ev.event_number, number);
	same(ev.event_data.connect_event_data.ep_handle, ep);
}

void took_ends(struct end *a, struct end *b, DAT_EVENT_NUMBER number)
{
	took_conn(a, a->ep, number);
	took_conn(b, b->ep, number);
	rig_empty(a->conn_evd);
	rig_empty(b->conn_evd);
}

/* ---- Bytes ---- */

static unsigned char byte_at(size_t i, uint64_t seed)
{
	uint64_t x = (seed + i / 8 + 1) * 0x9e3779b97f4a7c15u;

	x ^= x >> 29;
	return (unsigned char)(x * 0xbf58476d1ce4e5b9u >> (8 * (i % 8)));
}

void fill(void *mem, size_t len, uint64_t seed)
{
	unsigned char *p = mem;

	for (size_t i = 0; i < len; i++)
		p[i] = byte_at(i, seed);
}

bool filled(const void *mem, size_t len, uint64_t seed)
{
	const unsigned char *p = mem;

	for (size_t i = 0; i < len; i++) {
		if (p[i] != byte_at(i, seed))
			return false;
	}
	return true;
}

bool all_bytes(const void *mem, size_t len, int value)
{
	const unsigned char *p = mem;

	for (size_t i = 0; i < len; i++) {
		if (p[i] != (unsigned char)value)
			return false;
	}
	return true;
}

/* ---- A message of the pair ---- */

void pair_moves(struct end *a, struct end *b)
{
	fill(a->mem, 5000, 3);
	memset(b->mem + 10000, 0, 5000);
	must(do_recv(b, 1, 10000, 5000));
	must(do_send(a, 2, 0, 5000, 0));
	took(b->recv_evd, 1, DAT_DTO_SUCCESS);
	took(a->req_evd, 2, DAT_DTO_SUCCESS);
	check(filled(b->mem + 10000, 5000, 3));
}
