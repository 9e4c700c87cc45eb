/* SPDX-License-Identifier: BSD-2-Clause */
/* Provider libraries. The registry's lock is held for all of these. */
#ifndef LIBDAT_LOAD_H
#define LIBDAT_LOAD_H

#include "core/libdat/registry.h"

/* Loads the entry's library, which registers itself. Returns 0, or -errno after logging why. */
int load_provider(struct reg_entry *entry);

/* Returns true if the call may succeed once there is more memory or a free descriptor. */
bool is_shortage(int err);

/* Calls dat_provider_fini; afterwards the entry is not registered. */
void unload_provider(struct reg_entry *entry);

/* The entry whose provider is being initialized, or NULL. */
struct reg_entry *loading_entry(void);

#endif
