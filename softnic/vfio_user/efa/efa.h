/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An EFA of softnic-vm: what a driver finds in front of the model of softnic_efa.h. BAR 0 has the registers,
 * BAR 1 the MSI-X table, BAR 2 the send queues, and BAR 4 the doorbells. The client maps BAR 2. Each store
 * to BAR 0 and BAR 4 is a message, so that none is lost: the next store to a CQ's doorbell may overwrite the
 * one that arms it.
 *
 * Only the thread that receives the messages executes commands and doorbells. The model's thread calls
 * ve_event(). Locks, outermost first: the model's, that of the EQs, that of the maps or of the
 * interrupts.
 */
#ifndef SOFTNIC_VFIO_USER_EFA_EFA_H
#define SOFTNIC_VFIO_USER_EFA_EFA_H

#include <pthread.h>

#include "softnic/softnic_efa.h"
#include "softnic/vfio_user/efa/layout.h"
#include "softnic/vfio_user/vm.h"

enum { VE_REG_BAR = 0, VE_MSIX_BAR = 1, VE_MEM_BAR = 2, VE_DB_BAR = 4 };
enum {
	VE_PAGE = 4096,
	VE_REG_BYTES = 8192,
	VE_MEM_BYTES = 256 << 20,	/* more bytes than all send queues of the model can need */
	VE_DB_BYTES = 4 << 20,
	VE_QPS = 256, VE_CQS = 512, VE_EQS = 32, VE_UARS = 1024,
	/* offset of the RQ's doorbell in the page of a QP; the SQ's doorbell is at 0 */
	VE_RQ_DB = 64,
	VE_MAX_EQE = 4096,
};

struct ve_qp {
	bool live;
	uint16_t uar;
	volatile uint32_t *sq, *rq;	/* doorbells; NULL: the QP has no such queue */
};

struct ve_cq {
	bool live;
	uint16_t uar;
	volatile uint32_t *db;		/* doorbell; NULL: the CQ has none */
	int eqn;			/* -1: the CQ sends no events */
};

struct ve_eq {
	bool live, armed;
	bool unreported;		/* the EQ has events for which no interrupt has been raised */
	uint8_t vector;
	uint64_t addr;
	uint32_t depth, next;		/* depth of the ring; free-running counter of the next entry */
	unsigned int cqs;		/* number of CQs that use the EQ */
};

struct ve_uar {
	bool live;
	unsigned int users;
};

struct vm_efa {
	struct softnic_efa *nic;
	struct softnic_efa_caps caps;
	uint8_t *mem;			/* memory of BAR 2 */
	uint32_t reg[VE_REGS_END / 4];
	uint16_t aq_head, acq_tail;	/* counters of the entries taken and written */
	struct ve_qp qp[VE_QPS];	/* QPs by handle */
	struct ve_uar uar[VE_UARS];
	uint32_t aenq_groups;

	pthread_mutex_t eq_lock;	/* protects eq and cq[].eqn */
	struct ve_eq eq[VE_EQS];
	struct ve_cq cq[VE_CQS];
};

/* Executes a command. Returns 0 and the response after its header, or -errno. */
typedef int ve_fn(struct vm_device *dev, const union ve_command *in, union ve_response *out);

static inline uint64_t ve_address(uint32_t lo, uint32_t hi)
{
	return (uint64_t)hi << 32 | lo;
}

/* ---- Functions of uar.c */
ve_fn ve_alloc_uar, ve_dealloc_uar;
bool ve_uar_hold(struct vm_efa *efa, uint16_t uar);	/* false: there is no such UAR */
void ve_uar_drop(struct vm_efa *efa, uint16_t uar);

/* ---- Functions of eq.c */
ve_fn ve_create_eq, ve_destroy_eq;
void ve_event(void *dev, uint16_t cq);
void ve_arm_eq(struct vm_device *dev, uint32_t word);
/* eqn -1: no EQ. Returns 0, or -EINVAL if there is no such EQ */
int ve_cq_set_eq(struct vm_efa *efa, uint16_t cq, int eqn);

/* ---- Functions of qp.c, cq.c, mr.c, pd.c and feature.c */
ve_fn ve_create_qp, ve_modify_qp, ve_query_qp, ve_destroy_qp;
/* returns 0 or -ENOENT */
int ve_ring_qp(struct vm_efa *efa, uint32_t handle, uint32_t in_page, uint32_t value);
ve_fn ve_create_cq, ve_destroy_cq;
int ve_ring_cq(struct vm_efa *efa, uint32_t cq, uint32_t in_page, uint32_t value);
ve_fn ve_reg_mr, ve_dereg_mr;
ve_fn ve_alloc_pd, ve_dealloc_pd, ve_create_ah, ve_destroy_ah;
ve_fn ve_get_feature, ve_set_feature, ve_get_stats;

/* ---- A function of admin.c: executes commands up to the producer counter in the doorbell */
void ve_admin_ring(struct vm_device *dev, uint32_t producer);

/* ---- Functions of regs.c */
void ve_reset(struct vm_device *dev);		/* resets registers and objects, as after power-on */
/* returns UINT32_MAX if there is no such register */
uint32_t ve_reg_read(const struct vm_efa *efa, uint32_t offset);
void ve_reg_write(struct vm_device *dev, uint32_t offset, uint32_t value);

#endif
