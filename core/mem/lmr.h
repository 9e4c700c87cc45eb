/* SPDX-License-Identifier: BSD-2-Clause */
/* What core alone knows of an LMR. */
#ifndef DAP_LMR_H
#define DAP_LMR_H

#include "core/dap.h"
#include "core/mem/shared.h"

struct core_lmr {
	struct dap_lmr pub;		/* what a backend sees of it */

	enum dap_mem_type mem_type;
	void *region;			/* the address or LMR handle it was made of */
	int shared_fd;			/* stands for it among the users of cookie; or -1 */
	char cookie[DAP_COOKIE_SIZE];	/* DAP_MEM_SHARED_VIRTUAL */
};

/* pub comes first: a handle is the address of either. */
static inline struct core_lmr *core_lmr(const struct dap_lmr *lmr)
{
	return (struct core_lmr *)(uintptr_t)lmr;
}

#endif
