/* SPDX-License-Identifier: BSD-2-Clause */
/* Data and events with stock libmlx5: DEVX objects, an EQ with its own interrupt. */
#include <errno.h>
#include <linux/vfio.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/stock/devx.h"
#include "tests/vfio/rig.h"

enum { EQ_LOG = 7, PORT_CHANGE = 9 };

struct eq {
	struct ibv_context *ctx;
	struct mlx5dv_devx_msi_vector *msi;
	struct mlx5dv_devx_uar *uar;
	struct mlx5dv_devx_eq *eq;
	uint32_t eqn, ci;
};

static struct rig_name name;
static struct ibv_context *ctx;
static struct eq eq;

/* PRM: a store of eqn(8) ci(24) at 0x40 of the page arms the EQ. */
static void arm(void)
{
	uint32_t v = htobe32(eq.eqn << 24 | (eq.ci & 0xffffff));

	__atomic_store_n((uint32_t *)(void *)((uint8_t *)eq.uar->base_addr + 0x40), v, __ATOMIC_RELEASE);
}

static void create_eq(void)
{
	uint8_t in[0x110] = { 0 }, out[16] = { 0 }, *eqc = in + 0x10;

	eq.ctx = ctx;
	cr_assert_not_null(eq.msi = mlx5dv_devx_alloc_msi_vector(ctx),
			   "the MSI vector cannot be allocated: %s", strerror(errno));
	cr_assert_not_null(eq.uar = mlx5dv_devx_alloc_uar(ctx, MLX5DV_UAR_ALLOC_TYPE_NC));
	dx_head(in, 0x301, 0);
	dx_put(eqc, 0x0c, 3, 5, EQ_LOG);
	dx_put(eqc, 0x0c, 8, 24, eq.uar->page_id);
	dx_put(eqc, 0x14, 24, 8, (uint32_t)eq.msi->vector);
	dx_put64(in, 0x58, 1 << PORT_CHANGE);
	eq.eq = mlx5dv_devx_create_eq(ctx, in, sizeof(in), out, sizeof(out));
	cr_assert_not_null(eq.eq, "the EQ cannot be created, syndrome %#x", dx_get(out, 4, 0, 32));
	eq.eqn = dx_get(out, 8, 24, 8);
	for (int i = 0; i < 1 << EQ_LOG; i++)
		((uint8_t *)eq.eq->vaddr)[64 * i + 63] = 1;
	arm();
}

/* Returns the type of the next event, and its data. If the interrupt comes too early, waits
 * again. */
static uint8_t next_event(uint8_t data[28])
{
	for (;;) {
		uint8_t *e = (uint8_t *)eq.eq->vaddr + 64 * (size_t)(eq.ci & ((1 << EQ_LOG) - 1));
		struct pollfd p = { .fd = eq.msi->fd, .events = POLLIN };
		uint64_t n;

		if ((__atomic_load_n(e + 63, __ATOMIC_ACQUIRE) & 1) == (eq.ci >> EQ_LOG & 1)) {
			memcpy(data, e + 32, 28);
			eq.ci++;
			arm();
			return e[1];
		}
		cr_assert_eq(poll(&p, 1, ST_LIMIT_MS), 1, "the EQ raised no interrupt in time");
		cr_assert_eq(read(p.fd, &n, sizeof(n)), sizeof(n));
	}
}

static uint32_t port_is_up(void)
{
	uint8_t in[16] = { 0 }, out[16] = { 0 };

	dx_head(in, 0x750, 0);		/* the command QUERY_VPORT_STATE */
	cr_assert_eq(rig_cmd(ctx, in, sizeof(in), out, sizeof(out)), 0);
	return dx_get(out, 12, 28, 4);
}

/* The link comes up some time after INIT_HCA. Its event must not reach the queue of a test. */
static void setup(void)
{
	name = rig_name();
	ctx = rig_open(&name);
	while (!port_is_up())
		poll(NULL, 0, 1);
	create_eq();
}

