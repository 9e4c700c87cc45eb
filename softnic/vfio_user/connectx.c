/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ConnectX: BAR 0 with initialization segment and doorbell pages, BAR 2 with the MSI-X table.
 *
 * The client maps BAR 0 except for two pages: that of commands, and that of the guest driver's own
 * doorbells. A store to those comes as a message and takes effect at once. The driver's EQs share one
 * word and have no record in memory, so no store may be lost. Doorbells of programs are stores to
 * mapped pages, which the device scans.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/vfio/names.h"
#include "softnic/vfio_user/vm.h"

enum { PAGE = 4096, DRIVER = SOFTNIC_UAR_DRIVER };
enum { DEVICE_VF = 0x101e, CLASS_INFINIBAND = 0x0207 };

/* A write to read-only memory succeeds: see map_file(). */
static void *dma(void *ctx, uint64_t addr, size_t len, bool write)
{
	(void)write;
	return vm_dma(ctx, addr, len);
}

static void irq(void *ctx, unsigned int vector)
{
	struct vm_device *dev = ctx;

	vf_irq_fire(&dev->irqs, vector);
}

/* Linux reads the timestamp formats only for RoCE ports, and makes QPs of InfiniBand ports
 * free-running. So the device must accept free-running timestamps. */
static int open_device(struct vm_device *dev)
{
	const struct softnic_config config = {
		.flags = SOFTNIC_COLD | SOFTNIC_KEEPS_COMMANDS | SOFTNIC_SCAN_UARS | SOFTNIC_THREAD_BACKOFF |
			SOFTNIC_FREE_RUNNING | (dev->given.infiniband ? SOFTNIC_INFINIBAND : 0),
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
	dev->config.id = (struct vf_identity){
		.vendor = VF_VENDOR,
		.device = dev->given.physical ? VF_DEVICE_ID : DEVICE_VF,
		.class = dev->given.infiniband ? CLASS_INFINIBAND : VF_CLASS,
		.subsystem = VF_SUBSYSTEM,
		.gateway = dev->given.physical,
		.msix_bar = VF_MSIX_BAR,
	};
	dev->config.bar[0] = (struct vf_bar){ size, VF_BAR_64 | VF_BAR_PREFETCH };
	dev->config.bar[VF_MSIX_BAR] = (struct vf_bar){ VF_MSIX_SIZE, VF_BAR_64 };
	err = script ? softnic_fault(dev->nic, script) : 0;
	if (err)
		softnic_close(dev->nic);
	return err;
}

static void close_device(struct vm_device *dev)
{
	softnic_close(dev->nic);
}

static void reset(struct vm_device *dev)
{
	dev->half.there = false;
	softnic_reset(dev->nic);
}

static void settle(struct vm_device *dev)
{
	struct softnic_counters c;

	/* softnic_counters() returns only after the device has released its lock */
	softnic_counters(dev->nic, &c);
}

static size_t violations(struct vm_device *dev, struct softnic_violation *v, size_t max)
{
	size_t n = softnic_violations(dev->nic, v, max);

	softnic_violations_clear(dev->nic);
	return n;
}

/* Two areas can be mapped: between the initialization segment and the driver's page, and above that
 * page. */
static unsigned int mappable(const struct vm_device *dev, uint32_t bar,
			     struct vfio_region_sparse_mmap_area area[VM_AREAS])
{
	if (bar != VFIO_PCI_BAR0_REGION_INDEX)
		return 0;
	area[0].offset = PAGE;
	area[0].size = (DRIVER - 1) * PAGE;
	area[1].offset = (DRIVER + 1) * PAGE;
	area[1].size = dev->config.bar[0].size - area[1].offset;
	return 2;
}

static uint32_t *bar_word(struct vm_device *dev, uint64_t offset)
{
	uint8_t *page = softnic_uar(dev->nic, (uint32_t)(offset / PAGE));

	return (uint32_t *)(void *)(page + offset % PAGE);
}

/* A word of the BAR is read in one access, because the guest and the device write whole words. */
static void read_bar(struct vm_device *dev, uint32_t bar, uint8_t *to, uint64_t offset, uint32_t count)
{
	(void)bar;
	for (uint32_t at = 0; at < count;) {
		uint64_t skip = (offset + at) % 4;
		uint32_t word = __atomic_load_n(bar_word(dev, offset + at - skip), __ATOMIC_ACQUIRE);
		uint32_t n = 4 - (uint32_t)skip < count - at ? 4 - (uint32_t)skip : count - at;

		memcpy(to + at, (uint8_t *)&word + skip, n);
		at += n;
	}
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

	/* Ignores the rest of a WQE that the guest copies in words of 8 bytes: the device reads the
	 * WQE from the queue. */
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

/* PRM "Initialization Segment": each bit is the doorbell of a slot of commands. */
enum { COMMAND_DOORBELL = 0x18 };

/* Handles a store below the doorbell pages, and drives the device. */
static int write_segment(struct vm_device *dev, const uint8_t *from, uint64_t offset, uint32_t count)
{
	uint32_t word;

	if (offset % 4 || count % 4)
		return -EINVAL;
	for (uint32_t at = 0; at < count; at += 4) {
		memcpy(&word, from + at, sizeof(word));
		if (offset + at == COMMAND_DOORBELL)
			__atomic_fetch_or(bar_word(dev, offset + at), word, __ATOMIC_RELEASE);
		else
			__atomic_store_n(bar_word(dev, offset + at), word, __ATOMIC_RELEASE);
	}
	softnic_pump(dev->nic);
	return 0;
}

static int write_bar(struct vm_device *dev, uint32_t bar, const uint8_t *from, uint64_t offset,
		     uint32_t count)
{
	uint64_t below = (uint64_t)DRIVER * PAGE, n = offset < below ? below - offset : 0;
	int err = 0;

	(void)bar;
	if (n > count)
		n = count;
	if (n)
		err = write_segment(dev, from, offset, (uint32_t)n);
	return err || n == count ? err : write_doorbells(dev, from + n, offset + n, count - (uint32_t)n);
}

const struct vm_kind vm_connectx = {
	.open = open_device,
	.close = close_device,
	.reset = reset,
	.settle = settle,
	.violations = violations,
	.mappable = mappable,
	.read = read_bar,
	.write = write_bar,
};
