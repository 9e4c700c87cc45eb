/* SPDX-License-Identifier: BSD-2-Clause */
/* The hot functions of uDAPL 2.0 for x86-64 processors with AVX2, MOVBE and BMI, by the same source. */
#define M5_V3
#include "hw_mlx5/hot/hot20.c"
