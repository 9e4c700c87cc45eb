/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The peer side in a process of its own. That runs on this host, or where `dat_conform --serve`
 * runs if conform_options.host names a host. It executes orders that come through a socket: an
 * order has three numbers, its answer two, all big-endian.
 */
#ifndef TESTS_CONFORM_FAR_H
#define TESTS_CONFORM_FAR_H

#include "tests/conformance/fixture.h"

enum far_order {
	/* accepts the next request; argument: number of bytes of private data */
	FAR_ACCEPT,
	FAR_REJECT,
	/* hands the request off to this qualifier; answer: the return code */
	FAR_HANDOFF,
	FAR_EVENT,		/* waits for the next connection event; answer: its number */
	FAR_RECV,		/* posts a receive; arguments: offset and length */
	/* waits for the completion of that receive; answer: status and length */
	FAR_RECEIVED,
	/* sends and waits; arguments: offset and length; answer: the status */
	FAR_SEND,
	FAR_FILL,		/* fills all memory with a byte */
	FAR_BYTE,		/* answer: the byte at this offset */
	FAR_LEAVE,		/* disconnects abruptly */
};

struct far_end {
	int sock;
	struct th_child child;		/* the process, if it is on this host */
	DAT_CONN_QUAL qual;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VADDR mem;			/* address of its memory, MEM bytes */
	DAT_SOCK_ADDR address;
};

/* To be called before any IA is opened in this process. */
void far_open(struct far_end *f);
void far_close(struct far_end *f);		/* ends its process, at any point */
/* kills its process by SIGKILL, if it is on this host */
void far_kill(struct far_end *f);
uint64_t far_ask(struct far_end *f, enum far_order order, uint64_t a, uint64_t b, uint64_t *second);
/* Serves every client, each in a process of its own. Returns only on failure. */
int far_serve(void);

#endif
