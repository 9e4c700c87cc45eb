/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory access by key, for lkeys and rkeys alike. An indirect key (KLM, KSM) is resolved through the
 * keys in its list. Those keys need only local rights, because the owner of the window uses them.
 */
#include <sys/param.h>

#include "softnic/bytes.h"
#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"
#include "softnic/mlx5/quirk.h"

enum op { CHECK, MAP, READ, WRITE };

struct walk {
	struct softnic *nic;
	enum op op;
	uint32_t from;		/* nic->work before the access */
	void *piece;
	uint8_t *mem;
};

void sn_copy(void *dst, const void *src, size_t len)
{
	uint8_t *d = dst;
	const uint8_t *s = src;
	uint64_t last;

	if (len >= sizeof(last) && (uintptr_t)(d + len) % sizeof(last) == 0) {
		len -= sizeof(last);
		sn_bytes(d, s, len);
		memcpy(&last, s + len, sizeof(last));
		__atomic_store_n((uint64_t *)(void *)(d + len), last, __ATOMIC_RELEASE);
	} else if (len) {
		sn_bytes(d, s, len - 1);
		__atomic_store_n(&d[len - 1], s[len - 1], __ATOMIC_RELEASE);
	}
}

static enum sn_acc add_piece(struct walk *w, void *p, uint64_t len)
{
	if (!p)
		return SN_ACC_DMA;
	switch (w->op) {
	case CHECK:
		return SN_ACC_OK;
	case MAP:
		if (w->piece)
			return SN_ACC_MANY;
		w->piece = p;
		return SN_ACC_OK;
	case READ:
		memcpy(w->mem, p, len);
		break;
	case WRITE:
		sn_copy(p, w->mem, len);
		break;
	}
	w->mem += len;
	return SN_ACC_OK;
}

static enum sn_acc walk_key(struct walk *w, const struct sn_access *a, unsigned int depth);

static enum sn_acc walk_direct(struct walk *w, const struct sn_mkey *m, const struct sn_access *a)
{
	static const struct sn_buf all = { .len = UINT64_MAX, .perm = MTT_RD | MTT_WR };
	const struct sn_buf *buf = m->mode == MODE_PA ? &all : &m->buf;
	bool writes = a->rights & (SN_LW | SN_RW | SN_ATOMIC);
	uint64_t off = m->mode == MODE_PA ? a->va : a->va - m->start;

	if (!(buf->perm & (writes ? MTT_WR : MTT_RD)))
		return SN_ACC_RIGHTS;
	for (uint64_t left = a->len; left && w->op != CHECK;) {
		uint64_t n = sn_buf_run(w->nic, buf, off, left);
		enum sn_acc acc = add_piece(w, sn_buf_at(w->nic, buf, off, n, writes), n);

		if (acc)
			return acc;
		off += n;
		left -= n;
	}
	return SN_ACC_OK;
}

/*
 * IBTA, memory windows: a window may grant only what its region grants the owner. Local write covers
 * remote write and atomics.
 */
static uint8_t local_rights(uint8_t rights)
{
	return (uint8_t)((rights & (SN_LR | SN_RR) ? SN_LR : 0) |
			 (rights & (SN_LW | SN_RW | SN_ATOMIC) ? SN_LW : 0));
}

/* Translates an access to an indirect key into an access to the key of one list entry. */
static struct sn_access to_entry(const struct sn_access *a, const struct sn_klm *k, uint64_t off,
				 uint64_t len)
{
	return (struct sn_access){ .key = k->key, .pd = a->pd, .qpn = a->qpn,
				   .rights = local_rights(a->rights), .va = k->va + off, .len = len };
}

static bool is_strided(const struct sn_mkey *m)
{
	return m->mode == MODE_KLM && m->nklm && m->klm[0].key == SN_KLM_STRIDED;
}

/* Returns the number of entries in each row of a strided list, or 0 if the entries do not make up
 * whole rows. */
static uint32_t row_entries(const struct sn_mkey *m)
{
	uint32_t n = (uint16_t)m->klm[0].va;
	uint64_t bytes = 0;

	if (n >= m->nklm)
		return 0;
	for (uint32_t i = 1; i <= n; i++)
		bytes += (uint16_t)m->klm[i].len;
	return bytes == m->klm[0].len ? n : 0;
}

