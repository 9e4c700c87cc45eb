/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each kind of violation can be provoked: each name in the model has a test here, which fails if the
 * violation is not reported.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/random.h>

#include "softnic/fabric/fabric.h"
#include "tests/softnic/cold_rig.h"
#include "tests/softnic/drv.h"

static struct drv *d;
static struct drv_cq cq;
static struct drv_qp qp, peer, shared;
static struct drv_srq srq;
static struct drv_mr mr, other;
static struct drv_wqe w;

static void nop(uint8_t fm_ce_se)
{
	drv_ctrl(&qp, &w, 0, fm_ce_se, 0);
}

static void post(void)
{
	drv_post(&qp, &w);
}

/* Posts a WRITE of len bytes from the region, through this lkey. */
static void from(uint32_t lkey, uint32_t off, uint32_t len)
{
	drv_ctrl(&qp, &w, 0x08, CE_ALWAYS << 2, 0);
	drv_raddr(&w, (uintptr_t)mr.mem, mr.key);
	drv_data(&w, mr.mem + off, len, lkey);
	post();
}

static void send(const struct drv_mr *to, uint32_t room)
{
	drv_recv(&peer, to, 0, room);
	drv_ctrl(&qp, &w, 0x0a, CE_ALWAYS << 2, 0);
	drv_data(&w, mr.mem, 100, mr.key);
	post();
}

static void bind(uint32_t key, const void *va, uint32_t of_key, uint32_t qpn)
{
	drv_ctrl(&qp, &w, 0x25, CE_ALWAYS << 2, key);
	drv_umr(&w, 1 << 7, 4, UINT64_C(1) << 29 | 0x3c6041 | 1 << 13);
	drv_mkc(&w, DRV_ALL, qpn << 8, (uintptr_t)va, 64, false);
	drv_klm(&w, va, 64, of_key);
	drv_pad(&w);
	post();
}

static void store_only(uint32_t pi)
{
	qp.dbr[1] = htobe32(pi);
	softnic_mmio_write(d->nic, qp.uar, 0x800, w.b, 8);
}

static void wqe_reserved(void) { nop(1); post(); }
static void wqe_ds(void) { drv_ctrl(&qp, &w, 0x08, 0, 0); post(); }
static void wqe_opcode(void) { drv_ctrl(&qp, &w, 0x77, 0, 0); post(); }

static void wqe_index(void)
{
	nop(0);
	w.b[2]++;
	post();
}

static void wqe_qpn(void)
{
	nop(0);
	drv_put(&qp, &w);
	sn_set32(qp.sq, 4, (qp.qpn ^ 1) << 8 | 1);
	drv_ring(&qp, &w);
}

static void wqe_inline(void)
{
	drv_ctrl(&qp, &w, 0x0a, 0, 0);
	drv_inline(&w, "abcd", 4);
	sn_set32(w.b, 16, 1u << 31 | 100);
	post();
}

static void wqe_segment(void)
{
	drv_ctrl(&qp, &w, 0x0a, 0, 0);
	drv_data(&w, mr.mem, 0, mr.key);
	post();
}

static void wqe_umr(void) { bind(mr.key, mr.mem, mr.key, 0xffffff); }

static void wqe_umr_fence(void)
{
	bind(drv_window(d, 4), mr.mem, mr.key, 0xffffff);
	from(mr.key, 0, 8);
}

static void rq_segment(void) { send(&mr, 0); }
static void db_backwards(void) { nop(0); post(); nop(0); post(); store_only(1); }
static void db_unknown(void) { nop(0); sn_set32(w.b, 4, 0x7777 << 8); store_only(0); }
static void db_offset(void) { softnic_mmio_write(d->nic, qp.uar, 0x840, w.b, 8); }
static void db_uar(void) { softnic_mmio_write(d->nic, 1, 0x800, w.b, 8); }
static void db_record(void) { nop(0); drv_put(&qp, &w); store_only(0); }

static void db_state(void)
{
	cr_assert_eq(drv_to(&qp, CMD_2RST_QP), 0);
	nop(0);
	store_only(1);
}

static void sq_overrun(void)
{
	for (int i = 0; i < 65; i++)
		drv_nop(&qp, CE_ERR);
}

static void rq_overrun(void)
{
	for (int i = 0; i < 17; i++)
		drv_recv(&peer, &mr, 0, 8);
	send(&mr, 8);
}

/* Sends one message to a QP whose SRQ has a corrupted list. */
static void to_srq(unsigned int posted, uint32_t link)
{
	drv_srq(d, &srq);
	drv_qp_of_srq(d, &shared, &cq, &cq, &srq);
	cr_assert_eq(drv_to(&qp, CMD_2RST_QP), 0);
	qp.dbr[0] = qp.dbr[1] = 0;
	drv_connect(&qp, &shared);
	drv_srq_recv(&srq, &mr, 0, 100);
	srq.dbr[0] = htobe32(posted);
	sn_set32(srq.mem, 0, link);
	drv_ctrl(&qp, &w, 0x0a, CE_ALWAYS << 2, 0);
	drv_data(&w, mr.mem, 100, mr.key);
	post();
}

