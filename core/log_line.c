/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/log_line.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

enum { DEST_STDOUT = 1, DEST_SYSLOG = 2 };

static long utc_offset;	/* read once: localtime_r() takes a lock that a forked child may inherit taken */

void dap_log_zone(void)
{
	time_t now = time(NULL);
	struct tm local;

	if (localtime_r(&now, &local))
		utc_offset = local.tm_gmtoff;
}

unsigned int dap_log_number(const char *name, unsigned int otherwise)
{
	const char *text = secure_getenv(name);
	char *end;
	unsigned long v;

	if (!text || !*text)
		return otherwise;
	v = strtoul(text, &end, 0);
	return *end ? otherwise : (unsigned int)v;
}

/* One write(2), so that lines of threads do not mix. */
static void print_line(int fd, const char *who, const char *text)
{
	struct timespec now;
	long s;

	clock_gettime(CLOCK_REALTIME, &now);
	s = (now.tv_sec + utc_offset) % 86400;
	dprintf(fd, "%02ld:%02ld:%02ld.%06ld %d %s: %s\n", s / 3600, s / 60 % 60, s % 60,
		now.tv_nsec / 1000, gettid(), who, text);
}

/* Cancellation is disabled: callers may hold locks, which a thread that was cancelled in write(2) would
 * keep. */
void dap_log_line(unsigned int dests, int priority, const char *who, const char *text)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (dests & DEST_STDOUT)
		print_line(STDOUT_FILENO, who, text);
	if (dests & DEST_SYSLOG)
		syslog(priority, "%d %s: %s", gettid(), who, text);
	if (!(dests & (DEST_STDOUT | DEST_SYSLOG)))
		print_line(STDERR_FILENO, who, text);
	pthread_setcancelstate(cancel, NULL);
}
