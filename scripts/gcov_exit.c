/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Preloaded into the tests of a coverage build: a process that calls _exit() stores the counts of the
 * provider, as exit() would. gcov's functions are hidden in a library, so its destructors are called.
 */
#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int store_counts(struct dl_phdr_info *info, size_t size, void *arg)
{
	const ElfW(Dyn) *dyn = NULL;
	void (**fini)(void) = NULL;
	size_t n = 0;

	(void)size;
	(void)arg;
	if (!strstr(info->dlpi_name, "/libda"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dyn = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
		if (dyn->d_tag == DT_FINI_ARRAY)
			fini = (void *)(info->dlpi_addr + dyn->d_un.d_ptr);
		if (dyn->d_tag == DT_FINI_ARRAYSZ)
			n = dyn->d_un.d_val / sizeof(*fini);
	}
	while (fini && n--)
		fini[n]();
	return 0;
}

_Noreturn void _exit(int status)
{
	dl_iterate_phdr(store_counts, NULL);
	for (;;)
		syscall(SYS_exit_group, status);
}
