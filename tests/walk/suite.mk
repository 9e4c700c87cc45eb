# SPDX-License-Identifier: BSD-2-Clause
# This is no Criterion suite but a program, which scripts/walk runs; and the defects that
# tests/sh/walk-plants.sh plants.
WALK := $(O)/tests/dat_walk $(O)/tests/walk-plant.so
$(O)/tests/dat_walk: $(call objs,$(call src,tests/walk) tests/harness/fail.c) $$(LIBDAT)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) $(RPATH) -o $@ $(filter %.o,$^) $(ldat)
# print.o contains the text of prelude.h.
$(O)/obj/tests/walk/print.o: tests/walk/prelude.h

$(O)/tests/walk-plant.so: $(O)/obj/tests/walk/plant/plant.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -shared -o $@ $^ -ldl
