/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of WQEs, receives and doorbells, written from efa_io_defs.h. */
#include <criterion/criterion.h>
#include <string.h>

#include "hw_efa/rq.h"
#include "hw_efa/sq.h"

/* A send of 8 inline bytes in the second lap of a ring, to QP 0x1234 through AH 0x0056. */
static const uint8_t send_inline[64] = {
	/* request id; flags meta, imm, inline, send; phase; QP; length 8 */
	0x05, 0x80, 0xb0, 0x1d, 0x34, 0x12, 0x08, 0x00,
	0x7b, 0x70, 0x00, 0x00, 0x56, 0x00, 0x00, 0x00,	/* immediate: MSG 7, ack 0x7b; the AH */
	0x78, 0x56, 0x34, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,	/* the qkey */
	1, 2, 3, 4, 5, 6, 7, 8,
};

/* An RDMA write of 4,096 bytes: the remote address comes first, then the one local segment. */
static const uint8_t write_ref[64] = {
	0x01, 0x00, 0x92, 0x1c, 0x34, 0x12, 0x01, 0x00,
	0x00, 0x00, 0x00, 0xa0, 0x56, 0x00, 0x00, 0x00,
	0x78, 0x56, 0x34, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0x00, 0x10, 0x00, 0x00, 0xef, 0xbe, 0xad, 0xde, 0x00, 0x20, 0, 0, 0x01, 0, 0, 0,
	0x00, 0x10, 0x00, 0x00, 0x42, 0x00, 0x00, 0x00, 0x00, 0x30, 0, 0, 0x02, 0, 0, 0,
};

/* Returns the WQE of slot id that the driver writes for a QP of generation 0x8000 to QP 0x1234. */
static const uint8_t *put(unsigned int id, bool second_lap, const struct efa_wr *wr)
{
	static uint8_t ring[2 * 64];
	static union efa_slot slots[8];
	static uint16_t ids[1];
	static struct efa_ep e;
	struct efa_sq *sq = &e.sq;

	memset(ring, 0xee, sizeof(ring));
	ids[0] = (uint16_t)id;
	*sq = (struct efa_sq){
		.ring = ring, .next = ring, .end = ring + sizeof(ring), .entry_size = 64,
		.slots = slots, .ids = ids, .qkey = 0x12345678, .word1 = UINT64_C(0x56) << 32,
		.word0 = (uint64_t)EFA_TX_META << 16 | UINT64_C(0x1234) << 32 |
			 (uint64_t)(EFA_TX_FIRST | EFA_TX_LAST | EFA_TX_COMP_REQ |
				    (second_lap ? EFA_TX_PHASE : 0)) << 24 |
			 (second_lap ? 0x8000 : 0),
	};
	efa_wqe_write(&e, wr);
	cr_assert_eq(ring[64], 0xee, "the driver wrote beyond the WQE");
	return ring;
}

Test(efa_wqe, put__send_inline_writes_the_reference_bytes)
{
	const uint8_t data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	const struct efa_wr wr = {
		.op = EFA_OP_SEND, .has_imm = true, .inl = true, .kind = EFA_S_DTO, .data = data,
		.bytes = 8, .imm = efa_imm(EFA_K_MSG, false, 7, 0x7b),
	};

	cr_assert_arr_eq(put(5, true, &wr), send_inline, 64);
}

Test(efa_wqe, put__rdma_write_writes_the_reference_bytes)
{
	const struct efa_wr wr = {
		.op = EFA_OP_RDMA_WRITE, .has_imm = true, .kind = EFA_S_DTO, .nseg = 1,
		.imm = efa_imm(EFA_K_WRITE, false, 0, 0),
		.seg = { { 0x100002000, 4096, 0xdeadbeef }, { 0x200003000, 4096, 0x42 } },
	};

	cr_assert_arr_eq(put(1, false, &wr), write_ref, 64);
}

Test(efa_wqe, refill__descriptor_of_a_receive_has_the_reference_bytes)
{
	static const uint8_t desc[16] = { 0x00, 0x10, 0, 0, 0x03, 0, 0, 0, 0x07, 0x00, 0xe0, 0x22,
					  0x42, 0x00, 0x00, 0xc0 };
	struct efa_rx_desc ring[2];
	struct efa_rx rx = { .ring = ring, .mask = 1, .pi = 1,
			     .desc = (uint64_t)(0x42 | EFA_RX_FIRST | EFA_RX_LAST) << 32 | 8928 << 16 };

	efa_refill(&rx, 7, (const uint8_t *)(uintptr_t)0x300001000);
	cr_assert_arr_eq(&ring[1], desc, sizeof(desc));
}

Test(efa_wqe, decode__completion_returns_each_field_as_text)
{
	static const uint8_t cqe[32] = { 0x07, 0x00, 0x00, 0x0d, 0x34, 0x12, 0x08, 0x00, 0x56, 0x00,
					 0x21, 0x43, 0x7b, 0x70, 0x00, 0x00 };
	struct efa_cqe c;
	char text[240];

	memcpy(&c, cqe, sizeof(c));
	cr_assert_str_eq(efa_decode_cqe(&c, text, sizeof(text)),
			 "CQE of RQ SEND qp 4660 id 0x0007 phase 1: ok, 8 bytes of qp 17185 ah 86 "
			 "imm (MSG seq 7 ack 123)");
}

Test(efa_wqe, imm__fields_at_their_limits_do_not_overlap)
{
	cr_assert_eq(efa_imm(EFA_K_WRITE, false, 0, 0), 0xa0000000u);
	cr_assert_eq(efa_imm(EFA_K_MSG, true, 0, 0), 0x10000000u);
	cr_assert_eq(efa_imm(EFA_K_MSG, false, 0x1ffff, 0), 0x0ffff000u);
	cr_assert_eq(efa_imm(EFA_K_MSG, false, 0, 0x1fff), 0x00000fffu);
}

Test(efa_wqe, doorbell__of_a_cq_encodes_index_count_and_arm)
{
	cr_assert_eq(efa_cq_doorbell(0x1234, 3, true), 0xe0001234u);
	cr_assert_eq(efa_cq_doorbell(0x1234, 4, false), 0x00001234u);
}
