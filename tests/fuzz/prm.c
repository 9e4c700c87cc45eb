/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A driver that may be wrong in every byte, before the software ConnectX: PRM commands, WQEs and records
 * in memory, doorbells. Each command begins as a valid one on existing objects; the input changes bytes
 * of it. The device reads and writes one arena only, and a reset frees all objects.
 *
 * Judges: softnic/mlx5
 */
#include "softnic/mlx5/prm.h"
#include "softnic/softnic.h"
#include "tests/fuzz/input.h"

enum { PAGE = 4096, SLOTS = 4, KLM_SLOT = 3, IN = 0x1010, STEPS = 64 };
enum kind { NONE, PD, UAR, UMEM, MKEY, EQ, CQ, QP, RMP, XRCD, XRC_SRQ, UCTX, KINDS };
/* The arena has a page for the queue of each slot, one page for all records, and data. */
enum { RECORDS = KINDS * SLOTS * PAGE, DATA = RECORDS + PAGE, DATA_LEN = 4 * PAGE, ARENA = DATA + DATA_LEN };
enum { LOG_RQ = 4, LOG_SQ = 5, SQ_AT = 64 << LOG_RQ };

static struct softnic *nic;
static uint8_t *arena;
static uint32_t live[KINDS][SLOTS];
static uint16_t sq_pi[SLOTS];

static const struct {
	uint16_t opcode;
	enum kind kind;			/* kind of object that its number names */
} commands[] = {
	{ CMD_ALLOC_PD, PD }, { CMD_ALLOC_UAR, UAR }, { CMD_CREATE_UMEM, UMEM }, { CMD_CREATE_MKEY, MKEY },
	{ CMD_CREATE_EQ, EQ }, { CMD_CREATE_CQ, CQ }, { CMD_CREATE_QP, QP }, { CMD_CREATE_RMP, RMP },
	{ CMD_ALLOC_XRCD, XRCD }, { CMD_CREATE_XRC_SRQ, XRC_SRQ }, { CMD_CREATE_UCTX, UCTX },
	/* the first CREATES commands of the table are those that create an object */
	{ CMD_RST2INIT_QP, QP }, { CMD_INIT2RTR_QP, QP }, { CMD_RTR2RTS_QP, QP }, { CMD_RTS2RTS_QP, QP },
	{ CMD_INIT2INIT_QP, QP }, { CMD_2ERR_QP, QP }, { CMD_2RST_QP, QP }, { CMD_QUERY_QP, QP },
	{ CMD_DESTROY_QP, QP }, { CMD_QUERY_CQ, CQ }, { CMD_MODIFY_CQ, CQ }, { CMD_DESTROY_CQ, CQ },
	{ CMD_QUERY_MKEY, MKEY }, { CMD_DESTROY_MKEY, MKEY }, { CMD_QUERY_EQ, EQ }, { CMD_DESTROY_EQ, EQ },
	{ CMD_DESTROY_UMEM, UMEM }, { CMD_DEALLOC_PD, PD }, { CMD_DEALLOC_UAR, UAR }, { CMD_MODIFY_RMP, RMP },
	{ CMD_QUERY_RMP, RMP }, { CMD_DESTROY_RMP, RMP }, { CMD_DEALLOC_XRCD, XRCD },
	{ CMD_DESTROY_XRC_SRQ, XRC_SRQ }, { CMD_DESTROY_UCTX, UCTX }, { CMD_QUERY_HCA_CAP, NONE },
	{ CMD_QUERY_ADAPTER, NONE }, { CMD_INIT_HCA, NONE }, { CMD_TEARDOWN_HCA, NONE },
	{ CMD_ENABLE_HCA, NONE }, { CMD_DISABLE_HCA, NONE }, { CMD_QUERY_PAGES, NONE },
	{ CMD_MANAGE_PAGES, NONE }, { CMD_SET_HCA_CAP, NONE }, { CMD_QUERY_ISSI, NONE },
	{ CMD_SET_ISSI, NONE }, { CMD_QUERY_LAG, NONE },
	{ CMD_QUERY_SPECIAL_CONTEXTS, NONE }, { CMD_MAD_IFC, NONE }, { CMD_QUERY_VPORT_STATE, NONE },
	{ CMD_QUERY_NIC_VPORT_CONTEXT, NONE }, { CMD_MODIFY_NIC_VPORT_CONTEXT, NONE },
	{ CMD_QUERY_ROCE_ADDRESS, NONE }, { CMD_SET_ROCE_ADDRESS, NONE },
	{ CMD_QUERY_HCA_VPORT_CONTEXT, NONE }, { CMD_QUERY_HCA_VPORT_GID, NONE },
	{ CMD_QUERY_HCA_VPORT_PKEY, NONE }, { CMD_ACCESS_REG, NONE },
};
enum { CREATES = 11 };

