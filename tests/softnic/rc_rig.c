/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "softnic/bytes.h"
#include "softnic/mlx5/prm.h"
#include "tests/harness/harness.h"
#include "tests/softnic/rc_rig.h"

enum {
	PAGE = 4096,
	QUEUES = 4 << 20,		/* offset of the queues in the arena */
	LOG_CQ = 13,
	LOG_EQ = 6,
	LOG_SQ = 8,			/* log2 of the blocks of a send queue */
	LOG_RQ = 8,
	RQ_STRIDE = 16,
	IN_MAX = AT_PAS + 8 * (RIG_DATA / PAGE + 1),
};

static uint32_t command(struct rig *rig, uint8_t *in, size_t inlen, uint16_t opcode, void *out,
			size_t outlen)
{
	sn_set(in, CMD_OPCODE, opcode);
	memset(out, 0, outlen);
	cr_assert_eq(softnic_cmd(rig->nic, in, inlen, out, outlen), 0);
	cr_assert_eq(((uint8_t *)out)[0], 0, "the command with opcode %#x failed with status %#x",
		     opcode, ((uint8_t *)out)[0]);
	return sn_get(out, CMD_NUMBER);
}

static uint32_t simple(struct rig *rig, uint16_t opcode, uint32_t number)
{
	uint8_t in[0x100] = {0}, out[16];

	sn_set(in, CMD_NUMBER, number);
	return command(rig, in, sizeof(in), opcode, out, sizeof(out));
}

/* Page-aligned room for a queue; appends its addresses to the command. */
static uint8_t *room(struct rig *rig, size_t bytes, uint8_t *in)
{
	uint8_t *at = rig->arena + rig->used;
	size_t i, pages = (bytes + PAGE - 1) / PAGE;

	rig->used += pages * PAGE;
	cr_assert_leq(rig->used, (size_t)QUEUES);
	for (i = 0; in && i < pages; i++)
		sn_set64(in, (uint32_t)(AT_PAS + 8 * i), (uintptr_t)at + i * PAGE);
	return at;
}

static void open_eq(struct rig *rig)
{
	uint8_t in[0x200] = {0}, out[16], *ctx = in + AT_CTX;
	size_t i;

	sn_set(ctx, EQC_LOG_SIZE, LOG_EQ);
	sn_set(ctx, EQC_UAR, rig->uar);
	sn_set64(in, EQ_BITMASK, ~UINT64_C(0));
	rig->eq = room(rig, 64u << LOG_EQ, in);
	for (i = 0; i < 1u << LOG_EQ; i++)
		rig->eq[64 * i + 63] = 1;
	command(rig, in, sizeof(in), CMD_CREATE_EQ, out, sizeof(out));
	rig->eqn = sn_get(out, CMD_EQN);
}

struct rig_scatter rig_scatter = {.cqe_size = 64};

static void open_cq(struct rig *rig)
{
	size_t len = (size_t)rig_scatter.cqe_size << LOG_CQ;
	uint8_t in[AT_PAS + 8 * 256] = {0}, out[16], *ctx = in + AT_CTX;
	size_t i;

	sn_set(ctx, CQC_LOG_SIZE, LOG_CQ);
	sn_set(ctx, CQC_UAR, rig->uar);
	sn_set(ctx, CQC_EQN, rig->eqn);
	rig->cq_dbr = (be32_t *)(void *)room(rig, PAGE, NULL);
	sn_set64(ctx, CQC_DBR_ADDR, (uintptr_t)rig->cq_dbr);
	rig->cq = room(rig, len, in);
	sn_set(ctx, CQC_CQE_SZ, rig_scatter.cqe_size == 128);
	for (i = 0; i < 1u << LOG_CQ; i++)
		rig->cq[rig_scatter.cqe_size * (i + 1) - 1] = 0xf1;
	rig->cqn = command(rig, in, AT_PAS + 8 * (len / PAGE), CMD_CREATE_CQ, out, sizeof(out));
}

