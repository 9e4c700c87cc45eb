/* SPDX-License-Identifier: BSD-2-Clause */
/* The variants of the hot functions, for those who choose one and those who look at their code. */
#ifndef M5_HOT_H
#define M5_HOT_H

#include "core/hot.h"

struct m5_hot_table {
	const char *name;		/* "silicon", "silicon-locked", "model", "model-locked" */
	bool silicon;			/* doorbells are MMIO stores, and polls drive no model */
	bool nonthreadsafe;		/* takes no lock */
	enum dap_api api;
	const struct dap_hot *dat12;	/* as that API level has it */
};

/* All of them; n receives how many. Of one API level: that of the provider they are linked into. */
const struct m5_hot_table *m5_hot_tables(unsigned int *n);
/* The same for processors with AVX2, MOVBE and BMI, their names ending in "-v3". */
const struct m5_hot_table *m5_hot_tables_v3(unsigned int *n);

/* ---- isa.c ---- */
bool m5_isa_v3(void);

#endif
