/* SPDX-License-Identifier: BSD-2-Clause */
/* libefa as this process meets it, beside what tests/uverbs/calls.h has of libibverbs. */
#ifndef TESTS_EFADV_EFA_CALLS_H
#define TESTS_EFADV_EFA_CALLS_H

#include <stdint.h>

#include "tests/uverbs/calls.h"

/* What is told instead of the truth, where it is not zero. */
struct efa_told {
	uint32_t lacks;			/* bits of device_caps */
	uint16_t inline_ex;
	const char *hidden;		/* dlsym finds no such name */
	uint32_t cqe_size, wqe_size, cq_entries;
	int port_state;
};
extern struct efa_told efa_told;

#endif
