/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Internals of the software ConnectX. Two halves share these objects: the device (commands, key table,
 * queues, events, pump) and the wire (RC transport in rc_*.c, the fabric in ../fabric). dev_api.h and
 * wire_api.h declare the calls between them. All functions need the device lock.
 *
 * A send WQE's life: sn_sq_next() fetches and checks it, and appends an sn_wr to the QP's in-flight
 * FIFO. NOP and UMR complete there. The wire handles all others: it accesses their data with
 * sn_gather()/sn_scatter(), as often as retransmission needs, and ends each once with sn_wr_done(). CQEs
 * are written in FIFO order, whatever the order of the sn_wr_done() calls. A wr with an error syndrome
 * moves the QP to ERR when it retires, and the device flushes.
 */
#ifndef SN_H
#define SN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "softnic/be.h"
#include "softnic/fabric/script.h"
#include "softnic/mlx5/viol.h"
#include "softnic/random.h"
#include "softnic/softnic.h"

struct sn_qp;
struct sn_rc;			/* state of one RC QP, which only rc_*.c uses */
struct sn_ud;			/* state of one datagram QP, see ud.h */
struct sn_fabric;		/* state of a port that only the wire half uses, see rc.h */

enum {
	SN_WQEBB = 64,
	/* longest WQE in units of 16 bytes: the control segment has 6 bits for it */
	SN_DS_MAX = 63,
	SN_SGE_MAX = 62,
	/* longest receive WQE, reported as max_wqe_sz_rq: as of a ConnectX-4 */
	SN_LOG_RQ_STRIDE_MAX = 9,
	SN_RQ_STRIDE_MAX = 1 << SN_LOG_RQ_STRIDE_MAX,
	SN_GIDS = 16,
	SN_PORTS = 2,
};

/* PRM send opcodes */
enum sn_opcode {
	SN_OP_NOP = 0x00,
	SN_OP_SEND_INVAL = 0x01,
	SN_OP_WRITE = 0x08,
	SN_OP_WRITE_IMM = 0x09,
	SN_OP_SEND = 0x0a,
	SN_OP_SEND_IMM = 0x0b,
	SN_OP_READ = 0x10,
	SN_OP_ATOMIC_CS = 0x11,
	SN_OP_ATOMIC_FA = 0x12,
	SN_OP_UMR = 0x25,
};

/* PRM CQE opcodes */
enum sn_cqe_op {
	SN_CQE_REQ = 0,
	SN_CQE_RESP_WR_IMM = 1,
	SN_CQE_RESP_SEND = 2,
	SN_CQE_RESP_SEND_IMM = 3,
	SN_CQE_RESP_SEND_INV = 4,
	SN_CQE_RESIZE = 5,
	SN_CQE_REQ_ERR = 13,
	SN_CQE_RESP_ERR = 14,
	SN_CQE_INVALID = 15,
};

/* PRM error CQE syndromes */
enum sn_syndrome {
	SN_SYND_OK = 0x00,
	SN_SYND_LOCAL_LENGTH = 0x01,
	SN_SYND_LOCAL_QP_OP = 0x02,
	SN_SYND_LOCAL_PROT = 0x04,
	SN_SYND_FLUSH = 0x05,
	SN_SYND_MW_BIND = 0x06,
	SN_SYND_BAD_RESP = 0x10,
	SN_SYND_LOCAL_ACCESS = 0x11,
	SN_SYND_REMOTE_INVAL_REQ = 0x12,
	SN_SYND_REMOTE_ACCESS = 0x13,
	SN_SYND_REMOTE_OP = 0x14,
	SN_SYND_TRANSPORT_RETRY = 0x15,
	SN_SYND_RNR_RETRY = 0x16,
};

/* PRM event types */
enum sn_event {
	SN_EV_COMPLETION = 0x00,
	SN_EV_COMM_EST = 0x02,
	SN_EV_CQ_ERROR = 0x04,
	SN_EV_WQ_CATAS = 0x05,
	SN_EV_INTERNAL = 0x08,
	SN_EV_PORT_CHANGE = 0x09,
	SN_EV_CMD = 0x0a,
	SN_EV_PAGE_REQUEST = 0x0b,
	SN_EV_WQ_INVAL_REQ = 0x10,
	SN_EV_WQ_ACCESS = 0x11,
	SN_EV_SRQ_CATAS = 0x12,
	SN_EV_SRQ_LAST_WQE = 0x13,
	SN_EV_SRQ_LIMIT = 0x14,
};

enum sn_qp_state {
	SN_QP_RST = 0, SN_QP_INIT = 1, SN_QP_RTR = 2, SN_QP_RTS = 3, SN_QP_SQER = 4, SN_QP_ERR = 6,
};

