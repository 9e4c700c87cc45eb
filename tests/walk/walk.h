/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_walk: random calls, an executable model of DAT that judges them, and the data that both
 * use. */
#ifndef TESTS_WALK_WALK_H
#define TESTS_WALK_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include <dat/udat.h>

#include "tests/walk/prelude.h"

enum op {
#define CALL(name, args, ...) name,
#include "tests/walk/calls.inc"
#undef CALL
	OPS
};

enum { ARGS = 10, MAX_CALLS = 4000 };
enum { PATIENCE_MS = 20000, SHRINK_PATIENCE_MS = 500, FAULTS_PATIENCE_MS = 2000 };

/* time limit for an event that must come */
extern int patience_ms;

/*
 * When a process is stopped: the other one for a moment after the call has begun; then the caller, while the
 * other one runs; or the other one for longer than an attempt to connect may take.
 */
enum pause { NO_PAUSE, OTHER_STOPS, TURNS, LONG_STOP };

/* background: the walk continues before the call returns. fail: the allocation that fails; 0: none. */
struct call {
	uint8_t op, proc, thread, background, pause, fail;
	int a[ARGS];
};

extern const char *const op_names[OPS];
extern const char *const op_args[OPS];

/* ---- model.c: the rules of DAT ---- */

struct model;

struct model *model_new(const struct shared *s);
void model_free(struct model *m);
/* May this call be made? A call is left out if DAT does not define its result, or if it would wait
 * for ever. */
bool model_may(const struct model *m, const struct call *c);
/* Sets the time limits of a call, which begins now. */
void model_plan(struct model *m, struct call *c);
/* The process has died. */
void model_die(struct model *m, int process);
/* Judges the outcome of a call. False: a mismatch, which model_why() describes. */
bool model_judge(struct model *m, const struct call *c, const struct outcome *o);
bool model_judge_memory(struct model *m);
const char *model_why(const struct model *m);
/* Returns a wrong byte that the printed program can check. False: the mismatch is something else. */
bool model_wrong_byte(const struct model *m, int *process, int *at, int *value);
/* Records that a background wait has begun. */
void model_begin_wait(struct model *m, const struct call *c);
/* Must the background wait at this EVD return now? */
bool model_waiter_due(const struct model *m, const struct call *c);

/* ---- Queries for the choice of calls ---- */

enum kind { NONE, IA, PZ, EVD, CNO, LMR, RMR, EP, PSP, CR, KINDS };

enum kind model_kind(const struct model *m, int process, int slot);
bool model_live(const struct model *m, int process, int slot);
/* Returns the number of events that must come at an EVD. */
int model_events(const struct model *m, int process, int slot);
/*
 * Returns a bit mask of the states that an endpoint may have, and the process and slot of its peer.
 */
unsigned model_states(const struct model *m, int process, int slot, int peer[2]);
/* Returns true if an adapter may still carry out a request. */
bool model_requests_out(const struct model *m);
/* Returns the range of an LMR. */
void model_range(const struct model *m, int process, int slot, int *off, int *len);
int model_evd_flags(const struct model *m, int process, int slot);
bool model_waiting(const struct model *m, int process, int slot);

/* ---- agent.c: the processes and threads that make the calls ---- */

struct agents;

struct agents *agents_start(struct shared *s);
void agents_stop(struct agents *a);
void agent_send(struct agents *a, const struct call *c);
void agent_kill(struct agents *a, int process);
/* Returns 0; 1 if a freed object's handle was given again, so that the call was not made; or a
 * negative number with the reason. */
int agent_receive(struct agents *a, const struct call *c, struct outcome *o, int limit_ms,
		  const char **why);

/* ---- faults.c ---- */

/* Sets DAT_OVERRIDE to a copy of its file in which this adapter has faults of packets. Returns its additional
 * parameters. */
const char *faults_begin(const char *ia, uint64_t seed);

/* ---- choose.c, print.c ---- */

struct chooser {
	uint64_t random;
	int next[PROCS]; /* the next free slot of each process */
	int cookie;
	bool faults, pauses;
	bool slow;         /* a process stops for long when a connection is accepted */
	int death;         /* number of calls before a process dies */
};

/* Returns call i of those that every walk begins with; false after the last. */
bool world_call(int i, struct call *c);

void choose(struct chooser *ch, const struct model *m, struct call *c);
/* params: the additional parameters of the adapter, or NULL */
void print_program(const char *path, const struct shared *s, const struct call *calls, int n,
		   const char *why, const char *outcome, const struct model *m, const char *params);

#endif
