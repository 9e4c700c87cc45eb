/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "tests/softnic_efa/rig.h"

#define OK(call) cr_assert_eq(call, 0, "%s did not return 0", #call)

void put16(uint8_t *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof(v));
}

void put32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static void put64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

void fill(uint8_t *p, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		p[i] = (uint8_t)(seed >> 24);
	}
}

static void on_event(void *ctx, uint16_t cq)
{
	struct side *s = ctx;

	(void)cq;
	__atomic_fetch_add(&s->events, 1, __ATOMIC_RELEASE);
}

static uint16_t cq_taken(void *ctx, uint16_t cq, uint16_t sub)
{
	const struct side *s = ctx;

	(void)cq;
	return (uint16_t)__atomic_load_n(&s->cc[sub], __ATOMIC_RELAXED);
}

/*
 * Bus addresses of mem are scattered: page i after its first one has the bus page 5 i mod 512. 205
 * is the inverse of 5. The device never asks for bytes beyond the end of a page.
 */
enum { BUS_PAGES = 512, STEP = 5, BACK = 205 };

static uint8_t *first_page(const struct side *s)
{
	return s->mem - (uintptr_t)s->mem % PAGE;
}

uint64_t bus_of(const struct side *s, uint32_t off)
{
	uint64_t at = (uint64_t)(s->mem - first_page(s)) + off;

	return at / PAGE * STEP % BUS_PAGES * PAGE + at % PAGE;
}

static void *dma(void *ctx, uint64_t addr, size_t len)
{
	struct side *s = ctx;

	cr_assert_leq(addr % PAGE + len, PAGE,
		      "the device accesses %#llx +%zu, across the end of a page",
		      (unsigned long long)addr, len);
	if (addr + len > s->refused && addr < s->refused + s->refused_len)
		return NULL;
	if (addr >= BUS_CQ)
		return s->rings + (addr - BUS_CQ);
	return first_page(s) + addr / PAGE * BACK % BUS_PAGES * PAGE + addr % PAGE;
}

static int register_pages(struct side *s, unsigned int access)
{
	uint64_t list[MEM / PAGE + 1];
	struct softnic_efa_pages pages = { .list = list, .shift = 12,
					   .n = MEM / PAGE + ((uintptr_t)s->mem % PAGE != 0) };

	for (uint32_t i = 0; i < pages.n; i++)
		list[i] = (uint64_t)i * STEP % BUS_PAGES * PAGE;
	return softnic_efa_mr_reg_pages(s->nic, s->pd, &pages, MEM, (uintptr_t)s->mem, access, &s->lkey,
					&s->rkey);
}

static uint32_t or_else(uint32_t n, uint32_t standard)
{
	return n ? n : standard;
}

void side_objects(struct side *s, const struct setup *setup)
{
	struct softnic_efa_qp_attr attr = {
		.sq_depth = or_else(setup->sq, 64), .rq_depth = or_else(setup->rq, 64),
		.flags = setup->qp_flags, .rq_bus_addr = BUS_RQ,
	};
	unsigned int access = SOFTNIC_EFA_LOCAL_WRITE |
			      (s->caps.rdma_read ? SOFTNIC_EFA_REMOTE_READ : 0) |
			      (s->caps.rdma_write ? SOFTNIC_EFA_REMOTE_WRITE : 0);

	OK(softnic_efa_pd_alloc(s->nic, &s->pd));
	s->cq_attr = (struct softnic_efa_cq_attr){
		.entries = or_else(setup->cq, setup->bus ? 64 : 256), .sub_cqs = s->caps.sub_cqs,
		.entry_size = (uint16_t)or_else(setup->cqe_size, 32), .flags = setup->cq_flags,
		.bus_addr = BUS_CQ,
	};
	s->cq_attr.flags |= setup->bus ? SOFTNIC_EFA_CQ_BUS : 0;
	attr.flags |= setup->bus ? SOFTNIC_EFA_QP_BUS_RQ : 0;
	OK(softnic_efa_cq_create(s->nic, &s->cq_attr, &s->cq));
	memset(s->cc, 0, sizeof(s->cc));
	attr.pd = s->pd;
	attr.send_cq = attr.recv_cq = s->cq.cq;
	OK(softnic_efa_qp_create(s->nic, &attr, &s->qp));
	if (setup->bus) {
		cr_assert_null(s->cq.ring);
		cr_assert_null(s->qp.rq.ring);
		s->cq.ring = s->rings;
		s->qp.rq.ring = s->rings + PAGE;
	}
	s->qp_flags = setup->qp_flags;
	s->sq_pc = s->rq_pc = 0;
	if (setup->bus)
		OK(register_pages(s, access));
	else
		OK(softnic_efa_mr_reg(s->nic, s->pd, s->mem, MEM, (uintptr_t)s->mem, access, &s->lkey,
				      &s->rkey));
}

