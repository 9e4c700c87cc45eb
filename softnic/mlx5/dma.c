/* SPDX-License-Identifier: BSD-2-Clause */
/* Host memory: bus addresses, page lists, and page lists that are used as one buffer. */
#include <errno.h>
#include <stdlib.h>

#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"

void *sn_dma_host(struct softnic *nic, uint64_t addr, uint64_t len, bool write)
{
	const struct softnic_host *host = &nic->config.host;
	void *p = host->dma ? host->dma(host->ctx, addr, (size_t)len, write) : (void *)(uintptr_t)addr;

	if (!p && len)
		sn_violate(nic, SN_V_DMA_REFUSED, "%#llx +%#llx", (unsigned long long)addr,
			   (unsigned long long)len);
	return p;
}

/* PRM: a page list holds addresses of aligned pages; an MTT has rights in the low bits. */
static int read_entry(const uint8_t *entry, unsigned int page_shift, bool mtt, uint64_t *addr,
		      uint8_t *perm)
{
	uint64_t v = sn_get64(entry, 0);
	uint64_t flags = mtt ? v & MTT_FLAGS : 0;

	v -= flags;
	if (v & ((UINT64_C(1) << page_shift) - 1) || flags & ~(uint64_t)(MTT_RD | MTT_WR))
		return -EINVAL;
	*addr = v;
	*perm &= mtt ? (uint8_t)flags : MTT_RD | MTT_WR;
	return 0;
}

int sn_buf_from_list(struct softnic *nic, struct sn_buf *b, const void *list, uint32_t n,
		     unsigned int page_shift, bool mtt)
{
	uint8_t perm = MTT_RD | MTT_WR;
	uint64_t *pages;
	bool contiguous = true;
	int err = 0;

	pages = calloc(n ? n : 1, sizeof(*pages));
	if (!pages)
		return -ENOMEM;
	for (uint32_t i = 0; i < n && !err; i++) {
		err = read_entry((const uint8_t *)list + 8 * (size_t)i, page_shift, mtt, &pages[i],
				 &perm);
		contiguous &= pages[i] == pages[0] + ((uint64_t)i << page_shift);
	}
	if (err) {
		free(pages);
		return err;
	}
	nic->work += n;
	*b = (struct sn_buf){ .base = pages[0], .pages = pages, .npages = n, .perm = perm,
			      .page_shift = (uint8_t)page_shift, .len = (uint64_t)n << page_shift };
	if (contiguous) {
		free(pages);
		b->pages = NULL;
	} else {
		nic->heap_words += n;
	}
	return 0;
}

/* The umem owns the pages. A buffer in it has only a reference to the umem. */
void sn_buf_from_umem(struct sn_buf *b, struct sn_umem *umem, uint64_t offset, uint64_t len)
{
	*b = umem->buf;
	b->umem = umem;
	b->offset += offset;
	b->len = len;
	umem->refs++;
}

void sn_buf_release(struct softnic *nic, struct sn_buf *b)
{
	if (b->umem) {
		b->umem->refs--;
	} else if (b->pages) {
		nic->heap_words -= b->npages;
		free(b->pages);
	}
	*b = (struct sn_buf){ 0 };
}

void *sn_buf_at_page(struct softnic *nic, const struct sn_buf *b, uint64_t off, uint64_t len, bool write)
{
	uint64_t at = b->offset + off;

	if (sn_buf_run(nic, b, off, len) < len)
		return NULL;
	at = b->pages[at >> b->page_shift] + (at & ((UINT64_C(1) << b->page_shift) - 1));
	return sn_dma(nic, at, len, write);
}

bool sn_buf_copy_out(struct softnic *nic, const struct sn_buf *b, uint64_t off, void *dst,
		     uint64_t len)
{
	while (len) {
		uint64_t n = sn_buf_run(nic, b, off, len);
		const void *p = sn_buf_at(nic, b, off, n, false);

		if (!p)
			return false;
		memcpy(dst, p, n);
		dst = (uint8_t *)dst + n;
		off += n;
		len -= n;
	}
	return true;
}
