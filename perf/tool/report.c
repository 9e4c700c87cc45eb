/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/tool/report.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "perf/tool/bw.h"

enum { BARS = 60, BAR_ROWS = 20 };

static void copy_attr(char *to, size_t len, const DAT_NAMED_ATTR *a, const char *name)
{
	if (!strcmp(a->name, name))
		snprintf(to, len, "%s", (const char *)a->value);
}

static void take_named(struct tool_facts *f, const DAT_PROVIDER_ATTR *p)
{
	const DAT_NAMED_ATTR *a;
	DAT_COUNT i;

	for (i = 0; i < p->num_provider_specific_attr; i++) {
		a = &p->provider_specific_attr[i];
		copy_attr(f->port, sizeof(f->port), a, "device");
		copy_attr(f->access, sizeof(f->access), a, "access");
		copy_attr(f->driven_by, sizeof(f->driven_by), a, "driven_by");
		copy_attr(f->doorbell, sizeof(f->doorbell), a, "doorbell");
		copy_attr(f->inline_size, sizeof(f->inline_size), a, "inline");
		copy_attr(f->link, sizeof(f->link), a, "link_layer");
		copy_attr(f->mtu, sizeof(f->mtu), a, "path_mtu");
		copy_attr(f->hot, sizeof(f->hot), a, "hot_functions");
	}
}

void report_facts(struct tool *t, struct tool_facts *f)
{
	DAT_PROVIDER_ATTR prov;
	DAT_EVD_HANDLE async;
	DAT_IA_ATTR ia;

	memset(f, 0, sizeof(*f));
	memset(&ia, 0, sizeof(ia));
	memset(&prov, 0, sizeof(prov));
	if (!dat_ok(dat_ia_query(t->c.ia, &async, DAT_IA_FIELD_ALL, &ia, DAT_PROVIDER_FIELD_ALL,
				 &prov), "dat_ia_query"))
		return;
	snprintf(f->adapter, sizeof(f->adapter), "%.60s by %.60s", ia.adapter_name, ia.vendor_name);
	snprintf(f->provider, sizeof(f->provider), "%.60s %u.%u, uDAPL %u.%u, %s", prov.provider_name,
		 prov.provider_version_major, prov.provider_version_minor, prov.dapl_version_major,
		 prov.dapl_version_minor, prov.is_thread_safe ? "threadsafe" : "nonthreadsafe");
	if (ia.ia_address_ptr)
		consumer_address(&ia, f->address, sizeof(f->address));
	take_named(f, &prov);
}

void report_line(void)
{
	puts("-------------------------------------------------------------------------------"
	     "--------");
}

static void fact(const char *name, const char *value)
{
	if (*value)
		printf(" %-16s: %s\n", name, value);
}

static void box_how(const struct tool *t)
{
	const struct tool_options *o = &t->o;

	if (o->duration_s)
		printf(" %-16s: %" PRIu64 " s, of which %" PRIu64 " s at either end do not count\n",
		       "Duration", o->duration_s, o->margin_s);
	if (o->rate)
		printf(" %-16s: %" PRIu64 " operations per second (open loop)\n", "Rate", o->rate);
	if (t->test->takes & TAKES_PROCESSES)
		printf(" %-16s: %u\n", "Processes", o->processes);
	printf(" %-16s: %" PRIu64 " operations before the first that counts\n", "Warm-up", o->warm_up);
	printf(" %-16s: %s\n", "Waiting", o->events || t->test->metric == TOOL_CONNECTIONS ?
	       "asleep in dat_evd_wait" : "polling");
	if (t->test->takes & TAKES_TARGET)
		printf(" %-16s: %s\n", "Target", o->target_polls ? "polls an EVD" :
		       t->test->looks ? "polls only its memory" : "asleep");
	printf(" %-16s: %s, %.1f MHz\n", "Clock", ticks_of_cpu ? "counter of the CPU" :
	       "CLOCK_MONOTONIC", ticks_mhz());
}

