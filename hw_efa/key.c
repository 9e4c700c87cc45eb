/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The contexts of emulated RDMA writes. The right to write is checked for each packet. */
#include "hw_efa/calls.h"

static struct efa_key **key_bucket(struct efa_engine *eng, uint32_t rkey)
{
	return &eng->keys[(rkey ^ rkey >> 8 ^ rkey >> 16) & 0xff];
}

void efa_key_link(struct efa_engine *eng, struct efa_key *k)
{
	struct efa_key **at = key_bucket(eng, k->rkey);

	k->next = *at;
	*at = k;
}

void efa_key_unlink(struct efa_engine *eng, const struct efa_key *k)
{
	struct efa_key **at = key_bucket(eng, k->rkey);

	while (*at && *at != k)
		at = &(*at)->next;
	if (*at)
		*at = k->next;
}

const struct efa_key *efa_key_find(struct efa_engine *eng, const struct dap_ep *ep, uint32_t rkey,
				   uint64_t addr, uint64_t len)
{
	const struct efa_key *k = *key_bucket(eng, rkey);

	while (k && k->rkey != rkey)
		k = k->next;
	if (!k || k->pz != ep->pz || addr < k->addr || len > k->len ||
	    addr - k->addr > k->len - len)
		return NULL;
	return k;
}
