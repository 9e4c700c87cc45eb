/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands as functions. Each returns 0 or -errno; what the device said of a refusal is logged
 * where it is read, with the command's name, status and syndrome in words.
 */
#ifndef M5_CMD_H
#define M5_CMD_H

#include "hw_mlx5/ctl/ctl.h"
#include "hw_mlx5/ifc.h"

struct m5_dev_caps {
	uint32_t max_srq, max_srq_wqe;
	uint32_t max_qp, max_qp_blocks, max_cq, max_cqe, max_mkey, max_pd;
	uint32_t max_rd_in, max_rd_out;	/* reads per QP, as target and as initiator */
	uint32_t max_sq_wqe, max_rq_wqe;	/* bytes */
	uint64_t max_msg;
	unsigned int max_mr_log;	/* log2 of the largest key's bytes */
	unsigned int klm_slots;		/* largest KLM list */
	unsigned int max_indirection;	/* how often a key may lead to another */
	uint8_t umr_fence;		/* fm_ce_se bits that follow a change of a key */
	uint8_t num_ports;
	uint8_t cqe_version;		/* 1: CQEs carry the user index */
	bool bf, cq_resize;
	bool ethernet;
	bool reorders;			/* a fabric can have it place the data of RC out of order */
	bool force_order;		/* ... but not that of a QP that says so */
	uint16_t bf_buf_size;		/* bytes of one half of a BlueFlame register */
};

/* The logarithm by which the device takes sizes, rounded up; 0 where n is 0. */
static inline unsigned int m5_log2_up(uint32_t n)
{
	return n > 1 ? 32u - (unsigned int)__builtin_clz(n - 1) : 0;
}

/* Logs a failure of the command whose header in is and returns what to hand up. err: what the
 * access returned; -EREMOTEIO looks into out. */
int m5_cmd_error(int err, const void *in, const void *out);

int m5_cmd(struct m5_ctl *ctl, const void *in, size_t inlen, void *out, size_t outlen);
int m5_cmd_create(struct m5_ctl *ctl, const void *in, size_t inlen, struct m5_obj **obj,
		  uint32_t *number);
int m5_cmd_obj(struct m5_ctl *ctl, struct m5_obj *obj, const void *in, size_t inlen, void *out,
	       size_t outlen);

int m5_cmd_caps(struct m5_ctl *ctl, struct m5_dev_caps *caps);

/* M5_MKC_* of M5_ACCESS_*; local read is always among them. */
uint32_t m5_mkc_rights(unsigned int access);

/* A window's key: free, changed by UMR only, its first variant given; remote_end: and by a SEND with
 * invalidate of the peer. rkey: index << 8 | variant. */
int m5_cmd_window(struct m5_ctl *ctl, uint32_t pdn, uint8_t variant, bool remote_end,
		  struct m5_obj **obj, uint32_t *rkey);

/* A key that has [addr, +length) of another one at the addresses from 0 on, in up to slots pieces.
 * rights: M5_MKC_*. -EINVAL: longer than that. */
struct m5_zero_param {
	uint32_t pdn, rights, lkey;
	uint64_t addr, length;
	unsigned int slots;
};
int m5_cmd_zero_based(struct m5_ctl *ctl, const struct m5_zero_param *p, struct m5_obj **obj,
		      uint32_t *key);

struct m5_cq_param {
	unsigned int log_size;
	uint32_t uar_page, eqn;
	uint32_t umem_id;
	uint64_t offset, dbrec;		/* in the umem, of ring and record */
};
int m5_cmd_cq(struct m5_ctl *ctl, const struct m5_cq_param *p, struct m5_obj **obj, uint32_t *cqn);

/* The CQ goes on in another ring; the last CQE of the old one is M5_CQE_RESIZE. */
int m5_cmd_cq_resize(struct m5_ctl *ctl, struct m5_obj *obj, uint32_t cqn,
		     const struct m5_cq_param *p);

struct m5_qp_param {
	uint32_t pdn, uar_page, send_cqn, recv_cqn, uidx;
	unsigned int log_sq, log_rq, log_rq_stride;	/* blocks; entries; units of 16 bytes */
	uint32_t rmpn;			/* takes its receives there; 0: from a ring of its own */
	bool small_recvs, small_reads;	/* come in their CQE */
	uint32_t umem_id;
	uint64_t offset, dbrec;		/* in the umem; receive ring, then the send ring; record */
};
int m5_cmd_qp(struct m5_ctl *ctl, const struct m5_qp_param *p, struct m5_obj **obj, uint32_t *qpn);

struct m5_rmp_param {
	uint32_t pdn, umem_id;
	unsigned int log_size, log_stride;	/* WQEs; bytes of each */
	uint64_t offset, dbrec;		/* in the umem, of the WQEs and of the record */
};
int m5_cmd_rmp(struct m5_ctl *ctl, const struct m5_rmp_param *p, struct m5_obj **obj,
	       uint32_t *rmpn);
struct m5_rmp_ref {
	struct m5_ctl *ctl;
	struct m5_obj *obj;
	uint32_t rmpn;
};
/* One event when fewer than limit WQEs are left; 0: none. */
int m5_cmd_rmp_arm(const struct m5_rmp_ref *rmp, uint32_t limit);
/* How many WQEs the device has ever taken, modulo 2^16. */
int m5_cmd_rmp_taken(const struct m5_rmp_ref *rmp, uint16_t *taken);

/* A QP that has been made: what its transitions and queries need. */
struct m5_qp_ref {
	struct m5_ctl *ctl;
	struct m5_obj *obj;
	uint32_t qpn;
};
int m5_cmd_qp_init(const struct m5_qp_ref *qp, uint8_t port, uint16_t pkey_index,
		   bool remote_read);

struct m5_qp_conn {
	const struct m5_port *port;
	bool ethernet;
	uint32_t remote_qpn, send_psn, recv_psn;
	uint16_t mtu;			/* bytes */
	uint8_t rgid[16], rmac[6];
	uint16_t rlid;
	uint8_t sl;
	bool grh;			/* InfiniBand: between subnets, or because the port wants one */
	bool force_order;
	uint8_t rd_in, rd_out;		/* reads it serves, and has outstanding */
	uint8_t retry_count, rnr_retry, ack_timeout, min_rnr;
	unsigned int log_msg_max;
};
int m5_cmd_qp_rtr(const struct m5_qp_ref *qp, const struct m5_qp_conn *c);
int m5_cmd_qp_rts(const struct m5_qp_ref *qp, const struct m5_qp_conn *c);
/* M5_CMD_2ERR_QP or M5_CMD_2RST_QP */
int m5_cmd_qp_to(const struct m5_qp_ref *qp, enum m5_opcode opcode);

#endif
