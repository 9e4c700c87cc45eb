/* SPDX-License-Identifier: BSD-2-Clause */
/* What happens to port and device comes to the consumer's asynchronous EVD. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "tests/e2e/rig.h"
#include "tests/uverbs/calls.h"

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

static void open_truly(void)
{
	calls_port.true_events = true;
	open_both();
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
	calls_async(IBV_EVENT_PORT_ERR, 1);
	told(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	calls_async(IBV_EVENT_PORT_ACTIVE, 1);
	calls_async(IBV_EVENT_GID_CHANGE, 1);
	moves();
	rig_empty(b.async);
}

Test(event, channel__that_overflows)
{
	calls_port.events_lost = 1;
	calls_async(IBV_EVENT_SM_CHANGE, 1);
	told(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	moves();
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

/* What the kernel answers for a device that it has taken away from its programs. */
Test(event, channel__that_ends)
{
	calls_fail_named("mlx5dv_devx_get_event", EIO);
	calls_async(IBV_EVENT_SM_CHANGE, 1);
	died();
	calls_stop();
}

Test(event, device__vanishes)
{
	calls_vanish();
	died();
}

/* ---- the device itself does it: what softnic-run shows can fail ---- */

TestSuite(front, .init = open_truly, .fini = close_both, .timeout = 60);

static void fault(const char *script)
{
	int (*set)(unsigned int, const char *) =
		(int (*)(unsigned int, const char *))dlsym(RTLD_DEFAULT, "softnic_front_fault");

	check(set);
	same(set(0, script), 0);
}

Test(front, port__down_and_up)
{
	fault("link_down");
	told(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	fault("");
	moves();
	rig_empty(b.async);
}

Test(front, device__fails)
{
	fault("fatal");
	died();
}
