/* SPDX-License-Identifier: BSD-2-Clause */
/* The regions of the function: BARs, mostly implemented by the kind of device, and config space. */
#include <errno.h>

#include "softnic/vfio_user/vm.h"

static uint64_t region_size(const struct vm_device *dev, uint32_t index)
{
	if (index < VF_BARS)
		return dev->config.bar[index].size;
	return index == VFIO_PCI_CONFIG_REGION_INDEX ? VF_CONFIG : 0;
}

struct sparse {
	struct vfio_region_info info;
	struct {			/* a struct vfio_region_info_cap_sparse_mmap */
		struct vfio_info_cap_header header;
		uint32_t nr_areas, reserved;
	} cap;
	struct vfio_region_sparse_mmap_area area[VM_AREAS];
};
SN_AT(struct sparse, area, sizeof(struct vfio_region_info) + sizeof(struct vfio_region_info_cap_sparse_mmap));

static void describe_areas(struct sparse *s, uint32_t n)
{
	s->info.argsz = (uint32_t)(offsetof(struct sparse, area) + n * sizeof(s->area[0]));
	s->info.flags |= VFIO_REGION_INFO_FLAG_MMAP | VFIO_REGION_INFO_FLAG_CAPS;
	s->info.cap_offset = sizeof(s->info);
	s->cap.header.id = VFIO_REGION_INFO_CAP_SPARSE_MMAP;
	s->cap.header.version = 1;
	s->cap.nr_areas = n;
}

/* A client without room for the capability gets the required size, and asks again with more. */
int vm_region_info(struct vm_device *dev, struct vm_message *m)
{
	struct sparse s = { 0 };
	uint32_t room, areas;

	memcpy(&s.info, m->in, sizeof(s.info));
	room = s.info.argsz;
	if (room < sizeof(s.info) || s.info.index >= VFIO_PCI_NUM_REGIONS)
		return -EINVAL;
	s.info = (struct vfio_region_info){ .argsz = sizeof(s.info), .index = s.info.index,
					    .size = region_size(dev, s.info.index) };
	if (s.info.size)
		s.info.flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
	areas = s.info.index < VF_BARS ? dev->kind->mappable(dev, s.info.index, s.area) : 0;
	if (areas)
		describe_areas(&s, areas);
	m->out_len = s.info.argsz <= room ? s.info.argsz : sizeof(s.info);
	if (areas && m->out_len == s.info.argsz)
		m->out_fd = dev->bar_fd;
	memcpy(m->out, &s, m->out_len);
	return 0;
}

static int check(const struct vm_device *dev, const struct vm_access *a)
{
	uint64_t size = region_size(dev, a->region);

	return a->count > VM_TRANSFER_MAX || a->offset > size || a->count > size - a->offset ? -EINVAL : 0;
}

int vm_region_read(struct vm_device *dev, struct vm_message *m)
{
	const struct vm_access *a = (const void *)m->in;
	struct vm_access *out = (void *)m->out;
	int err = check(dev, a);

	if (err)
		return err;
	*out = *a;
	if (a->region == VFIO_PCI_CONFIG_REGION_INDEX)
		vf_config_read(&dev->config, out->data, a->count, a->offset);
	else if (a->region == dev->config.id.msix_bar)
		memcpy(out->data, dev->msix + a->offset, a->count);
	else
		dev->kind->read(dev, a->region, out->data, a->offset, a->count);
	m->out_len = sizeof(*out) + a->count;
	return 0;
}

/* Writes to the MSI-X table. The pending bits belong to the device: they are always 0, because an
 * interrupt signals its eventfd at once. */
static void write_msix(struct vm_device *dev, const uint8_t *from, uint64_t offset, uint32_t count)
{
	uint64_t room = offset < VF_MSIX_SIZE / 2 ? VF_MSIX_SIZE / 2 - offset : 0;

	memcpy(dev->msix + offset, from, count < room ? count : room);
}

int vm_region_write(struct vm_device *dev, struct vm_message *m)
{
	const struct vm_access *a = (const void *)m->in;
	int err = m->len == sizeof(*a) + a->count ? check(dev, a) : -EINVAL;

	if (err)
		return err;
	if (a->region == VFIO_PCI_CONFIG_REGION_INDEX)
		vf_config_write(&dev->config, a->data, a->count, a->offset);
	else if (a->region == dev->config.id.msix_bar)
		write_msix(dev, a->data, a->offset, a->count);
	else
		err = dev->kind->write(dev, a->region, a->data, a->offset, a->count);
	if (vf_config_take_flr(&dev->config))
		vm_device_reset(dev);
	memcpy(m->out, a, sizeof(*a));
	m->out_len = sizeof(*a);
	return err;
}
