/* SPDX-License-Identifier: BSD-2-Clause */
/* Draws with gnuplot: for one size, the distribution of its samples; for several, the figures over the
 * size. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "perf/tool/report.h"

enum { STEPS = 400 };

int plot_possible(void)
{
	if (system("command -v gnuplot >/dev/null 2>&1") == 0)
		return 0;
	fprintf(stderr, "--plot needs gnuplot: apt-get install gnuplot-nox\n");
	return -1;
}

/* In a string of gnuplot between single quotes, a single quote is written twice. */
static void put_quoted(FILE *p, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputc('\'', p);
		fputc(*text, p);
	}
}

static void plot_header(const struct tool *t, FILE *p)
{
	bool svg = !strcmp(t->o.plot + strlen(t->o.plot) - 4, ".svg");

	fprintf(p, "set terminal %s noenhanced size 900,540 background rgb 'white'\nset output '",
		svg ? "svg" : "png");
	put_quoted(p, t->o.plot);
	fprintf(p, "'\nset title '%s, ", t->test->title);
	put_quoted(p, t->o.ia);
	fprintf(p, "'\nset grid\nset key left top\n");
}

static void plot_distribution(const struct tool *t, const struct tool_report *r, FILE *p)
{
	double q;
	int i;

	fprintf(p, t->test->metric == TOOL_CONNECTIONS ?
		"set xlabel 'usec (%" PRIu64 " connections, %" PRIu64 " at a time)'\n" :
		"set xlabel 'usec (%" PRIu64 " samples of %" PRIu64 " bytes)'\n",
		t->rec.n, r->results[0].size);
	fprintf(p, "set ylabel 'share of samples that took no longer'\nset logscale x\n");
	fprintf(p, "set yrange [0:1]\nplot '-' using 1:2 with steps lw 2 title 'samples'\n");
	for (i = 0; i <= STEPS; i++) {
		q = (double)i / STEPS;
		fprintf(p, "%f %f\n", record_quantile_ns(&t->rec, q) / 1e3, q);
	}
	fprintf(p, "e\n");
}

static void latency_column(const struct tool_report *r, FILE *p, size_t offset)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		fprintf(p, "%" PRIu64 " %f\n", r->results[i].size,
			*(const double *)((const char *)&r->results[i].lat + offset) / 1e3);
	fprintf(p, "e\n");
}

/* Labels an axis with sizes such as 2, 64, 1 KiB and 8 MiB. */
static void bytes_axis(FILE *p)
{
	fprintf(p, "set xlabel 'bytes'\nset logscale x 2\nset format x '%%.0b %%BB'\n");
}

static void latency_over_size(const struct tool_report *r, FILE *p)
{
	bytes_axis(p);
	fprintf(p, "set ylabel 'usec'\nset logscale y\n"
		"plot '-' with linespoints title 'typical', '-' with linespoints title '99%%', "
		"'-' with linespoints title '99.9%%'\n");
	latency_column(r, p, offsetof(struct record_summary, typical));
	latency_column(r, p, offsetof(struct record_summary, p99));
	latency_column(r, p, offsetof(struct record_summary, p999));
}

static void rate_over_size(const struct tool *t, const struct tool_report *r, FILE *p)
{
	bool bytes = t->test->metric == TOOL_BANDWIDTH;
	size_t i;

	bytes_axis(p);
	fprintf(p, "set ylabel 'million operations per second'\n");
	if (bytes)
		fprintf(p, "set y2label 'MiB per second'\nset y2tics\n");
	fprintf(p, "plot '-' with linespoints title 'rate'%s\n",
		bytes ? ", '-' axes x1y2 with linespoints title 'bandwidth'" : "");
	for (i = 0; i < r->n; i++)
		fprintf(p, "%" PRIu64 " %f\n", r->results[i].size, r->results[i].rate / 1e6);
	fprintf(p, "e\n");
	for (i = 0; bytes && i < r->n; i++)
		fprintf(p, "%" PRIu64 " %f\n", r->results[i].size, r->results[i].average / (1 << 20));
	if (bytes)
		fprintf(p, "e\n");
}

int report_plot(const struct tool *t, const struct tool_report *r)
{
	FILE *p = popen("gnuplot", "w");
	int status;

	if (!p) {
		fprintf(stderr, "cannot start gnuplot: %m\n");
		return -1;
	}
	plot_header(t, p);
	if (t->test->metric == TOOL_LATENCY || t->test->metric == TOOL_CONNECTIONS) {
		if (r->n == 1)
			plot_distribution(t, r, p);
		else
			latency_over_size(r, p);
	} else {
		rate_over_size(t, r, p);
	}
	status = pclose(p);
	if (WIFSIGNALED(status))
		fprintf(stderr, "%s: gnuplot was ended by signal %d\n", t->o.plot, WTERMSIG(status));
	else if (status)
		fprintf(stderr, "%s: gnuplot ended with status %d\n", t->o.plot, WEXITSTATUS(status));
	return status ? -1 : 0;
}
