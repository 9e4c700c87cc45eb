/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The DAT objects, in neutral types. A handle is the address of one of these structs. Its memory
 * is type-stable: a freed handle answers INVALID_HANDLE through the dead table, and the memory is
 * reused only for an object of the same type.
 *
 * Each struct that a hot path uses begins with struct dap_obj, followed by the backend's area
 * (hw), so that table, state and queue pointers share the first cache lines. What only slow calls
 * need comes after it.
 */
#ifndef DAP_H
#define DAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/addr.h"
#include "core/err.h"

struct dap_hw;
struct dap_cm;
struct dap_cr;

enum dap_type {
	DAP_NONE, DAP_IA, DAP_PZ, DAP_LMR, DAP_RMR, DAP_EVD, DAP_EP, DAP_PSP, DAP_RSP, DAP_CR,
	DAP_CNO, DAP_SRQ, DAP_TYPES
};

enum dap_api { DAP_API_12, DAP_API_20, DAP_APIS };

/* First word of every handle: the provider table that DAT calls on it use. */
enum dap_table {
	DAP_TABLE_CHECKED,	/* every call checks handle and state */
	DAP_TABLE_EP_LIVE,	/* CONNECTED endpoint: posts check neither type nor state */
	DAP_TABLE_EVD_LIVE,	/* dequeue does not check the type */
	DAP_TABLE_RMR_LIVE,	/* bind does not check the RMR */
	DAP_TABLE_SRQ_LIVE,	/* posting does not check the type */
	DAP_TABLES
};

struct dap_obj {
	const void *table;	/* the DAT_PROVIDER of its API level, see dap_obj_set_table */
	uint16_t type;		/* enum dap_type; DAP_NONE when free */
	uint16_t api;		/* enum dap_api of the call that created it */
	uint32_t slot;		/* index in the type's slabs */
	struct dap_ia *ia;
	void *context;		/* the consumer's: dat_set_consumer_context */
};

#define DAP_MAX_PRIVATE_DATA 256

/* Rights, completion flags, EVD flags and event numbers: same values in both DAT levels. */
enum {
	DAP_PRIV_LOCAL_READ = 0x01, DAP_PRIV_REMOTE_READ = 0x02,
	DAP_PRIV_LOCAL_WRITE = 0x10, DAP_PRIV_REMOTE_WRITE = 0x20, DAP_PRIV_ALL = 0x33,
	DAP_PRIV_REMOTE_ATOMIC = 0x40,		/* 2.0 only */

	DAP_COMP_SUPPRESS = 0x01, DAP_COMP_SOLICITED = 0x02, DAP_COMP_UNSIGNALLED = 0x04,
	DAP_COMP_BARRIER = 0x08, DAP_COMP_THRESHOLD = 0x10,

	DAP_EVD_SOFTWARE = 0x01, DAP_EVD_CR = 0x10, DAP_EVD_DTO = 0x20, DAP_EVD_CONNECTION = 0x40,
	DAP_EVD_RMR_BIND = 0x80, DAP_EVD_ASYNC = 0x100,

	DAP_EV_DTO = 0x00001, DAP_EV_RMR_BIND = 0x01001, DAP_EV_CR = 0x02001,
	DAP_EV_ESTABLISHED = 0x04001, DAP_EV_PEER_REJECTED = 0x04002,
	DAP_EV_NON_PEER_REJECTED = 0x04003, DAP_EV_ACCEPT_ERROR = 0x04004,
	DAP_EV_DISCONNECTED = 0x04005, DAP_EV_BROKEN = 0x04006, DAP_EV_TIMED_OUT = 0x04007,
	DAP_EV_UNREACHABLE = 0x04008,
	DAP_EV_ASYNC_EVD_OVERFLOW = 0x08001, DAP_EV_ASYNC_CATASTROPHIC = 0x08002,
	DAP_EV_ASYNC_EP_BROKEN = 0x08003, DAP_EV_ASYNC_TIMED_OUT = 0x08004,
	DAP_EV_ASYNC_INTERNAL = 0x08005, DAP_EV_SOFTWARE = 0x10001,
};