void side_open(struct side *s, const struct setup *setup)
{
	struct softnic_efa_config config = {
		.flags = setup->flags, .seed = setup->seed ? setup->seed : 1,
		.profile = setup->profile, .window = setup->window,
		.host = { .cq_event = on_event, .cq_taken = cq_taken, .dma = setup->bus ? dma : NULL,
			  .ctx = s },
	};

	*s = (struct side){ .mem = calloc(1, MEM) };
	OK(softnic_efa_open(&config, &s->nic));
	OK(softnic_efa_fault(s->nic, "unnamed=0"));
	softnic_efa_caps(s->nic, &s->caps);
	side_objects(s, setup);
}

void side_free_objects(struct side *s)
{
	OK(softnic_efa_qp_destroy(s->nic, s->qp.handle));
	OK(softnic_efa_mr_dereg(s->nic, s->lkey));
	OK(softnic_efa_ah_destroy(s->nic, s->pd, s->ah));
	OK(softnic_efa_cq_destroy(s->nic, s->cq.cq));
	OK(softnic_efa_pd_dealloc(s->nic, s->pd));
}

void side_close(struct side *s)
{
	side_free_objects(s);
	softnic_efa_close(s->nic);
	free(s->mem);
}

void side_modify(struct side *s, enum softnic_efa_qp_state to, uint8_t rnr_retry)
{
	struct softnic_efa_modify m = { .mask = SOFTNIC_EFA_SET_STATE, .state = to };

	if (to == SOFTNIC_EFA_INIT)
		m.mask |= SOFTNIC_EFA_SET_QKEY;
	if (to == SOFTNIC_EFA_RTS)
		m.mask |= SOFTNIC_EFA_SET_SQ_PSN;
	if (rnr_retry)
		m.mask |= SOFTNIC_EFA_SET_RNR_RETRY;
	m.qkey = QKEY;
	m.rnr_retry = rnr_retry;
	OK(softnic_efa_qp_modify(s->nic, s->qp.handle, &m));
}

void side_ready(struct side *s, uint8_t rnr_retry)
{
	side_modify(s, SOFTNIC_EFA_INIT, 0);
	side_modify(s, SOFTNIC_EFA_RTR, 0);
	side_modify(s, SOFTNIC_EFA_RTS, rnr_retry);
}

void side_name(struct side *s, uint16_t qpn, void *mem, uint32_t rkey)
{
	s->peer_qpn = qpn;
	s->peer_mem = mem;
	s->peer_rkey = rkey;
}

void side_meet(struct side *a, struct side *b)
{
	OK(softnic_efa_ah_create(a->nic, a->pd, b->caps.gid, &a->ah));
	OK(softnic_efa_ah_create(b->nic, b->pd, a->caps.gid, &b->ah));
	side_name(a, b->qp.qpn, b->mem, b->rkey);
	side_name(b, a->qp.qpn, a->mem, a->rkey);
}

void pair_open(struct side *a, struct side *b, const struct setup *setup)
{
	struct setup s = *setup;

	s.flags |= SOFTNIC_EFA_NO_THREAD;
	side_open(a, &s);
	s.seed = 2 * (s.seed ? s.seed : 1) + 1;
	side_open(b, &s);
	side_meet(a, b);
	side_ready(a, s.rnr_retry);
	side_ready(b, s.rnr_retry);
}

