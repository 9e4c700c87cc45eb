/* SPDX-License-Identifier: BSD-2-Clause */
/* libefa as seen by this process, in addition to libibverbs in tests/uverbs/calls.h. */
#ifndef TESTS_EFADV_EFA_CALLS_H
#define TESTS_EFADV_EFA_CALLS_H

#include <stdint.h>

#include "tests/uverbs/calls.h"

/* Values reported instead of the true ones, if nonzero. */
struct efa_told {
	uint32_t lacks;			/* bits to remove from device_caps */
	uint16_t inline_ex;
	uint32_t sq_wr, rq_wr;
	uint16_t sq_sge;
	uint32_t mtu;			/* see calls_port.max_msg_sz */
	const char *hidden;		/* a name that dlsym does not find */
	uint32_t cqe_size, wqe_size, cq_entries;
	int port_state;
};
extern struct efa_told efa_told;

#endif
