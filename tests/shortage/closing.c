/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closing while resources are missing. dat_ia_close(3) would report a catastrophe, and
 * dat_ep_disconnect(3) has a code for it; this provider's calls need no resources for it.
 */
#include "tests/shortage/shortage.h"

static DAT_IA_HANDLE ia;

static bool open_empty(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	return STEP(dat_ia_open((DAT_NAME_PTR)(uintptr_t)bench_name(), 8, &async, &ia));
}

/* Opens a listener, a window, and an endpoint that is about to be connected. */
static bool open_full(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = b.mem };
	DAT_HANDLE pz, cno, cr, conn, any, ep;
	DAT_CONN_QUAL qual;

	return open_empty() && STEP(dat_pz_create(ia, &pz)) &&
	       STEP(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno)) &&
	       STEP(dat_evd_create(ia, 8, cno, DAT_EVD_CR_FLAG, &cr)) &&
	       STEP(dat_evd_create(ia, 8, cno, DAT_EVD_CONNECTION_FLAG, &conn)) &&
	       STEP(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, MEM, pz, DAT_MEM_PRIV_ALL_FLAG,
				   &any, NULL, NULL, NULL, NULL)) &&
	       STEP(dat_rmr_create(pz, &any)) &&
	       STEP(dat_psp_create_any(ia, &qual, cr, DAT_PSP_CONSUMER_FLAG, &any)) &&
	       STEP(dat_ep_create(ia, pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, conn, NULL, &ep)) &&
	       STEP(dat_ep_connect(ep, b.address, qual, DAT_TIMEOUT_INFINITE, 0, NULL,
				   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static void close_gracefully(void)
{
	STEP(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void close_abruptly(void)
{
	STEP(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

Test(shortage, ia_close__with_each_failed_allocation_succeeds, .timeout = 60)
{
	bench_open();
	cr_assert(open_full());
	close_abruptly();
	no_trouble();
	needs_nothing(open_empty, close_gracefully);
	needs_nothing(open_full, close_abruptly);
	no_trouble();
	bench_close();
}
