# SPDX-License-Identifier: BSD-2-Clause
# Like the suite uverbs: its calls.c replaces calls of libibverbs, here for hw_efa's access to an
# EFA.
$(O)/tests/efadv: $(call objs,$(addprefix tests/uverbs/,calls.c channels.c fail.c fork.c refused.c told.c) \
		tests/e2e/rig.c tests/e2e/rig_io.c tests/e2e/life.c) \
	| $(O)/lib/softnic-uverbs.so $(O)/lib/softnic-efadv.so $(O)/bin/softnic-run $(O)/lib/libdapl-direct.so
LIBS_efadv := -rdynamic -Wl,--no-as-needed -lmlx5 -lefa -libverbs -ldl
CFLAGS_efadv := -fvisibility=default
# Its dlsym() ends with a call of the real one, which must be a jump: RTLD_NEXT depends on the caller's object.
$(O)/obj/tests/efadv/efa_calls.o: private OPT := -O2 -g
