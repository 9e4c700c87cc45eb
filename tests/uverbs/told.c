/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "tests/uverbs/told.h"

struct end told_a, told_b;

void told_open(void)
{
	rig_conf("");
	setenv("DAPL_DBG_TYPE", "0", 1);
	pair_open(&told_a, &told_b);
}

void told_close(void)
{
	end_close(&told_a);
	end_close(&told_b);
}

void told(DAT_EVENT_NUMBER number)
{
	DAT_EVENT ev;

	check(TH_WITHIN(SOON_MS, dat_evd_dequeue(told_b.async, &ev) == DAT_SUCCESS));
	same(ev.event_number, number);
	check(ev.event_data.asynch_error_event_data.dat_handle == told_b.ia);
}

void told_died(void)
{
	told(DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	took_ends(&told_a, &told_b, DAT_CONNECTION_EVENT_BROKEN);
	rig_empty(told_b.async);
}
