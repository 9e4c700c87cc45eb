/* SPDX-License-Identifier: BSD-2-Clause */
/* The hot calls by the length of WQEs. Compiled for each API level. */
#include "hw_efa/hot/hot.h"

const struct dap_hot *efa_hot_calls(bool wide)
{
	return wide ? &efa_hot_wide : &efa_hot_narrow;
}

enum dap_api efa_hot_api(void)
{
	return DAP_API;
}
