/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Internals of the preload that shows stock rdma-core a uverbs device. It replaces the kernel's mlx5_ib:
 * uverbs commands arrive by ioctl, PRM commands go to the device, and the data path bypasses it. It
 * accesses the device only through softnic.h.
 *
 * Locks, outermost first: the registry's, a device's, (inside softnic: the model's), a device's event
 * lock. The interrupt handler takes only the event lock, so it is never held across a call of softnic.
 */
#ifndef SOFTNIC_UVERBS_FRONT_H
#define SOFTNIC_UVERBS_FRONT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "softnic/softnic.h"
#include "softnic/uverbs/prm.h"
#include "softnic/preload/preload.h"

enum {
	UV_MAJOR = 231,			/* device number of /dev/infiniband/uverbsN */
	UV_MINOR = 192,
	UV_HASH = 256,
	UV_EQ_LOG = 12,
};

struct uv_device;
struct uv_obj;
struct uv_ctx;
struct uv_req;
struct uv_gid;
struct softnic_efa;

enum uv_adapter { UV_CONNECTX, UV_EFA, UV_ADAPTERS };

/* The operations in which adapters differ. (mlx5.c, efa/) */
struct uv_kind {
	enum uv_adapter adapter;
	uint16_t driver;		/* the kernel's driver: a value of enum rdma_driver_id */
	int (*open)(struct uv_device *dev);	/* opens the model; its BAR in bar_fd */
	/* called after an open that failed in a later step */
	void (*close)(struct uv_device *dev);
	bool (*pump)(struct uv_device *dev);
	int (*fault)(struct uv_device *dev, const char *script);
	size_t (*violations)(struct uv_device *dev, struct softnic_violation *v, size_t max);
	int (*gid)(struct uv_device *dev, unsigned int port, unsigned int index,
		   struct uv_gid *gid);	/* -ENODATA: the entry is empty */
	int (*destroy)(struct uv_obj *obj);	/* destroys the object at the device */
};
extern const struct uv_kind uv_mlx5, uv_efa;

enum uv_chan_kind {
	UV_CHAN_ASYNC,			/* asynchronous events of a context */
	UV_CHAN_COMP,			/* completion events of CQs */
	UV_CHAN_DEVX_EVENT,		/* events of DEVX subscriptions */
	UV_CHAN_DEVX_QUERY,		/* results of asynchronous queries */
};

/* A stream of event records: the program reads the other end of a pipe. (chan.c) */
struct uv_chan {
	LIST_ENTRY(uv_chan) link;
	enum uv_chan_kind kind;
	/* number of users: CQs, plus one for a context; of a DEVX channel, the program's descriptor */
	unsigned int refs;
	int wr;
	dev_t dev;
	ino_t ino;
	bool imported;			/* created for an imported context */
	uint64_t owner;			/* id of the context of a completion channel */

	/* fields of a DEVX channel */
	struct uv_ctx *ctx;
	int rd;				/* the front's own reading end, else -1 */
	/* records have only a cookie, and each subscription has at most one unread record */
	bool omit_data;
	bool lost;			/* the next read reports that an event was lost */
	uint64_t written;		/* number of records written so far */
	LIST_HEAD(, uv_sub) subs;
};

/* A subscription to one type of event, of an object or of the port. (devx_event.c) */
struct uv_sub {
	LIST_ENTRY(uv_sub) by_number, by_chan;
	struct uv_chan *chan;
	struct uv_obj *obj;		/* NULL: the subscription has no object */
	uint32_t number;
	uint8_t event;
	/* an eventfd that is signaled instead of the channel, or -1 */
	int eventfd;
	uint64_t cookie;
	/* number of this subscription's last record, counted in the channel */
	uint64_t record;
};

/* One open() of the device. */
struct uv_ctx {
	LIST_ENTRY(uv_ctx) link;
	struct uv_device *dev;
	uint64_t id;			/* the offset of its open file, see device.c */
	int fd;				/* a descriptor of the program for this context */
	struct uv_chan *async;		/* NULL until GET_CONTEXT */
	uint16_t uid;			/* 0: the context was opened without DEVX */
	uint8_t cqe_version;		/* CQE version, as negotiated with the program */
};

enum uv_type { UV_PD = 1, UV_MR, UV_MW, UV_CQ, UV_QP, UV_UAR, UV_AH, UV_SRQ, UV_DEVX, UV_UMEM };

struct uv_obj {
	enum uv_type type;
	uint32_t handle;
	/* number at the device: PD, mkey index, CQN, QPN or UAR page */
	uint32_t number;
	struct uv_ctx *ctx;
	unsigned int users;		/* number of objects that have a reference to this one */
	struct uv_obj *held[4];		/* the PD, CQs and SRQ to which this object has references */
	uint64_t user_handle;

	/* fields of an object that is a source of events */
	/* NULL: the object neither is an event source nor has a channel */
	void (*end_events)(struct uv_obj *obj);
	LIST_ENTRY(uv_obj) by_number;
	struct uv_chan *chan;
	/* channel of its asynchronous events; NULL: the context's first channel */
	struct uv_chan *async;
	uint32_t comp_events, async_events;	/* numbers of events delivered, less those recalled */

	uint16_t opcode;		/* DEVX: opcode of the command that created the object */

	/* fields of a QP; of an SRQ only its size */
	uint8_t state;			/* a value of enum ib_qp_state */
	uint8_t port;
	uint8_t responder;		/* max_dest_rd_atomic */
	uint32_t access;		/* qp_access_flags */
	struct ib_uverbs_ex_create_qp cap;	/* the arguments of CREATE_QP, for QUERY_QP */

	/* fields of a CQ */
	uint32_t cqe_size;

	void *queues;			/* queues of an EFA's CQ or QP, freed with it */

	/* fields of an MR: the low byte of its keys, and the arguments of its creation for REREG_MR */
	uint8_t key;
	struct ib_uverbs_reg_mr mr;
};

struct uv_eq {
	uint8_t *buf;
	uint32_t eqn, uar, ci;
	bool ready;
};

struct uv_device {
	pthread_mutex_t lock;
	const struct uv_kind *kind;
	struct softnic *nic;		/* the model of a ConnectX */
	struct softnic_efa *efa;	/* the model of an EFA */
	unsigned int index;
	pid_t owner;			/* the process that opened the device */
	struct uv_device *lost;		/* next detached device */
	int bar_fd;
	dev_t bar_dev;
	ino_t bar_ino;
	uint8_t cap[4096], roce[4096];	/* output of QUERY_HCA_CAP */
	unsigned int ports, gids;	/* gids: entries of a port's GID table */
	bool infiniband;
	uint8_t next_key;
	struct uv_eq eq;

	struct uv_obj **obj;		/* objects by handle; handle 0 is unused */
	uint32_t nobj, obj_hint;
	LIST_HEAD(, uv_ctx) ctxs;
	/* owns the objects of closed contexts that the device refused to destroy */
	struct uv_ctx left;

	pthread_mutex_t ev_lock;
	LIST_HEAD(, uv_obj) sources[UV_HASH];
	LIST_HEAD(, uv_sub) sub_hash[UV_HASH];
	LIST_HEAD(, uv_chan) chans;
	unsigned int ports_down;	/* one bit for each port */
	atomic_bool failed;		/* the device has reported a fatal error */
};

/* A uverbs command as INVOKE_WRITE carries it. The program sets the lengths. */
struct uv_req {
	struct uv_ctx *ctx;
	struct uv_device *dev;
	const void *in, *uhw_in;
	void *out, *uhw_out;
	size_t in_len, out_len, uhw_in_len, uhw_out_len;
	bool extended;			/* the command is in its extended form */
	struct uv_obj *obj;		/* the object that the command names, or NULL */
	/* the object that the command creates, or NULL; freed if the command fails */
	struct uv_obj *made;
};
/* Executes a command. Returns 0 or -errno. */
typedef int uv_command(struct uv_req *req);

/* ---- Functions of device.c: the registry of this process's devices */
/* Opens the device: returns a new fd, or -errno. kind: the kind of adapter that the first open creates. */
int uv_open_device(unsigned int index, const struct uv_kind *kind);
struct uv_device *uv_device_of(const struct stat *st);
void uv_closed(const struct stat *st);		/* call this when the program has closed a pipe */
/* To be called before the program reads n bytes of this pipe. Returns 0 or -errno, the result of the read;
 * reduces n to the length of a record. */
int uv_before_read(const struct stat *st, size_t *n);
struct uv_ctx *uv_ctx_of(struct uv_device *dev, int fd);
bool uv_any_device(void);		/* true if this process or its parent has opened a device */
void uv_ctx_close(struct uv_ctx *ctx);
/* To be called when the program closes fd. True: this was its last descriptor of the context. */
bool uv_ctx_ends_with(struct uv_ctx *ctx, int fd);
void uv_pump(void);
void uv_report(void);
/* softnic_fault on an open device. A test under the preload finds it by dlsym. */
EXPORT int softnic_front_fault(unsigned int index, const char *script);

/* ---- Functions of command.c: PRM commands */
int uv_cmd(struct uv_device *dev, const void *in, size_t inlen, void *out, size_t outlen);
int uv_cmd_number(struct uv_device *dev, enum prm_opcode opcode, uint32_t number, void *out,
		  size_t outlen);
/* Executes CREATE_x and returns the new number. in is zero except for its context. */
int uv_create(struct uv_device *dev, enum prm_opcode opcode, void *in, size_t inlen,
	      uint32_t *number);
/* Returns a zeroed CREATE_x with the pages of this memory, to be freed by free(). Arguments as of
 * uv_fill_pages. */
uint8_t *uv_create_alloc(uint64_t addr, uint64_t bytes, unsigned int shift, uint64_t flags, size_t *len);
/* Executes CREATE_x like uv_create, then frees in. */
int uv_create_free(struct uv_device *dev, enum prm_opcode opcode, uint8_t *in, size_t inlen,
		   uint32_t *number);
/* Executes ALLOC_x, a command without a context, for a user context or the kernel. */
int uv_alloc(struct uv_device *dev, uint16_t uid, enum prm_opcode opcode, uint32_t *number);
/* Fills in a page list. flags: the low bits of an MTT; 0 for the page list of a queue. */
void uv_fill_pages(uint8_t *list, uint64_t addr, size_t npages, unsigned int shift,
		   uint64_t flags);
size_t uv_pages(uint64_t addr, uint64_t len, unsigned int shift);
int uv_query_caps(struct uv_device *dev);
/* Is this process a child of the device's owner? After vfork() it shares the owner's memory. */
static inline bool uv_detached(const struct uv_device *dev)
{
	return dev->owner != getpid();
}

static inline unsigned int uv_log2_above(uint32_t n)
{
	return n < 2 ? 0 : 32u - (unsigned int)__builtin_clz(n - 1);
}

static inline uint32_t uv_cap(const struct uv_device *dev, struct sn_fld f)
{
	return sn_get(dev->cap, f);
}

struct uv_gid {
	uint8_t raw[16];
	uint8_t version;
};
/* Port numbers start at 1, and the caller has checked them. -ENODATA: the entry is empty. */
int uv_query_gid(struct uv_device *dev, unsigned int port, unsigned int index, struct uv_gid *gid);
void uv_rmac_of(const uint8_t gid[16], uint8_t mac[6]);
int uv_query_vport(struct uv_device *dev, unsigned int port, uint8_t out[PRM_VPORT_OUT]);

/* ---- Functions of object.c */
struct uv_obj *uv_obj_new(struct uv_ctx *ctx, enum uv_type type);
/* Returns 0; -ENOENT: the context has no such handle; -EINVAL: the object has another type. Linux
 * does the same. */
int uv_obj_find(struct uv_ctx *ctx, enum uv_type type, uint32_t handle, struct uv_obj **obj);
struct uv_obj *uv_obj_any(struct uv_ctx *ctx, uint32_t handle);
void uv_obj_hold(struct uv_obj *obj, unsigned int slot, struct uv_obj *held);
int uv_obj_hold_handle(struct uv_obj *obj, unsigned int slot, enum uv_type type, uint32_t handle);
void uv_obj_free(struct uv_obj *obj);
/* Destroys the object at the device as well. Returns 0, -EBUSY, or -errno of the command. */
int uv_obj_destroy(struct uv_obj *obj);
/* For methods that destroy the one object that an attribute names. */
int uv_obj_end(struct uv_ctx *ctx, enum uv_type type, struct ib_uverbs_ioctl_hdr *hdr, uint16_t id);
/* Ends a method after the device has created its object: the program gets the handle, or after an error the
 * object is destroyed. Returns err. */
int uv_obj_hand_over(struct uv_obj *obj, struct ib_uverbs_attr *handle, int err);
/* Destroys the objects of a context, and those that earlier contexts left behind. */
void uv_obj_purge(struct uv_ctx *ctx);

/* ---- Functions of chan.c: the event lock protects the list of channels */
int uv_chan_new(struct uv_device *dev, enum uv_chan_kind kind, int *fd, struct uv_chan **chan);
/* NULL: fd is no channel of this kind. Needs the event lock. */
struct uv_chan *uv_chan_find(struct uv_device *dev, enum uv_chan_kind kind, int fd);
void uv_chan_put(struct uv_chan *chan);		/* needs the event lock */
/* frees channels that the program has closed; needs the event lock */
void uv_chan_reap(struct uv_device *dev);
bool uv_chan_abandoned(const struct uv_chan *chan);
int uv_chan_reader(const struct uv_chan *chan);	/* the front's own reading end, or -1 */
/* Needs the event lock. False: the channel is full or closed, so the record is lost. */
bool uv_chan_send(struct uv_chan *chan, const void *record);
bool uv_chan_send_bytes(struct uv_chan *chan, const void *record, size_t len);
/* Removes the unread records that match; returns their number. */
unsigned int uv_chan_recall(struct uv_chan *chan,
			    bool (*match)(const void *record, const void *arg), const void *arg);

/* ---- Functions of event.c */
int uv_eq_create(struct uv_device *dev);
void uv_completion(struct uv_device *dev, uint32_t cqn);	/* needs the event lock */
void uv_irq(void *ctx, unsigned int vector);
/* Makes a CQ report completions to the channel of its context with the descriptor fd; -1: to none. */
int uv_source_channel(struct uv_obj *cq, int fd);
/* Makes obj a source of events. Destroying obj recalls its unread events, after which its counts are
 * final. */
void uv_source_add(struct uv_obj *obj, uint64_t user_handle);
/* The object reports asynchronous events to the channel in the attribute, if there is one. */
int uv_source_tells(struct uv_obj *obj, struct ib_uverbs_ioctl_hdr *hdr, uint16_t id);

/* ---- Functions of ioctl.c, write.c and attr.c: they return 0 or -errno */
int uv_ioctl(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr);
int uv_write(struct uv_req *req, uint32_t command);
struct ib_uverbs_attr *uv_attr(struct ib_uverbs_ioctl_hdr *hdr, uint16_t id);
/* Returns an attribute's data; up to 8 bytes lie in the attribute itself. NULL: the attribute has
 * no address. */
const void *uv_attr_in(const struct ib_uverbs_attr *a);
bool uv_attr_number(struct ib_uverbs_ioctl_hdr *hdr, uint16_t id, uint64_t *v);
/*
 * Writes to an attribute of the program. Writes nothing if the program did not pass the attribute.
 */
int uv_attr_put(struct ib_uverbs_ioctl_hdr *hdr, uint16_t id, const void *src, size_t size);
/* Returns the provider's attributes in the form of a write command. */
struct uv_req uv_attr_req(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr);
/* Copies the response, as far as both sides know its fields. drv is the part of the provider.
 * Returns 0. */
int uv_answer(struct uv_req *req, const void *resp, size_t size, const void *drv, size_t drv_size);
/* Copies the fields that both sides know; the rest of dst is zero. */
void uv_copy_in(void *dst, size_t size, const void *src, size_t len);
void uv_copy_out(void *dst, size_t len, const void *src, size_t size);

/* ---- Functions of forms.c, the part common to all adapters. A suffix _attrs marks the method of the
 * same name */
void uv_create_cq_attrs(struct ib_uverbs_ioctl_hdr *hdr, struct ib_uverbs_ex_create_cq *core);
bool uv_create_srq_attrs(struct ib_uverbs_ioctl_hdr *hdr, struct ib_uverbs_create_srq *core);
int uv_create_qp_attrs(struct ib_uverbs_ioctl_hdr *hdr, struct ib_uverbs_ex_create_qp *core);
void uv_create_cq_args(const struct uv_req *req, struct ib_uverbs_ex_create_cq *core);
void uv_create_qp_args(const struct uv_req *req, struct ib_uverbs_ex_create_qp *core);
/* Sets both states in the arguments. Returns 0, -EINVAL, -EOPNOTSUPP, or -EPERM for a Q_Key that needs
 * CAP_NET_RAW. */
int uv_modify_qp_args(const struct uv_req *req, struct ib_uverbs_modify_qp *in);
/* The QP holds references to the PD, CQs and SRQ in qp->cap, each in its slot. */
enum { UV_HELD_PD, UV_HELD_SEND_CQ, UV_HELD_RECV_CQ, UV_HELD_SRQ };
int uv_qp_hold(struct uv_obj *qp);
/* Completes the creation of a CQ or QP: makes it a source of events and writes the response. */
int uv_cq_ready(struct uv_req *req, const struct ib_uverbs_ex_create_cq *core, uint32_t cqe, const void *drv,
		size_t drv_size);
int uv_qp_ready(struct uv_req *req, uint32_t qpn, const void *drv, size_t drv_size);
/* Write the responses of QUERY_DEVICE, MODIFY_QP and QUERY_QP; the last adds qp->cap. */
int uv_device_queried(struct uv_req *req, const struct ib_uverbs_query_device_resp *base, const void *drv,
		      size_t drv_size);
int uv_qp_queried(struct uv_req *req, struct ib_uverbs_query_qp_resp *resp);
int uv_qp_modified(struct uv_req *req, uint8_t state);
uv_command uv_create_channel;
/* Linux, ib_check_mr_access: 0 or -EINVAL. */
int uv_check_access(uint64_t access);
/* Checks the range of a memory registration. Returns 0, -EINVAL or -EFAULT. */
int uv_pin(uint64_t start, uint64_t len, uint64_t access);
/* Checks the memory of a queue, which may have no bytes, and its doorbell record. */
int uv_pin_queue(uint64_t addr, uint64_t bytes, uint64_t record, uint64_t access);
uv_command uv_destroy;				/* destroys the object that the command names */

/* ---- Functions of devx.c and devx_event.c */
/* Runs one PRM command of the program: -EREMOTEIO if the device refuses, with the reason in out. */
int uv_devx_exec(struct uv_ctx *ctx, struct ib_uverbs_attr *in, void *out, size_t outlen);
bool uv_devx_is_query(struct uv_ctx *ctx, uint32_t handle, const struct ib_uverbs_attr *in);
int uv_devx_destroy(struct uv_obj *obj);
/* Delivers an event of the device. Needs the event lock. */
void uv_devx_notify(struct uv_device *dev, uint8_t event, uint32_t number, const uint8_t *eqe);
void uv_devx_leave(struct uv_ctx *ctx);		/* closes the context's DEVX channels */
/* To be called when the program has closed the descriptor with this identity. */
void uv_devx_closed(struct uv_device *dev, const struct stat *st);
bool uv_devx_any(void);				/* has the process had a DEVX channel? */
int uv_devx_read(struct uv_device *dev, const struct stat *st, size_t *n);	/* see uv_before_read */

/* ---- Commands of a ConnectX in context.c, mr.c, cq*.c, srq.c and qp*.c */
uv_command uv_get_context, uv_query_device, uv_query_port, uv_alloc_pd, uv_create_ah;
uv_command uv_reg_mr, uv_rereg_mr, uv_alloc_mw;
uv_command uv_create_cq, uv_resize_cq, uv_modify_cq;
uv_command uv_create_srq, uv_modify_srq, uv_query_srq;
uv_command uv_create_qp, uv_modify_qp, uv_query_qp;
void uv_destroy_uctx(struct uv_ctx *ctx);	/* ends the user context, if there is one */

/* ---- Methods of a ConnectX by ioctl, in the same files, mlx5.c and devx*.c; they return 0 or -errno */
typedef int uv_method(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr);
uv_method uv_query_context, uv_alloc_async_fd, uv_query_pd, uv_query_mr;
uv_method uv_create_cq_ioctl, uv_create_srq_ioctl, uv_create_qp_ioctl;
uv_method uv_alloc_uar, uv_free_uar;
uv_method uv_devx_general, uv_devx_query_eqn, uv_devx_query_uar;
uv_method uv_devx_obj_create, uv_devx_obj_modify, uv_devx_obj_query, uv_devx_obj_destroy;
uv_method uv_umem_reg, uv_umem_dereg;
uv_method uv_alloc_event_fd, uv_alloc_cmd_fd, uv_devx_subscribe, uv_devx_query_async;

#endif
