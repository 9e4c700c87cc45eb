/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model of DAT, written from the pages of uDAPL 1.2. Where the pages leave a result open, the model
 * has a set of possible states of an endpoint, and a set of possible results of a transfer. Each
 * observation reduces the sets.
 */
#ifndef TESTS_WALK_MODEL_H
#define TESTS_WALK_MODEL_H

#include "tests/walk/walk.h"

enum { MAX_WORK = 64, MAX_EVENTS = 64 };
enum work_kind { SEND, WRITE, READ, BIND, RECV, GONE };

/* A post whose completion has not been dequeued. */
struct work {
	enum work_kind kind;
	bool done;        /* the completion comes without any further call */
	bool silent;      /* a success has no event */
	bool cause;       /* a failure ends the connection */
	bool visible;     /* WRITE: a later message has arrived, so this write has arrived */
	bool maybe;       /* the completion may have come already, see model.eager */
	bool reported;    /* the completion has come before that of an earlier send */
	uint32_t allowed; /* bit mask of statuses */
	int cookie, lmr, n, off, len;
	int process, slot, at; /* RDMA: process, slot and offset of the target; BIND: slot of the RMR */
	int length;            /* RECV: length of the message; -1: unknown */
	int from_cookie;       /* RECV: cookie of the sender's post */
	uint8_t *data;         /* the transferred bytes */
};

struct queue {
	struct work w[MAX_WORK];
	int n;
	bool failed;
};

/* An event that an endpoint's connection will have. If it may be ESTABLISHED or another, a further event
 * comes only after ESTABLISHED. */
struct conn_event {
	uint32_t allowed; /* bit mask of the event numbers that may come, apart from the stream's own */
	int private_size; /* size of the private data of ESTABLISHED; other events have none */
};

enum { TO_RECV, TO_REQUEST, TO_CONNECT };

struct obj {
	enum kind kind;
	int process, slot;
	bool live;
	int users;          /* number of objects that must be freed before this one */
	int64_t context;    /* the consumer's context */
	int pz, lmr;        /* RMR: the LMR to which the RMR is bound */
	int off, len, priv; /* LMR and RMR: range and rights */
	int64_t lmr_key, rmr_key;
	bool unsure, binding; /* RMR: a bind has failed, so its state is unknown; a bind is outstanding */
	int bound_by;         /* RMR: the endpoint of its last bind */
	/* fields of an EVD */
	int qlen, flags, cno, se[MAX_EVENTS], se_n;
	bool disabled, unwaitable, waiting, triggered;
	bool freed;		/* an endpoint has been freed since the wait began */
	/* fields of an EP, a PSP or a CR */
	unsigned states;
	int evd[3], peer_process, peer, dtos, qual;
	bool ended;
	bool late; /* a transfer has failed, but no failed completion has been dequeued yet */
	int64_t accepted; /* time of the call of dat_cr_accept for this connection */
	struct queue *recv, *request;
	struct conn_event conn[4];
	int conn_n;
	/* PSP: requests whose event has not been dequeued. CR: its peer */
	struct {
		int process, ep, private_size;
	} crs[8];
	int crs_n;
	bool aborted;
};

struct model {
	const struct shared *s;
	bool eager; /* a send may complete before the peer has posted a receive */
	bool lossy; /* packets are lost, so a request may be flushed although the peer has executed it */
	bool dead[PROCS];
	int64_t begun; /* time at which the last call began */
	struct obj objs[PROCS][SLOTS];
	uint8_t shadow[PROCS][BYTES];
	uint8_t busy[PROCS][BYTES]; /* number of outstanding transfers that use each byte */
	bool unknown[PROCS][BYTES];
	char why[400];
	int bad_process, bad_at; /* process and offset of a wrong byte; bad_at -1: there is none */
};

/* The errors of which a call must return one, and those that it may return. */
struct verdict {
	uint32_t must, can;
};

