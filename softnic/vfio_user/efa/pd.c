/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains and address handles, which the model implements. */
#include "softnic/vfio_user/efa/efa.h"

int ve_alloc_pd(struct vm_device *dev, const union ve_command *in, union ve_response *out)
{
	(void)in;
	return softnic_efa_pd_alloc(dev->efa->nic, &out->number.number);
}

int ve_dealloc_pd(struct vm_device *dev, const union ve_command *in, union ve_response *out)
{
	(void)out;
	return softnic_efa_pd_dealloc(dev->efa->nic, in->number.number);
}

int ve_create_ah(struct vm_device *dev, const union ve_command *in, union ve_response *out)
{
	return softnic_efa_ah_create(dev->efa->nic, in->create_ah.pd, in->create_ah.gid, &out->number.number);
}

int ve_destroy_ah(struct vm_device *dev, const union ve_command *in, union ve_response *out)
{
	(void)out;
	return softnic_efa_ah_destroy(dev->efa->nic, in->number.pd, in->number.number);
}
