/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of an IA that only core sees. */
#ifndef DAP_IA_H
#define DAP_IA_H

#include "core/dap.h"
#include "core/totals.h"

/* Layout of DAT_NAMED_ATTR, same in both levels. */
struct dap_named { const char *name, *value; };

struct core_ia {
	struct dap_ia pub;		/* the part that backends see */

	const void *hot;		/* the backend's hot functions: struct dap_hot */
	bool validate;
	struct dap_named named[32];	/* named attributes: those of caps.attr, and of the API level */
	unsigned int nnamed;
	struct dap_evd *async_evd;
	bool async_evd_own;		/* created by ia_open and closed with the IA */
	struct dap_lmr_page *lmr_spare;
	pthread_mutex_t lock;
	uint32_t spin_us;		/* evd_wait polls this long before it sleeps */
	/* Counts, atomic: objects of each type, and async events by number -
	 * DAP_EV_ASYNC_EVD_OVERFLOW. */
	uint64_t made[DAP_TYPES], freed[DAP_TYPES], asyncs[5];
	uint64_t psps_named, psps_any;	/* PSPs with the consumer's qualifier, and with any */
	uint64_t *cleared;		/* 2.0: counters at the last reset, or NULL */
	struct dap_totals totals;
	struct dap_page *page;		/* page.c; NULL: there is none */
	int page_fd, page_ask_fd;	/* file of the page, which is locked; FIFO by which readers ask */
	char page_path[128];
	struct dap_timer failure;	/* fails the IA: invariant.c */
	bool failed;			/* atomic; the failure has been reported */
	bool closing;			/* atomic; a thread closes the IA: a second one is refused */
};

/* pub is the first member, so a handle is the address of both structs. */
static inline struct core_ia *core_ia(const struct dap_ia *ia)
{
	return (struct core_ia *)(uintptr_t)ia;
}

/* ---- page.c: the page of counters, of an IA whose manager is open ---- */
void dap_page_open(struct dap_ia *ia);
void dap_page_close(struct dap_ia *ia);

#endif
