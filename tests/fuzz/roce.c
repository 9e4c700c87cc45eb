/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of a peer that may be wrong in every byte, before the software ConnectX with two reliable
 * connections and a datagram QP. Each packet begins as a valid one; the input changes bytes of it. Time
 * is virtual. A packet changes only bytes that it may change, and no other QP. At the end each QP can be
 * stopped, and each request has exactly one completion.
 *
 * Judges: softnic/mlx5/rc*.c softnic/mlx5/ud.c softnic/mlx5/fabric.c softnic/mlx5/port.c
 */
#include <time.h>

#include "softnic/fabric/link.h"
#include "softnic/mlx5/rc.h"
#include "tests/fuzz/roce.h"

static uint64_t now_ns;
static uint32_t cq_ci;

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);

static struct sn_qp *qp_of(unsigned int i)
{
	return sn_qp_find(nic, qps[i].qpn);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (clock != CLOCK_MONOTONIC)
		return __real_clock_gettime(clock, ts);
	*ts = (struct timespec){ (time_t)(now_ns / 1000000000u), (long)(now_ns % 1000000000u) };
	return 0;
}

static void *dma(void *ctx, uint64_t addr, size_t len, bool write)
{
	uint64_t at = addr - (uintptr_t)arena;

	(void)ctx;
	(void)write;
	FUZZ_ASSERT(at <= ARENA && len <= ARENA - at);
	return arena + at;
}

/* ---- Objects ---- */

/* The peer of a QP is the other QP, the QP itself, or a QP that does not exist. */
static void connect_qp(struct fuzz_input *in, unsigned int i)
{
	static const uint32_t psns[] = { 0, 5, 0xfffffe, 0x7fffff };
	uint32_t peers[] = { qps[PLAIN].qpn, qps[SHARED].qpn, NOBODY, NOBODY };
	uint8_t c[IN] = { 0 }, *qpc = c + AT_QPC;

	begin_connection(i, c);
	sn_set(qpc, QPC_LOG_SRA_MAX, 1);
	sn_set(qpc, QPC_REMOTE_QPN, peers[fuzz_below(in, 4)]);
	sn_set(qpc, QPC_RCV_PSN, psns[fuzz_below(in, 4)]);
	sn_set(qpc, QPC_SEND_PSN, psns[fuzz_below(in, 4)]);
	sn_set(qpc, QPC_RETRY, fuzz_below(in, 8));
	sn_set(qpc, QPC_RNR_RETRY, fuzz_below(in, 8));
	sn_set(qpc, QPC_MIN_RNR, 1);
	sn_set(qpc + AT_ADS, ADS_ACK_TIMEOUT, 14);
	sn_set(qpc + AT_ADS, ADS_FL, 1);
	run_transitions(c, rarely(in) ? 2 : 3);
}

/* ---- Requests of the device's own driver ---- */

static void take_completions(void)
{
	for (;; cq_ci++) {
		const uint8_t *e = arena + AT_CQ + cq_ci % (1u << LOG_CQ) * 64;
		unsigned int op = e[63] >> 4, i = 0;

		if (op == SN_CQE_INVALID || (e[63] & 1) != (cq_ci >> LOG_CQ & 1))
			break;
		while (i < QPS && qps[i].qpn != (sn_get32(e, 56) & 0xffffff))
			i++;
		FUZZ_ASSERT(i < QPS);
		if (op == SN_CQE_REQ || op == SN_CQE_REQ_ERR)
			FUZZ_ASSERT(++qps[i].sent <= qps[i].sends);
		else
			FUZZ_ASSERT(++qps[i].received <= qps[i].receives || i == SHARED);
	}
	sn_set32(record_of(CQ_RECORD), 0, cq_ci & 0xffffff);
}

