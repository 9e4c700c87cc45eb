/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains and memory regions. A key is looked up at each use and never cached. */
#include <errno.h>
#include <stdlib.h>

#include "softnic/efa/nic.h"

int softnic_efa_pd_alloc(struct softnic_efa *handle, uint16_t *pd)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	uint32_t id;
	int err;

	if (!sne_enter(nic))
		return -ENODEV;
	if (sne_refuses(nic, SNE_CMD_PD)) {
		sne_leave(nic);
		return -ENOMEM;
	}
	err = sne_id_take(&nic->pd_ids, &id);
	if (!err) {
		nic->pds[id] = (struct sne_pd){ .live = true };
		*pd = (uint16_t)id;
	} else {
		sne_violate(nic, SNE_V_CMD_RESOURCE, "more than %u PDs", SNE_PDS);
	}
	sne_leave(nic);
	return err;
}

static int dealloc(struct sne_nic *nic, uint16_t pd)
{
	if (pd >= SNE_PDS || !nic->pds[pd].live) {
		sne_violate(nic, SNE_V_CMD_OBJECT, "dealloc of PD %u, which does not exist", pd);
		return -EINVAL;
	}
	if (nic->pds[pd].users) {
		sne_violate(nic, SNE_V_CMD_BUSY, "dealloc of PD %u, which has %u objects", pd,
			    nic->pds[pd].users);
		return -EBUSY;
	}
	nic->pds[pd].live = false;
	sne_id_give(&nic->pd_ids, pd);
	return 0;
}

int softnic_efa_pd_dealloc(struct softnic_efa *handle, uint16_t pd)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	int err;

	if (!sne_enter(nic))
		return -ENODEV;
	err = dealloc(nic, pd);
	sne_leave(nic);
	return err;
}

static int check_access(struct sne_nic *nic, unsigned int access)
{
	unsigned int has = SOFTNIC_EFA_LOCAL_WRITE;

	if (nic->caps.rdma_read)
		has |= SOFTNIC_EFA_REMOTE_READ;
	if (nic->caps.rdma_write)
		has |= SOFTNIC_EFA_REMOTE_WRITE;
	if (!(access & ~has))
		return 0;
	sne_violate(nic, SNE_V_CMD_CAPS,
		    "region with access %#x, but the device supports %#x", access,
		    has);
	return -EOPNOTSUPP;
}

/* The arguments of a new region. */
struct request {
	uint16_t pd;
	unsigned int access;
	uint8_t *addr;
	const struct softnic_efa_pages *pages;	/* NULL: the region is the memory at addr */
	uint64_t len, iova;
};

static bool right_pages(const struct sne_nic *nic, const struct request *r)
{
	const struct softnic_efa_pages *p = r->pages;
	uint64_t size = p->shift < 64 ? UINT64_C(1) << p->shift : 0;

	if (!nic->config.host.dma || !(size & nic->caps.page_size_cap) ||
	    ((r->iova & (size - 1)) + r->len + size - 1) >> p->shift != p->n)
		return false;
	for (uint32_t i = 0; i < p->n; i++)
		if (p->list[i] & (size - 1))
			return false;
	return true;
}

static int check_reg(struct sne_nic *nic, const struct request *r)
{
	if (r->pd >= SNE_PDS || !nic->pds[r->pd].live) {
		sne_violate(nic, SNE_V_CMD_OBJECT, "region in PD %u, which does not exist", r->pd);
		return -EINVAL;
	}
	if (!r->len || r->len > nic->caps.max_mr_size || r->iova + r->len < r->iova ||
	    (uintptr_t)r->addr + r->len < (uintptr_t)r->addr) {
		sne_violate(nic, SNE_V_CMD_FIELD, "region of %llu bytes", (unsigned long long)r->len);
		return -EINVAL;
	}
	if (r->pages && !right_pages(nic, r)) {
		sne_violate(nic, SNE_V_CMD_FIELD, "region of %llu bytes with %u pages of 2^%u bytes",
			    (unsigned long long)r->len, r->pages->n, r->pages->shift);
		return -EINVAL;
	}
	return check_access(nic, r->access);
}

/* Both keys contain the index, so a lookup is cheap; their other bits are random. */
static void make_keys(struct sne_nic *nic, struct sne_mr *mr, uint32_t index)
{
	if (nic->fault.rkey_turns > 1) {
		mr->turn = mr->turn % nic->fault.rkey_turns + 1;
		mr->lkey = (2 * mr->turn - 1) << 16 | index;
		mr->rkey = 2 * mr->turn << 16 | index;
		return;
	}
	if (mr->rkey && (nic->fault.rkey_turns == 1 || sne_below(nic, 2)))
		return;
	mr->lkey = (sne_below(nic, 255) + 1) << 16 | index;
	do
		mr->rkey = (sne_below(nic, 0xffff) + 1) << 16 | index;
	while (mr->rkey == mr->lkey);
}

