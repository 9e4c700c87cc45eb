/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf/tool/params.h"
#include "perf/tool/report.h"

enum { SIZES_MAX = 24, FIRST_SIZE = 2 };

/* Converts options to words of ia_params. */
static void words_of(const struct tool_options *o, char *words, size_t len)
{
	const struct { const char *key, *value; } all[] = {
		{ "inline", o->inline_size }, { "ack_timeout", o->timeout }, { "sl", o->sl },
		{ "tclass", o->tclass }, { "gid_index", o->gid_index },
	};
	size_t n = 0;

	*words = '\0';
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].value && n < len)
			n += (size_t)snprintf(words + n, len - n, "%s=%s ", all[i].key, all[i].value);
}

static int open_adapter(struct tool *t, char **argv)
{
	char words[160];

	words_of(&t->o, words, sizeof(words));
	/* At 2.0 params_add() starts the program again, which must find all CPUs that it may use. */
	if ((*words && params_add(t->o.ia, words, argv)) || tool_pin(t->o.cpu))
		return -1;
	return consumer_open(&t->c, t->o.ia);
}

static int stop_and_done(struct tool *t, struct tool_result *r)
{
	struct tool_msg m = { .op = OP_STOP, .sent = t->sent };

	if (ctl_send(t, &m))
		return -1;
	t->draining = t->o.both_ways;
	if (t->draining && t->test->drain ? t->test->drain(t) : ctl_wait(t, OP_DONE))
		return -1;
	t->draining = false;
	if (!t->msg.good) {
		fprintf(stderr, "the server received wrong data: see its output\n");
		return -1;
	}
	if (t->o.both_ways && t->msg.ns) {
		double rate = (double)t->msg.count / ((double)t->msg.ns / 1e9);

		r->iters += t->msg.count;
		r->rate += rate;
		r->average += rate * (double)t->size;
		r->peak = 0;
	}
	return 0;
}

static int measure(struct tool *t, struct tool_result *r)
{
	struct tool_msg m = { .op = OP_START, .size = t->size, .seed = t->seed };
	bool line = t->test->metric == TOOL_LATENCY;
	double cpu, before = line ? tool_line_ns() : 0;
	uint64_t from;
	int rc;

	*r = (struct tool_result){ .size = t->size };
	t->stop = false;
	t->silent_since = 0;
	if ((t->test->prepare && t->test->prepare(t)) || ctl_send(t, &m) || ctl_wait(t, OP_READY))
		return -1;
	progress_start(t, NULL);
	cpu = tool_cpu_s();
	from = now_ns();
	rc = t->test->measure(t, r);
	r->started_ns = t->started_ns;
	r->cpu = (tool_cpu_s() - cpu) / ((double)(now_ns() - from) / 1e9) * 100;
	progress_stop();
	if (rc || stop_and_done(t, r) || (t->test->finish && t->test->finish(t)))
		return -1;
	if (line)
		r->line_ns = (before + tool_line_ns()) / 2;
	return 0;
}

static int print_row(struct tool *t, const struct tool_result *r)
{
	struct tool_msg m = { .op = OP_ROW };

	report_row(t, r, m.text, sizeof(m.text));
	puts(m.text);
	if (fflush(stdout))
		return -1;
	report_samples(t);
	return ctl_send(t, &m);
}

static size_t sizes_of(const struct tool *t, uint64_t *sizes)
{
	uint64_t s;
	size_t n = 0;

	if (!t->o.all)
		sizes[n++] = t->o.size;
	else
		for (s = FIRST_SIZE; s <= t->o.size; s *= 2)
			sizes[n++] = s;
	return n;
}

static int all_sizes(struct tool *t, struct tool_report *rep, const uint64_t *sizes, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		tool_set_size(t, sizes[i]);
		t->seed++;
		if (measure(t, &rep->results[i]) || print_row(t, &rep->results[i]))
			return -1;
		rep->n = i + 1;
	}
	return 0;
}

static int results_told(struct tool *t, struct tool_report *rep)
{
	int status;
	size_t i;

	report_line();
	for (i = 0; i < rep->n; i++) {
		if (rep->results[i].worst[0].ticks)
			report_worst(t, &rep->results[i]);
		if (t->o.rate)
			report_rate(t, &rep->results[i]);
		if (t->o.explain)
			report_explain(&rep->results[i]);
	}
	status = report_limits(t, rep);
	if (t->o.verify)
		puts(" all data verified");
	if ((t->o.json && report_json(t, rep)) || (t->o.plot && report_plot(t, rep)))
		status = 1;
	ctl_bye(t);
	return status;
}

/* Exchanges texts that describe the CPUs of both sides. The peer's text comes with the answer to
 * the first message. */
