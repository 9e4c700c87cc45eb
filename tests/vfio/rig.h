/* SPDX-License-Identifier: BSD-2-Clause */
/* A program on stock libmlx5 behind VFIO, or on VFIO alone. Failures end the test. */
#ifndef TESTS_VFIO_RIG_H
#define TESTS_VFIO_RIG_H

#include <criterion/criterion.h>
#include <infiniband/mlx5dv.h>
#include <stdint.h>

#include "tests/harness/harness.h"

/* Tests run in parallel, and a group serves only one process. So each process has functions of its
 * own. */
enum { RIG_FUNCTIONS = 16, RIG_GROUP = 11 };

struct rig_name {
	char pci[16], group[24];
	unsigned int index;
};

/* Returns the name of a function that no other process has. It stays reserved for this process. */
struct rig_name rig_name(void);

/* Returns NULL and sets errno if the device cannot be opened. */
struct ibv_context *rig_try_open(const char *pci);
struct ibv_context *rig_open(const struct rig_name *name);

/* Runs one command by mlx5dv_devx_general_cmd. Returns its status. */
uint8_t rig_cmd(struct ibv_context *ctx, void *in, size_t inlen, void *out, size_t outlen);
/* Sets entry 0 of the address table from the port's MAC, and returns it. */
void rig_set_gid(struct ibv_context *ctx, uint8_t gid[16]);

/* Applies a fault script (softnic_fault) to the device that this process has open. */
void rig_fault(const struct rig_name *name, const char *script);

/* Using VFIO directly: descriptors of a container, of a group in it, and of the function. */
struct rig_fds {
	int container, group, device;
};
struct rig_fds rig_fds(const struct rig_name *name);
void rig_fds_close(const struct rig_fds *f);
/* Makes an ioctl. Returns 0 or the errno. */
int rig_ioctl(int fd, unsigned long request, void *arg);
int rig_map(int container, void *mem, uint64_t iova, uint64_t size);

#endif
