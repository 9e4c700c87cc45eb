/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The violations that the checker reports: identifier and stable name. Errors that the remote side may
 * legally cause are in the list too, so that a test must expect them explicitly.
 */
#ifndef SN_VIOL_H
#define SN_VIOL_H

#define SN_VIOLATIONS(X) \
	X(WQE_RESERVED, "wqe.reserved_bits") \
	X(WQE_DS, "wqe.ds") \
	X(WQE_INDEX, "wqe.index") \
	X(WQE_OPCODE, "wqe.opcode") \
	X(WQE_QPN, "wqe.qpn") \
	X(WQE_INLINE, "wqe.inline_len") \
	X(WQE_SEGMENT, "wqe.segment") \
	X(WQE_UMR, "wqe.umr") \
	X(WQE_UMR_FENCE, "wqe.umr_fence") \
	X(RQ_SEGMENT, "rq.segment") \
	X(DB_BACKWARDS, "db.backwards") \
	X(DB_UNKNOWN_QP, "db.unknown_qp") \
	X(DB_OFFSET, "db.offset") \
	X(DB_UAR, "db.uar") \
	X(DB_STATE, "db.state") \
	X(DB_RECORD, "db.record") \
	X(SQ_OVERRUN, "sq.overrun") \
	X(RQ_OVERRUN, "rq.overrun") \
	X(SRQ_OVERRUN, "srq.overrun") \
	X(SRQ_LINK, "srq.link") \
	X(CQ_OVERRUN, "cq.overrun") \
	X(CQ_CI_BACKWARDS, "cq.ci_backwards") \
	X(CQ_CI_AHEAD, "cq.ci_ahead") \
	X(CQ_ARM, "cq.arm") \
	X(CQ_UNKNOWN, "cq.unknown") \
	X(EQ_OVERRUN, "eq.overrun") \
	X(EQ_CI, "eq.ci") \
	X(EQ_UNKNOWN, "eq.unknown") \
	X(BF_MISMATCH, "bf.mismatch") \
	X(BF_SIZE, "bf.size") \
	X(MKEY_STALE, "mkey.stale") \
	X(MKEY_FREE, "mkey.free") \
	X(MKEY_BOUNDS, "mkey.bounds") \
	X(MKEY_RIGHTS, "mkey.rights") \
	X(MKEY_PD, "mkey.pd") \
	X(MKEY_QPN, "mkey.qpn") \
	X(MKEY_DEPTH, "mkey.depth") \
	X(DMA_REFUSED, "dma.refused") \
	X(CMD_OPCODE, "cmd.opcode") \
	X(CMD_LENGTH, "cmd.length") \
	X(CMD_FIELD, "cmd.field") \
	X(CMD_RESOURCE, "cmd.resource") \
	X(CMD_STATE, "cmd.state") \
	X(CMD_BUSY, "cmd.busy") \
	/* violations only in a cold device: the command queue and the firmware pages */ \
	X(CMDQ_TYPE, "cmdq.type") \
	X(CMDQ_RESERVED, "cmdq.reserved_bits") \
	X(CMDQ_LENGTH, "cmdq.length") \
	X(CMDQ_POINTER, "cmdq.pointer") \
	X(CMDQ_TOKEN, "cmdq.token") \
	X(CMDQ_BLOCK, "cmdq.block_number") \
	X(CMDQ_SIGNATURE, "cmdq.signature") \
	X(CMDQ_OWNER, "cmdq.ownership") \
	X(PAGES_TOUCHED, "pages.touched") \
	/* requests of the peer that the responder refuses and reports */ \
	X(REMOTE_ACCESS, "remote.access") \
	X(REMOTE_INVALID, "remote.invalid_request") \
	X(REMOTE_OPERATIONAL, "remote.operational") \
	X(RX_MALFORMED, "rx.malformed")

enum sn_viol {
#define X(id, name) SN_V_##id,
	SN_VIOLATIONS(X)
#undef X
	SN_V_COUNT
};

#endif