static void columns(const struct tool *t)
{
	static const char latency[] = "    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]"
		"    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]";
	const char *unit = t->o.gbits ? "Gb/sec" : "MiB/sec";

	printf(t->test->metric == TOOL_CONNECTIONS ? " #at a time #connections" :
						     " #bytes     #iterations");
	switch (t->test->metric) {
	case TOOL_LATENCY:
		printf("%s%s   line[nsec]   t_typical/line", t->o.duration_s ? "    tps average" : "",
		       latency);
		break;
	case TOOL_BANDWIDTH:
		printf("    BW peak[%s]    BW average[%s]   MsgRate[Mpps]", unit, unit);
		break;
	case TOOL_RATE:
		printf("    peak[Mops]     average[Mops]");
		break;
	case TOOL_CONNECTIONS:
		printf("%s    conn/sec", latency);
		break;
	}
	printf("%s\n", t->o.cpu_util ? "    CPU_Util[%]" : "");
}

void report_box(const struct tool *t, const struct tool_report *r)
{
	const struct tool_facts *f = &r->facts;

	report_line();
	printf("                    %s\n", t->test->title);
	printf(" %-16s: %-8u Device         : %s\n", "Number of qps", t->o.eps, t->o.ia);
	printf(" %-16s: %-8s Using SRQ      : OFF\n", "Connection type", "RC");
	fact("Adapter", f->adapter);
	fact("Provider", f->provider);
	fact("Access", f->access);
	fact("Driven by", f->driven_by);
	fact("Doorbell", f->doorbell);
	fact("Hot functions", f->hot);
	printf(" %-16s: %u\n", "TX depth", t->o.depth);
	if (t->test->takes & TAKES_RX)
		printf(" %-16s: %u\n", "RX depth", t->o.rx_depth);
	if (t->test->takes & TAKES_DEPTH)
		printf(" %-16s: %u\n", "CQ Moderation", bw_moderation(t));
	fact("Mtu[B]", f->mtu);
	fact("Link type", f->link);
	fact("Max inline[B]", f->inline_size);
	printf(" %-16s: %s\n", "Data ex. method", "connection of DAT");
	box_how(t);
	fact("CPU", r->place);
	fact("CPU of the peer", r->peer_place);
	report_line();
	printf(" local address: %s, RMR context 0x%08x, VAddr 0x%016" PRIx64 "\n",
	       *f->address ? f->address : "?", t->mine.rmr_context, (uint64_t)(uintptr_t)t->mine.buf);
	if (t->eps[0].peer.addr)
		printf(" remote address: %s, RMR context 0x%08x, VAddr 0x%016" PRIx64 "\n",
		       t->client ? t->o.host : "client", t->eps[0].peer.rmr_context,
		       t->eps[0].peer.addr);
	report_line();
	columns(t);
	fflush(stdout);
}

static int latency_columns(const struct record_summary *s, char *text, size_t len)
{
	return snprintf(text, len, "    %-14.2f %-12.2f %-18.2f %-14.2f %-16.2f %-22.2f %-22.2f",
			s->min / 1e3, s->max / 1e3, s->typical / 1e3, s->avg / 1e3, s->stdev / 1e3,
			s->p99 / 1e3, s->p999 / 1e3);
}

void report_row(const struct tool *t, const struct tool_result *r, char *text, size_t len)
{
	double unit = t->o.gbits ? 1e9 / 8 : 1 << 20;
	int n = snprintf(text, len, " %-10" PRIu64 " %-12" PRIu64, r->size, r->iters);

	switch (t->test->metric) {
	case TOOL_LATENCY:
		if (t->o.duration_s)
			n += snprintf(text + n, len - (size_t)n, " %-14.2f", r->rate);
		n += latency_columns(&r->lat, text + n, len - (size_t)n);
		if (r->line_ns > 0)
			n += snprintf(text + n, len - (size_t)n, " %-12.0f %.1f", r->line_ns,
				      r->lat.typical / r->line_ns);
		else
			n += snprintf(text + n, len - (size_t)n, " -            -");
		break;
	case TOOL_BANDWIDTH:
		n += snprintf(text + n, len - (size_t)n, "    %-17.2f   %-20.2f  %.6f", r->peak / unit,
			      r->average / unit, r->rate / 1e6);
		break;
	case TOOL_RATE:
		n += snprintf(text + n, len - (size_t)n, "    %-14.6f %.6f",
			      r->size ? r->peak / (double)r->size / 1e6 : 0, r->rate / 1e6);
		break;
	case TOOL_CONNECTIONS:
		n += latency_columns(&r->lat, text + n, len - (size_t)n);
		n += snprintf(text + n, len - (size_t)n, " %.1f", r->rate);
		break;
	}
	if (t->o.cpu_util)
		snprintf(text + n, len - (size_t)n, "    %.1f", r->cpu);
}

