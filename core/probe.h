/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Static probes (USDT): dapl-direct(7) lists them. A probe is one nop, and a note of the library that
 * says in which registers its arguments are. So an argument must be a constant, or a value that the code
 * has in a register anyway; anything else adds instructions to a hot call, which scripts/hot-count
 * notices.
 */
#ifndef DAP_PROBE_H
#define DAP_PROBE_H

#include "config.h"

#ifdef HAVE_SDT
/* clang would store an argument that may be in memory. */
#ifdef __clang__
#define STAP_SDT_ARG_CONSTRAINT nr
#endif
#include <sys/sdt.h>
#define DAP_PROBE2(name, a, b) STAP_PROBE2(dapl_direct, name, a, b)
#define DAP_PROBE3(name, a, b, c) STAP_PROBE3(dapl_direct, name, a, b, c)
#define DAP_PROBE4(name, a, b, c, d) STAP_PROBE4(dapl_direct, name, a, b, c, d)
#else
#define DAP_PROBE2(name, a, b) ((void)(a), (void)(b))
#define DAP_PROBE3(name, a, b, c) ((void)(a), (void)(b), (void)(c))
#define DAP_PROBE4(name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#endif

/* The second argument of retransmit. */
enum { DAP_PROBE_REQUEST, DAP_PROBE_RDMA };

#endif
