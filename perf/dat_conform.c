/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_conform: tries each statement of the uDAPL 1.2 manual pages on an IA, and reports which of them
 * are true. The statements are in tests/conformance.
 */
#include <argp.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf/common/consumer.h"
#include "softnic/argp/program.h"
#include "perf/dat_conform/report.h"
#include "tests/conformance/far.h"

static const char doc[] =
	"Tries each statement of the uDAPL 1.2 manual pages on an Interface Adapter.\v"
	"One line is printed for each statement: PASS, FAIL or SKIP, its name, the page that it is "
	"from, and the reason. The exit status is 0 when none failed.";

enum { OPT_JSON = 256, OPT_JUNIT, OPT_LIST, OPT_LIMIT, OPT_SERVE, OPT_PORT };

static const struct argp_option options[] = {
	{ "ia", 'i', "NAME", 0, "The IA to try (soft-mlx5-0)", 0 },
	{ "peer", 'p', "NAME", 0, "The IA at the other end of connections (the same)", 0 },
	{ "remote", 'r', "HOST", 0,
	  "Host where dat_conform --serve runs, for statements of two processes", 0 },
	{ "serve", OPT_SERVE, NULL, 0, "Be the peer of runs that name this host with -r", 0 },
	{ "port", OPT_PORT, "NUMBER", 0, "TCP port of --serve (45299)", 0 },
	{ "test", 't', "PATTERN", 0, "Only statements or pages that match this shell pattern", 0 },
	{ "json", OPT_JSON, "FILE", 0, "Write the results and all return codes as JSON", 0 },
	{ "junit", OPT_JUNIT, "FILE", 0, "Write JUnit XML", 0 },
	{ "list", OPT_LIST, NULL, 0, "Print names, pages and sections, and run nothing", 0 },
	{ "limit", OPT_LIMIT, "SECONDS", 0, "Time limit of one statement (30)", 0 },
	{ 0 },
};

struct options {
	const char *pattern, *json, *junit;
	bool list, serve;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'i': conform_options.ia = arg; break;
	case 'p': conform_options.peer_ia = arg; break;
	case 'r': conform_options.host = arg; break;
	case OPT_PORT: conform_options.port = (uint16_t)program_number(state, "--port", arg, 0, 65535); break;
	case OPT_SERVE: o->serve = true; break;
	case 't': o->pattern = arg; break;
	case OPT_JSON: o->json = arg; break;
	case OPT_JUNIT: o->junit = arg; break;
	case OPT_LIST: o->list = true; break;
	case OPT_LIMIT:
		conform_options.limit_ms = 1000 * (unsigned int)program_number(state, "--limit", arg, 1,
									       86400);
		break;
	case ARGP_KEY_ARG: argp_error(state, "unexpected '%s'", arg); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static bool is_wanted(const struct options *o, const struct statement *s)
{
	return !o->pattern || !fnmatch(o->pattern, s->name, 0) || !fnmatch(o->pattern, s->page, 0);
}

static void print_result(const struct statement *s, const struct outcome *o)
{
	printf("%s %-52s %s(3), %s%s%s\n", verdict_name(o->verdict), s->name, s->page, s->section,
	       o->reason[0] ? ": " : "", o->reason);
	fflush(stdout);
}

/* Exit status of a process that has opened the IA, which another process could not open meanwhile. */
enum { OPENED_ALONE = 3 };

/* Opens the IA of a statement's second process. A failure is not reported, because it may be normal. */
static int open_too(int sock, void *arg)
{
	const char *name = conform_options.peer_ia ? conform_options.peer_ia : th_ia(conform_options.ia);
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	(void)sock;
	(void)arg;
	return !freopen("/dev/null", "w", stderr) ||
	       dat_ia_open((DAT_NAME_PTR)(uintptr_t)name, 8, &async, &ia) ||
	       dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
}

static bool can_open_too(void)
{
	struct th_child child;

	return !th_spawn(&child, open_too, NULL) && !th_join(&child, conform_options.limit_ms);
}

/* Opens the IA in a child process, so that the statements' processes do not inherit an open
 * adapter. */
static int open_once(int sock, void *name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	bool alone;

	(void)sock;
	if (!ia_opened(dat_ia_open(name, 8, &async, &ia), name))
		return 1;
	alone = name == conform_options.ia && !can_open_too();
	if (!dat_ok(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close"))
		return 1;
	return alone ? OPENED_ALONE : 0;
}

/* If the IA cannot be opened, every statement would fail, so this reports it once. */
static bool can_open(const char *name)
{
	struct th_child child;
	int status;

	if (!name)
		return true;
	status = th_spawn(&child, open_once, (void *)(uintptr_t)name);
	if (!status)
		status = th_join(&child, conform_options.limit_ms);
	conform_options.one_process |= status == OPENED_ALONE;
	if (status == -ETIMEDOUT)
		fprintf(stderr, "dat_conform: %s has not opened within %u s; --limit allows more\n", name,
			conform_options.limit_ms / 1000);
	else if (status < 0)
		fprintf(stderr, "dat_conform: cannot start a process: %s\n", strerror(-status));
	else if (status > 128)
		fprintf(stderr, "dat_conform: signal %d ended the process that opened %s\n", status - 128,
			name);
	return !status || status == OPENED_ALONE;
}

static int run_all(const struct options *o)
{
	struct report report = { .ia = conform_options.ia };
	int status;

	report.results = calloc(conform_count(), sizeof(*report.results));
	if (!report.results) {
		fprintf(stderr, "dat_conform: no memory for the results of %zu statements\n",
			conform_count());
		return 1;
	}
	for (size_t i = 0; i < conform_count(); i++) {
		struct result *r = &report.results[report.n];

		if (!is_wanted(o, conform_get(i)))
			continue;
		r->statement = conform_get(i);
		conform_run(r->statement, &r->outcome);
		print_result(r->statement, &r->outcome);
		report.count[r->outcome.verdict]++;
		report.n++;
	}
	printf("%zu statements: %u PASS, %u FAIL, %u SKIP\n", report.n, report.count[VERDICT_PASS],
	       report.count[VERDICT_FAIL], report.count[VERDICT_SKIP]);
	status = report.count[VERDICT_FAIL] != 0;
	if (o->json && report_json(&report, o->json))
		status = 1;
	if (o->junit && report_junit(&report, o->junit))
		status = 1;
	free(report.results);
	return status;
}

static bool wants_none(const struct options *o)
{
	for (size_t i = 0; i < conform_count(); i++)
		if (is_wanted(o, conform_get(i)))
			return false;
	fprintf(stderr, "dat_conform: no statement and no page matches '%s'; --list prints all\n",
		o->pattern);
	return true;
}

static void list_all(const struct options *o)
{
	for (size_t i = 0; i < conform_count(); i++) {
		const struct statement *s = conform_get(i);

		if (is_wanted(o, s))
			printf("%s %s(3), %s\n", s->name, s->page, s->section);
	}
}

int main(int argc, char **argv)
{
	const struct argp argp = { options, parse, NULL, doc, program_options, NULL, NULL };
	struct options o = { .list = false };

	argp_err_exit_status = 64;
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (!o.serve && wants_none(&o))
		return 1;
	if (o.list) {
		list_all(&o);
		return 0;
	}
	if (!program_can_write(o.json) || !program_can_write(o.junit) || !can_open(conform_options.ia) ||
	    !can_open(conform_options.peer_ia))
		return 1;
	return o.serve ? far_serve() : run_all(&o);
}
