/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Internals of the software EFA. One lock per device, held in all functions below unless stated.
 *
 * The path of a WQE: sq.c fetches and checks it, and makes a work request (WR). tx.c cuts that into
 * packets, which flow.c numbers. The window (window.c) delays the packets and releases them in a
 * random order. srd.c acknowledges and retransmits packets, rx.c executes them at the target, and
 * cqe.c completes the WR.
 */
#ifndef SNE_H
#define SNE_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/uio.h>

#include "softnic/efa/io.h"
#include "softnic/efa/viol.h"
#include "softnic/efa/wire.h"
#include "softnic/fabric/fabric.h"
#include "softnic/random.h"
#include "softnic/softnic_efa.h"

/* If no caller drives the device for this long, its thread takes over */
#define SNE_TICK_NS 1000000u

enum {
	SNE_PAGE = 4096,
	SNE_PDS = 256, SNE_AHS = 1024, SNE_MRS = 65536, SNE_CQS = 512, SNE_QPS = 256,
	SNE_MAX_CQE = 32768,		/* CREATE_CQ has 16 bits for the number of entries, a power of two */
	SNE_SUB_CQS = 2,
	SNE_SGES = 2,
	SNE_WINDOW = 64,
	/* Most packets of all flows in the window. Half of them may be requests and answers: with the
	 * default window the full links of 63 stopped peers leave room for another. The rest is for
	 * acknowledgements. */
	SNE_HELD_MAX = 128 * SNE_WINDOW,
	SNE_SEQS = 4096,		/* most outstanding packet numbers of one flow */
	SNE_FLIGHT = 512,		/* most unacknowledged packets of one flow */
	SNE_BUCKETS = 64,
	/* most contiguous blocks of memory in a packet: its pages, and one more for each segment */
	SNE_BLOCKS = SNE_MTU / SNE_PAGE + 2 * SNE_SGES + 1,
	SNE_ACKS = 32,			/* most acknowledgements behind the first one of a packet */
	/* for this number of packets after an AH is created, CQEs may lack the AH's number */
	SNE_LATE_AHS = 4,
	/* if the fault word shared_ah is set, an AH has this in place of its PD: all PDs share it */
	SNE_ANY_PD = 0xffff,
	SNE_CQE_OP_OTHER = 7,
	SNE_MR_PAGES = 4 << 20,		/* most pages that all regions together may have */
};

/* ---- Numbers of objects: the number freed last is reused first */
struct sne_ids {
	uint32_t *free;
	uint32_t nfree, room, next, max, live;
};

struct sne_pd {
	bool live;
	uint32_t users;
};

struct sne_mr {
	bool live;
	uint16_t pd;
	uint32_t lkey, rkey, turn;
	unsigned int access, page_shift;
	uint8_t *addr;			/* NULL: the region consists of the pages in `pages` */
	/* page addresses; the first page contains the byte at iova */
	uint64_t *pages;
	uint32_t npages;
	uint64_t len, iova;
};

struct sne_flow;

struct sne_ah {
	uint32_t refs;
	uint16_t pd, number;
	/* number of further packets whose CQEs lack this AH's number */
	uint32_t late;
	uint32_t refused;		/* RDMA packets that the fault `unknown` has refused */
	struct sne_flow *flow;
	LIST_ENTRY(sne_ah) link;	/* entry in the flow's list */
};

struct sne_cq {
	uint16_t number;
	struct softnic_efa_cq_attr attr;
	uint32_t users;
	uint8_t *ring;			/* NULL: the ring is at attr.bus_addr */
	uint64_t ring_off, db_off;
	_Atomic uint32_t *db;
	/* the value of the last doorbell, and of the last doorbell that armed the CQ */
	uint32_t db_seen, db_armed;
	uint32_t written;		/* CQEs written to all rings of the CQ together */
	uint32_t put[SNE_SUB_CQS];	/* CQEs written to each ring of the CQ */
	/* CQEs of each ring that the driver had taken when it was last asked, modulo 2^16 */
	uint16_t taken[SNE_SUB_CQS];
	bool armed;
	uint32_t events;
};

struct sne_sge {
	uint32_t len, lkey;
	uint64_t addr;
};

enum sne_wr_state { SNE_WR_FREE, SNE_WR_CUTTING, SNE_WR_WAITING, SNE_WR_RNR, SNE_WR_DONE };

