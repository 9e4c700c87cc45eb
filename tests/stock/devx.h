/* SPDX-License-Identifier: BSD-2-Clause */
/* PRM commands as written by a DEVX program, and objects created with them. Failures end the test. */
#ifndef TESTS_STOCK_DEVX_H
#define TESTS_STOCK_DEVX_H

#include <infiniband/mlx5dv.h>

#include "tests/stock/rig.h"

enum {
	DX_QUERY_HCA_CAP = 0x100,
	DX_QUERY_LAG = 0x842,
	DX_QUERY_HCA_VPORT_CONTEXT = 0x762,
	DX_CREATE_CQ = 0x400,
	DX_QUERY_CQ = 0x402,
	DX_CREATE_QP = 0x500,
	DX_RST2INIT_QP = 0x502,
	DX_INIT2RTR_QP = 0x503,
	DX_RTR2RTS_QP = 0x504,
	DX_2ERR_QP = 0x507,
	DX_QUERY_QP = 0x50b,
	DX_ALLOC_PD = 0x800,
	DX_SHORT = 16,
	DX_LONG = 0x110,
};

/* A field by its dword's byte offset, first bit (0 is the most significant) and width. */
void dx_put(void *cmd, unsigned int byte, unsigned int bit, unsigned int width, uint32_t v);
uint32_t dx_get(const void *cmd, unsigned int byte, unsigned int bit, unsigned int width);
void dx_put64(void *cmd, unsigned int byte, uint64_t v);
/* Sets the opcode, and the object number in the third dword. */
void dx_head(void *cmd, uint16_t opcode, uint32_t number);

enum { DX_CQES = 16, DX_PAGES = 4, DX_CQ_AT = 0, DX_SQ_AT = 4096, DX_DBR_AT = 8192 };

/* A CQ, and a QP that is connected to itself; both are created by commands. */
struct dx {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	uint8_t *mem;			/* CQ, send queue, doorbell records: one umem */
	struct mlx5dv_devx_umem *umem;
	struct mlx5dv_devx_uar *uar;
	struct mlx5dv_devx_obj *cq, *qp;
	uint32_t eqn, cqn, qpn;
	uint16_t pi, ci;
	uint8_t arm_sn;
};

/* An event of a DEVX channel, with its data. */
union dx_event {
	struct mlx5dv_devx_async_event_hdr hdr;
	uint8_t bytes[8 + 64];
};

struct ibv_context *dx_open(void);
void dx_create(struct dx *d, struct ibv_context *ctx);
/* Creates them with another kind of UAR; with this EQ, unless it is negative. */
void dx_create_on(struct dx *d, struct ibv_context *ctx, uint32_t uar_type, int eqn);
void dx_destroy(struct dx *d);
/* Fill in the commands that create the CQ and the QP. */
void dx_begin_cq(const struct dx *d, uint8_t cmd[DX_LONG]);
void dx_begin_qp(const struct dx *d, uint8_t cmd[DX_LONG]);
void dx_connect(struct dx *d);
/* connects the QP to itself by that address */
void dx_connect_to(struct dx *d, const uint8_t gid[16]);
void dx_nop(struct dx *d);		/* posts one NOP, signaled, and rings the doorbell */
void dx_write(struct dx *d, const struct ibv_mr *mr, uint64_t from, uint64_t to, uint32_t rkey,
	      uint32_t len);
void dx_arm(struct dx *d);
bool dx_polled(struct dx *d);		/* takes a completion if there is one */
void dx_wait(struct dx *d);

#endif
