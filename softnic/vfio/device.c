/* SPDX-License-Identifier: BSD-2-Clause */
/* The function itself: opened through its group, closed with its last descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/vfio/front.h"

static LIST_HEAD(, vf_device) devices = LIST_HEAD_INITIALIZER(devices);

static void *dma(void *ctx, uint64_t iova, size_t len, bool write)
{
	struct vf_device *dev = ctx;

	if (!atomic_load_explicit(&dev->config.master, memory_order_acquire))
		return NULL;
	return vf_maps_find(&dev->group->container->maps, iova, len, write);
}

_Static_assert((int)SOFTNIC_VECTORS == (int)VF_VECTORS, "an EQ has a vector that the function has");

static void irq(void *ctx, unsigned int vector)
{
	struct vf_device *dev = ctx;

	vf_irq_fire(&dev->irqs, vector);
}

static int start(struct vf_device *dev)
{
	struct softnic_config config = {
		.flags = SOFTNIC_COLD | SOFTNIC_SCAN_UARS | SOFTNIC_THREAD_BACKOFF | SOFTNIC_FREE_RUNNING,
		.index = dev->group->index,
		.host = { .dma = dma, .irq = irq, .ctx = dev },
	};
	const char *script = getenv("SOFTNIC_FAULT"), *link = getenv("SOFTNIC_LINK");
	size_t size;
	int err;

	if (link && !strcmp(link, "infiniband"))
		config.flags |= SOFTNIC_INFINIBAND;
	err = softnic_open(&config, &dev->nic);
	if (err)
		return err;
	dev->obj.own_fd = softnic_bar_fd(dev->nic, &size);
	dev->config.bar[0] = (struct vf_bar){ size, VF_BAR_64 | VF_BAR_PREFETCH };
	err = script ? softnic_fault(dev->nic, script) : 0;
	if (err)
		softnic_close(dev->nic);
	return err;
}

static void close_own(struct vf_group *g)
{
	pre_real()->close(g->obj.own_fd);
	g->obj.own_fd = -1;
}

static int device_new(struct vf_group *g, int group_fd, struct vf_device **out)
{
	struct vf_device *dev = calloc(1, sizeof(*dev));
	int err;

	if (!dev)
		return -ENOMEM;
	dev->group = g;
	dev->config.id = (struct vf_identity){ .vendor = VF_VENDOR, .device = VF_DEVICE_ID,
					       .class = VF_CLASS, .subsystem = VF_SUBSYSTEM };
	g->obj.own_fd = fcntl(group_fd, F_DUPFD_CLOEXEC, 0);
	if (g->obj.own_fd < 0) {
		err = -errno;
		goto free_dev;
	}
	vf_irqs_init(&dev->irqs);
	vf_config_reset(&dev->config);
	err = start(dev);
	if (err)
		goto close_group;
	dev->obj.kind = &vf_device_kind;
	LIST_INSERT_HEAD(&devices, dev, link);
	g->dev = dev;
	g->obj.refs++;
	*out = dev;
	return 0;

close_group:
	vf_irqs_free(&dev->irqs);
	close_own(g);
free_dev:
	free(dev);
	fprintf(stderr, "softnic: cannot start software ConnectX %u: %s\n", g->index,
		strerror(-err));
	return err;
}

int vf_device_open(struct vf_group *g, int group_fd)
{
	struct vf_device *dev = g->dev;
	int err = dev ? 0 : device_new(g, group_fd, &dev), fd;

	if (err)
		return err;
	dev->obj.refs++;
	fd = fcntl(dev->obj.own_fd, F_DUPFD_CLOEXEC, 0);
	return vf_file_add(fd < 0 ? -errno : fd, &dev->obj);
}

/* Prints the model's violations, for tests that request it. */
static void report_violations(struct vf_device *dev)
{
	struct softnic_violation v[32];
	size_t n;

	if (!pre_asked("SOFTNIC_STRICT"))
		return;
	n = softnic_violations(dev->nic, v, 32);
	pre_print_violations(v, n < 32 ? n : 32);
}

void vf_devices_report(void)
{
	struct vf_device *dev;

	LIST_FOREACH(dev, &devices, link)
		report_violations(dev);
}

void vf_devices_forget(void)
{
	LIST_INIT(&devices);
}

/* On the last close the kernel resets the function, so its state is dropped. */
static void end(struct vf_object *obj)
{
	struct vf_device *dev = (struct vf_device *)obj;

	report_violations(dev);
	softnic_close(dev->nic);
	vf_irqs_free(&dev->irqs);
	LIST_REMOVE(dev, link);
	dev->group->dev = NULL;
	close_own(dev->group);
	vf_put(&dev->group->obj);
	free(dev);
}

static int get_info(struct vfio_device_info *info)
{
	int err = VF_ARGSZ(info, struct vfio_device_info, num_irqs);

	if (err)
		return err;
	info->flags = VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET;
	info->num_regions = VFIO_PCI_NUM_REGIONS;
	info->num_irqs = VFIO_PCI_NUM_IRQS;
	return 0;
}

static int get_region(struct vf_device *dev, struct vfio_region_info *info)
{
	int err = VF_ARGSZ(info, struct vfio_region_info, offset);

	if (err)
		return err;
	if (info->index >= VFIO_PCI_VGA_REGION_INDEX)
		return -EINVAL;
	info->offset = (uint64_t)info->index << VF_REGION_SHIFT;
	info->size = 0;
	info->flags = 0;
	info->cap_offset = 0;
	if (info->index == VFIO_PCI_BAR0_REGION_INDEX) {
		info->size = dev->config.bar[0].size;
		info->flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE |
			VFIO_REGION_INFO_FLAG_MMAP;
	} else if (info->index == VFIO_PCI_CONFIG_REGION_INDEX) {
		info->size = VF_CONFIG;
		info->flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
	}
	return 0;
}

static int device_ioctl(struct vf_object *obj, int fd, unsigned long request, void *arg)
{
	struct vf_device *dev = (struct vf_device *)obj;

	(void)fd;
	switch (request) {
	case VFIO_DEVICE_GET_INFO:
		return get_info(arg);
	case VFIO_DEVICE_GET_REGION_INFO:
		return get_region(dev, arg);
	case VFIO_DEVICE_GET_IRQ_INFO:
		return vf_irq_info(&dev->irqs, arg);
	case VFIO_DEVICE_SET_IRQS:
		return vf_irq_set(&dev->irqs, arg);
	case VFIO_DEVICE_RESET:
		/* The driver must boot the function again. The kernel restores config space. */
		softnic_reset(dev->nic);
		return 0;
	default:
		return -ENOTTY;
	}
}

const struct vf_kind vf_device_kind = { device_ioctl, end };

int softnic_front_fault(unsigned int index, const char *script)
{
	struct vf_device *dev;
	int err = -ENODEV;

	vf_lock();
	LIST_FOREACH(dev, &devices, link)
		if (dev->group->index == index)
			err = softnic_fault(dev->nic, script);
	vf_unlock();
	return err;
}
