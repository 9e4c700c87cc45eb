/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * PDs, and process memory for the software ConnectX. Its bus addresses are virtual addresses. So a
 * range is contiguous on the bus, and one translation entry may cover the largest page size.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/alloc.h"
#include "hw_mlx5/cmd.h"
#include "hw_mlx5/ctl/soft.h"
#include "softnic/populate.h"
#include "softnic/softnic.h"

#define PAGE 4096u
#define MAX_PAGE_LOG 30u

struct soft_pin {			/* m5_mr.priv and m5_umem.priv point to it */
	uint64_t locked;		/* bytes counted against the limit */
};

static uint64_t locked_total;		/* bytes locked by the process, as the kernel counts */

int soft_pd_alloc(struct m5_ctl *ctl, uint32_t *pdn, void **priv)
{
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(M5_CMD_ALLOC_PD) };
	struct m5_obj_out out = { 0 };
	int err = soft_cmd(ctl, &in, sizeof(in), &out, sizeof(out));

	if (err)
		return err == -EREMOTEIO ? -ENOMEM : err;
	*pdn = be32_to_cpu(out.number) & 0xffffff;
	*priv = NULL;
	return 0;
}

int soft_pd_free(struct m5_ctl *ctl, uint32_t pdn, void *priv)
{
	(void)priv;
	return soft_undo(ctl, M5_CMD_DEALLOC_PD, pdn);
}

static uint64_t page_span(uint64_t addr, uint64_t len)
{
	return ((addr + len + PAGE - 1) & ~(uint64_t)(PAGE - 1)) - (addr & ~(uint64_t)(PAGE - 1));
}

static int account(struct m5_ctl_soft *s, uint64_t span)
{
	uint64_t total = __atomic_add_fetch(&locked_total, span, __ATOMIC_RELAXED);
	struct rlimit limit;

	if (!s->params.memlock || getrlimit(RLIMIT_MEMLOCK, &limit) ||
	    limit.rlim_cur == RLIM_INFINITY || total <= limit.rlim_cur)
		return 0;
	__atomic_sub_fetch(&locked_total, span, __ATOMIC_RELAXED);
	return -ENOMEM;
}

/* Checks a range and counts it against the limit; freeing the pin undoes it. */
static int pin_range(struct m5_ctl_soft *s, uint64_t addr, uint64_t len, bool write,
		     struct soft_pin **out)
{
	struct soft_pin *p;
	int err;

	if (addr + len < addr || page_span(addr, len) < len)
		return -EFAULT;
	err = softnic_populate(addr, len, write);
	if (err)
		return err;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->locked = page_span(addr, len);
	err = account(s, p->locked);
	if (err) {
		free(p);
		return err;
	}
	*out = p;
	return 0;
}

static void unpin(struct soft_pin *p)
{
	__atomic_sub_fetch(&locked_total, p->locked, __ATOMIC_RELAXED);
	free(p);
}

/* Returns the smallest page size for which the range needs few entries. */
static unsigned int page_log(uint64_t addr, uint64_t len)
{
	unsigned int log = 12;

	while (log < MAX_PAGE_LOG && ((addr + len - 1) >> log) - (addr >> log) >= 256)
		log++;
	return log;
}

/* Linux uses the largest pages that the umem's memory consists of; here memory is always
 * contiguous. */
static unsigned int umem_page_log(uint64_t addr, uint64_t len)
{
	unsigned int log = 12;

	while (log < MAX_PAGE_LOG && !((addr | len) & ((UINT64_C(2) << log) - 1)))
		log++;
	return log;
}

static uint64_t page_count(uint64_t addr, uint64_t len, unsigned int log)
{
	return ((addr + len - 1) >> log) - (addr >> log) + 1;
}

static void fill_mtt(be64_t *mtt, uint64_t addr, uint64_t n, unsigned int log, bool write)
{
	uint64_t page = addr >> log << log;

	for (uint64_t i = 0; i < n; i++)
		mtt[i] = cpu_to_be64((page + (i << log)) | M5_MTT_READ |
				     (write ? M5_MTT_WRITE : 0));
}

/* Software chooses the low byte of a key: random, so that a stale key of a reused index fails. */
static uint8_t key_variant(void)
{
	uint8_t v = 0;

	(void)!getrandom(&v, 1, GRND_NONBLOCK);
	return v;
}

