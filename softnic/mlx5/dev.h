/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interfaces shared by the files of the device half. Of the wire's files only rc_plain.c includes this
 * header, because it reads WQEs in the send queue. All calls need the device lock.
 */
#ifndef SN_DEV_H
#define SN_DEV_H

#include "softnic/mlx5/dev_api.h"
#include "softnic/mlx5/wire_api.h"

enum {
	SN_BAR_PAGES = 2048,
	SN_UAR_FIRST = SOFTNIC_UAR_DRIVER,
	SN_PAGE = 4096,
	SN_KLM_DEPTH = 4,	/* longest chain of keys, reported as max_indirection */
	SN_LOG_MSG_MAX = 30,
	/* log2 of the reads and atomics that a QP can have outstanding, and can serve */
	SN_LOG_READS = 4,
	SN_NUMBER_BITS = 24,	/* bits of most object numbers */
	SN_EQN_BITS = 8,
	SN_UID_BITS = 16,
	SN_UID_SHARED = 0xffff,	/* the owner of objects that all user contexts may name */
	SN_ANY_QPN = 0xffffff,
	/* source ports of UDP that RoCE v2 uses; reported as r_roce_min_src_udp_port and its maximum */
	SN_SPORT_MIN = 0xc000,
	SN_SPORT_MAX = 0xffff,
	/* The MTU of port and vport counts whole frames: 22 bytes more than that of the network interface
	 * (Linux, MLX5E_ETH_HARD_MTU), which is 4200 here, and 1500 after a reset. */
	SN_FRAME_MAX = 4200 + 22,
	SN_FRAME_SMALL = 1500 + 22,
	/* headers of a frame, at most: those 22 bytes, and what iboe_get_mtu() of Linux subtracts */
	SN_FRAME_HEADERS = 22 + 96,
};

/* Limits, log2, unless the host lowers them: reported as log_max_... */
enum {
	SN_LOG_MAX_QP = 18,
	SN_LOG_MAX_CQ = 20,
	SN_LOG_MAX_EQ = 6,
	SN_LOG_MAX_MKEY = 22,
	SN_LOG_MAX_PD = 20,
	SN_LOG_MAX_RMP = 16,
	SN_LOG_MAX_UMEM = 20,
	SN_LOG_MAX_XRCD = 16,
	SN_LOG_MAX_UCTX = 8,
};

static inline unsigned int sn_log_max(const struct softnic *nic, unsigned int log_max)
{
	return nic->config.log_max && nic->config.log_max < log_max ? nic->config.log_max : log_max;
}

/* PRM UAR page: the doorbells of CQs and EQs, and four BlueFlame registers of two halves each. Linux rings
 * its queue for UMRs in one of the last two. */
enum {
	SN_UAR_CQ = 0x20,
	SN_UAR_EQ_ARM = 0x40,
	SN_UAR_EQ = 0x48,
	SN_UAR_BF = 0x800,
	SN_UAR_BF_END = 0x1000,
	SN_UAR_BF_HALF = 0x100,
};

/* Is this the start of a BlueFlame register? */
static inline bool sn_is_bf(uint32_t offset)
{
	return offset >= SN_UAR_BF && offset < SN_UAR_BF_END && !(offset % SN_UAR_BF_HALF);
}

struct sn_device {
	int bar_fd;
	uint8_t *bar;
	/* one bit for each page that got a doorbell while the device was busy */
	atomic_ulong dirty[SN_BAR_PAGES / 64];
	atomic_bool any_dirty;
	uint32_t uar_hint;
	_Atomic uint64_t eq_db[256];	/* last doorbell of each EQ, see sn_eq_post */
	atomic_bool any_eq_db;

