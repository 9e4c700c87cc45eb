/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The software EFA between a driver and a peer, both of which may be wrong: commands, WQEs, receive
 * descriptors, doorbells, and packets of the fabric. Without a thread the device has no clock, so that a
 * run repeats. It reads and writes one region of memory only, and a reset frees all objects.
 *
 * Judges: softnic/efa
 */
#include "softnic/efa/nic.h"
#include "tests/fuzz/input.h"

enum { MEM = 1 << 16, SLOTS = 4, DEPTH = 32, STEPS = 128, QKEY = 7 };

static struct softnic_efa *nic;
static struct softnic_efa_caps caps;
static uint8_t *mem;
static uint16_t pds[SLOTS], ahs[SLOTS], sq_pc[SLOTS], rq_pc[SLOTS];
static uint32_t lkeys[SLOTS], rkeys[SLOTS];
static struct softnic_efa_cq cqs[SLOTS];
static bool cq_live[SLOTS], qp_live[SLOTS];
static struct softnic_efa_qp qps[SLOTS];

static struct sne_nic *device(void)
{
	return (struct sne_nic *)nic;
}

static bool rarely(struct fuzz_input *in)
{
	return fuzz_below(in, 8) == 7;
}

static uint32_t some_length(struct fuzz_input *in)
{
	return rarely(in) ? (uint32_t)fuzz_u16(in) << fuzz_below(in, 17) : fuzz_u8(in) * 8u;
}

static uint64_t some_address(struct fuzz_input *in)
{
	return (uintptr_t)mem + (rarely(in) ? fuzz_u16(in) : fuzz_u8(in) * 16u);
}

/* ---- Commands ---- */

static void make_cq(struct fuzz_input *in, unsigned int i)
{
	struct softnic_efa_cq_attr attr = {
		.entries = rarely(in) ? fuzz_u8(in) : 64, .entry_size = rarely(in) ? fuzz_u8(in) : 32,
		.sub_cqs = rarely(in) ? fuzz_u8(in) : caps.sub_cqs, .flags = fuzz_below(in, 8),
	};

	if (!cq_live[i])
		cq_live[i] = !softnic_efa_cq_create(nic, &attr, &cqs[i]);
}

static void make_qp(struct fuzz_input *in, unsigned int i)
{
	struct softnic_efa_qp_attr attr = {
		.pd = pds[fuzz_below(in, SLOTS)], .send_cq = cqs[fuzz_below(in, SLOTS)].cq,
		.recv_cq = cqs[fuzz_below(in, SLOTS)].cq, .sq_depth = rarely(in) ? fuzz_u8(in) : DEPTH,
		.rq_depth = rarely(in) ? fuzz_u8(in) : DEPTH,
		.flags = rarely(in) ? fuzz_below(in, 16) : 0,
	};

	sq_pc[i] = rq_pc[i] = 0;
	if (!qp_live[i])
		qp_live[i] = !softnic_efa_qp_create(nic, &attr, &qps[i]);
}

static void modify(struct fuzz_input *in, unsigned int i, enum softnic_efa_qp_state state)
{
	struct softnic_efa_modify m = {
		.mask = SOFTNIC_EFA_SET_STATE, .state = state, .qkey = QKEY,
		.rnr_retry = (uint8_t)fuzz_below(in, 9),
	};

	if (state == SOFTNIC_EFA_INIT)
		m.mask |= SOFTNIC_EFA_SET_QKEY;
	if (state == SOFTNIC_EFA_RTS)
		m.mask |= SOFTNIC_EFA_SET_SQ_PSN;
	if (m.rnr_retry && state == SOFTNIC_EFA_RTS)
		m.mask |= SOFTNIC_EFA_SET_RNR_RETRY;
	if (state == SOFTNIC_EFA_RESET)
		sq_pc[i] = rq_pc[i] = 0;
	softnic_efa_qp_modify(nic, qps[i].handle, &m);
}

static void make(struct fuzz_input *in, unsigned int i)
{
	uint8_t gid[16];

	memcpy(gid, caps.gid, sizeof(gid));
	gid[1] ^= (uint8_t)fuzz_below(in, 2);
	softnic_efa_pd_alloc(nic, &pds[i]);
	softnic_efa_mr_reg(nic, pds[i], mem, MEM - fuzz_u8(in), (uintptr_t)mem,
			   rarely(in) ? fuzz_below(in, 8) : 7, &lkeys[i], &rkeys[i]);
	softnic_efa_ah_create(nic, pds[i], gid, &ahs[i]);
	make_cq(in, i);
	make_qp(in, i);
	modify(in, i, SOFTNIC_EFA_INIT);
	modify(in, i, SOFTNIC_EFA_RTR);
	modify(in, i, SOFTNIC_EFA_RTS);
}

