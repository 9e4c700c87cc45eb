/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "tests/efa/rig.h"

static void *object(struct rig *r, enum dap_type type, size_t size)
{
	struct dap_obj *o = aligned_alloc(64, (size + 63) & ~(size_t)63);

	cr_assert_not_null(o);
	memset(o, 0, size);
	o->type = (uint16_t)type;
	o->ia = r->ia ? r->ia : (struct dap_ia *)o;
	return o;
}

/* Puts an LMR into a directory like that of core. */
static void enter(struct dap_ia *ia, struct dap_lmr *lmr)
{
	struct dap_lmr_page **page = &ia->lmr_dir[lmr->lmr_context >> 20];

	if (!*page)
		*page = calloc(1, sizeof(**page));
	(*page)->lmr[lmr->lmr_context >> 8 & 0xfff] = lmr;
}

static void memory_open(struct rig *r, struct side *s, size_t len)
{
	s->mem = aligned_alloc(4096, len);
	memset(s->mem, 0, len);
	s->lmr = object(r, DAP_LMR, sizeof(*s->lmr));
	s->lmr->pz = s->pz;
	s->lmr->addr = (uintptr_t)s->mem;
	s->lmr->length = len;
	s->lmr->priv = DAP_PRIV_ALL;
	cr_assert_eq(efa_hw.lmr_create(s->lmr), 0);
	enter(r->ia, s->lmr);
}

static void memory_close(struct side *s)
{
	efa_hw.lmr_destroy(s->lmr);
	free(s->lmr);
	free(s->mem);
}

void rig_memory(struct rig *r, size_t len)
{
	memory_close(&r->a);
	memory_close(&r->b);
	memory_open(r, &r->a, len);
	memory_open(r, &r->b, len);
}

static void side_open(struct rig *r, struct side *s)
{
	s->pz = object(r, DAP_PZ, sizeof(*s->pz));
	cr_assert_eq(efa_hw.pz_create(s->pz), 0);
	memory_open(r, s, RIG_MEM);
	s->req = object(r, DAP_EVD, sizeof(*s->req));
	s->recv = object(r, DAP_EVD, sizeof(*s->recv));
	cr_assert_eq(efa_hw.cq_create(s->req, 256), 0);
	cr_assert_eq(efa_hw.cq_create(s->recv, 256), 0);
}

static void side_close(struct side *s)
{
	efa_hw.cq_destroy(s->req);
	efa_hw.cq_destroy(s->recv);
	memory_close(s);
	efa_hw.pz_destroy(s->pz);
	free(s->req);
	free(s->recv);
	free(s->pz);
}

static void ep_create(struct rig *r, struct side *s)
{
	s->ep = object(r, DAP_EP, sizeof(*s->ep));
	s->ep->pz = s->pz;
	s->ep->recv_evd = s->recv;
	s->ep->request_evd = s->req;
	s->ep->attr = (struct dap_ep_attr){
		.max_message_size = INT32_MAX, .max_rdma_size = INT32_MAX,
		.max_recv_dtos = RIG_DTOS, .max_request_dtos = RIG_DTOS, .max_recv_iov = 4,
		.max_request_iov = 4, .max_rdma_read_in = 4, .max_rdma_read_out = 4,
		.max_rdma_read_iov = 4, .max_rdma_write_iov = 4,
	};
	cr_assert_eq(efa_hw.qp_create(s->ep), 0);
	s->ep->has_qp = true;
	cr_assert_eq(efa_hw.qp_address(s->ep), 0);
}

void rig_endpoints(struct rig *r)
{
	ep_create(r, &r->a);
	ep_create(r, &r->b);
	r->a.ep->remote_path = r->b.ep->local_path;
	r->b.ep->remote_path = r->a.ep->local_path;
	cr_assert_eq(efa_hw.qp_connect(r->b.ep), 0);
	cr_assert_eq(efa_hw.qp_connect(r->a.ep), 0);
	memset(&fake, 0, sizeof(fake));
	fake_ends[0] = r->a.ep;
	fake_ends[1] = r->b.ep;
}

void rig_endpoints_free(struct rig *r)
{
	struct dap_event ev;

	efa_hw.qp_destroy(r->a.ep);
	efa_hw.qp_destroy(r->b.ep);
	free(r->a.ep);
	free(r->b.ep);
	while (rig_poll(r->a.req, &ev) || rig_poll(r->b.req, &ev) || rig_poll(r->a.recv, &ev) ||
	       rig_poll(r->b.recv, &ev))
		cr_assert_fail("a freed endpoint got a completion");
}

struct dap_rmr *rig_rmr(struct rig *r, const struct side *s)
{
	struct dap_rmr *rmr = object(r, DAP_RMR, sizeof(*rmr));

	rmr->pz = s->pz;
	return rmr;
}

int rig_bind(struct dap_rmr *rmr, const struct side *s, uint32_t len, uint32_t *context)
{
	const struct efa_range to = {
		s->lmr, s->lmr->addr, len, DAP_PRIV_REMOTE_READ | DAP_PRIV_REMOTE_WRITE };

	s->ep->state = DAP_EP_CONNECTED;
	return efa_bind(rmr, s->ep, len ? &to : &(struct efa_range){ 0 }, 9, 0, context);
}

static uint64_t drawn;
static unsigned int turn;	/* alternates between the two ways to poll */

void rig_draw(uint64_t seed)
{
	drawn = seed;
}

