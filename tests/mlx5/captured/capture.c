/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lets libmlx5 post one work request after the other and prints, as C initialisers, its arguments and
 * the bytes in the ring. Uses only public libibverbs and mlx5dv calls. scripts/capture-wqes runs it on a
 * software ConnectX; a real one would work too, since the QP sends to itself.
 *
 * Each request is posted twice, into a ring of zeros and into one of ones: bytes that differ were not
 * written.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "tests/mlx5/captured/bench.h"

enum {
	WQEBB = 64,
	WQE_MAX = 1024,
	FILL_A = 0x00,
	FILL_B = 0xff,
};

/* ---- The content of the ring */

static uint32_t dbrec(const struct bench *b, unsigned int word)
{
	return ntohl(((volatile uint32_t *)b->dv.dbrec)[word]) & 0xffff;
}

static uint32_t blocks_since(const struct bench *b)
{
	return (dbrec(b, 1) - b->sq_index) & 0xffff;
}

static void copy_ring(const uint8_t *ring, uint32_t size, uint32_t from, uint8_t *to, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		to[i] = ring[(from + i) % size];
}

/* Copies whole blocks, or a whole receive WQE; returns the length. */
static uint32_t snapshot(struct bench *b, const struct captured_wqe *c, uint8_t *out)
{
	if (c->op == CAPTURED_RECV) {
		copy_ring(b->dv.rq.buf, b->dv.rq.wqe_cnt * b->dv.rq.stride,
			  b->rq_index % b->dv.rq.wqe_cnt * b->dv.rq.stride, out, b->dv.rq.stride);
		return b->dv.rq.stride;
	}
	copy_ring(b->dv.sq.buf, b->dv.sq.wqe_cnt * WQEBB, b->sq_index % b->dv.sq.wqe_cnt * WQEBB,
		  out, blocks_since(b) * WQEBB);
	return (out[7] & 0x3f) * 16u;
}

/* Fills the ring. Receives that have been posted must stay unchanged. */
static void fill_ring(struct bench *b, const struct captured_wqe *c, int value)
{
	uint8_t *rq = b->dv.rq.buf;

	if (c->op == CAPTURED_RECV)
		memset(rq + b->rq_index % b->dv.rq.wqe_cnt * b->dv.rq.stride, value, b->dv.rq.stride);
	else
		memset(b->dv.sq.buf, value, b->dv.sq.wqe_cnt * WQEBB);
}

static void post_quietly(struct bench *b, struct captured_wqe *c)
{
	bench_post(b, c);
	if (c->op == CAPTURED_RECV)
		b->rq_index++;
	else
		b->sq_index += blocks_since(b);
}

/* Posts small writes until the producer index of the send queue is index. */
static void advance(struct bench *b, uint32_t index)
{
	struct captured_wqe filler = element_case(b, "filler", CAPTURED_WRITE, 1, 1);

	filler.raddr += ELEMENT;
	while (b->sq_index < index) {
		post_quietly(b, &filler);
		bench_reap(b);
	}
}

/* The state of the QP before the request. */
struct setting {
	uint32_t index;			/* never 0: at least one other request is posted before */
	void (*early)(struct bench *b), (*late)(struct bench *b);
};

static void prepare(struct bench *b, const struct setting *set, const struct captured_wqe *c)
{
	struct captured_wqe recv = element_case(b, "receive", CAPTURED_RECV, 1, 4 * ELEMENT);

	recv.sge[0].addr += TARGET;
	bench_reset(b);
	if (c->op == CAPTURED_RECV)
		for (uint32_t i = 0; i < set->index; i++)
			post_quietly(b, &recv);
	else
		for (int i = 0; i < 2; i++)
			post_quietly(b, &recv);
	/* The request after a bind has a fence, even if the QP was reset between the two. */
	advance(b, 1);
	if (set->early)
		set->early(b);
	if (c->op != CAPTURED_RECV)
		advance(b, set->index);
	if (set->late)
		set->late(b);
	bench_reap(b);
}

static void print(const struct bench *b, const struct captured_wqe *c, const uint8_t *a,
		  const uint8_t *z, uint32_t len)
{
	printf("{ \"%s\", %d, %#x, %#x, %u, %u, %u, %u,\n\t{ ", c->name, c->op, c->flags, c->qpn,
	       c->index, c->op == CAPTURED_RECV ? b->dv.rq.wqe_cnt : b->dv.sq.wqe_cnt,
	       c->op == CAPTURED_RECV ? b->dv.rq.stride : 0, c->nsge);
	for (unsigned int i = 0; i < MAX_SGE; i++)
		printf("{ %#llx, %u, %#x }%s", (unsigned long long)c->sge[i].addr, c->sge[i].len,
		       c->sge[i].lkey, i < MAX_SGE - 1 ? ", " : " },\n");
	printf("\t%#llx, %#x, %#x, %#llx, %#llx, { %d, %#x, %#x, %#x, %#llx, %llu, %#x },\n\t\"",
	       (unsigned long long)c->raddr, c->rkey, c->imm, (unsigned long long)c->compare_add,
	       (unsigned long long)c->swap, c->mw.type, c->mw.rkey, c->mw.new_rkey, c->mw.mr_lkey,
	       (unsigned long long)c->mw.addr, (unsigned long long)c->mw.len, c->mw.access);
	for (uint32_t i = 0; i < len; i++) {
		if (i && i % 32 == 0)
			printf("\"\n\t\"");
		if (a[i] == FILL_A && z[i] == FILL_B)
			printf("..");
		else
			printf("%02x", a[i]);
	}
	printf("\" },\n");
}

