/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Violations that the checker reports: identifier, stable name, meaning. The rx.* are errors in a peer's
 * request, reported by its target. Drivers may cause these legally, but a test must expect them
 * explicitly.
 */
#ifndef SNE_VIOL_H
#define SNE_VIOL_H

#define SNE_VIOLATIONS(X)                                                                        \
	X(WQE_RESERVED, "wqe.reserved_bits") /* a bit is set that must be zero */                       \
	X(WQE_META, "wqe.meta")              /* meta_desc must be set */				\
	X(WQE_FIRST_LAST, "wqe.first_last")  /* both flags must be set */				\
	X(WQE_PHASE, "wqe.phase")            /* the phase bit is not that of this lap of the ring */ \
	X(WQE_COMP_REQ, "wqe.comp_req")      /* the WQE requests no completion */                \
	X(WQE_PARTIAL, "wqe.partial")        /* the doorbell came before the whole WQE was written */ \
	X(WQE_OPCODE, "wqe.opcode")          /* unknown, or unsupported by the device or QP */       \
	X(WQE_SGE_COUNT, "wqe.sge_count")    /* more buffers than the device takes */            \
	X(WQE_INLINE, "wqe.inline")          /* inline data longer than the WQE's room, or in a read */ \
	X(WQE_LENGTH, "wqe.length")          /* longer than the MTU, or than max_rdma_size */    \
	X(WQE_REMOTE_LENGTH, "wqe.remote_length") /* local and remote lengths differ */          \
	X(WQE_IMM, "wqe.imm")                     /* a read has an immediate */                  \
	X(WQE_AH, "wqe.ah")                       /* the AH is unknown, or belongs to another PD */ \
	X(WQE_REQ_ID, "wqe.req_id") /* id in use, or too long for the queue */				\
	X(WQE_LKEY, "wqe.lkey")     /* the key is unknown, or the range is outside of its region */ \
	X(WQE_LKEY_RIGHTS, "wqe.lkey_rights") /* a read into memory without local write */       \
	X(WQE_LKEY_PD, "wqe.lkey_pd")         /* the key belongs to another PD */                \
	X(SQ_OVERRUN, "sq.overrun")           /* more WQEs are outstanding than the queue's depth */ \
	X(SQ_BATCH, "sq.batch")               /* one doorbell announces more WQEs than max_batch */ \
	X(SQ_DOORBELL, "sq.doorbell")         /* above 16 bits, or ahead by more than the depth */ \
	X(SQ_BEHIND, "sq.behind_doorbell")    /* a WQE was written that no doorbell announced */ \
	X(SQ_STATE, "sq.state")               /* doorbell of a QP in a state other than RTS and ERR */ \
	X(RQ_OVERRUN, "rq.overrun")                                                              \
	X(RQ_DOORBELL, "rq.doorbell")     /* the value has more than 16 bits */                  \
	X(RQ_STATE, "rq.state")           /* doorbell of a QP in RESET */                        \
	X(RQ_FIRST_LAST, "rq.first_last") /* `first` inside a WR, or a WR that does not begin with it */ \
	X(RQ_PARTIAL, "rq.partial")       /* the doorbell ends inside a WR */                    \
	X(RQ_RESERVED, "rq.reserved_bits")                                                       \
	X(RQ_REQ_ID, "rq.req_id") /* id in use, or two ids in one WR */					\
	X(RQ_SGE_COUNT, "rq.sge_count")                                                          \
	X(RQ_LKEY, "rq.lkey")                                                                    \
	X(RQ_LKEY_RIGHTS, "rq.lkey_rights")                                                      \
	X(RQ_LKEY_PD, "rq.lkey_pd")                                                              \
	X(CQ_OVERRUN, "cq.overrun")     /* a CQE is lost: the driver had not taken an older one */ \
	X(CQ_CONSUMER, "cq.consumer")   /* the driver reports more CQEs taken than were written */ \
	X(CQ_CMD_SN, "cq.cmd_sn")       /* the arm counts more events than were sent */          \
	X(CQ_ARM, "cq.arm")             /* the armed CQ was created without events */            \
	X(AH_DUPLICATE, "ah.duplicate") /* a second AH for one destination in a PD */            \
	X(DB_UNKNOWN, "db.unknown")     /* doorbell of a QP or CQ that does not exist */         \
	X(QP_TRANSITION, "qp.transition")                                                        \
	X(DMA_REFUSED, "dma.refused")   /* a bus address for which the host has no mapping */    \
	X(CMD_FIELD, "cmd.field")             /* a field has a value out of its range */         \
	X(CMD_OBJECT, "cmd.object")           /* the command names an object that does not exist */ \
	X(CMD_RESOURCE, "cmd.resource")       /* a limit of the device is exceeded */            \
	X(CMD_BUSY, "cmd.busy")               /* the command destroys an object that is in use */ \
	X(CMD_CAPS, "cmd.caps")               /* the device does not support this */             \
	X(RX_ADDRESS, "rx.bad_address")       /* rkey unknown or of another PD, or range too long */ \
	X(RX_RIGHTS, "rx.rights")             /* the rkey lacks the right for this access */     \
	X(RX_UNKNOWN_PEER, "rx.unknown_peer") /* RDMA from a device for which this device has no AH */ \
	X(RX_QKEY, "rx.qkey")                 /* the packet has a wrong qkey and is dropped */   \
	X(RX_SHORT, "rx.short_buffer")        /* the message is longer than the receive */       \
	X(RX_FEATURE, "rx.feature")           /* one QP has unsolicited writes, the other does not */ \
	X(RX_OPCODE, "rx.opcode")             /* RDMA of a kind that this device does not support */ \
	X(RX_MALFORMED, "rx.malformed")

enum sne_viol {
#define X(id, name) SNE_V_##id,
	SNE_VIOLATIONS(X)
#undef X
	SNE_V_COUNT
};

#endif
