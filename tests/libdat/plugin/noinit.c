/* SPDX-License-Identifier: BSD-2-Clause */
#include <dat/dat_registry.h>

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	(void)info;
}
