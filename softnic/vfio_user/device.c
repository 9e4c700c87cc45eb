/* SPDX-License-Identifier: BSD-2-Clause */
/* A device of the server: the model, and the PCI function in front of it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "softnic/vfio_user/vm.h"

enum { REPORTS_MAX = 64 };		/* most reports about each client */

void vf_close(int fd)
{
	close(fd);
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
	dev->kind = config->efa ? &vm_efa : &vm_connectx;
	vf_irqs_init(&dev->irqs);
	dev->irqs.grows = true;
	vf_maps_init(&dev->maps);
	err = dev->kind->open(dev);
	if (err)
		goto free_parts;
	dev->config.id.whole = true;
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
	dev->kind->close(dev);
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
	dev->kind->reset(dev);
}

static void report_violations(struct vm_device *dev)
{
	struct softnic_violation v[32];
	size_t n = dev->kind->violations(dev, v, 32);

	for (size_t i = 0; i < n && i < 32; i++)
		vm_report(dev, "violation %s x%llu: %s", v[i].name, (unsigned long long)v[i].count,
			  v[i].detail);
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