static void destroy(struct fuzz_input *in, unsigned int i)
{
	switch (fuzz_below(in, 5)) {
	case 0: softnic_efa_pd_dealloc(nic, pds[i]); break;
	case 1: softnic_efa_mr_dereg(nic, lkeys[i]); break;
	case 2: softnic_efa_ah_destroy(nic, pds[i], ahs[i]); break;
	case 3: cq_live[i] = cq_live[i] && softnic_efa_cq_destroy(nic, cqs[i].cq); break;
	case 4: qp_live[i] = qp_live[i] && softnic_efa_qp_destroy(nic, qps[i].handle); break;
	}
}

/* ---- Queues ---- */

static void put(uint8_t *at, uint64_t v, size_t len)
{
	memcpy(at, &v, len);			/* the machines that run tests are little-endian */
}

static void change_bytes(struct fuzz_input *in, uint8_t *at, unsigned int len)
{
	for (unsigned int n = fuzz_below(in, 6); n--;)
		at[fuzz_u8(in) % len] = fuzz_u8(in);
}

static void fill_wqe(struct fuzz_input *in, uint8_t *w, unsigned int i)
{
	uint8_t op = (uint8_t)fuzz_below(in, 3), flags = (uint8_t)(fuzz_below(in, 4) << 4);

	put(w, fuzz_u8(in), 2);
	w[2] = op | flags | 0x80;
	w[3] = (uint8_t)(0x1c | (sq_pc[i] / DEPTH & 1));
	put(w + 4, qps[fuzz_below(in, SLOTS)].qpn, 2);
	put(w + 6, rarely(in) ? fuzz_u8(in) : 1, 2);
	put(w + 12, ahs[i], 2);
	put(w + 16, QKEY, 4);
	for (unsigned int at = 32; at < 64; at += 16) {
		bool remote = op && at == 32;

		put(w + at, some_length(in), 4);
		put(w + at + 4, (remote ? rkeys : lkeys)[fuzz_below(in, SLOTS)], 4);
		put(w + at + 8, some_address(in), 8);
	}
}

static void post_send(struct fuzz_input *in, unsigned int i)
{
	struct softnic_efa_ring *sq = &qps[i].sq;
	uint8_t w[128] = { 0 };

	if (!qp_live[i] || !sq->ring)
		return;
	fill_wqe(in, w, i);
	change_bytes(in, w, sq->entry_size);
	memcpy((uint8_t *)sq->ring + sq_pc[i]++ % sq->depth * (size_t)sq->entry_size, w, sq->entry_size);
	*sq->doorbell = rarely(in) ? fuzz_u16(in) : sq_pc[i];
	softnic_efa_kick(nic, qps[i].handle);
}

static void post_receive(struct fuzz_input *in, unsigned int i)
{
	struct softnic_efa_ring *rq = &qps[i].rq;
	uint8_t d[16];

	if (!qp_live[i] || !rq->ring)
		return;
	put(d, some_address(in), 8);
	put(d + 8, rq_pc[i], 2);
	put(d + 10, fuzz_u16(in), 2);
	put(d + 12, lkeys[fuzz_below(in, SLOTS)] | 3u << 30, 4);
	change_bytes(in, d, sizeof(d));
	memcpy((uint8_t *)rq->ring + rq_pc[i]++ % rq->depth * sizeof(d), d, sizeof(d));
	*rq->doorbell = rarely(in) ? fuzz_u16(in) : rq_pc[i];
	softnic_efa_kick(nic, qps[i].handle);
}

static void arm(struct fuzz_input *in, unsigned int i)
{
	if (!cq_live[i] || !cqs[i].doorbell)
		return;
	*cqs[i].doorbell = (uint32_t)fuzz_below(in, 8) << 29 | fuzz_u8(in);
	softnic_efa_kick_cq(nic, cqs[i].cq);
}

/* ---- Packets ---- */

static struct sne_hdr some_header(struct fuzz_input *in)
{
	static const uint32_t lives[] = { 0, 1 };

