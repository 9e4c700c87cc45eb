/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/peer/peer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf/common/stats.h"

enum { PATIENCE = 100 };

static unsigned int patience = 1;

void peer_let_complete(void)
{
	usleep(20000 * patience);
}

/* 0; 1 where completions were late, so that the batch does not count; -1. */
static int batch(const struct peer_op *op, uint64_t *ns)
{
	unsigned int i, bad = 0;
	uint64_t t, spent;

	if (op->before && op->before(op->batch))
		return -1;
	t = now_ns();
	for (i = 0; i < op->batch; i++)
		bad += op->call() != (int)op->wanted;
	spent = now_ns() - t;
	if (bad && !op->wanted)
		return -1;
	if (op->after && op->after(op->wanted ? bad : op->batch))
		return -1;
	*ns = spent;
	return bad ? 1 : 0;
}

/* The median of the batches, as in dat_bench. */
static int one(const struct peer_op *op, unsigned int calls, double *each)
{
	unsigned int done = 0;
	struct samples batches;
	uint64_t ns = 0;
	int rc = batch(op, &ns);

	if (rc < 0 || samples_init(&batches, calls))
		return -1;
	/* A device that was kept from its work is given longer, but not for ever. */
	for (patience = 1; rc >= 0 && done < calls && patience < PATIENCE; ) {
		ns = 0;
		rc = batch(op, &ns);
		patience = rc == 1 ? patience * 3 : 1;
		if (rc == 0) {
			samples_add(&batches, ns);
			done += op->batch;
		}
	}
	*each = (double)samples_quantile(&batches, 0.5) / op->batch;
	samples_free(&batches);
	return rc < 0 || done < calls ? -1 : 0;
}

int peer_run(int argc, char **argv, const struct peer_op *ops)
{
	unsigned int calls = 4096;
	double ns;

	if (argc > 2 && !strcmp(argv[argc - 2], "-n"))
		calls = (unsigned int)strtoul(argv[argc - 1], NULL, 0);
	for (; ops->name; ops++) {
		if (one(ops, calls, &ns)) {
			fprintf(stderr, "%s: FAILED\n", ops->name);
			return 1;
		}
		printf("%s\t%s\t%.1f\n", ops->name, ops->function, ns);
		fflush(stdout);
	}
	return 0;
}