static void capture_in(struct bench *b, struct captured_wqe c, const struct setting *set)
{
	static uint8_t seen[2][WQE_MAX];
	struct captured_wqe pass[2];
	uint32_t len[2];

	if (set->late)
		c.flags |= CAPTURED_AFTER_BIND;
	pass[0] = pass[1] = c;
	for (int i = 0; i < 2; i++) {
		struct captured_wqe *w = &pass[i];

		prepare(b, set, w);
		if (w->op == CAPTURED_LOCAL_INVAL || w->op == CAPTURED_SEND_INVAL)
			w->imm = b->mw2->rkey;
		fill_ring(b, w, i ? FILL_B : FILL_A);
		w->index = w->op == CAPTURED_RECV ? b->rq_index : b->sq_index;
		bench_post(b, w);
		len[i] = snapshot(b, w, seen[i]);
		bench_reap(b);
	}
	NEED(len[0] == len[1] && pass[0].index == pass[1].index);
	print(b, &pass[0], seen[0], seen[1], len[0]);
}

static void capture(struct bench *b, struct captured_wqe c, uint32_t index)
{
	capture_in(b, c, &(struct setting){ .index = index });
}

/* ---- The cases */

static void free_window2(struct bench *b)
{
	struct captured_wqe c = plain_case("invalidate", CAPTURED_LOCAL_INVAL);

	if (!b->bound2)
		return;
	c.imm = b->mw2->rkey;
	post_quietly(b, &c);
	bench_reap(b);
}

static void bind_window2(struct bench *b)
{
	struct captured_wqe c = bind_case(b, "bind", 2, 4096);

	if (b->bound2)
		return;
	post_quietly(b, &c);
	bench_reap(b);
}

static void bind_window1(struct bench *b)
{
	struct captured_wqe c = bind_case(b, "bind", 1, 4096);

	post_quietly(b, &c);
}

static void capture_inline(struct bench *b)
{
	static const uint32_t len[] = { 1, 4, 8, 12, 13, 28, 29, 44, 45, 64, 92, 93, 108, 220 };
	struct captured_wqe c;
	char name[40];

	for (size_t i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
		snprintf(name, sizeof(name), "write_inline_%u", len[i]);
		c = element_case(b, name, CAPTURED_WRITE, 1, len[i]);
		c.flags |= CAPTURED_INLINE;
		capture(b, c, 1);
		snprintf(name, sizeof(name), "send_inline_%u", len[i]);
		c = element_case(b, name, CAPTURED_SEND, 1, len[i]);
		c.raddr = c.rkey = 0;
		c.flags |= CAPTURED_INLINE;
		capture(b, c, 5);
	}
	c = element_case(b, "write_inline_3_elements", CAPTURED_WRITE, 3, 21);
	c.flags |= CAPTURED_INLINE;
	capture(b, c, 3);
}

static void capture_elements(struct bench *b)
{
	struct captured_wqe c;
	char name[40];

	for (unsigned int n = 1; n <= MAX_SGE; n++) {
		snprintf(name, sizeof(name), "write_%u", n);
		capture(b, element_case(b, name, CAPTURED_WRITE, n, ELEMENT), 2);
		snprintf(name, sizeof(name), "read_%u", n);
		capture(b, element_case(b, name, CAPTURED_READ, n, ELEMENT), 9);
		snprintf(name, sizeof(name), "send_%u", n);
		c = element_case(b, name, CAPTURED_SEND, n, ELEMENT);
		c.raddr = c.rkey = 0;
		capture(b, c, 4);
		snprintf(name, sizeof(name), "recv_%u", n);
		c = element_case(b, name, CAPTURED_RECV, n, ELEMENT);
		c.flags = 0;
		c.raddr = c.rkey = 0;
		capture(b, c, n + 2);
	}
}

