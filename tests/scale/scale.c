/* SPDX-License-Identifier: BSD-2-Clause */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/scale/scale.h"

#define OTHER_FDS 200u			/* descriptors of a test process, apart from connections */

static size_t status_kb(const char *name)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long kb = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, name, strlen(name)))
			kb = strtoul(line + strlen(name) + 1, NULL, 10);
	}
	if (f)
		fclose(f);
	return kb;
}

void holding_now(struct holding *h)
{
	struct mallinfo2 m = mallinfo2();
	struct th_usage u;

	th_usage(&u);
	*h = (struct holding){
		.heap = m.uordblks + m.hblkhd,
		.anon = status_kb("RssAnon") * 1024, .shared = status_kb("RssShmem") * 1024,
		.fds = u.fds, .maps = u.maps, .threads = u.threads,
	};
}

unsigned int scale_connections(unsigned int n)
{
	struct rlimit limit;

	check(!getrlimit(RLIMIT_NOFILE, &limit));
	if (limit.rlim_cur < n + OTHER_FDS && limit.rlim_max > limit.rlim_cur) {
		limit.rlim_cur = limit.rlim_max < n + OTHER_FDS ? limit.rlim_max : n + OTHER_FDS;
		check(!setrlimit(RLIMIT_NOFILE, &limit));
	}
	if (limit.rlim_cur >= n + OTHER_FDS)
		return n;
	fprintf(stderr, "note: %u descriptors are allowed, not enough for %u connections\n",
		(unsigned int)limit.rlim_cur, n);
	return (unsigned int)limit.rlim_cur - OTHER_FDS;
}

void wide_end(struct end *e, unsigned int n)
{
	DAT_COUNT events = (DAT_COUNT)n;

	end_open(e, RIG_MEM, NULL);
	must(dat_evd_create(e->ia, events, NULL, DAT_EVD_CR_FLAG, &e->cr_evd));
	must(dat_evd_create(e->ia, events, NULL, DAT_EVD_CONNECTION_FLAG, &e->conn_evd));
	must(dat_evd_create(e->ia, events * 4, NULL, DAT_EVD_DTO_FLAG, &e->recv_evd));
	must(dat_evd_create(e->ia, events * 4, NULL, DAT_EVD_DTO_FLAG, &e->req_evd));
}

DAT_EVENT next_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	must(dat_evd_wait(evd, SOON_MS * 1000u, 1, &ev, &more));
	same(ev.event_number, number);
	return ev;
}
