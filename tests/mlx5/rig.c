/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "softnic/softnic.h"
#include "tests/harness/harness.h"
#include "tests/mlx5/rig.h"

/* Freed objects. As in core, their memory is reused only for objects of the same type. */
static struct dap_obj *dead[FAKE_OBJECTS];
static unsigned int ndead;

static void *dead_take(enum dap_type type)
{
	for (unsigned int i = 0; i < ndead; i++) {
		struct dap_obj *o = dead[i];

		if (o->type == (type | 0x100)) {
			dead[i] = dead[--ndead];
			return o;
		}
	}
	return NULL;
}

static void *obj_new(struct rig *r, enum dap_type type, size_t size)
{
	struct dap_obj *o = dead_take(type);

	if (!o)
		o = aligned_alloc(64, (size + 63) & ~(size_t)63);
	memset(o, 0, size);
	o->type = (uint16_t)type;
	o->ia = r->ia ? r->ia : (struct dap_ia *)o;
	cr_assert_lt(fake.nobj, FAKE_OBJECTS);
	fake.obj[fake.nobj++] = o;
	return o;
}

static void obj_free(void *obj)
{
	struct dap_obj *o = obj;

	for (unsigned int i = 0; i < fake.nobj; i++) {
		if (fake.obj[i] == o) {
			fake.obj[i] = fake.obj[--fake.nobj];
			break;
		}
	}
	o->type |= 0x100;
	cr_assert_lt(ndead, FAKE_OBJECTS);
	dead[ndead++] = o;
}

static void dead_free(void)
{
	while (ndead)
		free(dead[--ndead]);
}

int rig_evd(struct rig *r, unsigned int qlen, struct dap_evd **out)
{
	struct dap_evd *evd = obj_new(r, DAP_EVD, sizeof(*evd));
	int err = m5_hw.cq_create(evd, qlen);

	if (err) {
		obj_free(evd);
		return err;
	}
	evd->has_cq = true;
	*out = evd;
	return 0;
}

void rig_evd_free(struct dap_evd *evd)
{
	m5_hw.cq_destroy(evd);
	obj_free(evd);
}

int rig_ep(struct rig *r, struct rig_side *s, struct dap_ep **out)
{
	struct dap_ep *ep = obj_new(r, DAP_EP, sizeof(*ep));
	int err;

	ep->obj.table = r->ia->tables[DAP_TABLE_CHECKED];
	ep->pz = r->pz;
	ep->request_evd = s->request;
	ep->recv_evd = s->recv;
	ep->attr = r->attr;
	ep->srq = s->srq;
	err = m5_hw.qp_create(ep);
	if (err) {
		obj_free(ep);
		return err;
	}
	ep->has_qp = true;
	*out = ep;
	return 0;
}

void rig_ep_free(struct dap_ep *ep)
{
	m5_hw.qp_destroy(ep);
	obj_free(ep);
}

static void live(struct dap_ep *ep)
{
	ep->state = DAP_EP_CONNECTED;
	ep->obj.table = ep->obj.ia->tables[DAP_TABLE_EP_LIVE];
}

int rig_connect(struct dap_ep *a, struct dap_ep *b)
{
	int err = m5_hw.qp_address(a);

	if (!err)
		err = m5_hw.qp_address(b);
	if (err)
		return err;
	a->remote_path = b->local_path;
	b->remote_path = a->local_path;
	err = m5_hw.qp_connect(a);
	if (!err)
		err = m5_hw.qp_connect(b);
	if (err)
		return err;
	live(a);
	live(b);
	return 0;
}

int rig_rmr(struct rig *r, struct dap_rmr **out)
{
	struct dap_rmr *rmr = obj_new(r, DAP_RMR, sizeof(*rmr));
	int err;

	rmr->pz = r->pz;
	err = m5_hw.rmr_create(rmr);
	if (err) {
		obj_free(rmr);
		return err;
	}
	*out = rmr;
	return 0;
}

void rig_rmr_free(struct dap_rmr *rmr)
{
	m5_hw.rmr_destroy(rmr);
	obj_free(rmr);
}

int rig_srq(struct rig *r, uint32_t recvs, uint32_t iov, struct dap_srq **out)
{
	struct dap_srq *srq = obj_new(r, DAP_SRQ, sizeof(*srq));
	int err;

	srq->pz = r->pz;
	srq->max_recv_dtos = recvs;
	srq->max_recv_iov = iov;
	err = m5_hw.srq_create(srq);
	if (err) {
		obj_free(srq);
		return err;
	}
	*out = srq;
	return 0;
}

