/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations of a device that hw_efa needs: capabilities, protection domains, memory keys, address
 * handles, and SRD QPs and CQs with their raw queues. Two accesses implement them: efa_access_soft (the
 * software EFA in this process) and efa_access_efadv (rdma-core 59 and newer).
 *
 * Functions return 0 or -errno. None is on the fast path. Any thread may call them.
 */
#ifndef EFA_CTL_H
#define EFA_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/hw.h"
#include "hw_common/verbs.h"
#include "hw_efa/wqe.h"

struct efa_ctl;
struct softnic_efa;

/* Read from the device: generations differ in each field. */
struct efa_caps {
	bool rdma_read, rdma_write, wide_wqe, rnr_retry;
	bool cq_doorbell;		/* CQs can be armed */
	bool cq_with_sgid;		/* a CQE without an address handle has its sender's GID */
	uint32_t mtu;			/* most bytes of one send; hw_efa splits longer messages */
	uint16_t inline_max, inline_max_wide;	/* inline bytes in a WQE of 64 bytes, and of 128 */
	uint16_t max_send_sge;
	uint32_t max_sq_wr, max_rq_wr;	/* most WQEs of 64 bytes; most receives */
	uint32_t max_rdma_size;		/* most bytes of one read or write */
	uint32_t max_qp, max_cqe, max_mr, max_pd;
	uint64_t max_mr_size;
	uint16_t device_id;		/* PCI device id */
	uint8_t gid[16];
	uint16_t fw[2];			/* firmware's major and minor version */
	char vendor[64];
};

struct efa_ring {			/* a ring as mapped into this process */
	void *base;
	volatile uint32_t *doorbell;
	uint32_t entries;		/* number of entries, a power of two */
	uint16_t entry_size;
};

struct efa_cq_res {
	struct efa_ring ring;		/* doorbell: NULL if the CQ cannot be armed */
	int fd;				/* readable after an event; -1: the CQ cannot be armed */
	unsigned int cmd_sn;		/* number of events that cq_drain() has taken */
	uint16_t number;
	void *priv;
};

/* Returns what to write to the CQ's doorbell. */
static inline uint32_t efa_cq_doorbell_of(const struct efa_cq_res *cq, uint32_t consumed, bool arm)
{
	unsigned int sn = __atomic_load_n(&cq->cmd_sn, __ATOMIC_ACQUIRE);

	return htole32(efa_cq_doorbell((uint16_t)consumed, sn, arm));
}

struct efa_qp_param {
	void *pd;
	const struct efa_cq_res *cq;
	/* numbers of entries, powers of two; the SQ may get more */
	uint32_t sq_entries, rq_entries;
	bool wide;
};

struct efa_qp_res {
	struct efa_ring sq, rq;		/* the SQ is write-combined: never read back */
	uint16_t qpn;
	uint32_t max_batch;		/* most WQEs between two doorbells */
	uint32_t handle;		/* names the QP in kick() */
	void *priv;
};

struct efa_ah {				/* an address handle, one for each PD and GID */
	struct efa_ah *next;
	void *pd, *priv;
	uint8_t gid[16];
	uint16_t number;
	uint32_t refs;
};

enum efa_access { EFA_LOCAL_WRITE = 1, EFA_REMOTE_WRITE = 2, EFA_REMOTE_READ = 4 };

struct efa_mr {
	uint32_t lkey, rkey;		/* keys; the lkey has 24 bits */
	void *priv;
};

struct efa_ctl_ops {
	const char *access;		/* "efadv", "model" */
	void (*close)(struct efa_ctl *ctl);
	int (*pd_alloc)(struct efa_ctl *ctl, void **pd);
	int (*pd_free)(struct efa_ctl *ctl, void *pd);
	int (*mr_reg)(struct efa_ctl *ctl, void *pd, uint64_t addr, uint64_t len, unsigned int access,
		      struct efa_mr *mr);
	/* The device no longer accesses the memory when this returns. */
	int (*mr_dereg)(struct efa_ctl *ctl, struct efa_mr *mr);
	/* Called with PD and GID, once for each pair. -EINVAL: the GID cannot be reached. */
	int (*ah_create)(struct efa_ctl *ctl, struct efa_ah *ah);
	void (*ah_destroy)(struct efa_ctl *ctl, struct efa_ah *ah);
	/* Creates a CQ, which may get more entries than requested. */
	int (*cq_create)(struct efa_ctl *ctl, uint32_t entries, struct efa_cq_res *cq);
	void (*cq_destroy)(struct efa_ctl *ctl, struct efa_cq_res *cq);
	/* True: the device is gone, so the CQ's descriptor must not be polled any more. */
	bool (*cq_drain)(struct efa_ctl *ctl, struct efa_cq_res *cq);
	/* The new QP is in INIT: receives can be posted. */
	int (*qp_create)(struct efa_ctl *ctl, const struct efa_qp_param *p, uint32_t qkey,
			 struct efa_qp_res *qp);
	/* moves the QP to RTR and RTS */
	int (*qp_ready)(struct efa_ctl *ctl, struct efa_qp_res *qp);
	int (*qp_error)(struct efa_ctl *ctl, struct efa_qp_res *qp);
	/* When it returns 0, the QP adds no more CQEs and accesses no memory. Otherwise it goes on. */
	int (*qp_destroy)(struct efa_ctl *ctl, struct efa_qp_res *qp);
	/* Returns the next asynchronous event. Called only if async_fd is not -1. */
	enum hw_event (*async_read)(struct efa_ctl *ctl);

	/* Software EFA only, like the next three; otherwise NULL. Runs a device that callers drive. */
	bool (*drive)(struct softnic_efa *soft);
	/* kick() handles the doorbells of a QP; the thread that posts to the QP calls it. kick_cq()
	 * handles those of a CQ. */
	void (*kick)(struct softnic_efa *soft, uint32_t handle);
	void (*kick_cq)(struct softnic_efa *soft, uint16_t number);
	/* Returns the bytes that the device needs for a QP with a send queue of that depth. */
	size_t (*qp_memory)(uint32_t sq);
};

struct efa_ctl {
	const struct efa_ctl_ops *ops;
	struct efa_caps caps;
	char device[80];		/* the IA name without ia_params: "efa_0-1" */
	struct softnic_efa *soft;	/* the software EFA, or NULL */
	const char *faults;		/* words of its fault script */
	int node;			/* the adapter's NUMA node, or HW_NO_NODE */
	int async_fd;			/* readable after an asynchronous event; -1: the device has none */
	const struct efa_cqring *cq;	/* the CQEs that hw_efa has taken from its CQ, for checks by
					 * the software EFA */
};

struct efa_access_kind {
	int (*open)(const char *ia_name, const char *params, struct efa_ctl **ctl, char *why,
		    size_t whylen);	/* -ENODEV: the name is not one of this access */
	size_t (*list)(struct dapl_device *devs, size_t max);
};

extern const struct efa_access_kind efa_access_soft, efa_access_efadv;

/* Checks ia_params only if the name is that of an EFA. */
int efa_ctl_open(const char *ia_name, const char *params, struct efa_ctl **ctl, char *why,
		 size_t whylen);
size_t efa_ctl_list(struct dapl_device *devs, size_t max);

#endif
