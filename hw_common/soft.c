/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/dap.h"
#include "hw_common/device.h"
#include "hw_common/soft.h"
#include "softnic/softnic.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

const char *const hw_soft_variants[] = { "silicon", NULL };

static unsigned long fail_at, fail_seen;

unsigned long hw_soft_fail(unsigned long n)
{
	__atomic_store_n(&fail_at, n, __ATOMIC_SEQ_CST);
	return __atomic_exchange_n(&fail_seen, 0, __ATOMIC_SEQ_CST);
}

bool hw_soft_fails(void)
{
	unsigned long n = __atomic_add_fetch(&fail_seen, 1, __ATOMIC_SEQ_CST);

	return n == __atomic_load_n(&fail_at, __ATOMIC_SEQ_CST);
}

bool hw_soft_index(const char *ia_name, const char *prefix, unsigned int devices,
		   unsigned int *index)
{
	size_t n = strlen(prefix);

	if (strncmp(ia_name, prefix, n) || ia_name[n] < '0' ||
	    ia_name[n] >= (char)('0' + devices) || !hw_device_ends(ia_name + n + 1))
		return false;
	*index = (unsigned int)(ia_name[n] - '0');
	return true;
}

/* For kernels without this advice: only checks that the pages are mapped. */
static int check_mapped(void *start, size_t span, size_t page)
{
	unsigned char *vec = malloc(span / page);
	int err;

	if (!vec)
		return -ENOMEM;
	err = mincore(start, span, vec) ? -EFAULT : 0;
	free(vec);
	return err;
}

/* Some kernels of arm64 have pages of 64 KiB. */
int hw_soft_pages(uint64_t addr, uint64_t len, bool write)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = addr & ~(page - 1);
	size_t span = ((addr + len + page - 1) & ~(page - 1)) - first;
	void *start = (void *)(uintptr_t)first;
	static char mapped;
	void *mapped_page = (void *)((uintptr_t)&mapped & ~(uintptr_t)(page - 1));

	if (!madvise(start, span, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ))
		return 0;
	/* EINVAL may also mean that the kernel does not know the advice. */
	if (errno == ENOMEM || errno == EFAULT || !madvise(mapped_page, page, MADV_POPULATE_READ))
		return -EFAULT;
	return check_mapped(start, span, page);
}

static bool begins_with_one(const char *name, const char *const *prefixes)
{
	while (*prefixes && strncmp(name, *prefixes, strlen(*prefixes)))
		prefixes++;
	return *prefixes;
}

bool hw_soft_report(const char *device, const struct softnic_violation *v, size_t n,
		    const char *const *of_consumer)
{
	bool guilty = false;

	for (size_t i = 0; i < n; i++) {
		bool ours = !begins_with_one(v[i].name, of_consumer);

		dap_log(ours ? DAP_LOG_ERR : DAP_LOG_EP,
			"%s: the device model found driver errors: %s, %" PRIu64 " times, first: %s",
			device, v[i].name, v[i].count, v[i].detail);
		guilty |= ours;
	}
	return guilty;
}