static uint64_t entry_len(const struct sn_mkey *m, const struct sn_klm *k)
{
	if (m->mode == MODE_KSM)
		return UINT64_C(1) << m->log_page;
	return is_strided(m) ? (uint16_t)k->len : k->len;
}

/* A list without a strided block counts as one row that ends with the list. */
static enum sn_acc walk_indirect(struct walk *w, const struct sn_mkey *m, const struct sn_access *a,
				 unsigned int depth)
{
	const bool strided = is_strided(m);
	const struct sn_klm *list = m->klm + strided;
	uint32_t n = strided ? row_entries(m) : m->nklm;
	uint64_t row_bytes = strided ? m->klm[0].len : 0, rows = strided ? m->klm[0].va >> 32 : 1;
	uint64_t off = a->va - m->start, left = a->len;
	uint64_t row = row_bytes ? off / row_bytes : strided ? rows : 0;

	if (depth == SN_KLM_DEPTH)
		return SN_ACC_DEPTH;
	w->nic->work += strided ? n : 0;
	off -= row * row_bytes;
	for (; n && left && row < rows; row++) {
		for (uint32_t i = 0; i < n && left; i++) {
			uint64_t len = entry_len(m, &list[i]);
			struct sn_access in;
			enum sn_acc acc;

			if (++w->nic->work - w->from > SN_ENTRIES_MAX)
				return SN_ACC_DEPTH;
			if (off >= len) {
				off -= len;
				continue;
			}
			in = to_entry(a, &list[i], (strided ? row * (list[i].len >> 16) : 0) + off,
				      MIN(left, len - off));
			acc = walk_key(w, &in, depth + 1);
			if (acc)
				return acc;
			left -= in.len;
			off = 0;
		}
	}
	return left ? SN_ACC_BOUNDS : SN_ACC_OK;
}

/* A key of all addresses (length64) refuses only a range that wraps. For other keys the test uses
 * subtractions only, so that no sum of values that the peer chose can wrap. */
static bool is_outside(const struct sn_mkey *m, const struct sn_access *a)
{
	if (m->length64)
		return a->va + (a->len - 1) < a->va;
	return a->va < m->start || a->va - m->start > m->len ||
	       a->len > m->len - (a->va - m->start);
}

/*
 * PRM "rlky": the reserved lkey has no PD. A QP may use it only if its driver allowed that. Linux's queue for
 * UMRs has no PD either, and reads lists by any key.
 */
static bool may_use(struct walk *w, const struct sn_mkey *m, const struct sn_access *a)
{
	const struct sn_qp *qp = m->pd ? NULL : sn_qp_find(w->nic, a->qpn);

	return m->pd ? m->pd == a->pd || a->pd == &w->nic->dev->no_pd : qp && qp->reserved_lkey;
}

static enum sn_acc walk_key(struct walk *w, const struct sn_access *a, unsigned int depth)
{
	const struct sn_mkey *m = sn_mkey_find(w->nic, a->key);

	/* IBTA: a zero-length access does not check its key. */
	if (!a->len)
		return SN_ACC_OK;
	if (!m || (m->key != (a->key & 0xff) && !sn_quirk(w->nic, SN_Q_OLD_KEYS)))
		return depth ? SN_ACC_GONE : SN_ACC_STALE;
	if (m->free && !sn_quirk(w->nic, SN_Q_OLD_KEYS))
		return depth ? SN_ACC_GONE : SN_ACC_FREE;
	if (!may_use(w, m, a))
		return SN_ACC_PD;
	if (m->qpn != SN_ANY_QPN && m->qpn != a->qpn)
		return SN_ACC_QPN;
	if (a->rights & ~m->rights)
		return SN_ACC_RIGHTS;
	if (is_outside(m, a))
		return SN_ACC_BOUNDS;
	if (m->mode == MODE_KLM || m->mode == MODE_KSM)
		return walk_indirect(w, m, a, depth);
	return walk_direct(w, m, a);
}