/* Most segments have the right key. A wrong one fails the request: LOCAL alone takes what a peer sends. */
static void put_segment(struct fuzz_input *in, uint8_t *w, bool of_peer)
{
	static const enum region wrong[] = { READABLE, SECRET, WINDOW, LOCAL };
	enum region r = rarely(in) ? wrong[fuzz_below(in, 4)] : of_peer ? REMOTE : LOCAL;
	uint64_t va = r == WINDOW ? WINDOW_VA + fuzz_u8(in) * 4u : (uintptr_t)data_of(r) + fuzz_u8(in) * 8u;

	sn_set64(w, of_peer ? 0 : 8, va);
	sn_set32(w, of_peer ? 8 : 4, keys[r]);
	if (!of_peer)
		sn_set32(w, 0, rarely(in) ? 0x80000000u | fuzz_below(in, 13) : 1 + fuzz_u8(in) * 8u);
}

static uint8_t *wqe_of(unsigned int i, uint16_t index)
{
	uint32_t begin = i == SHARED ? 0 : 64u << LOG_RQ;

	return arena + AT_QP + i * PAGE + begin + index % (1u << LOG_SQ) * 64;
}

/* A request of one block, or of two with the address of a datagram. */
static void post_send(struct fuzz_input *in)
{
	static const uint8_t requests[] = {
		SN_OP_SEND, SN_OP_SEND_IMM,  SN_OP_SEND_INVAL, SN_OP_WRITE, SN_OP_WRITE_IMM,
		SN_OP_READ, SN_OP_ATOMIC_CS, SN_OP_ATOMIC_FA,  SN_OP_NOP,
	};
	unsigned int i = fuzz_below(in, QPS), blocks = i == DATAGRAM ? 2 : 1;
	uint8_t op = requests[fuzz_below(in, sizeof(requests))], w[128] = { 0 };
	bool remote = op >= SN_OP_WRITE && op != SN_OP_SEND && op != SN_OP_SEND_IMM, atomic = op > SN_OP_READ;
	uint32_t n = op == SN_OP_NOP ? 1 : i == DATAGRAM ? 5 : remote ? 3 : 2;

	/* A QP in state RTR takes no sends. */
	if ((qps[i].sends - qps[i].sent + 1) * blocks > 1u << LOG_SQ || qp_of(i)->state == SN_QP_RTR)
		return;
	if (atomic && i != DATAGRAM)
		n = 4;
	sn_set32(w, 0, (uint32_t)qps[i].sq_pi << 8 | op);
	sn_set32(w, 4, qps[i].qpn << 8 | (i == DATAGRAM && n == 1 ? 5 : n));
	w[11] = (uint8_t)(2 << 2 | fuzz_below(in, 5) << 5 | fuzz_below(in, 2) << 1);
	sn_set32(w, 12, keys[fuzz_below(in, REGIONS)]);
	put_segment(in, w + 16 * (n - 1 ? n - 1 : 1), false);
	if (i == DATAGRAM) {
		sn_set32(w, 16, QKEY);
		sn_set32(w, 24, 0x80000000u | qps[fuzz_below(in, QPS)].qpn);
		memset(w + 36, 2, 6);
		sn_set32(w, 44, 1u << 30);
		memcpy(w + 48, nic->port[0].address, 16);
	} else if (remote) {
		put_segment(in, w + 16, true);
	}
	if (atomic && i != DATAGRAM)
		sn_set32(w, 48, 8);
	for (unsigned int b = 0; b < blocks; b++)
		memcpy(wqe_of(i, (uint16_t)(qps[i].sq_pi + b)), w + 64 * b, 64);
	qps[i].sq_pi = (uint16_t)(qps[i].sq_pi + blocks);
	qps[i].sends++;
	sn_set32(record_of(i), 4, qps[i].sq_pi);
	softnic_mmio_write(nic, uar, 0x800, w, 8);
}

/* A receive of one to three segments. A used WQE of the pool is posted again, so the list is a circle. */
static void post_receive(struct fuzz_input *in)
{
	unsigned int i = fuzz_below(in, QPS), n = 1 + fuzz_below(in, 3);
	uint8_t *w = arena + (i == SHARED ? AT_POOL : AT_QP + i * PAGE) + qps[i].rq_pi % (1u << LOG_RQ) * 64;

	if (qps[i].receives - qps[i].received >= (1u << LOG_RQ) - (i == SHARED))
		return;
	w += i == SHARED ? 16 : 0;
	for (unsigned int s = 0; s < n; s++)
		put_segment(in, w + 16 * s, false);
	if (n < 3 || i != SHARED)
		sn_set32(w, 16 * n + 4, 0x100);
	sn_set32(record_of(i == SHARED ? POOL_RECORD : i), 0, ++qps[i].rq_pi);
	qps[i].receives++;
}

