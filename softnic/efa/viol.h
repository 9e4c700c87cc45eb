/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Violations that the checker reports: identifier, stable name, meaning. The rx.* are errors in a peer's
 * request, reported by its target. They are legal, but a test must expect them explicitly.
 */
#ifndef SNE_VIOL_H
#define SNE_VIOL_H

#define SNE_VIOLATIONS(X)                                                                        \
	X(WQE_RESERVED, "wqe.reserved_bits") /* a bit that must be zero */                       \
	X(WQE_META, "wqe.meta")              /* meta_desc must be set */				\
	X(WQE_FIRST_LAST, "wqe.first_last")  /* both flags must be set */				\
	X(WQE_PHASE, "wqe.phase")            /* not the phase of this lap of the ring */        \
	X(WQE_COMP_REQ, "wqe.comp_req")      /* no completion requested */                       \
	X(WQE_PARTIAL, "wqe.partial")        /* a doorbell before the whole WQE was written */   \
	X(WQE_OPCODE, "wqe.opcode")          /* unknown, or unsupported by the device or QP */       \
	X(WQE_SGE_COUNT, "wqe.sge_count")    /* more buffers than the device takes */            \
	X(WQE_INLINE, "wqe.inline")          /* longer than the WQE's room, or of a read */      \
	X(WQE_LENGTH, "wqe.length")          /* longer than the MTU, or than max_rdma_size */    \
	X(WQE_REMOTE_LENGTH, "wqe.remote_length") /* local and remote lengths differ */          \
	X(WQE_IMM, "wqe.imm")                     /* an immediate with a read */                 \
	X(WQE_AH, "wqe.ah")                       /* unknown AH, or of another PD */			\
	X(WQE_REQ_ID, "wqe.req_id") /* id in use, or too long for the queue */				\
	X(WQE_LKEY, "wqe.lkey")     /* unknown key, or outside of its region */                  \
	X(WQE_LKEY_RIGHTS, "wqe.lkey_rights") /* a read into memory without local write */       \
	X(WQE_LKEY_PD, "wqe.lkey_pd")         /* key of another PD */                            \
	X(SQ_OVERRUN, "sq.overrun")           /* more outstanding than the depth */              \
	X(SQ_BATCH, "sq.batch")               /* more WQEs in a doorbell than max_batch */       \
	X(SQ_DOORBELL, "sq.doorbell")         /* more than 16 bits, or further than the depth */ \
	X(SQ_BEHIND, "sq.behind_doorbell")    /* a WQE is written that no doorbell announced */ \
	X(SQ_STATE, "sq.state")               /* doorbell of a QP that is neither RTS nor ERR */ \
	X(RQ_OVERRUN, "rq.overrun")                                                              \
	X(RQ_DOORBELL, "rq.doorbell")     /* more than 16 bits */                                \
	X(RQ_STATE, "rq.state")           /* doorbell of a QP in RESET */                        \
	X(RQ_FIRST_LAST, "rq.first_last") /* first where none begins, or none where one does */  \
	X(RQ_PARTIAL, "rq.partial")       /* the doorbell ends inside a WR */                    \
	X(RQ_RESERVED, "rq.reserved_bits")                                                       \
	X(RQ_REQ_ID, "rq.req_id") /* id in use, or two ids in one WR */					\
	X(RQ_SGE_COUNT, "rq.sge_count")                                                          \
	X(RQ_LKEY, "rq.lkey")                                                                    \
	X(RQ_LKEY_RIGHTS, "rq.lkey_rights")                                                      \
	X(RQ_LKEY_PD, "rq.lkey_pd")                                                              \
	X(CQ_OVERRUN, "cq.overrun")     /* a CQE lost: the driver had not taken older ones */    \
	X(CQ_CONSUMER, "cq.consumer")   /* the driver has taken CQEs that were not written */        \
	X(CQ_CMD_SN, "cq.cmd_sn")       /* counts more events than were sent */				\
	X(CQ_ARM, "cq.arm")             /* the CQ was created without events */				\
	X(AH_DUPLICATE, "ah.duplicate") /* a second one for one destination in a PD */           \
	X(DB_UNKNOWN, "db.unknown")     /* no such QP or CQ */						\
	X(QP_TRANSITION, "qp.transition")                                                        \
	X(DMA_REFUSED, "dma.refused")   /* a bus address that the host has not mapped */         \
	X(CMD_FIELD, "cmd.field")             /* a value out of its range */                     \
	X(CMD_OBJECT, "cmd.object")           /* names a missing object */                              \
	X(CMD_RESOURCE, "cmd.resource")       /* beyond a limit */                           \
	X(CMD_BUSY, "cmd.busy")               /* destroys an object in use */                      \
	X(CMD_CAPS, "cmd.caps")               /* not supported by the device */             \
	X(RX_ADDRESS, "rx.bad_address")       /* rkey unknown, range, or of another PD */        \
	X(RX_RIGHTS, "rx.rights")             /* rkey without the right */                       \
	X(RX_UNKNOWN_PEER, "rx.unknown_peer") /* RDMA, and no AH of the initiator here */        \
	X(RX_QKEY, "rx.qkey")                 /* wrong qkey: the packet is dropped */		\
	X(RX_SHORT, "rx.short_buffer")        /* the receive has less room than the message */   \
	X(RX_FEATURE, "rx.feature")           /* one QP has unsolicited writes, the other not */ \
	X(RX_OPCODE, "rx.opcode")             /* RDMA that this device does not support */                \
	X(RX_MALFORMED, "rx.malformed")

enum sne_viol {
#define X(id, name) SNE_V_##id,
	SNE_VIOLATIONS(X)
#undef X
	SNE_V_COUNT
};

#endif
