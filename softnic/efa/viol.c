/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts violations of the driver by kind. */
#include <stdarg.h>
#include <stdio.h>

#include "softnic/efa/nic.h"

static const char *const names[SNE_V_COUNT + 1] = {
#define X(id, name) [SNE_V_##id] = name,
	SNE_VIOLATIONS(X)
#undef X
};

void sne_violate(struct sne_nic *nic, enum sne_viol v, const char *fmt, ...)
{
	va_list ap;

	if (nic->viol[v].count++)
		return;
	va_start(ap, fmt);
	vsnprintf(nic->viol[v].detail, sizeof(nic->viol[v].detail), fmt, ap);
	va_end(ap);
}

const char *const *softnic_efa_violation_names(void)
{
	return names;
}

size_t softnic_efa_violations(struct softnic_efa *handle, struct softnic_violation *v, size_t max)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	size_t n = 0;

	if (!sne_enter(nic))
		return 0;
	for (int i = 0; i < SNE_V_COUNT; i++) {
		if (!nic->viol[i].count)
			continue;
		if (n < max) {
			v[n] = (struct softnic_violation){ .name = names[i],
							   .count = nic->viol[i].count };
			memcpy(v[n].detail, nic->viol[i].detail, sizeof(v[n].detail));
		}
		n++;
	}
	sne_leave(nic);
	return n;
}

void softnic_efa_violations_clear(struct softnic_efa *handle)
{
	struct sne_nic *nic = (struct sne_nic *)handle;

	if (!sne_enter(nic))
		return;
	memset(nic->viol, 0, sizeof(nic->viol));
	sne_leave(nic);
}
