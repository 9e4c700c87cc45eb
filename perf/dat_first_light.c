/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_first_light: asks the adapter itself the questions that no manual and no software model answers.
 * The questions are in perf/dat_first_light/table.c; scripts/first-light runs this.
 */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "softnic/argp/program.h"
#include "perf/common/stats.h"
#include "perf/dat_first_light/probe.h"
#include "perf/dat_first_light/report.h"

static const char doc[] =
	"Asks an adapter questions that no manual and no software model can answer.\v"
	"One line is printed for each probe as it ends: its number, good, tune, bad, skip or none, the "
	"question, the answer, and what to set. The exit status is 0 when no answer is bad and none is "
	"missing, 1 otherwise, and 2 when the adapter does not open.";

enum { OPT_JSON = 256, OPT_LIMIT, OPT_TOTAL, OPT_LIST };

static const struct argp_option options[] = {
	{ "ia", 'i', "NAME", 0, "The adapter (mlx5_0-1)", 0 },
	{ "params", 'a', "PARAMS", 0, "ia_params of each open, e.g. ip=10.0.0.7", 0 },
	{ "probe", 't', "NUMBERS", 0, "Only these probes, e.g. 3,10-12", 0 },
	{ "json", OPT_JSON, "FILE", 0, "Write the answers as JSON", 0 },
	{ "quick", 'q', NULL, 0, "Fewer connections and messages", 0 },
	{ "limit", OPT_LIMIT, "SECONDS", 0, "Limit for one probe (60)", 0 },
	{ "total", OPT_TOTAL, "SECONDS", 0, "Limit for all probes (600)", 0 },
	{ "list", OPT_LIST, NULL, 0, "Print numbers and questions, and ask nothing", 0 },
	{ 0 },
};

enum { MAX_PROBES = 100 };

struct options {
	const char *json;
	bool chosen[MAX_PROBES], any_chosen, list;
	unsigned int limit_s, total_s;
};

struct state {
	struct light light;
	struct options o;
};

static bool choose_probes(struct options *o, const char *text)
{
	for (char *end; *text; text = *end ? end + 1 : end) {
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (!first || last < first || last >= MAX_PROBES || (*end && *end != ','))
			return false;
		for (; first <= last; first++)
			o->chosen[first] = true;
	}
	return true;
}

static unsigned int seconds(const char *option, const char *arg, struct argp_state *argp)
{
	return (unsigned int)program_number(argp, option, arg, 1, 86400);
}

static error_t parse(int key, char *arg, struct argp_state *argp)
{
	struct state *s = argp->input;

	switch (key) {
	case 'i':
		if (!*arg)
			argp_error(argp, "the name of the adapter is empty");
		s->light.ia = arg;
		break;
	case 'a':
		if (strpbrk(arg, "\"\n"))
			argp_error(argp, "%s: ia_params must not contain quotation marks", arg);
		s->light.given = arg;
		break;
	case 't':
		s->o.any_chosen = true;
		if (!*arg || !choose_probes(&s->o, arg))
			argp_error(argp, "%s: numbers of probes are 1 to %d, as in 3,10-12", arg,
				   MAX_PROBES - 1);
		break;
	case 'q': s->light.quick = true; break;
	case OPT_JSON: s->o.json = arg; break;
	case OPT_LIMIT: s->o.limit_s = seconds("--limit", arg, argp); break;
	case OPT_TOTAL: s->o.total_s = seconds("--total", arg, argp); break;
	case OPT_LIST: s->o.list = true; break;
	case ARGP_KEY_ARG: argp_error(argp, "unexpected '%s'", arg); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* attributes of the adapter; a child process stores them into this shared memory */
static struct light *found;

static void look(const struct light *l, struct answer *a)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR p;
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;
	char device[32];

	light_conf(l, "");
	/* The provider has printed the reason on stderr. */
	if (!dat_ok(dat_ia_open((DAT_NAME_PTR)(uintptr_t)l->ia, 8, &async, &ia), "dat_ia_open") ||
	    !dat_ok(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &p),
		    "dat_ia_query"))
		return;
	*found = *l;
	light_attr(ia, "efa_device_id", device, sizeof(device));
	found->efa = *device;
	snprintf(found->adapter, sizeof(found->adapter), "%s, firmware %u.%u", attr.vendor_name,
		 attr.firmware_version_major, attr.firmware_version_minor);
	light_attr(ia, "access", found->access, sizeof(found->access));
	light_attr(ia, "device", found->device, sizeof(found->device));
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	good(a, "yes");
}

static pid_t start(const struct light *l, probe_fn *probe, struct answer *a)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);			/* children of the probe are killed with its process group */
	probe(l, a);
	_exit(0);			/* this ends everything that the probe has open */
}