	/* fields of thread.c */
	pthread_t thread;
	bool threaded;
	bool armed;			/* peers must wake the thread */
	bool resting;			/* the thread sleeps, perhaps for long */
	uint64_t until;			/* time at which the thread wakes at the latest */
	atomic_bool stop;
	/* number of calls that drove the device, by which the thread notices a polling host */
	atomic_uint inline_pumps;
	int epoll_fd, event_fd, timer_fd;

	uint32_t resd_lkey;
	struct sn_pd no_pd;		/* the PD of queues of type REG_UMR */
	/* number of commands executed so far with the opcode that the fault script names */
	unsigned int cmd_count;
	uint16_t issi;
	bool roce_en;
	/* see cold.h; NULL: the device is not cold, so no driver boots it */
	struct sn_cold *cold;
};

/* functions of table.c */
/* returns 0, -ENOMEM or -EEXIST */
int sn_table_insert(struct sn_table *t, uint32_t number, void *obj);
/* Makes room for one more object, so that the next insertion needs no memory. Returns 0 or -ENOMEM. */
int sn_table_reserve(struct sn_table *t);
void sn_table_remove(struct sn_table *t, uint32_t number);
/* Inserts the object under a free random number of the given width. Returns 0, -ENOMEM, or -ENOSPC
 * if 1 << sn_log_max(nic, log_max) objects exist. */
int sn_table_add(struct softnic *nic, struct sn_table *t, unsigned int bits, unsigned int log_max,
		 void *obj, uint32_t *number);
void sn_table_free(struct sn_table *t);
/* Calls fn for each object; fn may remove its argument. */
void sn_table_each(struct softnic *nic, struct sn_table *t, void (*fn)(struct softnic *, void *));

/*
 * Most list entries that one access may look at, and that all segments of a message may. The longest message,
 * 1 GiB, may be in pieces of 64 bytes. Without a limit, rows of empty entries would keep the device busy for
 * hours.
 */
enum { SN_ENTRIES_MAX = 1 << 24 };

/* functions of dma.c */
/* translates an address through the host's IOMMU */
void *sn_dma_host(struct softnic *nic, uint64_t addr, uint64_t len, bool write);
static inline void *sn_dma(struct softnic *nic, uint64_t addr, uint64_t len, bool write)
{
	if (nic->config.host.dma || !addr)
		return sn_dma_host(nic, addr, len, write);
	return (void *)(uintptr_t)addr;
}
/* Reads a big-endian list of n page addresses; mtt: the low bits are MTT flags. */
int sn_buf_from_list(struct softnic *nic, struct sn_buf *b, const void *list, uint32_t n,
		     unsigned int page_shift, bool mtt);
void sn_buf_from_umem(struct sn_buf *b, struct sn_umem *umem, uint64_t offset, uint64_t len);
void sn_buf_release(struct softnic *nic, struct sn_buf *b);
/*
 * Returns the length of the longest run from off that sn_buf_at accepts, at most len. A host's IOMMU may map
 * each of its pages elsewhere, so that consecutive bus addresses are not consecutive in memory.
 */
static inline uint64_t sn_buf_run(const struct softnic *nic, const struct sn_buf *b, uint64_t off,
				  uint64_t len)
{
	uint64_t page = nic->config.host.dma ? SN_PAGE : UINT64_C(1) << b->page_shift, left;

	if (!nic->config.host.dma && !b->pages)
		return len;
	left = page - ((b->base + b->offset + off) & (page - 1));
	return len < left ? len : left;
}
void *sn_buf_at_page(struct softnic *nic, const struct sn_buf *b, uint64_t off, uint64_t len, bool write);
/*
 * Returns a pointer to [off, off + len), which must not cross a page, to read or to write. NULL: the host
 * refuses the access, or the range is outside of the buffer. Callers must not keep the pointer: the host may
 * unmap a page from its IOMMU at any time, and the next access must then be refused.
 */
