/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_bench measures the cost of one DAT call. `make bench` runs it twice: under callgrind, which
 * counts instructions, and alone, for time; scripts/bench makes the table.
 */
#include <argp.h>
#include <stdio.h>

#include "softnic/argp/program.h"
#include "perf/dat_bench/bench.h"

static const char doc[] =
	"Posts, binds and dequeues, one DAT call after another, between two endpoints of this "
	"process. Use `make bench` for the table with instruction counts.";

static const struct argp_option options[] = {
	{ "ia", 'i', "NAME", 0, "Interface Adapter, a name of dat.conf (soft-mlx5-0)", 0 },
	{ "calls", 'n', "N", 0, "Calls of each operation (4096)", 0 },
	{ "latency", 'L', NULL, 0, "Measure only the half round trip of send/recv between two polling "
	  "processes, and of a cache line", 0 },
	{ "threadsafe", 't', NULL, 0, "Open the IA threadsafe", 0 },
	{ "unordered", 'u', NULL, 0, "Only the rows for an unordered adapter (EFA)", 0 },
	{ "warm", 'w', NULL, 0, "Wait for completions by polling, not asleep, so that caches stay warm; for "
	  "adapters that the caller drives", 0 },
	{ "pair", 'p', NULL, 0, "Omit the rows with many endpoints", 0 },
	{ 0 },
};

struct opts {
	const char *ia;
	unsigned int calls;
	bool latency, threadsafe, unordered, only_pair, warm;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case 'i': o->ia = arg; return 0;
	case 'L': o->latency = true; return 0;
	case 't': o->threadsafe = true; return 0;
	case 'u': o->unordered = true; return 0;
	case 'p': o->only_pair = true; return 0;
	case 'w': o->warm = true; return 0;
	case 'n': o->calls = (unsigned int)program_number(state, "--calls", arg, 1, 100000000); return 0;
	case ARGP_KEY_ARG: argp_error(state, "unexpected argument"); return EINVAL;
	case ARGP_KEY_END:
		if (o->latency && (o->threadsafe || o->unordered || o->only_pair || o->warm))
			argp_error(state, "-L has no use for -p, -t, -u and -w");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static int latency(const struct opts *o)
{
	double send_ns, line_ns;

	if (bench_latency(o->ia, o->calls < 1000 ? 1000 : o->calls, &send_ns, &line_ns))
		return 1;
	printf("latency\t%.1f\t%.1f\n", send_ns, line_ns);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = { options, parse, NULL, doc, program_options, NULL, NULL };
	struct opts o = { .ia = "soft-mlx5-0", .calls = 4096 };
	const struct bench_op *op;
	struct pair p = { .rmr = DAT_HANDLE_NULL };
	enum bench_crowd crowd = BENCH_CROWD_OK;
	double ns;
	int status = 0;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (o.latency)
		return latency(&o);
	bench_warm = o.warm;
	p.no_rmr = o.unordered;
	p.a.threadsafe = p.b.threadsafe = o.threadsafe;
	if (pair_open(&p, o.ia))
		return 1;
	for (op = bench_ops; op->name; op++) {
		if ((op->endpoints && o.only_pair) ||
		    op->on == (o.unordered ? BENCH_ORDERED : BENCH_UNORDERED))
			continue;
		if (op->endpoints)
			crowd = bench_crowd(&p, op->endpoints);
		if (crowd == BENCH_CROWD_NONE)
			continue;
		if (crowd == BENCH_CROWD_FAILED || bench_run(&p, op, o.calls, &ns)) {
			fprintf(stderr, "%s: FAILED\n", op->name);
			status = 1;
			break;
		}
		printf("%s\t%s\t%.1f\t%u\n", op->name, op->function, ns,
		       op->dequeues ?: op->posts ?: 1);
		fflush(stdout);
	}
	pair_close(&p);
	return status;
}
