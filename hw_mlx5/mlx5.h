/* SPDX-License-Identifier: BSD-2-Clause */
/* The ConnectX backend as core sees it. */
#ifndef M5_H
#define M5_H

#include "core/hw.h"

extern const struct dap_hw m5_hw;

#endif