static inline void *sn_buf_at(struct softnic *nic, const struct sn_buf *b, uint64_t off,
			      uint64_t len, bool write)
{
	if (off > b->len || len > b->len - off)
		return NULL;
	return b->pages ? sn_buf_at_page(nic, b, off, len, write)
			: sn_dma(nic, b->base + b->offset + off, len, write);
}
bool sn_buf_copy_out(struct softnic *nic, const struct sn_buf *b, uint64_t off, void *dst,
		     uint64_t len);
/* Reads a big-endian word of a doorbell record. False: the host refuses the access. */
static inline bool sn_dbr_read(struct softnic *nic, const struct sn_buf *b, unsigned int word,
			       uint32_t *v)
{
	const uint32_t *p = sn_buf_at(nic, b, 4ull * word, 4, false);

	if (!p)
		return false;
	/* The host stores the record after the WQEs that it announces. */
	*v = be32toh(__atomic_load_n(p, __ATOMIC_ACQUIRE));
	return true;
}

/* functions of eq.c */
void sn_eq_event(struct softnic *nic, struct sn_eq *eq, enum sn_event type, uint8_t sub_type,
		 const uint8_t data[28]);
/* sends an asynchronous event to the EQ that subscribed to its type */
void sn_async(struct softnic *nic, enum sn_event type, uint8_t sub_type, const uint8_t data[28]);
/* has an EQ subscribed to this type of event? */
bool sn_eq_subscribed(struct softnic *nic, enum sn_event type);
void sn_eq_doorbell(struct softnic *nic, uint32_t page, uint32_t value, bool arm);
/* may be called without the lock */
void sn_eq_post(struct softnic *nic, uint32_t page, uint32_t value, bool arm);
bool sn_eq_take_posted(struct softnic *nic);
void sn_eq_free(struct softnic *nic, void *eq);

/* functions of cq.c and cqe.c */
struct sn_cqe {
	enum sn_cqe_op op;
	uint8_t syndrome, vendor, wqe_opcode;
	bool solicited;
	uint16_t counter;
	uint32_t byte_cnt;
	be32_t imm;
	/* the payload to be placed in the CQE, of byte_cnt <= SN_SMALL bytes; or NULL */
	const void *small;
};
/* False: the CQ is in error; the QP must go to ERR. */
bool sn_cqe_write(struct sn_qp *qp, struct sn_cq *cq, const struct sn_cqe *c);
/* Writes the CQE that ends a ring when the CQ is resized. False: the CQ is in error. */
bool sn_cqe_end(struct softnic *nic, struct sn_cq *cq);
void sn_cq_doorbell(struct softnic *nic, uint32_t page, uint32_t hi, uint32_t cqn, bool trapped);
void sn_cq_scan(struct softnic *nic, struct sn_cq *cq);
void sn_cq_free(struct softnic *nic, void *cq);
void sn_cq_event(struct softnic *nic, struct sn_cq *cq);	/* raises the event and disarms the CQ */
static inline void sn_cq_set_armed(struct softnic *nic, struct sn_cq *cq, bool any, bool solicited)
{
	nic->cqs_armed += (uint32_t)(any || solicited);
	nic->cqs_armed -= (uint32_t)(cq->armed || cq->armed_solicited);
	cq->armed = any;
	cq->armed_solicited = solicited;
}

/* functions of sq.c */
enum { SN_POISON = 0xde };	/* fills consumed WQEs in adversarial mode */
static inline uint16_t sn_blocks(unsigned int ds)
{
	return (uint16_t)((ds + 3) / 4);
}
/* Reads the producer counter from the doorbell record and puts the QP on the run list. */
void sn_sq_doorbell(struct sn_qp *qp);
/* Puts the QP on the run list with the producer counter rec, which the caller has read from the
 * record. */