void rig_srq_free(struct dap_srq *srq)
{
	m5_hw.srq_destroy(srq);
	obj_free(srq);
}

static int lmr_enter(struct dap_ia *ia, struct dap_lmr *lmr)
{
	struct dap_lmr_page **page = &ia->lmr_dir[lmr->lmr_context >> 20];

	if (!*page)
		*page = calloc(1, sizeof(**page));
	if (!*page)
		return -ENOMEM;
	(*page)->lmr[lmr->lmr_context >> 8 & 0xfff] = lmr;
	return 0;
}

int rig_lmr(struct rig *r, const struct rig_side *s, bool zero_based, struct dap_lmr **out)
{
	struct dap_lmr *lmr = obj_new(r, DAP_LMR, sizeof(*lmr));
	int err;

	lmr->pz = r->pz;
	lmr->mem = (uintptr_t)s->mem;
	lmr->addr = zero_based ? 0 : lmr->mem;
	lmr->zero_based = zero_based;
	lmr->length = RIG_BYTES;
	lmr->priv = DAP_PRIV_ALL;
	err = m5_hw.lmr_create(lmr);
	if (!err)
		err = lmr_enter(r->ia, lmr);
	if (err)
		obj_free(lmr);
	else
		*out = lmr;
	return err;
}

void rig_lmr_free(struct dap_lmr *lmr)
{
	struct dap_ia *ia = lmr->obj.ia;

	ia->lmr_dir[lmr->lmr_context >> 20]->lmr[lmr->lmr_context >> 8 & 0xfff] = NULL;
	m5_hw.lmr_destroy(lmr);
	obj_free(lmr);
}

