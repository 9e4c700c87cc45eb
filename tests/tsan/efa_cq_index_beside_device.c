/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An EFA overwrites a CQE as soon as the consumer index in the CQ's doorbell permits it. So all reads of the
 * CQE must come before the store of the index.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "hw_efa/calls.h"

static struct efa_cqe cqe;
static uint32_t doorbell;

static void *device(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&doorbell, __ATOMIC_ACQUIRE))
		sched_yield();
	cqe.imm = cpu_to_le32(2);
	return NULL;
}

int main(void)
{
	struct efa_engine eng = { .res.ring.doorbell = &doorbell, .cq = { .ci = 1, .log = 4 } };
	pthread_t thread;
	uint32_t imm;

	if (pthread_create(&thread, NULL, device, NULL))
		return 1;
	imm = le32_to_cpu(cqe.imm);
	efa_cq_write_consumed(&eng);
	pthread_join(thread, NULL);
	printf("immediate data: %u\n", imm);
	return 0;
}