void sn_sq_record(struct sn_qp *qp, uint32_t rec);
/* Reads the producer counter of a QP that rang. If the host refuses the access, the QP fails. */
bool sn_sq_read_record(struct sn_qp *qp, uint32_t *rec);
/* Returns a pointer to a WQEBB in the queue, or NULL. */
static inline const uint8_t *sn_sq_block(struct sn_qp *qp, uint16_t idx)
{
	uint64_t at = (idx & (qp->sq_size - 1)) * (uint64_t)SN_WQEBB;

	return sn_buf_at(qp->nic, &qp->buf, qp->sq_off + at, SN_WQEBB, false);
}

/* functions of wr.c */
void sn_sq_flush(struct sn_qp *qp);

/* functions of wqe.c */
bool sn_sq_copy(struct sn_qp *qp, uint16_t idx, unsigned int ds, uint8_t *dst);
struct sn_ctrl;
/* False: the control segment does not belong to a WQE of this queue and index. */
bool sn_wqe_ctrl_ok(struct sn_qp *qp, const struct sn_ctrl *ctrl);
/* Parses the raw WQE. Returns SN_SYND_OK, or the syndrome of the error CQE. */
uint8_t sn_wqe_parse(struct sn_qp *qp, struct sn_wqe *wqe);
int sn_rq_parse(struct sn_qp *qp, struct sn_rwqe *r, const uint8_t *raw, uint32_t len);

/* functions of umr.c */
uint8_t sn_umr_execute(struct sn_qp *qp, const struct sn_wqe *wqe);

/* A function of rq.c. Flushes the receives that the doorbell record announces. True if there were
 * any. */
bool sn_rq_flush(struct sn_qp *qp);

/* functions of rmp.c: receives shared by several QPs */
int sn_srq_next(struct sn_qp *qp, struct sn_rwqe *rwqe);
int sn_srq_refetch(struct sn_qp *qp, struct sn_rwqe *rwqe);
void sn_srq_put_back(struct sn_qp *qp);
/* To be called when the receive WQE that the QP has taken is completed, flushed or lost. */
void sn_srq_release(struct sn_qp *qp);
/* quirk SN_Q_LOST_WQE: the QP forgets its WQE, after taking one if it has none */
void sn_srq_lose(struct sn_qp *qp);
void sn_srq_free(struct softnic *nic, void *srq);

/* functions of uctx.c */
void sn_uctx_free(struct softnic *nic, void *uctx);
void sn_owned_free(struct softnic *nic, void *owned);

/* functions of xrc.c */
void sn_xrc_srq_free(struct softnic *nic, void *srq);
void sn_xrcd_free(struct softnic *nic, void *xrcd);

/* functions of qp.c */
void sn_qp_reset_queues(struct sn_qp *qp);
void sn_qp_free(struct softnic *nic, void *qp);

/* functions of mkey.c */
void sn_mkey_free(struct softnic *nic, void *mkey);
int sn_mkey_reserved(struct softnic *nic);
/* Sets the PD and the rights of a key from a context. Returns 0 or -EINVAL. */
int sn_mkey_modify(struct softnic *nic, uint32_t mkey, const void *mkc);
void sn_klm_read(struct sn_klm *klm, const uint8_t *entry);
/* Makes room for n entries in the list of a key. New ones are zero. Returns 0 or -ENOMEM. */
int sn_klm_reserve(struct softnic *nic, struct sn_mkey *m, uint32_t n);
/*
 * PRM "repeat block": the first entry of a list holds this operation instead of a key. Its other fields
 * are the bytes of a row, the number of rows, and the number of entries that follow. Each of those has a
 * 16-bit stride and a 16-bit byte count instead of a length.
 */
enum { SN_KLM_STRIDED = 0x400 };
/* May these n entries be in the list of a key of this length? first_key: the key of its first entry. */
bool sn_klm_lengths_ok(const struct sn_mkey *m, uint64_t len, uint32_t first_key, const uint8_t *list,
		       uint32_t n);