/* A field that makes a command valid: a constant, or the number of an existing object. */
#define OF(kind) (0x80000000u | (kind))
static const struct {
	enum kind command;
	uint32_t base;
	struct sn_fld field;
	uint32_t value;
} defaults[] = {
	{ MKEY, AT_CTX, MKC_PD, OF(PD) }, { MKEY, AT_CTX, MKC_MODE_1_0, MODE_MTT },
	{ MKEY, AT_CTX, MKC_A, 1 }, { MKEY, AT_CTX, MKC_RW, 1 }, { MKEY, AT_CTX, MKC_RR, 1 },
	{ MKEY, AT_CTX, MKC_LW, 1 }, { MKEY, AT_CTX, MKC_LR, 1 }, { MKEY, AT_CTX, MKC_QPN, 0xffffff },
	{ MKEY, AT_CTX, MKC_LOG_PAGE, 12 }, { MKEY, 0, MKEY_PG_ACCESS, 1 }, { MKEY, AT_CTX, MKC_UMR_EN, 1 },
	{ CQ, AT_CTX, CQC_UAR, OF(UAR) }, { CQ, AT_CTX, CQC_EQN, OF(EQ) }, { CQ, AT_CTX, CQC_LOG_SIZE, 4 },
	{ EQ, AT_CTX, EQC_UAR, OF(UAR) }, { EQ, AT_CTX, EQC_LOG_SIZE, 4 },
	{ QP, AT_QPC, QPC_PD, OF(PD) }, { QP, AT_QPC, QPC_UAR, OF(UAR) }, { QP, AT_QPC, QPC_CQN_SND, OF(CQ) },
	{ QP, AT_QPC, QPC_CQN_RCV, OF(CQ) }, { QP, AT_QPC, QPC_LOG_SQ_SIZE, LOG_SQ },
	{ QP, AT_QPC, QPC_LOG_RQ_SIZE, LOG_RQ }, { QP, AT_QPC, QPC_LOG_RQ_STRIDE, 2 },
	{ QP, AT_QPC, QPC_TS_FORMAT, TS_DEFAULT }, { QP, AT_QPC, QPC_MTU, 3 },
	{ QP, AT_QPC, QPC_LOG_MSG_MAX, 30 }, { QP, AT_QPC, QPC_FRE, 1 },
	{ QP, AT_QPC, QPC_RRE, 1 }, { QP, AT_QPC, QPC_RWE, 1 }, { QP, AT_QPC, QPC_RAE, 1 },
	{ QP, AT_QPC, QPC_LOG_SRA_MAX, 2 }, { QP, AT_QPC, QPC_LOG_RRA_MAX, 2 },
	{ QP, AT_QPC, QPC_REMOTE_QPN, OF(QP) }, { QP, AT_QPC, QPC_RETRY, 1 }, { QP, AT_QPC, QPC_PM_STATE, 3 },
	{ QP, AT_QPC + AT_ADS, ADS_ACK_TIMEOUT, 14 },
	{ QP, AT_QPC + AT_ADS, ADS_PORT, 1 }, { QP, AT_QPC + AT_ADS, ADS_FL, 1 },
	{ RMP, AT_WQ, WQ_PD, OF(PD) }, { RMP, AT_RMPC, RMPC_STATE, RMPC_RDY },
	{ RMP, AT_WQ, WQ_LOG_STRIDE, 6 }, { RMP, AT_WQ, WQ_LOG_SIZE, 4 },
	{ RMP, AT_WQ, WQ_TYPE, WQ_LINKED_LIST },
	{ XRC_SRQ, AT_CTX, XSRQC_XRCD, OF(XRCD) }, { XRC_SRQ, AT_CTX, XSRQC_CQN, OF(CQ) },
	{ XRC_SRQ, AT_CTX, XSRQC_PD, OF(PD) },
};

