/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/devices.h"
#include "core/hw.h"

_Static_assert(sizeof(struct dapl_device) == sizeof(struct dap_hw_device) &&
	       offsetof(struct dapl_device, access) == offsetof(struct dap_hw_device, access) &&
	       offsetof(struct dapl_device, why) == offsetof(struct dap_hw_device, why),
	       "backends fill what is handed out");

__attribute__((visibility("default"))) size_t dapl_direct_devices(struct dapl_device *devs,
								   size_t max)
{
	size_t n = 0;

	for (const struct dap_hw *const *hw = dap_backends; *hw; hw++) {
		size_t room = n < max ? max - n : 0;

		n += (*hw)->list((struct dap_hw_device *)(room ? devs + n : NULL), room);
	}
	return n;
}
