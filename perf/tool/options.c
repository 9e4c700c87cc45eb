/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/tool/options.h"

#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "softnic/argp/program.h"
#include "perf/tool/perftest_only.h"
#include "perf/tool/tool.h"

enum key {
	K_JSON = 1000, K_JSON_FILE, K_GBITS, K_INFINITE, K_CPU_UTIL, K_CPU, K_WARM_UP, K_VERIFY,
	K_HISTOGRAM, K_PLOT, K_TARGET, K_UNBIND, K_PROCESSES, K_TCLASS, K_RATE, K_EXPLAIN,
};

struct offer {
	unsigned int takes;	/* mask of the programs that have the option; 0: all programs */
	struct argp_option option;
};

static const struct offer offers[] = {
	{ 0, { NULL, 0, NULL, 0, "Measurement:", 1 } },
	{ TAKES_SIZE, { "all", 'a', NULL, 0, "Sizes from 2 to 2^23", 0 } },
	{ TAKES_SIZE, { "size", 's', "BYTES", 0, "Size of an operation", 0 } },
	{ 0, { "iters", 'n', "N", 0, "Operations, at least 5", 0 } },
	{ 0, { "duration", 'D', "SECONDS", 0, "Run for SECONDS instead", 0 } },
	{ TAKES_SIZE, { "margin", 'f', "SECONDS", 0,
	  "Ignored at each end of -D (a quarter of it)", 0 } },
	{ 0, { "run_infinitely", K_INFINITE, NULL, 0, "Print a row every -D seconds, until killed", 0 } },
	{ TAKES_RATE, { "rate", K_RATE, "N", 0, "Start N operations a second, as planned (open loop)", 0 } },
	{ 0, { "warm-up", K_WARM_UP, "N", 0, "Operations before the measurement (100)", 0 } },
	{ TAKES_DEPTH, { "tx-depth", 't', "N", 0, "Outstanding operations per endpoint", 0 } },
	{ TAKES_RX, { "rx-depth", 'r', "N", 0, "Receives posted per endpoint (512)", 0 } },
	{ TAKES_EPS, { "qp", 'q', "N", 0, "Endpoints (1)", 0 } },
	{ TAKES_PROCESSES, { "processes", K_PROCESSES, "N", 0, "Client processes (1)", 0 } },
	{ TAKES_DEPTH, { "cq-mod", 'Q', "N", 0,
	  "One completion per N operations (100; above 8 KiB 1)", 0 } },
	{ TAKES_BOTH, { "bidirectional", 'b', NULL, 0, "Both directions at once; rows give the sum", 0 } },
	{ TAKES_READS, { "outs", 'o', "N", 0, "Outstanding reads per endpoint (4)", 0 } },
	{ TAKES_UNBIND, { "unbind", K_UNBIND, NULL, 0, "Bind and unbind in turns instead of rebinding",
			  0 } },
	{ TAKES_VERIFY, { "verify", K_VERIFY, NULL, 0, "Check the received data, byte for byte", 0 } },
	{ 0, { NULL, 0, NULL, 0, "Method:", 2 } },
	{ 0, { "ib-dev", 'd', "NAME", 0, "Interface Adapter, a name of dat.conf (soft-mlx5-0)", 0 } },
	{ 0, { "port", 'p', "QUAL", 0, "Connection qualifier (18515)", 0 } },
	{ TAKES_EVENTS, { "events", 'e', NULL, 0, "Sleep in dat_evd_wait instead of polling", 0 } },
	{ TAKES_TARGET, { "target-polls", K_TARGET, NULL, 0,
			  "The target polls an EVD instead of sleeping", 0 } },
	{ TAKES_INLINE, { "inline_size", 'I', "BYTES", 0, "Largest size that is sent inline", 0 } },
	{ 0, { "qp-timeout", 'u', "CODE", 0, "ACK timeout: 4.096 us * 2^CODE", 0 } },
	{ 0, { "sl", 'S', "SL", 0, "Service level", 0 } },
	{ 0, { "tclass", K_TCLASS, "N", 0, "IP traffic class", 0 } },
	{ 0, { "gid-index", 'x', "N", 0, "Entry of the GID table", 0 } },
	{ 0, { "cpu", K_CPU, "N", 0, "Run on this CPU (not pinned)", 0 } },
	{ 0, { "CPU-freq", 'F', NULL, 0, "Accepted for perftest scripts, as -R and -z; no effect", 0 } },
	{ 0, { "rdma_cm", 'R', NULL, OPTION_HIDDEN, NULL, 0 } },
	{ 0, { "comm_rdma_cm", 'z', NULL, OPTION_HIDDEN, NULL, 0 } },
	{ 0, { NULL, 0, NULL, 0, "Output:", 3 } },
	{ TAKES_DEPTH, { "noPeak", 'N', NULL, 0, "Omit the peak (always beyond 20000 operations)", 0 } },
	{ TAKES_BYTES, { "report_gbits", K_GBITS, NULL, 0, "Gb/s instead of MiB/s", 0 } },
	{ TAKES_BYTES, { "limit_bw", 'w', "BW", 0, "Exit status 1 if the average is below BW", 0 } },
	{ TAKES_DEPTH, { "limit_msgrate", 'y', "MPPS", 0, "Exit status 1 if the rate is below MPPS", 0 } },
	{ 0, { "cpu_util", K_CPU_UTIL, NULL, 0, "CPU time of the client; needs -D", 0 } },
	{ TAKES_SAMPLES, { "report-histogram", 'H', NULL, 0, "Print all samples, sorted; not with -D", 0 } },
	{ TAKES_SAMPLES, { "report-unsorted", 'U', NULL, 0,
			   "Print all samples in order of time; not with -D", 0 } },
	{ TAKES_SAMPLES, { "report-cycles", 'C', NULL, 0, "Print samples (-H, -U) in clock ticks", 0 } },
	{ TAKES_SAMPLES, { "histogram", K_HISTOGRAM, NULL, 0,
			   "Print a histogram", 0 } },
	{ TAKES_RATE, { "explain", K_EXPLAIN, NULL, 0, "Count the causes of long samples", 0 } },
	{ 0, { "plot", K_PLOT, "FILE", 0, "Draw FILE.svg or FILE.png with gnuplot", 0 } },
	{ 0, { "out_json", K_JSON, NULL, 0, "Write perftest_out.json", 0 } },
	{ 0, { "out_json_file", K_JSON_FILE, "FILE", 0, "Write the JSON to FILE", 0 } },
};

