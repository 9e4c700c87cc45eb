# SPDX-License-Identifier: BSD-2-Clause
# The statistics of the measuring programs, the loop of --rate on a clock of the test, and --verify of dat_write_bw.
$(O)/tests/perf: $(call objs,$(patsubst %,perf/tool/%.c,bw check explain lat marks rate record report ticks) perf/common/stats.c \
		perf/common/verify.c perf/dat_write_bw.c)
LIBS_perf := -Wl,--wrap=now_ns
