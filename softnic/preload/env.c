/* SPDX-License-Identifier: BSD-2-Clause */
/* The environment of the program, and the reports that it enables. */
#include <stdatomic.h>
#include <string.h>

#include "softnic/preload/preload.h"

unsigned int pre_device_count(void)
{
	static atomic_int count = -1;
	int n = atomic_load_explicit(&count, memory_order_relaxed);

	if (n < 0) {
		const char *env = getenv("SOFTNIC_DEVICES");

		n = env ? atoi(env) : 0;
		n = n < 0 ? 0 : n > PRE_DEVICES ? PRE_DEVICES : n;
		atomic_store_explicit(&count, n, memory_order_relaxed);
	}
	return (unsigned int)n;
}

int pre_device_of(const char *path, const char *prefix, unsigned int first)
{
	size_t len = strlen(prefix);
	unsigned int n;
	char end;

	if (!path || strncmp(path, prefix, len) || sscanf(path + len, "%9u%c", &n, &end) != 1)
		return -1;
	return n >= first && n - first < pre_device_count() ? (int)(n - first) : -1;
}

bool pre_asked(const char *variable)
{
	const char *value = getenv(variable);

	return value && strcmp(value, "1") == 0;
}

void pre_print_violations(const struct softnic_violation *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fprintf(stderr, "softnic: violation %s x%llu: %s\n", v[i].name,
			(unsigned long long)v[i].count, v[i].detail);
}

int pre_open_model_once(void)
{
	const struct softnic_config plain = { .flags = SOFTNIC_NO_THREAD | SOFTNIC_LOOPBACK_ONLY };
	struct softnic *nic;
	int err = softnic_open(&plain, &nic);

	if (!err)
		softnic_close(nic);
	return err;
}
