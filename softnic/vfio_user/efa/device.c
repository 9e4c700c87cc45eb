/* SPDX-License-Identifier: BSD-2-Clause */
/* An EFA as a kind of device: opening it, and its BARs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "softnic/vfio_user/efa/efa.h"

enum { VENDOR = 0x1d0f, SUBSYSTEM = 0xefa0, CLASS_ETHERNET = 0x0200 };

static void describe(struct vm_device *dev)
{
	struct vf_bar *bar = dev->config.bar;

	dev->config.id = (struct vf_identity){
		.vendor = VENDOR,
		.device = dev->efa->caps.device_id,
		.class = CLASS_ETHERNET,
		.subsystem = SUBSYSTEM,
		.msix_bar = VE_MSIX_BAR,
	};
	bar[VE_REG_BAR] = (struct vf_bar){ VE_REG_BYTES, 0 };
	bar[VE_MSIX_BAR] = (struct vf_bar){ VF_MSIX_SIZE, 0 };
	bar[VE_MEM_BAR] = (struct vf_bar){ VE_MEM_BYTES, VF_BAR_64 | VF_BAR_PREFETCH };
	bar[VE_DB_BAR] = (struct vf_bar){ VE_DB_BYTES, VF_BAR_64 };
}

/* Refuses features that Linux's driver lacks: send queues with WQEs of 128 bytes, and longer
 * request ids. */
static int check_caps(const struct softnic_efa_caps *c)
{
	return c->wide_wqe || c->max_qp > VE_QPS || c->max_cq > VE_CQS ? -EOPNOTSUPP : 0;
}

static int map_queues(struct vm_device *dev)
{
	size_t size;

	dev->bar_fd = softnic_efa_bar_fd(dev->efa->nic, &size);
	dev->efa->mem = mmap(NULL, VE_MEM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			     dev->bar_fd, 0);
	return dev->efa->mem == MAP_FAILED ? -errno : 0;
}

static int open_model(struct vm_device *dev)
{
	const struct softnic_efa_config config = {
		.index = dev->given.index,
		.profile = dev->given.efa,
		.host = { .cq_event = ve_event, .dma = vm_dma, .ctx = dev },
	};
	const char *script = getenv("SOFTNIC_FAULT");
	struct vm_efa *efa = dev->efa;
	int err = softnic_efa_open(&config, &efa->nic);

	if (err)
		return err;
	softnic_efa_caps(efa->nic, &efa->caps);
	err = check_caps(&efa->caps);
	if (!err && script)
		err = softnic_efa_fault(efa->nic, script);
	if (!err)
		err = map_queues(dev);
	if (err)
		softnic_efa_close(efa->nic);
	return err;
}

static int open_device(struct vm_device *dev)
{
	int err;

	dev->efa = calloc(1, sizeof(*dev->efa));
	if (!dev->efa)
		return -ENOMEM;
	pthread_mutex_init(&dev->efa->eq_lock, NULL);
	err = open_model(dev);
	if (err) {
		pthread_mutex_destroy(&dev->efa->eq_lock);
		free(dev->efa);
		return err;
	}
	ve_reset(dev);
	describe(dev);
	return 0;
}

static void close_device(struct vm_device *dev)
{
	munmap(dev->efa->mem, VE_MEM_BYTES);
	softnic_efa_close(dev->efa->nic);
	pthread_mutex_destroy(&dev->efa->eq_lock);
	free(dev->efa);
}

static void settle(struct vm_device *dev)
{
	struct softnic_efa_counters c;

	/* softnic_efa_counters() returns only after the device has released its lock */
	softnic_efa_counters(dev->efa->nic, &c);
}

static size_t violations(struct vm_device *dev, struct softnic_violation *v, size_t max)
{
	size_t n = softnic_efa_violations(dev->efa->nic, v, max);

	softnic_efa_violations_clear(dev->efa->nic);
	return n;
}

static unsigned int mappable(const struct vm_device *dev, uint32_t bar,
			     struct vfio_region_sparse_mmap_area area[VM_AREAS])
{
	(void)dev;
	if (bar != VE_MEM_BAR)
		return 0;
	area[0].offset = 0;
	area[0].size = VE_MEM_BYTES;
	return 1;
}

/* Only registers can be read. The queues and doorbells of an EFA are write-only. */
static void read_bar(struct vm_device *dev, uint32_t bar, uint8_t *to, uint64_t offset, uint32_t count)
{
	for (uint32_t at = 0; at < count; at++) {
		uint32_t skip = (uint32_t)(offset + at) % 4;
		uint32_t word = bar == VE_REG_BAR ? ve_reg_read(dev->efa, (uint32_t)(offset + at) - skip) : 0;

		to[at] = (uint8_t)(word >> 8 * skip);
	}
}

static void ring(struct vm_device *dev, uint32_t offset, uint32_t value)
{
	uint32_t page = offset / VE_PAGE, in_page = offset % VE_PAGE;
	int err = -ENOENT;

	if (page < VE_QPS)
		err = ve_ring_qp(dev->efa, page, in_page, value);
	else if (page - VE_QPS < VE_CQS)
		err = ve_ring_cq(dev->efa, page - VE_QPS, in_page, value);
	if (err)
		vm_report(dev, "doorbell at %#x, which belongs to no queue", offset);
}

/* Handles a store. A client that does not map the queues sends WQEs in messages. */
static int write_bar(struct vm_device *dev, uint32_t bar, const uint8_t *from, uint64_t offset,
		     uint32_t count)
{
	if (offset % 4 || count % 4)
		return -EINVAL;
	if (bar == VE_MEM_BAR) {
		memcpy(dev->efa->mem + offset, from, count);
		return 0;
	}
	for (uint32_t at = 0; at < count; at += 4) {
		uint32_t word;

		memcpy(&word, from + at, sizeof(word));
		if (bar == VE_REG_BAR)
			ve_reg_write(dev, (uint32_t)offset + at, word);
		else
			ring(dev, (uint32_t)offset + at, word);
	}
	return 0;
}

const struct vm_kind vm_efa = {
	.open = open_device,
	.close = close_device,
	.reset = ve_reset,
	.settle = settle,
	.violations = violations,
	.mappable = mappable,
	.read = read_bar,
	.write = write_bar,
};
