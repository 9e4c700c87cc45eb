/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that the probes share: a dat.conf of their own, two endpoints, completions,
 * latencies. */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/libdat/conf.h"
#include "perf/common/conf.h"
#include "perf/common/stats.h"
#include "perf/dat_first_light/probe.h"

/* LATE_LOOKS: number of polls after the timeout, because a busy host may not have run this process
 * before. */
enum { SPINS_PER_YIELD = 1024, LATE_LOOKS = 1000 };

void say(struct answer *a, enum verdict verdict, const char *set, const char *fmt, ...)
{
	va_list ap;

	a->verdict = verdict;
	snprintf(a->set, sizeof(a->set), "%s", set);
	va_start(ap, fmt);
	vsnprintf(a->text, sizeof(a->text), fmt, ap);
	va_end(ap);
}

static bool is_line_of(const char *ia, char *line, size_t len, char *field[CONF_FIELDS])
{
	struct conf_problem problem;
	DAT_PROVIDER_INFO info;
	bool is_default;

	return conf_split_line(line, len, field, &info, &is_default, &problem) == CONF_ENTRY && is_default &&
	       *field[CONF_API] == 'u' && info.dapl_version_major == DAT_VERSION_MAJOR &&
	       strstr(field[CONF_LIB], "libdapl-direct.so") && !strcmp(info.ia_name, ia);
}

char *light_params(const char *ia, const char *given)
{
	const char *name = conf_name();
	FILE *in = name ? fopen(name, "re") : NULL;
	char *line = NULL, *field[CONF_FIELDS], *all = NULL;
	size_t room = 0;
	ssize_t len;

	while (in && !all && (len = getline(&line, &room, in)) > 0)
		if (is_line_of(ia, line, (size_t)len - (line[len - 1] == '\n'), field) &&
		    asprintf(&all, "%s %s", field[CONF_PARAMS], given) < 0)
			abort();
	if (in)
		fclose(in);
	free(line);
	if (!all && asprintf(&all, "%s", given) < 0)
		abort();
	return all;
}

/* Writes a dat.conf. The file has no name, so a killed process leaves no file behind. */
void light_conf(const struct light *l, const char *params)
{
	static const char *const instances[] = { "nonthreadsafe", "threadsafe" };
	int fd = memfd_create("dat.conf", 0);
	char path[64];

	for (unsigned int i = 0; i < 2; i++)
		dprintf(fd, "\"%s\" u1.2 %s default \"%s\" dapl_direct.1.2 \"%s %s\" \"\"\n", l->ia,
			instances[i], l->provider, l->params, params);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	setenv("DAT_OVERRIDE", path, 1);
}

bool light_pair(const struct light *l, const char *params, struct pair *p, struct answer *a)
{
	light_conf(l, params);
	p->no_rmr = true;
	p->a.idle_ns = p->b.idle_ns = 10 * 1000000000ull;
	if (!pair_open(p, l->ia))
		return true;
	bad(a, "nothing", "no: two endpoints are not connected; stderr says why");
	return false;
}

void light_attr(DAT_IA_HANDLE ia, const char *name, char *value, size_t size)
{
	DAT_PROVIDER_ATTR p;
	DAT_IA_ATTR attr;

	*value = 0;
	if (dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &p) != DAT_SUCCESS)
		return;
	for (DAT_COUNT i = 0; i < p.num_provider_specific_attr; i++) {
		if (!strcmp(p.provider_specific_attr[i].name, name))
			snprintf(value, size, "%s", p.provider_specific_attr[i].value);
	}
}

static const DAT_DTO_COOKIE no_cookie;

bool post_write(struct pair *p, const struct region *from, const DAT_RMR_TRIPLET *to)
{
	DAT_LMR_TRIPLET l = region_segment(from, 0, to->segment_length);
	DAT_RMR_TRIPLET r = *to;

	return dat_ok(dat_ep_post_rdma_write(p->a.ep, 1, &l, no_cookie, &r,
					     DAT_COMPLETION_DEFAULT_FLAG), "dat_ep_post_rdma_write");
}

bool post_send(struct pair *p, size_t len)
{
	DAT_LMR_TRIPLET l = region_segment(&p->local, 0, len);

	return dat_ok(dat_ep_post_send(p->a.ep, len ? 1 : 0, &l, no_cookie,
				       DAT_COMPLETION_DEFAULT_FLAG), "dat_ep_post_send");
}

bool post_recv(struct pair *p, size_t len)
{
	DAT_LMR_TRIPLET l = region_segment(&p->remote, 0, len);

	return dat_ok(dat_ep_post_recv(p->b.ep, 1, &l, no_cookie, DAT_COMPLETION_DEFAULT_FLAG),
		      "dat_ep_post_recv");
}

