/* SPDX-License-Identifier: BSD-2-Clause */
/* Making and freeing the objects behind handles, and the table that DAT calls on a handle use. */
#ifndef DAP_OBJ_H
#define DAP_OBJ_H

#include "core/dap.h"

/* Returns a zeroed object of the type in this IA, with the CHECKED table; NULL: out of memory. */
void *dap_obj_alloc(enum dap_type type, struct dap_ia *ia);
/* The handle is dead from here on; the memory is reused for an object of the same type. */
void dap_obj_free(void *obj);
/* Type of a live handle, else DAP_NONE. */
enum dap_type dap_obj_type(const void *h);
unsigned int dap_obj_count(enum dap_type type, const struct dap_ia *ia);
/* The table of freed handles, one for each API level; fronts register theirs. */
extern const void *dap_dead_table[DAP_APIS];

/* Sets the table that DAT calls on the handle use. */
static inline void dap_obj_set_table(struct dap_obj *obj, enum dap_table table)
{
	__atomic_store_n(&obj->table, obj->ia->tables[table], __ATOMIC_RELEASE);
}

#endif
