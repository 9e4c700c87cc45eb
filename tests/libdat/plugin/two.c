/* SPDX-License-Identifier: BSD-2-Clause */
/* The provider of one.c again, as a second library. */
#include "tests/libdat/plugin/one.c"