void pair_close(struct side *a, struct side *b)
{
	side_close(a);
	side_close(b);
}

void pair_abandon(struct side *a, struct side *b)
{
	softnic_efa_close(a->nic);
	softnic_efa_close(b->nic);
	free(a->mem);
	free(b->mem);
}

void pair_turns(struct side *a, struct side *b, unsigned int n)
{
	while (n--) {
		softnic_efa_pump(a->nic);
		softnic_efa_pump(b->nic);
	}
}

static void swallow(void *ctx, const struct sn_addr *src, const void *pkt, size_t len)
{
	(void)ctx;
	(void)src;
	(void)pkt;
	(void)len;
}

static void ignore(void *ctx, const struct sn_addr *peer)
{
	(void)ctx;
	(void)peer;
}

struct sn_fab *side_stranger(const struct side *s, uint32_t protocol, unsigned int number,
			     struct sn_fab_dest *dest)
{
	struct sn_fab_config config = { .protocol = protocol, .deliver = swallow, .down = ignore };
	struct sn_fab *fab;

	memcpy(config.gid.raw, s->caps.gid, 16);
	config.gid.raw[1] ^= 1;
	config.gid.raw[2] = (uint8_t)number;
	memset(dest, 0, sizeof(*dest));
	memcpy(dest->gid.raw, s->caps.gid, 16);
	cr_assert_eq(sn_fab_open(&config, &fab), 0);
	return fab;
}

void w_head(const struct side *s, struct wqe *w, unsigned int op, unsigned int flags, uint16_t id,
	    uint16_t length)
{
	memset(w, 0, sizeof(*w));
	put16(w->b, id);
	w->b[2] = (uint8_t)(op | flags | 0x80);
	w->b[3] = 0x1c;			/* flags first, last, and completion */
	put16(w->b + 4, s->peer_qpn);
	put16(w->b + 6, length);
	if (flags & IMM)
		put32(w->b + 8, 0xabcd0000u + id);
	put16(w->b + 12, s->ah);
	put32(w->b + 16, QKEY);
}

void w_buf(struct wqe *w, unsigned int at, const void *addr, uint32_t len, uint32_t lkey)
{
	put32(w->b + at, len);
	put32(w->b + at + 4, lkey);
	put64(w->b + at + 8, (uintptr_t)addr);
}

void w_remote(struct wqe *w, const void *addr, uint32_t len, uint32_t rkey)
{
	put32(w->b + 32, len);
	put32(w->b + 36, rkey);
	put64(w->b + 40, (uintptr_t)addr);
}

void w_send(const struct side *s, struct wqe *w, uint16_t id, uint32_t off, uint32_t len)
{
	w_head(s, w, OP_SEND, 0, id, 1);
	w_buf(w, 32, s->mem + off, len, s->lkey);
}

void w_rdma(const struct side *s, struct wqe *w, unsigned int op, unsigned int flags, uint16_t id,
	    uint32_t off, uint32_t roff, uint32_t len)
{
	w_head(s, w, op, flags, id, 1);
	w_remote(w, s->peer_mem + roff, len, s->peer_rkey);
	w_buf(w, 48, s->mem + off, len, s->lkey);
}

void post_raw(struct side *s, const struct wqe *w)
{
	size_t size = s->qp.sq.entry_size;
	uint32_t slot = s->sq_pc++ & (s->qp.sq.depth - 1);

	memcpy((uint8_t *)s->qp.sq.ring + slot * size, w, size);
}

void post_phase(struct side *s, struct wqe *w)
{
	w->b[3] = (uint8_t)((w->b[3] & 0xfeu) | (s->sq_pc / s->qp.sq.depth & 1));
	post_raw(s, w);
}

void ring(struct side *s)
{
	__atomic_store_n(s->qp.sq.doorbell, s->sq_pc & 0xffff, __ATOMIC_RELEASE);
	softnic_efa_kick(s->nic, s->qp.handle);
}

