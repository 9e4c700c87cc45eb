/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains and memory regions. A key is looked up at each use and never kept. */
#include <errno.h>

#include "softnic/efa/sne.h"

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
		sne_violate(nic, SNE_V_CMD_OBJECT, "dealloc of PD %u, which is none", pd);
		return -EINVAL;
	}
	if (nic->pds[pd].users) {
		sne_violate(nic, SNE_V_CMD_BUSY, "dealloc of PD %u with %u objects", pd,
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
	sne_violate(nic, SNE_V_CMD_CAPS, "region with access %#x, the device has %#x", access, has);
	return -EOPNOTSUPP;
}

static int check_reg(struct sne_nic *nic, uint16_t pd, const void *addr, uint64_t len,
		     uint64_t iova, unsigned int access)
{
	if (pd >= SNE_PDS || !nic->pds[pd].live) {
		sne_violate(nic, SNE_V_CMD_OBJECT, "region in PD %u, which is none", pd);
		return -EINVAL;
	}
	if (!len || len > nic->caps.max_mr_size || iova + len < iova ||
	    (uintptr_t)addr + len < (uintptr_t)addr) {
		sne_violate(nic, SNE_V_CMD_FIELD, "region of %llu bytes", (unsigned long long)len);
		return -EINVAL;
	}
	return check_access(nic, access);
}

/* The index is in both keys, so that a lookup costs nothing; the rest of them is random. */
static void make_keys(struct sne_nic *nic, struct sne_mr *mr, uint32_t index)
{
	if (mr->rkey && (nic->fault.rkey_reuse || sne_below(nic, 2)))
		return;
	mr->lkey = (sne_below(nic, 255) + 1) << 16 | index;
	do
		mr->rkey = (sne_below(nic, 0xffff) + 1) << 16 | index;
	while (mr->rkey == mr->lkey);
}

int softnic_efa_mr_reg(struct softnic_efa *handle, uint16_t pd, void *addr, uint64_t len,
		       uint64_t iova, unsigned int access, uint32_t *lkey, uint32_t *rkey)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	struct sne_mr *mr;
	uint32_t id;
	int err;

	if (!sne_enter(nic))
		return -ENODEV;
	err = check_reg(nic, pd, addr, len, iova, access);
	if (!err && sne_refuses(nic, SNE_CMD_MR))
		err = -ENOMEM;
	if (err)
		goto leave;
	err = sne_id_take(&nic->mr_ids, &id);
	if (err) {
		sne_violate(nic, SNE_V_CMD_RESOURCE, "more than %u regions", SNE_MRS);
		goto leave;
	}
	mr = &nic->mrs[id];
	make_keys(nic, mr, id);
	mr->live = true;
	mr->pd = pd;
	mr->access = access;
	mr->addr = addr;
	mr->len = len;
	mr->iova = iova;
	nic->pds[pd].users++;
	*lkey = mr->lkey;
	*rkey = mr->rkey;
leave:
	sne_leave(nic);
	return err;
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
		sne_violate(nic, SNE_V_CMD_OBJECT, "dereg of lkey %#x, which is none", lkey);
		err = -EINVAL;
	} else {
		mr->live = false;
		nic->pds[mr->pd].users--;
		sne_id_give(&nic->mr_ids, lkey % SNE_MRS);
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
	if ((!mr->live && !nic->fault.late_dereg) || mr->rkey != rkey)
		return NULL;
	return check(mr, pd, addr, len, access, why);
}

bool sne_mr_read(struct sne_nic *nic, const struct sne_mr *mr, uint64_t addr, void *to, uint32_t len)
{
	(void)nic;
	memcpy(to, mr->addr + (addr - mr->iova), len);
	return true;
}

bool sne_mr_write(struct sne_nic *nic, const struct sne_mr *mr, uint64_t addr, const void *from,
		  uint32_t len)
{
	(void)nic;
	memcpy(mr->addr + (addr - mr->iova), from, len);
	return true;
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
	(void)nic;
	place(mr->addr + (addr - mr->iova), from, len);
	return true;
}
