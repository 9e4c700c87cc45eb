/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of a shared receive queue that only core sees. */
#ifndef DAP_SRQ_H
#define DAP_SRQ_H

#include "core/ep/ep.h"

enum { DAP_SRQ_TO_ERROR = 0 };		/* reason of an asynchronous event: the SRQ is in error */

struct core_srq {
	struct dap_srq pub;		/* the part that backends see */

	pthread_mutex_t lock;		/* protects the attributes */
	/* posters take it, too, with other locks held: see the lock order in DESIGN.md */
	pthread_mutex_t eager_lock;
	uint32_t low_watermark;
	uint32_t broken;		/* the device has stopped the SRQ; atomic */
	/* receives whose completions EVDs have set aside: the backend does not count them any more; atomic */
	uint32_t set_aside;
	struct dap_ep *eager;		/* first endpoint with an internal receive EVD */
};

/* pub is the first member, so a handle is the address of both structs. */
static inline struct core_srq *core_srq(const struct dap_srq *srq)
{
	return (struct core_srq *)(uintptr_t)srq;
}

#endif
