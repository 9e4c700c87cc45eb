# SPDX-License-Identifier: BSD-2-Clause
# The statistics of the measuring programs, and the loop of --rate on a clock of the test.
$(O)/tests/perf: $(call objs,$(patsubst %,perf/tool/%.c,explain lat marks rate record ticks) perf/common/stats.c)
LIBS_perf := -Wl,--wrap=now_ns