/* ---- Packets of the peer ---- */

enum part { RETH = 1, AETH = 2, ATOMIC = 4, RESULT = 8, WORD = 16, DETH = 32, FIRST = 64, LAST = 128 };
enum class { NO, SEND, WRITE, READ, ATOM, READ_RESP, ACK, ATOM_ACK, UD };

/* The headers of each opcode, by IBTA table 38. */
static const struct { uint8_t class, parts;
} opcodes[] = {
	{SEND, FIRST},
	{SEND, 0},
	{SEND, LAST},
	{SEND, LAST | WORD},
	{SEND, FIRST | LAST},
	{SEND, FIRST | LAST | WORD},
	{WRITE, FIRST | RETH},
	{WRITE, 0},
	{WRITE, LAST},
	{WRITE, LAST | WORD},
	{WRITE, FIRST | LAST | RETH},
	{WRITE, FIRST | LAST | RETH | WORD},
	{READ, FIRST | LAST | RETH},
	{READ_RESP, FIRST | AETH},
	{READ_RESP, 0},
	{READ_RESP, LAST | AETH},
	{READ_RESP, FIRST | LAST | AETH},
	{ACK, FIRST | LAST | AETH},
	{ATOM_ACK, FIRST | LAST | AETH | RESULT},
	{ATOM, FIRST | LAST | ATOMIC},
	{ATOM, FIRST | LAST | ATOMIC},
	{NO, 0},
	{SEND, LAST | WORD},
	{SEND, FIRST | LAST | WORD},
	/* the last two are those of datagrams, 0x64 and 0x65 */
	{UD, FIRST | LAST | DETH},
	{UD, FIRST | LAST | DETH | WORD},
};
enum { OPCODES = sizeof(opcodes) / sizeof(opcodes[0]), UD_OPCODE = 0x64, UD_INDEX = OPCODES - 2 };

static int index_of(uint8_t opcode)
{
	if (opcode < UD_INDEX)
		return opcode;
	return opcode == UD_OPCODE || opcode == UD_OPCODE + 1 ? UD_INDEX + opcode - UD_OPCODE : 21;
}

static uint32_t put_headers(struct fuzz_input *in, uint8_t *p, unsigned int parts, uint32_t len)
{
	static const uint8_t syndromes[] = { 0x1f, 0, 0x20, 0x3f, 0x60, 0x61, 0x62, 0x63, 0x64, 0xe0 };
	enum region r = rarely(in) ? fuzz_below(in, REGIONS) : fuzz_below(in, 2) ? REMOTE : WINDOW;
	uint64_t va = r == WINDOW ? WINDOW_VA + fuzz_u8(in) * 4u : (uintptr_t)data_of(r) + fuzz_u8(in) * 16u;
	uint32_t at = 12;

	if (parts & DETH) {
		sn_set32(p, at, QKEY);
		at += 16;
	}
	if (parts & (RETH | ATOMIC)) {
		sn_set64(p, at, va);
		sn_set32(p, at + 8, keys[r]);
		if (parts & RETH)
			sn_set32(p, at + 12, rarely(in) ? (uint32_t)fuzz_u16(in) << fuzz_below(in, 17) : len);
		at += parts & RETH ? 16 : 28;
	}
	if (parts & AETH) {
		sn_set32(p, at, (uint32_t)syndromes[fuzz_below(in, sizeof(syndromes))] << 24);
		at += 4;
	}
	if (parts & WORD) {
		sn_set32(p, at, keys[r]);
		at += 4;
	}
	return at + (parts & RESULT ? 8 : 0);
}

