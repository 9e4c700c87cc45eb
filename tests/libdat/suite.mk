# SPDX-License-Identifier: BSD-2-Clause
# The parser's functions are not exported, so its objects are linked in beside libdat.so.1.
LIBDAT_UNIT := $(call objs,core/log_line.c $(addprefix core/libdat/,conf_line.c conf_file.c own_library.c log.c))

# Providers for the tests. Undefined symbols are allowed, because one of them must have an undefined
# symbol.
LIBDAT_PLUGINS := $(patsubst tests/libdat/plugin/%.c,$(O)/lib/test-provider-%.so,\
	$(wildcard tests/libdat/plugin/*.c))
$(O)/obj/tests/libdat/plugin/%.o: VISIBILITY :=
$(LIBDAT_PLUGINS): $(O)/lib/test-provider-%.so: $(O)/obj/tests/libdat/plugin/%.o $$(LIBDAT)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -shared -o $@ $< -L$(O)/lib -ldat

$(O)/tests/libdat: $(LIBDAT_UNIT) | $(LIBDAT_PLUGINS)
