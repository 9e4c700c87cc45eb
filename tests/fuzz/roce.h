/* SPDX-License-Identifier: BSD-2-Clause */
/* The objects of the targets roce and far: memory, keys, queues and QPs of one device. */
#ifndef TEST_FUZZ_ROCE_H
#define TEST_FUZZ_ROCE_H

#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"
#include "tests/fuzz/input.h"

enum { PAGE = 4096, IN = 0x200, STEPS = 96, MTU = 256, QKEY = 7 };
enum { LOG_RQ = 4, LOG_SQ = 5, LOG_CQ = 8, LOG_EQ = 8 };
/* The connection of SHARED takes its receives from a pool. */
enum { PLAIN, SHARED, DATAGRAM, QPS, NOBODY = 0x777 };
/* One page each: remote write, read and atomics; remote read; local access; none; two windows of one key. */
enum region { REMOTE, READABLE, LOCAL, SECRET, WINDOW, REGIONS };
enum { WINDOW_VA = 0x10000, PIECE = 512, PIECE_0 = 1024, PIECE_1 = 2048 };
enum { AT_CQ, AT_EQ = AT_CQ + (64 << LOG_CQ), AT_QP = AT_EQ + (64 << LOG_EQ), AT_POOL = AT_QP + QPS * PAGE,
       AT_RECORDS = AT_POOL + PAGE, AT_DATA = AT_RECORDS + PAGE, ARENA = AT_DATA + REGIONS * PAGE };
enum { CQ_RECORD = QPS, POOL_RECORD };

static struct softnic *nic;
static uint8_t *arena;
static uint32_t pd, uar, eq, cq, pool, keys[REGIONS];
static struct {
	uint32_t qpn;
	uint16_t sq_pi, rq_pi;
	unsigned int sends, sent, receives, received;	/* posted and completed */
} qps[QPS];

static bool rarely(struct fuzz_input *in)
{
	return fuzz_below(in, 8) == 7;
}

static uint8_t *data_of(enum region r)
{
	return arena + AT_DATA + r * PAGE;
}

static uint8_t *record_of(unsigned int i)
{
	return arena + AT_RECORDS + i * 64;
}

static uint32_t command(uint16_t opcode, uint8_t *in)
{
	uint8_t out[16] = { 0 };

	sn_set(in, CMD_OPCODE, opcode);
	FUZZ_ASSERT(!softnic_cmd(nic, in, IN, out, sizeof(out)) && !out[0]);
	return sn_get(out, opcode == CMD_CREATE_EQ ? CMD_EQN : CMD_NUMBER);
}

static void put_pages(uint8_t *in, const uint8_t *at, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		sn_set64(in, AT_PAS + 8 * i, (uintptr_t)at + i * PAGE);
}

static void make_queues(void)
{
	uint8_t eqc[IN] = { 0 }, cqc[IN] = { 0 }, rmpc[IN] = { 0 };

	sn_set(eqc + AT_CTX, EQC_UAR, uar);
	sn_set(eqc + AT_CTX, EQC_LOG_SIZE, LOG_EQ);
	sn_set64(eqc, EQ_BITMASK, ~UINT64_C(0));
	put_pages(eqc, arena + AT_EQ, (64 << LOG_EQ) / PAGE);
	eq = command(CMD_CREATE_EQ, eqc);
	for (unsigned int i = 0; i < 1u << LOG_CQ; i++)
		arena[AT_CQ + i * 64 + 63] = 0xf1;
	sn_set(cqc + AT_CTX, CQC_UAR, uar);
	sn_set(cqc + AT_CTX, CQC_EQN, eq);
	sn_set(cqc + AT_CTX, CQC_LOG_SIZE, LOG_CQ);
	sn_set64(cqc + AT_CTX, CQC_DBR_ADDR, (uintptr_t)record_of(CQ_RECORD));
	put_pages(cqc, arena + AT_CQ, (64 << LOG_CQ) / PAGE);
	cq = command(CMD_CREATE_CQ, cqc);
	for (unsigned int i = 0; i < 1u << LOG_RQ; i++)
		sn_set32(arena, AT_POOL + i * 64, (i + 1) % (1u << LOG_RQ));
	sn_set(rmpc + AT_RMPC, RMPC_STATE, RMPC_RDY);
	sn_set(rmpc + AT_WQ, WQ_PD, pd);
	sn_set(rmpc + AT_WQ, WQ_LOG_STRIDE, 6);
	sn_set(rmpc + AT_WQ, WQ_LOG_SIZE, LOG_RQ);
	sn_set64(rmpc + AT_WQ, WQ_DBR_ADDR, (uintptr_t)record_of(POOL_RECORD));
	put_pages(rmpc, arena + AT_POOL, 1);
	pool = command(CMD_CREATE_RMP, rmpc);
}

