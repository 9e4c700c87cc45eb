/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_top: the counters of all processes of this user that have an IA of dapl-direct open. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "perf/dat_top/top.h"
#include "softnic/argp/program.h"

static const char doc[] =
	"Shows what the processes of this user do with each Interface Adapter of dapl-direct that they "
	"have open: one line for each, with rates per second.\v"
	"The processes need no option for this, and their posts and dequeues take no longer. AGE is 0 if "
	"the process has just written its counters; a process that is stopped shows those of its last "
	"answer. A count that the adapter does not have is a dash.";

static const struct argp_option options[] = {
	{ "once", '1', NULL, 0, "Print totals since each IA was opened, and end", 0 },
	{ "interval", 'd', "SECONDS", 0, "Time between two tables, from 0.1 to 3600 (1)", 0 },
	{ "prometheus", 'p', NULL, 0, "Print all counters in the text format of Prometheus, and end", 0 },
	{ 0 },
};

struct options {
	bool once, prometheus, timed;
	double interval;
};

static double parse_interval(struct argp_state *state, const char *arg)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || *end || !(v >= 0.1 && v <= 3600))
		argp_error(state, "--interval takes a number from 0.1 to 3600, not '%s'", arg);
	return v;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case '1': o->once = true; break;
	case 'p': o->prometheus = true; break;
	case 'd':
		o->timed = true;
		o->interval = parse_interval(state, arg);
		break;
	case ARGP_KEY_ARG: argp_error(state, "unexpected '%s'", arg); break;
	case ARGP_KEY_END:
		if (o->once + o->prometheus + o->timed > 1)
			argp_error(state, "--once, --interval and --prometheus exclude each other");
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void read_or_exit(struct top *t, bool refusals)
{
	int err = top_read(t, refusals);

	if (!err)
		return;
	fprintf(stderr, "dat_top: cannot read " DAP_PAGE_DIR ": %s\n", strerror(-err));
	exit(EXIT_FAILURE);
}

static void watch(double interval)
{
	const char *term = getenv("TERM");
	/* A terminal without a cursor that moves, as in Emacs, is "dumb". */
	bool moves = isatty(STDOUT_FILENO) && (!term || strcmp(term, "dumb"));
	const char *clear = moves ? "\033[H\033[J" : "";
	struct timespec ts = dap_timespec((uint64_t)(interval * 1e9));
	struct top before, now;

	read_or_exit(&before, true);
	while (true) {
		nanosleep(&ts, NULL);
		read_or_exit(&now, false);
		fputs(clear, stdout);
		top_table(&now, &before);
		if (fflush(stdout) || ferror(stdout))
			exit(EXIT_FAILURE);
		top_free(&before);
		before = now;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = { options, parse, NULL, doc, program_options, NULL, NULL };
	struct options o = { .interval = 1 };
	struct top t;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (!o.once && !o.prometheus)
		watch(o.interval);
	read_or_exit(&t, true);
	if (o.prometheus)
		top_prometheus(&t);
	else
		top_table(&t, NULL);
	top_free(&t);
	return EXIT_SUCCESS;
}
