/* SPDX-License-Identifier: BSD-2-Clause */
/* A library that uses an undefined symbol. Loading fails only if all symbols are bound at once. */
#include <dat/dat_registry.h>

extern void symbol_that_nobody_has(void);

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)
{
	(void)info;
	(void)params;
	symbol_that_nobody_has();
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	(void)info;
}
