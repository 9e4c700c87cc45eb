/* SPDX-License-Identifier: BSD-2-Clause */
/* Fork handlers, see fork.c. */
#ifndef DAP_FORK_H
#define DAP_FORK_H

#include "core/dap.h"

enum dap_fork { DAP_FORK_BEFORE, DAP_FORK_PARENT, DAP_FORK_CHILD };

/* To be called before the first object of this API level is created. front: the level's own handler
 * for the child. Returns 0 or -errno. */
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

/* Handlers of obj.c, lmr.c, ia.c and psp.c. That of lmr.c runs before the child's slabs forget the LMRs. */
void dap_obj_fork(enum dap_fork phase);
void dap_lmr_in_child(void);
void dap_ia_in_child(void);
void dap_sp_in_child(void);

#endif
