/* SPDX-License-Identifier: BSD-2-Clause */
/* The guest's driver of the EFA. It follows Linux's efa_com.c and efa_verbs.c; its data path
 * follows libefa. */
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/vfio_user/efa.h"

enum { AQ_LO = 0x10, AQ_CAPS = 0x18, ACQ_LO = 0x20, ACQ_CAPS = 0x28, AQ_DB = 0x2c, DEV_CTL = 0x54,
       DEV_STS = 0x58, MMIO_READ = 0x5c, MMIO_LO = 0x60, MMIO_HI = 0x64, EQ_DB = 0x68 };
enum { ENTRY = 64 };

void efa_put(void *to, unsigned int at, unsigned int bytes, uint64_t v)
{
	for (unsigned int i = 0; i < bytes; i++)
		((uint8_t *)to)[at + i] = (uint8_t)(v >> 8 * i);
}

uint64_t efa_get(const void *from, unsigned int at, unsigned int bytes)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < bytes; i++)
		v |= (uint64_t)((const uint8_t *)from)[at + i] << 8 * i;
	return v;
}

struct rig *efa_open(const char *profile)
{
	return rig_open_with(&(struct vm_config){ .ports = 1, .efa = profile });
}

uint64_t efa_violations(struct rig *r, const char *name)
{
	struct softnic_violation v[64];
	size_t n = softnic_efa_violations(r->dev->efa->nic, v, 64);

	for (size_t i = 0; i < n && i < 64; i++)
		if (!strcmp(v[i].name, name))
			return v[i].count;
	return 0;
}

void efa_set_reg(struct rig *r, uint32_t offset, uint32_t value)
{
	uint8_t word[4];

	efa_put(word, 0, 4, value);
	cr_assert_eq(rig_write(r, EFA_REG_BAR, offset, word, 4), 0);
}

uint32_t efa_reg(struct efa_guest *g, uint16_t offset)
{
	uint8_t *at;

	rig_page(g->r, EFA_MMIO, &at);
	efa_set_reg(g->r, MMIO_READ, (uint32_t)offset << 16 | ++g->id);
	cr_assert_eq(efa_get(at, 0, 2), g->id, "the device did not answer the read of register %#x",
		     offset);
	cr_assert_eq(efa_get(at, 2, 2), offset);
	return (uint32_t)efa_get(at, 4, 4);
}

static void set_response(struct efa_guest *g)
{
	efa_set_reg(g->r, MMIO_HI, 0);
	efa_set_reg(g->r, MMIO_LO, (uint32_t)rig_page(g->r, EFA_MMIO, NULL));
}

static void reset(struct efa_guest *g)
{
	cr_assert(efa_reg(g, DEV_STS) & 1);
	efa_set_reg(g->r, DEV_CTL, 1);
	set_response(g);
	cr_assert(efa_reg(g, DEV_STS) & 8, "the device reports no reset in progress");
	efa_set_reg(g->r, DEV_CTL, 0);
	cr_assert_eq(efa_reg(g, DEV_STS) & 8, 0, "the reset does not end");
}

void efa_probe(struct efa_guest *g, struct rig *r)
{
	uint16_t command = 6;
	uint8_t *at;

	*g = (struct efa_guest){ .r = r, .irq = { -1, -1 } };
	cr_assert_eq(rig_map(r, RIG_RAM_AT, RIG_RAM, r->ram_fd, 0), 0);
	cr_assert_eq(rig_write(r, VFIO_PCI_CONFIG_REGION_INDEX, 4, &command, 2), 0);
	set_response(g);
	reset(g);
	for (unsigned int i = EFA_AQ; i <= EFA_RQ; i++) {
		rig_page(r, i, &at);
		memset(at, 0, 4096);
	}
	efa_set_reg(r, AQ_LO, (uint32_t)rig_page(r, EFA_AQ, NULL));
	efa_set_reg(r, AQ_CAPS, ENTRY << 16 | EFA_DEPTH);
	efa_set_reg(r, ACQ_LO, (uint32_t)rig_page(r, EFA_ACQ, NULL));
	efa_set_reg(r, ACQ_CAPS, ENTRY << 16 | EFA_DEPTH);
}

