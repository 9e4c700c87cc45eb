/* SPDX-License-Identifier: BSD-2-Clause */
/* One line for each IA: totals, or rates since an earlier sample. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "perf/dat_top/top.h"

#define FAILURES (DAP_PAGE_NCOUNTERS - DAP_PAGE_FAILED)

static const struct column {
	const char *name;
	unsigned int first, n;		/* the column shows the sum of these counters */
	bool rate;			/* per second, if there is an earlier sample */
	double unit;
} columns[] = {
	{ "REQUESTS", DAP_PAGE_POSTED, DAP_PAGE_POSTED_RECV - DAP_PAGE_POSTED, true, 1 },
	{ "MB", DAP_PAGE_BYTES, DAP_PAGE_RECEIVES - DAP_PAGE_BYTES, true, 1e6 },
	{ "RECEIVES", DAP_PAGE_RECEIVES, 1, true, 1 },
	{ "EVENTS", DAP_PAGE_DEQUEUED, 1, true, 1 },
	{ "SLEEPS", DAP_PAGE_SLEEPS, 1, true, 1 },
	{ "CONNECTED", DAP_PAGE_CONN, 1, true, 1 },
	{ "BROKEN", DAP_PAGE_CONN_BROKEN, 1, false, 1 },
	{ "ERRORS", DAP_PAGE_FAILED_LOCAL_LENGTH, FAILURES - 1, false, 1 },
	{ "OVERFLOWS", DAP_PAGE_ASYNC, 1, false, 1 },
};
#define NCOLUMNS (sizeof(columns) / sizeof(columns[0]))

static void print_head(bool rates)
{
	printf("%8s %-15s %-20s %6s", "PID", "COMMAND", "IA", "EPS");
	for (const struct column *c = columns; c < columns + NCOLUMNS; c++)
		printf(" %*s%s", rates && c->rate ? 10 : 12, c->name, rates && c->rate ? "/s" : "");
	printf(" %6s\n", "AGE");
}

/* Returns the sum of a column; DAP_PAGE_UNKNOWN if one of its counters is unknown. */
static uint64_t sum_of(const struct column *c, const struct dap_page *page)
{
	uint64_t sum = 0;

	for (unsigned int i = c->first; i < c->first + c->n; i++) {
		if (page->value[i] == DAP_PAGE_UNKNOWN)
			return DAP_PAGE_UNKNOWN;
		sum += page->value[i];
	}
	return sum;
}

/* Rates use the times at which the process wrote both samples. */
static void print_column(const struct column *c, const struct top_ia *now, const struct top_ia *before)
{
	uint64_t sum = sum_of(c, &now->page), was = 0;
	double value = (double)sum / c->unit, seconds;

	if (before)
		was = sum_of(c, &before->page);
	if (sum == DAP_PAGE_UNKNOWN || was == DAP_PAGE_UNKNOWN) {
		printf(" %12s", "-");
		return;
	}
	if (before && c->rate) {
		seconds = (double)(now->page.updated - before->page.updated) / 1e9;
		value = seconds > 0 ? (double)(sum - was) / c->unit / seconds : 0;
	}
	printf(" %12.*f", c->unit > 1 || (before && c->rate && value < 100) ? 1 : 0, value);
}

static const struct top_ia *find(const struct top *t, const char *name)
{
	for (size_t i = 0; t && i < t->n; i++) {
		if (!strcmp(t->ia[i].name, name))
			return &t->ia[i];
	}
	return NULL;
}

/* An IA without an earlier sample has been open for less than an interval: its totals are shown in the
 * next one. */
static void print_ia(const struct top_ia *ia, const struct top_ia *before)
{
	printf("%8d %-15s %-20s %6" PRIu64, (int)ia->pid, ia->page.command, ia->page.ia,
	       ia->page.value[DAP_PAGE_CREATED_EP] - ia->page.value[DAP_PAGE_FREED_EP]);
	for (const struct column *c = columns; c < columns + NCOLUMNS; c++)
		print_column(c, ia, before);
	printf(" %6.1f\n", ia->age);
}

void top_table(const struct top *t, const struct top *before)
{
	print_head(before != NULL);
	for (size_t i = 0; i < t->n; i++) {
		const struct top_ia *was = find(before, t->ia[i].name);

		if (was || !before)
			print_ia(&t->ia[i], was);
	}
}
