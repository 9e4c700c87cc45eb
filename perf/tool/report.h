/* SPDX-License-Identifier: BSD-2-Clause */
/* The output of a run: perftest's box and columns, samples, worst samples; JSON; a plot. */
#ifndef PERF_REPORT_H
#define PERF_REPORT_H

#include <stdio.h>

#include "perf/tool/tool.h"

/* Attributes of the adapter and of its provider; "" if unknown. */
struct tool_facts {
	char adapter[128], provider[128], address[64], port[80];
	char access[64], driven_by[64], doorbell[64], inline_size[64], link[64], mtu[64], hot[64];
};

struct tool_report {
	struct tool_facts facts;
	char place[96], peer_place[96];
	struct tool_result *results;
	size_t n;
};

void report_facts(struct tool *t, struct tool_facts *f);
void report_box(const struct tool *t, const struct tool_report *r);
void report_row(const struct tool *t, const struct tool_result *r, char *text, size_t len);
void report_samples(const struct tool *t);
void report_worst(const struct tool *t, const struct tool_result *r);
void report_line(void);
/* rate.c: prints the rate that was reached, and how late operations started. */
void report_rate(const struct tool *t, const struct tool_result *r);
/* Returns 0. Returns 1, after a message, if no row reaches a limit of -w or -y. As in perftest, one size
 * of -a suffices. */
int report_limits(const struct tool *t, const struct tool_report *rep);

/* progress.c: starts a thread that prints a line on stderr every two seconds. doing: what the program
 * does; NULL: it measures. */
void progress_start(struct tool *t, const char *doing);
void progress_stop(void);

/* Functions of json.c and plot.c. They return 0, or -1 after a line on stderr. */
/* Checks before the measurement that the files can be written. */
int report_possible(const struct tool *t);
int report_json(const struct tool *t, const struct tool_report *r);
int plot_possible(void);
int report_plot(const struct tool *t, const struct tool_report *r);

#endif
