/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes one JSON document for a run: {"test_info": {...}, "results": [one for each size]}. */
#include "perf/common/json.h"
#include "perf/tool/bw.h"
#include "perf/tool/report.h"
#include "softnic/argp/program.h"

static json_t *info_of(const struct tool *t, const struct tool_report *r)
{
	const struct tool_options *o = &t->o;
	const struct tool_facts *f = &r->facts;
	const struct { const char *key, *text; } texts[] = {
		{ "test", t->test->title }, { "program", t->test->name }, { "Device", o->ia },
		{ "adapter", f->adapter }, { "provider", f->provider }, { "access", f->access },
		{ "driven_by", f->driven_by }, { "doorbell", f->doorbell }, { "hot_functions", f->hot },
		{ "Link_type", f->link }, { "Mtu", f->mtu }, { "Max_inline_data", f->inline_size },
		{ "cpu", r->place }, { "cpu_of_peer", r->peer_place },
	};
	json_t *j = json_object();

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		json_object_set_new(j, texts[i].key, json_text(texts[i].text));
	json_object_set_new(j, "Number_of_qps", json_integer(o->eps));
	json_object_set_new(j, "Connection_type", json_string("RC"));
	json_object_set_new(j, "TX_depth", json_integer(o->depth));
	json_object_set_new(j, "CQ_Moderation", json_integer(bw_moderation(t)));
	json_object_set_new(j, "iterations", json_integer((json_int_t)o->iters));
	json_object_set_new(j, "duration_s", json_integer((json_int_t)o->duration_s));
	json_object_set_new(j, "margin_s", json_integer((json_int_t)o->margin_s));
	json_object_set_new(j, "warm_up", json_integer((json_int_t)o->warm_up));
	json_object_set_new(j, "bidirectional", json_boolean(o->both_ways));
	json_object_set_new(j, "events", json_boolean(o->events));
	json_object_set_new(j, "target_polls", json_boolean(o->target_polls));
	json_object_set_new(j, "verified", json_boolean(o->verify));
	json_object_set_new(j, "BW_unit", json_string(o->gbits ? "Gb/sec" : "MiB/sec"));
	return j;
}

static json_t *worst_of(const struct tool *t, const struct tool_result *r)
{
	json_t *list = json_array();
	int i;

	for (i = 0; i < RECORD_WORST && r->worst[i].ticks; i++)
		json_array_append_new(list, json_pack("{s:f, s:f}", "usec",
			ticks_to_ns(r->worst[i].ticks) * t->rec.part / 1e3,
			"at_s", ticks_to_ns(r->worst[i].at) / 1e9));
	return list;
}

static void add_rate(json_t *j, const struct tool *t, const struct tool_result *r)
{
	json_object_set_new(j, "rate_asked", json_integer((json_int_t)t->o.rate));
	json_object_set_new(j, "rate_reached", json_real(r->rate));
	json_object_set_new(j, "late_starts", json_integer((json_int_t)r->late));
	json_object_set_new(j, "latest_start_usec", json_real(r->late_ns / 1e3));
	json_object_set_new(j, "unstarted", json_integer((json_int_t)r->unstarted));
}

static json_t *explain_of(const struct tool_result *r)
{
	const struct explain_result *e = &r->explain;
	const struct record *f = explain_floor();
	json_t *causes = json_object();
	unsigned int c;

	for (c = 0; c < EXPLAIN_CAUSES; c++)
		json_object_set_new(causes, explain_keys[c],
				    json_pack("{s:I, s:f}", "samples", (json_int_t)e->n[c], "longest_usec",
					      e->longest_ns[c] / 1e3));
	return json_pack("{s:f, s:o, s:{s:I, s:f}}", "limit_usec", e->limit_ns / 1e3, "causes", causes,
			 "jitter_floor", "gaps_per_s", (json_int_t)record_between(f, e->limit_ns, 1e300),
			 "longest_usec", ticks_to_ns(f->max) / 1e3);
}

static void add_latency(json_t *j, const struct tool *t, const struct tool_result *r)
{
	const struct record_summary *s = &r->lat;
	json_t *l = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "t_min", s->min / 1e3,
			      "t_max", s->max / 1e3, "t_typical", s->typical / 1e3, "t_avg",
			      s->avg / 1e3, "t_stdev", s->stdev / 1e3, "percentile_99", s->p99 / 1e3,
			      "percentile_99.9", s->p999 / 1e3, "worst", worst_of(t, r));

	json_object_update(j, l);
	json_decref(l);
	json_object_set_new(j, "started_s", json_real((double)r->started_ns / 1e9));
	json_object_set_new(j, t->test->metric == TOOL_LATENCY ? "tps_average" : "connections_per_s",
			    json_real(r->rate));
	if (t->o.rate)
		add_rate(j, t, r);
	if (t->o.explain)
		json_object_set_new(j, "explain", explain_of(r));
	if (r->line_ns > 0) {
		json_object_set_new(j, "cache_line_ns", json_real(r->line_ns));
		json_object_set_new(j, "typical_to_cache_line", json_real(s->typical / r->line_ns));
	}
}

static void add_bandwidth(json_t *j, const struct tool *t, const struct tool_result *r)
{
	double unit = t->o.gbits ? 1e9 / 8 : 1 << 20;

	/* Binds move no bytes. */
	if (t->test->metric == TOOL_BANDWIDTH) {
		json_object_set_new(j, "BW_peak", json_real(r->peak / unit));
		json_object_set_new(j, "BW_average", json_real(r->average / unit));
	}
	json_object_set_new(j, "MsgRate", json_real(r->rate / 1e6));
}

static json_t *result_of(const struct tool *t, const struct tool_result *r)
{
	json_t *j = json_pack("{s:I, s:I}", t->test->metric == TOOL_CONNECTIONS ? "at_a_time" :
			      "MsgSize", (json_int_t)r->size, "n_iterations", (json_int_t)r->iters);

	if (!j)
		return NULL;
	if (t->test->metric == TOOL_LATENCY || t->test->metric == TOOL_CONNECTIONS)
		add_latency(j, t, r);
	else
		add_bandwidth(j, t, r);
	if (t->o.cpu_util)
		json_object_set_new(j, "CPU_util", json_real(r->cpu));
	return j;
}

int report_possible(const struct tool *t)
{
	return program_can_write(t->o.json) && program_can_write(t->o.plot) ? 0 : -1;
}

int report_json(const struct tool *t, const struct tool_report *r)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < r->n; i++)
		json_array_append_new(list, result_of(t, &r->results[i]));
	return json_write(json_pack("{s:o, s:o}", "test_info", info_of(t, r), "results", list), t->o.json);
}