uint8_t *efa_op(struct efa_guest *g, uint8_t opcode)
{
	memset(&g->op, 0, sizeof(g->op));
	g->op.in[2] = opcode;
	return g->op.in;
}

uint8_t efa_run(struct efa_guest *g)
{
	uint16_t n = g->pc++;
	uint8_t *aq, *acq, phase = !(n & EFA_DEPTH);

	efa_put(g->op.in, 0, 2, n);
	g->op.in[3] |= phase;
	rig_page(g->r, EFA_AQ, &aq);
	rig_page(g->r, EFA_ACQ, &acq);
	acq += (size_t)(n % EFA_DEPTH) * ENTRY;
	memcpy(aq + (size_t)(n % EFA_DEPTH) * ENTRY, g->op.in, ENTRY);
	efa_set_reg(g->r, AQ_DB, g->pc);
	cr_assert_eq(__atomic_load_n(&acq[3], __ATOMIC_ACQUIRE) & 1, phase,
		     "the device did not answer command %u", g->op.in[2]);
	memcpy(g->op.out, acq, ENTRY);
	cr_assert_eq(efa_get(g->op.out, 0, 2), n);
	return g->op.out[2];
}

uint8_t efa_simple(struct efa_guest *g, uint8_t opcode, uint32_t value)
{
	efa_put(efa_op(g, opcode), 4, 4, value);
	return efa_run(g);
}

static uint16_t number(struct efa_guest *g)
{
	return (uint16_t)efa_get(g->op.out, 8, 2);
}

bool efa_works(struct efa_guest *g)
{
	return !efa_simple(g, 14, 0) && !efa_simple(g, 15, number(g));
}

static void create_eq(struct efa_guest *g)
{
	uint8_t *in = efa_op(g, 18);

	efa_put(in, 4, 2, 256);
	in[6] = 1;
	in[7] = 4;
	efa_put(in, 8, 8, rig_page(g->r, EFA_EQ, NULL));
	efa_put(in, 16, 4, 1);
	cr_assert_eq(efa_run(g), 0);
	g->eqn = number(g);
	efa_set_reg(g->r, EQ_DB, UINT32_C(1) << 31 | g->eqn);
}

static void create_cq(struct efa_guest *g)
{
	uint8_t *in = efa_op(g, 9);

	in[4] = 1 << 5;
	in[5] = 1 << 5 | 8;
	efa_put(in, 6, 2, 128);
	efa_put(in, 8, 2, g->eqn);
	efa_put(in, 12, 8, rig_page(g->r, EFA_CQ, NULL));
	efa_put(in, 24, 2, 1);
	efa_put(in, 26, 2, g->uar);
	cr_assert_eq(efa_run(g), 0);
	g->cq = number(g);
	g->cq_db = (uint32_t)efa_get(g->op.out, 12, 4);
	cr_assert_eq(efa_get(g->op.out, 16, 4), 1);
}

static void create_qp(struct efa_guest *g)
{
	uint8_t *in = efa_op(g, 1);

	efa_put(in, 4, 2, g->pd);
	in[6] = 2;
	efa_put(in, 16, 8, rig_page(g->r, EFA_RQ, NULL));
	efa_put(in, 24, 4, g->cq);
	efa_put(in, 28, 4, g->cq);
	efa_put(in, 40, 4, EFA_SQ * 64);
	efa_put(in, 44, 4, EFA_SQ);
	efa_put(in, 48, 4, EFA_RQ_DEPTH * 16);
	efa_put(in, 52, 4, EFA_RQ_DEPTH);
	efa_put(in, 56, 2, g->uar);
	cr_assert_eq(efa_run(g), 0);
	g->qp = (uint32_t)efa_get(g->op.out, 8, 4);
	g->qpn = (uint16_t)efa_get(g->op.out, 12, 2);
	g->sq_db = (uint32_t)efa_get(g->op.out, 20, 4);
	g->rq_db = (uint32_t)efa_get(g->op.out, 24, 4);
	g->sq_at = (uint32_t)efa_get(g->op.out, 28, 4);
}

