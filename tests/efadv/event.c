/* SPDX-License-Identifier: BSD-2-Clause */
/* What happens to port and device comes to the consumer's asynchronous EVD; CQs that lie. */
#include <errno.h>
#include <stdlib.h>

#include "tests/e2e/rig.h"
#include "tests/efadv/efa_calls.h"

static struct end a, b;

static void open_both(void)
{
	rig_conf("");
	setenv("DAPL_DBG_TYPE", "0", 1);
	pair_open(&a, &b);
}

static void close_both(void)
{
	end_close(&a);
	end_close(&b);
}

TestSuite(event, .init = open_both, .fini = close_both, .timeout = 60);

/* The context opened last is b's. */
static void told(DAT_EVENT_NUMBER number)
{
	DAT_EVENT ev;

	check(TH_WITHIN(SOON_MS, dat_evd_dequeue(b.async, &ev) == DAT_SUCCESS));
	same(ev.event_number, number);
	check(ev.event_data.asynch_error_event_data.dat_handle == b.ia);
}

static void moves(void)
{
	must(do_recv(&b, 1, 0, 64));
	must(do_send(&a, 1, 0, 64, 0));
	took(b.recv_evd, 1, DAT_DTO_SUCCESS);
	took(a.req_evd, 1, DAT_DTO_SUCCESS);
}

Test(event, port__down_and_up)
{
	calls_async(IBV_EVENT_PORT_ERR, 2);
	calls_async((enum ibv_event_type)99, 1);
	calls_async(IBV_EVENT_PORT_ERR, 1);
	told(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	calls_async(IBV_EVENT_PORT_ACTIVE, 1);
	calls_async(IBV_EVENT_GID_CHANGE, 1);
	moves();
	rig_empty(b.async);
}

static void died(void)
{
	told(DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	took_ends(&a, &b, DAT_CONNECTION_EVENT_BROKEN);
	rig_empty(b.async);
}

Test(event, device__fails)
{
	calls_async(IBV_EVENT_DEVICE_FATAL, 0);
	died();
}

Test(event, device__vanishes)
{
	calls_vanish();
	died();
}
