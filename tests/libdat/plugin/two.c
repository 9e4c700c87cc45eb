/* SPDX-License-Identifier: BSD-2-Clause */
/* The same provider as another library. */
#include "tests/libdat/plugin/one.c"