static void *dma(void *ctx, uint64_t addr, size_t len, bool write)
{
	uint64_t at = addr - (uintptr_t)arena;

	(void)ctx;
	(void)write;
	return at <= ARENA && len <= ARENA - at ? arena + at : NULL;
}

static uint64_t queue_of(enum kind kind, unsigned int slot)
{
	return (uintptr_t)arena + (kind * SLOTS + slot) * (uint64_t)PAGE;
}

static uint64_t record_of(enum kind kind, unsigned int slot)
{
	return (uintptr_t)arena + RECORDS + (kind * SLOTS + slot) * 64ull;
}

static void put_klm(uint8_t *at, uint32_t key)
{
	sn_set32(at, 0, PAGE);
	sn_set32(at, 4, key);
	sn_set64(at, 8, (uintptr_t)arena + DATA);
}

static void put_addresses(uint8_t *c, enum kind kind, unsigned int slot)
{
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t data = (uintptr_t)arena + DATA + i * PAGE + (MTT_RD | MTT_WR);

		sn_set64(c, AT_PAS + 8 * i, kind == MKEY ? data : queue_of(kind, slot));
	}
	if (kind == CQ)
		sn_set64(c + AT_CTX, CQC_DBR_ADDR, record_of(kind, slot));
	if (kind == QP)
		sn_set64(c + AT_QPC, QPC_DBR_ADDR, record_of(kind, slot));
	if (kind == RMP)
		sn_set64(c + AT_WQ, WQ_DBR_ADDR, record_of(kind, slot));
	if (kind == MKEY) {
		sn_set64(c + AT_CTX, MKC_START, (uintptr_t)arena + DATA);
		sn_set64(c + AT_CTX, MKC_LEN, DATA_LEN);
		sn_set32(c + AT_CTX, MKC_XLT_SIZE, 2);
		sn_set32(c, MKEY_XLT_ACTUAL, 2);
	}
	if (kind == MKEY && slot == KLM_SLOT) {
		sn_set(c + AT_CTX, MKC_MODE_1_0, MODE_KLM);
		sn_set32(c + AT_CTX, MKC_XLT_SIZE, 8);
		put_klm(c + AT_PAS, live[MKEY][0] << 8);
		put_klm(c + AT_PAS + 16, live[MKEY][1] << 8);
	}
	if (kind == UMEM) {
		sn_set64(c + AT_CTX, UMEM_NUM_MTT, 1);
		sn_set64(c + AT_CTX, UMEM_MTT, queue_of(kind, slot) | MTT_RD | MTT_WR);
	}
}

static void fill(struct fuzz_input *in, uint8_t *c, enum kind kind, unsigned int slot)
{
	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++) {
		uint32_t v = defaults[i].value;

		if (defaults[i].command == kind)
			sn_set(c + defaults[i].base, defaults[i].field,
			       v & 0x80000000u ? live[v & 0xff][fuzz_below(in, SLOTS)] : v);
	}
	put_addresses(c, kind, slot);
}

static void change_bytes(struct fuzz_input *in, uint8_t *at, uint32_t len)
{
	for (unsigned int n = fuzz_below(in, 8); n--;)
		at[fuzz_u16(in) % len] = fuzz_u8(in);
}

static void run(struct fuzz_input *in, unsigned int i)
{
	uint8_t *c = calloc(1, IN), out[0x200] = { 0 };
	enum kind kind = commands[i].kind;
	unsigned int slot = fuzz_below(in, SLOTS);
	size_t len = IN - (fuzz_below(in, 16) ? 0 : fuzz_u16(in) % IN);
	bool is_eq = kind == EQ;

	FUZZ_ASSERT(c);
	sn_set(c, CMD_OPCODE, commands[i].opcode);
	sn_set(c, is_eq ? CMD_EQN : CMD_NUMBER, live[kind][slot]);
	fill(in, c, kind, slot);
	change_bytes(in, c + 2, IN - 2);
	/* an exact size, so that a sanitizer finds a read beyond it */
	c = realloc(c, len ? len : 1);
	FUZZ_ASSERT(c && softnic_cmd(nic, c, len, out, sizeof(out)) == (len < 8 ? -22 : 0));
	if (len >= 8 && !out[0] && i < CREATES)
		live[kind][slot] = sn_get(out, is_eq ? CMD_EQN : CMD_NUMBER);
	if (commands[i].opcode == CMD_CREATE_QP || commands[i].opcode == CMD_2RST_QP) {
		sq_pi[slot] = 0;
		memset(arena + RECORDS + (QP * SLOTS + slot) * 64, 0, 64);
	}
	free(c);
}

