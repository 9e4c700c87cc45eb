/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Seeded fuzzing: commands with random fields and existing numbers, then WQEs and doorbells of random
 * bytes. The host's memory is one arena; the device may touch nothing else. The test checks that the
 * process survives, and that the device still serves a correct driver afterwards.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/softnic/drv.h"

enum { ARENA = 1 << 20, ROUNDS = 20000 };

static struct softnic *nic;
static uint8_t *arena;
static uint64_t state;

enum kind { PD, UAR, UMEM, MKEY, EQ, CQ, QP, KINDS, SLOTS = 4 };
static uint32_t live[KINDS][SLOTS];

static uint32_t rnd(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16) % below;
}

static void *dma(void *ctx, uint64_t addr, size_t len, bool write)
{
	uint64_t base = (uintptr_t)arena;

	(void)ctx;
	(void)write;
	return addr >= base && addr - base <= ARENA && len <= ARENA - (addr - base)
		       ? (void *)(uintptr_t)addr
		       : NULL;
}

static void open_fuzz(uint64_t seed, unsigned int flags)
{
	struct softnic_config config = {
		.flags = SOFTNIC_NO_THREAD | SOFTNIC_LOOPBACK_ONLY | flags,
		.seed = seed,
		.host = { .dma = dma },
	};

	state = seed * 0x9e3779b97f4a7c15u + 1;
	memset(live, 0, sizeof(live));
	arena = drv_pages(ARENA);
	cr_assert_eq(softnic_open(&config, &nic), 0);
}

static uint64_t some_address(void)
{
	return rnd(8) ? (uintptr_t)arena + rnd(ARENA / 4096) * 4096ull : state;
}

static uint32_t some(enum kind kind)
{
	return rnd(16) ? live[kind][rnd(SLOTS)] : rnd(1 << 24);
}

/* Fills the input mostly with zeros, so that some commands pass the first checks. */
static void sprinkle(uint8_t *in, size_t len)
{
	for (unsigned int n = rnd(6); n--;)
		in[8 + rnd((uint32_t)len - 8)] = (uint8_t)rnd(256);
}

static const struct {
	uint16_t opcode;
	/*
	 * kind of object whose number the command has, and whether the number is in the input or in
	 * the output
	 */
	enum kind kind;
	bool creates;
} commands[] = {
	{ CMD_ALLOC_PD, PD, true },	  { CMD_ALLOC_UAR, UAR, true },
	{ CMD_CREATE_UMEM, UMEM, true },  { CMD_CREATE_MKEY, MKEY, true },
	{ CMD_CREATE_EQ, EQ, true },	  { CMD_CREATE_CQ, CQ, true },
	{ CMD_CREATE_QP, QP, true },	  { CMD_CREATE_QP, QP, true },
	{ CMD_RST2INIT_QP, QP, false },	  { CMD_INIT2RTR_QP, QP, false },
	{ CMD_RTR2RTS_QP, QP, false },	  { CMD_RST2INIT_QP, QP, false },
	{ CMD_INIT2RTR_QP, QP, false },	  { CMD_RTR2RTS_QP, QP, false },
	{ CMD_RTS2RTS_QP, QP, false },	  { CMD_INIT2INIT_QP, QP, false },
	{ CMD_2ERR_QP, QP, false },	  { CMD_2RST_QP, QP, false },
	{ CMD_QUERY_QP, QP, false },	  { CMD_DESTROY_QP, QP, false },
	{ CMD_QUERY_CQ, CQ, false },	  { CMD_MODIFY_CQ, CQ, false },
	{ CMD_DESTROY_CQ, CQ, false },	  { CMD_QUERY_MKEY, MKEY, false },
	{ CMD_DESTROY_MKEY, MKEY, false }, { CMD_QUERY_EQ, EQ, false },
	{ CMD_DESTROY_EQ, EQ, false },	  { CMD_DESTROY_UMEM, UMEM, false },
	{ CMD_DEALLOC_PD, PD, false },	  { CMD_DEALLOC_UAR, UAR, false },
	{ CMD_ALLOC_PD, PD, true },	  { CMD_ALLOC_UAR, UAR, true },
	{ CMD_CREATE_CQ, CQ, true },	  { CMD_CREATE_EQ, EQ, true },
	{ CMD_CREATE_QP, QP, true },	  { CMD_CREATE_MKEY, MKEY, true },
	{ CMD_QUERY_HCA_CAP, PD, false }, { CMD_SET_ROCE_ADDRESS, PD, false },
	{ CMD_MODIFY_NIC_VPORT_CONTEXT, PD, false },
};

