/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include "hw_mlx5/eal.h"

struct eal {
	unsigned int (*lcore_count)(void);
	void *(*malloc)(const char *type, size_t size, unsigned int align);
	void (*free)(void *p);
};

static void *symbol(void *library, const char *name)
{
	return dlsym(library, name);
}

static bool symbols(void *library, struct eal *eal)
{
	eal->lcore_count = (unsigned int (*)(void))symbol(library, "rte_lcore_count");
	eal->malloc = (void *(*)(const char *, size_t, unsigned int))symbol(library, "rte_malloc");
	eal->free = (void (*)(void *))symbol(library, "rte_free");
	return eal->lcore_count && eal->malloc && eal->free;
}

/*
 * DPDK may be linked into the program or into one of its libraries, or a plugin may have loaded it. In
 * the last case only the file name finds the library: releases 20.11 to 24.11. The library stays loaded,
 * because others use it.
 */
static bool find_eal(struct eal *eal)
{
	static const char *const names[] = { "librte_eal.so.25", "librte_eal.so.24",
					     "librte_eal.so.23", "librte_eal.so.22",
					     "librte_eal.so.21" };
	void *library;

	if (symbols(RTLD_DEFAULT, eal))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
		if (library && symbols(library, eal))
			return true;
	}
	return false;
}

void *m5_eal_malloc(unsigned int size)
{
	struct eal eal;

	/* An lcore exists only after rte_eal_init(). */
	if (!find_eal(&eal) || !eal.lcore_count())
		return NULL;
	return eal.malloc("dapl-direct", size, size);
}

void m5_eal_free(void *p)
{
	struct eal eal;

	if (find_eal(&eal))
		eal.free(p);
}