/* DTO completion status: the order of DAT_DTO_COMPLETION_STATUS, same in both levels. */
enum dap_dto_status {
	DAP_DTO_SUCCESS, DAP_DTO_FLUSHED, DAP_DTO_LOCAL_LENGTH, DAP_DTO_LOCAL_EP,
	DAP_DTO_LOCAL_PROTECTION, DAP_DTO_BAD_RESPONSE, DAP_DTO_REMOTE_ACCESS,
	DAP_DTO_REMOTE_RESPONDER, DAP_DTO_TRANSPORT, DAP_DTO_RECEIVER_NOT_READY,
	DAP_DTO_PARTIAL_PACKET, DAP_RMR_OPERATION_FAILED
};

/* Reasons: DAT_SRQ_ASYNC_ERROR_REASON, DAT_EP_ASYNC_ERROR_REASON. */
enum { DAP_SRQ_LOW_WATERMARK = 2, DAP_EP_SOFT_HIGH_WATERMARK = 2 };
#define DAP_NO_WATERMARK UINT32_MAX	/* DAT_WATERMARK_INFINITE */

/* Type of a completed operation: values of 2.0, whose events contain it. */
enum dap_dto_op {
	DAP_OP_SEND, DAP_OP_RDMA_WRITE, DAP_OP_RDMA_READ, DAP_OP_RECEIVE, DAP_OP_RECV_INVAL,
	/* Operations of the InfiniBand extension. */
	DAP_OP_WRITE_IMMED = 8, DAP_OP_RECV_WRITE_IMMED, DAP_OP_FETCH_ADD, DAP_OP_CMP_SWAP,
	DAP_OP_RECV_IMMED,
};

struct dap_event {
	uint32_t number;		/* DAP_EV_* */
	uint8_t unsignalled;		/* delivered, but does not notify */
	uint8_t after_cq;		/* delivered only when the EVD's CQ is empty (DISCONNECTED, BROKEN) */
	uint8_t receive;		/* DTO: true if a message has filled a receive buffer */
	union {
		struct {
			struct dap_ep *ep;
			uint64_t cookie, length;
			uint16_t status;	/* enum dap_dto_status */
			uint16_t op;		/* enum dap_dto_op */
			/* immediate data of DAP_OP_RECV_*IMMED; of RECV_INVAL the context */
			uint32_t imm;
			uint64_t stamp;		/* timestamp of the CQE, as the adapter wrote it; 0: none */
		} dto;
		struct {
			struct dap_rmr *rmr;
			uint64_t cookie;
			uint32_t status;
			struct dap_ep *ep;	/* the endpoint to which it was posted */
			uint64_t stamp;		/* timestamp of the CQE; 0: none */
		} bind;
		struct {
			struct dap_obj *sp;	/* PSP or RSP */
			struct dap_cr *cr;
			uint64_t conn_qual;
		} cr;
		struct {
			struct dap_ep *ep;
			uint32_t private_data_size;
			const void *private_data;	/* points into the EP; valid until free or reset */
		} conn;
		struct {
			struct dap_obj *obj;	/* the EVD, EP or IA concerned */
			int reason;
		} async;
		void *software;
	};
};

/* A timestamp for the consumer; members as in struct dapl_stamp of dapl_direct.h. */
struct dap_stamp {
	uint64_t realtime, raw;
	uint32_t error, khz;
};

/* Address of one end of a connection, exchanged by the connection manager. Independent of the NIC;
 * wire form in cm/wire.h. */
struct dap_path {
	uint8_t link_layer;		/* 1 InfiniBand, 2 Ethernet */
	uint8_t rd_in, rd_out;		/* RDMA reads: most it serves, most it has outstanding */
	uint8_t sl;
	uint16_t mtu;			/* bytes */
	uint16_t lid;
	uint16_t pkey_index;
	uint32_t qpn, psn;		/* 24 bits each; psn: the first one sent */
	uint32_t proto;			/* backend and its protocol version; equal on both ends */
	uint8_t own[8];			/* meaning depends on proto */
	uint8_t gid[16];
};

