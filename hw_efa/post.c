/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Requests that the fast path does not post. In the engine. */
#include <string.h>

#include "hw_efa/lock.h"

int efa_request(const struct efa_request *r)
{
	struct efa_tx *tx = &efa_ep(r->ep)->tx;
	uint32_t i = tx->posted & tx->mask;

	if (tx->posted == efa_ep(r->ep)->free_at[EFA_REQUESTS])
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
	tx->dto[i] = r->dto;
	memcpy(&tx->work[i], &r->work,
	       offsetof(struct efa_work, seg) + r->work.nseg * sizeof(r->work.seg[0]));
	tx->posted++;
	tx->waiting++;
	/*
	 * If the connection ended after the bind was carried out, the bind succeeds unless an earlier
	 * request failed.
	 */
	if (r->bound && tx->blocked & (EFA_B_OVER | EFA_B_HALT)) {
		tx->dto[i].state = EFA_D_ISSUED | EFA_D_DONE;
		efa_deliver_requests(r->ep);
	}
	/* If earlier requests wait, the event that continues them continues this one as well. */
	if (tx->blocked & EFA_B_ERROR)
		efa_flush_requests(r->ep);
	else if (tx->waiting == 1)
		efa_push(r->ep);
	return 0;
}