static void srq_overrun(void) { to_srq(9, 1); }
static void srq_link(void) { to_srq(1, 0); }

static void cq_overrun(void)
{
	for (int i = 0; i < 33; i++)
		drv_nop(&qp, CE_ALWAYS);
}

static void cq_backwards(void)
{
	struct drv_cqe e;

	for (int i = 0; i < 3; i++) {
		drv_nop(&qp, CE_ALWAYS);
		drv_wait(&cq, &e);
	}
	cq.dbr[0] = htobe32(1);
	drv_nop(&qp, CE_ALWAYS);
}

static void cq_ahead(void) { cq.dbr[0] = htobe32(5); drv_nop(&qp, CE_ALWAYS); }

static void cq_arm(void)
{
	uint32_t db[2] = { htobe32(1u << 31), htobe32(cq.cqn) };

	softnic_mmio_write(d->nic, d->uar, 0x20, db, 8);
}

static void cq_unknown(void) { softnic_mmio_write(d->nic, d->uar, 0x20, "\0\0\0\0\0\0\0\7", 8); }
static void eq_unknown(void) { softnic_mmio_write(d->nic, 1, 0x40, "\0\0\0\0\0\0\0\0", 8); }

static void eq_ci(void)
{
	uint32_t db[2] = { htobe32(d->eq.eqn << 24 | 500) };

	softnic_mmio_write(d->nic, d->uar, 0x48, db, 8);
}

static void eq_overrun(void)
{
	struct drv_cqe e;

	for (unsigned int i = 0; i < 65; i++) {
		drv_arm(&cq, false);
		drv_nop(&qp, CE_ALWAYS);
		cq.arm_sn++;
		drv_wait(&cq, &e);
	}
}

static void bf_mismatch(void)
{
	nop(0);
	w.ds = 4;
	drv_put(&qp, &w);
	w.b[63] = 1;
	qp.dbr[1] = htobe32(qp.pi);
	softnic_mmio_write(d->nic, qp.uar, 0x800, w.b, 64);
}

static void bf_size(void) { softnic_mmio_write(d->nic, qp.uar, 0x800, w.b, 16); }
static void mkey_stale(void) { from(mr.key ^ 1, 0, 8); }
static void mkey_free(void) { from(drv_window(d, 4), 0, 8); }
static void mkey_bounds(void) { from(mr.key, 8190, 3); }

static void mkey_rights(void)
{
	drv_mr(d, &other, 64, DRV_LW);
	from(other.key, 0, 8);
}

static void mkey_pd(void)
{
	uint32_t pd = d->pd;

	cr_assert_eq(drv_simple(d, CMD_ALLOC_PD, 0), 0);
	d->pd = sn_get(d->out, CMD_NUMBER);
	drv_mr(d, &other, 64, DRV_ALL);
	d->pd = pd;
	from(other.key, 0, 8);
}

static void mkey_qpn(void)
{
	uint32_t key = drv_window(d, 4);

	bind(key, mr.mem, mr.key, peer.qpn);
	from(key, 0, 8);
}

static void mkey_depth(void)
{
	uint32_t key = drv_window(d, 4);

	bind(key, mr.mem, key, 0xffffff);
	from(key, 0, 8);
}

static void dma_refused(void)
{
	d->refuse_at = (uintptr_t)mr.mem;
	d->refuse_len = 1;
	from(mr.key, 0, 8);
}

static void cmd_opcode(void) { drv_begin(d, 0x7ff); drv_run(d, 16); }
static void cmd_length(void) { drv_begin(d, CMD_ALLOC_PD); drv_run(d, 8); }
static void cmd_resource(void) { drv_simple(d, CMD_DESTROY_QP, 7); }
static void cmd_state(void) { drv_rts(&qp, 0); }
static void cmd_busy(void) { drv_simple(d, CMD_DESTROY_CQ, cq.cqn); }

static void cmd_field(void)
{
	drv_begin(d, CMD_SET_ISSI);
	sn_set(d->in, SN_FLD(0x50, 16), 9);
	drv_run(d, 16);
}

static void remote_access(void)
{
	drv_ctrl(&qp, &w, 0x08, CE_ALWAYS << 2, 0);
	drv_raddr(&w, (uintptr_t)mr.mem, mr.key ^ 1);
	drv_inline(&w, "abcd", 4);
	post();
}

static void remote_invalid(void) { send(&mr, 50); }

static void remote_operational(void)
{
	drv_mr(d, &other, 4096, DRV_LR);
	send(&other, 200);
}

static void nothing(void *ctx, const struct sn_addr *src, const void *pkt, size_t len)
{
	(void)ctx, (void)src, (void)pkt, (void)len;
}

static void gone(void *ctx, const struct sn_addr *peer_addr)
{
	(void)ctx, (void)peer_addr;
}

