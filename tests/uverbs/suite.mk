# SPDX-License-Identifier: BSD-2-Clause
# The provider and libmlx5 call libibverbs through this program (calls.c), which exports its
# functions.
$(O)/tests/uverbs: $(call objs,tests/e2e/rig.c tests/e2e/rig_io.c tests/e2e/life.c) \
	| $(O)/lib/softnic-uverbs.so $(O)/bin/softnic-run $(O)/lib/libdapl-direct.so
LIBS_uverbs := -rdynamic -Wl,--no-as-needed -lmlx5 -libverbs -ldl
CFLAGS_uverbs := -fvisibility=default