struct sne_wr {
	TAILQ_ENTRY(sne_wr) link;	/* entry in the list of its state */
	TAILQ_ENTRY(sne_wr) by_qp;
	TAILQ_ENTRY(sne_wr) by_progress;	/* entry in the list of reads that wait for data */
	struct sne_qp *qp;
	struct sne_flow *flow;
	enum sne_wr_state state;
	uint8_t op, status;
	bool has_imm, is_inline, waits_for_data;
	uint16_t req_id, req_id_ex[3], dest_qpn;
	uint32_t qkey, imm, msg;
	/* bytes of the message, and how many of them are in packets */
	uint32_t len, next;
	/* packets of this WR that have been cut and are not acknowledged */
	uint32_t pieces;
	uint32_t got;			/* bytes of the read that have arrived */
	/* the piece that is sent again, because the peer had no receive posted */
	uint32_t redo_off, redo_len;
	uint32_t rnr_left;
	uint64_t when;
	unsigned int nsge;
	struct sne_sge sge[SNE_SGES];
	struct { uint64_t addr; uint32_t rkey; } remote;
	uint8_t data[80];
};
TAILQ_HEAD(sne_wrs, sne_wr);

struct sne_qp {
	uint32_t handle;
	uint16_t qpn;
	struct softnic_efa_qp_attr attr;
	struct softnic_efa_modify now;	/* the current state, qkey, sq_psn and rnr_retry */
	struct sne_cq *scq, *rcq;
	uint16_t ssub, rsub;
	/* the RQ's memory; NULL if it is at attr.rq_bus_addr, or if there is no RQ */
	uint8_t *sq, *rq;
	uint64_t sq_off, rq_off, db_off;
	_Atomic uint32_t *sq_db, *rq_db;
	uint32_t max_batch, wqe_size;
	/* WQE counters: the device's have 16 bits, these have 32 */
	uint32_t sq_pc, sq_done;
	uint32_t rq_pc, rq_cc;		/* counters of posted and consumed receive descriptors */
	uint32_t msgs;
	/* the QP is in ERR, but outstanding work continues until the time flush_at */
	bool flushes_late;
	uint64_t flush_at;		/* UINT64_MAX: never */
	struct sne_wr *wrs;		/* an array of sq_depth entries */
	struct sne_wrs free, out;
	uint64_t *sq_ids, *rq_ids;	/* bitmaps of outstanding request ids */
	LIST_ENTRY(sne_qp) link;
};

/* ---- Packets of a device */
struct sne_pkt {
	/* entry in the list of unacknowledged packets, in the inbox or in the free list */
	TAILQ_ENTRY(sne_pkt) by_time;
	struct sne_flow *flow;
	/* the WR whose memory has the payload, and which an acknowledgement completes; or NULL */
	struct sne_wr *wr;
	/* destroying this QP drops the packet; NULL: the packet does not depend on a QP */
	struct sne_qp *qp;
	uint64_t first, sent, born;
	uint32_t tries;			/* number of retransmissions while the peer was alive */
	bool numbered, in_flight, big;
	struct sne_hdr hdr;
	uint8_t payload[];		/* used if wr is NULL */
};
TAILQ_HEAD(sne_pkts, sne_pkt);

/* The flow between this device and one peer device, in both directions. */
struct sne_flow {
	LIST_ENTRY(sne_flow) link;
	TAILQ_ENTRY(sne_flow) by_work;	/* entry in the list of flows with something to send */
	struct sn_fab_dest dest;
	bool self;
	bool responsive, blocked, in_senders;
	uint32_t peer_life;
	/* state for sending; una: the first unacknowledged number; held: its packets in the window */
	uint32_t next_seq, una, flight, held;
	uint64_t full;			/* the pass of sne_release that found the link full */
	/* work requests to cut into packets, and the peer's reads to answer */
	struct sne_wrs cutting;
	TAILQ_HEAD(, sne_job) jobs;
	uint32_t njobs;
	struct sne_pkt *sent[SNE_SEQS];	/* the unacknowledged packets, by sequence number */
	/* state for receiving */
	uint32_t base;
	uint8_t verdict[SNE_SEQS];	/* 0: the packet has not arrived; else 1 + its status */
	struct sne_pkt *ack;		/* an ACK in the window that has room for more, or NULL */
	LIST_HEAD(, sne_ah) ahs;
	uint64_t looked;		/* the turn in which `stalled` was last computed */
	bool stalled;
	/* since when no device has the peer's GID; 0: a device has it */
	uint64_t away;
};

