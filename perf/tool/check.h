/* SPDX-License-Identifier: BSD-2-Clause */
/* What --verify does: each slice has a pattern of its own, and is wiped before it is written. */
#ifndef PERF_CHECK_H
#define PERF_CHECK_H

#include "perf/tool/tool.h"

/* With --verify: fills what this side gives (local, for reads mine), wipes what it is to get. */
int check_prepare(struct tool *t);
/* tool_test.finish: what this side was to get is there. */
int check_finish(struct tool *t);
/* One slice of a region holds what the peer gave. -1 after a line on stderr. */
int check_slice(const struct tool *t, const struct region *r, uint32_t ep);

#endif
