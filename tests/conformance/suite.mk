# SPDX-License-Identifier: BSD-2-Clause
# The statements are linked into dat_conform too, and its list of them names the tests of the suite. `make run`
# builds it where Criterion is not installed.
CONFORM_SRC := $(filter-out tests/conformance/criterion.c tests/harness/after.c, \
	$(call src,tests/conformance tests/harness))

$(O)/bin/dat_conform: $(call objs,$(CONFORM_SRC))
$(O)/bin/dat_conform: private LDFLAGS_ALL += -Wl,--no-as-needed -ljansson -Wl,--as-needed

$(O)/conformance_names.h: $(O)/bin/dat_conform
	$(Q)$< --list >$@.list && sed -n 's/^\([a-z_0-9]*\) .*/NAMED(\1)/p' $@.list >$@
$(O)/obj/tests/conformance/criterion.o: $(O)/conformance_names.h

# The table of bad input has a row for each call in the headers.
$(O)/conform_calls.h: scripts/prototypes tests/conformance/calls.awk tests/data/return-codes.tsv $(HEADERS)
	@mkdir -p $(@D)
	$(Q)CC='$(CC)' scripts/prototypes >$@.list && \
		awk -f tests/conformance/calls.awk tests/data/return-codes.tsv $@.list >$@
$(O)/obj/tests/conformance/bad_input.o: $(O)/conform_calls.h
