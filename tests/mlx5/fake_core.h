/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_MLX5_FAKE_CORE_H
#define TESTS_MLX5_FAKE_CORE_H

#include "core/hot.h"

#define FAKE_OBJECTS 256

struct fake_core {
	struct dap_ep *broken;
	void (*on_broken)(struct dap_ep *ep);
	struct dap_evd *overflowed;
	struct dap_ia *fatal;
	uint32_t async;			/* number of the last event on the asynchronous EVD */
	unsigned int async_count;
	struct dap_srq *low, *broken_srq;
	unsigned int broken_count, reap_count, cold_count, log_count, low_count;
	int err;			/* the last DAP_ERR that became a DAT_RETURN */
	bool quiet;			/* the test expects errors, so they are not printed */
	char log[512];
	struct dap_obj *obj[FAKE_OBJECTS];	/* live objects */
	unsigned int nobj;
};
extern struct fake_core fake;

#endif
