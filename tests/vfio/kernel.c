/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel's vfio, vfio_iommu_type1 and vfio-pci answer to the calls of rdma-core. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/vfio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/vfio/rig.h"

static struct rig_name name;

static void setup(void)
{
	name = rig_name();
}

TestSuite(kernel, .init = setup, .timeout = 60);

Test(kernel, group__serves_one_at_a_time)
{
	int first = open(name.group, O_RDWR);

	cr_assert_geq(first, 0);
	cr_expect_lt(open(name.group, O_RDWR), 0);
	cr_expect_eq(errno, EBUSY);
	close(first);
	first = open(name.group, O_RDWR);
	cr_expect_geq(first, 0, "the group cannot be opened again: %s", strerror(errno));
	close(first);
}

static int open_it(int sock, void *arg)
{
	int fd = open(name.group, O_RDWR), err = fd < 0 ? errno : 0;

	(void)arg;
	th_send(sock, &err, sizeof(err));
	th_meet(sock);
	return 0;
}

static int asked_elsewhere(struct th_child *child)
{
	int err = -1;

	cr_assert_eq(th_spawn(child, open_it, NULL), 0);
	cr_assert_eq(th_recv(child->sock, &err, sizeof(err)), 0);
	return err;
}

Test(kernel, group__serves_one_process_at_a_time)
{
	struct th_child child;
	struct rig_fds f = rig_fds(&name);

	cr_expect_eq(asked_elsewhere(&child), EBUSY);
	th_kill(&child);
	/* The device holds its group. */
	close(f.group);
	cr_expect_eq(asked_elsewhere(&child), EBUSY);
	th_kill(&child);
	close(f.device);
	close(f.container);
	cr_expect_eq(asked_elsewhere(&child), 0);
	th_kill(&child);
}

Test(kernel, group__steps_out_of_order_are_refused)
{
	struct vfio_group_status status = { .argsz = sizeof(status) };
	int container = open("/dev/vfio/vfio", O_RDWR), group = open(name.group, O_RDWR), none = 0;
	char other[] = "0000:7f:00.0";

	cr_assert(container >= 0 && group >= 0);
	cr_expect_eq(ioctl(container, VFIO_GET_API_VERSION), VFIO_API_VERSION);
	cr_expect_eq(ioctl(container, VFIO_CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU), 1);
	cr_expect_eq(ioctl(container, VFIO_CHECK_EXTENSION, VFIO_SPAPR_TCE_IOMMU), 0);
	cr_expect_lt(ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU), 0,
		     "a container without a group got an IOMMU");
	cr_expect_eq(rig_ioctl(group, VFIO_GROUP_GET_DEVICE_FD, name.pci), EINVAL);
	cr_expect_eq(rig_ioctl(group, VFIO_GROUP_SET_CONTAINER, &none), EINVAL);
	cr_expect_eq(rig_ioctl(group, VFIO_GROUP_GET_STATUS, &status), 0);
	cr_expect_eq(status.flags, VFIO_GROUP_FLAGS_VIABLE);
	cr_assert_eq(rig_ioctl(group, VFIO_GROUP_SET_CONTAINER, &container), 0);
	cr_expect_eq(rig_ioctl(group, VFIO_GROUP_SET_CONTAINER, &container), EINVAL);
	cr_expect_eq(rig_ioctl(group, VFIO_GROUP_GET_STATUS, &status), 0);
	cr_expect_eq(status.flags, VFIO_GROUP_FLAGS_VIABLE | VFIO_GROUP_FLAGS_CONTAINER_SET);
	cr_expect_eq(rig_ioctl(group, VFIO_GROUP_GET_DEVICE_FD, name.pci), EINVAL,
		     "the device could be opened in a container without an IOMMU");
	cr_expect_lt(ioctl(container, VFIO_SET_IOMMU, VFIO_SPAPR_TCE_IOMMU), 0);
	cr_assert_eq(ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU), 0);
	cr_expect_eq(rig_ioctl(group, VFIO_GROUP_GET_DEVICE_FD, other), ENODEV);
	cr_expect_eq(rig_ioctl(group, VFIO_GROUP_UNSET_CONTAINER, NULL), 0);
	cr_expect_eq(rig_ioctl(group, VFIO_GROUP_UNSET_CONTAINER, NULL), EINVAL);
	cr_expect_eq(rig_ioctl(group, VFIO_SET_IOMMU + 64, NULL), ENOTTY);
	close(group);
	close(container);
}

