/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * WQEs as Debian's libmlx5 wrote them, with its arguments: wqes.inc lists them, and scripts/capture-wqes
 * regenerates that file. A builder with the same arguments must write the same bytes.
 *
 * bytes is the WQE in hexadecimal, in the order of posting, unwrapped at the ring's end; ".." is a byte
 * that libmlx5 left unchanged. A send WQE has ds * 16 bytes, a receive WQE its whole stride. Payload of
 * inline data: byte i of element k is captured_payload(k, i).
 */
#ifndef TESTS_MLX5_CAPTURED_H
#define TESTS_MLX5_CAPTURED_H

#include <stdint.h>

enum captured_op {
	CAPTURED_WRITE,
	CAPTURED_WRITE_IMM,
	CAPTURED_READ,
	CAPTURED_SEND,
	CAPTURED_SEND_IMM,
	CAPTURED_SEND_INVAL,
	CAPTURED_ATOMIC_CS,
	CAPTURED_ATOMIC_FA,
	CAPTURED_BIND,			/* by ibv_bind_mw (type 1) or IBV_WR_BIND_MW (type 2) */
	CAPTURED_LOCAL_INVAL,
	CAPTURED_RECV,
};

enum captured_flags {
	CAPTURED_SIGNALED = 1 << 0,
	CAPTURED_SOLICITED = 1 << 1,
	CAPTURED_FENCE = 1 << 2,
	CAPTURED_INLINE = 1 << 3,
	CAPTURED_AFTER_BIND = 1 << 4,	/* the WQE before it in the queue was a bind or invalidate */
};

struct captured_sge {
	uint64_t addr;
	uint32_t len, lkey;
};

struct captured_mw {
	int type;			/* 1 or 2; 0: no window */
	uint32_t rkey;			/* key of the window before the post */
	uint32_t new_rkey;		/* key after the bind or invalidate */
	uint32_t mr_lkey;
	uint64_t addr, len;		/* range; len 0: unbind */
	uint32_t access;		/* bits IBV_ACCESS_* */
};

struct captured_wqe {
	const char *name;
	enum captured_op op;
	unsigned int flags;
	uint32_t qpn;
	uint32_t index;			/* WQEBB counter (or receive counter) of its first block */
	uint32_t ring;			/* number of WQEBBs (or receive WQEs) in the ring */
	uint32_t stride;		/* stride of a receive WQE */
	unsigned int nsge;
	struct captured_sge sge[4];
	uint64_t raddr;
	uint32_t rkey;
	/* immediate in host order; or the rkey of SEND_INVAL and LOCAL_INVAL */
	uint32_t imm;
	uint64_t compare_add, swap;	/* operands of atomics */
	struct captured_mw mw;
	const char *bytes;
};

static inline uint8_t captured_payload(unsigned int element, uint32_t i)
{
	return (uint8_t)(i * 7 + element * 31 + 3);
}

#endif
