/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters that dat_top(1) shows of this process. Both sides open the same IA, so dat_top shows the
 * sum of both. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/api/conn.h"

#define NONE (-1)

TestSuite(page, .init = sides_open, .fini = sides_close, .timeout = 60);

/* Runs dat_top once. *age: age in seconds of the values of this process; 0: they are new, or there are
 * none. */
static long long counter_once(const char *name, const char *label, double *age)
{
	const char *dir = getenv("DAPL_BUILD_DIR");
	char line[1024], pid[32];
	long long value = NONE;
	FILE *f;

	snprintf(line, sizeof(line), "%s/bin/dat_top --prometheus", dir ? dir : "build");
	snprintf(pid, sizeof(pid), "pid=\"%d\"", (int)getpid());
	f = popen(line, "r");
	cr_assert_not_null(f);
	*age = 0;
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, pid))
			continue;
		if (!strncmp(line, "dapl_age_seconds{", 17))
			*age = atof(strrchr(line, ' '));
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == '{' && strstr(line, label))
			value = atoll(strrchr(line, ' '));
	}
	cr_assert_eq(pclose(f), 0);
	return value;
}

/*
 * Returns the counter with this name and label of this process; NONE: there is no such series. On a busy
 * machine the library's thread may answer later than dat_top waits.
 */
static long long counter(const char *name, const char *label)
{
	long long value;
	double age;

	for (int tries = 0; tries < 40; tries++) {
		value = counter_once(name, label, &age);
		if (!(age > 0))
			return value;
	}
	cr_assert(false, "the values are %.3f s old", age);
	return NONE;
}

static void transfer(int n)
{
	for (int i = 0; i < n; i++) {
		assert_ok(side_recv(&b, b.ep, 7));
		assert_ok(side_send(&a, a.ep, 9));
		cr_assert_eq(side_dto(&a, 9), DAT_DTO_SUCCESS);
		cr_assert_eq(side_dto(&b, 7), DAT_DTO_SUCCESS);
	}
}

static void expect_transfers(long long n)
{
	cr_expect_eq(counter("dapl_posts_total", "operation=\"send\""), n);
	cr_expect_eq(counter("dapl_posts_total", "operation=\"recv\""), n);
	cr_expect_eq(counter("dapl_posts_total", "operation=\"rdma_write\""), 0);
	cr_expect_eq(counter("dapl_receives_total", ""), n);
}

Test(page, post__counts_exactly)
{
	long long before;

	side_pair(&a, &b);
	before = counter("dapl_events_dequeued_total", "");
	expect_transfers(0);
	transfer(5);
	expect_transfers(5);
	/* An EFA does not count dequeues; dat_top then shows no number. */
	cr_expect_eq(counter("dapl_events_dequeued_total", ""), before == NONE ? NONE : before + 10);
	transfer(2);
	expect_transfers(7);
}

Test(page, free__keeps_counts)
{
	side_pair(&a, &b);
	transfer(3);
	assert_ok(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	side_event(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	assert_ok(dat_ep_reset(b.ep));
	assert_ok(side_recv(&b, b.ep, 1));
	assert_ok(dat_ep_free(b.ep));
	b.ep = DAT_HANDLE_NULL;
	cr_expect_eq(counter("dapl_posts_total", "operation=\"send\""), 3);
	cr_expect_eq(counter("dapl_posts_total", "operation=\"recv\""), 4);
	cr_expect_eq(counter("dapl_objects_freed_total", "object=\"ep\""), 1);
}

Test(page, connection__counts_its_events)
{
	side_pair(&a, &b);
	cr_expect_eq(counter("dapl_connection_requests_total", "request=\"sent\""), 1);
	cr_expect_eq(counter("dapl_connection_requests_total", "request=\"received\""), 1);
	cr_expect_eq(counter("dapl_connection_requests_total", "request=\"accepted\""), 1);
	cr_expect_eq(counter("dapl_connection_events_total", "event=\"established\""), 2);
	assert_ok(side_recv(&b, b.ep, 1));
	assert_ok(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	side_event(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	cr_expect_eq(side_dto(&b, 1), DAT_DTO_ERR_FLUSHED);
	cr_expect_eq(counter("dapl_connection_events_total", "event=\"disconnected\""), 2);
	cr_expect_eq(counter("dapl_failed_completions_total", "status=\"flushed\""), 1);
	cr_expect_eq(counter("dapl_failed_completions_total", "status=\"transport\""), 0);
}

/* A message that is too long for its receive breaks the connection. */
Test(page, failure__counts_by_status)
{
	DAT_LMR_TRIPLET seg = { .lmr_context = b.context, .segment_length = 1,
				.virtual_address = (uintptr_t)b.mem };
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	side_pair(&a, &b);
	assert_ok(dat_ep_post_recv(b.ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	assert_ok(side_send(&a, a.ep, 2));
	cr_expect_eq(side_dto(&b, 1), DAT_DTO_ERR_LOCAL_LENGTH);
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_BROKEN);
	side_event(&b, b.ep, DAT_CONNECTION_EVENT_BROKEN);
	cr_expect_eq(counter("dapl_failed_completions_total", "status=\"local_length\""), 1);
	cr_expect_eq(counter("dapl_connection_events_total", "event=\"broken\""), 2);
}

Test(page, wait__counts_sleeps)
{
	DAT_COUNT more;
	DAT_EVENT event;

	cr_expect_eq(counter("dapl_evd_sleeps_total", ""), 0);
	assert_ret(dat_evd_wait(a.dto_evd, 50000, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
	cr_expect_eq(counter("dapl_evd_waits_total", ""), 1);
	cr_expect_geq(counter("dapl_evd_sleeps_total", ""), 1);
}

Test(page, ia_close__ends_the_series)
{
	cr_expect_neq(counter("dapl_evd_waits_total", ""), NONE);
	side_close(&a);
	cr_expect_neq(counter("dapl_evd_waits_total", ""), NONE);
	side_close(&b);
	cr_expect_eq(counter("dapl_evd_waits_total", ""), NONE);
}