static int copy_pages(struct sne_nic *nic, const struct softnic_efa_pages *pages, uint64_t **copy)
{
	size_t bytes = pages->n * sizeof(*pages->list);

	if (pages->n > SNE_MR_PAGES - nic->mr_pages) {
		sne_violate(nic, SNE_V_CMD_RESOURCE, "more than %u pages in all regions", SNE_MR_PAGES);
		return -ENOMEM;
	}
	*copy = malloc(bytes);
	if (!*copy)
		return -ENOMEM;
	memcpy(*copy, pages->list, bytes);
	nic->mr_pages += pages->n;
	return 0;
}

static int reg(struct sne_nic *nic, const struct request *r, const struct sne_mr **out)
{
	uint64_t *pages = NULL;
	struct sne_mr *mr;
	uint32_t id;
	int err = sne_id_take(&nic->mr_ids, &id);

	if (err) {
		sne_violate(nic, SNE_V_CMD_RESOURCE, "more than %u regions", SNE_MRS);
		return err;
	}
	err = r->pages ? copy_pages(nic, r->pages, &pages) : 0;
	if (err) {
		sne_id_give(&nic->mr_ids, id);
		return err;
	}
	mr = &nic->mrs[id];
	make_keys(nic, mr, id);
	mr->live = true;
	mr->pd = r->pd;
	mr->access = r->access;
	mr->addr = r->addr;
	mr->pages = pages;
	mr->npages = r->pages ? r->pages->n : 0;
	mr->page_shift = r->pages ? r->pages->shift : 0;
	mr->len = r->len;
	mr->iova = r->iova;
	nic->pds[r->pd].users++;
	*out = mr;
	return 0;
}

static int check_and_reg(struct sne_nic *nic, const struct request *r, uint32_t *lkey, uint32_t *rkey)
{
	const struct sne_mr *mr = NULL;
	int err;

	if (!sne_enter(nic))
		return -ENODEV;
	err = check_reg(nic, r);
	if (!err)
		err = sne_refuses(nic, SNE_CMD_MR) ? -ENOMEM : reg(nic, r, &mr);
	if (!err) {
		*lkey = mr->lkey;
		*rkey = mr->rkey;
	}
	sne_leave(nic);
	return err;
}

int softnic_efa_mr_reg(struct softnic_efa *handle, uint16_t pd, void *addr, uint64_t len,
		       uint64_t iova, unsigned int access, uint32_t *lkey, uint32_t *rkey)
{
	const struct request r = { .pd = pd, .access = access, .addr = addr, .len = len, .iova = iova };

	return check_and_reg((struct sne_nic *)handle, &r, lkey, rkey);
}

int softnic_efa_mr_reg_pages(struct softnic_efa *handle, uint16_t pd, const struct softnic_efa_pages *pages,
			     uint64_t len, uint64_t iova, unsigned int access, uint32_t *lkey,
			     uint32_t *rkey)
{
	const struct request r = { .pd = pd, .access = access, .pages = pages, .len = len, .iova = iova };

	return check_and_reg((struct sne_nic *)handle, &r, lkey, rkey);
}

void sne_mr_free(struct sne_nic *nic, struct sne_mr *mr)
{
	mr->live = false;
	nic->pds[mr->pd].users--;
	nic->mr_pages -= mr->npages;
	free(mr->pages);
	mr->pages = NULL;
	mr->npages = 0;
	sne_id_give(&nic->mr_ids, (uint32_t)(mr - nic->mrs));
}

int softnic_efa_mr_dereg(struct softnic_efa *handle, uint32_t lkey)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	struct sne_mr *mr;
	int err = 0;

	if (!sne_enter(nic))
		return -ENODEV;
	mr = &nic->mrs[lkey % SNE_MRS];
	if (!mr->live || mr->lkey != lkey) {
		sne_violate(nic, SNE_V_CMD_OBJECT, "dereg of lkey %#x, which does not exist", lkey);
		err = -EINVAL;
	} else {
		sne_mr_free(nic, mr);
	}
	sne_leave(nic);
	return err;
}

