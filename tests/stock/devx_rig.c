/* SPDX-License-Identifier: BSD-2-Clause */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/harness.h"
#include "tests/stock/devx.h"

void dx_put(void *cmd, unsigned int byte, unsigned int bit, unsigned int width, uint32_t v)
{
	uint32_t mask = width == 32 ? UINT32_MAX : (UINT32_C(1) << width) - 1, word;

	memcpy(&word, (uint8_t *)cmd + byte, 4);
	word = be32toh(word) & ~(mask << (32 - bit - width));
	word = htobe32(word | (v & mask) << (32 - bit - width));
	memcpy((uint8_t *)cmd + byte, &word, 4);
}

uint32_t dx_get(const void *cmd, unsigned int byte, unsigned int bit, unsigned int width)
{
	uint32_t word;

	memcpy(&word, (const uint8_t *)cmd + byte, 4);
	word = be32toh(word) >> (32 - bit - width);
	return width == 32 ? word : word & ((UINT32_C(1) << width) - 1);
}

void dx_put64(void *cmd, unsigned int byte, uint64_t v)
{
	dx_put(cmd, byte, 0, 32, (uint32_t)(v >> 32));
	dx_put(cmd, byte + 4, 0, 32, (uint32_t)v);
}

void dx_head(void *cmd, uint16_t opcode, uint32_t number)
{
	dx_put(cmd, 0, 0, 16, opcode);
	dx_put(cmd, 8, 8, 24, number);
}

struct ibv_context *dx_open(void)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;

	cr_assert(list && list[0] && mlx5dv_is_supported(list[0]));
	cr_assert_not_null(ctx = mlx5dv_open_device(list[0], &attr));
	ibv_free_device_list(list);
	return ctx;
}

static uint32_t make(struct dx *d, uint8_t *cmd, struct mlx5dv_devx_obj **obj)
{
	uint8_t out[DX_SHORT] = { 0 };

	*obj = mlx5dv_devx_obj_create(d->ctx, cmd, DX_LONG, out, sizeof(out));
	cr_assert_not_null(*obj, "the object cannot be created, syndrome %#x",
			   dx_get(out, 4, 0, 32));
	return dx_get(out, 8, 8, 24);
}

/* PRM CREATE_CQ: context at 0x10, then the umem. */
void dx_begin_cq(const struct dx *d, uint8_t cmd[DX_LONG])
{
	uint8_t *cqc = cmd + 0x10;

	memset(cmd, 0, DX_LONG);
	dx_head(cmd, DX_CREATE_CQ, 0);
	dx_put(cqc, 0x0c, 3, 5, __builtin_ctz(DX_CQES));
	dx_put(cqc, 0x0c, 8, 24, d->uar->page_id);
	dx_put(cqc, 0x14, 24, 8, d->eqn);
	dx_put(cqc, 0x00, 6, 1, 1);
	dx_put(cqc, 0x04, 0, 32, d->umem->umem_id);
	dx_put64(cqc, 0x38, DX_DBR_AT);
	dx_put64(cmd, 0x50, DX_CQ_AT);
	dx_put(cmd, 0x58, 0, 32, d->umem->umem_id);
	dx_put(cmd, 0x5c, 0, 1, 1);
}

static void create_cq(struct dx *d)
{
	uint8_t cmd[DX_LONG];

	dx_begin_cq(d, cmd);
	for (int i = 0; i < DX_CQES; i++)
		d->mem[DX_CQ_AT + 64 * i + 63] = 0xf1;
	d->cqn = make(d, cmd, &d->cq);
}