/* Rights, as the access bits of the mkey context */
enum sn_rights {
	SN_LR = 1 << 0,
	SN_LW = 1 << 1,
	SN_RR = 1 << 2,
	SN_RW = 1 << 3,
	SN_ATOMIC = 1 << 4,
};

/* ---- Objects */

/* A hash table from 24-bit numbers to objects, with open addressing. It grows. (table.c) */
struct sn_table {
	void **slot;
	uint32_t *number;
	uint32_t mask, used, live;
};

/* A run of DMA-able pages: queue, doorbell record or umem. (dma.c) */
struct sn_buf {
	/* address of the first page; if pages is NULL, of the whole memory */
	uint64_t base;
	uint64_t *pages;
	uint32_t npages;
	uint8_t page_shift;
	uint8_t perm;		/* MTT rights: 1 readable, 2 writable */
	uint64_t offset, len;	/* the part of the pages that the buffer covers */
	struct sn_umem *umem;	/* the buffer holds a reference to this umem, or NULL */
};

struct sn_timer {		/* see timer.c: a timer that fires once, by the monotonic clock */
	uint64_t deadline;
	uint32_t slot;		/* index in the heap + 1; 0: not armed */
	void (*fire)(struct softnic *nic, struct sn_timer *timer);
};

struct sn_pd {
	uint32_t pdn;
	unsigned int refs;
};

struct sn_xrcd {
	uint32_t number;
	unsigned int refs;
};

struct sn_uar {
	uint32_t page;
	unsigned int refs;
	LIST_HEAD(, sn_qp) qps;		/* QPs whose doorbells are in this page */
	LIST_HEAD(, sn_cq) cqs;
	LIST_HEAD(, sn_eq) eqs;
	/* two EQs have used the page at the same time, so one arm may have overwritten another */
	bool eqs_shared;
	bool marked;			/* quirk SN_Q_ZERO_BLOCK: the page got a mark (uar.c) */
};

struct sn_umem {
	uint32_t id;
	uint16_t uid;		/* user context of the program that allocated the page; 0: the driver */
	unsigned int refs;
	struct sn_buf buf;
};

struct sn_klm {
	uint64_t va;
	uint32_t key, len;
};

struct sn_mkey {
	uint32_t index;		/* 24 bits */
	uint8_t key;		/* variant byte of lkey and rkey */
	uint8_t mode;		/* PRM access_mode: 0 PA, 1 MTT, 2 KLM, 3 KSM */
	uint8_t rights;		/* enum sn_rights */
	uint8_t log_page;	/* size of the memory of an MTT or KSM entry */
	bool free, umr_en, length64, rinval;
	struct sn_pd *pd;	/* NULL: the key is the reserved lkey */
	uint32_t qpn;		/* the only QP that may use the key; 0xffffff: any QP */
	uint64_t start, len;
	struct sn_buf buf;	/* memory of a key with MTTs */
	uint8_t *mtts;		/* the list of such a key as UMRs wrote it, or NULL */
	struct sn_klm *klm;
	uint32_t nklm, klm_room;	/* entries of the list, and those that klm has memory for */
	uint32_t max_list;	/* room of a list, in units of 16 bytes */
};

/* A receive memory pool: a list of WQEs, each with the index of the next. (rmp.c) */
struct sn_srq {
	uint32_t rmpn;
	struct sn_pd *pd;
	struct sn_buf buf, dbr;
	uint32_t size, stride;	/* number of WQEs; bytes of each */
	uint16_t next;		/* index of the next WQE to take */
	uint16_t taken, pi;	/* WQEs taken and posted so far, modulo 2^16 */
	/* limit watermark: if armed, an event is raised when fewer WQEs are left */
	uint16_t lwm;
	bool error;
	bool cyclic;		/* false: the WQEs are a linked list */
	/* for each index: true while a QP has taken the WQE and not completed it */
	uint8_t *held;
	unsigned int refs;
};

struct sn_eq {
	uint32_t eqn;
	uint16_t uid;		/* of the user context that created it, or SN_UID_SHARED */
	struct sn_uar *uar;
	struct sn_buf buf;
	uint8_t log_size;
	uint8_t vector;
	bool armed;
	uint32_t pi, ci;
	uint64_t events;	/* bitmask of the types of asynchronous events */
	struct sn_timer late;	/* timer of a late interrupt, see eq.c */
	unsigned int refs;
	LIST_ENTRY(sn_eq) link;
};

