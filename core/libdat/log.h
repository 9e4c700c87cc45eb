/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libdat says about itself. DAT_DBG_TYPE chooses kinds (a number, default DAT_LOG_ERROR only);
 * DAT_DBG_DEST chooses places: 1 standard output, 2 syslog, none of these standard error. A process
 * that runs with more rights than its user takes neither from the environment.
 */
#ifndef LIBDAT_LOG_H
#define LIBDAT_LOG_H

enum dat_log_kind {
	DAT_LOG_ERROR		= 0x01,
	DAT_LOG_GENERIC		= 0x02,
	DAT_LOG_STATIC		= 0x04,	/* dat.conf and its entries */
	DAT_LOG_DYNAMIC		= 0x08,	/* what providers registered */
	DAT_LOG_PROVIDER	= 0x10,	/* calls by providers */
	DAT_LOG_CONSUMER	= 0x20,	/* calls by consumers */
};

void dat_log(enum dat_log_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), cold));

#endif