static void rx_malformed(void)
{
	struct sn_fab_config config = { .deliver = nothing, .down = gone };
	uint8_t packet[16] = { 0x1f };	/* 0x1f is not an opcode of RC */
	struct iovec iov = { packet, sizeof(packet) };
	struct sn_fab_dest to = { 0 };
	struct sn_fab *stranger;

	drv_begin(d, CMD_QUERY_ROCE_ADDRESS);
	cr_assert_eq(drv_run(d, 16), 0);
	memcpy(to.gid.raw, d->out + AT_CTX + ROCE_GID, sizeof(to.gid.raw));
	cr_assert_eq(getrandom(&config.gid, sizeof(config.gid), 0), (ssize_t)sizeof(config.gid));
	cr_assert_eq(sn_fab_open(&config, &stranger), 0);
	for (int i = 0; i < 100000 && !drv_count(d, "rx.malformed"); i++) {
		sn_fab_send(stranger, &to, &iov, 1);
		sn_fab_poll(stranger, 1);
		softnic_pump(d->nic);
	}
	sn_fab_close(stranger);
}

static const struct {
	const char *name;
	void (*provoke)(void);
} ways[] = {
	{ "wqe.reserved_bits", wqe_reserved }, { "wqe.ds", wqe_ds },
	{ "wqe.index", wqe_index },	       { "wqe.opcode", wqe_opcode },
	{ "wqe.qpn", wqe_qpn },		       { "wqe.inline_len", wqe_inline },
	{ "wqe.segment", wqe_segment },	       { "wqe.umr", wqe_umr },
	{ "wqe.umr_fence", wqe_umr_fence },    { "rq.segment", rq_segment },
	{ "db.backwards", db_backwards },      { "db.unknown_qp", db_unknown },
	{ "db.offset", db_offset },	       { "db.uar", db_uar },
	{ "db.state", db_state },	       { "db.record", db_record },
	{ "sq.overrun", sq_overrun },	       { "rq.overrun", rq_overrun },
	{ "srq.overrun", srq_overrun },	       { "srq.link", srq_link },
	{ "cq.overrun", cq_overrun },	       { "cq.ci_backwards", cq_backwards },
	{ "cq.ci_ahead", cq_ahead },	       { "cq.arm", cq_arm },
	{ "cq.unknown", cq_unknown },	       { "eq.overrun", eq_overrun },
	{ "eq.ci", eq_ci },		       { "eq.unknown", eq_unknown },
	{ "bf.mismatch", bf_mismatch },	       { "bf.size", bf_size },
	{ "mkey.stale", mkey_stale },	       { "mkey.free", mkey_free },
	{ "mkey.bounds", mkey_bounds },	       { "mkey.rights", mkey_rights },
	{ "mkey.pd", mkey_pd },		       { "mkey.qpn", mkey_qpn },
	{ "mkey.depth", mkey_depth },	       { "dma.refused", dma_refused },
	{ "cmd.opcode", cmd_opcode },	       { "cmd.length", cmd_length },
	{ "cmd.field", cmd_field },	       { "cmd.resource", cmd_resource },
	{ "cmd.state", cmd_state },	       { "cmd.busy", cmd_busy },
	{ "remote.access", remote_access },    { "remote.invalid_request", remote_invalid },
	{ "remote.operational", remote_operational }, { "rx.malformed", rx_malformed },
};

static void provoke(const char *name)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(ways[i].name, name))
			continue;
		ways[i].provoke();
		for (int n = 0; n < 1000 && !drv_count(d, name); n++)
			softnic_pump(d->nic);
		cr_expect_gt(drv_count(d, name), 0, "violation %s was not reported", name);
		return;
	}
	cr_expect_fail("no test case here provokes violation %s", name);
}

static void open_all(unsigned int flags)
{
	d = drv_open(flags);
	qp = peer = shared = (struct drv_qp){ 0 };
	srq = (struct drv_srq){ 0 };
	mr = other = (struct drv_mr){ 0 };
	drv_cq(d, &cq, 5, false);
	drv_qp(d, &qp, &cq, &cq);
	drv_qp(d, &peer, &cq, &cq);
	drv_connect(&qp, &peer);
	drv_mr(d, &mr, 8192, DRV_ALL);
	cr_assert_eq(softnic_violations(d->nic, NULL, 0), 0);
}

/* Closing the device frees its remaining objects. */
static void close_all(void)
{
	softnic_close(d->nic);
	free(d->eq.ring);
	free(d);
	free(cq.ring);
	free(qp.mem);
	free(peer.mem);
	free(shared.mem);
	free(srq.mem);
	free(mr.mem);
	free(other.mem);
}

Test(red, each_violation__can_be_provoked)
{
	const char *const *names = softnic_violation_names();

	for (size_t i = 0; names[i]; i++) {
		if (cold_provokes(names[i]))
			continue;
		open_all(strcmp(names[i], "rx.malformed") ? 0 : SOFTNIC_LOOPBACK_ONLY);
		provoke(names[i]);
		close_all();
	}
}

Test(red, softnic_violations__writes_no_more_entries_than_it_may)
{
	struct softnic_violation v[2] = { [1] = { .count = 77 } };

	open_all(0);
	provoke("db.offset");
	provoke("db.uar");
	cr_expect_eq(softnic_violations(d->nic, v, 1), 2);
	cr_expect_eq(v[0].count, 1);
	cr_expect_eq(v[1].count, 77);
	close_all();
}