/* A write with immediate that has arrived in part. */
struct sne_rmsg {
	LIST_ENTRY(sne_rmsg) link;
	struct sne_flow *flow;
	struct sne_qp *qp;
	uint16_t src_qpn;
	uint32_t msg, got;
	uint32_t seq;			/* the number of the packet that arrived last */
};

/* A peer's read request, which this device has to answer. */
struct sne_job {
	TAILQ_ENTRY(sne_job) link;
	struct sne_flow *flow;
	struct sne_qp *qp;		/* NULL: the QP was destroyed meanwhile */
	uint16_t pd, src_qpn, dst_qpn;
	uint32_t msg, len, next, rkey;
	uint64_t addr;
};

enum sne_cmd { SNE_CMD_PD, SNE_CMD_MR, SNE_CMD_AH, SNE_CMD_CQ, SNE_CMD_QP, SNE_CMD_MODIFY, SNE_CMDS };

struct sne_fault {
	double drop, dup, reorder, twice, rnr, unnamed;
	bool silence, own_seed, consumer;
	bool late_dereg, shared_ah, rx_op, empty_sgl, arm_only, slow_sgl, slow_small, slow_read;
	bool bad_order;
	uint64_t seed;
	bool dead_on;
	uint32_t dead_in;		/* number of the packet that finds its QP destroyed; 0: each does */
	uint8_t status;
	/* number of WQEs until one fails, counting that one; 0: none fails */
	uint32_t status_in;
	bool flush_late;
	/* how late a QP in ERR flushes, in us; 0: only when it is destroyed */
	uint32_t flush_us;
	uint32_t window;		/* packets in the window; 0: the number of the profile */
	/* number of RDMA packets from each AH's device that are refused after the AH's creation */
	uint32_t unknown;
	/* keys of each index before the first key is used again; 0: keys are random */
	uint32_t rkey_turns;
	/* number of commands of each kind until one is refused, counting that one; 0: none is
	 * refused */
	uint32_t refuse_in[SNE_CMDS];
	struct sn_script script;
};

struct sne_extent {
	uint64_t off, bytes;
};

struct sne_bar {
	int fd;
	uint8_t *map;
	uint64_t used;
	struct sne_extent *free;
	uint32_t nfree, room, live;	/* live: number of extents in use */
};

struct sne_nic {
	struct softnic_efa_config config;
	struct softnic_efa_caps caps;
	pthread_mutex_t lock;
	unsigned int forks;		/* the value of sne_forks when the device was opened */
	bool virtual_time;
	uint64_t rng, now, poison;	/* now: the time in which the device has run */
	uint64_t clock;			/* the monotonic time of the last turn */
	uint32_t life, window;
	struct sn_addr gid;
	struct sn_fab *fab;		/* NULL while the device is closed */
	struct sne_bar bar;

	struct sne_ids pd_ids, ah_ids, mr_ids, cq_ids, qp_ids;
	struct sne_pd pds[SNE_PDS];
	struct sne_ah ahs[SNE_AHS];
	struct sne_mr *mrs;
	uint32_t mr_pages;
	struct sne_cq *cqs[SNE_CQS];
	struct sne_qp *qps[SNE_QPS];
	uint16_t qpn_high;
	uint32_t late_flushes;		/* number of QPs whose late flush has a time limit */
	LIST_HEAD(, sne_qp) qp_list;
	LIST_HEAD(, sne_flow) flows[SNE_BUCKETS];
	struct sne_flow *last_flow;	/* the flow that was looked up last, or NULL */
	uint32_t nflows, first_seq;	/* first_seq: the first packet number of a new flow */

	struct sne_pkt *held[SNE_HELD_MAX];
	uint32_t nheld;
	uint64_t passes;		/* calls of sne_release */
	uint64_t births, youngest_sent;	/* packets made; the youngest that has left the window */
	struct sne_pkts inbox, unacked, spare[2];
	TAILQ_HEAD(, sne_flow) senders;	/* flows with something to send */
	struct sne_wrs rnr, done, reads;
	LIST_HEAD(, sne_rmsg) rmsgs;

