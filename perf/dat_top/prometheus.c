/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters in Prometheus' text format 0.0.4. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf/dat_top/top.h"

static const struct { const char *family, *label, *value; } counters[DAP_PAGE_NCOUNTERS] = {
#define X(index, family, label, value) { family, label, value },
	DAP_PAGE_COUNTERS(X)
#undef X
};

static const struct { const char *family, *help; } helps[] = {
	{ "objects_created", "Objects of DAT that were created." },
	{ "objects_freed", "Objects of DAT that were freed." },
	{ "connection_requests", "Connection requests, and the answers to them." },
	{ "connection_events", "Events of connections." },
	{ "async_events", "Asynchronous events." },
	{ "posts", "Posted requests, and receives of endpoints." },
	{ "posted_bytes", "Bytes of posted requests." },
	{ "receives", "Receives that were completed." },
	{ "received_bytes", "Bytes of received messages." },
	{ "events_dequeued", "Events that dequeues and waits returned." },
	{ "empty_dequeues", "Dequeues that found no event." },
	{ "completion_notifications", "Notifications of completions by the adapter." },
	{ "evd_waits", "Calls of dat_evd_wait." },
	{ "evd_sleeps", "Sleeps within dat_evd_wait." },
	{ "failed_completions", "Completions with an error." },
};

static const char *help_of(const char *family)
{
	for (size_t i = 0; i < sizeof(helps) / sizeof(helps[0]); i++) {
		if (!strcmp(helps[i].family, family))
			return helps[i].help;
	}
	return family;
}

static bool is_same_series(const struct top_ia *a, const struct top_ia *b)
{
	return a->pid == b->pid && !strcmp(a->page.ia, b->page.ia) &&
	       !strcmp(a->page.provider, b->page.provider);
}

/* A process may open an IA more than once, but a series may occur only once: adds these pages up. */
static void merge(const struct top *t, struct top *out)
{
	for (const struct top_ia *ia = t->ia; ia < t->ia + t->n; ia++) {
		struct top_ia *to = out->ia;

		while (to < out->ia + out->n && !is_same_series(to, ia))
			to++;
		if (to == out->ia + out->n) {
			out->ia[out->n++] = *ia;
			continue;
		}
		if (ia->age > to->age)
			to->age = ia->age;
		for (size_t i = 0; i < DAP_PAGE_NCOUNTERS; i++) {
			if (ia->page.value[i] == DAP_PAGE_UNKNOWN)
				to->page.value[i] = DAP_PAGE_UNKNOWN;
			else if (to->page.value[i] != DAP_PAGE_UNKNOWN)
				to->page.value[i] += ia->page.value[i];
		}
	}
}

static void print_escaped(const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
}

/* Prints a name with its labels. */
static void print_series(const char *name, const char *suffix, const struct top_ia *ia, const char *label,
			 const char *value)
{
	printf("dapl_%s%s{ia=\"", name, suffix);
	print_escaped(ia->page.ia);
	printf("\",pid=\"%d\",provider=\"", (int)ia->pid);
	print_escaped(ia->page.provider);
	putchar('"');
	if (label)
		printf(",%s=\"%s\"", label, value);
	printf("} ");
}

static void print_counters(const struct top *t)
{
	for (size_t i = 0; i < DAP_PAGE_NCOUNTERS; i++) {
		const char *family = counters[i].family;

		if (!i || strcmp(family, counters[i - 1].family))
			printf("# HELP dapl_%s_total %s\n# TYPE dapl_%s_total counter\n", family,
			       help_of(family), family);
		for (size_t k = 0; k < t->n; k++) {
			if (t->ia[k].page.value[i] == DAP_PAGE_UNKNOWN)
				continue;
			print_series(family, "_total", &t->ia[k], counters[i].label, counters[i].value);
			printf("%" PRIu64 "\n", t->ia[k].page.value[i]);
		}
	}
}

void top_prometheus(const struct top *t)
{
	struct top all = { .ia = malloc((t->n + 1) * sizeof(*all.ia)) };

	if (!all.ia) {
		perror("dat_top");
		exit(EXIT_FAILURE);
	}
	merge(t, &all);
	print_counters(&all);
	printf("# HELP dapl_age_seconds Age of these values; 0 if the process has just written them.\n"
	       "# TYPE dapl_age_seconds gauge\n");
	for (size_t k = 0; k < all.n; k++) {
		print_series("age_seconds", "", &all.ia[k], NULL, NULL);
		printf("%.3f\n", all.ia[k].age);
	}
	free(all.ia);
}
