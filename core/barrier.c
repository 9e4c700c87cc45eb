/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* For ThreadSanitizer, see barrier.h: a store barrier since the last doorbell. */
#include "core/barrier.h"

#if DAP_TSAN
_Thread_local int dap_tsan_wmb;
#endif
