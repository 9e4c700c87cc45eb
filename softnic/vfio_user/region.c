/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The regions of the function: BAR 0 with initialization segment and doorbell pages, BAR 2 with the MSI-X
 * table, config space.
 *
 * The client maps BAR 0 but for two pages. A store to those comes as a message, and acts at once: commands,
 * and the doorbells of the guest's driver itself. Its EQs share one word, have no record in memory, and so
 * each store counts. Doorbells of programs are stores to mapped pages, which the device scans.
 */
#include <errno.h>

#include "softnic/vfio_user/vm.h"

enum { PAGE = 4096, DRIVER = SOFTNIC_UAR_DRIVER };

static uint64_t region_size(const struct vm_device *dev, uint32_t index)
{
	switch (index) {
	case VFIO_PCI_BAR0_REGION_INDEX:
		return dev->config.bar[0].size;
	case VF_MSIX_BAR:
		return VF_MSIX_SIZE;
	case VFIO_PCI_CONFIG_REGION_INDEX:
		return VF_CONFIG;
	default:
		return 0;
	}
}

/* The two pieces that may be mapped: between the initialization segment and the driver's page, and above. */
struct sparse {
	struct vfio_region_info info;
	struct {			/* struct vfio_region_info_cap_sparse_mmap */
		struct vfio_info_cap_header header;
		uint32_t nr_areas, reserved;
	} cap;
	struct vfio_region_sparse_mmap_area area[2];
};
SN_AT(struct sparse, area, sizeof(struct vfio_region_info) + sizeof(struct vfio_region_info_cap_sparse_mmap));

static void describe_bar(const struct vm_device *dev, struct sparse *s)
{
	s->info.argsz = sizeof(*s);
	s->info.flags |= VFIO_REGION_INFO_FLAG_MMAP | VFIO_REGION_INFO_FLAG_CAPS;
	s->info.cap_offset = sizeof(s->info);
	s->cap.header.id = VFIO_REGION_INFO_CAP_SPARSE_MMAP;
	s->cap.header.version = 1;
	s->cap.nr_areas = 2;
	s->area[0].offset = PAGE;
	s->area[0].size = (DRIVER - 1) * PAGE;
	s->area[1].offset = (DRIVER + 1) * PAGE;
	s->area[1].size = dev->config.bar[0].size - s->area[1].offset;
}

/* Where the client has no room for the capability it learns how much that takes, and asks again. */
int vm_region_info(struct vm_device *dev, struct vm_message *m)
{
	struct sparse s = { 0 };
	uint32_t room;

	memcpy(&s.info, m->in, sizeof(s.info));
	room = s.info.argsz;
	if (room < sizeof(s.info) || s.info.index >= VFIO_PCI_NUM_REGIONS)
		return -EINVAL;
	s.info = (struct vfio_region_info){ .argsz = sizeof(s.info), .index = s.info.index,
					    .size = region_size(dev, s.info.index) };
	if (s.info.size)
		s.info.flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
	if (s.info.index == VFIO_PCI_BAR0_REGION_INDEX)
		describe_bar(dev, &s);
	m->out_len = s.info.argsz <= room ? s.info.argsz : sizeof(s.info);
	if (m->out_len == sizeof(s))
		m->out_fd = dev->bar_fd;
	memcpy(m->out, &s, m->out_len);
	return 0;
}

static int check(const struct vm_device *dev, const struct vm_access *a)
{
	uint64_t size = region_size(dev, a->region);

	return a->count > VM_TRANSFER_MAX || a->offset > size || a->count > size - a->offset ? -EINVAL : 0;
}

static uint32_t *bar_word(struct vm_device *dev, uint64_t offset)
{
	uint8_t *page = softnic_uar(dev->nic, (uint32_t)(offset / PAGE));

	return (uint32_t *)(void *)(page + offset % PAGE);
}

/* A word of the BAR is read and written at once, as by the guest itself: the device does the same. */
static void read_bar(struct vm_device *dev, uint8_t *to, uint64_t offset, uint32_t count)
{
	for (uint32_t at = 0; at < count;) {
		uint64_t skip = (offset + at) % 4;
		uint32_t word = __atomic_load_n(bar_word(dev, offset + at - skip), __ATOMIC_ACQUIRE);
		uint32_t n = 4 - (uint32_t)skip < count - at ? 4 - (uint32_t)skip : count - at;

		memcpy(to + at, (uint8_t *)&word + skip, n);
		at += n;
	}
}

