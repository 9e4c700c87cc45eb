/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/stock/devx.h"
#include "tests/vfio/rig.h"

/* The suite has a lock for each group, which decides which process may use the group. */
struct rig_name rig_name(void)
{
	struct rig_name n;
	char path[256];

	for (n.index = 0; n.index < RIG_FUNCTIONS; n.index++) {
		int fd;

		snprintf(path, sizeof(path), "%s/test.%u", getenv("SYSFS_PATH"), n.index);
		fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
		cr_assert_geq(fd, 0);
		if (!flock(fd, LOCK_EX | LOCK_NB))
			break;
		close(fd);
	}
	cr_assert_lt(n.index, RIG_FUNCTIONS, "all functions are in use");
	snprintf(n.pci, sizeof(n.pci), "0000:%02x:00.0", (n.index + 1) & 0xff);
	snprintf(n.group, sizeof(n.group), "/dev/vfio/%u", RIG_GROUP + n.index);
	return n;
}

struct ibv_context *rig_try_open(const char *pci)
{
	struct mlx5dv_vfio_context_attr attr = { .pci_name = pci };
	struct ibv_device **list = mlx5dv_get_vfio_device_list(&attr);
	struct ibv_context *ctx = list ? ibv_open_device(list[0]) : NULL;
	int err = errno;

	if (list)
		ibv_free_device_list(list);
	errno = err;
	return ctx;
}

struct ibv_context *rig_open(const struct rig_name *name)
{
	struct ibv_context *ctx = rig_try_open(name->pci);

	cr_assert_not_null(ctx, "%s cannot be opened: %s", name->pci, strerror(errno));
	return ctx;
}

uint8_t rig_cmd(struct ibv_context *ctx, void *in, size_t inlen, void *out, size_t outlen)
{
	mlx5dv_devx_general_cmd(ctx, in, inlen, out, outlen);
	return (uint8_t)dx_get(out, 0, 0, 8);
}

/* PRM: QUERY_NIC_VPORT_CONTEXT has the MAC at 0xf6 of the context; SET_ROCE_ADDRESS the GID first. */
void rig_set_gid(struct ibv_context *ctx, uint8_t gid[16])
{
	uint8_t in[0x30] = { 0 }, out[0x110] = { 0 }, *mac = out + 0x10 + 0xf6;
	uint8_t made[16] = { 0xfe, 0x80, [11] = 0xff, 0xfe };

	dx_head(in, 0x754, 0);
	cr_assert_eq(rig_cmd(ctx, in, 16, out, sizeof(out)), 0);
	memcpy(made + 8, mac, 3);
	memcpy(made + 13, mac + 3, 3);
	made[8] ^= 2;
	memset(in, 0, sizeof(in));
	dx_head(in, 0x761, 0);
	memcpy(in + 0x10, made, 16);
	memcpy(in + 0x10 + 0x12, mac, 6);
	dx_put(in, 0x10 + 0x18, 20, 4, 1);
	dx_put(in, 0x10 + 0x18, 24, 8, 2);
	cr_assert_eq(rig_cmd(ctx, in, sizeof(in), out, 16), 0);
	memcpy(gid, made, 16);
}

void rig_fault(const struct rig_name *name, const char *script)
{
	cr_assert_eq(th_front_fault(name->index, script), 0);
}

int rig_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? errno : 0;
}

struct rig_fds rig_fds(const struct rig_name *name)
{
	struct rig_fds f = { open("/dev/vfio/vfio", O_RDWR), open(name->group, O_RDWR), -1 };

	cr_assert_geq(f.container, 0);
	cr_assert_geq(f.group, 0, "%s cannot be opened: %s", name->group, strerror(errno));
	cr_assert_eq(rig_ioctl(f.group, VFIO_GROUP_SET_CONTAINER, &f.container), 0);
	cr_assert_eq(ioctl(f.container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU), 0);
	f.device = ioctl(f.group, VFIO_GROUP_GET_DEVICE_FD, name->pci);
	cr_assert_geq(f.device, 0, "the group returned no device descriptor: %s", strerror(errno));
	return f;
}

void rig_fds_close(const struct rig_fds *f)
{
	close(f->device);
	close(f->container);
	close(f->group);
}

int rig_map(int container, void *mem, uint64_t iova, uint64_t size)
{
	struct vfio_iommu_type1_dma_map map = {
		.argsz = sizeof(map), .flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
		.vaddr = (uintptr_t)mem, .iova = iova, .size = size,
	};

	return rig_ioctl(container, VFIO_IOMMU_MAP_DMA, &map);
}