static int unmap(int container, uint64_t iova, uint64_t *size)
{
	struct vfio_iommu_type1_dma_unmap u = { .argsz = sizeof(u), .iova = iova, .size = *size };
	int err = rig_ioctl(container, VFIO_IOMMU_UNMAP_DMA, &u);

	*size = u.size;
	return err;
}

Test(kernel, iommu__invalid_maps_are_refused)
{
	struct rig_fds f = rig_fds(&name);
	uint8_t *mem = mmap(NULL, 0x20000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t size = 4096;

	cr_assert_neq(mem, MAP_FAILED);
	munmap(mem + 16384, 0x20000 - 16384);
	cr_assert_eq(rig_map(f.container, mem, 0x10000, 8192), 0);
	cr_expect_eq(rig_map(f.container, mem, 0x11000, 4096), EEXIST);
	cr_expect_eq(rig_map(f.container, mem, 0xf000, 0x10000), EFAULT,
		     "a map that ends beyond the memory was not refused with EFAULT");
	cr_expect_eq(rig_map(f.container, mem, 0x20800, 4096), EINVAL,
		     "a map at an address inside a page was not refused");
	cr_expect_eq(rig_map(f.container, mem, 0x20000, 0), EINVAL,
		     "a map of 0 bytes was not refused");
	cr_expect_eq(rig_map(f.container, mem, 0xfee00000, 4096), EINVAL,
		     "a map in the range of interrupt messages was not refused");
	cr_expect_eq(rig_map(f.container, mem, UINT64_C(1) << 40, 4096), EINVAL,
		     "a map above the usable range was not refused");
	cr_expect_eq(unmap(f.container, 0x10000, &size), EINVAL,
		     "an unmap of only a part of a map was not refused");
	size = 0x10000;
	cr_expect_eq(unmap(f.container, 0x8000, &size), 0);
	cr_expect_eq(size, 8192);
	size = 4096;
	cr_expect_eq(unmap(f.container, 0x10000, &size), 0, "an unmap of a removed map failed");
	cr_expect_eq(size, 0);
	munmap(mem, 16384);
	cr_expect_eq(rig_map(f.container, mem, 0x10000, 4096), EFAULT,
		     "a map of an address without memory was not refused with EFAULT");
	rig_fds_close(&f);
}

Test(kernel, iommu__info_returns_page_sizes_and_ranges)
{
	struct rig_fds f = rig_fds(&name);
	struct vfio_iommu_type1_info head = { .argsz = sizeof(head) }, *info;
	struct vfio_iommu_type1_info_cap_iova_range *ranges;

	cr_assert_eq(rig_ioctl(f.container, VFIO_IOMMU_GET_INFO, &head), 0);
	cr_assert_gt(head.argsz, sizeof(head));
	cr_expect(head.iova_pgsizes & 4096);
	info = calloc(1, head.argsz);
	info->argsz = head.argsz;
	cr_assert_eq(rig_ioctl(f.container, VFIO_IOMMU_GET_INFO, info), 0);
	cr_assert_eq(info->cap_offset, sizeof(head));
	ranges = (void *)((uint8_t *)info + info->cap_offset);
	cr_expect_eq(ranges->header.id, VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE);
	cr_expect_eq(ranges->nr_iovas, 2);
	cr_expect_eq(ranges->iova_ranges[0].end, 0xfedfffff);
	free(info);
	rig_fds_close(&f);
}

Test(kernel, device__regions_have_their_sizes)
{
	struct rig_fds f = rig_fds(&name);
	struct vfio_device_info info = { .argsz = sizeof(info) };
	struct vfio_region_info r = { .argsz = sizeof(r) };
	uint32_t *bar;

	cr_assert_eq(rig_ioctl(f.device, VFIO_DEVICE_GET_INFO, &info), 0);
	cr_expect(info.flags & VFIO_DEVICE_FLAGS_PCI && info.flags & VFIO_DEVICE_FLAGS_RESET);
	cr_assert_eq(rig_ioctl(f.device, VFIO_DEVICE_GET_REGION_INFO, &r), 0);
	cr_expect(r.flags & VFIO_REGION_INFO_FLAG_MMAP);
	bar = mmap(NULL, r.size, PROT_READ | PROT_WRITE, MAP_SHARED, f.device, (off_t)r.offset);
	cr_assert_neq(bar, MAP_FAILED);
	cr_expect_eq(be32toh(bar[1]) >> 16, 5, "the revision of the command interface is not 5");
	munmap(bar, r.size);
	for (r.index = 1; r.index < VFIO_PCI_VGA_REGION_INDEX; r.index++) {
		cr_expect_eq(rig_ioctl(f.device, VFIO_DEVICE_GET_REGION_INFO, &r), 0);
		cr_expect_eq(r.size, r.index == VFIO_PCI_CONFIG_REGION_INDEX ? 4096 : 0);
	}
	r.index = info.num_regions;
	cr_expect_eq(rig_ioctl(f.device, VFIO_DEVICE_GET_REGION_INFO, &r), EINVAL);
	r.argsz = 8;
	r.index = 0;
	cr_expect_eq(rig_ioctl(f.device, VFIO_DEVICE_GET_REGION_INFO, &r), EINVAL);
	rig_fds_close(&f);
}

/* Linux, vfio_pci_ioctl_get_region_info: only a VGA function has the region. */
Test(kernel, device__vga_region_does_not_exist)
{
	struct rig_fds f = rig_fds(&name);
	struct vfio_region_info r = { .argsz = sizeof(r), .index = VFIO_PCI_VGA_REGION_INDEX };

	cr_expect_eq(rig_ioctl(f.device, VFIO_DEVICE_GET_REGION_INFO, &r), EINVAL);
	rig_fds_close(&f);
}

Test(kernel, device__config_space_keeps_its_read_only_fields)
{
	struct rig_fds f = rig_fds(&name);
	struct vfio_region_info r = { .argsz = sizeof(r), .index = VFIO_PCI_CONFIG_REGION_INDEX };
	uint16_t v, ones = 0xffff;
	uint32_t bar = UINT32_MAX;
	uint8_t cap;

	cr_assert_eq(rig_ioctl(f.device, VFIO_DEVICE_GET_REGION_INFO, &r), 0);
	cr_expect_eq(pread(f.device, &v, 2, (off_t)r.offset), 2);
	cr_expect_eq(v, 0x15b3);
	cr_expect_eq(pwrite(f.device, &ones, 2, (off_t)r.offset), 2);
	cr_expect_eq(pread(f.device, &v, 2, (off_t)r.offset), 2);
	cr_expect_eq(v, 0x15b3, "the vendor ID could be changed");
	pread(f.device, &v, 2, (off_t)r.offset + 4);
	cr_expect_eq(v & 4, 0, "bus mastering is enabled before the driver enables it");
	/* PCI: to read the size of a BAR, write all ones to it first. */
	pwrite(f.device, &bar, 4, (off_t)r.offset + 0x10);
	pread(f.device, &bar, 4, (off_t)r.offset + 0x10);
	cr_expect_eq(~(bar & ~0xfu) + 1, 8u << 20);
	pread(f.device, &cap, 1, (off_t)r.offset + 0x34);
	for (int i = 0; i < 8 && cap; i++) {
		uint8_t head[2];

		pread(f.device, head, 2, (off_t)r.offset + cap);
		if (head[0] == 0x11)
			break;
		cap = head[1];
	}
	cr_expect_neq(cap, 0, "the function has no MSI-X capability");
	rig_fds_close(&f);
}

/* Linux, vfio_config_do_rw and vfio_pci_bar_rw. The function has BAR 0 alone. */
Test(kernel, device__accesses_outside_its_regions_are_refused)
{
	struct rig_fds f = rig_fds(&name);
	struct vfio_region_info r = { .argsz = sizeof(r), .index = VFIO_PCI_CONFIG_REGION_INDEX };
	uint32_t v[2] = { 0 };
	off_t end;

	cr_assert_eq(rig_ioctl(f.device, VFIO_DEVICE_GET_REGION_INFO, &r), 0);
	end = (off_t)(r.offset + r.size);
	cr_expect_eq(pread(f.device, v, 8, end - 8), 8);
	cr_expect(pread(f.device, v, 8, end - 4) < 0 && errno == EFAULT, "read across the end");
	cr_expect(pwrite(f.device, v, 8, end - 4) < 0 && errno == EFAULT, "wrote across the end");
	cr_expect(pread(f.device, v, 4, end) < 0 && errno == EFAULT, "read behind the end");
	cr_expect_eq(pread(f.device, v, 0, end), 0);
	for (r.index = 1; r.index < VFIO_PCI_NUM_REGIONS + 1; r.index++) {
		off_t at = (off_t)r.index << 40;

		if (r.index == VFIO_PCI_CONFIG_REGION_INDEX)
			continue;
		cr_expect(pread(f.device, v, 4, at) < 0 && errno == EINVAL, "read of region %u", r.index);
		cr_expect(pwrite(f.device, v, 4, at) < 0 && errno == EINVAL, "write of region %u", r.index);
	}
	rig_fds_close(&f);
}

/* Linux, pci_try_reset_function. DPDK enables bus mastering, then resets the function. */
Test(kernel, device__reset_keeps_bus_mastering)
{
	struct rig_fds f = rig_fds(&name);
	struct vfio_region_info r = { .argsz = sizeof(r), .index = VFIO_PCI_CONFIG_REGION_INDEX };
	uint16_t command = 0x6;

	cr_assert_eq(rig_ioctl(f.device, VFIO_DEVICE_GET_REGION_INFO, &r), 0);
	cr_assert_eq(pwrite(f.device, &command, 2, (off_t)r.offset + 4), 2);
	cr_assert_eq(rig_ioctl(f.device, VFIO_DEVICE_RESET, NULL), 0);
	cr_assert_eq(pread(f.device, &command, 2, (off_t)r.offset + 4), 2);
	cr_expect_eq(command, 0x6, "the command register is %#x after a reset", command);
	rig_fds_close(&f);
}

enum {
	FDS = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
	FIRE = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER,
	FIRE_IF = VFIO_IRQ_SET_DATA_BOOL | VFIO_IRQ_SET_ACTION_TRIGGER,
};

/* The structure has two words of data. */
static int set_irqs(int device, uint32_t index, uint32_t flags, uint32_t start, uint32_t count,
		    const int32_t data[2])
{
	uint64_t room[sizeof(struct vfio_irq_set) / 8 + 2] = { 0 };
	struct vfio_irq_set *set = (struct vfio_irq_set *)(void *)room;

	*set = (struct vfio_irq_set){ .argsz = sizeof(*set) + 8, .flags = flags, .index = index,
				      .start = start, .count = count };
	memcpy(set->data, data, 8);
	return rig_ioctl(device, VFIO_DEVICE_SET_IRQS, set);
}

static int set_irq(int device, uint32_t flags, uint32_t start, uint32_t count, int32_t fd)
{
	return set_irqs(device, VFIO_PCI_MSIX_IRQ_INDEX, flags, start, count, (int32_t[]){ fd, -1 });
}

static bool told(int fd)
{
	uint64_t n;

	return read(fd, &n, sizeof(n)) == sizeof(n);
}

Test(kernel, device__interrupts_fire_only_where_they_are_set)
{
	struct rig_fds f = rig_fds(&name);
	struct vfio_irq_info info = { .argsz = sizeof(info), .index = VFIO_PCI_MSIX_IRQ_INDEX };
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	cr_assert_eq(rig_ioctl(f.device, VFIO_DEVICE_GET_IRQ_INFO, &info), 0);
	cr_expect(info.flags & VFIO_IRQ_INFO_EVENTFD);
	cr_assert_gt(info.count, 1);
	cr_expect_eq(set_irq(f.device, FDS, 0, info.count + 1, fd), EINVAL);
	cr_expect_eq(set_irq(f.device, FDS, 0, 3, fd), EINVAL,
		     "more vectors than the structure has eventfds were accepted");
	cr_expect_eq(set_irq(f.device, FDS | VFIO_IRQ_SET_DATA_NONE, 0, 1, fd), EINVAL);
	cr_expect_eq(set_irq(f.device, FIRE, 0, 1, 0), EINVAL,
		     "an interrupt was accepted while MSI-X is not enabled");
	cr_assert_eq(set_irq(f.device, FDS, 0, 1, fd), 0);
	cr_expect_eq(set_irq(f.device, FDS, 1, 1, fd), EINVAL,
		     "more vectors than the first call enabled were accepted");
	cr_expect_eq(set_irq(f.device, FIRE, 0, 1, 0), 0);
	cr_expect(told(fd));
	cr_expect_eq(set_irq(f.device, FDS, 0, 1, -1), 0);
	cr_expect_eq(set_irq(f.device, FIRE, 0, 1, 0), 0);
	cr_expect(!told(fd));
	cr_expect_eq(set_irq(f.device, FIRE, 0, 0, 0), 0, "MSI-X cannot be disabled");
	close(fd);
	rig_fds_close(&f);
}

static int swap_for_duplicate(int fd)
{
	int other = dup(fd);

	close(fd);
	return other;
}

/* The kernel knows the open file, which lasts until its last descriptor is closed. */
Test(kernel, close__keeps_an_object_that_has_a_duplicate)
{
	struct rig_fds f = rig_fds(&name);
	struct vfio_device_info info = { .argsz = sizeof(info) };
	struct vfio_group_status status = { .argsz = sizeof(status) };
	struct th_child child;

	for (int i = 0; i < 2; i++) {
		f.device = swap_for_duplicate(f.device);
		f.group = swap_for_duplicate(f.group);
		f.container = swap_for_duplicate(f.container);
		cr_expect_eq(rig_ioctl(f.device, VFIO_DEVICE_GET_INFO, &info), 0);
		cr_expect_eq(rig_ioctl(f.group, VFIO_GROUP_GET_STATUS, &status), 0);
		cr_expect_eq(ioctl(f.container, VFIO_GET_API_VERSION), VFIO_API_VERSION);
	}
	cr_expect_eq(rig_ioctl(f.group, VFIO_GROUP_UNSET_CONTAINER, NULL), EBUSY, "the device was closed");
	close(f.device);
	cr_expect_eq(rig_ioctl(f.group, VFIO_GROUP_UNSET_CONTAINER, NULL), 0, "the device is still open");
	close(f.group);
	close(f.container);
	cr_expect_eq(asked_elsewhere(&child), 0);
	th_kill(&child);
}

/* Linux, vfio_pci_ioctl_get_irq_info: only INTx can be masked; the others get no more vectors later. */
Test(kernel, device__interrupts_have_the_flags_of_linux)
{
	static const struct {
		uint32_t index, flags, count;
	} irqs[] = {
		{ VFIO_PCI_INTX_IRQ_INDEX, VFIO_IRQ_INFO_MASKABLE | VFIO_IRQ_INFO_AUTOMASKED, 0 },
		{ VFIO_PCI_MSI_IRQ_INDEX, VFIO_IRQ_INFO_NORESIZE, 0 },
		{ VFIO_PCI_MSIX_IRQ_INDEX, VFIO_IRQ_INFO_NORESIZE, 64 },
		{ VFIO_PCI_ERR_IRQ_INDEX, VFIO_IRQ_INFO_NORESIZE, 1 },
		{ VFIO_PCI_REQ_IRQ_INDEX, VFIO_IRQ_INFO_NORESIZE, 1 },
	};
	struct rig_fds f = rig_fds(&name);

	for (size_t i = 0; i < sizeof(irqs) / sizeof(irqs[0]); i++) {
		struct vfio_irq_info info = { .argsz = sizeof(info), .index = irqs[i].index };

		cr_assert_eq(rig_ioctl(f.device, VFIO_DEVICE_GET_IRQ_INFO, &info), 0);
		cr_expect_eq(info.flags, VFIO_IRQ_INFO_EVENTFD | irqs[i].flags,
			     "interrupt index %u has flags %#x", info.index, info.flags);
		cr_expect_eq(info.count, irqs[i].count);
	}
	rig_fds_close(&f);
}

/* Linux, vfio_pci_set_irqs_ioctl and vfio_pci_set_msi_trigger. */
Test(kernel, device__interrupts_are_refused_with_the_errors_of_linux)
{
	static const uint32_t actions[] = {
		0, VFIO_IRQ_SET_ACTION_MASK, VFIO_IRQ_SET_ACTION_UNMASK,
		VFIO_IRQ_SET_ACTION_MASK | VFIO_IRQ_SET_ACTION_TRIGGER,
	};
	struct rig_fds f = rig_fds(&name);

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		cr_expect_eq(set_irq(f.device, VFIO_IRQ_SET_DATA_NONE | actions[i], 0, 1, 0), ENOTTY,
			     "action %#x", actions[i]);
	cr_expect_eq(set_irq(f.device, FIRE, 0, 0, 0), EINVAL, "MSI-X that is not enabled was disabled");
	rig_fds_close(&f);
}

/* Linux, eventfd_ctx_fdget: EBADF for what is no descriptor, EINVAL for another file than an eventfd. */
Test(kernel, device__interrupts_take_eventfds_only)
{
	static const uint32_t indexes[] = { VFIO_PCI_MSIX_IRQ_INDEX, VFIO_PCI_ERR_IRQ_INDEX,
					    VFIO_PCI_REQ_IRQ_INDEX };
	struct rig_fds f = rig_fds(&name);
	int ends[2], others[3];

	cr_assert_eq(pipe(ends), 0);
	others[0] = ends[1];
	others[1] = f.container;
	others[2] = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (size_t i = 0; i < 3; i++) {
		for (size_t k = 0; k < 3; k++)
			cr_expect_eq(set_irqs(f.device, indexes[i], FDS, 0, 1, (int32_t[]){ others[k], -1 }),
				     EINVAL, "interrupt index %u took file %zu, which is no eventfd",
				     indexes[i], k);
		cr_expect_eq(set_irqs(f.device, indexes[i], FDS, 0, 1, (int32_t[]){ 4000, -1 }), EBADF);
	}
	cr_expect_eq(set_irq(f.device, FIRE, 0, 1, 0), EINVAL, "a refused file enabled MSI-X");
	close(others[2]);
	close(ends[0]);
	close(ends[1]);
	rig_fds_close(&f);
}

/* Linux, vfio_msi_set_block: no vector that the failed call has tried keeps an eventfd. */
Test(kernel, device__vectors_after_a_failure_are_empty)
{
	struct rig_fds f = rig_fds(&name);
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	cr_assert_eq(set_irqs(f.device, VFIO_PCI_MSIX_IRQ_INDEX, FDS, 0, 2, (int32_t[]){ fd, fd }), 0);
	cr_expect_eq(set_irqs(f.device, VFIO_PCI_MSIX_IRQ_INDEX, FDS, 0, 2, (int32_t[]){ fd, 4000 }), EBADF);
	cr_expect_eq(set_irq(f.device, FIRE, 0, 1, 0), 0);
	cr_expect(!told(fd), "the vector before the failed one kept its eventfd");
	cr_expect_eq(set_irq(f.device, FIRE, 1, 1, 0), 0);
	cr_expect(!told(fd), "the failed vector kept its eventfd");
	close(fd);
	rig_fds_close(&f);
}

/* Linux, vfio_pci_set_ctx_trigger_single. */
Test(kernel, device__error_interrupt_is_raised_by_a_true_bool)
{
	static const uint32_t indexes[] = { VFIO_PCI_ERR_IRQ_INDEX, VFIO_PCI_REQ_IRQ_INDEX };
	struct rig_fds f = rig_fds(&name);
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	const int32_t yes[2] = { 1 }, no[2] = { 0 }, mine[2] = { fd, -1 };

	for (size_t i = 0; i < 2; i++) {
		cr_expect_eq(set_irqs(f.device, indexes[i], FIRE, 0, 1, no), EINVAL,
			     "interrupt index %u was raised without an eventfd", indexes[i]);
		cr_assert_eq(set_irqs(f.device, indexes[i], FDS, 0, 1, mine), 0);
		cr_expect_eq(set_irqs(f.device, indexes[i], FIRE_IF, 0, 1, no), 0);
		cr_expect(!told(fd), "a false value raised interrupt index %u", indexes[i]);
		cr_expect_eq(set_irqs(f.device, indexes[i], FIRE_IF, 0, 1, yes), 0);
		cr_expect(told(fd));
		cr_expect_eq(set_irqs(f.device, indexes[i], FDS, 0, 0, mine), EINVAL);
		cr_expect_eq(set_irqs(f.device, indexes[i], FIRE, 0, 1, no), 0);
		cr_expect(told(fd), "a refused call removed the eventfd of interrupt index %u", indexes[i]);
		cr_expect_eq(set_irqs(f.device, indexes[i], FIRE, 0, 0, no), 0);
		cr_expect_eq(set_irqs(f.device, indexes[i], FIRE, 0, 0, no), EINVAL);
	}
	close(fd);
	rig_fds_close(&f);
}

/* Calls of programs that are built with _FORTIFY_SOURCE. The last argument is the room of the buffer. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
ssize_t __readlink_chk(const char *path, char *target, size_t size, size_t room);
char *__realpath_chk(const char *path, char *resolved, size_t room);

Test(kernel, paths__of_fortified_calls_lead_to_the_group)
{
	int (*const opens[])(const char *path, int flags) = { __open_2, __open64_2 };
	char path[64], link[PATH_MAX], chk[PATH_MAX];

	for (size_t i = 0; i < 2; i++) {
		int fd = opens[i](name.group, O_RDWR);

		cr_expect_geq(fd, 0, "%s cannot be opened: %s", name.group, strerror(errno));
		close(fd);
	}
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group", name.pci);
	cr_expect_gt(__readlink_chk(path, chk, sizeof(chk), sizeof(chk)), 0);
	cr_assert_not_null(realpath(path, link));
	cr_assert_not_null(__realpath_chk(path, chk, sizeof(chk)));
	cr_expect_str_eq(chk, link);
}

/* A program finds these files in sysfs and below /dev. */
Test(kernel, paths__lead_to_the_group)
{
	char path[64], link[256];
	struct stat st;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group", name.pci);
	n = readlink(path, link, sizeof(link) - 1);
	cr_assert_gt(n, 0);
	link[n] = 0;
	cr_expect_str_eq(strrchr(link, '/') + 1, strrchr(name.group, '/') + 1);
	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/vfio-pci/%s/vendor", name.pci);
	cr_expect_eq(access(path, R_OK), 0);
	cr_assert_eq(stat(name.group, &st), 0);
	cr_expect(S_ISCHR(st.st_mode));
	cr_expect_lt(stat("/sys/bus/pci/devices/0000:7f:00.0", &st), 0);
	cr_expect_lt(open("/dev/vfio/999", O_RDWR), 0);
}
