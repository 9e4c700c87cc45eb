/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of the preload that shows stock rdma-core a uverbs device. It stands where the kernel's
 * mlx5_ib stands: uverbs commands come in by ioctl, PRM commands go out to the device, the data
 * path passes by. It sees nothing of the device but softnic.h.
 *
 * Locks, outermost first: the registry's, a device's, (inside of softnic: the model's), a device's
 * event lock. The event lock is all that the interrupt handler takes, so it is never held around a
 * call of softnic.
 */
#ifndef SOFTNIC_UVERBS_FRONT_H
#define SOFTNIC_UVERBS_FRONT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "softnic/softnic.h"
#include "softnic/uverbs/prm.h"

enum {
	UV_MAJOR = 231,			/* of /dev/infiniband/uverbsN */
	UV_MINOR = 192,
	UV_DEVICES = 16,
	UV_HASH = 256,
	UV_EQ_LOG = 12,
	UV_ASYNC_RECORD = sizeof(struct ib_uverbs_async_event_desc),
	UV_COMP_RECORD = sizeof(struct ib_uverbs_comp_event_desc),
};

struct uv_device;

/* A stream of event records: the program reads one end of a pipe. (chan.c) */
struct uv_chan {
	LIST_ENTRY(uv_chan) link;
	unsigned int refs;		/* context or CQs */
	int wr;
	size_t record;
	dev_t dev;
	ino_t ino;
};

/* One open() of the device. */
struct uv_ctx {
	LIST_ENTRY(uv_ctx) link;
	struct uv_device *dev;
	int fd;				/* as the program knows it */
	struct uv_chan *async;		/* NULL until GET_CONTEXT */
};

enum uv_type { UV_PD = 1, UV_MR, UV_MW, UV_CQ, UV_QP, UV_UAR, UV_AH };

struct uv_obj {
	enum uv_type type;
	uint32_t handle;
	uint32_t number;		/* the device's: PD, mkey index, CQN, QPN, UAR page */
	struct uv_ctx *ctx;
	unsigned int users;		/* objects that hold this one */
	struct uv_obj *held[3];		/* PD and CQs that this one holds */
	uint64_t user_handle;

	/* sources of events */
	LIST_ENTRY(uv_obj) by_number;
	struct uv_chan *chan;
	uint32_t comp_events, async_events;	/* delivered and not taken back */

	/* of a QP */
	uint8_t state;			/* enum ib_qp_state */
	struct ib_uverbs_ex_create_qp cap;	/* as asked for, for QUERY_QP */
};

struct uv_eq {
	uint8_t *buf;
	uint32_t eqn, uar, ci;
	bool ready;
};

struct uv_device {
	pthread_mutex_t lock;
	struct softnic *nic;
	unsigned int index;
	bool detached;			/* this process is a child of the one that has the device */
	struct uv_device *lost;		/* next detached one */
	int bar_fd;
	dev_t bar_dev;
	ino_t bar_ino;
	uint8_t cap[4096], roce[4096];	/* QUERY_HCA_CAP */
	uint8_t next_key;
	struct uv_eq eq;

	struct uv_obj **obj;		/* by handle; 0 is nobody's */
	uint32_t nobj, obj_hint;
	LIST_HEAD(, uv_ctx) ctxs;

	pthread_mutex_t ev_lock;
	LIST_HEAD(, uv_obj) cq_hash[UV_HASH], qp_hash[UV_HASH];
	LIST_HEAD(, uv_chan) chans;
	bool port_down;
};

/* One uverbs command as INVOKE_WRITE carries it. Lengths are what the program claims. */
struct uv_req {
	struct uv_ctx *ctx;
	struct uv_device *dev;
	const void *in, *uhw_in;
	void *out, *uhw_out;
	size_t in_len, out_len, uhw_in_len, uhw_out_len;
};

/* ---- device.c: the registry of this process's devices */
unsigned int uv_device_count(void);		/* SOFTNIC_DEVICES; how many there could be */
int uv_open_device(unsigned int index);		/* a new fd, or -errno */
struct uv_device *uv_device_of(const struct stat *st);
struct uv_ctx *uv_ctx_of(struct uv_device *dev, int fd);
bool uv_any_device(void);		/* in this process or in the one it was forked from */
void uv_ctx_close(struct uv_ctx *ctx);
void uv_pump(void);
void uv_report(void);
bool uv_asked(const char *variable);		/* is it 1? */

/* ---- command.c: PRM commands */
int uv_cmd(struct uv_device *dev, const void *in, size_t inlen, void *out, size_t outlen);
int uv_cmd_number(struct uv_device *dev, enum prm_opcode opcode, uint32_t number, void *out,
		  size_t outlen);
/* CREATE_x: the number that the device gave. in starts zeroed but for its context. */
int uv_create(struct uv_device *dev, enum prm_opcode opcode, void *in, size_t inlen,
	      uint32_t *number);
/* A zeroed CREATE_x with room for pages; free() it. */
uint8_t *uv_create_alloc(size_t npages, size_t *len);
/* flags: the rights in the low bits of an MTT, 0 for a queue's page list. */
void uv_fill_pages(uint8_t *list, uint64_t addr, size_t npages, unsigned int shift,
		   uint64_t flags);
size_t uv_pages(uint64_t addr, uint64_t len, unsigned int shift);
int uv_query_caps(struct uv_device *dev);
static inline uint32_t uv_cap(const struct uv_device *dev, struct sn_fld f)
{
	return sn_get(dev->cap, f);
}

struct uv_gid {
	uint8_t raw[16], mac[6];
	uint8_t version;
};
int uv_query_gid(struct uv_device *dev, unsigned int index, struct uv_gid *gid); /* -ENODATA */
unsigned int uv_gid_count(const struct uv_device *dev);

/* ---- object.c */
struct uv_obj *uv_obj_new(struct uv_ctx *ctx, enum uv_type type);
/* NULL when there is none of this type, or another context's. */
struct uv_obj *uv_obj_find(struct uv_ctx *ctx, enum uv_type type, uint32_t handle);
void uv_obj_hold(struct uv_obj *obj, unsigned int slot, struct uv_obj *held);
void uv_obj_free(struct uv_obj *obj);
/* Destroys it at the device as well: 0, -EBUSY, -errno of the command. */
int uv_obj_destroy(struct uv_obj *obj);
void uv_obj_purge(struct uv_ctx *ctx);

/* ---- chan.c: the list of channels changes under both locks */
int uv_chan_new(struct uv_device *dev, size_t record, int *fd, struct uv_chan **chan);
struct uv_chan *uv_chan_find(struct uv_device *dev, int fd);
void uv_chan_put(struct uv_chan *chan);		/* under the event lock */
bool uv_chan_abandoned(const struct uv_chan *chan);
/* Under the event lock. False: full or closed, the record is lost. */
bool uv_chan_send(struct uv_chan *chan, const void *record);
/* Takes back what the program has not read and matches; returns how many records. */
unsigned int uv_chan_recall(struct uv_chan *chan,
			    bool (*match)(const void *record, const void *arg), const void *arg);

/* ---- event.c */
int uv_eq_create(struct uv_device *dev);
void uv_irq(void *ctx, unsigned int vector);
void uv_source_add(struct uv_obj *obj);
/* Ends delivery and takes unread events back; the counts of obj are then final. */
void uv_source_remove(struct uv_obj *obj);

/* ---- ioctl.c and write.c: 0 or -errno */
int uv_ioctl(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr);
int uv_write(struct uv_req *req, uint32_t command);
/* Copies what both sides know; the rest of dst is zero. */
void uv_copy_in(void *dst, size_t size, const void *src, size_t len);
void uv_copy_out(void *dst, size_t len, const void *src, size_t size);

/* ---- the commands: context.c, mr.c, cq.c, qp.c, qp_modify.c */
int uv_get_context(struct uv_req *req);
int uv_query_device(struct uv_req *req);
int uv_query_device_ex(struct uv_req *req);
int uv_query_port(struct uv_req *req);
int uv_alloc_pd(struct uv_req *req);
int uv_dealloc_pd(struct uv_req *req);
int uv_create_ah(struct uv_req *req);
int uv_destroy_ah(struct uv_req *req);
int uv_reg_mr(struct uv_req *req);
int uv_dereg_mr(struct uv_req *req);
int uv_alloc_mw(struct uv_req *req);
int uv_dealloc_mw(struct uv_req *req);
int uv_create_channel(struct uv_req *req);
int uv_create_cq(struct uv_req *req);
int uv_create_cq_ex(struct uv_req *req);
int uv_destroy_cq(struct uv_req *req);
int uv_create_qp(struct uv_req *req);
int uv_create_qp_ex(struct uv_req *req);
int uv_destroy_qp(struct uv_req *req);
int uv_modify_qp(struct uv_req *req);
int uv_query_qp(struct uv_req *req);
int uv_uar_alloc(struct uv_ctx *ctx, struct uv_obj **uar);
void uv_rmac_of(const uint8_t gid[16], uint8_t mac[6]);

/* ---- real.c: the C library's own functions, past our names for them */
int uv_real_open(const char *path, int flags, mode_t mode);
int uv_real_stat(const char *path, struct stat *st);
int uv_real_fstat(int fd, struct stat *st);
int uv_real_access(const char *path, int mode);
int uv_real_close(int fd);
int uv_real_ioctl(int fd, unsigned long request, void *arg);
int uv_real_socket(int domain, int type, int protocol);
int uv_real_spin_unlock(pthread_spinlock_t *lock);

#endif
