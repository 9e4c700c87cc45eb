/* SPDX-License-Identifier: BSD-2-Clause */
/* What core alone knows of an IA. */
#ifndef DAP_IA_H
#define DAP_IA_H

#include "core/dap.h"

/* Layout of DAT_NAMED_ATTR, in both levels. */
struct dap_named { const char *name, *value; };

struct core_ia {
	struct dap_ia pub;		/* what a backend sees of it */

	const void *hot;		/* the backend's hot functions: struct dap_hot */
	bool validate;
	bool counted;			/* the checked calls count what the adapter's do not */
	struct dap_named named[32];	/* caps.attr, as queries show it, and what a front adds */
	unsigned int nnamed;
	struct dap_evd *async_evd;
	bool async_evd_own;		/* made by ia_open: closed with the IA */
	struct dap_lmr_page *lmr_spare;
	pthread_mutex_t lock;
	uint32_t spin_us;		/* evd_wait polls this long before it blocks */
	/* Counts, atomic: objects of each type, and events by number - DAP_EV_ASYNC_EVD_OVERFLOW. */
	uint64_t made[DAP_TYPES], freed[DAP_TYPES], asyncs[5];
	uint64_t psps_any;		/* among the PSPs, those whose qualifier was any */
	uint64_t *cleared;		/* as an EVD's */
};

/* pub comes first: a handle is the address of either. */
static inline struct core_ia *core_ia(const struct dap_ia *ia)
{
	return (struct core_ia *)(uintptr_t)ia;
}

#endif
