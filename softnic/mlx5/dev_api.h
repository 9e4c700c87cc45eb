/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of the device that the wire calls. */
#ifndef SN_DEV_API_H
#define SN_DEV_API_H

#include "softnic/clock.h"
#include "softnic/mlx5/nic.h"

/* functions of table.c: numbers have 24 bits and are never 0 */
void *sn_table_search(const struct sn_table *t, uint32_t number);
/* Fibonacci hashing spreads random numbers and small consecutive numbers (UAR pages) equally well. */
static inline uint32_t sn_table_hash(uint32_t number)
{
	return number * UINT32_C(2654435769) >> 8;
}
/* Looks first in the slot of the hash: most objects are there, and a number that was removed never is. */
static inline void *sn_table_find(const struct sn_table *t, uint32_t number)
{
	uint32_t i = sn_table_hash(number) & t->mask;

	return t->slot && t->number[i] == number ? t->slot[i] : sn_table_search(t, number);
}

static inline struct sn_qp *sn_qp_find(struct softnic *nic, uint32_t qpn)
{
	return sn_table_find(&nic->qps, qpn);
}

static inline struct sn_mkey *sn_mkey_find(struct softnic *nic, uint32_t key)
{
	return sn_table_find(&nic->mkeys, key >> 8);
}

/* functions of timer.c */
/* returns 0 or -ENOMEM */
int sn_timer_arm(struct softnic *nic, struct sn_timer *t, uint64_t deadline);
void sn_timer_cancel(struct softnic *nic, struct sn_timer *t);

/*
 * The unit of work is a list entry that an access looks at; a WQE counts as SN_WORK_WQE entries. After
 * SN_WORK_MAX units a drive ends, and its QPs stay on the run list. So a caller that waits for the lock gets
 * it soon, whatever the driver of the device has queued.
 */
enum { SN_WORK_MAX = 1 << 22, SN_WORK_WQE = 64 };
static inline bool sn_is_spent(const struct softnic *nic)
{
	return nic->work >= SN_WORK_MAX;
}

/* Puts the QP on the run list: the current drive calls sn_rc_run() for it. */
static inline void sn_qp_kick(struct sn_qp *qp)
{
	if (qp->on_run)
		return;
	qp->on_run = true;
	TAILQ_INSERT_TAIL(&qp->nic->run, qp, run);
}

/* Is it a READ or an atomic? Its response has data. */
static inline bool sn_is_read(uint8_t opcode)
{
	return opcode == SN_OP_READ || opcode == SN_OP_ATOMIC_CS || opcode == SN_OP_ATOMIC_FA;
}

/* functions of sq.c */
enum sn_sq_status {
	SN_SQ_WQE,		/* *wqe belongs to the wire half until sn_wr_done(wqe->wr, ...) */
	SN_SQ_EMPTY,		/* no more WQEs; or an error stopped the queue, or the QP is not in RTS */
	/* the WQE must wait for WQEs in flight; the QP is kicked when it can continue */
	SN_SQ_FENCED,
};
enum sn_sq_status sn_sq_next(struct sn_qp *qp, struct sn_wqe *wqe);
/* Fetches the WQE of an unfinished wr again, for retransmission. False: the queue is unreadable. */
bool sn_sq_refetch(struct sn_qp *qp, struct sn_wr *wr, struct sn_wqe *wqe);

/* rq.c. Takes the next receive WQE (RQ or SRQ). Returns 1; 0: none is posted (RNR); -EIO: the WQE
 * is unusable, so the QP must fail. */
int sn_rq_next(struct sn_qp *qp, struct sn_rwqe *rwqe);
/*
 * The segment of the next receive WQE, if it is in the RQ and has only one. The WQE is not taken: the
 * caller adds 1 to rq_next. False: use sn_rq_next().
 */
bool sn_rq_peek(struct sn_qp *qp, struct sn_sge *sge);
/* Puts the last WQE back. This does not revoke a limit event of its SRQ. */
void sn_rq_put_back(struct sn_qp *qp, const struct sn_rwqe *rwqe);
/* Reads the last WQE again, as named by rwqe->idx and srq. Returns 1; -EIO: the WQE is unusable, so the
 * QP must fail. */
int sn_rq_refetch(struct sn_qp *qp, struct sn_rwqe *rwqe);

/* wr.c. The FIFO of WRs, oldest first: i in [0, sn_wr_count). Entries keep their slots until they
 * retire. */
static inline uint32_t sn_wr_count(const struct sn_qp *qp)
{
	return qp->wr_tail - qp->wr_head;
}

static inline struct sn_wr *sn_wr_at(const struct sn_qp *qp, uint32_t i)
{
	return &qp->wr[(qp->wr_head + i) & (qp->sq_size - 1)];
}

enum { SN_CE_ERR = 0, SN_CE_FIRST_ERR = 1, SN_CE_ALWAYS = 2, SN_CE_EQE = 3 };
struct sn_wr *sn_wr_push(struct sn_qp *qp, uint16_t idx, uint8_t opcode, uint8_t ds, uint8_t ce);
/* Retires the oldest wr, which has succeeded and holds all fields of its CQE. False: the QP is in ERR. */
bool sn_wr_pop(struct sn_qp *qp);
/* Retires finished wrs in order, and stops at the first unfinished one. */
void sn_wr_retire(struct sn_qp *qp);
/*
 * Ends a wr with SN_SYND_OK or the syndrome of its error CQE. May retire it and others, write CQEs and,
 * on an error, move the QP to ERR (which calls sn_rc_stop()).
 */
