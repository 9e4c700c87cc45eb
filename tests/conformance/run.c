/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of statements, and how one of them runs. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/conformance/conform.h"

#define MAX_STATEMENTS 2048

extern const struct statement *const __start_statements[];
extern const struct statement *const __stop_statements[];

struct conform_options conform_options = { .ia = "soft-mlx5-0", .port = 45299, .limit_ms = 30000 };

/* The child that runs a statement, and children of that child, share the outcome through this
 * memory. */
static struct outcome *current;

size_t conform_count(void)
{
	size_t n = (size_t)(__stop_statements - __start_statements);

	if (n > MAX_STATEMENTS)
		abort();
	return n;
}

static int by_place(const void *a, const void *b)
{
	const struct statement *x = *(const struct statement *const *)a;
	const struct statement *y = *(const struct statement *const *)b;
	int files = strcmp(x->file, y->file);

	return files ? files : x->line - y->line;
}

/* The table must be sorted, because compilers may emit its rows in any order. */
const struct statement *conform_get(size_t i)
{
	static const struct statement *sorted[MAX_STATEMENTS];

	if (!sorted[0]) {
		memcpy(sorted, __start_statements, conform_count() * sizeof(sorted[0]));
		qsort(sorted, conform_count(), sizeof(sorted[0]), by_place);
	}
	return sorted[i];
}

const struct statement *conform_find(const char *name)
{
	for (size_t i = 0; i < conform_count(); i++) {
		if (!strcmp(conform_get(i)->name, name))
			return conform_get(i);
	}
	return NULL;
}

/* ---- Running a statement ---- */

static int run_here(int sock, void *arg)
{
	const struct statement *s = arg;

	(void)sock;
	th_is_parent();
	s->fn(s->row);
	return 0;
}

static void judge(struct outcome *o, int status)
{
	const char *how = NULL;
	char text[64];

	if (status == -ETIMEDOUT) {
		snprintf(text, sizeof(text), "the statement has not finished after %u s",
			 conform_options.limit_ms / 1000);
		how = text;
	} else if (status == TH_LEAKED) {
		how = "the statement leaked memory";
	} else if (status > 128) {
		snprintf(text, sizeof(text), "the statement was ended by signal %d", status - 128);
		how = text;
	} else if (status && o->verdict == VERDICT_PASS) {
		snprintf(text, sizeof(text), "the statement's process exited with status %d",
			 status);
		how = text;
	}
	if (!how)
		return;
	o->verdict = VERDICT_FAIL;
	if (!o->reason[0])
		strcpy(o->reason, how);
}

void conform_run(const struct statement *s, struct outcome *outcome)
{
	uint64_t start = th_now_ms();
	struct th_child child;
	int err;

	memset(outcome, 0, sizeof(*outcome));
	outcome->verdict = VERDICT_FAIL;
	current = mmap(NULL, sizeof(*current), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (current == MAP_FAILED) {
		strcpy(outcome->reason, "no memory for the statement's outcome");
		return;
	}
	err = th_spawn(&child, run_here, (void *)(uintptr_t)s);
	if (err)
		snprintf(outcome->reason, sizeof(outcome->reason),
			 "cannot start the statement's process: %s", strerror(-err));
	else
		judge(current, th_join(&child, conform_options.limit_ms));
	if (!err)
		*outcome = *current;
	outcome->ms = (unsigned int)(th_now_ms() - start);
	if (outcome->n_notes > MAX_NOTES)
		outcome->n_notes = MAX_NOTES;
	munmap(current, sizeof(*current));
	current = NULL;
}

void conform_outside(void)
{
	static struct outcome nobody_asks;

	current = &nobody_asks;
}

const char *verdict_name(enum verdict v)
{
	static const char *const names[] = { "PASS", "FAIL", "SKIP" };

	return names[v];
}

const char *code_name(uint32_t type)
{
	static _Thread_local char text[80];
	const char *major, *minor;

	if (type == DAT_SUCCESS)
		return "DAT_SUCCESS";
	if (dat_strerror(DAT_CLASS_ERROR | type, &major, &minor) == DAT_SUCCESS)
		snprintf(text, sizeof(text), "%s%s", strncmp(major, "DAT_", 4) ? "DAT_" : "", major);
	else
		snprintf(text, sizeof(text), "0x%08x", type);
	return text;
}

/* ---- Functions for a statement ---- */

void conform_note(const char *call, DAT_RETURN ret)
{
	unsigned int i = 0, n = __atomic_load_n(&current->n_notes, __ATOMIC_ACQUIRE);
	uint32_t type = DAT_GET_TYPE(ret);

	for (i = 0; i < n && i < MAX_NOTES; i++) {
		if (current->notes[i].type == type && !strcmp(current->notes[i].call, call))
			return;
	}
	i = __atomic_fetch_add(&current->n_notes, 1, __ATOMIC_ACQ_REL);
	if (i >= MAX_NOTES)
		return;
	current->notes[i].type = type;
	snprintf(current->notes[i].call, sizeof(current->notes[i].call), "%s", call);
}

DAT_RETURN conform_tried(DAT_RETURN got, const char *text)
{
	char call[32];
	size_t len = strcspn(text, "(");

	if (!strncmp(text, "dat_", 4) && len < sizeof(call)) {
		memcpy(call, text, len);
		call[len] = '\0';
		conform_note(call, got);
	}
	return got;
}

/* exit() would run handlers that belong to the parent process, and a failed statement needs no
 * cleanup. */
static _Noreturn void end(enum verdict verdict, const char *reason)
{
	/* The first failure counts, because others follow from it. */
	if (current->verdict != VERDICT_FAIL) {
		current->verdict = verdict;
		snprintf(current->reason, sizeof(current->reason), "%s", reason);
	}
	_exit(verdict == VERDICT_SKIP ? 0 : 1);
}

void conform_fail(const char *file, int line, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	char text[400], reason[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(reason, sizeof(reason), "%s:%d: %s", base ? base + 1 : file, line, text);
	end(VERDICT_FAIL, reason);
}

void skip(const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	end(VERDICT_SKIP, text);
}

DAT_RETURN conform_expect(DAT_RETURN got, uint32_t type, const char *text, const char *file, int line)
{
	char wanted[80];

	conform_tried(got, text);
	if (DAT_GET_TYPE(got) == type)
		return got;
	snprintf(wanted, sizeof(wanted), "%s", code_name(type));
	conform_fail(file, line, "%.200s returned %s (0x%08x) instead of %s", text,
		     code_name(DAT_GET_TYPE(got)), got, wanted);
}

void conform_check(bool ok, const char *text, const char *file, int line)
{
	if (!ok)
		conform_fail(file, line, "this should be true: %s", text);
}

void conform_same(uint64_t got, uint64_t want, const char *text, const char *file, int line)
{
	if (got != want)
		conform_fail(file, line, "%s: the value is 0x%llx instead of 0x%llx", text,
			     (unsigned long long)got, (unsigned long long)want);
}
