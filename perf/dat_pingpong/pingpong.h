/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages between client and server of dat_pingpong: fixed structures, which data may follow.
 * Both ends need the same byte order.
 */
#ifndef PINGPONG_H
#define PINGPONG_H

#include "perf/common/consumer.h"
#include "perf/common/stats.h"

enum { PP_VERSION = 1, PP_RECVS = 4, PP_MAX_DATA = 1 << 20 };

enum pp_op {
	/* the request has the round's data; the answer has the round's data made with the server's
	 * seed */
	PP_ECHO,
	PP_CHECK_WRITE,		/* the client wrote the round's data: verify and wipe it */
	PP_FILL_READ,		/* put the round's data where the client will read it */
	PP_WRITE_WINDOW,	/* write the round's data through rmr_context */
	/* write through an rmr_context that was revoked: the write must fail and break the
	 * connection */
	PP_WRITE_REVOKED,
	PP_ANSWER = 6,
};

struct pp_msg {
	uint32_t op;
	uint32_t good;		/* in an answer: the request succeeded */
	uint64_t round;
	uint64_t addr;		/* address of the window */
	uint32_t rmr_context;
	uint32_t len;
};

struct pp_hello {		/* private data that the client sends */
	uint32_t version;
	uint32_t len;
	uint64_t seed;
};

struct pp_memory {		/* private data that the server sends: the address of its memory */
	uint64_t addr;		/* target of the writes; the source of the reads is at addr + len */
	uint32_t rmr_context;
	uint32_t version;
};

struct pp_options {
	const char *ia, *host;
	uint64_t port, rounds, seed;	/* rounds 0: endless */
	uint32_t len;
	bool port_given, server, both, blocking, quiet;
};

struct pp {
	struct consumer c;
	struct region send, recv;	/* recv: PP_RECVS slots of slot bytes */
	size_t slot;
	uint32_t len;
	uint64_t seed;
};

/* functions of pp.c */
int pp_open(struct pp *p, const char *ia, uint32_t len, bool blocking);
int pp_post_recvs(struct pp *p);
/* Sends msg and the len bytes that follow it in p->send.buf. Waits for the completion. */
int pp_send(struct pp *p, const struct pp_msg *msg, uint32_t data);
/* Waits for the next message and its data. The slot stays valid until pp_release. */
int pp_receive(struct pp *p, struct pp_msg *msg, void **data, unsigned int *slot);
int pp_release(struct pp *p, unsigned int slot);
/* Posts one RDMA request and waits for it. -1: posting failed or the connection ended. */
int pp_rdma(struct pp *p, bool read, struct region *local, uint64_t addr, uint32_t rmr_context,
	    DAT_DTO_COMPLETION_STATUS *status);
void pp_close(struct pp *p);
void pp_print_attributes(struct pp *p);
/* Reports that the connection ended unexpectedly. Always returns 1, for use as the exit status. */
int pp_lost(struct pp *p, const char *where);

/* functions of client.c and server.c: they return the exit status */
int pp_client(const struct pp_options *o);
int pp_server(const struct pp_options *o);

#endif