uint32_t rig_key_of(struct rig *rig, uint32_t qpn, void *va, size_t len, unsigned int rights)
{
	uint8_t *in = calloc(1, IN_MAX), out[16], *ctx = in + AT_CTX;
	uintptr_t first = (uintptr_t)va & ~(uintptr_t)(PAGE - 1);
	uint32_t n = (uint32_t)(((uintptr_t)va + len - first + PAGE - 1) / PAGE), i, index;

	sn_set(ctx, MKC_MODE_1_0, MODE_MTT);
	sn_set(ctx, MKC_A, 1);
	sn_set(ctx, MKC_LR, rights & 1);
	sn_set(ctx, MKC_LW, rights >> 1 & 1);
	sn_set(ctx, MKC_RR, rights >> 2 & 1);
	sn_set(ctx, MKC_RW, rights >> 3 & 1);
	sn_set(ctx, MKC_EN_RINVAL, 1);
	sn_set(ctx, MKC_QPN, qpn);
	sn_set(ctx, MKC_KEY, 0x5c);
	sn_set(ctx, MKC_PD, rig->pdn);
	sn_set64(ctx, MKC_START, (uintptr_t)va);
	sn_set64(ctx, MKC_LEN, len);
	sn_set32(ctx, MKC_XLT_SIZE, (n + 1) / 2);
	sn_set(ctx, MKC_LOG_PAGE, 12);
	sn_set(in, MKEY_PG_ACCESS, 1);
	sn_set32(in, MKEY_XLT_ACTUAL, (n + 1) / 2);
	for (i = 0; i < n; i++)
		sn_set64(in, AT_PAS + 8 * i, (first + (uint64_t)i * PAGE) | MTT_RD | MTT_WR);
	index = command(rig, in, IN_MAX, CMD_CREATE_MKEY, out, sizeof(out));
	free(in);
	return index << 8 | 0x5c;
}

uint32_t rig_key(struct rig *rig, void *va, size_t len, unsigned int rights)
{
	return rig_key_of(rig, 0xffffff, va, len, rights);
}

void rig_destroy_key(struct rig *rig, uint32_t key)
{
	simple(rig, CMD_DESTROY_MKEY, key >> 8);
}

static void learn_address(struct rig *rig)
{
	uint8_t in[16] = {0}, out[0x30];

	command(rig, in, sizeof(in), CMD_QUERY_ROCE_ADDRESS, out, sizeof(out));
	memcpy(rig->gid, out + AT_CTX + ROCE_GID, sizeof(rig->gid));
	memcpy(rig->mac, out + AT_CTX + ROCE_MAC, sizeof(rig->mac));
}

const char *rig_udp;
bool rig_foreign;

static void set_ip_gid(struct rig *rig)
{
	uint8_t in[0x30] = {0}, out[16], *ctx = in + AT_CTX;

	sn_set(in, ROCE_INDEX, 1);
	memcpy(ctx + ROCE_GID, rig->gid, sizeof(rig->gid));
	memcpy(ctx + ROCE_MAC, rig->mac, sizeof(rig->mac));
	sn_set(ctx, ROCE_L3_TYPE, !sn_is_v4(rig->gid));
	sn_set(ctx, ROCE_VERSION, 2);
	command(rig, in, sizeof(in), CMD_SET_ROCE_ADDRESS, out, sizeof(out));
}

static void choose_ip(uint8_t ip[16])
{
	if (!rig_udp || inet_pton(AF_INET6, rig_udp, ip) == 1)
		return;
	memset(ip + 10, 0xff, 2);
	cr_assert_eq(inet_pton(AF_INET, rig_udp, ip + 12), 1);
}

