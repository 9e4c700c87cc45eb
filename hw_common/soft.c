/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
#include <inttypes.h>
#include <string.h>

#include "core/dap.h"
#include "hw_common/device.h"
#include "hw_common/soft.h"
#include "softnic/softnic.h"

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
