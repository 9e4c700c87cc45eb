/* SPDX-License-Identifier: BSD-2-Clause */
/* What is told of a fork(), see fork.c. */
#ifndef DAP_FORK_H
#define DAP_FORK_H

#include "core/dap.h"

enum dap_fork { DAP_FORK_BEFORE, DAP_FORK_PARENT, DAP_FORK_CHILD };

/* Before the first object of this API level is made. front: the level's own part, of the child. 0 or
 * -errno. */
int dap_fork_init(enum dap_api api, void (*front)(void));

/* A lock that is held over a fork. */
static inline void dap_fork_mutex(pthread_mutex_t *lock, enum dap_fork phase)
{
	if (phase == DAP_FORK_BEFORE)
		pthread_mutex_lock(lock);
	else if (phase == DAP_FORK_PARENT)
		pthread_mutex_unlock(lock);
	else
		pthread_mutex_init(lock, NULL);
}

/* obj.c, ia.c, psp.c */
void dap_obj_fork(enum dap_fork phase);
void dap_ia_in_child(void);
void dap_sp_in_child(void);

#endif
