/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of hot calls, for who chooses one and those who look at their code. */
#ifndef M5_HOT_H
#define M5_HOT_H

#include "core/hot.h"

/* hot.c, as it is compiled: any processor or one with AVX2, MOVBE and BMI; without or with locks. */
extern const struct dap_hot m5_hot_base, m5_hot_base_locked, m5_hot_v3, m5_hot_v3_locked;

/* ---- tables.c ---- */
/* By the functions of which hardware is driven. */
const struct dap_hot *m5_hot_calls(bool v3, bool locked);
/* Its kind as attribute hot_functions names it. */
const char *m5_hot_kind(bool v3, bool locked);
/* The API level that all of them have. */
enum dap_api m5_hot_api(void);

/* ---- ctl/soft_hot.c ---- */
/* Those that give the calls to the instance's table, and drive the software adapter after them. */
const struct dap_hot *m5_soft_calls(void);

/* ---- isa.c ---- */
bool m5_isa_v3(void);

#endif
