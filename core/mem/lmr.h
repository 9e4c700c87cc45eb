/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of an LMR that only core sees. */
#ifndef DAP_LMR_H
#define DAP_LMR_H

#include "core/api.h"
#include "core/mem/shared.h"

struct core_lmr {
	struct dap_lmr pub;		/* the part that backends see */

	enum dap_mem_type mem_type;
	/* the address or the LMR handle from which it was created */
	void *region;
	int shared_fd;			/* listed under cookie while it is open; or -1 */
	char cookie[DAP_COOKIE_SIZE];	/* name of the memory, for DAP_MEM_SHARED_VIRTUAL */
};

/* pub is the first member, so a handle is the address of both structs. */
static inline struct core_lmr *core_lmr(const struct dap_lmr *lmr)
{
	return (struct core_lmr *)(uintptr_t)lmr;
}

#endif
