/* SPDX-License-Identifier: BSD-2-Clause */
/* The devices that the model implements. The limits of the generations are only partly published. */
#include <errno.h>

#include "softnic/efa/nic.h"

static const char *const names[] = {
	"efa0", "efa1", "read", "write", "unsol", "wide", "reqid64", NULL
};

enum { EFA0, EFA1, READ, WRITE, UNSOL, WIDE, REQID64 };

const char *const *softnic_efa_profiles(void)
{
	return names;
}

static int find(const char *name)
{
	if (!name || !*name)
		return WIDE;
	for (int i = 0; names[i]; i++)
		if (!strcmp(names[i], name))
			return i;
	return -EINVAL;
}

/* Adds the capabilities of profile p and of all profiles before it. */
static void add(struct softnic_efa_caps *c, int p)
{
	c->sub_cqs = p == EFA0 ? 2 : 1;
	c->cq_doorbell = c->rnr_retry = c->cq_with_sgid = c->rdma_read = p >= READ;
	c->rdma_write = p >= WRITE;
	c->unsolicited_write_recv = p >= UNSOL;
	c->wide_wqe = p >= WIDE;
	c->inline_max_wide = p >= WIDE ? 80 : 0;
	c->req_id_64 = p >= REQID64;
	c->max_rdma_size = p >= READ ? UINT32_C(1) << 30 : 0;
	c->max_rdma_sge = p >= READ ? 1 : 0;
	c->min_sq_wr = p >= WIDE ? 32 : p == EFA0 ? 0 : 16;
	c->max_tx_batch = p >= WIDE ? 32 : p == EFA0 ? 0 : 16;
	c->device_id = (uint16_t)(p == EFA0 ? 0xefa0 : p <= READ ? 0xefa1 : p == WRITE ? 0xefa2 :
				  0xefa3);
}

int sne_profile(struct softnic_efa_caps *caps, const char *name)
{
	int p = find(name);

	if (p < 0)
		return p;
	*caps = (struct softnic_efa_caps){
		.mtu = SNE_MTU,
		.inline_max = 32,
		.max_send_sge = 2,
		.max_recv_sge = 2,
		.max_sq_wr = 4096,
		.max_rq_wr = 32768,
		.max_llq_size = 4096 * 64,
		.max_qp = SNE_QPS,
		.max_cq = SNE_CQS,
		.max_cqe = SNE_MAX_CQE,
		.max_ah = SNE_AHS,
		.max_mr = SNE_MRS,
		.max_pd = SNE_PDS,
		.max_mr_pages = SNE_MR_PAGES,
		.max_mr_size = UINT64_C(192) << 30,
		.page_size_cap = UINT64_C(0xfffff000),
		.profile = names[p],
	};
	add(caps, p);
	return 0;
}