void sn_wr_done(struct sn_qp *qp, struct sn_wr *wr, uint8_t syndrome, uint8_t vendor,
		uint32_t byte_cnt);
/*
 * Completes the last receive WQE. imm: the immediate or the invalidated rkey, in wire order. small: the
 * message, if it goes into the CQE and not into the receive buffer; else NULL.
 */
void sn_rq_done(struct sn_qp *qp, const struct sn_rwqe *rwqe, enum sn_cqe_op op,
		uint32_t byte_cnt, be32_t imm, bool solicited, const void *small);
/* Completes the last receive WQE with an error CQE. The caller then calls sn_qp_fatal(). */
void sn_rq_fail(struct sn_qp *qp, const struct sn_rwqe *rwqe, uint8_t syndrome);

/* Moves the QP to ERR and flushes both queues in order, including a receive WQE that was taken. */
void sn_qp_to_error(struct sn_qp *qp);
/* Moves the QP to ERR after a responder error, flushes it, and raises the asynchronous event
 * (SN_EV_WQ_ACCESS, ...). */
void sn_qp_fatal(struct sn_qp *qp, enum sn_event event);
void sn_qp_event(struct sn_qp *qp, enum sn_event event);

/* access.c. The reasons to refuse an access, in the order of the checks. */
enum sn_acc {
	SN_ACC_OK,
	SN_ACC_STALE,		/* no key with this index, or another key byte */
	SN_ACC_FREE,
	SN_ACC_PD,
	SN_ACC_QPN,
	SN_ACC_RIGHTS,
	SN_ACC_BOUNDS,
	SN_ACC_DEPTH,		/* too long: a chain of KLMs, or the search in a list */
	SN_ACC_GONE,		/* a key in the list of an indirect key is stale or free */
	SN_ACC_DMA,		/* the host's IOMMU refused the access */
	SN_ACC_MANY,		/* sn_mkey_map() only: the range has more than one piece */
};
/* IBTA 9.7.5.2: the peer's request was right, and the error is one of the responder. */
static inline bool sn_acc_is_operational(enum sn_acc why)
{
	return why == SN_ACC_GONE || why == SN_ACC_DMA;
}

struct sn_access {
	uint32_t key;
	struct sn_pd *pd;
	uint32_t qpn;
	uint8_t rights;		/* the access needs all of these rights */
	uint64_t va, len;
};

/*
 * Returns a pointer to the bytes if the access is valid and lies in one piece of a direct key.
 * NULL: use a call below, which also returns the reason.
 */
void *sn_mkey_at(struct softnic *nic, const struct sn_access *a);
/* Checks the access only, and does not touch memory. */
enum sn_acc sn_mkey_check(struct softnic *nic, const struct sn_access *a);
/* Checks an access of at least one byte and stores its address in this process. SN_ACC_MANY: it has
 * several pieces. */
enum sn_acc sn_mkey_map(struct softnic *nic, const struct sn_access *a, void **piece);
enum sn_acc sn_mkey_read(struct softnic *nic, const struct sn_access *a, void *dst);
enum sn_acc sn_mkey_write(struct softnic *nic, const struct sn_access *a, const void *src);
/*
 * Copies from or to host memory. The last bytes are stored last, with release order, because hosts poll
 * them.
 */
void sn_copy(void *dst, const void *src, size_t len);
/* Counts the refusal as a violation of the local driver, or of the peer if remote. */
void sn_acc_violation(struct softnic *nic, const struct sn_access *a, enum sn_acc why, bool remote);
/* Invalidates a key for a SEND_INVAL at the responder: frees the mkey. Returns SN_ACC_RIGHTS if the key
 * may not be invalidated. */
enum sn_acc sn_mkey_invalidate(struct sn_qp *qp, uint32_t rkey);

/* To be called when keys or connections have changed: cached mappings become invalid. */
static inline void sn_mappings_forget(struct softnic *nic)
{
	nic->key_turn++;
}

/*
 * sge.c. Copies bytes [off, off + len) of a message to or from an SGE list, with the QP's PD. Refusals
 * are counted as violations; the caller selects the syndrome.
 */
enum sn_acc sn_gather(struct sn_qp *qp, const struct sn_sge *sge, unsigned int n, uint32_t off,
		      void *dst, uint32_t len);
enum sn_acc sn_scatter(struct sn_qp *qp, const struct sn_sge *sge, unsigned int n, uint32_t off,
		       const void *src, uint32_t len);
/* Copies into a receive WQE, with the PD of its queue. */
enum sn_acc sn_scatter_recv(struct sn_qp *qp, const struct sn_rwqe *r, uint32_t off,
			    const void *src, uint32_t len);
/* If src is NULL, sn_scatter and sn_scatter_recv check the access and write nothing. */

/* functions of viol.c */
void sn_violate(struct softnic *nic, enum sn_viol v, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
