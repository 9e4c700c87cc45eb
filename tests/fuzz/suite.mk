# SPDX-License-Identifier: BSD-2-Clause
# cm replaces the manager's thread, its clock and its random numbers.
FUZZ_LDFLAGS_cm = $(patsubst %,-Wl$(comma)--wrap=%,clock_gettime pthread_create pthread_join getrandom)
# It replaces the clock.
FUZZ_LDFLAGS_roce = -Wl$(comma)--wrap=clock_gettime
# The server without its main().
$(O)/tests/fuzz/vfio_user: $(call objs,$(filter-out %/main.c,$(VM_SRC)))
