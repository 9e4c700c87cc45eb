/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A software EFA, as its host sees it: admin commands as calls, queues and doorbells as memory,
 * DMA into this process, one event callback. There is no other interface. The model includes nothing from
 * core/ or from a backend; a host (the in-process access of hw_efa, or a preload front) includes
 * only this header. rdma-core's efa_io_defs.h defines the layouts of WQEs and CQEs, its
 * efa_io_regs_defs.h the doorbell of a CQ.
 *
 * How a driver uses it, once per call of softnic_efa_qp_create:
 *   SQ    write whole WQEs (64 or 128 bytes, one each) at sq.ring, never read them back; then store
 *         the 16-bit producer counter, zero-extended, into *sq.doorbell; then softnic_efa_kick.
 *   RQ    write 16-byte descriptors at rq.ring, store the producer counter (in descriptors) into
 *         *rq.doorbell, softnic_efa_kick.
 *   CQ    check the phase bit of the next entry; after an empty poll call softnic_efa_pump.
 * Counters run free over 16 bits and start at 0; the SQ phase starts at 0, the CQ phase at 1. With
 * SOFTNIC_EFA_SCAN kick and pump are not needed, but allowed: the device's thread scans the
 * doorbells, like hardware.
 *
 * The CQE of a send may lack the number of its sender's AH (0xffff), although the AH exists: for up
 * to three packets after it was made, and at random. A CQ with SOFTNIC_EFA_CQ_SGID has the GID then.
 * With a window of 1 or SOFTNIC_EFA_NAMED each CQE has the number.
 *
 * The device is unordered on purpose: packets wait in a window and leave it in an order drawn from the
 * seed; so do the pieces of an RDMA write, acknowledgements and TX completions. A write's
 * immediate is reported after all of its bytes have been placed. Payload may be placed twice,
 * before the completion. Only CQEs are reliable, not the content of payload memory.
 *
 * AWS's documents leave these cases open, which the model decides. A receive that is too short is
 * consumed, and completes with BAD_LENGTH (the sender's with 11). One with an invalid key completes
 * with INVALID_LKEY (the sender's with 12). A packet with a wrong qkey is dropped, and its sender gets
 * 9, as if the QP did not exist. RDMA that the target's device does not support is 18. A QP destroyed
 * while it answers a read is 8. A UD receive begins with 40 bytes of header, as in verbs.
 *
 * Threads: every function may be called from any thread; the device has one lock. With
 * SOFTNIC_EFA_NO_THREAD the device only works inside calls, reads no clock, and repeats a run exactly
 * for the same seed and the same calls (a seed must be given). Devices of one process,
 * each without thread, run interleaved as their pumps are called.
 *
 * Queues and regions can be memory of the host at bus addresses, as a driver in a virtual machine has
 * them: each access asks the host where that is. An access that the host refuses is "dma.refused": a CQE
 * is lost, a receive descriptor is empty, data ends with INVALID_LKEY or REMOTE_BAD_ADDRESS.
 *
 * fork(): the device stays with the parent. In a child, calls fail with -ENODEV, kicks and pumps have
 * no effect, close frees the copy.
 *
 * Functions return 0 or -errno and write outputs only on success. Errors of the driver
 * are also counted as violations, see softnic_efa_violations.
 */
#ifndef SOFTNIC_EFA_H
#define SOFTNIC_EFA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softnic/softnic.h"		/* struct softnic_violation, shared by the models */

struct softnic_efa;

enum softnic_efa_flags {
	/* Doorbells are plain stores without a kick; the device's thread scans for them. */
	SOFTNIC_EFA_SCAN = 1 << 0,
	/* No device thread, no clock: only kick and pump drive it (unit tests, seeds, bench). */
	SOFTNIC_EFA_NO_THREAD = 1 << 1,
	/* Also places payloads twice and poisons RQ descriptors. (SQ slots are always poisoned.) */
	SOFTNIC_EFA_ADVERSARIAL = 1 << 2,
	/* The device does not join the fabric: only its own QPs reach each other. */
	SOFTNIC_EFA_LOOPBACK_ONLY = 1 << 3,
	/* The CQE of a send lacks the number of an existing AH only if a fault script says so. */
	SOFTNIC_EFA_NAMED = 1 << 4,
};

struct softnic_efa_host {
	/*
	 * Called when an armed CQ got a completion, which disarms it. Called while the device is
	 * driven, perhaps on its thread. The function may read memory, write file descriptors and
	 * store doorbells, and must not call any function of this header.
	 */
	void (*cq_event)(void *ctx, uint16_t cq);
	/*
	 * For the checker only, no part of hardware: returns how many CQEs the driver has taken from a
	 * sub-CQ since its creation (16 bits count). The device calls this if a sub-CQ seems to be overrun;
	 * the rules of cq_event apply. A CQE written over one not taken is "cq.overrun"; it is lost, as on
	 * hardware. NULL: an overrun goes unnoticed, since the doorbell's counter does not help: libefa
	 * seldom stores it.
	 */
	uint16_t (*cq_taken)(void *ctx, uint16_t cq, uint16_t sub_cq);
	/*
	 * Translates a bus address to len bytes in this process; NULL: the host's IOMMU refuses. The
	 * bytes never cross a page of 4 KiB. Called like cq_event; the device uses the pointer until it
	 * releases its lock, for which softnic_efa_counters waits. NULL function: there are no bus
	 * addresses.
	 */
	void *(*dma)(void *ctx, uint64_t addr, size_t len);
	void *ctx;
};

struct softnic_efa_config {
	unsigned int flags;		/* bits of enum softnic_efa_flags */
	unsigned int index;		/* index of this adapter on the host; its GID contains it */
	/* seed of keys, object numbers, order and faults; 0: the kernel chooses it */
	uint64_t seed;
	/* a name of softnic_efa_profiles; NULL: the default, "wide" */
	const char *profile;
	/* most packets to one peer in the reorder window; 0: 64; 1: the device keeps the order */
	unsigned int window;
	/* all zero: the GID is derived from the index and random bits */
	uint8_t gid[16];
	struct softnic_efa_host host;
};

/*
 * The devices that the model can be, NULL-terminated, in this order:
 *   "efa0"	no RDMA, two sub-CQs in each CQ, 32-byte inline, no CQ doorbell, no RNR retry
 *   "efa1"	no RDMA, one CQ ring, no CQ doorbell
 *   "read"	RDMA read, CQ doorbells, RNR retry, SGID in CQEs
 *   "write"	and RDMA write, with and without immediate
 *   "unsol"	and unsolicited receive of writes with immediate
 *   "wide"	and 128-byte WQEs, inline up to 80 bytes, inline writes
 *   "reqid64"	and 64-bit request ids in SQ WQEs and TX CQEs
 */
const char *const *softnic_efa_profiles(void);

/* Returns 0, -EINVAL (no such profile), -ENOMEM, -EADDRINUSE (GID), -EMFILE, or -EAGAIN (no thread
 * could be created). */
int softnic_efa_open(const struct softnic_efa_config *config, struct softnic_efa **nic);

/* Leaves the fabric and frees everything, including objects that the host did not destroy. */
void softnic_efa_close(struct softnic_efa *nic);

/*
 * A function-level reset: frees all objects, and drops outstanding work without completions. The memory
 * of softnic_efa_bar_fd stays, zeroed. The GID and the known peers stay.
 */
void softnic_efa_reset(struct softnic_efa *nic);

/* Values of the admin queue's features and the kernel's query. All are the device's own limits. */
struct softnic_efa_caps {
	bool rdma_read, rdma_write;
	bool unsolicited_write_recv;	/* SOFTNIC_EFA_QP_UNSOLICITED is supported */
	bool wide_wqe;			/* SOFTNIC_EFA_QP_WIDE is supported */
	bool req_id_64;			/* SOFTNIC_EFA_QP_REQ_ID_64, SOFTNIC_EFA_CQ_REQ_ID_64 */
	bool rnr_retry;			/* modify to RTS may set rnr_retry */
	bool cq_doorbell;		/* CQs have a doorbell and can be armed */
	bool cq_with_sgid;		/* SOFTNIC_EFA_CQ_SGID */
	uint32_t mtu;			/* most bytes of payload in one send */
	uint32_t max_rdma_size;		/* most bytes of one read or write; 0: no RDMA */
	uint16_t max_tx_batch;		/* units of 64 bytes between two doorbells; 0: any number */
	uint16_t min_sq_wr;		/* minimum SQ depth; if set, a batch is at most depth - 1 */
	uint16_t sub_cqs;		/* number of rings in one CQ */
	uint16_t inline_max;		/* inline bytes of a 64-byte WQE */
	uint16_t inline_max_wide;	/* inline bytes of a 128-byte WQE; 0: not supported */
	uint16_t max_send_sge, max_recv_sge, max_rdma_sge;
	uint32_t max_sq_wr, max_rq_wr;	/* most WQEs of 64 bytes; most receive descriptors */
	uint32_t max_llq_size;		/* most bytes of one SQ */
	uint32_t max_qp, max_cq, max_cqe, max_ah, max_mr, max_pd;
	uint32_t max_mr_pages;		/* most pages of all regions together */
	uint64_t max_mr_size;
	uint64_t page_size_cap;
	uint8_t gid[16];
	uint64_t guid;
	uint16_t device_id;		/* PCI device id: 0xefa0, 0xefa1, ... */
	const char *profile;
};
void softnic_efa_caps(struct softnic_efa *nic, struct softnic_efa_caps *caps);

/* Objects. The number of a destroyed object is reused at once: a stale number names the new object. */

/* Returns 0 or -ENOMEM (no number is free). */
int softnic_efa_pd_alloc(struct softnic_efa *nic, uint16_t *pd);
/* Returns 0, -EINVAL, or -EBUSY while the PD has objects. */
int softnic_efa_pd_dealloc(struct softnic_efa *nic, uint16_t pd);

enum softnic_efa_access {		/* access bits of the admin command REG_MR */
	SOFTNIC_EFA_LOCAL_WRITE = 1 << 0,
	SOFTNIC_EFA_REMOTE_WRITE = 1 << 1,
	SOFTNIC_EFA_REMOTE_READ = 1 << 2,
};

/*
 * Registers len bytes at addr in this process, which WQEs and peers address from iova on; byte granular.
 * lkey has 24 bits, rkey 32, and the two differ. 0, -EINVAL (PD, len 0, wrap), -EOPNOTSUPP (access not
 * supported by the profile), -ENOMEM (table full). After dereg no byte of the region is accessed any
 * more; operations in flight end with REMOTE_BAD_ADDRESS or INVALID_LKEY. The next region gets the
 * same keys with probability 1/2.
 */
int softnic_efa_mr_reg(struct softnic_efa *nic, uint16_t pd, void *addr, uint64_t len,
		       uint64_t iova, unsigned int access, uint32_t *lkey, uint32_t *rkey);
/*
 * Registers pages at bus addresses in place of memory of this process: page i, of 1 << shift bytes,
 * starts i pages after iova, rounded down to a page. The list is copied. 0, -EINVAL (also: no whole
 * pages, a wrong number of them, no host.dma), -EOPNOTSUPP, -ENOMEM (also: max_mr_pages).
 */
struct softnic_efa_pages {
	const uint64_t *list;
	uint32_t n;
	unsigned int shift;		/* a page size of caps.page_size_cap */
};
int softnic_efa_mr_reg_pages(struct softnic_efa *nic, uint16_t pd, const struct softnic_efa_pages *pages,
			     uint64_t len, uint64_t iova, unsigned int access, uint32_t *lkey,
			     uint32_t *rkey);
int softnic_efa_mr_dereg(struct softnic_efa *nic, uint32_t lkey);

/*
 * Creates an address handle for a GID, in a PD. A driver must not send the admin command twice for one
 * destination in a PD. The model then returns the same number again (each create needs its destroy) and
 * counts the violation "ah.duplicate". 0, -EINVAL (PD), -ENOMEM (table full). When the AH ends, requests
 * that use it and are outstanding complete with status 1.
 */
int softnic_efa_ah_create(struct softnic_efa *nic, uint16_t pd, const uint8_t gid[16],
			  uint16_t *ah);
int softnic_efa_ah_destroy(struct softnic_efa *nic, uint16_t pd, uint16_t ah);

/*
 * The pages of rings and doorbells are one memfd, so that a front can map them elsewhere: bar_offset,
 * page-aligned, is the offset for such a mapping. The pointers are the model's own mapping, valid until
 * the object is destroyed.
 */
int softnic_efa_bar_fd(struct softnic_efa *nic, size_t *size);

enum softnic_efa_cq_flags {
	SOFTNIC_EFA_CQ_EVENTS = 1 << 0,	/* may be armed; needs caps.cq_doorbell */
	/* CQEs have the SGID of senders without an AH; needs 32-byte entries */
	SOFTNIC_EFA_CQ_SGID = 1 << 1,
	SOFTNIC_EFA_CQ_REQ_ID_64 = 1 << 2,	/* TX CQEs carry 64-bit request ids */
	SOFTNIC_EFA_CQ_BUS = 1 << 3,	/* the ring is host memory at bus_addr; needs host.dma */
};

struct softnic_efa_cq_attr {
	/* entries of each sub-CQ; a power of two, 1 to caps.max_cqe */
	uint32_t entries;
	uint16_t entry_size;		/* bytes of an entry, 16 or 32 */
	uint16_t sub_cqs;		/* must be caps.sub_cqs */
	unsigned int flags;		/* enum softnic_efa_cq_flags */
	uint64_t bus_addr;		/* a multiple of entry_size */
};

struct softnic_efa_cq {
	uint16_t cq;			/* number of the CQ */
	/* Sub-CQ i begins at ring + i * entries * entry_size. All zero at first. NULL: at bus_addr. */
	void *ring;
	size_t ring_bytes;		/* a multiple of the page size */
	uint64_t ring_bar_offset;
	/*
	 * consumer counter [15:0], cmd_sn [30:29], arm [31]. NULL without caps.cq_doorbell.
	 * Store, then softnic_efa_kick_cq. cmd_sn counts the events that the driver has taken: an
	 * arm with another cmd_sn than the number of events so far arms nothing (and is
	 * "cq.cmd_sn" when it is ahead). An arm whose consumer counter is behind what has been
	 * written to the CQ fires at once. Without the arm bit it only reports what was consumed.
	 */
	volatile uint32_t *doorbell;
	uint64_t doorbell_bar_offset;	/* offset of the page of the doorbell */
	uint32_t doorbell_page_offset;
};

/* Returns 0, -EINVAL, -EOPNOTSUPP (a flag that caps lacks), or -ENOMEM. */
int softnic_efa_cq_create(struct softnic_efa *nic, const struct softnic_efa_cq_attr *attr,
			  struct softnic_efa_cq *cq);
/* Returns 0, -EINVAL, or -EBUSY while a QP uses the CQ. */
int softnic_efa_cq_destroy(struct softnic_efa *nic, uint16_t cq);

/* Handles the CQ's doorbell word. */
void softnic_efa_kick_cq(struct softnic_efa *nic, uint16_t cq);

enum softnic_efa_qp_flags {
	SOFTNIC_EFA_QP_UNSOLICITED = 1 << 0,	/* writes with immediate take no receive */
	SOFTNIC_EFA_QP_WIDE = 1 << 1,		/* the SQ has 128-byte WQEs */
	/* SQ WQEs carry 64-bit request ids in req_id_ex; the send CQ must have its flag for them too */
	SOFTNIC_EFA_QP_REQ_ID_64 = 1 << 2,
	/* unreliable datagrams instead of SRD: sends only */
	SOFTNIC_EFA_QP_UD = 1 << 3,
	SOFTNIC_EFA_QP_BUS_RQ = 1 << 4,		/* the RQ is at rq_bus_addr; needs host.dma */
};

struct softnic_efa_qp_attr {
	uint16_t pd, send_cq, recv_cq;
	/* number of WQEs: a power of two >= min_sq_wr, within max_llq_size; 0: the QP has no SQ */
	uint32_t sq_depth;
	uint32_t rq_depth;	/* number of descriptors, a power of two; 0: the QP has no RQ */
	unsigned int flags;	/* enum softnic_efa_qp_flags */
	uint64_t rq_bus_addr;	/* a multiple of 16 */
};

struct softnic_efa_ring {
	void *ring;
	uint32_t depth;
	uint16_t entry_size;		/* 64 or 128 in an SQ; 16 in an RQ */
	uint16_t sub_cq;		/* the sub-CQ of its completions */
	size_t ring_bytes;		/* a multiple of the page size */
	uint64_t ring_bar_offset;
	volatile uint32_t *doorbell;
	uint64_t doorbell_bar_offset;	/* offset of the page of the doorbell */
	uint32_t doorbell_page_offset;
};

struct softnic_efa_qp {
	uint32_t handle;		/* names the QP in the calls below */
	uint16_t qpn;			/* names the QP for peers and in CQEs */
	/* most WQEs between two doorbells, from max_tx_batch and min_sq_wr */
	uint32_t max_batch;
	struct softnic_efa_ring sq;	/* write-only: poisoned initially and when fetched */
	struct softnic_efa_ring rq;	/* host memory, initially zero; at rq_bus_addr ring is NULL */
};

/* Returns 0, -EINVAL, -EOPNOTSUPP (a flag that caps lacks), or -ENOMEM (max_qp). */
int softnic_efa_qp_create(struct softnic_efa *nic, const struct softnic_efa_qp_attr *attr,
			  struct softnic_efa_qp *qp);
/* Returns the bytes that the model allocates for each QP in addition to its queues; hardware has its own
 * memory. */
size_t softnic_efa_qp_memory(uint32_t sq_depth);
/*
 * Destroys the QP. Each request and receive that is outstanding gets a CQE with status 1 before this
 * returns, and no CQE of this QP is written later. Its number may be reused at once.
 */
int softnic_efa_qp_destroy(struct softnic_efa *nic, uint32_t handle);

enum softnic_efa_qp_state {		/* values of the admin command MODIFY_QP */
	SOFTNIC_EFA_RESET = 0,
	SOFTNIC_EFA_INIT = 1,
	SOFTNIC_EFA_RTR = 2,
	SOFTNIC_EFA_RTS = 3,
	SOFTNIC_EFA_ERR = 6,
};

enum softnic_efa_modify_mask {
	SOFTNIC_EFA_SET_STATE = 1 << 0,
	SOFTNIC_EFA_SET_QKEY = 1 << 2,
	SOFTNIC_EFA_SET_SQ_PSN = 1 << 3,
	SOFTNIC_EFA_SET_RNR_RETRY = 1 << 5,
};

struct softnic_efa_modify {
	unsigned int mask;		/* bits of enum softnic_efa_modify_mask */
	enum softnic_efa_qp_state state;
	uint32_t qkey, sq_psn;
	uint8_t rnr_retry;		/* 0 to 7; 7: repeats for ever. If not set: no retries */
};

/*
 * RESET->INIT wants the qkey, INIT->RTR nothing, RTR->RTS the PSN and takes rnr_retry; INIT->INIT and
 * RTS->RTS want nothing; any but RESET->ERR flushes everything outstanding, and at once whatever is posted
 * later, with status 1; any->RESET forgets all, counters included. Receives may be posted from INIT on.
 * Others are "qp.transition" and -EINVAL. A QP answers peers from RTR on. No error of a WR changes the
 * state of a QP.
 */
int softnic_efa_qp_modify(struct softnic_efa *nic, uint32_t handle,
			  const struct softnic_efa_modify *modify);
/* Returns state, qkey, sq_psn and rnr_retry. Does not write mask. */
int softnic_efa_qp_query(struct softnic_efa *nic, uint32_t handle, struct softnic_efa_modify *now);

/*
 * Reads both doorbells of a QP and runs one turn. Call it from the thread that posts to the SQ: a WQE
 * that is written but not announced by the doorbell is the violation "sq.behind_doorbell".
 */
void softnic_efa_kick(struct softnic_efa *nic, uint32_t handle);

/*
 * Runs one turn: handles doorbells and packets, and releases a random few of the packets in the window,
 * at least one. True if another turn would have work: so a loop of pumps over all devices of a process
 * ends when none has work. Without a thread, each turn also advances the device's time by one
 * microsecond; retransmissions and timeouts use that time.
 */
bool softnic_efa_pump(struct softnic_efa *nic);

/*
 * Restarts the random sequence and the device's time, so that one device can run many seeds. Call it
 * while nothing is in flight; otherwise it returns -EBUSY.
 */
int softnic_efa_reseed(struct softnic_efa *nic, uint64_t seed);

/* Like softnic_violations: fills in kinds with a non-zero count and returns how many there are. */
size_t softnic_efa_violations(struct softnic_efa *nic, struct softnic_violation *v, size_t max);
/* Returns all names, NULL-terminated; softnic/efa/viol.h explains each. */
const char *const *softnic_efa_violation_names(void);
void softnic_efa_violations_clear(struct softnic_efa *nic);

/* Counts live objects of a kind: "pd", "mr", "ah", "cq", "qp"; and "flow": the known peers. */
size_t softnic_efa_object_count(struct softnic_efa *nic, const char *kind);

struct softnic_efa_counters {
	uint64_t doorbells, wqes;
	uint64_t tx_packets, rx_packets, retransmits, rnrs, drops, qkey_drops;
	uint64_t reordered;		/* packets that left the window after a younger one */
	uint64_t turns;
};
void softnic_efa_counters(struct softnic_efa *nic, struct softnic_efa_counters *c);

/*
 * A seeded fault script, "" ends it: softnic-run(1) has its words, dapl-direct(7) the rules for single
 * packets. 0, or -EINVAL without a change and with a reason in why.
 */
int softnic_efa_fault_why(struct softnic_efa *nic, const char *script, char *why, size_t whylen);
int softnic_efa_fault(struct softnic_efa *nic, const char *script);	/* writes the reason to stderr */
const char *softnic_efa_fault_words(void);	/* returns the words of a script that cause failures */

#endif
