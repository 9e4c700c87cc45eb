/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/uverbs/front.h"

/* Converts a command's status to an errno, as mlx5_core does. PRM, command interface. */
static int status_errno(uint32_t status)
{
	switch (status) {
	case 0x00: return 0;
	case 0x01: return -EIO;		/* an internal error */
	case 0x04: return -EIO;		/* a bad system state */
	case 0x06: return -EBUSY;	/* the resource is busy */
	case 0x08: return -ENOMEM;	/* a limit is exceeded */
	case 0x0f: return -EAGAIN;	/* no resources are left */
	case 0x50: return -EIO;		/* the input has a wrong length */
	case 0x51: return -EIO;		/* the output has a wrong length */
	default: return -EINVAL;
	}
}

int uv_cmd(struct uv_device *dev, const void *in, size_t inlen, void *out, size_t outlen)
{
	int err = softnic_cmd(dev->nic, in, inlen, out, outlen);

	return err ? err : status_errno(sn_get(out, PRM_STATUS));
}

int uv_cmd_number(struct uv_device *dev, enum prm_opcode opcode, uint32_t number, void *out,
		  size_t outlen)
{
	uint8_t in[PRM_SHORT] = { 0 };
	uint8_t answer[PRM_SHORT];

	sn_set(in, PRM_OPCODE, opcode);
	sn_set(in, PRM_NUMBER, number);
	if (!out)
		return uv_cmd(dev, in, sizeof(in), answer, sizeof(answer));
	return uv_cmd(dev, in, sizeof(in), out, outlen);
}

int uv_create(struct uv_device *dev, enum prm_opcode opcode, void *in, size_t inlen,
	      uint32_t *number)
{
	uint8_t out[PRM_SHORT];
	int err;

	sn_set(in, PRM_OPCODE, opcode);
	err = uv_cmd(dev, in, inlen, out, sizeof(out));
	if (!err)
		*number = sn_get(out, PRM_NUMBER);
	return err;
}

size_t uv_pages(uint64_t addr, uint64_t len, unsigned int shift)
{
	uint64_t first = addr >> shift;

	return len ? (size_t)(((addr + len - 1) >> shift) - first + 1) : 0;
}

/* Fills in a page list. Bus addresses are this process's own addresses, so the list has no gaps. */
void uv_fill_pages(uint8_t *list, uint64_t addr, size_t npages, unsigned int shift,
		   uint64_t flags)
{
	uint64_t base = addr >> shift << shift;

	for (size_t i = 0; i < npages; i++) {
		be64_t page = to_be64((base + ((uint64_t)i << shift)) | flags);

		memcpy(list + i * sizeof(page), &page, sizeof(page));
	}
}

uint8_t *uv_create_alloc(uint64_t addr, uint64_t bytes, unsigned int shift, uint64_t flags, size_t *len)
{
	size_t npages = uv_pages(addr, bytes, shift);
	uint8_t *cmd;

	/* Page lists of MKEYs have an even number of entries. */
	*len = PRM_OBJECT_IN + (npages + 1) / 2 * 16;
	cmd = calloc(1, *len);
	if (cmd)
		uv_fill_pages(cmd + PRM_OBJECT_IN, addr, npages, shift, flags);
	return cmd;
}

int uv_create_free(struct uv_device *dev, enum prm_opcode opcode, uint8_t *in, size_t inlen,
		   uint32_t *number)
{
	int err = uv_create(dev, opcode, in, inlen, number);

	free(in);
	return err;
}

int uv_alloc(struct uv_device *dev, uint16_t uid, enum prm_opcode opcode, uint32_t *number)
{
	uint8_t in[PRM_SHORT] = { 0 };

	sn_set(in, PRM_UID, uid);
	return uv_create(dev, opcode, in, sizeof(in), number);
}

static int query_cap(struct uv_device *dev, enum prm_cap_type type, uint8_t cap[4096])
{
	uint8_t in[PRM_SHORT] = { 0 };
	uint8_t *out = calloc(1, PRM_CAP_OUT);
	int err;

	if (!out)
		return -ENOMEM;
	sn_set(in, PRM_OPCODE, PRM_QUERY_HCA_CAP);
	sn_set(in, PRM_OP_MOD, (uint32_t)type << 1 | 1);
	err = uv_cmd(dev, in, sizeof(in), out, PRM_CAP_OUT);
	if (!err)
		memcpy(cap, out + PRM_SHORT, 4096);
	free(out);
	return err;
}

int uv_query_caps(struct uv_device *dev)
{
	int err = query_cap(dev, PRM_CAP_GENERAL, dev->cap);

	if (err)
		return err;
	dev->ports = uv_cap(dev, CAP_NUM_PORTS);
	dev->infiniband = !uv_cap(dev, CAP_PORT_TYPE);
	dev->gids = 1;
	if (dev->infiniband)
		return 0;
	err = query_cap(dev, PRM_CAP_ROCE, dev->roce);
	dev->gids = sn_get(dev->roce, CAP_ROCE_TABLE_SIZE);
	return err;
}

int uv_query_vport(struct uv_device *dev, unsigned int port, uint8_t out[PRM_VPORT_OUT])
{
	uint8_t in[PRM_SHORT] = { 0 };

	sn_set(in, PRM_OPCODE, PRM_QUERY_HCA_VPORT_CONTEXT);
	sn_set(in, PRM_VPORT_PORT, port);
	return uv_cmd(dev, in, sizeof(in), out, PRM_VPORT_OUT);
}

/* IBTA 4.1.1: the default subnet prefix and the port's GUID. */
static int infiniband_gid(struct uv_device *dev, unsigned int port, struct uv_gid *gid)
{
	uint8_t out[PRM_VPORT_OUT];
	int err = uv_query_vport(dev, port, out);

	if (err)
		return err;
	*gid = (struct uv_gid){ .raw = { 0xfe, 0x80 } };
	memcpy(gid->raw + 8, out + VPORT_PORT_GUID, 8);
	return 0;
}

int uv_query_gid(struct uv_device *dev, unsigned int port, unsigned int index, struct uv_gid *gid)
{
	static const uint8_t none[16];
	uint8_t in[PRM_SHORT] = { 0 }, out[PRM_ROCE_OUT];
	int err;

	if (dev->infiniband)
		return index ? -ENODATA : infiniband_gid(dev, port, gid);
	sn_set(in, PRM_OPCODE, PRM_QUERY_ROCE_ADDRESS);
	sn_set(in, PRM_ROCE_INDEX, index);
	sn_set(in, PRM_ROCE_PORT, port);
	err = uv_cmd(dev, in, sizeof(in), out, sizeof(out));
	if (err)
		return err;
	if (memcmp(out + ROCE_GID, none, sizeof(none)) == 0)
		return -ENODATA;
	memcpy(gid->raw, out + ROCE_GID, sizeof(gid->raw));
	gid->version = (uint8_t)sn_get(out + ROCE_ADDRESS, ROCE_VERSION);
	return 0;
}

/*
 * On hardware neighbour discovery finds the MAC. The fabric knows its ports only by GID: a link-local
 * GID holds the MAC (RFC 4291, modified EUI-64), any other gets a locally administered one.
 */
void uv_rmac_of(const uint8_t gid[16], uint8_t mac[6])
{
	if (gid[0] == 0xfe && gid[1] == 0x80) {
		mac[0] = gid[8] ^ 2;
		memcpy(mac + 1, gid + 9, 2);
		memcpy(mac + 3, gid + 13, 3);
	} else {
		mac[0] = 2;
		memcpy(mac + 1, gid + 11, 5);
	}
}