/* most units of 16 bytes in a list that UMRs write; the units of 8 bytes in each */
enum { SN_LIST_MAX = 1 << 16, SN_ENTRY_WORDS = 2 };
/* Has the list of an MTT key room for its start, length and page size? */
bool sn_mtt_fits(const struct sn_mkey *m);
/* Finds the memory of an MTT key by its list. rights: the entries have rights in their low bits. Returns
 * 0, or -errno without a change. */
int sn_mtt_map(struct softnic *nic, struct sn_mkey *m, const uint8_t *list, bool rights);

/* A function of pages.c: does the memory that the driver has given allow another object? */
bool sn_pages_left(const struct softnic *nic);

/* functions of uar.c */
void sn_uar_free(struct softnic *nic, void *uar);
int sn_bar_open(struct softnic *nic);
void sn_bar_close(struct softnic *nic);
void sn_bar_forget(struct softnic *nic);
/* Handles one write that the hypervisor trapped. */
void sn_uar_write(struct softnic *nic, uint32_t page, uint32_t offset, const uint8_t *data,
		  size_t len);
/* Stores a write in the page, for the thread that drives the device. */
void sn_uar_store(struct softnic *nic, uint32_t page, uint32_t offset, const uint8_t *data);
bool sn_uar_scan(struct softnic *nic);

/* uar_plain.c: the fast path of a trapped write. False: it cannot handle this write and did
 * nothing. */
bool sn_uar_plain(struct softnic *nic, uint32_t page, uint32_t offset, const uint8_t *data, size_t len);

/* functions of cmd_port.c */
void sn_port_reset(struct softnic *nic);
/* Returns the length of the longest frame of an Ethernet port. */
uint32_t sn_port_frame(const struct softnic *nic);

/* functions of pump.c */
void sn_enter(struct softnic *nic);
bool sn_enter_try(struct softnic *nic);
/* unlocks; handles first what other callers have left meanwhile */
void sn_leave(struct softnic *nic);
/* Runs the commands in a cold device's queue, then drives the device. */
bool sn_pump(struct softnic *nic);

/* drive.c: handles all pending work except commands. True if there was any work. */
bool sn_drive(struct softnic *nic);
/* Is nothing pending and no CQ armed, so that no thread waits for an interrupt? This is the common
 * state. */
static inline bool sn_is_idle(const struct softnic *nic)
{
	return !(nic->config.flags & (SOFTNIC_SCAN_UARS | SOFTNIC_ADVERSARIAL)) && !nic->dev->cold &&
	       !nic->fatal && !nic->forked && !nic->cqs_armed && TAILQ_EMPTY(&nic->run);
}
bool sn_poll_idle(struct softnic *nic);	/* true if a drive would find no work; counts as a drive */
/* Handles arrived packets, and drives the device if there is more work. True if there was any. */
bool sn_handle_arrivals(struct softnic *nic);

/* functions of thread.c */
int sn_thread_start(struct softnic *nic);
void sn_thread_stop(struct softnic *nic);
void sn_thread_forget(struct softnic *nic);

/* functions of wake.c */
/* The thread takes over if there was no inline pump for this time: at first for the short one, because a host
 * that only posts now and then needs the thread for what its peers write. */
enum { SN_TICK_MIN_NS = 50000, SN_TICK_NS = 1000000 };
void sn_thread_set_timer(struct sn_device *dev, uint64_t at);
int sn_thread_add_fd(struct sn_device *dev, int fd);
void sn_thread_wake(struct softnic *nic);
/* to be called when a command has set a deadline before the thread's next wake-up */
void sn_thread_recall(struct softnic *nic);
void sn_thread_inline(struct softnic *nic);	/* called by each inline pump */
/* Keeps the wake-up armed while a CQ is armed. any: packets may have disarmed it, so it is armed again.
 * False: a packet has arrived meanwhile, so there is work. */
bool sn_thread_watch(struct softnic *nic, bool any);
/* to be called after the port's fabric got a new descriptor */
void sn_thread_rewatch(struct sn_port *port);

