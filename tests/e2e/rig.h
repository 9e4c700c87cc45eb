/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Consumers of the software ConnectX, through libdat only. An `end` is an IA with an endpoint and
 * registered memory; two of them make a connection, in one process or in two.
 *
 * By default the adapter is opened with strict=1: the process aborts in dat_ia_close() if the device has
 * reported a violation by the driver.
 *
 * DAPL_TEST_IA names another adapter, such as softnic-run's. RIG_PARAMS in the environment adds
 * ia_params for all, and RIG_THREADSAFE=1 opens the IAs threadsafe: tests/sh/e2e-variants.sh.
 */
#ifndef TESTS_E2E_RIG_H
#define TESTS_E2E_RIG_H

#include <criterion/criterion.h>
#include <dat/udat.h>

#include "tests/harness/harness.h"

#define SOON_MS 20000		/* only guards against hangs */
#define A_SECOND 1000		/* in ms of th_watch: time within which a death must be noticed */

#define FLUSHED DAT_DTO_ERR_FLUSHED
#define SUPPRESS DAT_COMPLETION_SUPPRESS_FLAG
#define RIGHTS_RW (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/*
 * A test between setup() and teardown() of its file. They are not .init and .fini of Criterion: that
 * only warns if one of them crashes, as strict=1 does.
 */
#define RIG_TEST(suite, name)                                                                      \
	static void name##_body(void);                                                             \
	Test(suite, name)                                                                          \
	{                                                                                          \
		setup();                                                                           \
		name##_body();                                                                     \
		teardown();                                                                        \
	}                                                                                          \
	static void name##_body(void)

/* ---- Features that an adapter may lack; the test is then skipped ---- */

/* Skips the test if the attribute has this value. what: the feature that is missing. */
void rig_skip_if(const char *name, const char *value);
/* Skips the test unless the provider supports SRQs (srq_supported). */
void rig_needs_srq(void);
/* Skips the test unless sends complete only when the peer's consumer has them, and not when its adapter
 * has them. */
void rig_needs_end_to_end(void);
/* Returns true if a send completes when the peer's adapter has the message. Tests then check the
 * guarantees of such an adapter. */
bool rig_sends_end_near(void);
/* Skips the test unless window contexts repeat only after a stated number of binds. */
void rig_needs_fresh_contexts(void);

/* ---- Checks; in the second process a failure ends it with status 2 ---- */

void rig_expect(DAT_RETURN got, DAT_RETURN type, const char *what, const char *file, int line);
void rig_expect_code(DAT_RETURN got, DAT_RETURN code, const char *what, const char *file, int line);
void rig_check(bool ok, const char *what, const char *file, int line);
void rig_same(uint64_t got, uint64_t want, const char *what, const char *file, int line);

#define must(call) rig_expect((call), DAT_SUCCESS, #call, __FILE__, __LINE__)
#define must_fail(call, type) rig_expect((call), (DAT_RETURN)(type), #call, __FILE__, __LINE__)
#define must_code(call, type, sub)                                                                 \
	rig_expect_code((call), DAT_CLASS_ERROR | (DAT_RETURN)(type) | (DAT_RETURN)(sub), #call,   \
			__FILE__, __LINE__)
#define check(cond) rig_check((cond), #cond, __FILE__, __LINE__)
#define same(got, want) rig_same((uint64_t)(got), (uint64_t)(want), #got " is " #want, __FILE__, __LINE__)

/* ---- Ends ---- */

struct end {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, cr_evd, conn_evd, recv_evd, req_evd;
	DAT_EP_HANDLE ep;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;		/* the qualifier, once the end listens */
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	char *mem;
	size_t len;
};

#define RIG_DTOS 32
#define RIG_MEM 65536

/* True if the adapter is the software ConnectX of this process. */
bool rig_model(void);
/* Sets the ia_params of all IAs that this process opens. Call it before the first open. */
void rig_conf(const char *params);
DAT_EP_ATTR rig_attr(void);
DAT_RETURN rig_ia_open(DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia);

/* attr NULL stands for rig_attr() */
void end_open(struct end *e, size_t len, const DAT_EP_ATTR *attr);
/* creates one more endpoint on the same EVDs */
DAT_EP_HANDLE end_ep(struct end *e, const DAT_EP_ATTR *attr);
DAT_LMR_HANDLE end_lmr(struct end *e, void *mem, size_t len, DAT_MEM_PRIV_FLAGS priv,
		       DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context);
