/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements --verify: each slice has its own pattern, and is wiped before it is written. */
#ifndef PERF_CHECK_H
#define PERF_CHECK_H

#include "perf/tool/tool.h"

/* With --verify, fills the memory whose bytes the peer gets, and wipes the memory into which this
 * side receives. */
int check_prepare(struct tool *t);
/* tool_test.finish: checks the data that this side received. */
int check_finish(struct tool *t);
/* Checks one slice of a region. -1 after a line on stderr. */
int check_slice(const struct tool *t, const struct region *r, uint32_t ep);

#endif
