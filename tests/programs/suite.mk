# SPDX-License-Identifier: BSD-2-Clause
# The consumer code of our own programs, compiled for both levels as well.
$(O)/tests/programs: $(call objs,$(CONSUMER_SRC))
