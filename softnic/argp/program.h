/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SOFTNIC_ARGP_PROGRAM_H
#define SOFTNIC_ARGP_PROGRAM_H

#include <argp.h>

/* The argp children that each program needs for -h; argp itself supplies --help and --version. */
extern const struct argp_child program_options[];

#endif