static void fill_qp(uint8_t *qpc)
{
	sn_set(qpc, QPC_PD, some(PD));
	sn_set(qpc, QPC_UAR, some(UAR));
	sn_set(qpc, QPC_CQN_SND, some(CQ));
	sn_set(qpc, QPC_CQN_RCV, some(CQ));
	sn_set64(qpc, QPC_DBR_ADDR, some_address());
	sn_set(qpc, QPC_LOG_SQ_SIZE, rnd(7));
	sn_set(qpc, QPC_TS_FORMAT, TS_DEFAULT);
	sn_set(qpc, QPC_LOG_RQ_SIZE, rnd(4));
	sn_set(qpc, QPC_LOG_RQ_STRIDE, rnd(3));
	sn_set(qpc, QPC_MTU, 1 + rnd(5));
	sn_set(qpc, QPC_REMOTE_QPN, some(QP));
	sn_set(qpc, QPC_LOG_MSG_MAX, rnd(31));
	sn_set(qpc, QPC_RRE, 1);
	sn_set(qpc, QPC_RWE, 1);
	sn_set(qpc + AT_ADS, ADS_PORT, 1);
	sn_set(qpc + AT_ADS, ADS_FL, 1);
}

static void fill_mkey(uint8_t *in)
{
	sn_set(in + AT_CTX, MKC_PD, some(PD));
	sn_set(in + AT_CTX, MKC_MODE_1_0, rnd(4));
	sn_set(in + AT_CTX, MKC_UMR_EN, rnd(2));
	for (uint16_t bit = 0x11; bit <= 0x15; bit++)
		sn_set(in + AT_CTX, SN_FLD(bit, 1), 1);
	sn_set(in + AT_CTX, MKC_QPN, 0xffffff);
	sn_set(in + AT_CTX, MKC_LOG_PAGE, 12);
	sn_set32(in + AT_CTX, MKC_XLT_SIZE, rnd(5));
	sn_set32(in, MKEY_XLT_ACTUAL, rnd(5));
	sn_set64(in + AT_CTX, MKC_START, (uintptr_t)arena);
	sn_set64(in + AT_CTX, MKC_LEN, rnd(20000));
	sn_set(in, MKEY_PG_ACCESS, 1);
}

static void fill_queue(uint8_t *ctx)
{
	sn_set(ctx, CQC_UAR, some(UAR));
	sn_set(ctx, CQC_EQN, some(EQ));
	sn_set64(ctx, CQC_DBR_ADDR, some_address());
	sn_set(ctx, CQC_LOG_SIZE, rnd(7));
}

static void fill(uint8_t *in, uint16_t opcode, enum kind kind)
{
	sn_set(in, CMD_OPCODE, opcode);
	sn_set(in, kind == EQ ? CMD_EQN : CMD_NUMBER, some(kind));
	for (uint32_t at = AT_PAS; at < AT_PAS + 64; at += 8)
		sn_set64(in, at, some_address() | (kind == MKEY ? MTT_RD | MTT_WR : 0));
	if (kind == QP)
		fill_qp(in + AT_QPC);
	else if (kind == CQ || kind == EQ)
		fill_queue(in + AT_CTX);
	else if (kind == MKEY)
		fill_mkey(in);
	else if (kind == UMEM)
		sn_set64(in + AT_CTX, UMEM_NUM_MTT, rnd(3));
	if (kind == UMEM)
		sn_set64(in + AT_CTX, UMEM_MTT, some_address() | MTT_RD);
	if (rnd(2))
		sprinkle(in, AT_PAS + 64);
}