/* PRM CREATE_QP: context at 0x18, then the umem. A send queue of 16 blocks and no receives. */
void dx_begin_qp(const struct dx *d, uint8_t cmd[DX_LONG])
{
	uint8_t *qpc = cmd + 0x18;
	struct mlx5dv_pd pd = { 0 };
	struct mlx5dv_obj obj = { .pd = { .in = d->pd, .out = &pd } };

	memset(cmd, 0, DX_LONG);
	cr_assert_eq(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), 0);
	dx_head(cmd, DX_CREATE_QP, 0);
	dx_put(qpc, 0x00, 19, 2, 3);
	dx_put(qpc, 0x04, 8, 24, pd.pdn);
	dx_put(qpc, 0x08, 17, 4, 4);
	dx_put(qpc, 0x08, 24, 2, 1);	/* ts_format: the default of the device */
	dx_put(qpc, 0x0c, 8, 24, d->uar->page_id);
	dx_put(qpc, 0x10, 8, 24, 0x123);
	dx_put(qpc, 0x7c, 8, 24, d->cqn);
	dx_put(qpc, 0x9c, 8, 24, d->cqn);
	dx_put64(qpc, 0xa0, DX_DBR_AT + 64);
	dx_put(qpc, 0xac, 5, 3, 3);
	dx_put(qpc, 0xd0, 3, 1, 1);
	dx_put(qpc, 0xe4, 0, 32, d->umem->umem_id);
	dx_put64(cmd, 0x100, DX_SQ_AT);
	dx_put(cmd, 0x108, 0, 32, d->umem->umem_id);
	dx_put(cmd, 0x10c, 0, 1, 1);
}

static void create_qp(struct dx *d)
{
	uint8_t cmd[DX_LONG];

	dx_begin_qp(d, cmd);
	d->qpn = make(d, cmd, &d->qp);
}

void dx_create(struct dx *d, struct ibv_context *ctx)
{
	dx_create_on(d, ctx, MLX5DV_UAR_ALLOC_TYPE_BF, -1);
}

void dx_create_on(struct dx *d, struct ibv_context *ctx, uint32_t uar_type, int eqn)
{
	memset(d, 0, sizeof(*d));
	d->ctx = ctx;
	cr_assert_not_null(d->pd = ibv_alloc_pd(ctx));
	cr_assert_not_null(d->mem = aligned_alloc(4096, DX_PAGES * 4096));
	memset(d->mem, 0, DX_PAGES * 4096);
	d->umem = mlx5dv_devx_umem_reg(ctx, d->mem, DX_PAGES * 4096, IBV_ACCESS_LOCAL_WRITE);
	cr_assert_not_null(d->umem);
	cr_assert_not_null(d->uar = mlx5dv_devx_alloc_uar(ctx, uar_type));
	d->eqn = (uint32_t)eqn;
	if (eqn < 0)
		cr_assert_eq(mlx5dv_devx_query_eqn(ctx, 0, &d->eqn), 0);
	create_cq(d);
	create_qp(d);
}

void dx_destroy(struct dx *d)
{
	cr_assert_eq(mlx5dv_devx_obj_destroy(d->qp), 0);
	cr_assert_eq(mlx5dv_devx_obj_destroy(d->cq), 0);
	mlx5dv_devx_free_uar(d->uar);
	cr_assert_eq(mlx5dv_devx_umem_dereg(d->umem), 0);
	cr_assert_eq(ibv_dealloc_pd(d->pd), 0);
	free(d->mem);
}

static void modify(struct dx *d, uint8_t *cmd)
{
	uint8_t out[DX_SHORT] = { 0 };

	cr_assert_eq(mlx5dv_devx_obj_modify(d->qp, cmd, DX_LONG, out, sizeof(out)), 0,
		     "the command with opcode %#x failed with syndrome %#x", dx_get(cmd, 0, 0, 16),
		     dx_get(out, 4, 0, 32));
}

void dx_connect(struct dx *d)
{
	union ibv_gid gid;

	cr_assert_eq(ibv_query_gid(d->ctx, 1, 0, &gid), 0);
	dx_connect_to(d, gid.raw);
}

/* The MAC of a port from the link-local GID that is made of it. */
static void mac_of_gid(uint8_t mac[6], const uint8_t gid[16])
{
	memcpy(mac, gid + 8, 3);
	mac[0] ^= 2;
	memcpy(mac + 3, gid + 13, 3);
}

