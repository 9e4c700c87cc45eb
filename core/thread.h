/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of the library. All signals are blocked in them: they belong to the consumer's threads. */
#ifndef DAP_THREAD_H
#define DAP_THREAD_H

#include <pthread.h>

/* Returns 0 or an error number, as pthread_create(3) does. */
int dap_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg);

#endif
