/* SPDX-License-Identifier: BSD-2-Clause */
/* UARs: numbers that belong to contexts. A doorbell page belongs to a queue; its UAR only has to
 * exist. */
#include <errno.h>

#include "softnic/vfio_user/efa/efa.h"

int ve_alloc_uar(struct vm_device *dev, const union ve_command *in, union ve_response *out)
{
	struct vm_efa *efa = dev->efa;

	(void)in;
	for (uint16_t i = 0; i < VE_UARS; i++) {
		if (efa->uar[i].live)
			continue;
		efa->uar[i] = (struct ve_uar){ .live = true };
		out->number.number = i;
		return 0;
	}
	return -ENOMEM;
}

static struct ve_uar *find(struct vm_efa *efa, uint16_t uar)
{
	return uar < VE_UARS && efa->uar[uar].live ? &efa->uar[uar] : NULL;
}

int ve_dealloc_uar(struct vm_device *dev, const union ve_command *in, union ve_response *out)
{
	struct ve_uar *uar = find(dev->efa, in->number.number);

	(void)out;
	if (!uar)
		return -EINVAL;
	if (uar->users)
		return -EBUSY;
	uar->live = false;
	return 0;
}

bool ve_uar_hold(struct vm_efa *efa, uint16_t number)
{
	struct ve_uar *uar = find(efa, number);

	if (uar)
		uar->users++;
	return uar;
}

void ve_uar_drop(struct vm_efa *efa, uint16_t number)
{
	efa->uar[number].users--;
}
