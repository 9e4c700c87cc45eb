/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Statements of the uDAPL 1.2 manual pages, each a function that tests it on an IA known by name. They
 * use only <dat/udat.h>, so they can test any provider. The Criterion suite `conformance` and the
 * program dat_conform(1) run the same table of them.
 *
 * A statement runs in its own process: a failed check ends that process, and a crash or a hang only
 * fails this statement. Each call made through must() and must_be() is recorded with its return code;
 * scripts/conformance checks that every code of a page was seen.
 */
#ifndef TESTS_CONFORM_H
#define TESTS_CONFORM_H

#include <dat/udat.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/harness/harness.h"

/* ---- The table of statements ---- */

struct statement {
	const char *name;		/* call__condition */
	const char *page;		/* man page of section 3, such as dat_evd_wait */
	const char *section;		/* section of the page */
	void (*fn)(const void *row);
	const void *row;		/* row of a generated table, or NULL */
	const char *file;
	int line;
};

#define STATEMENT_ENTRY(name_, page_, section_, fn_, row_)                                         \
	static const struct statement name_##_statement = {                                        \
		#name_, #page_, section_, fn_, row_, __FILE__, __LINE__                            \
	};                                                                                         \
	static const struct statement *const name_##_entry                                         \
		__attribute__((used, section("statements"))) = &name_##_statement

/* A single statement. Section: see below. */
#define STATEMENT(name_, page_, section_)                                                          \
	static void name_(const void *row);                                                        \
	STATEMENT_ENTRY(name_, page_, section_, name_, NULL);                                      \
	static void name_(const void *row __attribute__((unused)))

/* One row of a table, tested by fn_. */
#define STATEMENT_ROW(name_, page_, section_, fn_, row_)                                           \
	STATEMENT_ENTRY(name_, page_, section_, fn_, row_)

#define DESCRIPTION "DESCRIPTION"
#define RETURNS "RETURN VALUES"
#define USAGE "USAGE"
#define PARAMETERS "PARAMETERS"

size_t conform_count(void);
const struct statement *conform_get(size_t i);		/* statements in the order of files */
const struct statement *conform_find(const char *name);

/* ---- Running a statement ---- */

enum verdict { VERDICT_PASS, VERDICT_FAIL, VERDICT_SKIP };

#define MAX_NOTES 256

struct note {			/* the page's call has returned this type of code */
	char call[32];
	uint32_t type;
};

struct outcome {
	enum verdict verdict;
	char reason[512];
	unsigned int ms;
	unsigned int n_notes;
	struct note notes[MAX_NOTES];
};

struct conform_options {
	const char *ia;			/* IA of both sides, unless peer_ia is set */
	const char *peer_ia;		/* IA of the peer side */
	/* host where `dat_conform --serve` runs; NULL: the peer is a process on this host */
	const char *host;
	/* TCP port of that program; 0 with --serve: any free port */
	uint16_t port;
	unsigned int limit_ms;		/* time limit of one statement */
	bool one_process;		/* the adapter can be open in one process at a time */
	bool own;			/* the provider is this one, so subtypes are known, too */
};

extern struct conform_options conform_options;

void conform_run(const struct statement *s, struct outcome *outcome);
/* Prepares a process that makes DAT calls for a statement which another process runs. */
void conform_outside(void);
const char *verdict_name(enum verdict v);
/*
 * Returns the name of a type, such as "DAT_INVALID_STATE", or its number in hex if it has no name.
 */
const char *code_name(uint32_t type);

/* ---- Functions for a statement, its children and its threads ---- */

void conform_note(const char *call, DAT_RETURN ret);
/* Records the result of a call, if its name starts with "dat_". Ends the statement unless the type is
 * the expected one. */
DAT_RETURN conform_expect(DAT_RETURN got, uint32_t type, const char *text, const char *file,
			  int line);
void conform_check(bool ok, const char *text, const char *file, int line);
void conform_same(uint64_t got, uint64_t want, const char *text, const char *file, int line);
_Noreturn void conform_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Skips the statement. The reason names the provider attribute, or the optional part of the page.
 */
_Noreturn void skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define must(call) conform_expect((call), DAT_SUCCESS, #call, __FILE__, __LINE__)
#define must_be(type, call) conform_expect((call), (uint32_t)(type), #call, __FILE__, __LINE__)
/* Makes a call and records its code without checking it. */
#define tried(call) conform_tried((call), #call)
DAT_RETURN conform_tried(DAT_RETURN got, const char *text);
#define check(cond) conform_check((cond), #cond, __FILE__, __LINE__)
#define same(got, want)                                                                            \
	conform_same((uint64_t)(got), (uint64_t)(want), #got " is " #want, __FILE__, __LINE__)
#define is(ret, type) (DAT_GET_TYPE(ret) == (uint32_t)(type))

#endif