static int exchange_place(struct tool *t, struct tool_report *rep)
{
	struct tool_msg m = { .op = OP_ROW };

	tool_place(t, rep->place, sizeof(rep->place));
	snprintf(m.text, sizeof(m.text), "%s", rep->place);
	if (ctl_send(t, &m) || ctl_wait(t, OP_ROW))
		return -1;
	snprintf(rep->peer_place, sizeof(rep->peer_place), "%.90s", t->msg.text);
	report_facts(t, &rep->facts);
	t->port = *rep->facts.port ? rep->facts.port : t->o.ia;
	t->size = t->o.size;
	report_box(t, rep);
	return 0;
}

static int greet_back(struct tool *t, struct tool_report *rep)
{
	struct tool_msg m = { .op = OP_ROW };

	tool_place(t, rep->place, sizeof(rep->place));
	snprintf(m.text, sizeof(m.text), "%s", rep->place);
	report_facts(t, &rep->facts);
	t->size = t->o.size;
	t->iters = t->o.iters;
	report_box(t, rep);
	return ctl_send(t, &m);
}

static int connect_all(struct tool *t)
{
	int rc;

	progress_start(t, "connecting");
	rc = tool_connect(t);
	progress_stop();
	return rc;
}

static int client(struct tool *t)
{
	struct tool_result results[SIZES_MAX];
	struct tool_report rep = { .results = results };
	uint64_t sizes[SIZES_MAX];
	size_t n = sizes_of(t, sizes);

	t->seed = now_ns();
	if (connect_all(t) || exchange_place(t, &rep) || (t->test->open && t->test->open(t)))
		return 1;
	do {
		if (all_sizes(t, &rep, sizes, n))
			return 1;
	} while (t->o.infinite);
	return results_told(t, &rep);
}

static int serve_size(struct tool *t)
{
	struct tool_msg m = { .op = OP_READY };
	int good;

	if (!t->msg.size || t->msg.size > t->max_size) {
		fprintf(stderr, "protocol error: the client measures %" PRIu64 " bytes, and its memory here "
			"has %" PRIu64 "; run the same release on both hosts\n", t->msg.size, t->max_size);
		return -1;
	}
	tool_set_size(t, t->msg.size);
	t->seed = t->msg.seed;
	t->stop = false;
	t->own_count = t->own_ns = t->sent = 0;
	if ((t->test->prepare && t->test->prepare(t)) || ctl_send(t, &m))
		return -1;
	if (t->test->serve(t))
		return -1;
	good = !t->test->finish || t->test->finish(t) == 0;
	m = (struct tool_msg){ .op = OP_DONE, .good = (uint32_t)good, .count = t->own_count,
			       .ns = t->own_ns, .sent = t->sent };
	return ctl_send(t, &m) || !good ? -1 : 0;
}

/* Handles one message. 1: the client is done. */
static int serve_message(struct tool *t)
{
	if (ctl_wait_any(t))
		return -1;
	switch (t->msg.op) {
	case OP_START: return serve_size(t);
	case OP_ROW: puts(t->msg.text); fflush(stdout); return 0;
	case OP_BYE: report_line(); return 1;
	}
	fprintf(stderr, "protocol error: unexpected message %u from the client; "
		"run the same release on both hosts\n", t->msg.op);
	return -1;
}

static int server(struct tool *t)
{
	struct tool_report rep = { .n = 0 };
	int rc;

	if (consumer_listen(&t->c, t->o.port))
		return 1;
	puts("\n************************************\n* Waiting for client to connect... *\n"
	     "************************************");
	fflush(stdout);
	if (tool_serve_connect(t) || ctl_wait(t, OP_ROW))
		return 1;
	snprintf(rep.peer_place, sizeof(rep.peer_place), "%.90s", t->msg.text);
	if (greet_back(t, &rep) || (t->test->open && t->test->open(t)))
		return 1;
	do
		rc = serve_message(t);
	while (rc == 0);
	return rc != 1;
}

static void tool_close(struct tool *t)
{
	/* Closing the IA ends its registrations, so the memory is freed after that. */
	consumer_close(&t->c);
	free(t->mine.buf);
	free(t->local.buf);
	free(t->ctl_send.buf);
	free(t->ctl_recv.buf);
	free(t->eps);
	record_free(&t->rec);
}

int tool_main(const struct tool_test *test, int argc, char **argv)
{
	struct tool t = { .test = test };
	int status = 1;

	signal(SIGPIPE, SIG_IGN);
	tool_parse(test, &t.o, argc, argv);
	t.client = t.o.host != NULL;
	t.iters = t.o.iters;
	if ((t.o.plot && plot_possible()) || report_possible(&t))
		return 1;
	ticks_init();
	if (open_adapter(&t, argv) == 0)
		status = t.client ? client(&t) : server(&t);
	tool_close(&t);
	if (status)
		fprintf(stderr, "%s %s: FAILED\n", test->name, t.client ? "client" : "server");
	return status;
}
