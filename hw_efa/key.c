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

bool efa_key_allows(struct dap_ep *ep, const struct efa_iov *to)
{
	const struct efa_key *k = *key_bucket(efa_ep(ep)->tx.eng, to->key);

	while (k && k->rkey != to->key)
		k = k->next;
	return k && k->pz == ep->pz && to->addr >= k->addr && to->len <= k->len &&
	       to->addr - k->addr <= k->len - to->len;
}