/* closes abruptly; has no effect if it is not open */
void end_close(struct end *e);
/* frees the objects in turn, then closes gracefully */
void end_free(struct end *e);

void end_listen(struct end *e);			/* listens at a qualifier of its own */
DAT_RETURN end_dial(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout);
DAT_CR_HANDLE end_request(struct end *e);
/* Connects ea of a to eb of b, and takes ESTABLISHED on both sides. b starts to listen if it does
 * not. */
void end_join(struct end *a, DAT_EP_HANDLE ea, struct end *b, DAT_EP_HANDLE eb);
/* opens two ends with RIG_MEM and rig_attr(), and joins them */
void pair_open(struct end *a, struct end *b);
void pair_close(struct end *a, struct end *b);
/* Resets both endpoints, which either side has disconnected, and joins them again. */
void pair_again(struct end *a, struct end *b);
DAT_EP_STATE end_state(DAT_EP_HANDLE ep);

/* ---- Segments and posts: offsets are in the end's memory ---- */

DAT_LMR_TRIPLET seg(const struct end *e, size_t off, size_t len);
DAT_RMR_TRIPLET far(const struct end *e, size_t off, size_t len);
DAT_RMR_TRIPLET through(DAT_RMR_CONTEXT context, const struct end *e, size_t off, size_t len);

DAT_RETURN do_recv(struct end *e, uint64_t cookie, size_t off, size_t len);
DAT_RETURN do_send(struct end *e, uint64_t cookie, size_t off, size_t len, int flags);
DAT_RETURN do_write(struct end *e, uint64_t cookie, size_t off, DAT_RMR_TRIPLET to, int flags);
DAT_RETURN do_read(struct end *e, uint64_t cookie, size_t off, DAT_RMR_TRIPLET from, int flags);
DAT_RETURN do_bind(struct end *e, DAT_RMR_HANDLE rmr, uint64_t cookie, size_t off, size_t len,
		   DAT_MEM_PRIV_FLAGS priv, DAT_RMR_CONTEXT *context);

/* Repeats a post until there is room. The device must make room by itself, because no completion is
 * dequeued. */
#define soon(post) check(TH_WITHIN(SOON_MS, rig_posted(post)))
bool rig_posted(DAT_RETURN ret);

/* ---- Events ---- */

/* If set, rig_next sleeps in dat_evd_wait() instead of polling with dat_evd_dequeue(). */
extern bool rig_sleeps;
bool rig_next(DAT_EVD_HANDLE evd, DAT_EVENT *ev, unsigned int ms);
void rig_empty(DAT_EVD_HANDLE evd);
/* Checks the next event: a DTO completion with that cookie and status. Returns its length. */
size_t took(DAT_EVD_HANDLE evd, uint64_t cookie, DAT_DTO_COMPLETION_STATUS status);
/* Checks the next event: a DTO completion with that cookie and an error status, which is returned. */
DAT_DTO_COMPLETION_STATUS took_error(DAT_EVD_HANDLE evd, uint64_t cookie);
void took_range(DAT_EVD_HANDLE evd, uint64_t first, uint64_t last, DAT_DTO_COMPLETION_STATUS status);
void took_bind(DAT_EVD_HANDLE evd, DAT_RMR_HANDLE rmr, uint64_t cookie,
	       DAT_RMR_BIND_COMPLETION_STATUS status);
void took_conn(struct end *e, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number);
/* Checks that both endpoints of a pair get the event of the end, and no other. */
void took_ends(struct end *a, struct end *b, DAT_EVENT_NUMBER number);

/* Sends a message of 5000 bytes from a to b, and checks its completions and its bytes. */
void pair_moves(struct end *a, struct end *b);

/* ---- Test data ---- */

void fill(void *mem, size_t len, uint64_t seed);
bool filled(const void *mem, size_t len, uint64_t seed);
bool all_bytes(const void *mem, size_t len, int value);

/* ---- The second process ---- */

/* Forks the second process, before any IA is opened here. A failed check ends it. */
void peer_spawn(struct th_child *child, int (*fn)(int sock, void *arg), void *arg);
/* makes a process that the test has forked itself a second process */
void rig_second(void);
/* waits until the second process ends by itself with status 0 */
void peer_done(struct th_child *child);

/* Checks that there are as many descriptors, threads and, within some slack, mappings as before. */
void usage_is_back(const struct th_usage *before, unsigned int maps_slack);

#endif