void rig_open_irq(struct rig *rig, unsigned int flags, uint64_t seed,
		  void (*irq)(void *rig, unsigned int vector))
{
	struct softnic_config config = {.flags = flags, .seed = seed,
					.host = {.irq = irq, .ctx = rig}};

	uint16_t mtu;

	memset(rig, 0, sizeof(*rig));
	choose_ip(config.ip);
	cr_assert_eq(softnic_open(&config, &rig->nic), 0);
	rig->arena = mmap(NULL, QUEUES + RIG_DATA, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(rig->arena, MAP_FAILED);
	rig->data = rig->arena + QUEUES;
	rig->uar = simple(rig, CMD_ALLOC_UAR, 0);
	rig->pdn = simple(rig, CMD_ALLOC_PD, 0);
	open_eq(rig);
	open_cq(rig);
	rig->key = rig_key(rig, rig->data, RIG_DATA, 15);
	learn_address(rig);
	rig->udp_port = softnic_udp(rig->nic, &mtu);
	if (rig->udp_port)
		memcpy(rig->gid, config.ip, sizeof(rig->gid));
	if (rig_foreign)
		set_ip_gid(rig);
}

void rig_open(struct rig *rig, unsigned int flags, uint64_t seed)
{
	rig_open_irq(rig, flags, seed, NULL);
}

void rig_close(struct rig *rig)
{
	softnic_close(rig->nic);
	munmap(rig->arena, QUEUES + RIG_DATA);
}

void rig_qp(struct rig *rig, struct rig_qp *qp)
{
	uint8_t in[AT_PAS + 8 * 16] = {0}, out[16], *ctx = in + AT_QPC;

	*qp = (struct rig_qp){.rig = rig, .ce = 2};
	sn_set(ctx, QPC_PM_STATE, 3);
	sn_set(ctx, QPC_PD, rig->pdn);
	sn_set(ctx, QPC_LOG_RQ_SIZE, LOG_RQ);
	sn_set(ctx, QPC_LOG_SQ_SIZE, LOG_SQ);
	sn_set(ctx, QPC_TS_FORMAT, TS_DEFAULT);
	sn_set(ctx, QPC_UAR, rig->uar);
	sn_set(ctx, QPC_CS_REQ, rig_scatter.req);
	sn_set(ctx, QPC_CS_RES, rig_scatter.res);
	sn_set(ctx, QPC_CQN_SND, rig->cqn);
	sn_set(ctx, QPC_CQN_RCV, rig->cqn);
	qp->dbr = (be32_t *)(void *)room(rig, PAGE, NULL);
	sn_set64(ctx, QPC_DBR_ADDR, (uintptr_t)qp->dbr);
	qp->rq = room(rig, (RQ_STRIDE << LOG_RQ) + (64 << LOG_SQ), in);
	qp->sq = qp->rq + (RQ_STRIDE << LOG_RQ);
	qp->qpn = command(rig, in, sizeof(in), CMD_CREATE_QP, out, sizeof(out));
}

static void modify(struct rig_qp *qp, uint8_t *in, uint16_t opcode)
{
	uint8_t out[16];

	sn_set(in, CMD_NUMBER, qp->qpn);
	command(qp->rig, in, 0x110, opcode, out, sizeof(out));
}

static unsigned int or_default(unsigned int v, unsigned int value)
{
	return v == RIG_NO ? 0 : v ? v : value;
}

static void to_init(struct rig_qp *qp, const struct rig_conn *c)
{
	uint8_t in[0x110] = {0}, *ctx = in + AT_QPC;
	unsigned int rights = c->rights ? c->rights : 7;

	sn_set(ctx + AT_ADS, ADS_PORT, 1);
	sn_set(ctx, QPC_RRE, rights & RIG_RRE);
	sn_set(ctx, QPC_RWE, !!(rights & RIG_RWE));
	sn_set(ctx, QPC_RAE, !!(rights & RIG_RAE));
	sn_set(ctx, QPC_ATOMIC_MODE, rights & RIG_RAE && !(rights & RIG_NO_MODE));
	modify(qp, in, CMD_RST2INIT_QP);
}

static void to_rts(struct rig_qp *qp, const struct rig_peer *peer, const struct rig_conn *c,
		   unsigned int log_rra)
{
	uint8_t in[0x110] = {0}, *ctx = in + AT_QPC, *ads = ctx + AT_ADS;

	sn_set(ctx, QPC_MTU, or_default(c->mtu, 3));
	sn_set(ctx, QPC_LOG_MSG_MAX, 30);
	sn_set(ctx, QPC_REMOTE_QPN, peer->qpn);
	sn_set(ctx, QPC_RCV_PSN, peer->psn);
	sn_set(ctx, QPC_LOG_RRA_MAX, log_rra);
	sn_set(ctx, QPC_MIN_RNR, or_default(c->min_rnr, 1));
	sn_set(ads, ADS_PORT, 1);
	sn_set(ads, ADS_FL, c->loop);
	sn_set(ads, ADS_TCLASS, c->tclass);
	sn_set(ads, ADS_DSCP, c->dscp);
	sn_set(ads, ADS_GRH, !c->loop);
	sn_set(ads, ADS_UDP_SPORT, c->loop ? 0 : 0xc123);
	sn_set(ads, ADS_SRC_INDEX, rig_foreign);
	sn_set(ads, ADS_RLID, c->loop || rig_foreign ? 0 : peer->udp_port);
	memcpy(ads + ADS_RGID, peer->gid, c->loop ? 0 : 16);
	memcpy(ads + ADS_RMAC, peer->mac, c->loop ? 0 : 6);
	modify(qp, in, CMD_INIT2RTR_QP);
	memset(in, 0, sizeof(in));
	sn_set(ctx, QPC_SEND_PSN, qp->psn);
	sn_set(ctx, QPC_LOG_SRA_MAX, or_default(c->log_rd, 4));
	sn_set(ctx, QPC_RETRY, or_default(c->retry, 7));
	sn_set(ctx, QPC_RNR_RETRY, or_default(c->rnr_retry, 7));
	sn_set(ads, ADS_ACK_TIMEOUT, or_default(c->timeout, 12));
	modify(qp, in, CMD_RTR2RTS_QP);
}

struct rig_peer rig_peer(const struct rig_qp *qp)
{
	struct rig_peer peer = {.qpn = qp->qpn, .psn = qp->psn, .key = qp->rig->key,
				.data = qp->rig->data, .udp_port = qp->rig->udp_port};

	memcpy(peer.gid, qp->rig->gid, sizeof(peer.gid));
	memcpy(peer.mac, qp->rig->mac, sizeof(peer.mac));
	return peer;
}

void rig_connect_to(struct rig_qp *qp, const struct rig_peer *peer, const struct rig_conn *conn)
{
	static const struct rig_conn defaults;
	const struct rig_conn *c = conn ? conn : &defaults;

	to_init(qp, c);
	to_rts(qp, peer, c, or_default(c->log_rd_b ? c->log_rd_b : c->log_rd, 4));
}

struct rig_peer rig_exchange(int sock, struct rig_qp *qp, const struct rig_peer *self,
			     const struct rig_conn *conn)
{
	struct rig_peer peer;

	cr_assert_eq(th_send(sock, self, sizeof(*self)), 0);
	cr_assert_eq(th_recv(sock, &peer, sizeof(peer)), 0);
	rig_connect_to(qp, &peer, conn);
	cr_assert_eq(th_meet(sock), 0);
	return peer;
}

struct rig_peer rig_join(int sock, struct rig *rig, struct rig_qp *qp, const struct rig_conn *conn)
{
	struct rig_peer self;

	rig_open(rig, 0, 0);
	rig_qp(rig, qp);
	self = rig_peer(qp);
	return rig_exchange(sock, qp, &self, conn);
}

struct rig_peer rig_spawn(struct th_child *child, int (*fn)(int sock, void *arg), struct rig *rig,
			  struct rig_qp *qp, const struct rig_conn *conn)
{
	cr_assert_eq(th_spawn(child, fn, NULL), 0);
	return rig_join(child->sock, rig, qp, conn);
}

void rig_connect(struct rig_qp *a, struct rig_qp *b, const struct rig_conn *conn)
{
	static const struct rig_conn defaults;
	struct rig_conn c = conn ? *conn : defaults;
	struct rig_peer pa, pb;

	a->psn = c.psn_a;
	b->psn = c.psn_b;
	pa = rig_peer(a);
	pb = rig_peer(b);
	rig_connect_to(b, &pa, &c);
	c.log_rd_b = 0;
	rig_connect_to(a, &pb, &c);
}

void rig_open_pair(struct rig *ra, struct rig *rb, struct rig_qp *a, struct rig_qp *b, unsigned int flags,
		   const struct rig_conn *conn)
{
	rig_open(ra, flags, 1);
	rig_open(rb, flags, 2);
	rig_qp(ra, a);
	rig_qp(rb, b);
	rig_connect(a, b, conn);
}

void rig_close_pair(struct rig *ra, struct rig *rb, const char *violations_a, const char *violations_b)
{
	rig_expect_violations(ra, violations_a);
	rig_expect_violations(rb, violations_b);
	rig_close(ra);
	rig_close(rb);
}

void rig_qp_to(struct rig_qp *qp, uint16_t opcode)
{
	simple(qp->rig, opcode, qp->qpn);
}

unsigned int rig_qp_state(struct rig_qp *qp)
{
	uint8_t in[16] = {0}, out[0x110];

	sn_set(in, CMD_NUMBER, qp->qpn);
	command(qp->rig, in, sizeof(in), CMD_QUERY_QP, out, sizeof(out));
	return sn_get(out + AT_QPC, QPC_STATE);
}

void rig_recv(struct rig_qp *qp, void *va, uint32_t len)
{
	uint8_t *wqe = qp->rq + (qp->rq_pi & ((1u << LOG_RQ) - 1)) * RQ_STRIDE;

	sn_set32(wqe, 0, len);
	sn_set32(wqe, 4, len ? qp->rig->key : 0x100);
	sn_set64(wqe, 8, (uintptr_t)va);
	qp->rq_pi++;
	__atomic_store_n(&qp->dbr[0].be, htobe32(qp->rq_pi), __ATOMIC_RELEASE);
}

static uint32_t put_data(uint8_t *wqe, uint32_t at, const struct rig_qp *qp,
			 const struct rig_wr *wr)
{
	uint32_t pieces = wr->pieces ? wr->pieces : 1, i, off = 0;

	for (i = 0; i < pieces && wr->len; i++) {
		uint32_t len = i + 1 == pieces ? wr->len - off : wr->len / pieces;

		sn_set32(wqe, at, len);
		sn_set32(wqe, at + 4, wr->lkey ? wr->lkey : qp->rig->key);
		sn_set64(wqe, at + 8, (uintptr_t)wr->va + off);
		at += 16;
		off += len;
	}
	return at;
}

uint16_t rig_post(struct rig_qp *qp, const struct rig_wr *wr)
{
	uint8_t wqe[512] = {0};
	uint32_t at = 16, i, blocks;
	uint16_t index = qp->sq_pi;
	bool imm = wr->op == RIG_SEND_IMM || wr->op == RIG_WRITE_IMM || wr->op == RIG_SEND_INV;

	if (wr->op != RIG_SEND && wr->op != RIG_SEND_IMM && wr->op != RIG_SEND_INV) {
		sn_set64(wqe, at, (uintptr_t)wr->raddr);
		sn_set32(wqe, at + 8, wr->rkey);
		at += 16;
	}
	if (wr->op == RIG_CS || wr->op == RIG_FA) {
		sn_set64(wqe, at, wr->swap_add);
		sn_set64(wqe, at + 8, wr->compare);
		at += 16;
	}
	at = put_data(wqe, at, qp, wr);
	sn_set32(wqe, 0, (uint32_t)index << 8 | wr->op);
	sn_set32(wqe, 4, qp->qpn << 8 | at / 16);
	wqe[11] = (uint8_t)(qp->fence << 5 | qp->ce << 2 | qp->solicited << 1);
	if (imm)
		sn_set32(wqe, 12, wr->imm);
	memcpy(qp->last, wqe, sizeof(qp->last));
	blocks = (at + 63) / 64;
	for (i = 0; i < blocks; i++)
		memcpy(qp->sq + ((qp->sq_pi + i) & ((1u << LOG_SQ) - 1)) * 64, wqe + 64 * i, 64);
	qp->sq_pi = (uint16_t)(qp->sq_pi + blocks);
	return index;
}

void rig_ring(struct rig_qp *qp)
{
	__atomic_store_n(&qp->dbr[1].be, htobe32(qp->sq_pi), __ATOMIC_RELEASE);
	softnic_mmio_write(qp->rig->nic, qp->rig->uar, 0x800, qp->last, sizeof(qp->last));
}

uint16_t rig_post_ring(struct rig_qp *qp, const struct rig_wr *wr)
{
	uint16_t index = rig_post(qp, wr);

	rig_ring(qp);
	return index;
}

bool rig_poll(struct rig *rig, struct rig_cqe *cqe)
{
	const uint8_t *e = rig->cq - 64 +
			   rig_scatter.cqe_size * ((rig->cq_ci & ((1u << LOG_CQ) - 1)) + 1);
	uint8_t own = __atomic_load_n(&e[63], __ATOMIC_ACQUIRE);

	if (own >> 4 == 0xf || (own & 1) != (rig->cq_ci >> LOG_CQ & 1))
		return false;
	*cqe = (struct rig_cqe){
		.op = own >> 4, .syndrome = own >> 4 >= 13 ? e[55] : 0, .solicited = own >> 1 & 1,
		.format = own >> 2 & 3, .at = e,
		.counter = sn_get32(e, 60) >> 16, .wqe_op = e[56], .len = sn_get32(e, 44),
		.qpn = sn_get32(e, 56) & 0xffffff, .imm = sn_get32(e, 36),
	};
	rig->cq_ci++;
	__atomic_store_n(&rig->cq_dbr[0].be, htobe32(rig->cq_ci & 0xffffff), __ATOMIC_RELEASE);
	return true;
}

int rig_event(struct rig *rig)
{
	const uint8_t *e = rig->eq + 64u * (rig->eq_ci & ((1u << LOG_EQ) - 1));
	uint8_t own = __atomic_load_n(&e[63], __ATOMIC_ACQUIRE);

	if ((own & 1) != (rig->eq_ci >> LOG_EQ & 1))
		return -1;
	rig->eq_ci++;
	return e[1];
}

void rig_settle(struct rig *a, struct rig *b)
{
	int quiet = 0;

	while (quiet < 3) {
		bool any = softnic_pump(a->nic);

		if (b)
			any |= softnic_pump(b->nic);
		quiet = any ? 0 : quiet + 1;
	}
}

struct rig_cqe rig_wait(struct rig *rig, struct rig *other)
{
	struct rig_cqe cqe;
	uint64_t end = th_now_ms() + 20000;
	unsigned int n = 0;

	while (!rig_poll(rig, &cqe)) {
		cr_assert_lt(th_now_ms(), end, "the CQ got no completion in 20 seconds");
		/* Yields, because the other end may need this processor. */
		if (!(++n % 64))
			th_yield();
		softnic_pump(rig->nic);
		if (other)
			softnic_pump(other->nic);
	}
	return cqe;
}

struct softnic_counters rig_counters(struct rig *rig)
{
	struct softnic_counters c;

	softnic_counters(rig->nic, &c);
	return c;
}

void rig_expect_violations(struct rig *rig, const char *names)
{
	struct softnic_violation v[32];
	size_t n = softnic_violations(rig->nic, v, 32), i;

	for (i = 0; i < n; i++)
		cr_assert(strstr(names, v[i].name), "unexpected violation %s: %s", v[i].name,
			  v[i].detail);
}

void rig_fill(void *va, size_t len, uint32_t seed)
{
	uint8_t *bytes = va;
	size_t i;

	for (i = 0; i < len; i++)
		bytes[i] = (uint8_t)(seed * 151u + i * 13u + (i >> 8) * 7u + (i >> 16));
}

bool rig_filled(const void *va, size_t len, uint32_t seed)
{
	const uint8_t *bytes = va;
	size_t i;

	for (i = 0; i < len; i++)
		if (bytes[i] != (uint8_t)(seed * 151u + i * 13u + (i >> 8) * 7u + (i >> 16)))
			return false;
	return true;
}
