# SPDX-License-Identifier: BSD-2-Clause
# The target cm is the manager's thread, and its clock and random numbers.
FUZZ_LDFLAGS_cm = $(patsubst %,-Wl$(comma)--wrap=%,clock_gettime pthread_create pthread_join getrandom)
