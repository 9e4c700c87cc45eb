/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Set if a store barrier ran since the last doorbell; only for ThreadSanitizer, see barrier.h. */
#include "core/barrier.h"

#if DAP_TSAN
_Thread_local int dap_tsan_wmb;
#endif
