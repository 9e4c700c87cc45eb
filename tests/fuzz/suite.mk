# SPDX-License-Identifier: BSD-2-Clause
# cm replaces the manager's thread, its clock and its random numbers.
FUZZ_LDFLAGS_cm = $(patsubst %,-Wl$(comma)--wrap=%,clock_gettime pthread_create pthread_join getrandom)
# These replace the clock.
FUZZ_LDFLAGS_rings = -Wl$(comma)--wrap=clock_gettime
FUZZ_LDFLAGS_roce = $(FUZZ_LDFLAGS_rings)
# uverbs has devices without a thread. It calls the front itself, so no function of the system is replaced.
FUZZ_LDFLAGS_uverbs = $(patsubst %,-Wl$(comma)--wrap=%,softnic_open softnic_efa_open)
$(O)/tests/fuzz/uverbs: $(call objs,$(filter-out %/arm.c %/names.c %/preload.c,$(UVERBS_SRC)))
# The server without its main().
$(O)/tests/fuzz/vfio_user: $(call objs,$(filter-out %/main.c,$(VM_SRC)))
