/* SPDX-License-Identifier: BSD-2-Clause */
/* Local Memory Regions, and the directory that maps contexts to them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/api.h"
#include "core/fork.h"
#include "core/hw.h"
#include "core/ia.h"
#include "core/mem/lmr.h"
#include "core/obj.h"

static int page_of(struct dap_ia *ia, uint32_t context, struct dap_lmr_page **out)
{
	struct core_ia *own = core_ia(ia);
	struct dap_lmr_page **slot = &ia->lmr_dir[context >> 20];
	struct dap_lmr_page *page = *slot;

	if (!page) {
		page = own->lmr_spare ? own->lmr_spare : calloc(1, sizeof(*page));
		if (!page)
			return -1;
		own->lmr_spare = page->next;
		page->next = NULL;
		__atomic_store_n(slot, page, __ATOMIC_RELEASE);
	}
	*out = page;
	return 0;
}

/* The lower 8 bits of a context are its variant; contexts of live LMRs differ above them. */
static int dir_add(struct dap_ia *ia, struct dap_lmr *lmr)
{
	struct dap_lmr_page *page;
	int err;

	pthread_mutex_lock(&core_ia(ia)->lock);
	err = page_of(ia, lmr->lmr_context, &page);
	if (!err) {
		page->live++;
		dap_invariant(&lmr->obj, !page->lmr[lmr->lmr_context >> 8 & 0xfff]);
		__atomic_store_n(&page->lmr[lmr->lmr_context >> 8 & 0xfff], lmr, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&core_ia(ia)->lock);
	return err;
}

/*
 * Pages are reused, because with random contexts each LMR may need its own. A reader that still
 * uses an old page finds there no LMR, or one of another context.
 */
static void dir_remove(struct dap_ia *ia, const struct dap_lmr *lmr)
{
	struct core_ia *own = core_ia(ia);
	struct dap_lmr_page **slot = &ia->lmr_dir[lmr->lmr_context >> 20], *page;

	pthread_mutex_lock(&own->lock);
	page = *slot;
	if (!dap_invariant(&lmr->obj, page && page->lmr[lmr->lmr_context >> 8 & 0xfff] == lmr))
		goto out;
	__atomic_store_n(&page->lmr[lmr->lmr_context >> 8 & 0xfff], NULL, __ATOMIC_RELEASE);
	if (!--page->live) {
		__atomic_store_n(slot, NULL, __ATOMIC_RELEASE);
		page->next = own->lmr_spare;
		own->lmr_spare = page;
	}
out:
	pthread_mutex_unlock(&own->lock);
}

static void lmr_init(struct dap_lmr *lmr, const struct dap_lmr_args *args)
{
	struct core_lmr *own = core_lmr(lmr);
	const struct dap_lmr *base = args->region;

	if (args->mem_type == DAP_MEM_LMR) {
		lmr->mem = base->mem;
		lmr->length = base->length;
	} else {
		lmr->mem = (uintptr_t)args->region;
		lmr->length = args->length;
	}
	lmr->zero_based = args->zero_based;
	lmr->addr = lmr->zero_based ? 0 : lmr->mem;
	own->shared_fd = -1;
	own->mem_type = args->mem_type;
	own->region = args->region;
	lmr->priv = args->priv;
	lmr->pz = args->pz;
}

static int check_range(const struct dap_lmr *lmr)
{
	const struct dap_caps *caps = &lmr->obj.ia->caps;

	if (!lmr->mem)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	if (!lmr->length || lmr->length > caps->max_lmr_size ||
	    lmr->length - 1 > UINT64_MAX - lmr->mem)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG4);
	return 0;
}

static int share_lmr(struct dap_lmr *lmr, const void *cookie)
{
	struct core_lmr *own = core_lmr(lmr);
	int fd;

	memcpy(own->cookie, cookie, sizeof(own->cookie));
	fd = dap_shared_enter(own->cookie, lmr->mem, lmr->length);
	if (fd == -EXDEV || fd == -EEXIST)
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_NONE);
	if (fd < 0)
		return dap_err_from_errno(fd);
	own->shared_fd = fd;
	return 0;
}

/* A child that is forked meanwhile must not close a descriptor that has become another file's. */
static void unshare_lmr(struct dap_lmr *lmr)
{
	int fd = core_lmr(lmr)->shared_fd;

	core_lmr(lmr)->shared_fd = -1;
	if (fd >= 0)
		close(fd);
}

