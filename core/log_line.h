/* SPDX-License-Identifier: BSD-2-Clause */
/* A log line of the registry or the provider: local time, thread, library, and text. */
#ifndef DAP_LOG_LINE_H
#define DAP_LOG_LINE_H

/* Reads the time zone. To be called before the first line is written. */
void dap_log_zone(void);
/* Returns the number in an environment variable, or otherwise if the variable has none. */
unsigned int dap_log_number(const char *name, unsigned int otherwise);
/* dests: 1 standard output, 2 syslog with this priority, 3 both, otherwise standard error. */
void dap_log_line(unsigned int dests, int priority, const char *who, const char *text);

#endif
