# SPDX-License-Identifier: BSD-2-Clause
$(O)/tests/dpdk: $(call objs,tests/e2e/rig.c tests/e2e/rig_io.c) \
	| $(O)/lib/softnic-uverbs.so $(O)/bin/softnic-run $(O)/lib/libdapl-direct.so
LIBS_dpdk := -ldl
