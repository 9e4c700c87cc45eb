/* SPDX-License-Identifier: BSD-2-Clause */
/* WQEs of the test driver. */
#include <criterion/criterion.h>

#include "tests/softnic/drv.h"

void drv_ctrl(struct drv_qp *qp, struct drv_wqe *w, uint8_t opcode, uint8_t fm_ce_se, uint32_t imm)
{
	memset(w, 0, sizeof(*w));
	sn_set32(w->b, 0, (uint32_t)qp->pi << 8 | opcode);
	sn_set32(w->b, 4, qp->qpn << 8);
	w->b[11] = fm_ce_se;
	sn_set32(w->b, 12, imm);
	w->ds = 1;
}

void drv_raddr(struct drv_wqe *w, uint64_t va, uint32_t rkey)
{
	sn_set64(w->b, w->ds * 16, va);
	sn_set32(w->b, w->ds * 16 + 8, rkey);
	w->ds++;
}

void drv_data(struct drv_wqe *w, const void *va, uint32_t len, uint32_t lkey)
{
	sn_set32(w->b, w->ds * 16, len);
	sn_set32(w->b, w->ds * 16 + 4, lkey);
	sn_set64(w->b, w->ds * 16 + 8, (uintptr_t)va);
	w->ds++;
}

void drv_inline(struct drv_wqe *w, const void *data, uint32_t len)
{
	sn_set32(w->b, w->ds * 16, len | 1u << 31);
	memcpy(w->b + w->ds * 16 + 4, data, len);
	w->ds += (len + 4 + 15) / 16;
}

void drv_umr(struct drv_wqe *w, uint8_t flags, uint16_t klms, uint64_t mask)
{
	w->b[16] = flags;
	sn_set32(w->b, 20, (uint32_t)klms << 16);
	sn_set64(w->b, 24, mask);
	w->ds = 4;
}

void drv_mkc(struct drv_wqe *w, unsigned int rights, uint32_t qpn_key, uint64_t start,
	     uint64_t len, bool free)
{
	uint8_t *mkc = w->b + 64;

	sn_set(mkc, MKC_FREE, free);
	sn_set(mkc, MKC_LR, !!(rights & DRV_LR));
	sn_set(mkc, MKC_LW, !!(rights & DRV_LW));
	sn_set(mkc, MKC_RR, !!(rights & DRV_RR));
	sn_set(mkc, MKC_RW, !!(rights & DRV_RW));
	sn_set(mkc, MKC_A, !!(rights & DRV_A));
	sn_set32(mkc, 4, qpn_key);
	sn_set64(mkc, MKC_START, start);
	sn_set64(mkc, MKC_LEN, len);
	w->ds = 8;
}

void drv_klm(struct drv_wqe *w, const void *va, uint32_t len, uint32_t key)
{
	drv_data(w, va, len, key);	/* an inline list has the same sixteen bytes */
}

void drv_pad(struct drv_wqe *w)
{
	w->ds = (w->ds + 3) & ~3u;
}

uint16_t drv_put(struct drv_qp *qp, struct drv_wqe *w)
{
	uint32_t mask = (1u << qp->log_sq) - 1;
	unsigned int blocks = (w->ds + 3) / 4;
	uint16_t at = qp->pi;

	w->b[7] = (uint8_t)w->ds;
	for (unsigned int i = 0; i < blocks; i++)
		memcpy(qp->sq + 64ul * ((at + i) & mask), w->b + 64 * i, 64);
	qp->pi = (uint16_t)(at + blocks);
	return at;
}

void drv_ring(struct drv_qp *qp, const struct drv_wqe *w)
{
	__atomic_store_n(&qp->dbr[1], htobe32(qp->pi), __ATOMIC_RELEASE);
	softnic_mmio_write(qp->d->nic, qp->uar, 0x800, w->b, 8);
}

uint16_t drv_post(struct drv_qp *qp, struct drv_wqe *w)
{
	uint16_t at = drv_put(qp, w);

	drv_ring(qp, w);
	return at;
}

void drv_nop(struct drv_qp *qp, uint8_t ce)
{
	struct drv_wqe w;

	drv_ctrl(qp, &w, 0x00, (uint8_t)(ce << 2), 0);
	drv_post(qp, &w);
}

void drv_recv(struct drv_qp *qp, const struct drv_mr *mr, uint32_t off, uint32_t len)
{
	uint8_t *w = qp->rq + qp->rq_stride * (qp->rq_pi & ((1u << qp->log_rq) - 1));

	sn_set32(w, 0, len);
	sn_set32(w, 4, mr->key);
	sn_set64(w, 8, (uintptr_t)mr->mem + off);
	sn_set32(w, 16, 0);
	sn_set32(w, 20, 0x100);
	qp->rq_pi++;
	__atomic_store_n(&qp->dbr[0], htobe32(qp->rq_pi), __ATOMIC_RELEASE);
}