static double sample(const struct tool *t, uint64_t ticks)
{
	return t->o.cycles ? (double)ticks * t->rec.part : ticks_to_ns(ticks) * t->rec.part / 1e3;
}

static void list_samples(const struct tool *t, bool sorted)
{
	const struct record *r = &t->rec;
	uint64_t i;

	printf("#, %s\n", t->o.cycles ? "cycles" : "usec");
	for (i = 0; i < r->n; i++)
		printf("%" PRIu64 ", %.*f\n", i + 1, t->o.cycles ? 0 : 3,
		       sample(t, sorted ? r->sorted[i] : record_sample(r, i)));
}

/* Prints rows of equal width up to the 99.9th percentile, and one row for all larger samples. */
static void print_histogram(const struct tool *t)
{
	const struct record *r = &t->rec;
	double low = record_quantile_ns(r, 0), top = record_quantile_ns(r, 0.999), step;
	uint64_t count[BAR_ROWS + 1], most = 1;
	int i;

	step = top > low ? (top - low) / BAR_ROWS : 1;
	for (i = 0; i <= BAR_ROWS; i++) {
		count[i] = record_between(r, i ? low + i * step : 0,
					  i < BAR_ROWS ? low + (i + 1) * step : 1e300);
		most = count[i] > most ? count[i] : most;
	}
	for (i = 0; i <= BAR_ROWS; i++)
		printf(" %s%10.3f us %10" PRIu64 " %.*s\n", i < BAR_ROWS ? "from " : "above",
		       (low + i * step) / 1e3, count[i], (int)(count[i] * BARS / most),
		       "############################################################");
}

void report_samples(const struct tool *t)
{
	if (t->o.list_unsorted)
		list_samples(t, false);
	if (t->o.list_sorted)
		list_samples(t, true);
	if (t->o.histogram)
		print_histogram(t);
	fflush(stdout);
}

void report_worst(const struct tool *t, const struct tool_result *r)
{
	uint64_t end;
	time_t s;
	char when[32];
	struct tm tm;
	int i;

	if (t->test->metric == TOOL_CONNECTIONS)
		printf(" worst:\n");
	else
		printf(" worst of %" PRIu64 " bytes:\n", r->size);
	for (i = 0; i < RECORD_WORST && r->worst[i].ticks; i++) {
		end = r->started_ns + (uint64_t)ticks_to_ns(r->worst[i].at);
		s = (time_t)(end / 1000000000u);
		strftime(when, sizeof(when), "%H:%M:%S", localtime_r(&s, &tm));
		printf("   %12.2f usec, over %14.6f s after the start, at %s.%06u\n",
		       ticks_to_ns(r->worst[i].ticks) * t->rec.part / 1e3,
		       ticks_to_ns(r->worst[i].at) / 1e9, when,
		       (unsigned int)(end / 1000 % 1000000));
	}
}

int report_limits(const struct tool *t, const struct tool_report *rep)
{
	double bw = 0, rate = 0;
	int missed = 0;

	for (size_t i = 0; i < rep->n; i++) {
		const struct tool_result *r = &rep->results[i];
		double row = r->average / (t->o.gbits ? 1e9 / 8 : 1 << 20);

		bw = row > bw ? row : bw;
		rate = r->rate / 1e6 > rate ? r->rate / 1e6 : rate;
	}
	if (t->o.limit_bw > 0 && bw < t->o.limit_bw) {
		fprintf(stderr, "BW average %.2f is below the limit of %.2f (-w)\n", bw, t->o.limit_bw);
		missed = 1;
	}
	if (t->o.limit_rate > 0 && rate < t->o.limit_rate) {
		fprintf(stderr, "MsgRate %.6f is below the limit of %.6f (-y)\n", rate, t->o.limit_rate);
		missed = 1;
	}
	return missed;
}
