/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/peer/peer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf/common/stats.h"

enum { PATIENCE = 100, CALLS_MAX = 100000000 };

static unsigned int patience = 1, first_wait_us;

void peer_let_complete(void)
{
	usleep(first_wait_us * patience);
}

/* Makes n calls and adds their return values to *got. */
static int calls(const struct peer_op *op, unsigned int n, unsigned int *got)
{
	while (n--) {
		int rc = op->call();

		if (rc < 0 || (rc && !op->wanted))
			return -1;
		*got += (unsigned int)rc;
	}
	return 0;
}

/*
 * Runs a batch. Returns 0, or -1; or 1 if completions came late, so that the batch does not count.
 * As in dat_bench, the first dequeues after the wait are not timed.
 */
static int batch(const struct peer_op *op, uint64_t *ns)
{
	unsigned int warm = op->wanted ? PEER_BATCH / op->wanted : 0, got = 0;
	unsigned int all = (warm + op->batch) * op->wanted;
	uint64_t t, spent;

	if ((op->before && op->before(all ? all : op->batch)) || calls(op, warm, &got))
		return -1;
	t = now_ns();
	if (calls(op, op->batch, &got))
		return -1;
	spent = since_ns(t);
	if (op->after && op->after(all ? all - got : op->batch))
		return -1;
	*ns = spent;
	return got == all ? 0 : 1;
}

/* Returns the median of the batches, as in dat_bench. */
static int one(const struct peer_op *op, unsigned int calls, double *each)
{
	unsigned int done = 0, of = op->batch * (op->wanted ? op->wanted : 1);
	struct samples batches;
	uint64_t ns = 0;
	int rc;

	first_wait_us = batch_wait_us(calls / of);
	rc = batch(op, &ns);
	if (rc < 0 || samples_init(&batches, calls))
		return -1;
	/* If the device is late, the next wait is longer, up to a limit. */
	for (patience = 1; rc >= 0 && done < calls && patience < PATIENCE; ) {
		ns = 0;
		rc = batch(op, &ns);
		patience = rc == 1 ? patience * 3 : 1;
		if (rc == 0) {
			samples_add(&batches, ns);
			done += of;
		}
	}
	*each = (double)samples_quantile(&batches, 0.5) / of;
	samples_free(&batches);
	return rc < 0 || done < calls ? -1 : 0;
}

int peer_run(int argc, char **argv, const struct peer_op *ops)
{
	unsigned long calls = 4096;
	char *end = "";
	double ns;

	if (argc > 2 && !strcmp(argv[argc - 2], "-n"))
		calls = strtoul(argv[argc - 1], &end, 10);
	if (*end || !calls || calls > CALLS_MAX) {
		fprintf(stderr, "-n '%s' is not a number from 1 to %d\n", argv[argc - 1], CALLS_MAX);
		return 2;
	}
	for (; ops->name; ops++) {
		if (one(ops, (unsigned int)calls, &ns)) {
			fprintf(stderr, "%s: FAILED\n", ops->name);
			return 1;
		}
		printf("%s\t%s\t%.1f\t%u\n", ops->name, ops->function, ns,
		       ops->wanted ? ops->wanted : 1);
		fflush(stdout);
	}
	return 0;
}
