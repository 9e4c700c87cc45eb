# SPDX-License-Identifier: BSD-2-Clause
# As the suite uverbs, whose calls.c stands between the driver and libmlx5 here as well.
$(O)/tests/vfio_ctl: $(call objs,tests/uverbs/calls.c tests/e2e/rig.c tests/e2e/rig_io.c tests/e2e/life.c) \
	| $(O)/lib/softnic-vfio.so $(O)/bin/softnic-run $(O)/lib/libdapl-direct.so
LIBS_vfio_ctl := -rdynamic -Wl,--no-as-needed -lmlx5 -libverbs -ldl
CFLAGS_vfio_ctl := -fvisibility=default