/* Replaces the function of the C library. */
ssize_t getrandom(void *to, size_t len, unsigned int flags)
{
	(void)flags;
	for (size_t i = 0; i < len; i++) {
		drawn = drawn * 6364136223846793005u + 1442695040888963407u;
		((uint8_t *)to)[i] = (uint8_t)(drawn >> 56);
	}
	return (ssize_t)len;
}

void rig_open(struct rig *r, const char *params)
{
	char all[256], why[256] = "";

	memset(r, 0, sizeof(*r));
	turn = 0;
	snprintf(all, sizeof(all), "efa_step=1 %s", params);
	r->ia = object(r, DAP_IA, sizeof(*r->ia));
	strcpy(r->ia->name, "soft-efa-0");
	cr_assert_eq(efa_hw.open(r->ia, all, why, sizeof(why)), 0, "the IA cannot be opened: %s",
		     why);
	r->nic = efa_ia(r->ia)->ctl->soft;
	r->hot = efa_hw.hot(r->ia, DAP_API_12);
	side_open(r, &r->a);
	side_open(r, &r->b);
}

void rig_close(struct rig *r)
{
	side_close(&r->a);
	side_close(&r->b);
	for (unsigned int i = 0; i < 4096; i++)
		free(r->ia->lmr_dir[i]);
	efa_hw.close(r->ia);
	free(r->ia);
}

void rig_open_pair(struct rig *r, const char *params)
{
	rig_open(r, params);
	rig_endpoints(r);
}

void rig_close_pair(struct rig *r)
{
	rig_endpoints_free(r);
	rig_close(r);
}

/* Dequeues like a consumer, with the hot function of the device's variant. */
static bool dequeue(struct dap_evd *evd, struct dap_event *ev)
{
	const struct dap_hot *hot = efa_hw.hot(evd->obj.ia, DAP_API_12);
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event = { 0 };

	fake.event = (struct dap_event){ 0 };
	if (hot->evd_dequeue(evd, &event) != DAT_SUCCESS)
		return false;
	*ev = fake.event;
	if (ev->number)
		return true;
	dto = &event.event_data.dto_completion_event_data;
	ev->number = DAP_EV_DTO;
	ev->dto.ep = (struct dap_ep *)dto->ep_handle;
	ev->dto.cookie = dto->user_cookie.as_64;
	ev->dto.length = dto->transfered_length;
	ev->dto.status = (uint16_t)dto->status;
	return true;
}

/* Polls in one of two ways, because a waiter and a poller take completions by different paths and
 * may alternate. */
bool rig_poll(struct dap_evd *evd, struct dap_event *ev)
{
	return turn++ % 4 ? dequeue(evd, ev) : efa_hw.cq_poll(evd, ev);
}

struct dap_event rig_next(struct rig *r, struct dap_evd *evd)
{
	struct dap_event ev = { 0 };

	for (int i = 0; i < 200000; i++) {
		if (rig_poll(evd, &ev)) {
			r->trace = r->trace * 1000003 + (uint64_t)i + 1;
			return ev;
		}
		efa_tick(efa_ia(r->ia)->eng);
	}
	cr_assert_fail("the EVD got no event; last log line: %s", fake.said);
	return ev;
}

static DAT_LMR_TRIPLET local(const struct side *s, uint32_t off, uint32_t len)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = s->lmr->lmr_context,
				  .virtual_address = (uintptr_t)s->mem + off,
				  .segment_length = len };
}

static DAT_RMR_TRIPLET remote(struct rig *r, const struct side *s, uint32_t off, uint32_t len)
{
	const struct side *t = s == &r->a ? &r->b : &r->a;

	return (DAT_RMR_TRIPLET){ .rmr_context = t->lmr->rmr_context,
				  .target_address = (uintptr_t)t->mem + off,
				  .segment_length = len };
}

DAT_RETURN rig_send(struct rig *r, struct side *s, uint64_t cookie, uint32_t off, uint32_t len)
{
	DAT_LMR_TRIPLET t = local(s, off, len);

	return r->hot->post_send(s->ep, 1, &t, (DAT_DTO_COOKIE){ .as_64 = cookie }, 0);
}

DAT_RETURN rig_recv(struct rig *r, struct side *s, uint64_t cookie, uint32_t off, uint32_t len)
{
	DAT_LMR_TRIPLET t = local(s, off, len);

	return r->hot->post_recv(s->ep, 1, &t, (DAT_DTO_COOKIE){ .as_64 = cookie }, 0);
}

DAT_RETURN rig_write(struct rig *r, struct side *s, uint64_t cookie, uint32_t off, uint32_t to,
		     uint32_t len)
{
	DAT_LMR_TRIPLET t = local(s, off, len);
	DAT_RMR_TRIPLET m = remote(r, s, to, len);

	return r->hot->rdma_write(s->ep, 1, &t, (DAT_DTO_COOKIE){ .as_64 = cookie }, &m, 0);
}

DAT_RETURN rig_read(struct rig *r, struct side *s, uint64_t cookie, uint32_t off, uint32_t from,
		    uint32_t len)
{
	DAT_LMR_TRIPLET t = local(s, off, len);
	DAT_RMR_TRIPLET m = remote(r, s, from, len);

	return r->hot->rdma_read(s->ep, 1, &t, (DAT_DTO_COOKIE){ .as_64 = cookie }, &m, 0);
}
