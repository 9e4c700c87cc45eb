/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

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

/* Appends the keys of a table to the n entries that there are. */
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

EXPORTED void dapl_direct_build(struct dapl_build *build)
{
	size_t n = 0;

	*build = (struct dapl_build){ .version = PACKAGE_VERSION, .compiler = COMPILER,
				      .rdma_core = RDMA_CORE_VERSION };
	for (const struct dap_hw *const *hw = dap_backends; *hw && n < sizeof(build->backends); hw++)
		n += (size_t)snprintf(build->backends + n, sizeof(build->backends) - n, "%s%s (%s)",
				      n ? ", " : "", (*hw)->name, (*hw)->accesses);
}
