/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Consumers that behave like published uDAPL programs: MPI libraries, benchmarks, exercisers of
 * adapters. Compiled for each API level: `programs`, and `programs2` through Debian's libdat2.
 * DAPL_TEST_IA names the adapter.
 */
#ifndef TESTS_PROGRAMS_H
#define TESTS_PROGRAMS_H

#include <criterion/criterion.h>

#include "perf/common/consumer.h"
#include "tests/harness/harness.h"

#ifdef DAP_DAT20
#define REMOTE_ADDRESS virtual_address
#else
#define REMOTE_ADDRESS target_address
#endif

#define SOON_MS 20000			/* only guards against hangs */

/* Ends the process with a message unless cond holds, also in the second process. */
void program_must(bool cond, const char *what, const char *file, int line);
#define must(cond) program_must((cond), #cond, __FILE__, __LINE__)
#define ok(call) must(dat_ok((call), #call))

/* The names in dat.conf, in this order. The first two cannot be opened. */
#define NO_LIBRARY "no-library"
#define NO_ADAPTER "no-adapter"
const char *program_ia(void);
/* Returns the name of the same adapter with write_order=relaxed. NULL: the adapter has no such
 * parameter. */
const char *program_relaxed_ia(void);

/* An IA with an endpoint, and memory that the peer may access. */
struct program {
	struct consumer c;
	struct region mem;
};

/* Data that a program sends to the other before they connect. */
struct card {
	uint64_t qual, address;
	DAT_RMR_CONTEXT context;
};

void program_open_ia(struct program *p, const char *ia, size_t bytes, const DAT_EP_ATTR *attr);
/* opens program_ia() */
void program_open(struct program *p, size_t bytes, const DAT_EP_ATTR *attr);
void program_close(struct program *p);
/* Returns the attributes of an endpoint that was created with ep_attributes NULL. */
DAT_EP_ATTR program_attr(struct program *p);
struct card program_card(const struct program *p, uint64_t qual);
/* program_dial() connects to the qualifier, program_accept() accepts a request. Both wait until the
 * connection is established. */
void program_dial(struct program *p, uint64_t qual);
void program_accept(struct program *p);
/* Connects two programs that run in this process. */
void program_join(struct program *from, struct program *to, uint64_t qual);

DAT_LMR_TRIPLET piece_of(const struct program *p, size_t at, uint32_t len);
DAT_RMR_TRIPLET place_at(const struct card *c, size_t at, uint32_t len);
DAT_DTO_COOKIE cookie_of(uint64_t n);
/* Checks that the next completion has this cookie and is a success. */
void program_completes(struct program *p, DAT_EVD_HANDLE evd, uint64_t cookie);

#endif