/* functions of fork.c */
int sn_fork_add(struct softnic *nic);	/* returns 0 or -ENOMEM */
void sn_fork_remove(struct softnic *nic);

/* functions of capture.c */
int sn_capture_open(const char *path, struct sn_capture **capture);	/* returns 0 or -errno */
void sn_capture_close(struct sn_capture *capture, bool in_child);

/* functions of timer.c */
bool sn_timers_run(struct softnic *nic);
/* Reading the clock costs as much as an idle pump, so only one in sixteen pumps does. */
static inline bool sn_timers_due(const struct softnic *nic)
{
	return nic->heap_used && (nic->timer_turn % 16 == 0 || nic->thread_driven);
}
/* updates the page of the internal timer and returns its value */
uint64_t sn_internal_timer(struct softnic *nic);
uint64_t sn_timers_next(struct softnic *nic);	/* returns the earliest deadline, or UINT64_MAX */

/* boot.c: frees all objects that the driver created */
void sn_objects_free(struct softnic *nic);
/* cmd_hca.c: do atomics return values in the host's byte order? If not, in that of the wire. */
bool sn_atomic_host_order(const struct softnic *nic);

/* functions of cmd.c */
enum { SN_CMD_OUT_MAX = 0x1010 };	/* longest output of any command: QUERY_HCA_CAP */
/* The buffer out has SN_CMD_OUT_MAX bytes; outlen is the length of the driver's output. */
void sn_cmd_run(struct softnic *nic, const uint8_t *in, size_t inlen, uint8_t *out, size_t outlen);
struct sn_cmd {
	struct softnic *nic;
	const struct sn_command *command;
	const uint8_t *in;
	uint8_t *out;
	size_t inlen, outlen;
	uint32_t syndrome;
	/* user context whose objects the command may name; 0: it may name all objects */
	uint32_t user;
	struct sn_owned *owned;	/* record for the object that a command of a user context creates */
};

