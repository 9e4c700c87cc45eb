/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One line per message, where the error is decided: local time, thread, and text. DAPL_DBG_TYPE is a
 * sum of DAP_LOG_* (1 when not set: errors). DAPL_DBG_DEST is that of libdat's DAT_DBG_DEST: 1
 * standard output, 2 syslog, 3 both, otherwise standard error.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "core/dap.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned int kinds = DAP_LOG_ERR, dests;

static long utc_offset;	/* read once: localtime_r() takes a lock that a forked child may inherit taken */

enum { DEST_STDOUT = 1, DEST_SYSLOG = 2 };

static unsigned int number(const char *name, unsigned int otherwise)
{
	const char *text = secure_getenv(name);
	char *end;
	unsigned long v;

	if (!text || !*text)
		return otherwise;
	v = strtoul(text, &end, 0);
	return *end ? otherwise : (unsigned int)v;
}

static void read_environment(void)
{
	time_t now = time(NULL);
	struct tm local;

	if (localtime_r(&now, &local))
		utc_offset = local.tm_gmtoff;
	kinds = number("DAPL_DBG_TYPE", DAP_LOG_ERR);
	dests = number("DAPL_DBG_DEST", 0);
}

static void print_line(int fd, const char *line)
{
	struct timespec now;
	long s;

	clock_gettime(CLOCK_REALTIME, &now);
	s = (now.tv_sec + utc_offset) % 86400;
	dprintf(fd, "%02ld:%02ld:%02ld.%06ld %d dapl-direct: %s\n", s / 3600, s / 60 % 60, s % 60,
		now.tv_nsec / 1000, gettid(), line);
}

void dap_log(unsigned int kind, const char *fmt, ...)
{
	char line[512];
	int n, err = errno;
	va_list ap;

	pthread_once(&once, read_environment);
	if (!(kind & kinds))
		return;
	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if (dests & DEST_STDOUT)
		print_line(STDOUT_FILENO, line);
	if (dests & DEST_SYSLOG)
		syslog(kind == DAP_LOG_ERR ? LOG_ERR : LOG_INFO, "%d dapl-direct: %s", gettid(), line);
	if (!(dests & (DEST_STDOUT | DEST_SYSLOG)))
		print_line(STDERR_FILENO, line);
	errno = err;		/* libdat reads errno if a provider does not register */
}
