/* SPDX-License-Identifier: BSD-2-Clause */
/* A device of the server: the model, cold, and the function that is shown of it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "softnic/vfio/names.h"
#include "softnic/vfio_user/vm.h"

enum {
	DEVICE_VF = 0x101e,
	CLASS_INFINIBAND = 0x0207,
	REPORTS_MAX = 64,		/* of one client */
};

void vf_close(int fd)
{
	close(fd);
}

static void *dma(void *ctx, uint64_t addr, size_t len)
{
	struct vm_device *dev = ctx;

	if (!atomic_load_explicit(&dev->config.master, memory_order_acquire))
		return NULL;
	return vf_maps_find(&dev->maps, addr, len);
}

static void irq(void *ctx, unsigned int vector)
{
	struct vm_device *dev = ctx;

	vf_irq_fire(&dev->irqs, vector);
}

/* Linux reads the timestamp formats of RoCE ports alone: QPs of InfiniBand ports it makes free-running. */
static int open_nic(struct vm_device *dev)
{
	const struct softnic_config config = {
		.flags = SOFTNIC_COLD | SOFTNIC_SCAN_UARS | SOFTNIC_THREAD_BACKOFF | SOFTNIC_FREE_RUNNING |
			(dev->given.infiniband ? SOFTNIC_INFINIBAND : 0),
		.index = dev->given.index,
		.ports = dev->given.ports,
		.host = { .dma = dma, .irq = irq, .ctx = dev },
	};
	const char *script = getenv("SOFTNIC_FAULT");
	size_t size;
	int err = softnic_open(&config, &dev->nic);

	if (err)
		return err;
	dev->bar_fd = softnic_bar_fd(dev->nic, &size);
	dev->config.bar[0] = (struct vf_bar){ size, VF_BAR_64 | VF_BAR_PREFETCH };
	dev->config.bar[VF_MSIX_BAR] = (struct vf_bar){ VF_MSIX_SIZE, VF_BAR_64 };
	err = script ? softnic_fault(dev->nic, script) : 0;
	if (err)
		softnic_close(dev->nic);
	return err;
}

int vm_device_open(const struct vm_config *config, struct vm_device **out)
{
	struct vm_device *dev = calloc(1, sizeof(*dev));
	int err;

	if (!dev)
		return -ENOMEM;
	dev->given = *config;
	dev->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (dev->stop_fd < 0) {
		err = -errno;
		goto free_dev;
	}
	dev->config.id = (struct vf_identity){
		.vendor = VF_VENDOR,
		.device = config->physical ? VF_DEVICE_ID : DEVICE_VF,
		.class = config->infiniband ? CLASS_INFINIBAND : VF_CLASS,
		.subsystem = VF_SUBSYSTEM,
		.whole = true,
		.msix_bar = VF_MSIX_BAR,
	};
	vf_irqs_init(&dev->irqs);
	dev->irqs.grows = true;
	vf_maps_init(&dev->maps);
	err = open_nic(dev);
	if (err)
		goto free_parts;
	vf_config_reset(&dev->config);
	*out = dev;
	return 0;

free_parts:
	vf_maps_free(&dev->maps);
	vf_irqs_free(&dev->irqs);
	close(dev->stop_fd);
free_dev:
	free(dev);
	return err;
}

void vm_device_close(struct vm_device *dev)
{
	vm_unmap_all(dev);
	softnic_close(dev->nic);
	vf_maps_free(&dev->maps);
	vf_irqs_free(&dev->irqs);
	close(dev->stop_fd);
	free(dev);
}

void vm_device_stop(struct vm_device *dev)
{
	uint64_t one = 1;

	(void)!write(dev->stop_fd, &one, sizeof(one));
}

void vm_device_reset(struct vm_device *dev)
{
	atomic_store(&dev->config.master, false);
	vf_config_reset(&dev->config);
	memset(dev->msix, 0, sizeof(dev->msix));
	dev->half.there = false;
	softnic_reset(dev->nic);
}

static void report_violations(struct vm_device *dev)
{
	struct softnic_violation v[32];
	size_t n = softnic_violations(dev->nic, v, 32);

	for (size_t i = 0; i < n && i < 32; i++)
		vm_report(dev, "violation %s x%llu: %s", v[i].name, (unsigned long long)v[i].count,
			  v[i].detail);
	softnic_violations_clear(dev->nic);
}

void vm_device_leave(struct vm_device *dev)
{
	if (dev->given.verbose)
		report_violations(dev);
	vm_device_reset(dev);
	vm_unmap_all(dev);
	vf_irqs_clear(&dev->irqs);
	atomic_store(&dev->reports, 0);
}

void vm_report(struct vm_device *dev, const char *fmt, ...)
{
	unsigned int n = atomic_fetch_add(&dev->reports, 1);
	char words[256], line[512];
	va_list ap;

	if (n > REPORTS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	snprintf(line, sizeof(line), "%s: %s", dev->given.name,
		 n < REPORTS_MAX ? words : "more reports about this client are left out");
	if (dev->given.report)
		dev->given.report(line);
	else
		fprintf(stderr, "softnic-vm: %s\n", line);
}
