/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UAR pages. A write is either trapped and seen whole, or found in the page by a scan. A scanned
 * word is only a hint: the next queue on the same register may have overwritten it. So the device
 * reads the doorbell records of all queues of the page. A driver writes the record first, and the
 * record is authoritative.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "softnic/bytes.h"
#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"
#include "softnic/mlx5/quirk.h"

int sn_bar_open(struct softnic *nic)
{
	struct sn_device *dev = nic->dev;
	size_t size = (size_t)SN_BAR_PAGES * SN_PAGE;
	void *bar;

	dev->bar_fd = memfd_create("softnic-bar", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (dev->bar_fd < 0)
		return -errno;
	/* A front passes this descriptor to other processes. Sealing keeps them from shrinking the
	 * file. */
	if (ftruncate(dev->bar_fd, (off_t)size) ||
	    fcntl(dev->bar_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	bar = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, dev->bar_fd, 0);
	if (bar == MAP_FAILED)
		return -errno;
	dev->bar = bar;
	if (nic->config.timer_page)
		sn_internal_timer(nic);
	return 0;
}

void sn_bar_close(struct softnic *nic)
{
	struct sn_device *dev = nic->dev;

	if (dev->bar)
		munmap(dev->bar, (size_t)SN_BAR_PAGES * SN_PAGE);
	if (dev->bar_fd >= 0)
		close(dev->bar_fd);
	dev->bar = NULL;
	dev->bar_fd = -1;
}

/* The parent's device scans these pages, so a child must not be able to store into them. */
void sn_bar_forget(struct softnic *nic)
{
	mmap(nic->dev->bar, (size_t)SN_BAR_PAGES * SN_PAGE, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

void *softnic_uar(struct softnic *nic, uint32_t page)
{
	return page < SN_BAR_PAGES ? nic->dev->bar + (size_t)page * SN_PAGE : NULL;
}

int softnic_bar_fd(struct softnic *nic, size_t *size)
{
	*size = (size_t)SN_BAR_PAGES * SN_PAGE;
	return nic->dev->bar_fd;
}

/*
 * Quirk SN_Q_ZERO_BLOCK: the device sets a mark in the second word of the first register of a new page,
 * which a block of zeros overwrites. A scan for doorbells reads only the first words.
 */
enum { MARK_AT = SN_UAR_BF + 8, MARK_BYTES = SN_WQEBB - 8 };

static void report_zero_block(struct softnic *nic, const struct sn_uar *uar)
{
	static const uint8_t none[28];
	uint8_t *mark = nic->dev->bar + (size_t)uar->page * SN_PAGE + MARK_AT;

	if (!uar->marked || !sn_is_zero(mark, MARK_BYTES))
		return;
	*mark = 1;
	sn_async(nic, SN_EV_INTERNAL, 0, none);
}

/* Allocates the lowest free page after the page that was allocated last, so that a stale doorbell
 * seldom reaches a new owner. */
uint8_t sn_cmd_alloc_uar(struct sn_cmd *c)
{
	struct sn_device *dev = c->nic->dev;
	struct sn_uar *uar = calloc(1, sizeof(*uar));
	uint32_t n = (c->nic->config.timer_page ?: SN_BAR_PAGES) - SN_UAR_FIRST;
	int err = -ENOSPC;

	if (!uar)
		return sn_cmd_refuse_errno(c, -ENOMEM);
	for (uint32_t i = 0; i < n && err; i++) {
		uar->page = SN_UAR_FIRST + (dev->uar_hint + i) % n;
		err = sn_table_insert(&c->nic->uars, uar->page, uar);
		if (err == -ENOMEM)
			break;
	}
	if (err) {
		free(uar);
		return sn_cmd_refuse_errno(c, err);
	}
	dev->uar_hint = uar->page - SN_UAR_FIRST + 1;
	memset(dev->bar + (size_t)uar->page * SN_PAGE, 0, SN_PAGE);
	uar->marked = sn_quirk(c->nic, SN_Q_ZERO_BLOCK);
	if (uar->marked)
		dev->bar[(size_t)uar->page * SN_PAGE + MARK_AT] = 1;
	sn_set(c->out, CMD_NUMBER, uar->page);
	return STAT_OK;
}

void sn_uar_free(struct softnic *nic, void *obj)
{
	struct sn_uar *uar = obj;

	sn_table_remove(&nic->uars, uar->page);
	free(uar);
}

/*
 * Finds the QP from the first eight bytes of a control segment: index, DS and QPN. A QP whose page is
 * another one does not count, because hardware ignores such a doorbell.
 */
static struct sn_qp *doorbell_qp(struct softnic *nic, uint32_t page, const uint8_t *ctrl)
{
	uint32_t qpn = sn_get32(ctrl, 4) >> 8;
	struct sn_qp *qp = sn_table_find(&nic->qps, qpn);

	if (qp && qp->uar->page == page)
		return qp;
	if (qp)
		sn_violate(nic, SN_V_DB_UAR, "doorbell of QP %#x of UAR %u on UAR %u", qpn,
			   qp->uar->page, page);
	else
		sn_violate(nic, SN_V_DB_UNKNOWN_QP, "doorbell on UAR %u for unknown QP %#x", page, qpn);
	return NULL;
}

static bool same_in_queue(struct sn_qp *qp, uint16_t idx, const uint8_t *data, size_t n)
{
	uint8_t raw[SN_DS_MAX * 16];
	uint64_t head;
	const uint8_t *p;

	p = n <= SN_WQEBB ? sn_sq_block(qp, idx) : NULL;
	if (p && n == sizeof(head))
		return !memcmp(p, data, sizeof(head));
	return sn_sq_copy(qp, idx, (unsigned int)(n + 15) / 16, raw) && !memcmp(raw, data, n);
}

/* Checks, WQE by WQE, that the copy matches the queue. Returns the index after the last WQE. */
static uint16_t check_copy(struct sn_qp *qp, const uint8_t *data, size_t len)
{
	uint16_t idx = (uint16_t)(sn_get32(data, 0) >> 8);
	uint16_t next = idx;

	for (size_t at = 0; at < len;) {
		unsigned int ds = sn_get32(data + at, 4) & 0x3f;
		size_t n = ds * 16u < len - at ? ds * 16u : len - at;

		if (!ds || (uint16_t)(sn_get32(data + at, 0) >> 8) != next)
			break;
		/* In process, the host may pass a pointer into the queue itself instead of a copy. */
		if ((n > SN_WQEBB || sn_sq_block(qp, next) != data + at) &&
		    !same_in_queue(qp, next, data + at, n))
			sn_violate(qp->nic, SN_V_BF_MISMATCH,
				   "QP %#x index %u: the BlueFlame copy differs from the SQ",
				   qp->qpn, next);
		next = (uint16_t)(next + sn_blocks(ds));
		at += sn_blocks(ds) * (size_t)SN_WQEBB;
	}
	return next;
}

/*
 * A doorbell carries the first eight bytes of the last WQE's control segment; a BlueFlame write carries
 * the WQEs. Both give the index that the record must have.
 */
static void ring_sq(struct softnic *nic, uint32_t page, const uint8_t *data, size_t len)
{
	struct sn_qp *qp = doorbell_qp(nic, page, data);
	uint16_t pi;
	uint32_t rec;

	if (len > 8) {
		nic->ctr.blueflames++;
		sn_quirk_slows(nic, SN_Q_SLOW_BF);
	} else {
		nic->ctr.doorbells++;
	}
	if (!qp || !sn_sq_read_record(qp, &rec))
		return;
	if (qp->state != SN_QP_RST) {
		pi = check_copy(qp, data, len);
		if (rec != pi)
			sn_violate(nic, SN_V_DB_RECORD,
				   "QP %#x: the doorbell has index %u, the doorbell record %u",
				   qp->qpn, pi, rec);
	}
	sn_sq_record(qp, rec);
}

void sn_uar_write(struct softnic *nic, uint32_t page, uint32_t offset, const uint8_t *data,
		  size_t len)
{
	bool bf = sn_is_bf(offset);

	if (!sn_table_find(&nic->uars, page))
		sn_violate(nic, SN_V_DB_UAR, "UAR %u is not allocated", page);
	else if (bf && len != 8 && (len % SN_WQEBB || !len || len > SN_UAR_BF_HALF))
		sn_violate(nic, SN_V_BF_SIZE, "%zu bytes", len);
	else if (bf)
		ring_sq(nic, page, data, len);
	else if (offset == SN_UAR_CQ && len == 8)
		sn_cq_doorbell(nic, page, sn_get32(data, 0), sn_get32(data, 4), true);
	else
		sn_violate(nic, SN_V_DB_OFFSET, "%zu bytes at %#x", len, offset);
}

void sn_uar_store(struct softnic *nic, uint32_t page, uint32_t offset, const uint8_t *data)
{
	struct sn_device *dev = nic->dev;
	uint64_t word;

	if (page >= SN_BAR_PAGES || offset > SN_PAGE - 8 || offset % 8)
		return;
	memcpy(&word, data, sizeof(word));
	__atomic_store_n((uint64_t *)(void *)(dev->bar + (size_t)page * SN_PAGE + offset), word,
			 __ATOMIC_RELEASE);
	atomic_fetch_or(&dev->dirty[page / 64], 1ul << page % 64);
	atomic_store(&dev->any_dirty, true);
}

/* Reads and clears a doorbell. A store that comes later is left for the next scan. */
static bool take_doorbell(uint8_t *page, uint32_t offset, uint8_t word[8])
{
	uint64_t *p = (uint64_t *)(void *)(page + offset);
	uint64_t v = __atomic_load_n(p, __ATOMIC_RELAXED);

	if (!v)
		return false;
	v = __atomic_exchange_n(p, 0, __ATOMIC_ACQ_REL);
	memcpy(word, &v, sizeof(v));
	return true;
}

/*
 * A host may write the record first and copy the doorbell from its queue later. If another doorbell of
 * the page has made the device execute the WQE meanwhile, adversarial mode has poisoned it.
 */
static bool is_poison(const struct softnic *nic, const uint8_t word[8])
{
	uint8_t poison[8];

	memset(poison, SN_POISON, sizeof(poison));
	return nic->config.flags & SOFTNIC_ADVERSARIAL && !memcmp(word, poison, sizeof(poison));
}

static bool scan_page(struct softnic *nic, struct sn_uar *uar)
{
	uint8_t *page = nic->dev->bar + (size_t)uar->page * SN_PAGE;
	uint8_t word[8];
	struct sn_qp *qp;
	struct sn_cq *cq;
	bool rung = false, any = false;
	uint32_t rec;

	report_zero_block(nic, uar);
	for (uint32_t off = SN_UAR_BF; off < SN_UAR_BF_END; off += SN_UAR_BF_HALF) {
		if (!take_doorbell(page, off, word))
			continue;
		qp = is_poison(nic, word) ? NULL : doorbell_qp(nic, uar->page, word);
		if (qp)
			sn_sq_read_record(qp, &rec);	/* only a QP that rang fails if that is refused */
		rung |= qp || is_poison(nic, word);
		nic->ctr.doorbells++;
	}
	if (rung)
		LIST_FOREACH(qp, &uar->qps, link) {
			nic->work++;
			sn_sq_doorbell(qp);
		}
	if (take_doorbell(page, SN_UAR_CQ, word)) {
		sn_cq_doorbell(nic, uar->page, sn_get32(word, 0), sn_get32(word, 4), false);
		LIST_FOREACH(cq, &uar->cqs, link) {
			nic->work++;
			sn_cq_scan(nic, cq);
		}
		any = true;
	}
	for (uint32_t off = SN_UAR_EQ_ARM; off <= SN_UAR_EQ; off += 8) {
		if (!take_doorbell(page, off, word))
			continue;
		sn_eq_doorbell(nic, uar->page, sn_get32(word, 0), off == SN_UAR_EQ_ARM);
		any = true;
	}
	return rung || any;
}

/* Scans all pages. Each poll scans if doorbells are not trapped, so a slot without a page costs
 * only one load. */
static bool scan_all(struct softnic *nic)
{
	bool any = false;

	for (uint32_t i = 0; nic->uars.slot && i <= nic->uars.mask; i++)
		if (nic->uars.slot[i])
			any |= scan_page(nic, nic->uars.slot[i]);
	return any;
}

/* The mark is cleared before the scan, so that a page marked during the scan is scanned again. */
bool sn_uar_scan(struct softnic *nic)
{
	struct sn_device *dev = nic->dev;
	bool any = false;

	if (nic->config.flags & SOFTNIC_SCAN_UARS)
		return scan_all(nic);
	atomic_store(&dev->any_dirty, false);
	for (uint32_t w = 0; w < SN_BAR_PAGES / 64; w++) {
		unsigned long bits = atomic_exchange(&dev->dirty[w], 0);

		for (; bits; bits &= bits - 1) {
			uint32_t page = w * 64 + (uint32_t)__builtin_ctzl(bits);
			struct sn_uar *uar = sn_table_find(&nic->uars, page);

			if (uar)
				any |= scan_page(nic, uar);
		}
	}
	return any;
}