/* Moves the QP up to RTS, so that doorbells find a QP. */
static void bring_up(uint32_t qpn)
{
	static const uint16_t steps[] = { CMD_RST2INIT_QP, CMD_INIT2RTR_QP, CMD_RTR2RTS_QP };
	uint8_t in[0x200] = { 0 }, out[16];

	fill(in, 0, QP);
	for (unsigned int i = 0; i < 3; i++) {
		sn_set(in, CMD_OPCODE, steps[i]);
		sn_set(in, CMD_NUMBER, qpn);
		softnic_cmd(nic, in, sizeof(in), out, sizeof(out));
	}
}

static void random_command(void)
{
	uint8_t in[0x200] = { 0 }, out[32];
	unsigned int i = rnd(sizeof(commands) / sizeof(commands[0]));
	enum kind kind = commands[i].kind;

	fill(in, commands[i].opcode, kind);
	softnic_cmd(nic, in, rnd(16) ? sizeof(in) : rnd(sizeof(in)), out, sizeof(out));
	if (out[0] || !commands[i].creates)
		return;
	live[kind][rnd(SLOTS)] = sn_get(out, kind == EQ ? CMD_EQN : CMD_NUMBER);
	if (kind == QP)
		bring_up(sn_get(out, CMD_NUMBER));
}

/* Fills all of the arena with random bytes that resemble WQEs and records. */
static void random_memory(void)
{
	static const uint8_t ops[] = { 0, 1, 8, 9, 10, 11, 16, 17, 18, 0x25, 0x33 };

	for (unsigned int n = 0; n < 16; n++) {
		uint8_t *p = arena + rnd(ARENA / 64) * 64;

		sn_set32(p, 0, rnd(4) << 8 | ops[rnd(sizeof(ops))]);
		sn_set32(p, 4, some(QP) << 8 | rnd(16));
		p[11] = (uint8_t)rnd(256);
		for (unsigned int i = 16; i < 64; i += 16) {
			sn_set32(p, i, rnd(4) ? rnd(5000) : (uint32_t)state);
			sn_set32(p, i + 4, some(MKEY) << 8);
			sn_set64(p, i + 8, some_address());
		}
	}
	for (unsigned int n = 0; n < 8; n++)
		sn_set32(arena + rnd(ARENA / 4096) * 4096, 4 * rnd(2), rnd(3) ? rnd(8) : rnd(70000));
}

static void random_doorbell(void)
{
	static const uint32_t offsets[] = { 0x800, 0x900, 0xa00, 0x20, 0x40, 0x48, 0x24 };
	uint8_t data[256];
	uint32_t offset = offsets[rnd(7)];

	for (unsigned int i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)rnd(256);
	sn_set32(data, 4, offset == 0x20 ? some(CQ) : some(QP) << 8 | rnd(16));
	if (offset == 0x40 || offset == 0x48)
		sn_set32(data, 0, some(EQ) << 24 | rnd(4));
	softnic_mmio_write(nic, some(UAR), offset, data, rnd(2) ? 8 : rnd(5) * 64);
}

static void fuzz(uint64_t seed, unsigned int flags)
{
	uint8_t in[16] = { 0 }, out[DRV_OUT] = { 0xff };

	open_fuzz(seed, flags);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		random_command();
		if (!rnd(4))
			random_memory();
		random_doorbell();
		if (!rnd(16))
			softnic_pump(nic);
	}
	sn_set(in, CMD_OPCODE, CMD_QUERY_HCA_CAP);
	cr_expect_eq(softnic_cmd(nic, in, sizeof(in), out, sizeof(out)), 0);
	cr_expect_eq(out[0], 0, "QUERY_HCA_CAP has status %#x afterwards", out[0]);
	softnic_close(nic);
	free(arena);
}

