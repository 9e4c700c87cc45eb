/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SOFTNIC_ARGP_PROGRAM_H
#define SOFTNIC_ARGP_PROGRAM_H

#include <argp.h>

/* The .children of each program's argp: -h, beside argp's own --help and --version. */
extern const struct argp_child program_options[];

#endif
