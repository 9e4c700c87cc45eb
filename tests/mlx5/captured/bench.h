/* SPDX-License-Identifier: BSD-2-Clause */
/* The QP whose ring is captured, and how to post a captured_wqe to it. */
#ifndef TESTS_MLX5_CAPTURED_BENCH_H
#define TESTS_MLX5_CAPTURED_BENCH_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/mlx5/captured/captured.h"

enum {
	DEPTH = 16,
	MAX_SGE = 4,
	MAX_INLINE = 220,
	BUFFER = 1 << 16,
	ELEMENT = 4096,
	TARGET = 32768,			/* offset of the memory that remote addresses name */
};

struct bench {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_mw *mw1, *mw2;
	struct mlx5dv_qp dv;
	uint8_t *buf;
	uint32_t sq_index, rq_index;	/* blocks, and receive WQEs, posted since the reset */
	uint32_t unreaped;		/* signaled sends whose completions have not been polled */
	bool bound2;			/* the type 2 window is bound */
};

void die(const char *what);
#define NEED(x) do { if (!(x)) die(#x); } while (0)

void bench_create(struct bench *b);
/* Drops all posted work and connects the QP to itself again. */
void bench_reset(struct bench *b);
/* Waits until all signaled sends are complete: the queue never fills, and the ring is stable. */
void bench_reap(struct bench *b);
/* Fills in the fields of c whose values are known only now: keys of windows, the QPN. */
void bench_post(struct bench *b, struct captured_wqe *c);

struct captured_wqe element_case(struct bench *b, const char *name, enum captured_op op,
				 unsigned int nsge, uint32_t len);
struct captured_wqe bind_case(struct bench *b, const char *name, int type, uint32_t len);
struct captured_wqe plain_case(const char *name, enum captured_op op);

#endif