static uint32_t some_length(struct fuzz_input *in, uint32_t train)
{
	switch (fuzz_below(in, 6)) {
	case 0: return 0;
	case 1: return MTU;
	case 2: return fuzz_u16(in) % SN_FAB_MAX;
	case 3: return train * MTU;
	default: return 1 + fuzz_u8(in);
	}
}

/* Builds a packet for one of the QPs and returns its length. */
static uint32_t build(struct fuzz_input *in, uint8_t *p)
{
	unsigned int index = fuzz_below(in, OPCODES);
	unsigned int i = opcodes[index].class == UD ? DATAGRAM
			 : rarely(in)               ? fuzz_below(in, QPS)
						    : fuzz_below(in, 2);
	uint32_t train = rarely(in) ? 1 + fuzz_below(in, 128) : 1, len, at, psn = 0;
	unsigned int class = opcodes[index].class;
	const struct sn_rc *rc = qp_of(i)->rc;

	/* A packet that is not the last one has a fixed length. */
	len = opcodes[index].parts & LAST || rarely(in) ? some_length(in, train) : train * MTU;
	len = len < SN_FAB_MAX - 64 ? len : SN_FAB_MAX - 64;
	if (rc)
		psn = class >= READ_RESP ? rc->req.psn_una : rc->resp.psn;
	if (rarely(in))
		psn += (fuzz_u8(in) ^ 0x80u) - 0x80u;	/* a signed byte */
	sn_set32(p, 4, rarely(in) ? fuzz_u16(in) : qps[i].qpn);
	sn_set32(p, 8, (rarely(in) ? 0 : SN_BTH_ACKREQ) | (train - 1) << 24 | (psn & 0xffffff));
	at = put_headers(in, p, opcodes[index].parts, len);
	if (class != SEND && class != WRITE && class != READ_RESP && class != UD && !rarely(in))
		len = 0;
	for (uint32_t n = 0; n < len; n++)
		p[at + n] = (uint8_t)(0xa0 + n);
	sn_set32(p, 0, (index >= UD_INDEX ? UD_OPCODE + index - UD_INDEX : index) << 24 |
		       (-len & 3) << 20 | fuzz_below(in, 2) << 23 | 0xffff);
	return at + ((len + 3) & ~3u) + 4;
}

/* The bytes that a packet may change: none, a region, or a part of it. */
struct limits {
	int region;			/* -1: none */
	uint64_t from, len;
};

static const struct limits nothing = { -1, 0, 0 };

static struct limits limits_of_write(const struct sn_qp *qp, const uint8_t *p, size_t len, unsigned int parts)
{
	const struct sn_rc_resp *s = &qp->rc->resp;
	uint64_t va = parts & FIRST ? sn_get64(p, 12) : s->va + s->off;
	uint32_t key = parts & FIRST ? sn_get32(p, 20) : s->rkey;

	if (key == keys[REMOTE])
		return (struct limits){ REMOTE, va - (uintptr_t)data_of(REMOTE), len };
	return key == keys[WINDOW] && qp->qpn == qps[PLAIN].qpn ? (struct limits){WINDOW, 0, PAGE}
								: nothing;
}

static struct limits limits_of(const struct sn_qp *qp, const uint8_t *p, size_t len)
{
	const struct limits received = { LOCAL, 0, PAGE };
	unsigned int class = opcodes[index_of(p[0])].class, parts = opcodes[index_of(p[0])].parts;
	uint32_t psn = sn_get32(p, 8) & 0xffffff;
	const struct sn_rc *rc = qp->rc;

	if (class == UD)
		return qp->ud && sn_get32(p, 12) == QKEY ? received : nothing;
	if (!rc || (class < READ_RESP && psn != rc->resp.psn) ||
	    (class >= READ_RESP && qp->state != SN_QP_RTS))
		return nothing;
	switch (class) {
	case SEND: return received;
	case READ_RESP:
	case ATOM_ACK:
		return psn == rc->req.psn_max || rc->req.psn_una == rc->req.psn_max ? nothing
										    : received;
	case WRITE: return limits_of_write(qp, p, len, parts);
	case ATOM:
		return sn_get32(p, 20) == keys[REMOTE] ?
			(struct limits){ REMOTE, sn_get64(p, 12) - (uintptr_t)data_of(REMOTE), 8 } : nothing;
	default: return nothing;
	}
}

