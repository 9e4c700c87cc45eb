/* SPDX-License-Identifier: BSD-2-Clause */
/* The variants of the hot functions, for those who choose one and those who look at their code. */
#ifndef EFA_HOT_H
#define EFA_HOT_H

#include "core/hot.h"

struct efa_hot_table {
	const char *name;		/* "silicon", "model"; -wide */
	bool silicon;			/* doorbells are MMIO stores, and polls drive no model */
	bool wide;			/* WQEs of 128 bytes */
	enum dap_api api;
	const struct dap_hot *dat12;	/* as that API level has it */
};

/* All of them; n receives how many. Of one API level: that of the provider they are linked into. */
const struct efa_hot_table *efa_hot_tables(unsigned int *n);

#endif
