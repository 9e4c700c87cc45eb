/* SPDX-License-Identifier: BSD-2-Clause */
/* Helpers of all hot calls: return codes, compiler barriers, the bounds of an LMR. */
#include "core/front/triplet.h"
#include "hw_efa/hot/hot.h"
#include "hw_efa/lock.h"

EFA_INLINE DAT_RETURN efa_return(int err)
{
	return efa_likely(!err) ? DAT_SUCCESS : front_return(err);
}

/* Keeps a test a branch: two at a time take longer to be made one than to be made. */
#define EFA_APART() __asm__ volatile("")
/* What has been loaded is loaded again where it is wanted, rather than kept in a register. */
#define EFA_ANEW()  __asm__ volatile("" : : : "memory")

/* Neither before its start nor beyond its end. */
EFA_INLINE bool efa_inside(const struct dap_lmr *lmr, uint64_t va, uint64_t len)
{
	uint64_t off = va - lmr->addr, room = lmr->length - len;

	__asm__("" : "+r"(off));	/* this order takes no register more */
	return (int64_t)(off | (room - off)) >= 0;
}
