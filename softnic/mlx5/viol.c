/* SPDX-License-Identifier: BSD-2-Clause */
/* What is held against the driver, by kind. */
#include <stdarg.h>
#include <stdio.h>

#include "softnic/mlx5/dev.h"

static const char *const names[SN_V_COUNT + 1] = {
#define X(id, name) [SN_V_##id] = name,
	SN_VIOLATIONS(X)
#undef X
};

void sn_violate(struct sn_nic *nic, enum sn_viol v, const char *fmt, ...)
{
	struct sn_viol_entry *e = &nic->viol[v];
	va_list ap;

	if (e->count++)
		return;
	va_start(ap, fmt);
	vsnprintf(e->detail, sizeof(e->detail), fmt, ap);
	va_end(ap);
}

const char *const *softnic_violation_names(void)
{
	return names;
}

size_t softnic_violations(struct softnic *handle, struct softnic_violation *v, size_t max)
{
	struct sn_nic *nic = (struct sn_nic *)handle;
	size_t n = 0;

	sn_enter(nic);
	for (int i = 0; i < SN_V_COUNT; i++) {
		const struct sn_viol_entry *e = &nic->viol[i];

		if (!e->count)
			continue;
		if (n < max) {
			v[n] = (struct softnic_violation){ .name = names[i], .count = e->count };
			memcpy(v[n].detail, e->detail, sizeof(v[n].detail));
		}
		n++;
	}
	sn_leave(nic);
	return n;
}

void softnic_violations_clear(struct softnic *handle)
{
	struct sn_nic *nic = (struct sn_nic *)handle;

	sn_enter(nic);
	memset(nic->viol, 0, sizeof(nic->viol));
	sn_leave(nic);
}