void *sn_mkey_at(struct softnic *nic, const struct sn_access *a)
{
	const struct sn_mkey *m = sn_mkey_find(nic, a->key);
	bool writes = a->rights & (SN_LW | SN_RW | SN_ATOMIC);
	uint64_t off = m ? a->va - m->start : 0;

	if (!m || m->key != (a->key & 0xff) || m->free || m->mode != MODE_MTT || m->buf.pages ||
	    m->pd != a->pd || m->qpn != SN_ANY_QPN || a->rights & ~m->rights || !a->len ||
	    is_outside(m, a) || !(m->buf.perm & (writes ? MTT_WR : MTT_RD)) ||
	    sn_buf_run(nic, &m->buf, off, a->len) < a->len)
		return NULL;
	return sn_buf_at(nic, &m->buf, off, a->len, writes);
}

enum sn_acc sn_mkey_check(struct softnic *nic, const struct sn_access *a)
{
	struct walk w = { .nic = nic, .from = nic->work, .op = CHECK };

	return walk_key(&w, a, 0);
}

enum sn_acc sn_mkey_map(struct softnic *nic, const struct sn_access *a, void **piece)
{
	struct walk w = { .nic = nic, .from = nic->work, .op = MAP };
	enum sn_acc acc = walk_key(&w, a, 0);

	if (!acc)
		*piece = w.piece;
	return acc;
}

enum sn_acc sn_mkey_read(struct softnic *nic, const struct sn_access *a, void *dst)
{
	struct walk w = { .nic = nic, .from = nic->work, .op = READ, .mem = dst };

	return walk_key(&w, a, 0);
}

enum sn_acc sn_mkey_write(struct softnic *nic, const struct sn_access *a, const void *src)
{
	struct walk w = { .nic = nic, .from = nic->work, .op = WRITE, .mem = (uint8_t *)(uintptr_t)src };

	return walk_key(&w, a, 0);
}

void sn_acc_violation(struct softnic *nic, const struct sn_access *a, enum sn_acc why, bool remote)
{
	static const struct {
		enum sn_viol v;
		const char *word;
	} kinds[] = {
		[SN_ACC_STALE] = { SN_V_MKEY_STALE, "no such key" },
		[SN_ACC_FREE] = { SN_V_MKEY_FREE, "the key is free" },
		[SN_ACC_PD] = { SN_V_MKEY_PD, "the key belongs to another PD" },
		[SN_ACC_QPN] = { SN_V_MKEY_QPN, "the key is bound to another QP" },
		[SN_ACC_RIGHTS] = { SN_V_MKEY_RIGHTS, "the key lacks the right" },
		[SN_ACC_BOUNDS] = { SN_V_MKEY_BOUNDS, "outside of the key's range" },
		[SN_ACC_DEPTH] = { SN_V_MKEY_DEPTH, "too many levels or entries of indirect keys" },
		[SN_ACC_GONE] = { SN_V_MKEY_STALE, "a key in its list is invalid" },
		[SN_ACC_DMA] = { SN_V_DMA_REFUSED, "DMA refused" },
	};
	enum sn_viol v = sn_acc_is_operational(why) ? SN_V_REMOTE_OPERATIONAL : SN_V_REMOTE_ACCESS;

	if (why == SN_ACC_OK || why >= SN_ACC_MANY)
		return;
	sn_violate(nic, remote ? v : kinds[why].v,
		   "key %#x QP %#x va %#llx +%llu rights %#x: %s", a->key, a->qpn,
		   (unsigned long long)a->va, (unsigned long long)a->len, a->rights,
		   kinds[why].word);
}

/* IBTA, send with invalidate: key, PD and QP must match, and the key must allow remote invalidation. */
enum sn_acc sn_mkey_invalidate(struct sn_qp *qp, uint32_t rkey)
{
	struct sn_mkey *m = sn_mkey_find(qp->nic, rkey);

	if (!m || m->key != (rkey & 0xff))
		return SN_ACC_STALE;
	if (m->free)
		return SN_ACC_FREE;
	if (m->pd != qp->pd)
		return SN_ACC_PD;
	if (m->qpn != SN_ANY_QPN && m->qpn != qp->qpn)
		return SN_ACC_QPN;
	if (!m->rinval)
		return SN_ACC_RIGHTS;
	m->free = true;
	sn_mappings_forget(qp->nic);
	return SN_ACC_OK;
}