	return (struct sne_hdr){
		.magic = SNE_MAGIC, .version = SNE_VERSION, .kind = (uint8_t)fuzz_below(in, 8),
		.flags = (uint8_t)fuzz_below(in, 4), .status = (uint8_t)fuzz_below(in, 20),
		.src_life = 1 + fuzz_below(in, 2),
		.dst_life = rarely(in) ? lives[fuzz_below(in, 2)] : device()->life,
		.seq = fuzz_u8(in), .una = rarely(in) ? fuzz_u8(in) : 0,
		.src_qpn = qps[fuzz_below(in, SLOTS)].qpn, .dst_qpn = qps[fuzz_below(in, SLOTS)].qpn,
		.qkey = QKEY, .msg = fuzz_below(in, 4), .msg_len = some_length(in), .off = some_length(in),
		.rkey = rkeys[fuzz_below(in, SLOTS)], .addr = some_address(in),
	};
}

static void packet(struct fuzz_input *in)
{
	struct sne_hdr h = some_header(in);
	size_t payload = some_length(in) % (SNE_MTU + 64), len = sizeof(h) + payload;
	struct sn_addr from = device()->gid;
	uint8_t *pkt;

	h.len = rarely(in) ? some_length(in) : (uint32_t)payload;
	from.raw[1] ^= (uint8_t)fuzz_below(in, 3);
	change_bytes(in, (uint8_t *)&h, sizeof(h));
	len = rarely(in) ? fuzz_u8(in) : len;
	pkt = calloc(1, len + 1);
	FUZZ_ASSERT(pkt);
	memcpy(pkt, &h, len < sizeof(h) ? len : sizeof(h));
	/* an exact size, so that a sanitizer finds a read beyond it */
	pkt = realloc(pkt, len ? len : 1);
	pthread_mutex_lock(&device()->lock);
	sne_receive_packet(device(), &from, pkt, len);
	pthread_mutex_unlock(&device()->lock);
	free(pkt);
}

/* ---- Scripts ---- */

static void step(struct fuzz_input *in)
{
	unsigned int i = fuzz_below(in, SLOTS);

	switch (fuzz_below(in, 10)) {
	case 0: case 1: post_send(in, i); break;
	case 2: post_receive(in, i); break;
	case 3: case 4: case 5: packet(in); break;
	case 6: make(in, i); break;
	case 7: destroy(in, i); break;
	case 8: modify(in, i, (enum softnic_efa_qp_state)fuzz_below(in, 8)); break;
	case 9: arm(in, i); break;
	}
	for (unsigned int n = fuzz_below(in, 8); n && softnic_efa_pump(nic); n--)
		;
}

static void open_device(struct fuzz_input *in)
{
	const char *const *profiles = softnic_efa_profiles();
	struct softnic_efa_config config = {
		.flags = SOFTNIC_EFA_NO_THREAD | SOFTNIC_EFA_LOOPBACK_ONLY |
			 (fuzz_below(in, 2) ? SOFTNIC_EFA_ADVERSARIAL : 0),
		.seed = 1, .gid = { 0xfe, 0x80, [15] = 1 },
	};
	unsigned int n = 0;

	while (profiles[n])
		n++;
	config.profile = profiles[n - 1 - fuzz_below(in, n)];
	FUZZ_ASSERT(softnic_efa_open(&config, &nic) == 0);
	softnic_efa_caps(nic, &caps);
}

static void forget_objects(void)
{
	memset(cq_live, 0, sizeof(cq_live));
	memset(qp_live, 0, sizeof(qp_live));
	memset(qps, 0, sizeof(qps));
	memset(cqs, 0, sizeof(cqs));
	for (unsigned int i = 0; i < SLOTS; i++)
		pds[i] = ahs[i] = 0;
	memset(lkeys, 0, sizeof(lkeys));
	memset(rkeys, 0, sizeof(rkeys));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const kinds[] = { "pd", "mr", "ah", "cq", "qp" };
	struct fuzz_input in = { data, size };

	mem = calloc(1, MEM);
	FUZZ_ASSERT(mem);
	forget_objects();
	open_device(&in);
	make(&in, 0);
	for (unsigned int i = 0; i < STEPS && in.left; i++)
		step(&in);
	softnic_efa_reset(nic);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		FUZZ_ASSERT(softnic_efa_object_count(nic, kinds[i]) == 0);
	softnic_efa_close(nic);
	free(mem);
	return 0;
}