Test(fuzz, nonsense__is_survived)
{
	fuzz(1, 0);
}

Test(fuzz, nonsense__is_survived_scanning)
{
	fuzz(2, SOFTNIC_SCAN_UARS | SOFTNIC_ADVERSARIAL);
}

static void start_again(struct drv_qp *qp, struct drv_qp *peer)
{
	drv_to(qp, CMD_2RST_QP);
	drv_to(peer, CMD_2RST_QP);
	qp->pi = peer->rq_pi = 0;
	qp->dbr[0] = qp->dbr[1] = peer->dbr[0] = peer->dbr[1] = 0;
	drv_connect(qp, peer);
}

/* Checks that a correct driver can still write. */
static void serves(struct drv_qp *qp, struct drv_qp *peer, struct drv_mr *mr)
{
	struct drv_cqe e;
	struct drv_wqe w;

	start_again(qp, peer);
	memset(mr->mem, 0x5a, 4096);
	memset(mr->mem + 32768, 0, 4096);
	drv_ctrl(qp, &w, 8, CE_ALWAYS << 2, 0);
	drv_raddr(&w, (uintptr_t)mr->mem + 32768, mr->key);
	drv_data(&w, mr->mem, 4096, mr->key);
	drv_post(qp, &w);
	drv_wait(qp->scq, &e);
	cr_expect_eq(e.opcode, 0, "the write has completed with an error");
	cr_expect_arr_eq(mr->mem + 32768, mr->mem, 4096);
}

/* Sets up a QP correctly. Then gives it random input. */
static void feed_wqes(uint64_t seed)
{
	struct drv *d = drv_open(0);
	struct drv_cq cq;
	struct drv_qp qp = { 0 }, peer = { 0 };
	struct drv_mr mr;
	struct drv_cqe e;
	struct drv_wqe w;

	state = seed;
	drv_cq(d, &cq, 8, false);
	drv_qp(d, &qp, &cq, &cq);
	drv_qp(d, &peer, &cq, &cq);
	drv_mr(d, &mr, 65536, DRV_ALL);
	for (unsigned int i = 0; i < SLOTS; i++)
		live[MKEY][i] = mr.index;
	live[MKEY][0] = drv_window(d, 16) >> 8;
	for (unsigned int i = 0; i < 5000; i++) {
		static const uint8_t ops[] = { 0, 1, 8, 9, 10, 11, 16, 17, 18, 0x25 };

		if (!(i % 4)) {
			start_again(&qp, &peer);
			drv_recv(&peer, &mr, rnd(60000), 1 + rnd(5000));
		}
		drv_ctrl(&qp, &w, ops[rnd(10)], (uint8_t)rnd(256), some(MKEY) << 8);
		while (w.ds < 3 + rnd(12)) {
			uint32_t len = rnd(3) ? rnd(3000) : (uint32_t)state;

			drv_data(&w, mr.mem + rnd(65536), len, mr.key ^ (rnd(8) ? 0 : rnd(512)));
		}
		sn_set64(w.b, 16, rnd(4) ? (uintptr_t)mr.mem + rnd(65536) : state);
		sn_set32(w.b, 24, mr.key);
		sprinkle(w.b, w.ds * 16);
		drv_post(&qp, &w);
		for (unsigned int n = 0; n < 20; n++) {
			softnic_pump(d->nic);
			while (drv_poll(&cq, &e))
				;
		}
	}
	serves(&qp, &peer, &mr);
	softnic_violations_clear(d->nic);
	drv_simple(d, CMD_DESTROY_MKEY, live[MKEY][0]);
	drv_qp_free(&qp);
	drv_qp_free(&peer);
	drv_cq_free(&cq);
	drv_mr_free(d, &mr);
	drv_close(d);
}

Test(fuzz, wqes__are_survived)
{
	feed_wqes(77);
}