void dx_connect_to(struct dx *d, const uint8_t gid[16])
{
	uint8_t cmd[DX_LONG] = { 0 }, *qpc = cmd + 0x18, *path = qpc + 0x18;

	dx_head(cmd, DX_RST2INIT_QP, d->qpn);
	dx_put(qpc, 0x00, 19, 2, 3);
	dx_put(path, 0x24, 8, 8, 1);
	dx_put(qpc, 0x90, 16, 2, 3);
	modify(d, cmd);
	dx_head(cmd, DX_INIT2RTR_QP, d->qpn);
	dx_put(qpc, 0x08, 0, 3, 3);
	dx_put(qpc, 0x08, 3, 5, 30);
	dx_put(qpc, 0x14, 8, 24, d->qpn);
	dx_put(path, 0x04, 8, 1, 1);
	dx_put(path, 0x08, 24, 8, 64);
	dx_put(path, 0x20, 16, 16, 0xc123);
	dx_put(path, 0x24, 8, 8, 1);
	memcpy(path + 0x10, gid, 16);
	mac_of_gid(path + 0x26, gid);
	modify(d, cmd);
	dx_head(cmd, DX_RTR2RTS_QP, d->qpn);
	dx_put(path, 0x08, 0, 5, 14);
	dx_put(qpc, 0x70, 13, 3, 7);
	modify(d, cmd);
}

/* Stores the WQE, the record and the doorbell. The device sees each before the next. */
static void post(struct dx *d, uint8_t *wqe, uint8_t opcode, unsigned int ds)
{
	uint64_t db;

	dx_put(wqe, 0, 8, 16, d->pi);
	dx_put(wqe, 0, 24, 8, opcode);
	dx_put(wqe, 4, 0, 32, d->qpn << 8 | ds);
	wqe[11] = 2 << 2;
	d->pi++;
	__atomic_store_n((uint32_t *)(void *)(d->mem + DX_DBR_AT + 68), htobe32(d->pi), __ATOMIC_RELEASE);
	memcpy(&db, wqe, sizeof(db));
	__atomic_store_n((uint64_t *)d->uar->reg_addr, db, __ATOMIC_RELEASE);
}

static uint8_t *new_wqe(struct dx *d)
{
	return memset(d->mem + DX_SQ_AT + 64 * (d->pi & 15), 0, 64);
}

void dx_nop(struct dx *d)
{
	post(d, new_wqe(d), 0, 1);
}

void dx_write(struct dx *d, const struct ibv_mr *mr, uint64_t from, uint64_t to, uint32_t rkey,
	      uint32_t len)
{
	uint8_t *wqe = new_wqe(d);

	dx_put64(wqe, 16, to);
	dx_put(wqe, 24, 0, 32, rkey);
	dx_put(wqe, 32, 0, 32, len);
	dx_put(wqe, 36, 0, 32, mr->lkey);
	dx_put64(wqe, 40, from);
	post(d, wqe, 0x08, 3);
}

void dx_arm(struct dx *d)
{
	uint32_t hi = (uint32_t)(d->arm_sn++ & 3) << 28 | d->ci;
	uint64_t db = htobe64((uint64_t)hi << 32 | d->cqn);

	__atomic_store_n((uint32_t *)(void *)(d->mem + DX_DBR_AT + 4), htobe32(hi), __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)(void *)((uint8_t *)d->uar->base_addr + 0x20), db, __ATOMIC_RELEASE);
}

bool dx_polled(struct dx *d)
{
	uint8_t own = __atomic_load_n(d->mem + DX_CQ_AT + 64 * (d->ci & (DX_CQES - 1)) + 63,
				      __ATOMIC_ACQUIRE);

	if (own >> 4 == 0xf || (own & 1) != (d->ci / DX_CQES & 1))
		return false;
	cr_assert_eq(own >> 4, 0, "the CQE has the wrong opcode %d", own >> 4);
	d->ci++;
	__atomic_store_n((uint32_t *)(void *)(d->mem + DX_DBR_AT), htobe32(d->ci), __ATOMIC_RELEASE);
	return true;
}

void dx_wait(struct dx *d)
{
	cr_assert(TH_WITHIN(ST_LIMIT_MS, dx_polled(d)), "the CQ got no completion in time");
}
