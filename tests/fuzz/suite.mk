# SPDX-License-Identifier: BSD-2-Clause
# cm is the manager's thread, and its clock and random numbers.
FUZZ_LDFLAGS_cm = $(patsubst %,-Wl$(comma)--wrap=%,clock_gettime pthread_create pthread_join getrandom)
# The server without its main().
$(O)/tests/fuzz/vfio_user: $(call objs,$(filter-out %/main.c,$(VM_SRC)))
