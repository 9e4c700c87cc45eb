/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands as functions. Each returns 0 or -errno. A refusal is logged where the output is read,
 * with the command's name, status and syndrome.
 */
#ifndef M5_CMD_H
#define M5_CMD_H

#include "hw_mlx5/ctl/ctl.h"
#include "hw_mlx5/ifc.h"

/* Formats of timestamps that a device supports: the values of its capabilities. */
enum m5_ts { M5_TS_FREE_RUNNING, M5_TS_REAL_TIME, M5_TS_BOTH };

struct m5_dev_caps {
	uint32_t max_srq, max_srq_wqe;
	uint32_t max_qp, max_qp_blocks, max_cq, max_cqe, max_mkey, max_pd;
	uint32_t max_rd_in, max_rd_out;	/* most reads of a QP, as responder and as requester */
	uint32_t max_sq_wqe;		/* most bytes of a WQE of an SQ */
	uint64_t max_msg;
	unsigned int max_mr_log;	/* log2 of the largest key's size in bytes */
	unsigned int klm_slots;		/* length of the largest KLM list */
	unsigned int max_indirection;	/* longest chain of keys that refer to one another */
	uint8_t umr_fence;		/* fm_ce_se bits that a WQE needs if it follows the change
					 * of a key */
	uint8_t cqe_version;		/* 1: CQEs carry the user index */
	uint8_t sq_ts;			/* enum m5_ts, of send queues */
	uint32_t timer_khz;		/* frequency of the internal timer */
	bool bf, cq_resize;
	/* the device has windows, and firmware lets UMRs change KLM lists */
	bool windows;
	bool small_cqe;			/* the device can put small data into a CQE */
	bool ethernet;
	/* a QP has both atomics of 8 bytes, and they return their value in the host's byte order */
	bool atomics;
	bool reorders;			/* the device may place RC data out of order */
	bool force_order;		/* the device keeps the order for a QP on request */
};

/* Converts a size to the device's form: log2, rounded up; 0 for n = 0. */
static inline unsigned int m5_log2_up(uint32_t n)
{
	return n > 1 ? 32u - (unsigned int)__builtin_clz(n - 1) : 0;
}

/* Logs the failure of the command with header in; returns the -errno for the caller. err is that of
 * the access; -EREMOTEIO: the device refused, and out has its status. */
int m5_cmd_error(const struct m5_ctl *ctl, int err, const void *in, const void *out);

int m5_cmd(struct m5_ctl *ctl, const void *in, size_t inlen, void *out, size_t outlen);
int m5_cmd_create(struct m5_ctl *ctl, const void *in, size_t inlen, struct m5_obj **obj,
		  uint32_t *number);
int m5_cmd_obj(struct m5_ctl *ctl, struct m5_obj *obj, const void *in, size_t inlen, void *out,
	       size_t outlen);

int m5_cmd_caps(struct m5_ctl *ctl, struct m5_dev_caps *caps);
/* Returns the timestamp formats of QPs. */
int m5_cmd_ts_format(struct m5_ctl *ctl, const struct m5_dev_caps *caps, enum m5_ts *format);

/* Converts M5_ACCESS_* to M5_MKC_*; the result always includes local read. */
uint32_t m5_mkc_rights(unsigned int access);

/*
 * Creates the key of a window, in the free state, with this first variant. Only UMRs change it.
 * remote_end: the peer may invalidate it by a SEND. *rkey is index << 8 | variant.
 */
int m5_cmd_window(struct m5_ctl *ctl, uint32_t pdn, uint8_t variant, bool remote_end,
		  struct m5_obj **obj, uint32_t *rkey);

/* Creates a key that maps addresses from 0 to [addr, +length) of another key, in up to slots
 * pieces. rights: M5_MKC_*. -EINVAL: too long. */
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
	uint64_t offset, dbrec;		/* offsets of ring and record in the umem */
};
int m5_cmd_cq(struct m5_ctl *ctl, const struct m5_cq_param *p, struct m5_obj **obj, uint32_t *cqn);

/* Continues the CQ in another ring; the last CQE of the old one is M5_CQE_RESIZE. */
int m5_cmd_cq_resize(struct m5_ctl *ctl, struct m5_obj *obj, uint32_t cqn,
		     const struct m5_cq_param *p);

struct m5_qp_param {
	uint32_t pdn, uar_page, send_cqn, recv_cqn, uidx;
	/* log2 of the send queue's blocks, of the receive queue's entries, and of the units of 16
	 * bytes in an entry */
	unsigned int log_sq, log_rq, log_rq_stride;
	uint32_t rmpn;			/* receives come from this RMP; 0: from its own ring */
	bool small_recvs, small_reads;	/* scatter to CQE */
	uint32_t umem_id;
	/* offsets in the umem: receive ring, then send ring; the record */
	uint64_t offset, dbrec;
};
int m5_cmd_qp(struct m5_ctl *ctl, const struct m5_qp_param *p, struct m5_obj **obj, uint32_t *qpn);

struct m5_rmp_param {
	uint32_t pdn, umem_id;
	/* log2 of the number of WQEs, and of the bytes of a WQE */
	unsigned int log_size, log_stride;
	uint64_t offset, dbrec;		/* offsets of the WQEs and of the record in the umem */
};
int m5_cmd_rmp(struct m5_ctl *ctl, const struct m5_rmp_param *p, struct m5_obj **obj,
	       uint32_t *rmpn);
struct m5_rmp_ref {
	struct m5_ctl *ctl;
	struct m5_obj *obj;
	uint32_t rmpn;
};
/* Requests one event when fewer than limit WQEs are left; 0: no event. */
int m5_cmd_rmp_arm(const struct m5_rmp_ref *rmp, uint32_t limit);
/* Returns the number of WQEs that the device has ever taken, modulo 2^16. */
int m5_cmd_rmp_taken(const struct m5_rmp_ref *rmp, uint16_t *taken);

/* A QP that exists: what its transitions and queries need. */
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
	uint16_t mtu;			/* path MTU in bytes */
	uint8_t rgid[16], rmac[6];
	uint16_t rlid;
	uint16_t udp_port;		/* UDP port of a software adapter on another host; 0: none */
	uint8_t sl, tclass;
	/* InfiniBand: packets have a GRH, because they cross subnets or the port requires it */
	bool grh;
	bool force_order;
	/* reads that the QP serves, and reads that it may have outstanding */
	uint8_t rd_in, rd_out;
	uint8_t retry_count, rnr_retry, ack_timeout, min_rnr;
	unsigned int log_msg_max;
};
int m5_cmd_qp_rtr(const struct m5_qp_ref *qp, const struct m5_qp_conn *c);
int m5_cmd_qp_rts(const struct m5_qp_ref *qp, const struct m5_qp_conn *c);
int m5_cmd_qp_error(const struct m5_qp_ref *qp);

#endif