static void teardown(void)
{
	cr_assert_eq(mlx5dv_devx_destroy_eq(eq.eq), 0);
	mlx5dv_devx_free_uar(eq.uar);
	cr_assert_eq(mlx5dv_devx_free_msi_vector(eq.msi), 0);
	ibv_close_device(ctx);
}

TestSuite(data, .init = setup, .fini = teardown, .timeout = 120);

/* Creates a QP that is connected to itself. */
static void create(struct dx *d)
{
	uint8_t gid[16];

	dx_create_on(d, ctx, MLX5DV_UAR_ALLOC_TYPE_NC, (int)eq.eqn);
	rig_set_gid(ctx, gid);
	dx_connect_to(d, gid);
}

Test(data, rdma_write__to_itself_lands)
{
	enum { LEN = 5000 };
	uint8_t *mem = aligned_alloc(4096, 4 * 4096);
	struct ibv_mr *mr;
	struct dx d;

	create(&d);
	mr = ibv_reg_mr(d.pd, mem, 4 * 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	cr_assert_not_null(mr);
	for (int round = 0; round < 40; round++) {
		memset(mem, 0x11 + round, LEN);
		memset(mem + 8192, 0, LEN);
		dx_write(&d, mr, (uintptr_t)mem, (uintptr_t)mem + 8192, mr->rkey, LEN);
		dx_wait(&d);
		cr_assert_arr_eq(mem, mem + 8192, LEN);
	}
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	dx_destroy(&d);
	free(mem);
}

/* The memory starts inside a page, and is longer than the largest page of an mkey. */
Test(data, memory__not_aligned_is_registered_and_written)
{
	enum { LEN = 3 << 20 };
	uint8_t *mem = aligned_alloc(4096, LEN + 8192), *at = mem + 1234;
	struct ibv_mr *mr;
	struct dx d;

	create(&d);
	cr_assert_not_null(mr = ibv_reg_mr(d.pd, at, LEN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	memset(at, 0, LEN);
	memset(at, 0xa5, 1000);
	dx_write(&d, mr, (uintptr_t)at, (uintptr_t)at + LEN - 1000, mr->rkey, 1000);
	dx_wait(&d);
	cr_assert_arr_eq(at, at + LEN - 1000, 1000);
	cr_assert_eq(at[LEN - 1001], 0);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	dx_destroy(&d);
	free(mem);
}

Test(data, completion__raises_the_interrupt)
{
	uint8_t data[28];
	struct dx d;

	create(&d);
	for (int i = 0; i < 300; i++) {
		dx_arm(&d);
		dx_nop(&d);
		cr_assert_eq(next_event(data), 0);
		cr_assert_eq(dx_get(data, 24, 8, 24), d.cqn);
		dx_wait(&d);
	}
	dx_destroy(&d);
}

Test(data, port__down_then_up_raises_an_event_for_each)
{
	uint8_t data[28];

	for (uint32_t up = 0; up < 2; up++) {
		rig_fault(&name, up ? "" : "link_down");
		cr_assert_eq(next_event(data), PORT_CHANGE);
		cr_expect_eq(data[8] >> 4, 1);
		cr_expect_eq(port_is_up(), up);
	}
}

/* PRM CREATE_MKEY: physical access, all rights, all addresses. Returns the key. */
static uint32_t create_key(struct dx *d, struct mlx5dv_devx_obj **mkey)
{
	uint8_t in[0x110] = { 0 }, out[16] = { 0 };
	struct mlx5dv_pd pd = { 0 };
	struct mlx5dv_obj obj = { .pd = { .in = d->pd, .out = &pd } };

	cr_assert_eq(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), 0);
	dx_head(in, 0x200, 0);
	dx_put(in + 0x10, 0x00, 18, 4, 0xf);
	dx_put(in + 0x10, 0x04, 0, 24, 0xffffff);
	dx_put(in + 0x10, 0x0c, 0, 1, 1);
	dx_put(in + 0x10, 0x0c, 8, 24, pd.pdn);
	*mkey = mlx5dv_devx_obj_create(ctx, in, sizeof(in), out, sizeof(out));
	cr_assert_not_null(*mkey, "the mkey cannot be created, syndrome %#x", dx_get(out, 4, 0, 32));
	return dx_get(out, 8, 8, 24) << 8;
}

static void write_fails(struct dx *d, uint64_t from, uint64_t to, uint32_t key)
{
	dx_write(d, &(struct ibv_mr){ .lkey = key }, from, to, key, 64);
	cr_assert(TH_WITHIN(ST_LIMIT_MS, d->mem[DX_CQ_AT + 64 * d->ci + 63] >> 4 == 0xd),
		  "the CQ got no error completion in time");
}

/* Unmapped memory is inaccessible: the write fails, and the memory is unchanged. */
Test(data, rdma_write__to_memory_that_is_not_mapped_fails)
{
	struct mlx5dv_devx_obj *mkey;
	uint32_t key;
	struct dx d;

	create(&d);
	key = create_key(&d, &mkey);
	write_fails(&d, UINT64_C(0x7f00000000), UINT64_C(0x7f00001000), key);
	cr_assert_eq(mlx5dv_devx_obj_destroy(mkey), 0);
	dx_destroy(&d);
}

/* libmlx5 does not show its container. */
static int container(void)
{
	for (int fd = 3; fd < 256; fd++)
		if (ioctl(fd, VFIO_CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU) == 1)
			return fd;
	return -1;
}

/* A device may read memory that is mapped with VFIO_DMA_MAP_FLAG_READ alone. */
Test(data, rdma_write__to_memory_that_is_mapped_for_reads_fails)
{
	enum { LEN = 4096 };
	const uint64_t at = UINT64_C(0x7f00000000);
	struct vfio_iommu_type1_dma_map map = { .argsz = sizeof(map), .flags = VFIO_DMA_MAP_FLAG_READ,
						.iova = at, .size = LEN };
	uint8_t *mem = aligned_alloc(4096, 2 * LEN);
	struct mlx5dv_devx_obj *mkey;
	uint32_t key;
	struct dx d;

	memset(mem, 0x5a, LEN);
	memset(mem + LEN, 0, LEN);
	create(&d);
	key = create_key(&d, &mkey);
	map.vaddr = (uintptr_t)mem;
	cr_assert_eq(rig_ioctl(container(), VFIO_IOMMU_MAP_DMA, &map), 0);
	cr_assert_eq(rig_map(container(), mem + LEN, at + LEN, LEN), 0);
	dx_write(&d, &(struct ibv_mr){ .lkey = key }, at, at + LEN, key, 64);
	dx_wait(&d);
	cr_assert_arr_eq(mem, mem + LEN, 64);
	memset(mem + LEN, 0, LEN);
	write_fails(&d, at + LEN, at, key);
	cr_expect_eq(mem[0], 0x5a);
	cr_assert_eq(mlx5dv_devx_obj_destroy(mkey), 0);
	dx_destroy(&d);
	free(mem);
}

static int far_end(int sock, void *arg)
{
	uint8_t mine[16], theirs[16];
	struct ibv_context *c;
	struct rig_name n = rig_name();
	struct dx d;

	(void)arg;
	c = rig_open(&n);
	dx_create_on(&d, c, MLX5DV_UAR_ALLOC_TYPE_NC, -1);
	rig_set_gid(c, mine);
	th_send(sock, mine, sizeof(mine));
	th_recv(sock, theirs, sizeof(theirs));
	th_meet(sock);
	ibv_close_device(c);
	return memcmp(mine, theirs, 16) == 0;
}

/* Each process has its own device, with its own address. */
Test(data, addresses__of_two_processes_differ)
{
	struct th_child child;
	uint8_t mine[16], theirs[16];

	cr_assert_eq(th_spawn(&child, far_end, NULL), 0);
	rig_set_gid(ctx, mine);
	cr_assert_eq(th_recv(child.sock, theirs, sizeof(theirs)), 0);
	cr_expect_arr_neq(mine, theirs, 16);
	cr_assert_eq(th_send(child.sock, mine, sizeof(mine)), 0);
	th_meet(child.sock);
	cr_expect_eq(th_join(&child, ST_LIMIT_MS), 0);
}
