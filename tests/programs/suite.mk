# SPDX-License-Identifier: BSD-2-Clause
# What each consumer needs is that of our own programs, which are compiled for both levels, too.
$(O)/tests/programs: $(call objs,$(CONSUMER_SRC))