	struct sne_fault fault;
	uint64_t fault_rng;
	struct softnic_efa_counters ctr;
	struct { uint64_t count; char detail[120]; } viol[SNE_V_COUNT];

	/* fields of thread.c */
	pthread_t thread;
	bool threaded, armed, resting, handed_over;
	atomic_bool stop;
	int event_fd;
	unsigned int takes;		/* turns that took packets */
	unsigned int inline_turns, turns_at_arm;
	uint64_t rest_ns;		/* the length of the thread's last sleep */
	atomic_uint callers;		/* number of callers that wait for the lock */
	uint32_t armed_cqs;
};

/* functions of base.c */
extern unsigned int sne_forks;	/* number of forks from the first process to this one */
static inline uint32_t sne_below(struct sne_nic *nic, uint32_t n)
{
	return (uint32_t)(sn_draw(&nic->rng) >> 33) % n;
}
/* Takes the lock. False: this process is a forked child of the process that opened the device, or this thread
 * has the lock: the device allocates, and a hook of the program's allocator may poll then. */
bool sne_enter(struct sne_nic *nic);
void sne_leave(struct sne_nic *nic);
/* Adds the time since the last call to the device's time, nic->now. An idle device need not do so. */
void sne_take_time(struct sne_nic *nic);
/* Called after a turn in a post or a poll. left: the turn did something, so the next may, too. */
void sne_thread_inline(struct sne_nic *nic, bool left, bool posted);
/* Makes the thread run its next turn at once. */
void sne_thread_hand_over(struct sne_nic *nic);
/* The host waits for an event, so peers must wake the thread from now on. */
void sne_thread_watch(struct sne_nic *nic);

/* a function of profile.c */
int sne_profile(struct softnic_efa_caps *caps, const char *name);

/* functions of ids.c and bar.c */
int sne_id_take(struct sne_ids *ids, uint32_t *id);
void sne_id_give(struct sne_ids *ids, uint32_t id);
void sne_ids_reset(struct sne_ids *ids);
int sne_bar_open(struct sne_bar *bar);
void sne_bar_close(struct sne_bar *bar, bool in_child);
/* Allocates whole pages. They are not zeroed. */
int sne_bar_take(struct sne_bar *bar, uint64_t bytes, uint64_t *off);
void sne_bar_give(struct sne_bar *bar, uint64_t off, uint64_t bytes);
void sne_bar_reset(struct sne_bar *bar);	/* frees all extents and zeroes the memory */
static inline uint64_t sne_pages(uint64_t bytes)
{
	return (bytes + SNE_PAGE - 1) & ~(uint64_t)(SNE_PAGE - 1);
}