static int memory_open(struct rig *r, struct rig_side *s)
{
	int err;

	s->mem = mmap(NULL, RIG_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	err = rig_lmr(r, s, false, &s->lmr);
	if (err)
		munmap(s->mem, RIG_BYTES);
	return err;
}

static void memory_close(struct rig_side *s)
{
	rig_lmr_free(s->lmr);
	munmap(s->mem, RIG_BYTES);
}

static int side_open(struct rig *r, struct rig_side *s, unsigned int qlen)
{
	int err = memory_open(r, s);

	if (err)
		return err;
	err = rig_evd(r, qlen, &s->request);
	if (err)
		goto err_memory;
	err = rig_evd(r, qlen, &s->recv);
	if (err)
		goto err_request;
	err = rig_ep(r, s, &s->ep);
	if (err)
		goto err_recv;
	return 0;

err_recv:
	rig_evd_free(s->recv);
err_request:
	rig_evd_free(s->request);
err_memory:
	memory_close(s);
	return err;
}

static void side_close(struct rig_side *s)
{
	rig_ep_free(s->ep);
	rig_evd_free(s->recv);
	rig_evd_free(s->request);
	memory_close(s);
}

static void ia_free(struct rig *r)
{
	for (unsigned int i = 0; i < 4096; i++)
		free(r->ia->lmr_dir[i]);
	obj_free(r->ia);
	dead_free();
}

static const char live_table, checked_table;	/* only the addresses of these tables matter */

enum rig_variant rig_variant;

static int ia_open(struct rig *r, const struct rig_config *c)
{
	static const char *const extra[] = {
		[RIG_MODEL] = "", [RIG_SILICON] = "variant=silicon", [RIG_LOCKED] = "",
		[RIG_ADVERSARIAL] = "adversarial=1",
	};
	char why[256] = "", params[256];
	int err;

	r->ia = obj_new(r, DAP_IA, sizeof(*r->ia));
	strcpy(r->ia->name, "soft-mlx5-0");
	r->ia->threadsafe = rig_variant == RIG_LOCKED;
	snprintf(params, sizeof(params), "%s %s", extra[rig_variant], c->params ? c->params : "");
	r->ia->tables[DAP_TABLE_CHECKED] = &checked_table;
	r->ia->tables[DAP_TABLE_EP_LIVE] = &live_table;
	err = m5_hw.open(r->ia, params, why, sizeof(why));
	if (err) {
		if (!fake.quiet)
			fprintf(stderr, "open: %s\n", why);
		ia_free(r);
		return err;
	}
	r->hot = m5_hw.hot(r->ia, DAP_API_12);
	return 0;
}

static void defaults(struct dap_ep_attr *a, const struct rig_config *c)
{
	uint32_t *fields[] = { &a->max_recv_iov, &a->max_request_iov, &a->max_rdma_read_iov,
			       &a->max_rdma_write_iov, &a->max_rdma_read_in, &a->max_rdma_read_out };

	*a = c->attr;
	for (unsigned int i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!*fields[i])
			*fields[i] = 4;
	if (!a->max_recv_dtos)
		a->max_recv_dtos = 16;
	if (!a->max_request_dtos)
		a->max_request_dtos = 16;
	if (!a->max_message_size)
		a->max_message_size = 1 << 20;
	if (!a->max_rdma_size)
		a->max_rdma_size = 1 << 20;
}

int rig_open(struct rig *r, const struct rig_config *c)
{
	int err;

	memset(r, 0, sizeof(*r));
	defaults(&r->attr, c);
	err = ia_open(r, c);
	if (err)
		return err;
	r->pz = obj_new(r, DAP_PZ, sizeof(*r->pz));
	err = m5_hw.pz_create(r->pz);
	if (err)
		goto err_ia;
	err = side_open(r, &r->a, c->qlen ? c->qlen : 64);
	if (err)
		goto err_pz;
	err = side_open(r, &r->b, c->qlen ? c->qlen : 64);
	if (err)
		goto err_a;
	err = rig_connect(r->a.ep, r->b.ep);
	if (err)
		goto err_b;
	return 0;

err_b:
	side_close(&r->b);
err_a:
	side_close(&r->a);
err_pz:
	m5_hw.pz_destroy(r->pz);
err_ia:
	obj_free(r->pz);
	m5_hw.close(r->ia);
	ia_free(r);
	return err;
}

static void judge(struct softnic *nic, const char *excused)
{
	static const char *const kinds[] = { "qp", "cq", "mkey", "pd", "rmp" };
	struct softnic_violation v[16];
	size_t n = softnic_violations(nic, v, 16);

	for (size_t i = 0; i < n && i < 16; i++) {
		if (excused && !strcmp(v[i].name, excused))
			continue;
		cr_expect_fail("the device reports a violation: %s: %s", v[i].name, v[i].detail);
	}
	for (int i = 0; i < 5; i++)
		cr_expect_eq(softnic_object_count(nic, kinds[i]), 0,
			     "an object of kind %s is left in the device", kinds[i]);
}

void rig_close(struct rig *r, const char *excused)
{
	side_close(&r->b);
	side_close(&r->a);
	m5_hw.pz_destroy(r->pz);
	obj_free(r->pz);
	judge(m5_ia(r->ia)->ctl->soft, excused);
	fake.quiet = true;
	m5_hw.close(r->ia);
	fake.quiet = false;
	ia_free(r);
}

DAT_LMR_TRIPLET rig_local(const struct rig_side *s, size_t off, size_t len)
{
	DAT_LMR_TRIPLET t = { .lmr_context = s->lmr->lmr_context,
			      .virtual_address = (uintptr_t)s->mem + off,
			      .segment_length = len };

	return t;
}

DAT_RMR_TRIPLET rig_remote(const struct rig_side *s, size_t off, size_t len)
{
	DAT_RMR_TRIPLET t = { .rmr_context = s->lmr->rmr_context,
			      .target_address = (uintptr_t)s->mem + off,
			      .segment_length = len };

	return t;
}

/* Checks that this thread has not taken over a CQ. Others take over the CQ with a lock held, so a
 * thread that has taken one over may take no lock. */
static void is_outside(void *evd)
{
	cr_assert_not(__atomic_load_n(&m5_cq(evd)->in_poll, __ATOMIC_RELAXED),
		      "the thread takes a lock while it polls the CQ");
}

bool rig_event(struct rig *r, struct dap_evd *evd, DAT_EVENT *event)
{
	bool got;

	th_at_locks(is_outside, evd);
	got = TH_WITHIN(20000, r->hot->evd_dequeue(evd, event) == DAT_SUCCESS);
	th_at_locks(NULL, NULL);
	return got;
}

bool rig_empty(struct rig *r, struct dap_evd *evd)
{
	DAT_EVENT event;

	for (int i = 0; i < 3; i++) {
		if (r->hot->evd_dequeue(evd, &event) == DAT_SUCCESS)
			return false;
		th_yield();
	}
	return true;
}
