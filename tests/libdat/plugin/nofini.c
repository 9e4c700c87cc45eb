/* SPDX-License-Identifier: BSD-2-Clause */
#include <dat/dat_registry.h>

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)
{
	(void)info;
	(void)params;
}