bool post_read(struct pair *p, size_t len)
{
	DAT_LMR_TRIPLET l = region_segment(&p->local, 0, len);
	DAT_RMR_TRIPLET from = region_target(&p->remote, 0, len);

	return dat_ok(dat_ep_post_rdma_read(p->a.ep, 1, &l, no_cookie, &from,
					    DAT_COMPLETION_DEFAULT_FLAG), "dat_ep_post_rdma_read");
}

static const char *status_of(const DAT_EVENT *ev)
{
	if (ev->event_number == DAT_DTO_COMPLETION_EVENT)
		return dat_status_name(ev->event_data.dto_completion_event_data.status);
	if (ev->event_number == DAT_RMR_BIND_COMPLETION_EVENT)
		return dat_status_name(ev->event_data.rmr_completion_event_data.status);
	return dat_event_name(ev->event_number);
}

const char *completed(DAT_EVD_HANDLE evd, unsigned int ms)
{
	uint64_t until = now_ns() + ms * 1000000ull;
	unsigned int looks = 0, late = ms ? 0 : LATE_LOOKS;
	DAT_EVENT ev;

	do {
		if (dat_evd_dequeue(evd, &ev) == DAT_SUCCESS)
			return status_of(&ev);
		if (++looks % SPINS_PER_YIELD == 0)
			sched_yield();
	} while (now_ns() < until || late++ < LATE_LOOKS);
	return "none";
}

bool succeeded_within(struct answer *a, DAT_EVD_HANDLE evd, unsigned int ms, const char *of)
{
	const char *status = completed(evd, ms);

	if (!strcmp(status, "SUCCESS"))
		return true;
	bad(a, "nothing", "no: %s ends with %s", of, status);
	return false;
}

bool succeeded(struct answer *a, DAT_EVD_HANDLE evd, const char *of)
{
	return succeeded_within(a, evd, 10000, of);
}

uint64_t long_enough(void)
{
	return now_ns() + 8000000000u;
}

uint64_t nearly_a_minute(void)
{
	return now_ns() + 40000000000u;
}

/* ---- Latencies: each pair has other parameters, and therefore a process of its own */

enum { ROUNDS = 1500, ROUNDS_BIG = 200, WARM = 20, BIG = 16384 };

bool write_round(struct pair *p, size_t len)
{
	DAT_RMR_TRIPLET to = region_target(&p->remote, 0, len);

	return post_write(p, &p->local, &to) && !strcmp(completed(p->a.req_evd, 10000), "SUCCESS");
}

bool read_round(struct pair *p, size_t len)
{
	return post_read(p, len) && !strcmp(completed(p->a.req_evd, 10000), "SUCCESS");
}

/* Sends messages. The buffers may hold less than a message needs. Polls both EVDs in turns, because
 * polling drives a software adapter. */
static bool send_messages(struct pair *p, size_t len, unsigned int n)
{
	const DAT_EVD_HANDLE evds[] = { p->b.recv_evd, p->a.req_evd };
	uint64_t until = now_ns() + 10000000000u;
	unsigned int left[2] = { n, n };

	if (p->local.len < len &&
	    (region_create(&p->a, &p->local, len, DAT_MEM_PRIV_ALL_FLAG) ||
	     region_create(&p->b, &p->remote, len, DAT_MEM_PRIV_ALL_FLAG)))
		return false;
	for (unsigned int i = 0; i < n; i++)
		if (!post_recv(p, len))
			return false;
	for (unsigned int i = 0; i < n; i++)
		if (!post_send(p, len))
			return false;
	for (unsigned int i = 0; left[0] || left[1]; i ^= 1) {
		const char *status = left[i] ? completed(evds[i], 0) : "none";

		if (!strcmp(status, "SUCCESS"))
			left[i]--;
		else if (strcmp(status, "none") || now_ns() > until)
			return false;
	}
	return true;
}

bool send_round(struct pair *p, size_t len)
{
	return send_messages(p, len, 1);
}

bool burst_round(struct pair *p, size_t len)
{
	enum { BURST = 24 };

	return send_messages(p, len, BURST);
}

static double measure(struct pair *p, round_fn *round, size_t len)
{
	unsigned int rounds = len < BIG ? ROUNDS : ROUNDS_BIG;
	struct samples s;
	double us;

	if (samples_init(&s, rounds))
		return 0;
	for (unsigned int i = 0; i < WARM + rounds; i++) {
		uint64_t start = now_ns();

		if (!round(p, len))
			return 0;
		if (i >= WARM)
			samples_add(&s, since_ns(start));
	}
	us = (double)samples_quantile(&s, 0.5) / 1e3;
	samples_free(&s);
	return us;
}

double median_us(const struct light *l, const char *params, round_fn *round, size_t len)
{
	double *us = mmap(NULL, sizeof(*us), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct pair p = { .no_rmr = true };
	struct answer none;
	double result;
	pid_t pid;

	if (us == MAP_FAILED)
		return 0;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (light_pair(l, params, &p, &none))
			*us = measure(&p, round, len);
		_exit(0);
	}
	if (pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	result = *us;
	munmap(us, sizeof(*us));
	return result;
}
