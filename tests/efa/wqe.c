/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of WQEs, receives and doorbells, written from efa_io_defs.h, and the decoder's text for them. */
#include <criterion/criterion.h>
#include <string.h>

#include "hw_efa/proto.h"
#include "hw_efa/wqe.h"

/* A send of 8 inline bytes, the second lap of a ring, to QP 0x1234 by AH 0x0056. */
static const uint8_t send_inline[64] = {
	0x05, 0x80, 0xb0, 0x1d, 0x34, 0x12, 0x08, 0x00,	/* id, meta imm inline send, phase, qp, 8 */
	0x7b, 0x70, 0x00, 0x00, 0x56, 0x00, 0x00, 0x00,	/* imm: MSG 7, ack 0x7b; AH */
	0x78, 0x56, 0x34, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,	/* qkey */
	1, 2, 3, 4, 5, 6, 7, 8,
};

/* An RDMA write of 4,096 bytes: remote first, then the one local segment. */
static const uint8_t write_ref[64] = {
	0x01, 0x00, 0x92, 0x1c, 0x34, 0x12, 0x01, 0x00,
	0x00, 0x00, 0x00, 0xa0, 0x56, 0x00, 0x00, 0x00,
	0x78, 0x56, 0x34, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0x00, 0x10, 0x00, 0x00, 0xef, 0xbe, 0xad, 0xde, 0x00, 0x20, 0, 0, 0x01, 0, 0, 0,
	0x00, 0x10, 0x00, 0x00, 0x42, 0x00, 0x00, 0x00, 0x00, 0x30, 0, 0, 0x02, 0, 0, 0,
};

Test(efa_wqe, decode__send_inline)
{
	char text[240];

	cr_assert_str_eq(efa_decode_wqe(send_inline, 64, text, sizeof(text)),
			 "SEND id 0x8005 phase 1 to qp 4660 ah 86 qkey 0x12345678 "
			 "imm (MSG seq 7 ack 123) inline 8");
}

Test(efa_wqe, decode__rdma_write)
{
	char text[300];

	cr_assert_str_eq(efa_decode_wqe(write_ref, 64, text, sizeof(text)),
			 "RDMA_WRITE id 0x0001 phase 0 to qp 4660 ah 86 qkey 0x12345678 "
			 "imm (WRITE seq 0 ack 0) remote 0x0000000100002000+4096 rkey 0xdeadbeef "
			 "local 0x0000000200003000+4096 key 0x42");
}

Test(efa_wqe, decode__receive_and_completion)
{
	static const uint8_t desc[16] = { 0x00, 0x10, 0, 0, 0x03, 0, 0, 0, 0x07, 0x00, 0xe0, 0x22,
					  0x42, 0x00, 0x00, 0xc0 };
	static const uint8_t cqe[32] = { 0x07, 0x00, 0x00, 0x0d, 0x34, 0x12, 0x08, 0x00, 0x56, 0x00,
					 0x21, 0x43, 0x7b, 0x70, 0x00, 0x00 };
	struct efa_rx_desc d;
	struct efa_cqe c;
	char text[240];

	memcpy(&d, desc, sizeof(d));
	memcpy(&c, cqe, sizeof(c));
	cr_assert_str_eq(efa_decode_rx(&d, text, sizeof(text)),
			 "RECV id 0x0007 0x0000000300001000+8928 key 0x42 first last");
	cr_assert_str_eq(efa_decode_cqe(&c, text, sizeof(text)),
			 "CQE of RQ SEND qp 4660 id 0x0007 phase 1: ok, 8 bytes of qp 17185 ah 86 "
			 "imm (MSG seq 7 ack 123)");
}

Test(efa_wqe, imm__fields_do_not_touch)
{
	cr_assert_eq(efa_imm(EFA_K_WRITE, false, 0, 0), 0xa0000000u);
	cr_assert_eq(efa_imm(EFA_K_MSG, true, 0, 0), 0x10000000u);
	cr_assert_eq(efa_imm(EFA_K_MSG, false, 0x1ffff, 0), 0x0ffff000u);
	cr_assert_eq(efa_imm(EFA_K_MSG, false, 0, 0x1fff), 0x00000fffu);
}

Test(efa_wqe, doorbell__of_a_cq)
{
	cr_assert_eq(efa_cq_doorbell(0x1234, 3, true), 0xe0001234u);
	cr_assert_eq(efa_cq_doorbell(0x1234, 4, false), 0x00001234u);
}
