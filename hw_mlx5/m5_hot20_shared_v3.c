/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hot functions of uDAPL 2.0 for bind_doorbell=shared,
 * for x86-64 processors with AVX2, MOVBE and BMI, by the same source.
 */
#define M5_SHARED 1
#define M5_HOT_TABLES m5_hot_tables_shared_v3
#include "hw_mlx5/m5_hot20_v3.c"
