/* SPDX-License-Identifier: BSD-2-Clause */
/* The backends of this library. A separate file, so that tests of core can supply their own
 * list. */
#include "core/hw.h"

extern const struct dap_hw m5_hw, efa_hw;

const struct dap_hw *const dap_backends[] = {
	&m5_hw,
	&efa_hw,
	NULL,
};
