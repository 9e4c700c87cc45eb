/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Lists of segments. */
#include "hw_efa/calls.h"

struct efa_iov efa_seg_rest(const struct efa_iov *seg, uint32_t at)
{
	while (at >= seg->len) {
		at -= seg->len;
		seg++;
	}
	return (struct efa_iov){ seg->addr + at, seg->len - at, seg->key };
}

bool efa_all_allowed(struct dap_ep *ep, bool write, const struct efa_iov *seg, uint32_t len)
{
	for (; len; len -= efa_min(len, seg++->len))
		if (!efa_allowed(ep, write, seg->key, seg->addr, seg->len))
			return false;
	return true;
}