/* functions of viol.c */
uint8_t sn_cmd_refuse(struct sn_cmd *c, uint8_t status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
uint8_t sn_cmd_refuse_errno(struct sn_cmd *c, int err);
/* uctx.c: returns 0 if the command's user context may execute the command, else a status. A success must be
 * followed by sn_uctx_record. */
uint8_t sn_uctx_check(struct sn_cmd *c);
/* Returns the kind of the objects in a table, whose offset in struct softnic is known. */
static inline uint32_t sn_kind(size_t table)
{
	return (uint32_t)(table / sizeof(struct sn_table));
}
/* Records that an object belongs to a user context. The driver's objects have no such record. */
struct sn_owned {
	uint32_t kind_number;	/* its kind << 24 | its number */
	uint16_t uid;
};
/* records the object that a command has created or destroyed, if its status is 0 */
void sn_uctx_record(struct sn_cmd *c, uint8_t status);
/* functions of link.c */
/* to be called when one of the conditions of the link's state has changed */
void sn_link_update(struct sn_port *port);
/* sets the state: the link goes down at once, and up after training */
void sn_link_admin(struct sn_port *port, bool up);
uint8_t sn_link_paos(struct sn_cmd *c, const uint8_t *in, uint8_t *out, bool write);

/* functions of obj.c */
void sn_umem_free(struct softnic *nic, void *umem);
void sn_pd_free(struct softnic *nic, void *pd);
/* May the command name this object? The driver may name all objects, a program only its own, and the XRC
 * domains of the driver: Linux makes those of programs without their uid. */
bool sn_cmd_may_name(const struct sn_cmd *c, size_t table, uint32_t number);
/* Finds an object that the command may name. NULL: there is none. */
void *sn_cmd_find(const struct sn_cmd *c, const struct sn_table *t, uint32_t number);
/* Inserts the object that a command creates into its table: see sn_table_add. Returns 0 or a status. */
uint8_t sn_cmd_add(struct sn_cmd *c, struct sn_table *t, unsigned int bits, unsigned int log_max, void *obj,
		   uint32_t *number);
/*
 * These functions return 0 or a status. sn_cmd_list reads a queue's page list from a command;
 * page_offset counts in units of 1/64 page.
 */
uint8_t sn_cmd_list(struct sn_cmd *c, struct sn_buf *b, unsigned int log_page, uint32_t page_offset,
		    uint64_t len);
/* Finds the memory of a queue in a umem; bits is the width of page_offset in its context. */
struct sn_umem_at {
	uint32_t id;
	unsigned int bits;
	uint64_t offset;
};
uint8_t sn_cmd_umem_queue(struct sn_cmd *c, struct sn_buf *b, const struct sn_umem_at *at,
			  uint64_t len, unsigned int align);
/* Finds a buffer of any other kind in a umem. */
uint8_t sn_cmd_umem(struct sn_cmd *c, struct sn_buf *b, uint32_t id, uint64_t offset,
		    uint64_t len, unsigned int align);

/* Finds a doorbell record: in a umem with an offset of addr, or at this bus address. */
uint8_t sn_cmd_record(struct sn_cmd *c, struct sn_buf *b, bool in_umem, uint32_t umem, uint64_t addr);

typedef uint8_t sn_cmd_fn(struct sn_cmd *c);
enum sn_role {
	SN_BOOTS = 1 << 0,	/* the function accepts the command before it is initialized */
	SN_MAKES = 1 << 1,	/* the command creates an object */
	/* A driver must be able to tear down after a fatal error, so both succeed then, as in firmware. */
	SN_ENDS = 1 << 2,	/* the command destroys the object */
	SN_STOPS = 1 << 3,	/* the command stops a QP or the function */
};
struct sn_command {
	uint16_t opcode, inlen;	/* inlen: length of the shortest input */
	const char *name;
	sn_cmd_fn *fn;
	/* the table of the object whose number is in the common field, as offset in struct softnic; or 0 */
	uint16_t table;
	uint8_t role;		/* bits of enum sn_role */
};

/* Command handlers, each in the file of its object */
sn_cmd_fn sn_cmd_alloc_pd, sn_cmd_alloc_uar, sn_cmd_alloc_xrcd, sn_cmd_create_umem;
sn_cmd_fn sn_cmd_create_mkey, sn_cmd_destroy_mkey, sn_cmd_query_mkey, sn_cmd_special;
sn_cmd_fn sn_cmd_create_eq, sn_cmd_destroy_eq, sn_cmd_query_eq;
sn_cmd_fn sn_cmd_create_cq, sn_cmd_query_cq, sn_cmd_modify_cq;
sn_cmd_fn sn_cmd_create_qp, sn_cmd_query_qp, sn_cmd_modify_qp;
sn_cmd_fn sn_cmd_query_hca_cap, sn_cmd_query_adapter, sn_cmd_query_issi, sn_cmd_set_issi,
	sn_cmd_query_lag;
sn_cmd_fn sn_cmd_create_rmp, sn_cmd_modify_rmp, sn_cmd_query_rmp;
sn_cmd_fn sn_cmd_create_xrc_srq, sn_cmd_create_uctx, sn_cmd_destroy_uctx;
sn_cmd_fn sn_cmd_set_hca_cap;
sn_cmd_fn sn_cmd_enable_hca, sn_cmd_disable_hca, sn_cmd_init_hca, sn_cmd_teardown_hca;
sn_cmd_fn sn_cmd_query_pages, sn_cmd_manage_pages, sn_cmd_access_reg;
sn_cmd_fn sn_cmd_query_roce, sn_cmd_set_roce, sn_cmd_query_vport, sn_cmd_query_vport_state;
sn_cmd_fn sn_cmd_modify_vport, sn_cmd_query_hca_vport, sn_cmd_query_pkey, sn_cmd_query_hca_gid, sn_cmd_mad;

#endif