void post(struct side *s, struct wqe *w)
{
	post_phase(s, w);
	ring(s);
}

void rx_desc(struct side *s, uint16_t id, const void *addr, uint16_t len, uint32_t lkey_ctrl)
{
	uint8_t *d = (uint8_t *)s->qp.rq.ring + (s->rq_pc++ & (s->qp.rq.depth - 1)) * 16;

	put64(d, (uintptr_t)addr);
	put16(d + 8, id);
	put16(d + 10, len);
	put32(d + 12, lkey_ctrl);
}

void rx_ring(struct side *s)
{
	__atomic_store_n(s->qp.rq.doorbell, s->rq_pc & 0xffff, __ATOMIC_RELEASE);
	softnic_efa_kick(s->nic, s->qp.handle);
}

void rx_post(struct side *s, uint16_t id, uint32_t off, uint16_t len)
{
	rx_desc(s, id, s->mem + off, len, s->lkey | 3u << 30);
	rx_ring(s);
}

static void parse(const struct side *s, const uint8_t *e, struct cqe *c)
{
	*c = (struct cqe){
		.req_id = get16(e), .status = e[2], .flags = e[3], .queue = e[3] >> 1 & 3,
		.has_imm = e[3] >> 3 & 1, .op = e[3] >> 4 & 7, .unsolicited = e[3] >> 7,
		.qpn = get16(e + 4),
	};
	if (c->queue == 1) {
		c->req_id_64 = c->req_id | (uint64_t)get16(e + 6) << 16 |
			       (uint64_t)get16(e + 8) << 32 | (uint64_t)get16(e + 10) << 48;
		return;
	}
	c->length = get16(e + 6);
	c->ah = get16(e + 8);
	c->src_qpn = get16(e + 10);
	c->imm = get16(e + 12) | (uint32_t)get16(e + 14) << 16;
	if (s->cq_attr.entry_size == 32) {
		memcpy(c->sgid, e + 16, 16);
		if (c->op == OP_WRITE)
			c->length |= (uint32_t)get16(e + 16) << 16;
	}
}

static bool poll_sub(struct side *s, uint16_t sub, struct cqe *c)
{
	uint32_t n = s->cc[sub], entries = s->cq_attr.entries;
	const uint8_t *e = (const uint8_t *)s->cq.ring +
		((size_t)sub * entries + (n & (entries - 1))) * s->cq_attr.entry_size;

	if ((__atomic_load_n(e + 3, __ATOMIC_ACQUIRE) & 1) != !(n & entries))
		return false;
	parse(s, e, c);
	__atomic_store_n(&s->cc[sub], n + 1, __ATOMIC_RELAXED);
	return true;
}

bool cqe_poll(struct side *s, struct cqe *c)
{
	for (uint16_t sub = 0; sub < s->cq_attr.sub_cqs; sub++)
		if (poll_sub(s, sub, c))
			return true;
	return false;
}

struct cqe cqe_wait(struct side *a, struct side *b)
{
	struct cqe c = { 0 };

	for (int i = 0; i < 200000; i++) {
		if (cqe_poll(a, &c))
			return c;
		softnic_efa_pump(a->nic);
		if (b)
			softnic_efa_pump(b->nic);
	}
	cr_assert_fail("the CQ got no completion in time");
	return c;
}

bool settle(struct side *a, struct side *b, unsigned int limit)
{
	bool left = true;

	while (left && limit--) {
		left = softnic_efa_pump(a->nic);
		left |= softnic_efa_pump(b->nic);
	}
	return !left;
}

void expect_violations(struct side *s, const char *names)
{
	struct softnic_violation v[64];
	size_t n = softnic_efa_violations(s->nic, v, 64);
	char all[2048] = "";

	for (size_t i = 0; i < n; i++) {
		strcat(all, i ? " " : "");
		strcat(all, v[i].name);
	}
	cr_assert_str_eq(all, names, "violations '%s' were reported, not '%s': %s", all, names,
			 n ? v[0].detail : "");
	softnic_efa_violations_clear(s->nic);
}
