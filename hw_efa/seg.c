/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Lists of segments. Copies and RDMA reads write only where an LMR allows local writes. */
#include <string.h>

#include "hw_efa/calls.h"

struct efa_iov efa_seg_rest(const struct efa_iov *seg, uint32_t at)
{
	while (at >= seg->len) {
		at -= seg->len;
		seg++;
	}
	return (struct efa_iov){ seg->addr + at, seg->len - at, seg->key };
}

bool efa_sink_ok(struct dap_ep *ep, const struct efa_iov *seg, unsigned int nseg, uint32_t len)
{
	for (unsigned int i = 0; i < nseg && len; i++) {
		if (!efa_writable(ep, &seg[i]))
			return false;
		len -= seg[i].len < len ? seg[i].len : len;
	}
	return true;
}

bool efa_scatter(struct dap_ep *ep, const struct efa_iov *seg, unsigned int nseg, uint32_t at,
		 const uint8_t *from, uint32_t len)
{
	for (unsigned int i = 0; i < nseg && len; i++) {
		uint32_t n;

		if (at >= seg[i].len) {
			at -= seg[i].len;
			continue;
		}
		if (!efa_writable(ep, &seg[i]))
			return false;
		n = seg[i].len - at < len ? seg[i].len - at : len;
		memcpy((void *)(uintptr_t)(seg[i].addr + at), from, n);
		from += n;
		len -= n;
		at = 0;
	}
	return !len;
}
