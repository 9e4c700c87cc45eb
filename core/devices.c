/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "core/devices.h"
#include "core/hw.h"
#include "core/param.h"

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif
#define EXPORTED __attribute__((visibility("default")))

EXPORTED size_t dapl_direct_devices(struct dapl_device *devs, size_t max)
{
	size_t n = 0;

	for (const struct dap_hw *const *hw = dap_backends; *hw; hw++) {
		size_t room = n < max ? max - n : 0;

		n += (*hw)->list(room ? devs + n : NULL, room);
	}
	return n;
}

/* Appends the keys of a table to params, which already has n entries; returns the new number. */
static size_t add_table(const struct dap_param *p, const char *adapter, struct dapl_param *params,
			size_t max, size_t n)
{
	for (; p->key; p++, n++) {
		struct dapl_param *to = params + n;

		if (n >= max)
			continue;
		*to = (struct dapl_param){ .adapter = adapter, .key = p->key, .meaning = p->meaning,
					   .unit = p->unit ? p->unit : "" };
		dap_param_default(p, to->otherwise, sizeof(to->otherwise));
		dap_param_range(p, to->range, sizeof(to->range));
	}
	return n;
}

EXPORTED size_t dapl_direct_params(struct dapl_param *params, size_t max)
{
	size_t n = add_table(dap_core_param_table, "any", params, max, 0);

	for (const struct dap_hw *const *hw = dap_backends; *hw; hw++)
		n = add_table((*hw)->params, (*hw)->name, params, max, n);
	return n;
}

/* Returns true if a device of the backend on this machine has the IA's name, or the name in
 * ia_params. */
static bool has_device(const struct dap_hw *hw, const char *name)
{
	struct dapl_device devs[64];
	size_t n = hw->list(devs, sizeof(devs) / sizeof(devs[0])), len = strcspn(name, " ");

	for (size_t i = 0; i < n && i < sizeof(devs) / sizeof(devs[0]); i++) {
		const char *rest = devs[i].name + len;

		if (!strncmp(devs[i].name, name, len) &&
		    (!*rest || (name[len] && *rest == '-' && strtoul(rest + 1, NULL, 10))))
			return true;
	}
	return false;
}

static const struct dap_hw *backend_of(const char *device)
{
	const struct dap_hw *const *hw = dap_backends;

	while (*hw && !has_device(*hw, device))
		hw++;
	return *hw;
}

/* Checks ia_params by the keys of the device's backend. If no backend has the device, the keys of
 * any backend will do. */
static long check_backends(const char *device, const char *ia_params, char *why, size_t whylen)
{
	const struct dap_hw *owner = backend_of(device);
	uint64_t values[512];
	const char *at;
	long farthest = -1;
	char own[256];

	for (const struct dap_hw *const *hw = dap_backends; *hw; hw++) {
		if (owner && *hw != owner)
			continue;
		if (!dap_params_check(ia_params, (*hw)->params, values, &at, own, sizeof(own)))
			return -1;
		if (at - ia_params > farthest) {
			farthest = at - ia_params;
			snprintf(why, whylen, "%s", own);
		}
	}
	return farthest;
}

EXPORTED long dapl_direct_check(const char *ia_name, const char *ia_params, char *why, size_t whylen)
{
	char device[DAP_DEVICE_SIZE];

	if (dap_params_device(ia_params, device, sizeof(device), why, whylen))
		return 0;
	return check_backends(*device ? device : ia_name, ia_params, why, whylen);
}

EXPORTED void dapl_direct_build(struct dapl_build *build)
{
	size_t n = 0;

	*build = (struct dapl_build){ .version = PACKAGE_VERSION, .compiler = COMPILER,
				      .rdma_core = RDMA_CORE_VERSION };
	for (const struct dap_hw *const *hw = dap_backends; *hw && n < sizeof(build->backends); hw++)
		n += (size_t)snprintf(build->backends + n, sizeof(build->backends) - n, "%s%s (%s)",
				      n ? ", " : "", (*hw)->name, (*hw)->accesses);
}
