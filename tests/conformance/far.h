/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The other end in its own process, here or, if conform_options.host names a host that runs `dat_conform
 * --serve`, there. It executes orders from a socket: an order is three numbers, its answer two, all
 * big-endian.
 */
#ifndef TESTS_CONFORM_FAR_H
#define TESTS_CONFORM_FAR_H

#include "tests/conformance/fixture.h"

enum far_order {
	FAR_ACCEPT,		/* accepts the next request, with this many bytes of private data */
	FAR_REJECT,
	FAR_HANDOFF,		/* to this qualifier: the code */
	FAR_EVENT,		/* waits for the next connection event: its number */
	FAR_RECV,		/* posts: offset, length */
	FAR_RECEIVED,		/* waits for the completion: status, length */
	FAR_SEND,		/* offset, length; waits for the completion: status */
	FAR_FILL,		/* all memory with this byte */
	FAR_BYTE,		/* at offset: its value */
	FAR_LEAVE,		/* disconnects abruptly */
};

struct far_end {
	int sock;
	struct th_child child;		/* of this host */
	DAT_CONN_QUAL qual;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VADDR mem;			/* MEM bytes */
	DAT_SOCK_ADDR address;
};

/* Before any IA is opened here. */
void far_open(struct far_end *f);
void far_close(struct far_end *f);		/* its process ends, whatever it is doing */
void far_kill(struct far_end *f);		/* by SIGKILL, where it is on this host */
uint64_t far_ask(struct far_end *f, enum far_order order, uint64_t a, uint64_t b, uint64_t *second);
/* Serves every client, each in its own process. Returns only on failure. */
int far_serve(void);

#endif
