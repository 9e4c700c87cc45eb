/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of hot calls, for their selection and for tests of their code. */
#ifndef M5_HOT_H
#define M5_HOT_H

#include "core/hot.h"

/* The builds of hot.c: any processor, or one with AVX2, MOVBE and BMI; without or with locks. */
extern const struct dap_hot m5_hot_base, m5_hot_base_locked, m5_hot_v3, m5_hot_v3_locked;

/* ---- tables.c ---- */
/* The functions for hardware. */
const struct dap_hot *m5_hot_calls(bool v3, bool locked);
/* Name of the kind in attribute hot_functions. */
const char *m5_hot_kind(bool v3, bool locked);
/* The API level of all tables. */
enum dap_api m5_hot_api(void);

/* ---- ctl/soft_hot.c ---- */
/* Functions that call the instance's hardware table, then drive the software adapter. */
const struct dap_hot *m5_soft_calls(void);

/* ---- isa.c ---- */
bool m5_isa_v3(void);

#endif
