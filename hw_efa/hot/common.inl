/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the hot calls. */
#include "core/front/triplet.h"
#include "hw_efa/hot/hot.h"
#include "hw_efa/lock.h"

EFA_INLINE DAT_RETURN efa_return(int err)
{
	return efa_likely(!err) ? DAT_SUCCESS : front_return(err);
}