/* DAT_QOS: best effort is 0, each other class one bit. dap_qos_index() returns a class's place in
 * tables of classes. */
enum { DAP_QOS_ALL = 0xf, DAP_QOS_CLASSES = 5 };
static inline unsigned int dap_qos_index(uint32_t qos)
{
	return qos ? 32u - (unsigned int)__builtin_clz(qos) : 0;
}

struct dap_ep_attr {			/* units and meaning as in DAT_EP_ATTR */
	uint32_t service_type;
	uint64_t max_message_size, max_rdma_size;
	uint32_t qos, recv_completion_flags, request_completion_flags;
	uint32_t max_recv_dtos, max_request_dtos, max_recv_iov, max_request_iov;
	uint32_t max_rdma_read_in, max_rdma_read_out;
	uint32_t srq_soft_hw, max_rdma_read_iov, max_rdma_write_iov;
};

#define DAP_HW_PZ_SIZE 64
#define DAP_HW_LMR_SIZE 96
#define DAP_HW_RMR_SIZE 256
#define DAP_HW_EVD_SIZE 320
#define DAP_HW_EP_SIZE 768
#define DAP_HW_SRQ_SIZE 192
#define DAP_HW_IA_SIZE 2176

struct dap_pz {
	struct dap_obj obj;
	_Alignas(64) uint8_t hw[DAP_HW_PZ_SIZE];
	uint32_t refs;			/* LMRs, RMRs, EPs and SRQs in it; atomic */
};

struct dap_lmr {
	struct dap_obj obj;
	struct dap_pz *pz;
	/* start and length of the range in LMR triplets; addresses count from the memory's address,
	 * or from 0 if zero_based */
	uint64_t addr, length;
	uint32_t lmr_context, rmr_context;
	uint32_t priv;
	bool zero_based;		/* 2.0 */
	_Alignas(64) uint8_t hw[DAP_HW_LMR_SIZE];
	uint64_t mem;			/* address of the memory */
	uint64_t reg_addr, reg_size;	/* the range that is registered */
};

struct dap_rmr {
	struct dap_obj obj;
	struct dap_pz *pz;
	struct dap_lmr *lmr;		/* the LMR to which it is bound; only valid if length is not
					 * 0 */
	_Alignas(64) uint8_t hw[DAP_HW_RMR_SIZE];
	/* The last bind, for dat_rmr_query. */
	uint32_t rmr_context, priv;
	_Alignas(16) uint64_t addr;	/* one store writes address and length, if the CPU can */
	uint64_t length;
	bool for_ep;			/* 2.0: only this endpoint's connection may use it */
	bool zero_based;		/* 2.0: remote addresses are offsets into the range */
	/* The context that the peer has invalidated, plus DAP_RMR_ENDED; atomic, written by
	 * pollers. */
	uint64_t ended;
};
#define DAP_RMR_ENDED (UINT64_C(1) << 32)

static inline bool dap_rmr_is_bound(const struct dap_rmr *rmr)
{
	return __atomic_load_n(&rmr->length, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&rmr->ended, __ATOMIC_ACQUIRE) != (DAP_RMR_ENDED | rmr->rmr_context);
}

/* A bind's endpoint is invalid: its argument has another number in each API level. */
static inline int dap_bad_bind_ep(const struct dap_rmr *rmr)
{
	return DAP_ERR(DAP_INVALID_PARAMETER, rmr->obj.api == DAP_API_20 ? DAP_SUB_ARG6 : DAP_SUB_ARG4);
}

/*
 * Bits of dap_evd.slow: any bit takes a dequeue off the hot path. A dequeue tests it after it has
 * seen the owner bit of the CQE. Before the peer may send, either ESTABLISHED is posted (passive
 * side) or EARLY is set (active side). So a thread that sees a receive of that connection also sees
 * a bit, and dequeues ESTABLISHED first.
 */