struct sn_cq {
	uint32_t cqn;
	struct sn_uar *uar;
	struct sn_eq *eq;
	struct sn_buf buf, dbr;
	uint8_t log_size;
	uint8_t cqe_size;	/* 64 or 128 */
	bool oi;
	uint8_t error;		/* PRM CQC.status: 0, CQC_OVERFLOW or CQC_WRITE_FAIL */
	bool armed, armed_solicited;
	uint32_t arm_seen;	/* the arm word that was handled last */
	/* producer and consumer index modulo 2^24; ci as last read from the doorbell record */
	uint32_t pi, ci;
	uint32_t solicited;	/* pi after the last solicited or error CQE */
	uint32_t notified;	/* pi at the last event, if any */
	bool had_event;
	unsigned int refs;
	LIST_ENTRY(sn_cq) link;
};

/* A scatter/gather element of a WQE: memory of a key, or data inside the WQE. */
struct sn_sge {
	uint64_t va;
	uint32_t len, key;
	const uint8_t *inl;	/* inline data (into sn_wqe.raw), or NULL */
};

struct sn_av {			/* PRM address path */
	uint8_t rgid[16], rmac[6];
	uint8_t gid_index, hop_limit, tclass, ack_timeout;
	uint16_t udp_sport, rlid;
	uint32_t flow_label;
	bool grh, force_loopback;
};

/* A send WQE, copied from the ring and parsed. */
struct sn_wqe {
	struct sn_wr *wr;
	uint8_t opcode, ds;
	bool solicited;
	be32_t imm;		/* immediate or rkey of SEND_INVAL, as in the WQE */
	uint64_t raddr;
	uint32_t rkey;
	uint64_t swap_add, compare;	/* operands of atomics */
	struct sn_av av;	/* address of a UD WQE */
	uint32_t dqpn, qkey;
	uint32_t len;		/* length of all SGEs together */
	uint8_t syndrome;	/* if the WQE cannot be parsed, the syndrome of its error CQE */
	unsigned int nsge;
	struct sn_sge sge[SN_SGE_MAX];
	uint8_t raw[SN_DS_MAX * 16] __attribute__((aligned(16)));
};

/* A send WQE in flight. */
struct sn_wr {
	uint16_t idx;		/* WQEBB index modulo 2^16 */
	uint8_t opcode, ds, ce;
	uint8_t syndrome, vendor;
	bool done, counted;	/* counted: wr_reads includes this read or atomic */
	bool small;		/* the response is in the QP's small buffer and goes into the CQE */
	uint32_t byte_cnt;
	/* fields for the wire half: */
	uint32_t psn, npsn;	/* first PSN of the message, and the number of its PSNs */
	uint32_t len;		/* message length */
};

/* A receive WQE, parsed. */
struct sn_rwqe {
	uint16_t idx;		/* wqe_counter of the receive's CQE */
	struct sn_srq *srq;	/* the SRQ from which the WQE was taken, or NULL */
	uint32_t len;
	unsigned int nsge;
	struct sn_sge sge[SN_RQ_STRIDE_MAX / 16];
};

struct sn_gid {
	uint8_t gid[16], mac[6];
	uint8_t version;	/* PRM roce_version: 0 v1, 2 v2 */
	bool valid;
};

struct sn_datagram {		/* sender fields in the CQE of a UD receive */
	uint32_t sqpn;
	uint16_t slid;
	uint8_t l3_type;	/* RoCE: PRM, type of the IP header in place of the GRH */
};
enum { SN_L3_IPV6 = 1, SN_L3_IPV4 = 2 };

struct sn_port {
	struct softnic *nic;
	uint8_t number;		/* port number, 1 or 2 */
	bool link_down;		/* the link is down, for one of three reasons: see link.c */
	bool unplugged, admin_down;
	struct sn_timer training;
	uint8_t mac[6];
	uint16_t lid;		/* LID of an InfiniBand port */
	struct sn_gid gid[SN_GIDS];
	uint8_t address[16];	/* the port's address on the fabric */
	struct sn_fabric *fabric;
	struct sn_qp *qp1;	/* the QP for management datagrams, or NULL */
};

#define SN_SMALL 64

struct sn_qp {
	struct softnic *nic;
	struct sn_port *port;	/* the device's first port, unless a transition named another */
	uint32_t qpn, uidx;
	enum sn_qp_state state;
	struct sn_pd *pd;
	struct sn_uar *uar;
	struct sn_cq *scq, *rcq;
	struct sn_srq *srq;
	struct sn_buf buf, dbr;

	/* transport attributes, each valid after the transition that sets it */
	struct sn_av av;
	uint32_t remote_qpn, sq_psn, rq_psn;
	uint32_t qkey;		/* Q_Key of a UD QP */
	uint16_t pkey;
	uint16_t mtu;		/* path MTU in bytes */
	uint8_t max_rd_atomic;	/* most outstanding reads and atomics as requester (2^log_sra_max) */
	uint8_t max_dest_rd_atomic;
	uint8_t retry_count, rnr_retry, min_rnr_nak;
	uint8_t log_msg_max;
	bool rre, rwe, rae;
	uint8_t atomic_mode;	/* 0: the QP serves no atomics */
	bool umr_only;		/* a QP of type REG_UMR: the driver's own, without a PD */

