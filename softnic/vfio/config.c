/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Config space as vfio-pci shows it. Few bits are writable, and only one has an effect: bus mastering,
 * which lets the function reach memory. PCI 3.0, chapter 6; PCI Express Base, chapter 7.
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
	AT_GATEWAY = 0xb0,
};
enum { COMMAND_MEMORY = 1 << 1, COMMAND_MASTER = 1 << 2, STATUS_CAPS = 1 << 4 };
enum { CAP_VENDOR = 0x09, CAP_PCIE = 0x10, CAP_MSIX = 0x11 };
enum {
	PCIE_DEVCTL = AT_PCIE + 8,
	DEVCTL_FLR = 1 << 7,		/* a bit in the upper byte of the device control register */
	MSIX_CONTROL = AT_MSIX + 2,
	/* 16 bits for the number of the address space; the status is in the upper three of 32 bits */
	GATEWAY_SPACE = AT_GATEWAY + 4,
	GATEWAY_TICKET = AT_GATEWAY + 8,
	GATEWAY_LOCK = AT_GATEWAY + 0xc,
	GATEWAY_SIZE = 0x18,
};

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

/* Writes the fields that vfio-pci in a kernel would hide. */
static void put_whole(const struct vf_identity *id, uint8_t *c)
{
	/* Device capabilities: function-level reset, role-based errors. Link capabilities and status: 16
	 * lanes of 8 GT/s */
	put32(c + AT_PCIE + 4, UINT32_C(1) << 28 | 1 << 15);
	put32(c + AT_PCIE + 0xc, 0x103);
	put16(c + AT_PCIE + 0x12, 0x103);
	put32(c + AT_MSIX + 4, id->msix_bar);
	put32(c + AT_MSIX + 8, VF_MSIX_SIZE / 2 | id->msix_bar);
}

/*
 * Tools read a ConnectX's internal address spaces through a gateway. This one has no space, so its status
 * stays 0. A driver owns the gateway while the lock contains its ticket. A function has one driver, so
 * there is one ticket.
 */
static void put_gateway(uint8_t *c)
{
	c[AT_MSIX + 1] = AT_GATEWAY;
	c[AT_GATEWAY] = CAP_VENDOR;
	c[AT_GATEWAY + 2] = GATEWAY_SIZE;
	put32(c + GATEWAY_TICKET, 1);
}

static void put_caps(uint8_t *c)
{
	c[AT_CAPS] = AT_PCIE;
	c[AT_PCIE] = CAP_PCIE;
	c[AT_PCIE + 1] = AT_MSIX;
	put16(c + AT_PCIE + 2, 0x0002);			/* version 2, an endpoint */
	put32(c + AT_PCIE + 4, UINT32_C(1) << 28);	/* function-level reset */
	c[AT_MSIX] = CAP_MSIX;
	put16(c + MSIX_CONTROL, VF_VECTORS - 1);
}

/* Resets the config space to the state in which the kernel passes a function on: memory enabled, bus
 * mastering disabled. */
void vf_config_reset(struct vf_config *config)
{
	uint8_t *c = config->bytes;

	memset(c, 0, sizeof(config->bytes));
	put16(c, config->id.vendor);
	put16(c + 0x02, config->id.device);
	put16(c + AT_COMMAND, COMMAND_MEMORY);
	put16(c + AT_STATUS, STATUS_CAPS);
	put16(c + 0x0a, config->id.class);
	for (size_t i = 0; i < VF_BARS; i++)
		put32(c + AT_BAR0 + 4 * i, config->bar[i].type);
	put16(c + 0x2c, config->id.vendor);
	put16(c + 0x2e, config->id.subsystem);
	put_caps(c);
	if (config->id.whole)
		put_whole(&config->id, c);
	if (config->id.gateway)
		put_gateway(c);
}

static bool outside(size_t n, uint64_t off)
{
	return off > VF_CONFIG || n > VF_CONFIG - off;
}

ssize_t vf_config_read(struct vf_config *config, void *buf, size_t n, uint64_t off)
{
	if (outside(n, off))
		return -EFAULT;
	memcpy(buf, config->bytes + off, n);
	return (ssize_t)n;
}

/*
 * The writable bits of a BAR are those above its size, so that drivers can determine the size. A BAR of 64
 * bits continues in the next register.
 */
static uint8_t bar_bits(const struct vf_config *config, size_t byte)
{
	size_t i = byte / 4;
	uint64_t size = config->bar[i].size, bits;

	byte %= 4;
	if (!size && i && config->bar[i - 1].type & VF_BAR_64) {
		size = config->bar[i - 1].size;
		byte += 4;
	}
	bits = size ? ~(size - 1) : 0;
	return (uint8_t)(bits >> 8 * byte);
}

static uint8_t writable_gateway(size_t at)
{
	bool space = at >= GATEWAY_SPACE && at < GATEWAY_SPACE + 2;
	bool lock = at >= GATEWAY_LOCK && at < GATEWAY_LOCK + 4;

	return space || lock ? 0xff : 0;
}

static uint8_t writable_whole(size_t at)
{
	switch (at) {
	case PCIE_DEVCTL:
	case PCIE_DEVCTL + 1:
		return 0xff;
	case MSIX_CONTROL + 1:
		return 0xc0;		/* bits: enable, function mask */
	default:
		return 0;
	}
}

/* Returns the bits of a byte that a driver may change. */
static uint8_t writable(const struct vf_config *config, size_t at)
{
	switch (at) {
	case AT_COMMAND:
		return 0x47;		/* bits: I/O, memory, bus mastering, parity */
	case AT_COMMAND + 1:
		return 0x05;		/* bits: SERR and INTx disable */
	case AT_LINE:
		return 0xff;
	default:
		break;
	}
	if (at >= AT_BAR0 && at < AT_BAR0 + 4 * VF_BARS)
		return bar_bits(config, at - AT_BAR0);
	if (config->id.gateway && at >= AT_GATEWAY)
		return writable_gateway(at);
	return config->id.whole ? writable_whole(at) : 0;
}

ssize_t vf_config_write(struct vf_config *config, const void *buf, size_t n, uint64_t off)
{
	const uint8_t *p = buf;

	if (outside(n, off))
		return -EFAULT;
	for (size_t i = 0; i < n; i++) {
		uint8_t *at = &config->bytes[off + i], mask = writable(config, (size_t)off + i);

		*at = (uint8_t)((*at & ~mask) | (p[i] & mask));
	}
	atomic_store_explicit(&config->master, config->bytes[AT_COMMAND] & COMMAND_MASTER,
			      memory_order_release);
	return (ssize_t)n;
}

bool vf_config_take_flr(struct vf_config *config)
{
	uint8_t *control = &config->bytes[PCIE_DEVCTL + 1];
	bool flr = *control & DEVCTL_FLR;

	*control &= (uint8_t)~DEVCTL_FLR;
	return flr;
}
