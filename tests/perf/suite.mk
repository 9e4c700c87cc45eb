# SPDX-License-Identifier: BSD-2-Clause
# The statistics of the measuring programs.
$(O)/tests/perf: $(call objs,perf/tool/record.c perf/tool/ticks.c perf/common/stats.c)
