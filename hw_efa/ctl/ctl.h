/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an EFA needs from outside its driver: a device and its capabilities, protection domains,
 * memory keys, address handles, and SRD QPs and CQs with their raw queues. Implementations:
 * efa_ctl_soft (the software EFA in this process), efa_ctl_efadv (rdma-core 59 and newer). Above it
 * stands core/hw.h, the same as for every backend; the data path lies below.
 *
 * Functions return 0 or -errno. Slow path only. Safe to call from any thread.
 */
#ifndef EFA_CTL_H
#define EFA_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/hw.h"

struct efa_ctl;
struct softnic_efa;

/* Read from the device, never assumed: generations differ in all of it. */
struct efa_caps {
	bool rdma_read, rdma_write, unsolicited_write_recv, wide_wqe, rnr_retry;
	bool cq_doorbell;		/* CQs can be armed */
	bool cq_with_sgid;		/* a CQE without an address handle has its sender's GID */
	uint32_t mtu;			/* bytes of one send; larger messages are the backend's work */
	uint16_t inline_max, inline_max_wide;	/* bytes in a WQE of 64, of 128 */
	uint16_t max_send_sge;
	uint32_t max_sq_wr, max_rq_wr;	/* 64-byte WQEs; receives */
	uint32_t max_rdma_size;		/* bytes of one read or write */
	uint32_t max_qp, max_cqe, max_mr, max_pd;
	uint64_t max_mr_size;
	uint16_t device_id;		/* PCI */
	uint8_t gid[16];
	uint16_t fw[2];			/* firmware's major and minor version */
	char vendor[64];
};

struct efa_ring {			/* as mapped */
	void *base;
	volatile uint32_t *doorbell;
	uint32_t entries;		/* a power of two */
	uint16_t entry_size;
};

struct efa_cq_res {
	struct efa_ring ring;		/* doorbell: NULL where there is none */
	unsigned int cmd_sn;		/* events that were taken */
	uint16_t number;
	void *priv;
};

struct efa_qp_param {
	void *pd;
	const struct efa_cq_res *cq;
	uint32_t sq_entries, rq_entries;	/* powers of two; the SQ may get more */
	bool wide, unsolicited;
};

struct efa_qp_res {
	struct efa_ring sq, rq;		/* the SQ is write-combined: never read back */
	uint16_t qpn;
	uint32_t max_batch;		/* WQEs between two doorbells */
	uint32_t handle;		/* what the software EFA is kicked with */
	void *priv;
};

enum efa_access { EFA_LOCAL_WRITE = 1, EFA_REMOTE_WRITE = 2, EFA_REMOTE_READ = 4 };

struct efa_mr {
	uint32_t lkey, rkey;		/* lkey: 24 bits */
	void *priv;
};

enum efa_event { EFA_EVENT_FATAL, EFA_EVENT_PORT_DOWN };

struct efa_ctl_ops {
	const char *access;		/* "efadv", "model" */
	void (*close)(struct efa_ctl *ctl);
	int (*caps)(struct efa_ctl *ctl, struct efa_caps *caps);
	int (*pd_alloc)(struct efa_ctl *ctl, void **pd);
	int (*pd_free)(struct efa_ctl *ctl, void *pd);
	int (*mr_reg)(struct efa_ctl *ctl, void *pd, uint64_t addr, uint64_t len, unsigned int access,
		      struct efa_mr *mr);
	/* Access has ended when it returns. */
	int (*mr_dereg)(struct efa_ctl *ctl, struct efa_mr *mr);
	/* Once for each PD and GID: the caller keeps count. -EINVAL: no way leads to the GID. */
	int (*ah_create)(struct efa_ctl *ctl, void *pd, const uint8_t gid[16], uint16_t *ah,
			 void **priv);
	void (*ah_destroy)(struct efa_ctl *ctl, void *pd, uint16_t ah, void *priv);
	/* It may have more entries. */
	int (*cq_create)(struct efa_ctl *ctl, uint32_t entries, struct efa_cq_res *cq);
	void (*cq_destroy)(struct efa_ctl *ctl, struct efa_cq_res *cq);
	/* The next completion makes the descriptor readable. consumed: CQEs taken until now. */
	int (*cq_arm)(struct efa_ctl *ctl, struct efa_cq_res *cq, uint32_t consumed);
	int (*cq_fd)(struct efa_ctl *ctl, struct efa_cq_res *cq);	/* -1 where none can be armed */
	void (*cq_drain)(struct efa_ctl *ctl, struct efa_cq_res *cq);
	/* Able to take receives (INIT). */
	int (*qp_create)(struct efa_ctl *ctl, const struct efa_qp_param *p, uint32_t qkey,
			 struct efa_qp_res *qp);
	int (*qp_ready)(struct efa_ctl *ctl, struct efa_qp_res *qp);	/* RTR, RTS */
	int (*qp_error)(struct efa_ctl *ctl, struct efa_qp_res *qp);
	/* No CQE of it comes any more. */
	void (*qp_destroy)(struct efa_ctl *ctl, struct efa_qp_res *qp);
	/* What happens to the device: a pollable descriptor, and the next event. NULL: nothing does. */
	int (*async_fd)(struct efa_ctl *ctl);
	bool (*async_read)(struct efa_ctl *ctl, enum efa_event *ev);

	/* Of the software EFA, NULL elsewhere. It takes a turn, where its callers drive it; */
	void (*drive)(struct efa_ctl *ctl);
	/* and looks at the doorbells of a QP. For who has the queue. */
	void (*kick)(struct efa_ctl *ctl, uint32_t handle);
	/* What it takes for a QP with a send queue of that length. */
	size_t (*qp_memory)(uint32_t sq);
};

struct efa_ctl {
	const struct efa_ctl_ops *ops;
	char device[80];		/* the IA name that needs no ia_params: "efa_0-1" */
	struct softnic_efa *soft;	/* the software EFA, or NULL */
	const char *faults;		/* the words that its fault script knows */
	const struct efa_cqring *cq;	/* the driver's own view of its CQ, which that one checks */
};

struct efa_access_kind {
	int (*open)(const char *ia_name, const char *params, struct efa_ctl **ctl, char *why,
		    size_t whylen);	/* -ENODEV: no name of it */
	size_t (*list)(struct dapl_device *devs, size_t max);
};

extern const struct efa_access_kind efa_access_soft, efa_access_efadv;

/* Judges ia_params only where the name is one of ours. */
int efa_ctl_open(const char *ia_name, const char *params, struct efa_ctl **ctl, char *why,
		 size_t whylen);
size_t efa_ctl_list(struct dapl_device *devs, size_t max);

#endif