#define STATE(name)  (1u << DAT_EP_STATE_##name)
#define STATUS(name) (1u << DAT_DTO_##name)
#define CONN(name)   (1u << (DAT_CONNECTION_EVENT_##name & 0xf))
#define ERR(name)    (1u << (DAT_##name >> 16))

static inline struct obj *at(struct model *m, int process, int slot)
{
	return slot < 0 || slot >= SLOTS ? NULL : &m->objs[process][slot];
}

/* Returns NULL if there is no live object of that type. */
static inline struct obj *find(const struct model *m, int process, int slot, enum kind kind)
{
	struct obj *o = at((struct model *)m, process, slot);

	return o && o->live && o->kind == kind ? o : NULL;
}

/* functions of model_data.c: transfers and memory */
void fill_shadow(struct model *m, const struct call *c, int n, int off, int len, int cookie);
void queue_work(struct model *m, int process, struct obj *ep, struct queue *q, const struct work *w);
void drop_work(struct model *m, int process, struct queue *q);
void complete_work(struct model *m, int process, const struct obj *ep, struct queue *q, struct work *w,
		   DAT_DTO_COMPLETION_STATUS status);
bool uses_lmr(const struct model *m, int process, int slot);
bool key_again(const struct model *m, int process, int slot, bool remote);
bool request_may(const struct model *m, const struct obj *ep);
bool post_may(const struct model *m, const struct call *c);
int evd_load(const struct model *m, int process, int evd);

/* functions of model_end.c: the end of a connection, an attempt or a process */
void end_connection(struct model *m, int process, struct obj *ep, uint32_t here, uint32_t there,
		    bool abrupt);
void end_twice(struct model *m, struct obj *ep);
bool may_fail_to_connect(const struct obj *ep);
void fail_to_connect(struct model *m, struct obj *ep);
void let_attempts_time_out(struct model *m);

/* functions of model_event.c: events */
bool mismatch(struct model *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
void count_events(const struct model *m, int process, int evd, int *certain, int *possible);
/* dat_ep_free(3): completions of an endpoint that are not dequeued may still come, or not. */
bool came_before_free(const struct model *m, const struct call *c, const struct obj *evd,
		      const struct outcome *o);
bool judge_event(struct model *m, const struct call *c, struct obj *evd, const struct outcome *o);
void end_late(struct model *m, struct obj *ep);
struct obj *peer_of(struct model *m, const struct obj *ep);

/* functions of model.c and model_conn.c */
bool succeeded(struct model *m, const struct verdict *v, const struct outcome *o);
struct obj *need(struct model *m, const struct call *c, int arg, enum kind kind, struct verdict *v);
void need_state(struct verdict *v, const struct obj *ep, unsigned states);
bool same(struct model *m, const struct outcome *o, int i, int64_t expected, const char *what);
struct obj *make(struct model *m, const struct call *c, int arg, enum kind kind);
void use(struct model *m, int process, int slot, int delta);
void judge_ep_create(struct model *m, const struct call *c, const struct outcome *o);
void judge_ep_free(struct model *m, const struct call *c, const struct outcome *o);
void judge_ep_query(struct model *m, const struct call *c, const struct outcome *o);
void judge_ep_status(struct model *m, const struct call *c, const struct outcome *o);
void judge_ep_reset(struct model *m, const struct call *c, const struct outcome *o);
void judge_connect(struct model *m, const struct call *c, const struct outcome *o);
void judge_disconnect(struct model *m, const struct call *c, const struct outcome *o);
void judge_psp_create(struct model *m, const struct call *c, const struct outcome *o);
void judge_psp_query(struct model *m, const struct call *c, const struct outcome *o);
void judge_cr_query(struct model *m, const struct call *c, const struct outcome *o);
void judge_accept(struct model *m, const struct call *c, const struct outcome *o);
void judge_reject(struct model *m, const struct call *c, const struct outcome *o);
void judge_post(struct model *m, const struct call *c, const struct outcome *o);
struct obj *listener(const struct model *m, int qual);
bool end_may(const struct model *m, const struct obj *ep);

#endif