enum {
	DAP_SLOW_SOFT = 1,		/* the software queue or the stash holds events */
	DAP_SLOW_WAITER = 2,		/* a thread waits: dequeue returns INVALID_STATE */
	DAP_SLOW_DEAD = 4,		/* overflowed or being freed */
	DAP_SLOW_NO_CQ = 8,		/* the EVD has no CQ: only the software queue */
	DAP_SLOW_CNO = 16,		/* a CNO watches the CQ: it is read under cq_lock */
	DAP_SLOW_COUNT = 32,		/* receives are counted (ep/recv.c): cq_lock, too */
	DAP_SLOW_LOCKED = 64,		/* a slow call holds cq_lock: dap_evd_leave_hot_path */
	DAP_SLOW_EARLY = 128,		/* a peer may send before ESTABLISHED: dap_evd_early */
};

/* A delayed call from the connection manager's thread; see dap_cm_timer. */
struct dap_timer {
	void (*fn)(void *arg);
	void *arg;
	uint64_t due;			/* CLOCK_MONOTONIC, us */
	struct dap_timer *child, *next, *prev;	/* pairing heap */
	bool set, closed, inside;	/* inside: the manager's own, called under its lock */
};

/*
 * Counts of slow calls and rare completions, of an endpoint and of an EVD. The backend counts posts
 * (dap_hw.ep_total), and perhaps dequeues (cq_total).
 */
enum dap_count {
	DAP_COUNT_SEND, DAP_COUNT_WRITE, DAP_COUNT_READ, DAP_COUNT_WRITE_IMM, DAP_COUNT_CMP_SWAP,
	DAP_COUNT_FETCH_ADD, DAP_COUNT_POST_RECV, DAP_COUNT_RECV, DAP_COUNT_RECV_IMM,
	DAP_COUNT_RECV_WRITE_IMM, DAP_COUNT_RECV_FAILED, DAP_COUNTS
};
struct dap_ep_counts {
	uint64_t connects, disconnects;
	struct { uint64_t number, bytes; } work[DAP_COUNTS];	/* atomic; includes earlier QPs */
};

struct dap_evd {
	struct dap_obj obj;
	uint32_t slow;			/* DAP_SLOW_*: atomic; written under lock, read by dequeue */
	uint32_t flags;			/* DAP_EVD_*: streams that may feed it */
	_Alignas(64) uint8_t hw[DAP_HW_EVD_SIZE];
	bool has_cq;
};

enum dap_ep_state {			/* the order of DAT_EP_STATE */
	DAP_EP_UNCONNECTED, DAP_EP_UNCONFIGURED_UNCONNECTED, DAP_EP_RESERVED,
	DAP_EP_UNCONFIGURED_RESERVED, DAP_EP_PASSIVE_PENDING, DAP_EP_UNCONFIGURED_PASSIVE,
	DAP_EP_ACTIVE_PENDING, DAP_EP_TENTATIVE_PENDING, DAP_EP_UNCONFIGURED_TENTATIVE,
	DAP_EP_CONNECTED, DAP_EP_DISCONNECT_PENDING, DAP_EP_DISCONNECTED,
	DAP_EP_COMPLETION_PENDING, DAP_EP_STATES
};

struct dap_ep {
	struct dap_obj obj;
	/* Number of its current connection, unique in this process; 0 while not CONNECTED. Written
	 * with the state. */
	uint64_t connection;
	_Alignas(64) uint8_t hw[DAP_HW_EP_SIZE];
	uint32_t state;			/* enum dap_ep_state: atomic, written by ep/fsm.c only */
	bool has_qp;			/* false while it has no PZ; atomic for the thread of events */
	struct dap_pz *pz;
	struct dap_evd *recv_evd, *request_evd;
	struct dap_srq *srq;
	struct dap_ep_attr attr;
	struct dap_path local_path, remote_path;
	uint32_t qos;			/* class of its connection; set before qp_address */
};

struct dap_srq {
	struct dap_obj obj;
	struct dap_pz *pz;
	_Alignas(64) uint8_t hw[DAP_HW_SRQ_SIZE];
	uint32_t max_recv_dtos, max_recv_iov;
	uint32_t room;			/* the largest queue that srq_resize can make */
	uint32_t refs;			/* endpoints that use it; atomic */
};

