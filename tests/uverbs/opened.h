/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UVERBS_OPENED_H
#define TESTS_UVERBS_OPENED_H

#include "hw_mlx5/ctl/ctl.h"

/* Opens the access to the device of this IA, which must succeed. */
struct m5_ctl *opened(const char *ia_name, const char *params);

#endif
