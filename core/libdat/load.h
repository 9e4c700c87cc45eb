/* SPDX-License-Identifier: BSD-2-Clause */
/* Provider libraries. All with the registry's lock held. */
#ifndef LIBDAT_LOAD_H
#define LIBDAT_LOAD_H

#include "core/libdat/registry.h"

/* Loads the entry's library and has it register. 0, or -errno after saying why. */
int load_provider(struct reg_entry *entry);

/* The same may work when there is more memory, or another descriptor. */
bool is_shortage(int err);

/* Tells the provider to finish; the entry is not registered when it returns. */
void unload_provider(struct reg_entry *entry);

/* The entry whose provider is being initialised, or NULL. */
struct reg_entry *loading_entry(void);

#endif