/* Limits and properties of the adapter, from its backend. Units: bytes and counts. */
struct dap_caps {
	char vendor[64];
	uint32_t hw_major, hw_minor, fw_major, fw_minor;
	union dap_addr address;
	uint32_t max_eps, max_dto_per_ep, max_rdma_read_in, max_rdma_read_out;
	uint32_t max_evds, max_evd_qlen, max_iov, max_rdma_read_iov, max_rdma_write_iov;
	uint32_t max_lmrs, max_pzs, max_rmrs, max_srqs, max_ep_per_srq, max_recv_per_srq;
	uint64_t max_lmr_size, max_message_size, max_rdma_size;
	uint32_t optimal_alignment;
	uint32_t qos;			/* DAT_QOS bits that it supports beyond best effort */
	/* Named attributes for dat_ia_query, e.g. "access"="model". */
	struct { const char *name; char value[256]; } attr[18];
	unsigned int nattr;
	bool host_only;			/* a software adapter: listen on address only */
	bool needs_ip;			/* reaches this host only; with ip= it reaches others */
	bool no_extension;		/* no writes with immediate data and no atomics */
	bool no_atomics;		/* the extension has only writes with immediate data */
	bool rmr_for_ep;		/* RMRs of one endpoint, which its peer can invalidate */
	bool zero_based;		/* LMRs and RMRs whose addresses start at 0 */
};

/* Finds an LMR by its context: a two-level directory on the upper 24 bits; binds read it without a
 * lock. */
struct dap_lmr_page {
	struct dap_lmr *lmr[4096];
	uint32_t live;
	struct dap_lmr_page *next;	/* free pages: reused, never freed */
};

enum { DAP_DEVICE_SIZE = 72 };	/* room for "name port" */

struct dap_ia {
	struct dap_obj obj;
	const void *tables[DAP_TABLES];	/* the tables of this instance and its API level */
	_Alignas(64) uint8_t hw_area[DAP_HW_IA_SIZE];
	const struct dap_hw *hw;
	char name[256];
	bool threadsafe;
	struct dap_caps caps;
	struct dap_cm *cm;
	struct dap_lmr_page *lmr_dir[4096];
	char device[DAP_DEVICE_SIZE];	/* device that ia_params select (core/param.h); "": name */
};

static inline const char *dap_ia_device(const struct dap_ia *ia)
{
	return *ia->device ? ia->device : ia->name;
}

/* ---- obj.c ---- */
/* Returns the object if h is a live handle of that type (and IA, unless ia is NULL), else NULL. h
 * may be any pointer value. */
void *dap_obj_get(const void *h, enum dap_type type, const struct dap_ia *ia);
/* Calls fn for each live object of the type in the IA (abrupt close). fn may free it. */
void dap_obj_each(enum dap_type type, struct dap_ia *ia, void (*fn)(void *obj, void *arg), void *arg);

/* ---- lmr.c ---- */
static inline struct dap_lmr *dap_lmr_find(const struct dap_ia *ia, uint32_t context)
{
	const struct dap_lmr_page *page =
		__atomic_load_n(&ia->lmr_dir[context >> 20], __ATOMIC_ACQUIRE);
	struct dap_lmr *lmr;

	if (__builtin_expect(page == NULL, 0))
		return NULL;
	lmr = __atomic_load_n(&page->lmr[context >> 8 & 0xfff], __ATOMIC_ACQUIRE);
	return lmr && lmr->lmr_context == context ? lmr : NULL;
}

/* ---- evd/ ---- */
/* Posts an asynchronous event to the IA's async EVD. */
void dap_async_post(struct dap_ia *ia, uint32_t number, struct dap_obj *obj, int reason);

/* ---- invariant.c ---- */
/*
 * An invariant of cold code is true whatever a caller, a peer or a device does. If it is not, this
 * library has a defect: it logs the condition and the object, and fails the IA as dap_ia_fatal()
 * does. The caller goes on, or returns if it cannot. With DAPL_DBG_ABORT=1, which the
 * tests set, the process aborts instead.
 *
 * Any thread may check an invariant, and may hold any lock but the connection manager's.
 */