/* functions of viol.c */
void sne_violate(struct sne_nic *nic, enum sne_viol v, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* functions of mr.c; a lookup returns the region, or NULL and the kind of violation in *why */
enum sne_mr_error { SNE_MR_KEY, SNE_MR_PD, SNE_MR_RIGHTS };
const struct sne_mr *sne_mr_local(struct sne_nic *nic, uint16_t pd, const struct sne_sge *sge,
				  unsigned int access, enum sne_mr_error *why);
const struct sne_mr *sne_mr_remote(struct sne_nic *nic, uint16_t pd, uint32_t rkey, uint64_t addr,
				   uint64_t len, unsigned int access, enum sne_mr_error *why);
/* Finds the blocks of memory that contain these bytes, at most SNE_BLOCKS for a packet. 0: refused. */
unsigned int sne_mr_blocks(struct sne_nic *nic, const struct sne_mr *mr, uint64_t addr, uint32_t len,
			   struct iovec *iov);
/* Copies from or to a region whose lookup allowed these addresses. False: the host refuses the
 * access. */
bool sne_mr_read(struct sne_nic *nic, const struct sne_mr *mr, uint64_t addr, void *to, uint32_t len);
bool sne_mr_write(struct sne_nic *nic, const struct sne_mr *mr, uint64_t addr, const void *from,
		  uint32_t len);
void sne_mr_free(struct sne_nic *nic, struct sne_mr *mr);
/* Writes in ascending order, as PCIe writes the bytes of one packet: a host may poll the memory. */
bool sne_mr_place(struct sne_nic *nic, const struct sne_mr *mr, uint64_t addr, const void *from,
		  uint32_t len);

/* dma.c: returns len bytes of host memory within one page. NULL: the host refuses the access, which is
 * counted as a violation. */
void *sne_dma(struct sne_nic *nic, uint64_t addr, size_t len);

/* functions of ah.c */
struct sne_ah *sne_ah_find(struct sne_nic *nic, uint16_t pd, uint16_t number);
void sne_ah_free(struct sne_nic *nic, struct sne_ah *ah);
struct sne_ah *sne_ah_of_flow(const struct sne_flow *flow, uint16_t pd);

/* functions of cq.c and cqe.c */
void sne_cq_doorbell(struct sne_nic *nic, struct sne_cq *cq);
struct sne_cq *sne_cq_find(struct sne_nic *nic, uint16_t number);	/* NULL: there is none */
void sne_cq_free(struct sne_nic *nic, struct sne_cq *cq);
void sne_cqe_put(struct sne_nic *nic, struct sne_cq *cq, uint16_t sub, struct sne_cqe *cqe);
bool sne_complete(struct sne_nic *nic);
/* Writes the completions of all WRs of the QP that have ended. */
void sne_complete_qp(struct sne_nic *nic, struct sne_qp *qp);

/* functions of qp.c */
void sne_qp_forget(struct sne_nic *nic, struct sne_qp *qp);	/* drops outstanding work */
void sne_qp_free(struct sne_nic *nic, struct sne_qp *qp);
void sne_qp_free_memory(struct sne_qp *qp);	/* frees only the QP's memory */
void sne_flush_forget(struct sne_nic *nic, struct sne_qp *qp);
/* functions of qp_modify.c */
bool sne_flush_late(struct sne_nic *nic);

/* functions of sq.c, wqe.c and rq.c */
bool sne_sq_doorbell(struct sne_nic *nic, struct sne_qp *qp, bool by_poster);
void sne_sq_poison(const struct sne_nic *nic, uint8_t *slot, size_t bytes);
/* Fills the WR from the WQE. Returns SNE_OK, or the error status of the WR's completion. */
uint8_t sne_wqe_parse(struct sne_nic *nic, struct sne_qp *qp, const struct sne_tx_wqe *wqe,
		      struct sne_wr *wr);
bool sne_rq_doorbell(struct sne_nic *nic, struct sne_qp *qp);
void sne_rq_flush(struct sne_nic *nic, struct sne_qp *qp);
struct sne_receive {
	uint16_t req_id;
	unsigned int nsge;
	struct sne_sge sge[SNE_SGES];
	uint32_t room;
};
bool sne_rq_take(struct sne_nic *nic, struct sne_qp *qp, struct sne_receive *r);
bool sne_rq_peek(struct sne_nic *nic, const struct sne_qp *qp, struct sne_receive *r);
static inline bool sne_id_in_use(uint64_t *ids, uint16_t id)
{
	return ids[id / 64] >> (id % 64) & 1;
}
static inline void sne_id_mark(uint64_t *ids, uint16_t id, bool on)
{
	if (on)
		ids[id / 64] |= UINT64_C(1) << (id % 64);
	else
		ids[id / 64] &= ~(UINT64_C(1) << (id % 64));
}

/* functions of wr.c */
/* Puts the flow into the list of senders, or removes it. Called after a change of what it has to send. */
void sne_update_sender(struct sne_nic *nic, struct sne_flow *flow);
struct sne_wr *sne_wr_new(struct sne_qp *qp);	/* NULL: all WRs are in use */
/* Returns one of the first WRs of the list; with a window of 1 the first. */
enum { SNE_CHOICE = 8 };
struct sne_wr *sne_wr_choose(struct sne_nic *nic, struct sne_wrs *list);
/* Finds the bytes [off, off + len) of the message in memory. Returns the number of blocks; 0: a key is
 * no longer valid. */
unsigned int sne_wr_blocks(struct sne_nic *nic, struct sne_wr *wr, uint32_t off, uint32_t len,
			   struct iovec *iov);
void sne_wr_start(struct sne_nic *nic, struct sne_wr *wr);
/* moves the WR to the done list */
void sne_wr_end(struct sne_nic *nic, struct sne_wr *wr, uint8_t status);
void sne_wr_acked(struct sne_nic *nic, struct sne_wr *wr, const struct sne_hdr *piece,
		  uint8_t status);
void sne_wr_data(struct sne_nic *nic, struct sne_wr *wr, const struct sne_hdr *h,
		 const uint8_t *payload);
struct sne_wr *sne_wr_of_msg(struct sne_qp *qp, uint32_t msg);
void sne_wr_release(struct sne_nic *nic, struct sne_wr *wr);
void sne_wr_detach(struct sne_nic *nic, struct sne_wr *wr);	/* removes the WR from its lists */

/* functions of tx.c */
bool sne_cut(struct sne_nic *nic);
bool sne_retry_rnr(struct sne_nic *nic);

/* functions of window.c */
/* False: the window was full, and the packet is gone. */
bool sne_hold(struct sne_nic *nic, struct sne_pkt *pkt);
bool sne_release(struct sne_nic *nic);
/* Drops the packets of a QP; of one of its WRs, if wr is not NULL. */
void sne_pkts_forget(struct sne_nic *nic, const struct sne_qp *qp, const struct sne_wr *wr);

/* functions of flow.c */
struct sne_pkt *sne_pkt_new(struct sne_nic *nic, size_t payload);
void sne_pkt_free(struct sne_nic *nic, struct sne_pkt *pkt);
struct sne_flow *sne_flow_get(struct sne_nic *nic, const uint8_t gid[16]);
struct sne_flow *sne_flow_find(struct sne_nic *nic, const struct sn_addr *gid);
/* Forgets the writes that have arrived in part at the QP or by the flow, either of which may be NULL. */
void sne_rmsgs_forget(struct sne_nic *nic, const struct sne_qp *qp, const struct sne_flow *flow);
/* Frees a flow without a link and without references. */
void sne_flow_release(struct sne_nic *nic, struct sne_flow *flow);
void sne_flow_number(struct sne_flow *flow, struct sne_pkt *pkt);
/* called when the packet was acknowledged, or the device gave it up */
void sne_flow_drop(struct sne_nic *nic, struct sne_pkt *pkt);
/* -EAGAIN: retry later; -EFAULT: the memory of the payload is no longer registered. */
int sne_transmit(struct sne_nic *nic, struct sne_pkt *pkt);
/* Frees the packet. Its request has one packet less to wait for. */
void sne_pkt_end(struct sne_nic *nic, struct sne_pkt *pkt, uint8_t status);
/* May another packet be sent? Both the window and the flow limit their number. */
bool sne_flow_has_room(struct sne_nic *nic, struct sne_flow *flow);
void sne_flows_free(struct sne_nic *nic);

/* functions of srd.c */
bool sne_retransmit(struct sne_nic *nic);
bool sne_end_late_reads(struct sne_nic *nic);
void sne_receive_packet(struct sne_nic *nic, const struct sn_addr *src, const void *pkt,
			size_t len);

/* functions of rx.c: they return the status that the sender of the packet gets, or SNE_SILENT */
enum { SNE_SILENT = 254 };
uint8_t sne_rx(struct sne_nic *nic, struct sne_flow *flow, const struct sne_hdr *h,
	       const uint8_t *payload);
void sne_rx_forget(struct sne_nic *nic, struct sne_qp *qp);
bool sne_answer_reads(struct sne_nic *nic);
/* The peer did not take this packet of a read's data: it gets no more. */
void sne_answer_ended(struct sne_nic *nic, struct sne_flow *flow, const struct sne_hdr *data);

/* functions of pump.c */
/* False: the turn did nothing. */
bool sne_turn(struct sne_nic *nic, bool posted);
/* Is there work that waits for a peer or for time? */
bool sne_waits(const struct sne_nic *nic);
bool sne_doorbells(struct sne_nic *nic);

/* functions of thread.c */
int sne_thread_start(struct sne_nic *nic);
void sne_thread_stop(struct sne_nic *nic);

/* functions of fault.c */
void sne_fault_default(struct sne_nic *nic, struct sne_fault *fault);
bool sne_chance(struct sne_nic *nic, double p);
void sne_slow(bool slow);	/* sleeps if slow is true */
/* order.c: returns a mapping of the send queue whose stores are observed, or NULL. */
void *sne_order_watch(struct sne_nic *nic, uint64_t off, uint64_t bytes);
/* Since the last call, was a word of a WQE stored after one at a higher address? */
bool sne_order_descends(void);
/* Does the fault script refuse this command? */
bool sne_refuses(struct sne_nic *nic, enum sne_cmd cmd);

#endif