static unsigned int data_page(unsigned int i)
{
	return EFA_DATA + EFA_DATA_PAGES - i;
}

uint8_t *efa_data(struct efa_guest *g, uint32_t at)
{
	uint64_t off = EFA_DATA_VA % 4096 + at;
	uint8_t *page;

	rig_page(g->r, data_page((unsigned int)(off / 4096)), &page);
	return page + off % 4096;
}

/* Registers a region whose page list is in one buffer. */
static void reg_mr(struct efa_guest *g)
{
	uint8_t *in = efa_op(g, 7), *list;
	uint64_t at = rig_page(g->r, EFA_LISTS, &list);

	for (unsigned int i = 0; i <= EFA_DATA_PAGES; i++)
		efa_put(list, 8 * i, 8, rig_page(g->r, data_page(i), NULL));
	in[3] = 2;
	efa_put(in, 4, 2, g->pd);
	efa_put(in, 8, 4, 8 * (EFA_DATA_PAGES + 1));
	efa_put(in, 12, 8, at);
	efa_put(in, 40, 8, EFA_DATA_PAGES * 4096);
	in[48] = 12;
	in[49] = 7;
	efa_put(in, 56, 8, EFA_DATA_VA);
	cr_assert_eq(efa_run(g), 0);
	g->lkey = (uint32_t)efa_get(g->op.out, 8, 4);
	g->rkey = (uint32_t)efa_get(g->op.out, 12, 4);
}

static void map_queues(struct efa_guest *g)
{
	struct vfio_region_info info = { .argsz = 4096, .index = EFA_MEM_BAR };

	cr_assert_eq(rig_request(g->r, VM_REGION_INFO, &info, sizeof(info)), 0);
	cr_assert_geq(g->r->reply_fd, 0);
	g->queues = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, g->r->reply_fd, 0);
	close(g->r->reply_fd);
	cr_assert_neq(g->queues, MAP_FAILED);
}

