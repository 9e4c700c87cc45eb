/* SPDX-License-Identifier: BSD-2-Clause */
/* A program on stock libibverbs, with the uverbs front under it. Failures end the test. */
#ifndef TESTS_STOCK_RIG_H
#define TESTS_STOCK_RIG_H

#include <criterion/criterion.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

enum { ST_BUF = 1 << 16, ST_DEPTH = 16, ST_LIMIT_MS = 20000 };

/* One end: a context or a reference to one, and a QP with its own CQ and memory. */
struct st_end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *chan;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf;
};

struct ibv_context *st_open(void);
void st_close(struct ibv_context *ctx);
void st_create(struct st_end *end, struct ibv_context *ctx);
/* Destroys all objects except the context. qp NULL: the test has destroyed it. */
void st_destroy(struct st_end *end);
void st_connect(struct st_end *a, struct st_end *b);
/* Opens a device with two ends that are connected to each other. */
void st_pair(struct st_end *a, struct st_end *b);
/* Destroy the objects of the end, or of both in this order, and close their device. */
void st_finish(struct st_end *end);
void st_unpair(struct st_end *a, struct st_end *b);
/* The functions st_to_*() make the three transitions of a QP. They return 0 or an errno. */
int st_to_init(struct ibv_qp *qp);
int st_to_rtr(struct ibv_qp *qp, const union ibv_gid *dgid, uint32_t qpn);
int st_to_rts(struct ibv_qp *qp);

void st_recv(struct st_end *end, uint32_t len);
void st_post(struct st_end *end, struct ibv_send_wr *wr);
/* Posts a signaled send of len bytes, with these further flags. */
void st_send(struct st_end *end, uint32_t len, unsigned int flags);
/* Wait for the next completion of any kind. */
struct ibv_wc st_wc(struct st_end *end);
enum ibv_wc_status st_poll(struct st_end *end);
/* Writes len bytes of a's buffer to addr. Returns the status. */
enum ibv_wc_status st_write(struct st_end *a, uint64_t addr, uint32_t rkey, uint32_t len);

bool st_readable(int fd, int ms);

#endif
