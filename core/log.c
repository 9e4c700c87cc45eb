/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes one line per message: local time, thread, and text. The function that detects an error logs it,
 * and its callers do not. DAPL_DBG_TYPE is a sum of DAP_LOG_* (1 when not set: errors). DAPL_DBG_DEST has
 * the values of libdat's DAT_DBG_DEST: 1 standard output, 2 syslog, 3 both, otherwise standard error.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>

#include "core/dap.h"
#include "core/log_line.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned int kinds = DAP_LOG_ERR, dests;

static void read_environment(void)
{
	dap_log_zone();
	kinds = dap_log_number("DAPL_DBG_TYPE", DAP_LOG_ERR);
	dests = dap_log_number("DAPL_DBG_DEST", 0);
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
	dap_log_line(dests, kind == DAP_LOG_ERR ? LOG_ERR : LOG_INFO, "dapl-direct", line);
	errno = err;		/* libdat reads errno if a provider does not register */
}