void efa_boot(struct efa_guest *g, struct rig *r)
{
	efa_probe(g, r);
	for (int i = 0; i < 2; i++)
		g->irq[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	cr_assert_eq(rig_set_irqs(r, VFIO_PCI_MSIX_IRQ_INDEX, 0, 2, (struct rig_fds){ g->irq, 2 }), 0);
	map_queues(g);
	cr_assert_eq(efa_simple(g, 16, 0), 0);
	g->uar = number(g);
	cr_assert_eq(efa_simple(g, 14, 0), 0);
	g->pd = number(g);
	create_eq(g);
	create_cq(g);
	create_qp(g);
	reg_mr(g);
}

static void modify(struct efa_guest *g, uint32_t state, uint32_t mask)
{
	uint8_t *in = efa_op(g, 2);

	efa_put(in, 4, 4, mask | 3);		/* also sets the current state, like Linux */
	efa_put(in, 8, 4, g->qp);
	efa_put(in, 12, 4, state);
	efa_put(in, 16, 4, state - 1);
	efa_put(in, 20, 4, EFA_QKEY);
	cr_assert_eq(efa_run(g), 0);
}

void efa_ready(struct efa_guest *g)
{
	modify(g, 1, 4);
	modify(g, 2, 0);
	modify(g, 3, 8);
}

void efa_meet(struct efa_guest *g, const struct efa_guest *peer)
{
	uint8_t *in = efa_op(g, 5);

	memcpy(in + 4, peer->r->dev->efa->caps.gid, 16);
	efa_put(in, 20, 2, g->pd);
	cr_assert_eq(efa_run(g), 0);
	g->ah = number(g);
}

void efa_ring(struct efa_guest *g, uint32_t offset, uint32_t value)
{
	uint8_t word[4];

	efa_put(word, 0, 4, value);
	cr_assert_eq(rig_write(g->r, EFA_DB_BAR, offset, word, 4), 0);
}

void efa_post_recv(struct efa_guest *g, uint32_t at, uint16_t len)
{
	uint8_t *d;

	rig_page(g->r, EFA_RQ, &d);
	d += 16 * (g->rq_pc % EFA_RQ_DEPTH);
	efa_put(d, 0, 8, EFA_DATA_VA + at);
	efa_put(d, 8, 2, g->rq_pc % EFA_RQ_DEPTH);
	efa_put(d, 10, 2, len);
	efa_put(d, 12, 4, g->lkey | UINT32_C(3) << 30);
	efa_ring(g, g->rq_db, ++g->rq_pc & 0xffff);
}

static uint8_t *begin(struct efa_guest *g, const struct efa_guest *peer, uint8_t op)
{
	static uint8_t w[64];

	memset(w, 0, sizeof(w));
	efa_put(w, 0, 2, g->sq_pc % EFA_SQ);
	w[2] = 0x80 | op;
	w[3] = (uint8_t)(0x1c | (g->sq_pc / EFA_SQ & 1));
	efa_put(w, 4, 2, peer->qpn);
	efa_put(w, 6, 2, 1);
	efa_put(w, 12, 2, g->ah);
	efa_put(w, 16, 4, EFA_QKEY);
	return w;
}

static void buffer(uint8_t *at, uint32_t len, uint32_t key, uint64_t addr)
{
	efa_put(at, 0, 4, len);
	efa_put(at, 4, 4, key);
	efa_put(at, 8, 8, addr);
}

static void post(struct efa_guest *g, const uint8_t *w)
{
	memcpy(g->queues + g->sq_at + g->sq_pc % EFA_SQ * 64, w, 64);
	efa_ring(g, g->sq_db, ++g->sq_pc & 0xffff);
}

void efa_post_send(struct efa_guest *g, const struct efa_guest *peer, uint32_t at, uint32_t len)
{
	uint8_t *w = begin(g, peer, 0);

	buffer(w + 32, len, g->lkey, EFA_DATA_VA + at);
	post(g, w);
}

void efa_post_write(struct efa_guest *g, const struct efa_guest *peer, uint32_t at, uint32_t len)
{
	uint8_t *w = begin(g, peer, 2);

	buffer(w + 32, len, peer->rkey, EFA_DATA_VA + at);
	buffer(w + 48, len, g->lkey, EFA_DATA_VA + at);
	post(g, w);
}

int efa_poll(struct efa_guest *g)
{
	uint8_t *e;

	rig_page(g->r, EFA_CQ, &e);
	e += 32 * (g->cq_cc % 128);
	if ((__atomic_load_n(e + 3, __ATOMIC_ACQUIRE) & 1) != !(g->cq_cc & 128))
		return -1;
	g->cq_cc++;
	return e[2];
}

int efa_wait(struct efa_guest *g)
{
	int status;

	cr_assert(TH_WITHIN(TH_PEER_MS, (status = efa_poll(g)) >= 0),
		  "the CQ got no completion in time");
	return status;
}

void efa_arm(struct efa_guest *g)
{
	efa_ring(g, g->cq_db, UINT32_C(1) << 31 | (g->arms & 3) << 29 | (g->cq_cc & 0xffff));
}

bool efa_event(struct efa_guest *g)
{
	struct pollfd p = { .fd = g->irq[1], .events = POLLIN };
	uint64_t n;
	uint8_t *e;

	if (poll(&p, 1, TH_PEER_MS) != 1 || read(g->irq[1], &n, sizeof(n)) != sizeof(n))
		return false;
	rig_page(g->r, EFA_EQ, &e);
	e += 16 * (g->eq_cc % 256);
	if ((efa_get(e, 0, 4) != 1) != !!(g->eq_cc & 256) || efa_get(e, 8, 2) != g->cq)
		return false;
	g->eq_cc++;
	g->arms++;
	efa_set_reg(g->r, EQ_DB, UINT32_C(1) << 31 | g->eqn);
	return true;
}

void efa_end(struct efa_guest *g)
{
	for (int i = 0; i < 2; i++)
		if (g->irq[i] >= 0)
			close(g->irq[i]);
	if (g->queues)
		munmap(g->queues, 1 << 20);
	rig_close(g->r);
}