	/* send queue; its counters are WQEBB indexes modulo 2^16 */
	uint32_t sq_size;	/* WQEBBs */
	uint64_t sq_off;	/* offset of the send queue in buf */
	uint16_t sq_pi;		/* producer index of the last doorbell */
	uint16_t sq_next;	/* index of the next WQE to fetch */
	uint16_t sq_done;	/* index of the oldest WQE that has not been retired */
	/* the host may reuse the blocks up to this index: a CQE has reported them */
	uint16_t sq_reported;
	bool sq_stopped;	/* a WQE in the FIFO has failed, so fetching stops */
	bool sq_fenced;
	bool umr_unfenced;	/* the next WQE must carry a small fence */
	bool reserved_lkey;	/* the QP may use the reserved lkey */
	bool fast_reg;		/* its UMRs may write lists of pages: PRM "fre", of the driver's own QPs */
	struct sn_wr *wr;	/* the FIFO of WQEs in flight, a ring of sq_size entries */
	uint32_t wr_head, wr_tail;	/* indexes into the FIFO, which only grow */
	uint32_t wr_reads;	/* unfinished reads and atomics in the FIFO */
	/* for scatter to CQE (PRM cs_req, cs_res): largest payload, and a buffer for each wr */
	uint8_t small_req, small_res;
	uint8_t (*small)[SN_SMALL];

	/* receive queue */
	uint32_t rq_size, rq_stride;
	uint16_t rq_next, rq_done, rq_pi;
	uint16_t srq_idx;	/* index of the WQE taken from the SRQ, while srq_holds */
	bool srq_holds;
	/* for a QP in error, the delayed flush of all WQEs (flush_late), or of the one taken from the SRQ */
	struct sn_timer flush;

	TAILQ_ENTRY(sn_qp) run;
	bool on_run, on_err, flush_late;
	TAILQ_ENTRY(sn_qp) err;
	LIST_ENTRY(sn_qp) link;	/* entry in the list of its UAR */
	struct sn_rc *rc;	/* the transport's state: one of these two pointers is set */
	struct sn_ud *ud;
	struct sn_datagram datagram;	/* the datagram that is being received */
	uint8_t ctx[0xe8];	/* the QPC that the driver wrote, for QUERY_QP */
};

/* Fault probabilities, 0..1. The device half parses the script; the wire half applies it. */
struct sn_fault {
	double drop, dup, reorder, corrupt, delay, rnr;
	uint64_t seed;
	/* changes with each script, so that each starts its random sequence anew */
	uint32_t generation;
	uint16_t cmd_opcode;
	uint32_t cmd_nth;	/* the command with this number fails; 0: none fails */
	uint32_t quirks;	/* bits of quirk.h */
	/* INIT_HCA leaves the links down until an administrator brings them up */
	bool admin_down;
	bool far;		/* peers on this host count as those of another host */
	struct sn_script script;
};

struct softnic {
	atomic_uint lock;	/* the lock, see pump.c */
	uint32_t work;		/* work done since the lock was taken, see sn_is_spent() */
	struct softnic_config config;

	/* memory of lists and queues of objects, in units of 8 bytes: see pages.c */
	uint64_t heap_words;
	struct sn_table qps, cqs, eqs, mkeys, pds, uars, umems, srqs, xrc_srqs, xrcds, uctxs, owned;
	/* the QP that rang last, and the QP from which the last request came */
	struct sn_qp *last_rung, *last_requester;
	TAILQ_HEAD(sn_run_list, sn_qp) run;
	TAILQ_HEAD(sn_err_list, sn_qp) err;
	struct sn_timer **heap;
	uint32_t heap_used, heap_size, timer_turn;

	struct sn_port port[SN_PORTS];
	unsigned int ports;
	bool infiniband;
	bool fatal;
	bool forked;		/* this process is a forked child, which has only a copy: fork.c */
	LIST_ENTRY(softnic) link;
	/* number of armed CQs; while it is not 0, peers must wake the device's thread */
	uint32_t cqs_armed;
	uint32_t key_turn;	/* incremented when keys or connections change */
	unsigned int rings;	/* number of doorbells on the fast path, see uar_plain.c */
	/* the device's thread is driving, so no work may be deferred */
	bool thread_driven;
	bool stamps;		/* CQEs have timestamps; atomic */

	/* fields that only the device half uses: BAR, thread, ... (dev.h) */
	struct sn_device *dev;
	uint64_t rng;
	struct softnic_counters ctr;
	struct sn_fault fault;
	struct sn_capture *capture;	/* NULL: there is none */
	struct softnic_violation viol[SN_V_COUNT];	/* without their names */
};

#endif