struct parsing {
	struct tool_options *o;
	const struct tool_test *test;
	bool margin_told;
};

static int asked;		/* the option whose value is being checked */

static const char *its_name(void)
{
	static char name[32];
	size_t i;

	if (asked < K_JSON) {
		snprintf(name, sizeof(name), "-%c", asked);
		return name;
	}
	for (i = 0; i < sizeof(offers) / sizeof(*offers); i++)
		if (offers[i].option.key == asked)
			snprintf(name, sizeof(name), "--%s", offers[i].option.name);
	return name;
}

static uint64_t number(const char *s, uint64_t min, uint64_t max, struct argp_state *state)
{
	return program_number(state, its_name(), s, min, max);
}

static double quantity(const char *s, struct argp_state *state)
{
	char *end;
	double v = strtod(s, &end);

	if (end == s || *end || !(v > 0) || isinf(v))
		argp_error(state, "%s '%s' is not a number above 0", its_name(), s);
	return v;
}

/* Checks a value for ia_params, which the provider checks again. */
static const char *code(char *s, uint64_t max, struct argp_state *state)
{
	/* In ia_params a leading zero means decimal. The decimal form is not longer than another. */
	sprintf(s, "%u", (unsigned int)number(s, 0, max, state));
	return s;
}

static error_t parse_how(int key, char *arg, struct tool_options *o, struct argp_state *state)
{
	switch (key) {
	case 'd': o->ia = arg; return 0;
	case 'p': o->port = number(arg, 1, UINT64_MAX, state); return 0;
	case 'e': o->events = true; return 0;
	case K_TARGET: o->target_polls = true; return 0;
	case 'I': o->inline_size = code(arg, 65535, state); return 0;
	case 'u': o->timeout = code(arg, 31, state); return 0;
	case 'S': o->sl = code(arg, 15, state); return 0;
	case K_TCLASS: o->tclass = code(arg, 255, state); return 0;
	case 'x': o->gid_index = code(arg, 255, state); return 0;
	case K_CPU: o->cpu = (int)number(arg, 0, 4095, state); return 0;
	case 'F': case 'R': case 'z': return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_told(int key, char *arg, struct tool_options *o, struct argp_state *state)
{
	switch (key) {
	case 'N': o->no_peak = true; return 0;
	case K_GBITS: o->gbits = true; return 0;
	case 'w': o->limit_bw = quantity(arg, state); return 0;
	case 'y': o->limit_rate = quantity(arg, state); return 0;
	case K_CPU_UTIL: o->cpu_util = true; return 0;
	case 'H': o->list_sorted = true; return 0;
	case 'U': o->list_unsorted = true; return 0;
	case 'C': o->cycles = true; return 0;
	case K_EXPLAIN: o->explain = true; return 0;
	case K_HISTOGRAM: o->histogram = true; return 0;
	case K_PLOT: o->plot = arg; return 0;
	case K_JSON: o->json = o->json ? o->json : "perftest_out.json"; return 0;
	case K_JSON_FILE: o->json = arg; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_what(int key, char *arg, struct parsing *p, struct argp_state *state)
{
	struct tool_options *o = p->o;

	switch (key) {
	case 'a': o->all = true; return 0;
	case 's': o->size = number(arg, 1, OPTION_MAX_SIZE, state); return 0;
	case 'n': o->iters = number(arg, 5, OPTION_MAX_ITERS, state); return 0;
	case 'D': o->duration_s = number(arg, 1, OPTION_MAX_DURATION_S, state); return 0;
	case 'f':
		o->margin_s = number(arg, 0, 86400, state);
		p->margin_told = true;
		return 0;
	case K_INFINITE: o->infinite = true; return 0;
	case K_RATE: o->rate = number(arg, 1, OPTION_MAX_RATE, state); return 0;
	case K_WARM_UP: o->warm_up = number(arg, 0, OPTION_MAX_WARM_UP, state); return 0;
	case 't': o->depth = (uint32_t)number(arg, 1, OPTION_MAX_DEPTH, state); return 0;
	case 'r': o->rx_depth = (uint32_t)number(arg, 1, OPTION_MAX_DEPTH, state); return 0;
	case 'q': o->eps = (uint32_t)number(arg, 1, OPTION_MAX_EPS, state); return 0;
	case K_PROCESSES: o->processes = (uint32_t)number(arg, 1, OPTION_MAX_PROCESSES, state); return 0;
	case 'Q': o->cq_mod = (uint32_t)number(arg, 1, OPTION_MAX_DEPTH, state); return 0;
	case 'b': o->both_ways = true; return 0;
	case 'o': o->reads = (uint32_t)number(arg, 1, OPTION_MAX_READS, state); return 0;
	case K_UNBIND: o->unbind = true; return 0;
	case K_VERIFY: o->verify = true; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

/* Refuses combinations of options, which are known only after the last option. */
static void check_options(struct parsing *p, struct argp_state *state)
{
	struct tool_options *o = p->o;

	if (o->infinite && !o->duration_s)
		argp_error(state, "--run_infinitely needs -D, the time between two rows");
	if (o->infinite && (o->json || o->plot))
		argp_error(state, "--run_infinitely cannot write JSON or plots");
	if (o->infinite && (o->explain || o->limit_bw > 0 || o->limit_rate > 0))
		argp_error(state, "--run_infinitely has no end: not with --explain, -w or -y");
	if (o->cpu_util && !o->duration_s)
		argp_error(state, "--cpu_util needs -D");
	if ((o->list_sorted || o->list_unsorted) && o->duration_s)
		argp_error(state, "-H and -U need -n; with -D use --histogram");
	if ((o->list_sorted || o->list_unsorted) && o->iters > RECORD_EXACT_MAX / o->processes)
		argp_error(state, "-H and -U print up to %d samples; for more use --histogram",
			   RECORD_EXACT_MAX);
	if (p->margin_told && !o->duration_s)
		argp_error(state, "-f needs -D");
	if (p->margin_told && 2 * o->margin_s >= o->duration_s)
		argp_error(state, "two margins (-f) of %llu s leave nothing of -D %llu",
			   (unsigned long long)o->margin_s, (unsigned long long)o->duration_s);
	if (!p->margin_told && p->test->takes & TAKES_SIZE)
		o->margin_s = o->duration_s / 4;
	if (o->events && o->both_ways)
		argp_error(state, "-e waits for one EVD: not with -b");
	if (o->explain && o->rate)
		argp_error(state, "--explain needs operations one after another: not with --rate");
	if (o->explain && o->events)
		argp_error(state, "--explain needs operations that poll, and with -e each one sleeps");
	if (o->all)
		o->size = OPTION_MAX_SIZE;
	if (o->cq_mod > o->depth)
		argp_error(state, "-Q %u needs -t %u at least", o->cq_mod, o->cq_mod);
	if (o->plot && !(strlen(o->plot) > 4 && (!strcmp(o->plot + strlen(o->plot) - 4, ".svg") ||
						 !strcmp(o->plot + strlen(o->plot) - 4, ".png"))))
		argp_error(state, "--plot draws a file that ends with .svg or .png");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct parsing *p = state->input;
	error_t err;

	asked = key;
	switch (key) {
	case ARGP_KEY_ARG:
		if (p->o->host)
			argp_error(state, "one HOST is enough");
		p->o->host = arg;
		return 0;
	case ARGP_KEY_END:
		check_options(p, state);
		return 0;
	}
	perftest_only_refuse(key, state);
	err = parse_what(key, arg, p, state);
	if (err == ARGP_ERR_UNKNOWN)
		err = parse_how(key, arg, p->o, state);
	return err == ARGP_ERR_UNKNOWN ? parse_told(key, arg, p->o, state) : err;
}

void tool_parse(const struct tool_test *test, struct tool_options *o, int argc, char **argv)
{
	struct argp_option options[sizeof(offers) / sizeof(*offers) + PERFTEST_ONLY + 1] = { 0 };
	char doc[256];
	struct argp argp = { options, parse, "[HOST]", doc, program_options, NULL, NULL };
	struct parsing p = { .o = o, .test = test };
	size_t i, n = 0;

	snprintf(doc, sizeof(doc), "%s\vWithout HOST it is the server, for one client. "
		 "dat_perf(7) describes all options.", test->doc);
	for (i = 0; i < sizeof(offers) / sizeof(*offers); i++)
		if (!offers[i].takes || offers[i].takes & test->takes)
			options[n++] = offers[i].option;
	perftest_only(options + n);
	*o = (struct tool_options){
		.ia = "soft-mlx5-0", .port = OPTION_DEFAULT_PORT, .size = test->size,
		.iters = test->iters, .eps = 1, .processes = 1, .depth = test->depth,
		.rx_depth = 512, .warm_up = 100,
		.cpu = -1,
	};
	argp_parse(&argp, argc, argv, 0, NULL, &p);
}
