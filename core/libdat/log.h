/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Log of libdat. DAT_DBG_TYPE selects kinds (a number, default DAT_LOG_ERROR only). DAT_DBG_DEST
 * selects destinations: 1 standard output, 2 syslog, 3 both; 0 standard error. A process with raised
 * privileges ignores both variables.
 */
#ifndef LIBDAT_LOG_H
#define LIBDAT_LOG_H

#include <dat/udat.h>

enum dat_log_kind {
	DAT_LOG_ERROR		= 0x01,
	DAT_LOG_GENERIC		= 0x02,
	DAT_LOG_STATIC		= 0x04,	/* dat.conf and its entries */
	DAT_LOG_DYNAMIC		= 0x08,	/* a provider is finished */
	DAT_LOG_PROVIDER	= 0x10,	/* calls by providers */
	DAT_LOG_CONSUMER	= 0x20,	/* calls by consumers */
};

void dat_log(enum dat_log_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), cold));
/* Logs a call with the names of the value that it returned. */
void dat_log_return(enum dat_log_kind kind, DAT_RETURN ret, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));

#endif