/* Makes the objects of a QP that sends to itself. */
static void make_objects(struct fuzz_input *in)
{
	static const uint8_t order[] = { 0, 1, 2, 4, 5, 3, 6, 11, 12, 13 };

	for (size_t i = 0; i < sizeof(order); i++)
		run(in, order[i]);
}

/* Writes three segments behind the control segment: addresses or data, on existing keys. */
static void put_segments(struct fuzz_input *in, uint8_t *w)
{
	for (uint32_t at = 16; at < 64; at += 16) {
		uint64_t va = (uintptr_t)arena + DATA + fuzz_u8(in) * 16;
		uint32_t key = live[MKEY][fuzz_below(in, SLOTS)] << 8, len = fuzz_u16(in);
		bool remote = fuzz_below(in, 2);

		sn_set64(w, at + (remote ? 0 : 8), va);
		sn_set32(w, at + (remote ? 8 : 0), remote ? key : len);
		sn_set32(w, at + (remote ? 12 : 4), remote ? 0 : key);
	}
}

/* Writes the segments of a UMR of an existing key, with or without a list. Returns its length. */
static unsigned int put_umr(struct fuzz_input *in, uint8_t *w)
{
	static const uint64_t masks[] = { UINT64_C(1) << 29, 0x9e2043 | UINT64_C(1) << 29, 0x43, 0x80, 0 };
	enum { INLINE = 0x80, OFFSET = 0x10, LIST_AT = 128 };
	unsigned int octowords = fuzz_below(in, 4) ? 4 : 0, slot = fuzz_below(in, SLOTS);
	bool by_pointer = octowords && !fuzz_below(in, 4);

	sn_set32(w, 12, live[MKEY][slot] << 8 | fuzz_below(in, 4));
	w[16] = (uint8_t)((by_pointer ? 0 : INLINE) | (fuzz_below(in, 4) ? 0 : OFFSET));
	sn_set32(w, 20, octowords << 16 | 4 * fuzz_below(in, 2));
	sn_set64(w, 24, masks[fuzz_below(in, 5)]);
	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (defaults[i].command == MKEY && defaults[i].base && defaults[i].value < OF(0))
			sn_set(w + 64, defaults[i].field, defaults[i].value);
	sn_set(w + 64, MKC_PD, live[PD][fuzz_below(in, SLOTS)]);
	sn_set(w + 64, MKC_FREE, !fuzz_below(in, 4));
	sn_set(w + 64, MKC_KEY, fuzz_below(in, 4));
	sn_set64(w + 64, MKC_START, (uintptr_t)arena + DATA + fuzz_below(in, 2));
	sn_set64(w + 64, MKC_LEN, fuzz_u16(in));
	for (uint32_t i = 0; i < 2 * octowords; i++)
		sn_set64(w, LIST_AT + 8 * i, (uintptr_t)arena + DATA + fuzz_below(in, 4) * PAGE + 3);
	for (uint32_t i = 0; i < octowords && (by_pointer || slot == KLM_SLOT); i++)
		put_klm(w + LIST_AT + 16 * i, live[MKEY][fuzz_below(in, SLOTS)] << 8);
	return 8 + (by_pointer ? 1 : octowords);
}