/* Waits for a probe. False: it has not ended in time. */
static bool wait_in_time(pid_t pid, uint64_t until, int *status)
{
	while (!waitpid(pid, status, WNOHANG)) {
		if (now_ns() > until) {
			kill(-pid, SIGKILL);
			kill(pid, SIGKILL);
			waitpid(pid, status, 0);
			return false;
		}
		usleep(2000);
	}
	return true;
}

#define no_answer(a, ...) say(a, NO_ANSWER, "nothing", __VA_ARGS__)

/* Runs a probe for at most limit_s seconds, and not beyond end_ns, the end of the time for all probes.
 * If that end cuts the probe short, the last words of the answer say so: dat_qualify looks for them. */
static void ask(const struct light *l, probe_fn *probe, unsigned int limit_s, uint64_t end_ns,
		struct answer *a)
{
	uint64_t now = now_ns(), until = now + limit_s * 1000000000ull;
	bool shortened = until > end_ns;
	int status = 0;
	pid_t pid;

	if (shortened)
		until = end_ns;
	no_answer(a, "no answer: a call failed; stderr says which");
	pid = now < until ? start(l, probe, a) : 0;
	if (now >= until)
		no_answer(a, "not asked: the time for all probes is over");
	else if (pid < 0)
		no_answer(a, "no answer: cannot start a process: %s", strerror(errno));
	else if (!wait_in_time(pid, until, &status))
		no_answer(a, "no answer within %.0f s: %s", (double)(until - now) / 1e9,
			  shortened ? "the time for all probes is over" : "it hangs");
	else if (WIFSIGNALED(status))
		no_answer(a, "no answer: ended by signal %d", WTERMSIG(status));
}

static int run_all(const struct light *l, const struct options *o, uint64_t end_ns,
		   struct answer *shared)
{
	struct light_report report = { .light = l };
	bool all = true;

	for (const struct probe *p = probes; p->number; p++) {
		uint64_t start_ns = now_ns();

		if (!(p->kinds & (l->efa ? EFA : CONNECTX)) || (o->any_chosen && !o->chosen[p->number]))
			continue;
		if (p->run)
			ask(l, p->run, o->limit_s, end_ns, shared);
		else
			say(shared, SKIPPED, p->set, "not probed: %s", p->why_not);
		report_line(p, shared);
		report_add(&report, p, shared, (unsigned int)((now_ns() - start_ns) / 1000000));
		all = all && shared->verdict != NO_ANSWER && shared->verdict != BAD;
	}
	if (!report.n) {
		fprintf(stderr, "dat_first_light: none of these probes is for %s\n", l->adapter);
		return 2;
	}
	return light_report_json(&report, o->json) || !all;
}

/* Returns the path of this build's provider, or else of the installed one. */
static const char *find_provider(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	if (n > 0) {
		path[n] = 0;
		slash = strrchr(path, '/');
		snprintf(slash, size - (size_t)(slash - path), "/../lib/libdapl-direct.so");
		if (!access(path, R_OK))
			return path;
	}
	return "libdapl-direct.so";
}

static void list_all(void)
{
	static const char *const of[] = { "", "ConnectX", "EFA", "both" };

	for (const struct probe *p = probes; p->number; p++)
		printf("%2u  %-8s  %s%s%s\n", p->number, of[p->kinds], p->question,
		       p->run ? "" : "  not probed: ", p->run ? "" : p->why_not);
}

int main(int argc, char **argv)
{
	static const struct argp argp = { options, parse, NULL, doc, program_options, NULL, NULL };
	static char provider[PATH_MAX + 32];
	struct state s = { .light = { .ia = "mlx5_0-1", .given = "" },
			   .o = { .limit_s = 60, .total_s = 600 } };
	struct { struct answer answer; struct light found; } *shared;
	uint64_t end_ns;
	char *params;
	int status = 2;

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &s);
	if (s.o.list) {
		list_all();
		return 0;
	}
	if (!program_can_write(s.o.json))
		return 2;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		perror("dat_first_light");
		return 2;
	}
	found = &shared->found;
	s.light.params = params = light_params(s.light.ia, s.light.given);
	s.light.provider = find_provider(provider, sizeof(provider) - 32);
	end_ns = now_ns() + s.o.total_s * 1000000000ull;
	ask(&s.light, look, s.o.limit_s, end_ns, &shared->answer);
	if (shared->answer.verdict == GOOD)
		status = run_all(found, &s.o, end_ns, &shared->answer);
	else
		fprintf(stderr, "dat_first_light: %s does not open%s\n", s.light.ia,
			strstr(shared->answer.text, "within") ? " in time" : "");
	free(params);
	return status;
}