/* shared_fd is 0 if a thread of the parent was creating the LMR. */
static void close_inherited(void *lmr, void *arg)
{
	(void)arg;
	if (core_lmr(lmr)->shared_fd > 0)
		close(core_lmr(lmr)->shared_fd);
}

/* A name is listed while any process has its descriptor, so the child must not keep the parent's. */
void dap_lmr_in_child(void)
{
	dap_obj_each(DAP_LMR, NULL, close_inherited, NULL);
}

static int register_lmr(struct dap_lmr *lmr)
{
	struct dap_ia *ia = lmr->obj.ia;
	int err = ia->hw->lmr_create(lmr);

	if (err == -ENOMEM)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY_REGION);
	if (err)
		return dap_err_from_errno(err);
	dap_invariant(&lmr->obj, lmr->lmr_context && lmr->reg_addr <= lmr->addr &&
		      lmr->addr - lmr->reg_addr + lmr->length <= lmr->reg_size);
	if (!(lmr->priv & (DAP_PRIV_REMOTE_READ | DAP_PRIV_REMOTE_WRITE | DAP_PRIV_REMOTE_ATOMIC)))
		lmr->rmr_context = 0;
	if (dir_add(ia, lmr)) {
		ia->hw->lmr_destroy(lmr);
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
	}
	return 0;
}

int dap_lmr_create(struct dap_ia *ia, const struct dap_lmr_args *args, struct dap_lmr **out)
{
	struct dap_lmr *lmr = dap_obj_alloc(DAP_LMR, ia);
	int err, cancel;

	if (!lmr)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
	/* A thread that is cancelled in here would leave a half-made LMR. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	lmr_init(lmr, args);
	err = check_range(lmr);
	if (!err && args->mem_type == DAP_MEM_SHARED_VIRTUAL)
		err = share_lmr(lmr, args->cookie);
	if (!err)
		err = register_lmr(lmr);
	if (err) {
		unshare_lmr(lmr);
		dap_obj_free(lmr);
	} else {
		dap_pz_hold(lmr->pz);
		*out = lmr;
	}
	pthread_setcancelstate(cancel, NULL);
	return err;
}

void dap_lmr_destroy(struct dap_lmr *lmr)
{
	struct dap_ia *ia = lmr->obj.ia;
	int err, cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	dir_remove(ia, lmr);
	err = ia->hw->lmr_destroy(lmr);
	if (err)
		dap_access_kept(&lmr->obj, err);
	unshare_lmr(lmr);
	dap_pz_drop(lmr->pz);
	dap_obj_free(lmr);
	pthread_setcancelstate(cancel, NULL);
}

struct holder {
	const struct dap_lmr *lmr;
	bool found;
};

static void check_rmr(void *object, void *arg)
{
	const struct dap_rmr *rmr = object;
	struct holder *h = arg;

	h->found |= dap_rmr_is_bound(rmr) && rmr->lmr == h->lmr;
}

/* Searches the RMRs, because an LMR does not count its RMRs: a bind would need a lock for that. */
int dap_lmr_free(struct dap_lmr *lmr)
{
	struct holder h = {.lmr = lmr};

	dap_obj_each(DAP_RMR, lmr->obj.ia, check_rmr, &h);
	if (h.found)
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_LMR_IN_USE);
	dap_lmr_destroy(lmr);
	return 0;
}

int dap_lmr_check(const struct dap_ia *ia, const struct dap_pz *pz, uint32_t context, uint64_t addr,
		  uint64_t length, uint32_t priv)
{
	bool write = priv & DAP_PRIV_LOCAL_WRITE;
	const struct dap_lmr *lmr = dap_lmr_find(ia, context);

	if (!lmr)
		return DAP_ERR(DAP_PRIVILEGES_VIOLATION,
			       write ? DAP_SUB_PRIV_WRITE : DAP_SUB_PRIV_READ);
	if (pz && lmr->pz != pz)
		return DAP_ERR(DAP_PROTECTION_VIOLATION,
			       write ? DAP_SUB_PROT_WRITE : DAP_SUB_PROT_READ);
	if ((lmr->priv & priv) != priv)
		return DAP_ERR(DAP_PRIVILEGES_VIOLATION,
			       write ? DAP_SUB_PRIV_WRITE : DAP_SUB_PRIV_READ);
	if (addr < lmr->addr || length > lmr->length || addr - lmr->addr > lmr->length - length)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_NONE);
	return 0;
}
