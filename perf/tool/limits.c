/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks the options against the adapter's limits first, because dat_ep_create would name an
 * argument and not an option. */
#include <inttypes.h>
#include <stdio.h>

#include "perf/tool/tool.h"

/* wanted and has are in units of the option. has does not contain what the program itself needs. */
static int fits(const struct tool *t, const char *option, uint64_t wanted, uint64_t has)
{
	if (wanted <= has)
		return 0;
	fprintf(stderr, "%s: %" PRIu64 " is too large: %s allows at most %" PRIu64 "\n", option, wanted,
		t->o.ia, has);
	return -1;
}

int tool_fits(struct tool *t)
{
	DAT_EP_ATTR ep = tool_ep_attr(t);
	const uint64_t n = t->o.eps, reads = (uint64_t)ep.max_rdma_read_out;
	const DAT_COUNT own = ep.max_request_dtos - (DAT_COUNT)t->o.depth;
	DAT_EVD_HANDLE async;
	DAT_IA_ATTR ia;

	if (!dat_ok(dat_ia_query(t->c.ia, &async, DAT_IA_FIELD_ALL, &ia, 0, NULL), "dat_ia_query"))
		return -1;
	return fits(t, "-t", t->o.depth, (uint64_t)(ia.max_dto_per_ep - own)) ||
	       fits(t, "-r", (uint64_t)ep.max_recv_dtos, (uint64_t)ia.max_dto_per_ep) ||
	       fits(t, "-o", reads, (uint64_t)ia.max_rdma_read_per_ep_out) ||
	       fits(t, "-o", reads, (uint64_t)ia.max_rdma_read_per_ep_in) ||
	       fits(t, "-q", n, (uint64_t)ia.max_eps - 1) ||
	       fits(t, "-s", t->o.size, ia.max_message_size) ||
	       fits(t, "-q times -t", n * (uint64_t)ep.max_request_dtos, (uint64_t)ia.max_evd_qlen) ||
	       fits(t, "-q times -r", n * (uint64_t)ep.max_recv_dtos, (uint64_t)ia.max_evd_qlen) ? -1 : 0;
}
