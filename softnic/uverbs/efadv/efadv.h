/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of a newer libefa than the one that is installed, preloaded in front of it. The two queries
 * of 59 are always answered. With SOFTNIC_EFADV=59, 60 or 63 the others are, too, as of that
 * release: what the device can that 44.0 does not know of is told, and QPs and CQs are made with it.
 * Those objects are for programs that drive the queues themselves; libefa's own calls do not fit them.
 *
 * Structures are those of efadv.h, as far as a caller's version of them goes. It is loaded with
 * softnic-uverbs.so, and asks that for the device.
 */
#ifndef SOFTNIC_EFADV_H
#define SOFTNIC_EFADV_H

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#include "softnic/uverbs/efa/front.h"

#define EXPORT __attribute__((visibility("default")))

enum { WITH_QUERIES = 59, WITH_DOORBELL = 60, WITH_WIDE = 63 };

/* 0: libefa as it is, and the queries of 60. */
unsigned int sed_release(void);
const struct uve_direct *sed_front(void);
/* The definition of the libefa that the program has, or NULL. */
void *sed_real(const char *name);

#endif
