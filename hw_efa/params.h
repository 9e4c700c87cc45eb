/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys of ia_params for an EFA; core/param.h has the syntax. */
#ifndef EFA_PARAMS_H
#define EFA_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/dap.h"
#include "core/param.h"

struct efa_params {
	uint32_t window;		/* packets that a peer may have in flight to an endpoint */
	uint32_t rendezvous;		/* a longer message is read by its receiver */
	uint32_t cq_entries;		/* number of entries of the IA's CQ */
	uint32_t inl;			/* largest message in a WQE; above 32: WQEs of 128 bytes */
	/* address at which peers reach this host; family 0: not given */
	union dap_addr ip;
	bool relaxed;			/* writes may become visible in any order */
	uint32_t look_ms;		/* interval of polls for consumers that do not poll */
	/* keys of the software EFA */
	uint64_t seed;
	uint32_t reorder;		/* packets that wait for reordering; 0: the default */
	bool strict;			/* abort if the device found an error of the driver */
	bool adversarial;
	bool silicon;			/* use the hot functions for hardware */
	bool step;			/* the device has no thread: only calls drive it */
	char profile[16];
	char fault[512];
};

extern const struct dap_param efa_param_table[];

/* Returns 0, or -EINVAL with the offending key in why. params may be NULL. */
int efa_params_parse(const char *params, struct efa_params *p, char *why, size_t whylen);

#endif
