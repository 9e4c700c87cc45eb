/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory regions: their page lists are in the command, in one buffer, or in pages that chunks name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/vfio_user/efa/efa.h"

/* Copies from guest memory page by page, because pages that follow each other need not be contiguous
 * here. */
static int copy_in(struct vm_device *dev, void *to, uint64_t addr, size_t len)
{
	for (size_t done = 0, n; done < len; done += n) {
		const void *from;

		n = VE_PAGE - (addr + done) % VE_PAGE;
		n = n < len - done ? n : len - done;
		from = vm_dma(dev, addr + done, n);
		if (!from)
			return -EFAULT;
		memcpy((uint8_t *)to + done, from, n);
	}
	return 0;
}

enum { PER_PAGE = VE_LIST_PAGE / sizeof(uint64_t) };

/* Copies the pages of the list that one chunk names. */
static int copy_chunk(struct vm_device *dev, const struct ve_chunk *chunk, uint64_t *list, uint32_t n)
{
	int err = 0;

	for (uint32_t i = 0; i * PER_PAGE < n && !err; i++) {
		uint32_t part = n - i * PER_PAGE < PER_PAGE ? n - i * PER_PAGE : PER_PAGE;

		err = copy_in(dev, list + (size_t)i * PER_PAGE, chunk->list[i], part * sizeof(*list));
	}
	return err;
}

static int copy_chunks(struct vm_device *dev, struct ve_buffer at, uint64_t *list, uint32_t n)
{
	enum { PER_CHUNK = VE_CHUNK_POINTERS * PER_PAGE };
	struct ve_chunk chunk;
	int err = 0;

	for (uint32_t done = 0; done < n && !err; done += PER_CHUNK) {
		uint32_t part = n - done < PER_CHUNK ? n - done : PER_CHUNK;
		size_t pointers = (part + PER_PAGE - 1) / PER_PAGE * sizeof(uint64_t);

		if (at.length < pointers + sizeof(at) || at.length > sizeof(chunk))
			return -EINVAL;
		/* A full chunk ends with the address of the next one. */
		err = copy_in(dev, &chunk, ve_address(at.addr_lo, at.addr_hi),
			      part < n - done ? offsetof(struct ve_chunk, next) + sizeof(at) : pointers);
		if (!err)
			err = copy_chunk(dev, &chunk, list + done, part);
		at = chunk.next;
	}
	return err;
}

static int copy_list(struct vm_device *dev, const struct ve_reg_mr *in, uint64_t *list, uint32_t n)
{
	size_t bytes = n * sizeof(*list);

	if (!(in->head.flags & VE_CTRL_DATA)) {
		if (n > VE_INLINE_PAGES)
			return -EINVAL;
		memcpy(list, in->pages, bytes);
		return 0;
	}
	if (in->head.flags & VE_CTRL_INDIRECT)
		return copy_chunks(dev, in->list, list, n);
	if (in->list.length < bytes)
		return -EINVAL;
	return copy_in(dev, list, ve_address(in->list.addr_lo, in->list.addr_hi), bytes);
}

static int reg(struct vm_device *dev, const struct ve_reg_mr *in, struct softnic_efa_pages *pages,
	       struct ve_keys *keys)
{
	uint64_t *list = calloc(pages->n, sizeof(*list));
	int err = list ? copy_list(dev, in, list, pages->n) : -ENOMEM;

	pages->list = list;
	if (!err)
		err = softnic_efa_mr_reg_pages(dev->efa->nic, in->pd, pages, in->len, in->iova, in->access,
					       &keys->lkey, &keys->rkey);
	free(list);
	return err;
}

int ve_reg_mr(struct vm_device *dev, const union ve_command *in, union ve_response *out)
{
	const struct ve_reg_mr *c = &in->reg_mr;
	struct softnic_efa_pages pages = { .shift = c->flags & VE_MR_SHIFT };
	uint64_t size = UINT64_C(1) << pages.shift, n;

	if (c->flags & VE_MR_PHYSICAL)
		return -EOPNOTSUPP;
	if (!c->len || c->len > dev->efa->caps.max_mr_size || !(size & dev->efa->caps.page_size_cap))
		return -EINVAL;
	n = ((c->iova & (size - 1)) + c->len + size - 1) >> pages.shift;
	if (n > dev->efa->caps.max_mr_pages)
		return -ENOMEM;
	pages.n = (uint32_t)n;
	return reg(dev, c, &pages, &out->keys);
}

int ve_dereg_mr(struct vm_device *dev, const union ve_command *in, union ve_response *out)
{
	(void)out;
	return softnic_efa_mr_dereg(dev->efa->nic, in->handle.handle);
}