static size_t header_bytes(unsigned int parts)
{
	return 12u + (parts & DETH ? 16u : 0) + (parts & RETH ? 16u : 0) + (parts & ATOMIC ? 28u : 0) +
	       (parts & AETH ? 4u : 0) + (parts & WORD ? 4u : 0) + (parts & RESULT ? 8u : 0);
}

/* The QP that may take a packet, or NULL: the packet must be dropped. */
static const struct sn_qp *taker(const struct sn_addr *src, const uint8_t *p, size_t len)
{
	const struct sn_qp *qp = len < 16 ? NULL : sn_qp_find(nic, sn_get32(p, 4) & 0xffffff);

	if (!qp || len % 4 || p[1] & 15 || opcodes[index_of(p[0])].class == NO || nic->port[0].link_down)
		return NULL;
	if (len < header_bytes(opcodes[index_of(p[0])].parts) + (p[1] >> 4 & 3) + 4)
		return NULL;
	if (qp->rc && memcmp(src, nic->port[0].address, sizeof(*src)))
		return NULL;
	return (sn_get32(p, 0) & 0x7fff) == 0x7fff &&
			       (qp->state == SN_QP_RTS || qp->state == SN_QP_RTR)
		       ? qp
		       : NULL;
}

static void check_data(const uint8_t *before, const struct limits *l)
{
	for (int r = 0; r < REGIONS; r++) {
		const uint8_t *old = before + r * PAGE, *new = data_of((enum region)r);

		if (!memcmp(old, new, PAGE))
			continue;
		FUZZ_ASSERT(r == l->region);
		for (uint64_t i = 0; i < PAGE; i++)
			FUZZ_ASSERT(old[i] == new[i] || i - l->from < l->len);
		for (uint64_t i = 0; i < PAGE && r == WINDOW; i++)
			FUZZ_ASSERT(old[i] == new[i] || i - PIECE_0 < PIECE || i - PIECE_1 < PIECE);
	}
}

static void deliver(const struct sn_addr *src, const uint8_t *p, size_t len)
{
	static uint8_t before[REGIONS * PAGE];
	struct sn_fab *fab = nic->port[0].fabric->fab;
	enum sn_qp_state states[QPS];
	const struct sn_qp *qp = taker(src, p, len);
	struct limits l = qp ? limits_of(qp, p, len) : nothing;

	memcpy(before, data_of(0), sizeof(before));
	for (unsigned int i = 0; i < QPS; i++)
		states[i] = qp_of(i)->state;
	sn_enter(nic);
	fab->config.deliver(fab->config.ctx, src, p, len);
	check_data(before, &l);
	for (unsigned int i = 0; i < QPS; i++)
		FUZZ_ASSERT(qp_of(i)->state == states[i] || (qp_of(i) == qp && qp->state == SN_QP_ERR));
	sn_leave(nic);
}

static void packet(struct fuzz_input *in)
{
	uint8_t *p = calloc(1, SN_FAB_MAX);
	struct sn_addr src;
	uint32_t len;

	FUZZ_ASSERT(p);
	len = build(in, p);
	if (rarely(in)) {
		for (unsigned int n = fuzz_below(in, 6); n--;)
			p[fuzz_below(in, 64)] = fuzz_u8(in);
	}
	if (rarely(in))
		len = 1 + fuzz_below(in, 80);
	memcpy(&src, nic->port[0].address, sizeof(src));
	src.raw[15] ^= (uint8_t)(fuzz_below(in, 16) == 15);
	/* an exact size, so that a sanitizer finds a read beyond it */
	p = realloc(p, len);
	FUZZ_ASSERT(p);
	deliver(&src, p, len);
	free(p);
}

/* ---- Scripts ---- */

static void settle(void)
{
	for (unsigned int quiet = 0, n = 0; quiet < 3 && n < 64; n++)
		quiet = softnic_pump(nic) ? 0 : quiet + 1;
	take_completions();
}