static uint32_t make_key(enum region r, unsigned int rights)
{
	uint8_t in[IN] = { 0 }, *c = in + AT_CTX;

	sn_set(c, MKC_PD, pd);
	sn_set(c, MKC_QPN, SN_ANY_QPN);
	sn_set(c, MKC_MODE_1_0, MODE_MTT);
	sn_set(c, MKC_LOG_PAGE, 12);
	sn_set(c, MKC_LR, 1);
	sn_set(c, MKC_LW, !!(rights & SN_LW));
	sn_set(c, MKC_RR, !!(rights & SN_RR));
	sn_set(c, MKC_RW, !!(rights & SN_RW));
	sn_set(c, MKC_A, !!(rights & SN_ATOMIC));
	sn_set64(c, MKC_START, (uintptr_t)data_of(r));
	sn_set64(c, MKC_LEN, PAGE);
	sn_set32(c, MKC_XLT_SIZE, 1);
	sn_set32(in, MKEY_XLT_ACTUAL, 1);
	put_pages(in, data_of(r), 1);
	return command(CMD_CREATE_MKEY, in) << 8;
}

/* A key of the connection PLAIN alone, for two pieces of a page. Its peer can invalidate the key. */
static uint32_t make_window(uint32_t under)
{
	uint8_t in[IN] = { 0 }, *c = in + AT_CTX;

	sn_set(c, MKC_PD, pd);
	sn_set(c, MKC_QPN, qps[PLAIN].qpn);
	sn_set(c, MKC_MODE_1_0, MODE_KLM);
	sn_set(c, MKC_RR, 1);
	sn_set(c, MKC_RW, 1);
	sn_set(c, MKC_EN_RINVAL, 1);
	sn_set64(c, MKC_START, WINDOW_VA);
	sn_set64(c, MKC_LEN, 2 * PIECE);
	sn_set32(c, MKC_XLT_SIZE, 2);
	sn_set32(in, MKEY_XLT_ACTUAL, 2);
	for (uint32_t i = 0; i < 2; i++) {
		sn_set32(in, AT_PAS + 16 * i, PIECE);
		sn_set32(in, AT_PAS + 16 * i + 4, under);
		sn_set64(in, AT_PAS + 16 * i + 8, (uintptr_t)data_of(WINDOW) + (i ? PIECE_1 : PIECE_0));
	}
	return command(CMD_CREATE_MKEY, in) << 8;
}

static void make_qp(unsigned int i)
{
	uint8_t in[IN] = { 0 }, *c = in + AT_QPC;

	sn_set(c, QPC_ST, i == DATAGRAM ? ST_UD : ST_RC);
	sn_set(c, QPC_PD, pd);
	sn_set(c, QPC_UAR, uar);
	sn_set(c, QPC_CQN_SND, cq);
	sn_set(c, QPC_CQN_RCV, cq);
	sn_set(c, QPC_LOG_SQ_SIZE, LOG_SQ);
	sn_set(c, QPC_TS_FORMAT, TS_DEFAULT);
	sn_set64(c, QPC_DBR_ADDR, (uintptr_t)record_of(i));
	if (i == SHARED) {
		sn_set(c, QPC_RQ_TYPE, RQ_SRQ);
		sn_set(c, QPC_SRQN, pool);
	} else {
		sn_set(c, QPC_LOG_RQ_SIZE, LOG_RQ);
		sn_set(c, QPC_LOG_RQ_STRIDE, 2);
	}
	put_pages(in, arena + AT_QP + i * PAGE, 1);
	qps[i].qpn = command(CMD_CREATE_QP, in);
}

/* Makes all but the key of the region SECRET. */
static void make_objects(void)
{
	uint8_t c[IN] = { 0 };

	pd = command(CMD_ALLOC_PD, c);
	uar = command(CMD_ALLOC_UAR, c);
	make_queues();
	for (unsigned int i = 0; i < QPS; i++)
		make_qp(i);
	keys[REMOTE] = make_key(REMOTE, SN_LW | SN_RR | SN_RW | SN_ATOMIC);
	keys[READABLE] = make_key(READABLE, SN_RR);
	keys[LOCAL] = make_key(LOCAL, SN_LW);
	keys[WINDOW] = make_window(make_key(WINDOW, SN_LW));
}

/* Begins the commands that connect a QP. */
static void begin_connection(unsigned int i, uint8_t *c)
{
	uint8_t *qpc = c + AT_QPC;

	sn_set(c, CMD_NUMBER, qps[i].qpn);
	sn_set(qpc, QPC_MTU, 1);
	sn_set(qpc, QPC_LOG_MSG_MAX, 30);
	sn_set(qpc, QPC_RRE, 1);
	sn_set(qpc, QPC_RWE, 1);
	sn_set(qpc, QPC_RAE, 1);
	sn_set(qpc, QPC_ATOMIC_MODE, 1);
	sn_set(qpc, QPC_LOG_RRA_MAX, 2);
	sn_set(qpc, QPC_QKEY, QKEY);
	sn_set(qpc + AT_ADS, ADS_PORT, 1);
}

/* states: 2 for RTR, 3 for RTS */
static void run_transitions(uint8_t *c, unsigned int states)
{
	static const uint16_t order[] = { CMD_RST2INIT_QP, CMD_INIT2RTR_QP, CMD_RTR2RTS_QP };

	for (unsigned int n = 0; n < states; n++)
		command(order[n], c);
}

#endif