static int mkey_create(struct m5_ctl *ctl, uint32_t pdn, uint64_t addr, uint64_t len,
		       unsigned int access, struct m5_mr *mr)
{
	bool write = access & (M5_ACCESS_LOCAL_WRITE | M5_ACCESS_REMOTE_WRITE);
	unsigned int log = page_log(addr, len);
	uint64_t n = page_count(addr, len, log), octowords = (n + 1) / 2;
	size_t inlen = sizeof(struct m5_create_mkey_in) + octowords * 16;
	struct m5_create_mkey_in *in = calloc(1, inlen);
	struct m5_obj_out out = { 0 };
	uint8_t variant = key_variant();
	int err;

	if (!in)
		return -ENOMEM;
	in->hdr.opcode = cpu_to_be16(M5_CMD_CREATE_MKEY);
	in->flags = cpu_to_be32(1u << 31);
	in->mkc.flags = cpu_to_be32(m5_mkc_rights(access) | M5_MKC_MODE_MTT);
	in->mkc.qpn_key = cpu_to_be32(M5_NO_QPN << 8 | variant);
	in->mkc.pd = cpu_to_be32(pdn);
	in->mkc.start_addr = cpu_to_be64(addr);
	in->mkc.len = cpu_to_be64(len);
	in->mkc.octowords = cpu_to_be32((uint32_t)octowords);
	in->mkc.log_page_size = cpu_to_be32(log);
	in->octowords_actual = in->mkc.octowords;
	fill_mtt(in->mtt, addr, n, log, write);
	err = m5_cmd(ctl, in, inlen, &out, sizeof(out));
	if (!err)
		mr->lkey = mr->rkey = (be32_to_cpu(out.number) & 0xffffff) << 8 | variant;
	free(in);
	return err;
}

int soft_mr_reg(struct m5_ctl *ctl, void *pd_priv, uint32_t pdn, void *addr, uint64_t len,
		unsigned int access, struct m5_mr *mr)
{
	struct m5_mr new = { 0 };
	struct soft_pin *p;
	int err;

	(void)pd_priv;
	if (hw_soft_fails())
		return -ENOMEM;
	err = pin_range(soft_of(ctl), (uintptr_t)addr, len,
			access & (M5_ACCESS_LOCAL_WRITE | M5_ACCESS_REMOTE_WRITE), &p);
	if (err)
		return err;
	err = mkey_create(ctl, pdn, (uintptr_t)addr, len, access, &new);
	if (err) {
		unpin(p);
		return err;
	}
	new.priv = p;
	*mr = new;
	return 0;
}

int soft_mr_dereg(struct m5_ctl *ctl, struct m5_mr *mr)
{
	int err = soft_undo(ctl, M5_CMD_DESTROY_MKEY, mr->lkey >> 8);

	if (!err)
		unpin(mr->priv);
	return err;
}

int soft_umem_reg(struct m5_ctl *ctl, void *addr, size_t len, struct m5_umem *umem)
{
	uint64_t va = (uintptr_t)addr;
	unsigned int log = umem_page_log(va, len);
	uint64_t n = page_count(va, len, log);
	size_t inlen = sizeof(struct m5_create_umem_in) + n * sizeof(be64_t);
	struct m5_create_umem_in *in;
	struct m5_obj_out out = { 0 };
	struct soft_pin *p;
	int err;

	if (hw_soft_fails())
		return -ENOMEM;
	err = pin_range(soft_of(ctl), va, len, true, &p);
	if (err)
		return err;
	in = calloc(1, inlen);
	if (!in) {
		err = -ENOMEM;
		goto err_unpin;
	}
	in->hdr.opcode = cpu_to_be16(M5_CMD_CREATE_UMEM);
	in->log_page_size = cpu_to_be32(log - 12);
	in->page_offset = cpu_to_be32((uint32_t)(va & (PAGE - 1)));
	in->num_of_mtt = cpu_to_be64(n);
	fill_mtt(in->mtt, va, n, log, true);
	err = m5_cmd(ctl, in, inlen, &out, sizeof(out));
	free(in);
	if (err)
		goto err_unpin;
	*umem = (struct m5_umem){ be32_to_cpu(out.number) & 0xffffff, p };
	return 0;

err_unpin:
	unpin(p);
	return err;
}

int soft_umem_dereg(struct m5_ctl *ctl, struct m5_umem *umem)
{
	int err = soft_undo(ctl, M5_CMD_DESTROY_UMEM, umem->id);

	if (!err)
		unpin(umem->priv);
	return err;
}

int soft_uar_alloc(struct m5_ctl *ctl, enum m5_uar_type type, struct m5_uar *uar)
{
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(M5_CMD_ALLOC_UAR) };
	struct m5_obj_out out = { 0 };
	uint32_t page;
	void *base, *apart;
	int err = m5_cmd(ctl, &in, sizeof(in), &out, sizeof(out));

	if (err)
		return err;
	page = be32_to_cpu(out.number) & 0xffffff;
	base = softnic_uar(ctl->soft, page);
	/* Without silicon=1 a call passes each doorbell to the device, so the stores of doorbells go to
	 * separate memory. */
	apart = soft_of(ctl)->params.silicon ? NULL : dap_aligned_alloc(PAGE, PAGE);
	if (!base || (!apart && !soft_of(ctl)->params.silicon)) {
		free(apart);
		soft_undo(ctl, M5_CMD_DEALLOC_UAR, page);
		return base ? -ENOMEM : -ENXIO;
	}
	*uar = (struct m5_uar){
		.page = page,
		.base = base,
		.reg = (volatile uint8_t *)(apart ? apart : base) + M5_UAR_REG,
		.bf = type == M5_UAR_BF,
		.priv = apart,
	};
	return 0;
}

void soft_uar_free(struct m5_ctl *ctl, struct m5_uar *uar)
{
	soft_undo(ctl, M5_CMD_DEALLOC_UAR, uar->page);
	free(uar->priv);
}