static void advance(struct fuzz_input *in)
{
	now_ns += (uint64_t)fuzz_u8(in) << fuzz_below(in, 32);
	settle();
}

static void to_state(unsigned int i, uint16_t opcode)
{
	uint8_t c[IN] = { 0 };

	sn_set(c, CMD_NUMBER, qps[i].qpn);
	command(opcode, c);
}

/* A QP that is reset forgets its requests. */
static void reset_qp(struct fuzz_input *in, unsigned int i)
{
	settle();
	to_state(i, CMD_2RST_QP);
	take_completions();
	qps[i].sends = qps[i].sent;
	qps[i].sq_pi = 0;
	sn_set32(record_of(i), 4, 0);
	if (i != SHARED) {
		qps[i].receives = qps[i].received;
		qps[i].rq_pi = 0;
		sn_set32(record_of(i), 0, 0);
	}
	connect_qp(in, i);
}

static void set_fault(struct fuzz_input *in)
{
	static const char *const scripts[] = {
		"", "drop=0.3,seed=3", "dup=0.3,reorder=0.3,seed=4", "corrupt=0.3,seed=5", "delay=0.5,seed=6",
		"link_down", "rnr=0.5,seed=7", "",
	};

	FUZZ_ASSERT(!softnic_fault(nic, scripts[fuzz_below(in, 8)]));
}

static void step(struct fuzz_input *in)
{
	switch (fuzz_below(in, 16)) {
	default: packet(in); break;
	case 7: case 8: post_send(in); break;
	case 9: case 10: post_receive(in); break;
	case 11: settle(); break;
	case 12: softnic_pump(nic); break;
	case 13: advance(in); break;
	case 14: reset_qp(in, fuzz_below(in, QPS)); break;
	case 15:
		if (rarely(in))
			set_fault(in);
		else
			to_state(fuzz_below(in, QPS), CMD_2ERR_QP);
		break;
	}
}

enum { TIMER_TURNS = 16 };		/* the device looks at its timers once in as many turns */

/*
 * A QP in state ERR has no requests left. An adversarial device flushes them a moment later. The pool keeps
 * the receives that no QP took.
 */
static void end(void)
{
	FUZZ_ASSERT(!softnic_fault(nic, ""));
	for (unsigned int i = 0; i < QPS; i++)
		to_state(i, CMD_2ERR_QP);
	settle();
	now_ns += 1000000000u;
	for (unsigned int i = 0; i < TIMER_TURNS; i++)
		settle();
	for (unsigned int i = 0; i < QPS; i++) {
		FUZZ_ASSERT(qp_of(i)->state == SN_QP_ERR);
		FUZZ_ASSERT(qps[i].sent == qps[i].sends);
		FUZZ_ASSERT(i == SHARED || qps[i].received == qps[i].receives);
	}
}

static void open_device(struct fuzz_input *in)
{
	struct softnic_config config = {
		.flags = SOFTNIC_NO_THREAD | SOFTNIC_LOOPBACK_ONLY |
			 (fuzz_below(in, 2) ? SOFTNIC_ADVERSARIAL : 0) |
			 (fuzz_below(in, 2) ? SOFTNIC_INFINIBAND : 0),
		.seed = 1,
		.host.dma = fuzz_below(in, 2) ? dma : NULL,
	};

	FUZZ_ASSERT(softnic_open(&config, &nic) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	memset(qps, 0, sizeof(qps));
	cq_ci = 0;
	now_ns = 1000000000u;
	arena = aligned_alloc(PAGE, ARENA);
	FUZZ_ASSERT(arena);
	memset(arena, 0, ARENA);
	open_device(&in);
	make_objects();
	keys[SECRET] = NOBODY << 8;
	for (unsigned int i = 0; i < QPS; i++)
		connect_qp(&in, i);
	for (unsigned int i = 0; i < STEPS && in.left; i++)
		step(&in);
	end();
	softnic_close(nic);
	free(arena);
	return 0;
}
