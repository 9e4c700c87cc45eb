/* SPDX-License-Identifier: BSD-2-Clause */
/* The variants of the hot functions, for those who choose one and those who look at their code. */
#ifndef M5_HOT_H
#define M5_HOT_H

#include "core/hot.h"

struct m5_hot_table {
	const char *kind;		/* "", "-locked", "-v3", "-locked-v3" */
	bool nonthreadsafe;		/* takes no lock */
	enum dap_api api;
	const struct dap_hot *calls;	/* as that API level has them */
};

/* All of them; n receives how many. Of one API level: that of the provider they are linked into. */
const struct m5_hot_table *m5_hot_tables(unsigned int *n);
/* The same for processors with AVX2, MOVBE and BMI, their kinds ending in "-v3". */
const struct m5_hot_table *m5_hot_tables_v3(unsigned int *n);

/* ---- ctl/soft_hot.c ---- */
/* Those that give the calls to the instance's table, and drive the software adapter after them. */
const struct dap_hot *m5_soft_calls(void);

/* ---- isa.c ---- */
bool m5_isa_v3(void);

#endif