bool dap_invariant_broken(const struct dap_obj *obj, const char *what, const char *file, int line)
	__attribute__((cold, noinline));
static inline bool dap_invariant_check(const struct dap_obj *obj, bool holds, const char *what,
				       const char *file, int line)
{
	return __builtin_expect(holds, 1) || dap_invariant_broken(obj, what, file, line);
}
/* Returns true if the condition about the object holds. */
#define dap_invariant(obj, cond) dap_invariant_check(obj, (cond), #cond, __FILE__, __LINE__)

/* ---- called by a backend ---- */
/* Called at an error completion or a QP event: the endpoint becomes DISCONNECTED, with the event BROKEN.
 * Further calls have no effect. Any thread may call it, with any lock held: the connection manager's
 * thread does the rest. A poller calls it before it leaves the CQ: after a reset the failure would count
 * for the next connection. */
void dap_ep_broken(struct dap_ep *ep);
/* Makes the peer call its qp_look() soon. The caller holds ep's lock, and none of the backend's. */
void dap_ep_look(struct dap_ep *ep);
/* The CQ behind the EVD has overflowed: marks the EVD dead and raises EVD_OVERFLOW. */
void dap_evd_overflow(struct dap_evd *evd);
/* The device has failed. */
void dap_ia_fatal(struct dap_ia *ia);
/* The device did not end the access to an LMR or RMR, flush a QP, or destroy it. Fails the IA: a peer without
 * a connection cannot use that access. Any thread may call it, with any lock but the manager's held. */
void dap_access_kept(const struct dap_obj *obj, int err);

/* If the consumer gave no EVD for that direction, drops completions, which frees queue entries. Called
 * by a poster that found the queue full. Returns true if it dropped any. */
bool dap_ep_reap(struct dap_ep *ep, bool recv) __attribute__((cold));

/* Size of the struct behind an endpoint's handle. */
size_t dap_ep_size(void);
/* Counts one message of that kind and its bytes, for completions that no hot dequeue counts. */
void dap_ep_tally(struct dap_ep *ep, enum dap_count what, uint64_t bytes);

/* Counts a completion with an error when it leaves its queue. */
void dap_work_failed(const struct dap_event *ev) __attribute__((cold));

/* Called from the connection manager's thread: fewer receives are left than the low watermark. */
void dap_srq_low(struct dap_srq *srq);
/* Called from the connection manager's thread: the device has stopped the SRQ. Marks it broken and
 * raises an event. Its endpoints break one by one, when they need a receive. */
void dap_srq_broken(struct dap_srq *srq);
/* Like dap_ep_reap, for a full SRQ: drops the completions of all endpoints that use it. */
bool dap_srq_reap(struct dap_srq *srq) __attribute__((cold));

/* Calls t->fn(t->arg) once from the connection manager's thread, delay_us from now. If the timer is
 * already set, only the new time counts. */
void dap_cm_timer(struct dap_cm *cm, struct dap_timer *t, uint64_t delay_us);
/* After this returns, the timer's fn is not running and cannot run again. */
void dap_cm_timer_close(struct dap_cm *cm, struct dap_timer *t);

/* ---- the state of an endpoint; only ep/fsm.c changes it ---- */
static inline enum dap_ep_state dap_ep_state(const struct dap_ep *ep)
{
	return (enum dap_ep_state)__atomic_load_n(&ep->state, __ATOMIC_ACQUIRE);
}

/* Requests may be posted: CONNECTED, or DISCONNECTED, where they are flushed. */
static inline bool dap_ep_may_request(const struct dap_ep *ep)
{
	return dap_ep_state(ep) == DAP_EP_CONNECTED || dap_ep_state(ep) == DAP_EP_DISCONNECTED;
}

/* ---- log.c: DAPL_DBG_TYPE bits; one line to stderr or syslog (DAPL_DBG_DEST) ---- */
enum { DAP_LOG_ERR = 1, DAP_LOG_WARN = 2, DAP_LOG_CM = 8, DAP_LOG_EP = 0x10 };
void dap_log(unsigned int kind, const char *fmt, ...) __attribute__((format(printf, 2, 3), cold));

#endif