static void post_send(struct fuzz_input *in)
{
	static const uint8_t opcodes[] = { 8, 9, 10, 11, 1, 16, 17, 18, 0x25, 0, 0x33, 0x0c, 0x0e };
	unsigned int slot = fuzz_below(in, SLOTS);
	uint8_t *sq = arena + (QP * SLOTS + slot) * PAGE + SQ_AT, w[4 * 64] = { 0 };
	uint8_t opcode = opcodes[fuzz_below(in, sizeof(opcodes))];
	unsigned int ds, blocks;

	ds = opcode == 0x25 ? put_umr(in, w) : 1 + fuzz_below(in, 4);
	blocks = (ds + 3) / 4;
	sn_set32(w, 0, (uint32_t)sq_pi[slot] << 8 | opcode);
	sn_set32(w, 4, live[QP][slot] << 8 | ds);
	w[11] = fuzz_u8(in);
	if (opcode != 0x25)
		put_segments(in, w);
	change_bytes(in, w, 64 * blocks);
	for (unsigned int i = 0; i < blocks; i++)
		memcpy(sq + (sq_pi[slot] + i) % (1u << LOG_SQ) * 64, w + 64ul * i, 64);
	sq_pi[slot] = (uint16_t)(sq_pi[slot] + blocks + !fuzz_below(in, 16));
	sn_set32(arena, RECORDS + (QP * SLOTS + slot) * 64 + 4, sq_pi[slot]);
	softnic_mmio_write(nic, live[UAR][0], 0x800, w, 8);
}

static void post_receive(struct fuzz_input *in)
{
	unsigned int slot = fuzz_below(in, SLOTS);
	enum kind kind = fuzz_below(in, 2) ? RMP : QP;
	uint8_t *w = arena + (kind * SLOTS + slot) * PAGE + fuzz_below(in, 1 << LOG_RQ) * 64;

	put_segments(in, w - 16);
	change_bytes(in, w, 64);
	sn_set32(arena, RECORDS + (kind * SLOTS + slot) * 64, fuzz_u8(in));
}

static void write_memory(struct fuzz_input *in)
{
	change_bytes(in, arena + (fuzz_u16(in) * 64 % ARENA), 64);
}

static void ring(struct fuzz_input *in)
{
	static const uint32_t offsets[] = { 0x800, 0x900, 0xa00, 0x20, 0x40, 0x48, 0x24, 0x800 };
	uint32_t offset = offsets[fuzz_below(in, 8)], page = live[UAR][fuzz_below(in, SLOTS)];
	uint8_t data[256] = { 0 };

	sn_set32(data, 0, offset == 0x40 ? live[EQ][fuzz_below(in, SLOTS)] << 24 : fuzz_u16(in));
	sn_set32(data, 4, offset == 0x20 ? live[CQ][fuzz_below(in, SLOTS)] :
			  live[QP][fuzz_below(in, SLOTS)] << 8 | fuzz_below(in, 16));
	change_bytes(in, data, sizeof(data));
	softnic_mmio_write(nic, page, offset, data, fuzz_below(in, 2) ? 8 : (fuzz_below(in, 4) + 1) * 64);
}

static void step(struct fuzz_input *in)
{
	switch (fuzz_below(in, 8)) {
	case 0: write_memory(in); break;
	case 1: ring(in); break;
	case 2: post_receive(in); break;
	case 3: softnic_pump(nic); break;
	case 4: make_objects(in); break;
	case 5: post_send(in); break;
	default: run(in, fuzz_below(in, sizeof(commands) / sizeof(commands[0]))); break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const kinds[] = { "qp", "cq", "mkey", "pd", "uar", "umem", "eq", "rmp" };
	struct fuzz_input in = { data, size };
	struct softnic_config config = {
		.flags = SOFTNIC_NO_THREAD | SOFTNIC_LOOPBACK_ONLY |
			 (fuzz_below(&in, 2) ? SOFTNIC_ADVERSARIAL : 0) |
			 (fuzz_below(&in, 2) ? SOFTNIC_INFINIBAND : 0),
		.ports = 1 + fuzz_below(&in, 2),
		.seed = 1,
		.host = { .dma = dma },
	};

	memset(live, 0, sizeof(live));
	memset(sq_pi, 0, sizeof(sq_pi));
	arena = aligned_alloc(PAGE, ARENA);
	FUZZ_ASSERT(arena);
	memset(arena, 0, ARENA);
	FUZZ_ASSERT(softnic_open(&config, &nic) == 0);
	for (unsigned int i = 0; i < STEPS && in.left; i++)
		step(&in);
	softnic_reset(nic);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		FUZZ_ASSERT(softnic_object_count(nic, kinds[i]) == 0);
	softnic_close(nic);
	free(arena);
	return 0;
}