static const struct sne_mr *check(const struct sne_mr *mr, uint16_t pd, uint64_t addr, uint64_t len,
				  unsigned int access, enum sne_mr_error *why)
{
	uint64_t at = addr - mr->iova;

	*why = SNE_MR_PD;
	if (mr->pd != pd)
		return NULL;
	*why = SNE_MR_KEY;
	if (addr < mr->iova || at > mr->len || len > mr->len - at)
		return NULL;
	*why = SNE_MR_RIGHTS;
	if (access & ~mr->access)
		return NULL;
	return mr;
}

const struct sne_mr *sne_mr_local(struct sne_nic *nic, uint16_t pd, const struct sne_sge *sge,
				  unsigned int access, enum sne_mr_error *why)
{
	const struct sne_mr *mr = &nic->mrs[sge->lkey % SNE_MRS];

	*why = SNE_MR_KEY;
	if (!mr->live || mr->lkey != sge->lkey)
		return NULL;
	return check(mr, pd, sge->addr, sge->len, access, why);
}

const struct sne_mr *sne_mr_remote(struct sne_nic *nic, uint16_t pd, uint32_t rkey, uint64_t addr,
				   uint64_t len, unsigned int access, enum sne_mr_error *why)
{
	const struct sne_mr *mr = &nic->mrs[rkey % SNE_MRS];

	*why = SNE_MR_KEY;
	if ((!mr->live && !(nic->fault.late_dereg && mr->addr)) || mr->rkey != rkey)
		return NULL;
	return check(mr, pd, addr, len, access, why);
}

/* Returns a pointer to the memory at addr. *len is the requested length, and is reduced to the
 * length that is contiguous. NULL: the host refuses the access. */
static uint8_t *run(struct sne_nic *nic, const struct sne_mr *mr, uint64_t addr, uint32_t *len)
{
	uint64_t size = UINT64_C(1) << mr->page_shift, at;

	if (!mr->pages)
		return mr->addr + (addr - mr->iova);
	at = addr - (mr->iova & ~(size - 1));
	at = mr->pages[at >> mr->page_shift] + (at & (size - 1));
	if (*len > SNE_PAGE - at % SNE_PAGE)
		*len = SNE_PAGE - (uint32_t)(at % SNE_PAGE);
	return sne_dma(nic, at, *len);
}

unsigned int sne_mr_blocks(struct sne_nic *nic, const struct sne_mr *mr, uint64_t addr, uint32_t len,
			   struct iovec *iov)
{
	unsigned int n = 0;

	for (uint32_t done = 0, part; done < len; done += part) {
		part = len - done;
		iov[n].iov_base = run(nic, mr, addr + done, &part);
		iov[n].iov_len = part;
		if (!iov[n++].iov_base)
			return 0;
	}
	return n;
}

bool sne_mr_read(struct sne_nic *nic, const struct sne_mr *mr, uint64_t addr, void *to, uint32_t len)
{
	for (uint32_t done = 0, n; done < len; done += n) {
		const uint8_t *from;

		n = len - done;
		from = run(nic, mr, addr + done, &n);
		if (!from)
			return false;
		memcpy((uint8_t *)to + done, from, n);
	}
	return true;
}

typedef void copy_fn(uint8_t *to, const uint8_t *from, uint32_t len);

static bool put(struct sne_nic *nic, const struct sne_mr *mr, uint64_t addr, const uint8_t *from,
		uint32_t len, copy_fn *copy)
{
	for (uint32_t done = 0, n; done < len; done += n) {
		uint8_t *to;

		n = len - done;
		to = run(nic, mr, addr + done, &n);
		if (!to)
			return false;
		copy(to, from + done, n);
	}
	return true;
}

static void copy_bytes(uint8_t *to, const uint8_t *from, uint32_t len)
{
	memcpy(to, from, len);
}

bool sne_mr_write(struct sne_nic *nic, const struct sne_mr *mr, uint64_t addr, const void *from,
		  uint32_t len)
{
	return put(nic, mr, addr, from, len, copy_bytes);
}

static void place(uint8_t *to, const uint8_t *from, uint32_t len)
{
	uint64_t word;

	for (; len && (uintptr_t)to % sizeof(word); len--)
		__atomic_store_n(to++, *from++, __ATOMIC_RELEASE);
	for (; len >= sizeof(word); len -= (uint32_t)sizeof(word)) {
		memcpy(&word, from, sizeof(word));
		__atomic_store_n((uint64_t *)(void *)to, word, __ATOMIC_RELEASE);
		to += sizeof(word);
		from += sizeof(word);
	}
	for (; len; len--)
		__atomic_store_n(to++, *from++, __ATOMIC_RELEASE);
}

bool sne_mr_place(struct sne_nic *nic, const struct sne_mr *mr, uint64_t addr, const void *from,
		  uint32_t len)
{
	return put(nic, mr, addr, from, len, place);
}
