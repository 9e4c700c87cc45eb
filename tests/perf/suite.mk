# SPDX-License-Identifier: BSD-2-Clause
# What the programs that measure count with.
$(O)/tests/perf: $(call objs,perf/tool/record.c perf/tool/ticks.c perf/common/stats.c)
