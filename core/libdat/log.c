/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>

#include "core/libdat/log.h"
#include "core/log_line.h"

static unsigned int kinds = DAT_LOG_ERROR, dest;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_environment(void)
{
	dap_log_zone();
	kinds = dap_log_number("DAT_DBG_TYPE", DAT_LOG_ERROR);
	dest = dap_log_number("DAT_DBG_DEST", 0);
}

void dat_log(enum dat_log_kind kind, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	pthread_once(&once, read_environment);
	if (!(kinds & kind))
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	dap_log_line(dest, kind == DAT_LOG_ERROR ? LOG_ERR : LOG_DEBUG, "libdat", line);
}

void dat_log_return(enum dat_log_kind kind, DAT_RETURN ret, const char *fmt, ...)
{
	const char *type = "unknown value", *detail = "";
	char call[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(call, sizeof(call), fmt, ap);
	va_end(ap);
	dat_strerror(ret, &type, &detail);
	dat_log(kind, "%s: %s %s", call, type, detail);
}