int vm_region_read(struct vm_device *dev, struct vm_message *m)
{
	const struct vm_access *a = (const void *)m->in;
	struct vm_access *out = (void *)m->out;
	int err = check(dev, a);

	if (err)
		return err;
	*out = *a;
	if (a->region == VFIO_PCI_BAR0_REGION_INDEX)
		read_bar(dev, out->data, a->offset, a->count);
	else if (a->region == VF_MSIX_BAR)
		memcpy(out->data, dev->msix + a->offset, a->count);
	else
		vf_config_read(&dev->config, out->data, a->count, a->offset);
	m->out_len = sizeof(*out) + a->count;
	return 0;
}

/* The pending bits are the device's: it has none, for an interrupt is an eventfd's at once. */
static void write_msix(struct vm_device *dev, const uint8_t *from, uint64_t offset, uint32_t count)
{
	uint64_t room = offset < VF_MSIX_SIZE / 2 ? VF_MSIX_SIZE / 2 - offset : 0;

	memcpy(dev->msix + offset, from, count < room ? count : room);
}

/* softnic.h: EQ doorbells at 0x40 and 0x48 have 4 bytes, all others 8. */
enum { EQ_DOORBELLS = 0x40, EQ_DOORBELLS_END = 0x50, BLUEFLAME = 0x800, BLUEFLAME_HALF = 0x100 };

static bool is_eq(uint32_t in_page)
{
	return in_page >= EQ_DOORBELLS && in_page < EQ_DOORBELLS_END;
}

static void ring(struct vm_device *dev, uint64_t offset, const void *data)
{
	uint32_t in_page = offset % PAGE;

	/* The rest of a WQE that is copied by words of 8 bytes: the device reads it in the queue. */
	if (in_page >= BLUEFLAME && in_page % BLUEFLAME_HALF)
		return;
	softnic_mmio_write(dev->nic, (uint32_t)(offset / PAGE), in_page, data, 8);
}

static void ring_half(struct vm_device *dev, uint64_t offset, uint32_t word)
{
	uint32_t both[2] = { dev->half.word, word };

	if (is_eq(offset % PAGE) && offset % 8 == 0) {
		both[0] = word;
		both[1] = 0;
		ring(dev, offset, both);
	} else if (offset % 8 == 0) {
		dev->half.there = true;
		dev->half.offset = offset;
		dev->half.word = word;
	} else if (dev->half.there && dev->half.offset + 4 == offset) {
		dev->half.there = false;
		ring(dev, offset - 4, both);
	}
}

static int write_doorbells(struct vm_device *dev, const uint8_t *from, uint64_t offset, uint32_t count)
{
	uint32_t word;

	if (offset % 4 || count % 4)
		return -EINVAL;
	for (uint32_t at = 0; at < count;) {
		if ((offset + at) % 8 == 0 && count - at >= 8) {
			ring(dev, offset + at, from + at);
			at += 8;
		} else {
			memcpy(&word, from + at, sizeof(word));
			ring_half(dev, offset + at, word);
			at += 4;
		}
	}
	return 0;
}

/* Below the doorbell pages: the device is driven, so that it sees each command doorbell. */
static int write_segment(struct vm_device *dev, const uint8_t *from, uint64_t offset, uint32_t count)
{
	uint32_t word;

	if (offset % 4 || count % 4)
		return -EINVAL;
	for (uint32_t at = 0; at < count; at += 4) {
		memcpy(&word, from + at, sizeof(word));
		__atomic_store_n(bar_word(dev, offset + at), word, __ATOMIC_RELEASE);
	}
	softnic_pump(dev->nic);
	return 0;
}

static int write_bar(struct vm_device *dev, const uint8_t *from, uint64_t offset, uint32_t count)
{
	uint64_t below = (uint64_t)DRIVER * PAGE, n = offset < below ? below - offset : 0;
	int err = 0;

	if (n > count)
		n = count;
	if (n)
		err = write_segment(dev, from, offset, (uint32_t)n);
	return err || n == count ? err : write_doorbells(dev, from + n, offset + n, count - (uint32_t)n);
}

int vm_region_write(struct vm_device *dev, struct vm_message *m)
{
	const struct vm_access *a = (const void *)m->in;
	int err = m->len == sizeof(*a) + a->count ? check(dev, a) : -EINVAL;

	if (err)
		return err;
	if (a->region == VFIO_PCI_BAR0_REGION_INDEX)
		err = write_bar(dev, a->data, a->offset, a->count);
	else if (a->region == VF_MSIX_BAR)
		write_msix(dev, a->data, a->offset, a->count);
	else
		vf_config_write(&dev->config, a->data, a->count, a->offset);
	if (vf_config_take_flr(&dev->config))
		vm_device_reset(dev);
	memcpy(m->out, a, sizeof(*a));
	m->out_len = sizeof(*a);
	return err;
}
