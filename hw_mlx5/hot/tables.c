/* SPDX-License-Identifier: BSD-2-Clause */
/* The hot calls by processor and kind of instance. Compiled for each API level. */
#include "hw_mlx5/hot/hot.h"

const struct dap_hot *m5_hot_calls(bool v3, bool locked)
{
	static const struct dap_hot *const calls[2][2] = {
		{ &m5_hot_base, &m5_hot_base_locked }, { &m5_hot_v3, &m5_hot_v3_locked },
	};

	return calls[v3][locked];
}

const char *m5_hot_kind(bool v3, bool locked)
{
	static const char *const kind[2][2] = { { "", "-locked" }, { "-v3", "-locked-v3" } };

	return kind[v3][locked];
}

enum dap_api m5_hot_api(void)
{
	return DAP_API;
}
