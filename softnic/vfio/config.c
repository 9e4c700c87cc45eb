/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Config space as vfio-pci shows it: what may be written is little, and only one bit of it counts,
 * that which lets the function reach memory. PCI 3.0, chapter 6; PCI Express Base, chapter 7.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "softnic/vfio/names.h"
#include "softnic/vfio/pci.h"

enum {
	AT_COMMAND = 0x04,
	AT_STATUS = 0x06,
	AT_BAR0 = 0x10,
	AT_CAPS = 0x34,
	AT_LINE = 0x3c,
	AT_PCIE = 0x60,
	AT_MSIX = 0x9c,
};
enum { COMMAND_MEMORY = 1 << 1, COMMAND_MASTER = 1 << 2, STATUS_CAPS = 1 << 4 };
enum { CAP_PCIE = 0x10, CAP_MSIX = 0x11 };

static void put16(uint8_t *at, uint16_t v)
{
	v = htole16(v);
	memcpy(at, &v, sizeof(v));
}

static void put32(uint8_t *at, uint32_t v)
{
	v = htole32(v);
	memcpy(at, &v, sizeof(v));
}

static void put_caps(uint8_t *c)
{
	c[AT_CAPS] = AT_PCIE;
	c[AT_PCIE] = CAP_PCIE;
	c[AT_PCIE + 1] = AT_MSIX;
	put16(c + AT_PCIE + 2, 0x0002);			/* version 2, an endpoint */
	put32(c + AT_PCIE + 4, UINT32_C(1) << 28);	/* function-level reset */
	c[AT_MSIX] = CAP_MSIX;
	put16(c + AT_MSIX + 2, VF_VECTORS - 1);
}

/* The kernel has turned memory on and bus mastering off when it hands the function over. */
void vf_config_reset(struct vf_config *config)
{
	uint8_t *c = config->bytes;

	memset(c, 0, sizeof(config->bytes));
	put16(c, VF_VENDOR);
	put16(c + 0x02, VF_DEVICE_ID);
	put16(c + AT_COMMAND, COMMAND_MEMORY);
	put16(c + AT_STATUS, STATUS_CAPS);
	put16(c + 0x0a, 0x0200);			/* network, Ethernet */
	put32(c + AT_BAR0, 0xc);			/* 64 bits, prefetchable */
	put16(c + 0x2c, VF_VENDOR);
	put16(c + 0x2e, 0x0001);
	put_caps(c);
}

ssize_t vf_config_read(struct vf_config *config, void *buf, size_t n, uint64_t off)
{
	if (off >= VF_CONFIG)
		return 0;
	if (n > VF_CONFIG - off)
		n = VF_CONFIG - (size_t)off;
	memcpy(buf, config->bytes + off, n);
	return (ssize_t)n;
}

/* Bits of a byte that a driver may change. */
static uint8_t writable(const struct vf_config *config, size_t at)
{
	uint64_t size_bits = ~(config->bar_size - 1);

	switch (at) {
	case AT_COMMAND:
		return 0x47;		/* I/O, memory, mastering, parity */
	case AT_COMMAND + 1:
		return 0x05;		/* SERR, no INTx */
	case AT_LINE:
		return 0xff;
	default:
		break;
	}
	if (at < AT_BAR0 || at >= AT_BAR0 + 8)
		return 0;
	/* A BAR keeps the bits above its size: so its size is found. */
	return (uint8_t)(size_bits >> 8 * (at - AT_BAR0));
}

ssize_t vf_config_write(struct vf_config *config, const void *buf, size_t n, uint64_t off)
{
	const uint8_t *p = buf;

	if (off >= VF_CONFIG)
		return 0;
	if (n > VF_CONFIG - off)
		n = VF_CONFIG - (size_t)off;
	for (size_t i = 0; i < n; i++) {
		uint8_t *at = &config->bytes[off + i], mask = writable(config, (size_t)off + i);

		*at = (uint8_t)((*at & ~mask) | (p[i] & mask));
	}
	atomic_store_explicit(&config->master, config->bytes[AT_COMMAND] & COMMAND_MASTER,
			      memory_order_release);
	return (ssize_t)n;
}
