/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bad input: every call as a row that a loop can call with an array of values, and a good value for each
 * of its parameters. The rows are generated from the prototypes of the headers (calls.awk), so that no
 * call and no parameter is missing.
 */
#ifndef TESTS_CONFORM_BAD_H
#define TESTS_CONFORM_BAD_H

#include "tests/conformance/fixture.h"

#define MAX_ARGS 11

union value {
	void *ptr;			/* value of a handle or pointer */
	uint64_t n;			/* value of an integer, enum or mask */
	DAT_CONTEXT context;
	DAT_REGION_DESCRIPTION region;
	DAT_OS_WAIT_PROXY_AGENT agent;
};

enum direction { ARG_IN, ARG_OUT, ARG_INOUT };

struct param {
	/* type: for a pointer argument also the type of its target */
	const char *name, *type;
	enum direction direction;
	bool points;
};

struct call {
	const char *name, *page;
	DAT_RETURN (*make)(const union value *v);
	const struct param *params;
	unsigned int n_params;
	const char *codes;		/* return codes on the page, separated by blanks */
};

/* ---- bad_world.c: one object of each type, and good arguments ---- */

enum kind { IA, PZ, EVD, SOFT_EVD, CR_EVD, CONN_EVD, EP, LMR, RMR, PSP, RSP, CR, CNO, SRQ, KINDS };

struct world {
	struct side s;
	DAT_HANDLE handle[KINDS];
	/* if true, two endpoints are connected to each other */
	DAT_EP_HANDLE idle, reserved, dialler, up[2];
	DAT_CONN_QUAL reserved_qual;
	DAT_EP_ATTR ep_attr;
	DAT_EP_PARAM ep_param;
	DAT_SRQ_ATTR srq_attr;
	DAT_EVENT event;
	DAT_LMR_TRIPLET iov[64];
	DAT_RMR_TRIPLET remote;
	DAT_PROVIDER_INFO info, infos[64], *list[64];
	DAT_PROVIDER provider;
};

/* Makes one object of each type. i: number of this set; each set listens on qualifiers of its own. */
void world_make(struct world *w, int i);
/* Frees the objects one by one, then closes the IA gracefully. Checks that no object is missing or left
 * over. */
void world_free(struct world *w);
void world_drop(struct world *w);		/* frees the objects that are left, in any state */

extern const char *const kind_names[KINDS];
/* Does the parameter accept a handle of that kind? */
bool kind_fits(const struct param *p, enum kind kind);

/* A buffer for an OUT argument. If a call writes to it, its content must change. */
#define OUT_SIZE 2048
union room {
	unsigned char bytes[OUT_SIZE];
	uint64_t aligned;
};
void good_values(struct world *w, const struct call *c, union room *room, union value *v);
/* The results that a call with only good values may have, if others than SUCCESS are permitted. */
bool is_good_code(const struct call *c, DAT_RETURN ret);
/* Called before and after a call with only good values: prepares the call, and frees the objects that
 * the call has created in addition. */
void good_begin(struct world *w, const struct call *c);
void good_end(struct world *w, const struct call *c, const union value *v, DAT_RETURN ret);

#endif
