/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of the programs that follow perftest: one table of options, of which each
 * program has a part. */
#ifndef PERF_OPTIONS_H
#define PERF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct tool_test;

enum { OPTION_MAX_SIZE = 1 << 23, OPTION_MAX_EPS = 4096, OPTION_DEFAULT_PORT = 18515,
	OPTION_MAX_PROCESSES = 64, OPTION_MAX_RATE = 10000000, OPTION_MAX_DEPTH = 16384,
	OPTION_MAX_READS = 128, OPTION_MAX_DURATION_S = 86400 * 365, OPTION_MAX_WARM_UP = 1 << 30 };
#define OPTION_MAX_ITERS (UINT64_C(1) << 40)

struct tool_options {
	const char *host;		/* NULL: this side is the server */
	const char *ia;
	/* values for ia_params; NULL: unchanged */
	const char *gid_index, *sl, *tclass, *timeout, *inline_size;
	const char *json, *plot;	/* names of files; NULL: none */
	uint64_t port, size, iters, duration_s, margin_s, warm_up;
	uint64_t rate;			/* operations per second; 0: one after another */
	/* cq_mod and reads: 0 selects the default */
	uint32_t eps, processes, depth, rx_depth, cq_mod, reads;
	int cpu;			/* -1: the system chooses */
	double limit_bw, limit_rate;	/* limits; 0: none */
	bool all, both_ways, events, gbits, no_peak, verify, infinite, cpu_util, target_polls;
	bool histogram, list_sorted, list_unsorted, cycles, unbind, explain;
};

/* Does not return after --help, --version or an error. */
void tool_parse(const struct tool_test *test, struct tool_options *o, int argc, char **argv);

#endif
