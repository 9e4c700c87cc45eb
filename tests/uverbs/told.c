/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "tests/uverbs/calls.h"
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

enum { WAIT_US = 200000, READS_MOST = 50 };

void told_cno_sleeps(int (*gone)(void))
{
	DAT_EVD_HANDLE evd = told_a.req_evd;
	DAT_CNO_HANDLE cno;

	calls_end_channels(gone);
	must(dat_cno_create(told_a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	must(dat_evd_modify_cno(evd, cno));
	must_fail(dat_cno_wait(cno, WAIT_US, &evd), DAT_QUEUE_EMPTY);
	check(calls_vain_reads() > 0 && calls_vain_reads() < READS_MOST);
	must(dat_evd_modify_cno(told_a.req_evd, DAT_HANDLE_NULL));
	must(dat_cno_free(cno));
}

void told_sleeps(int (*gone)(void))
{
	DAT_EVD_HANDLE evd = told_a.req_evd;
	DAT_CNO_HANDLE cno;
	DAT_EVENT ev;
	DAT_COUNT more;

	calls_end_channels(gone);
	must_fail(dat_evd_wait(evd, WAIT_US, 1, &ev, &more), DAT_TIMEOUT_EXPIRED);
	check(calls_vain_reads() > 0 && calls_vain_reads() < READS_MOST);
	must(dat_cno_create(told_a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	must(dat_evd_modify_cno(evd, cno));
	must_fail(dat_cno_wait(cno, WAIT_US, &evd), DAT_QUEUE_EMPTY);
	check(calls_vain_reads() < READS_MOST);
	must(dat_evd_modify_cno(told_a.req_evd, DAT_HANDLE_NULL));
	must(dat_cno_free(cno));
}
