/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/common/conf.h"

#include <stdlib.h>
#include <unistd.h>

const char *conf_name(void)
{
	static const char *const places[] = { CONF_PLACES, NULL };
	const char *override = secure_getenv("DAT_OVERRIDE"), *const *place = places;

	if (override && *override)
		return override;
	while (*place && access(*place, F_OK))
		place++;
	return *place;
}
