# SPDX-License-Identifier: BSD-2-Clause
# Like the suite uverbs: its calls.c replaces calls of libmlx5 here as well. Some of its tests, of
# forks, of shortages and of unread events, run in both suites.
$(O)/tests/vfio_ctl: $(call objs,$(addprefix tests/uverbs/,calls.c calls_qp.c channels.c fail.c fork.c opened.c \
		refused.c stale.c) \
		tests/e2e/rig.c tests/e2e/rig_io.c tests/e2e/life.c) \
	| $(O)/lib/softnic-vfio.so $(O)/bin/softnic-run $(O)/lib/libdapl-direct.so
LIBS_vfio_ctl := -rdynamic -Wl,--no-as-needed -lmlx5 -libverbs -ldl
CFLAGS_vfio_ctl := -fvisibility=default
