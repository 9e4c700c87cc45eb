/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hw_efa is not built yet: this header states its lower seam and nothing implements it. What an
 * AWS EFA needs from outside its driver: a device and its capabilities, memory keys, address
 * handles, and the raw queues of an SRD QP and its CQ. Implementations will be efadv (rdma-core)
 * and a software EFA in this process. Above it stands core/hw.h, the same as for every backend.
 *
 * Functions return 0 or -errno. Slow path only. Safe to call from any thread.
 */
#ifndef EFA_CTL_H
#define EFA_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct efa_ctl;

/* Read from the device, never assumed: generations differ in all of it. */
struct efa_caps {
	bool rdma_read, rdma_write, unsolicited_write_recv, wide_wqe;
	uint16_t mtu;			/* bytes of one send; larger messages are the backend's work */
	uint16_t inline_max;		/* bytes */
	uint16_t max_tx_batch;		/* 64-byte WQEs between two doorbells; 0: no limit */
	uint16_t min_sq_wr, max_sq_wr, max_rq_wr;
	uint16_t max_send_sge, max_recv_sge, max_rdma_sge;
	uint32_t max_rdma_size;		/* bytes of one read or write */
	uint32_t max_mr_pages, max_qp, max_cq, max_ah;
};

struct efa_queues {			/* a QP and its CQ, as mapped */
	volatile void *sq;		/* write-combined, never read back */
	void *rq, *cq;
	volatile uint32_t *sq_doorbell, *rq_doorbell, *cq_doorbell;
	uint16_t sq_entries, rq_entries, cq_entries;
	uint8_t sq_entry_size, cq_entry_size;
	uint32_t qpn, qkey;
};

struct efa_ctl_ops {
	const char *access;		/* "efadv", "model" */
	void (*close)(struct efa_ctl *ctl);
	int (*caps)(struct efa_ctl *ctl, struct efa_caps *caps);
	int (*mr_reg)(struct efa_ctl *ctl, void *addr, uint64_t len, unsigned int access,
		      uint32_t *lkey, uint32_t *rkey, void **priv);
	int (*mr_dereg)(struct efa_ctl *ctl, void *priv);
	int (*ah_create)(struct efa_ctl *ctl, const uint8_t gid[16], uint16_t *ah, void **priv);
	void (*ah_destroy)(struct efa_ctl *ctl, void *priv);
	int (*qp_create)(struct efa_ctl *ctl, unsigned int sq, unsigned int rq, unsigned int cq,
			 struct efa_queues *queues, void **priv);
	int (*qp_destroy)(struct efa_ctl *ctl, void *priv);
};

struct efa_ctl {
	const struct efa_ctl_ops *ops;
};

#endif
