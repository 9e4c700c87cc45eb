/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SOFTNIC_ARGP_PROGRAM_H
#define SOFTNIC_ARGP_PROGRAM_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

/* The argp children that each program needs for -h; argp itself supplies --help and --version. */
extern const struct argp_child program_options[];

/* The number that an option has as its argument; any other argument ends the program with a message. */
uint64_t program_number(struct argp_state *state, const char *option, const char *arg, uint64_t min,
			uint64_t max);

/* Can the file be created, or written if it exists? If not, prints why. NULL: there is nothing to write. */
bool program_can_write(const char *path);

#endif
