/* SPDX-License-Identifier: BSD-2-Clause */
/* The hot functions of uDAPL 1.2 for bind_doorbell=shared, by the same source. */
#define M5_SHARED 1
#define M5_HOT_TABLES m5_hot_tables_shared
#include "hw_mlx5/m5_hot12.c"
