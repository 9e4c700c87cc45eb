/* SPDX-License-Identifier: BSD-2-Clause */
/* What core alone knows of a shared receive queue. */
#ifndef DAP_SRQ_H
#define DAP_SRQ_H

#include "core/ep/ep.h"

enum { DAP_SRQ_TO_ERROR = 0 };		/* a reason like DAP_SRQ_LOW_WATERMARK */

struct core_srq {
	struct dap_srq pub;		/* what a backend sees of it */

	pthread_mutex_t lock;		/* slow path: attributes */
	pthread_mutex_t eager_lock;	/* taken by a poster, too, who may hold what lock must precede */
	uint32_t low_watermark;
	uint32_t broken;		/* the device gives it up; atomic */
	struct dap_ep *eager;		/* those of them whose receive completions nobody dequeues */
};

/* pub comes first: a handle is the address of either. */
static inline struct core_srq *core_srq(const struct dap_srq *srq)
{
	return (struct core_srq *)(uintptr_t)srq;
}

#endif
