/* SPDX-License-Identifier: BSD-2-Clause */
/* Binaries of providers and consumers share only the numbers of the slots, so these must not
 * change. */
#include <dat/dat_registry.h>

#include "tests/abi/slots.h"

#define AT(n, name) \
	_Static_assert(offsetof(struct dat_provider, name##_func) == 16 + 8 * (n), #name);
ABI_SLOTS(AT)
_Static_assert(offsetof(struct dat_provider, device_name) == 0, "device_name");
_Static_assert(offsetof(struct dat_provider, extension) == 8, "extension");