static void capture_flags(struct bench *b)
{
	struct captured_wqe c = element_case(b, "send_solicited", CAPTURED_SEND, 1, 100);

	c.raddr = c.rkey = 0;
	c.flags |= CAPTURED_SOLICITED;
	capture(b, c, 6);
	c = element_case(b, "write_fence", CAPTURED_WRITE, 1, 100);
	c.flags |= CAPTURED_FENCE;
	capture(b, c, 7);
	c = element_case(b, "write_unsignalled", CAPTURED_WRITE, 1, 100);
	c.flags = 0;
	capture(b, c, 8);
	c = element_case(b, "write_after_bind", CAPTURED_WRITE, 1, 100);
	capture_in(b, c, &(struct setting){ 8, NULL, bind_window1 });
	c = element_case(b, "write_fence_after_bind", CAPTURED_WRITE, 1, 100);
	c.flags |= CAPTURED_FENCE;
	capture_in(b, c, &(struct setting){ 8, NULL, bind_window1 });
	c = element_case(b, "write_imm", CAPTURED_WRITE_IMM, 1, 100);
	c.imm = 0x12345678;
	capture(b, c, 2);
	c = element_case(b, "send_imm", CAPTURED_SEND_IMM, 1, 100);
	c.raddr = c.rkey = 0;
	c.imm = 0x9abcdef0;
	capture(b, c, 2);
	c = element_case(b, "write_0", CAPTURED_WRITE, 0, 0);
	capture(b, c, 2);
	c = element_case(b, "send_0", CAPTURED_SEND, 0, 0);
	c.raddr = c.rkey = 0;
	capture(b, c, 2);
}

static void capture_windows(struct bench *b)
{
	struct captured_wqe c = bind_case(b, "bind_1", 1, 4096);

	capture(b, c, 3);
	capture_in(b, bind_case(b, "rebind_1", 1, 1000), &(struct setting){ 10, NULL, bind_window1 });
	c = bind_case(b, "rebind_1_unsignalled_write_only", 1, 1000);
	c.flags = 0;
	c.mw.access = IBV_ACCESS_REMOTE_WRITE;
	capture_in(b, c, &(struct setting){ 10, NULL, bind_window1 });
	capture(b, bind_case(b, "unbind_1", 1, 0), 12);
	capture_in(b, bind_case(b, "bind_2", 2, 4096), &(struct setting){ 12, free_window2, NULL });
	c = bind_case(b, "bind_2_read_only_unsignalled", 2, 77);
	c.flags = 0;
	c.mw.access = IBV_ACCESS_REMOTE_READ;
	capture_in(b, c, &(struct setting){ 12, free_window2, NULL });
	c = plain_case("local_invalidate", CAPTURED_LOCAL_INVAL);
	capture_in(b, c, &(struct setting){ 12, bind_window2, NULL });
	c = element_case(b, "send_invalidate", CAPTURED_SEND_INVAL, 1, 100);
	c.raddr = c.rkey = 0;
	capture_in(b, c, &(struct setting){ 12, bind_window2, NULL });
}

static void capture_atomics(struct bench *b)
{
	struct ibv_device_attr attr;
	struct captured_wqe c = element_case(b, "compare_and_swap", CAPTURED_ATOMIC_CS, 1, 8);

	NEED(!ibv_query_device(b->ctx, &attr));
	if (attr.atomic_cap == IBV_ATOMIC_NONE)
		return;
	c.compare_add = 0x1122334455667788;
	c.swap = 0x99aabbccddeeff00;
	capture(b, c, 4);
	c = element_case(b, "fetch_and_add", CAPTURED_ATOMIC_FA, 1, 8);
	c.compare_add = 0x0102030405060708;
	capture(b, c, 4);
}

/* Captures requests at the end of the ring and of the 16-bit counter. */
static void capture_wraps(struct bench *b)
{
	uint32_t ring = b->dv.sq.wqe_cnt;
	struct captured_wqe c;
	char name[40];

	for (uint32_t left = 1; left <= 3; left++) {
		snprintf(name, sizeof(name), "write_inline_220_wrap_%u", left);
		c = element_case(b, name, CAPTURED_WRITE, 1, 220);
		c.flags |= CAPTURED_INLINE;
		capture(b, c, ring - left);
	}
	capture(b, element_case(b, "write_4_wrap", CAPTURED_WRITE, 4, ELEMENT), ring - 1);
	capture(b, bind_case(b, "bind_1_wrap_1", 1, 4096), ring - 1);
	capture(b, bind_case(b, "bind_1_wrap_2", 1, 4096), ring - 2);
	c = element_case(b, "recv_2_second_lap", CAPTURED_RECV, 2, ELEMENT);
	c.flags = 0;
	c.raddr = c.rkey = 0;
	capture(b, c, b->dv.rq.wqe_cnt - 1);
	capture(b, element_case(b, "write_1_counter_ffff", CAPTURED_WRITE, 1, ELEMENT), 0xffff);
	capture(b, element_case(b, "write_1_counter_10001", CAPTURED_WRITE, 1, ELEMENT), 0x10001);
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct bench b = { 0 };

	NEED(list && list[0]);
	NEED(b.ctx = ibv_open_device(list[0]));
	bench_create(&b);
	capture_inline(&b);
	capture_elements(&b);
	capture_flags(&b);
	capture_windows(&b);
	capture_atomics(&b);
	capture_wraps(&b);
	return 0;
}
