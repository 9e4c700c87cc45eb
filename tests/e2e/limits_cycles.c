/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects that are created and destroyed again and again leave nothing behind. */
#include "tests/e2e/ends.h"

/* The address sanitizer keeps freed memory for a while. */
#define SLACK_KB (TH_ASAN ? 100000 : 1024)

/* descriptors of the last connection, which are closed a moment later */
#define FDS_SLACK 4

static void plateau(const struct th_usage *early)
{
	struct th_usage late;

	th_usage(&late);
	check(late.fds <= early->fds + FDS_SLACK);
	same(late.threads, early->threads);
	check(TH_ASAN || late.maps <= early->maps + 4);
	check(late.rss_kb <= early->rss_kb + SLACK_KB);
}

static void setup(void)
{
	/* The model uses its register pages one after the other, and so makes their memory
	 * resident. Without registers it touches no memory. */
	rig_conf("strict=1;bf_eps=0");
	end_open(&a, RIG_MEM, NULL);
	end_open(&b, RIG_MEM, NULL);
}

TestSuite(limits_cycles, .timeout = 120);

RIG_TEST(limits_cycles, cycles__leave_nothing_behind)
{
	struct th_usage early;

	for (uint64_t i = 0; i < 1000; i++) {
		end_join(&a, a.ep, &b, b.ep);
		fill(a.mem, 300, i);
		must(do_recv(&b, i, 1000, 300));
		must(do_recv(&b, 7, 1000, 300));
		must(do_send(&a, i, 0, 300, SUPPRESS));
		took(b.recv_evd, i, DAT_DTO_SUCCESS);
		check(filled(b.mem + 1000, 300, i));
		must(dat_ep_disconnect(i & 1 ? a.ep : b.ep, (DAT_CLOSE_FLAGS)(i >> 1 & 1)));
		took_ends(&a, &b, DAT_CONNECTION_EVENT_DISCONNECTED);
		took(b.recv_evd, 7, FLUSHED);
		must(dat_ep_reset(a.ep));
		must(dat_ep_reset(b.ep));
		if (i == 200)
			th_usage(&early);
	}
	plateau(&early);
}

/* Each round has new endpoints with windows. */
RIG_TEST(limits_cycles, endpoints__one_after_the_other_leak_nothing)
{
	struct th_usage early;
	DAT_RMR_CONTEXT c;
	DAT_RMR_HANDLE rmr;
	DAT_LMR_HANDLE lmr;

	for (uint64_t i = 0; i < 500; i++) {
		must(dat_ep_free(a.ep));
		must(dat_ep_free(b.ep));
		a.ep = end_ep(&a, NULL);
		b.ep = end_ep(&b, NULL);
		must(dat_rmr_create(b.pz, &rmr));
		lmr = end_lmr(&b, b.mem, 4096, DAT_MEM_PRIV_ALL_FLAG, NULL, NULL);
		end_join(&a, a.ep, &b, b.ep);
		must(do_bind(&b, rmr, 1, 0, 64, RIGHTS_RW, &c));
		took_bind(b.req_evd, rmr, 1, DAT_RMR_BIND_SUCCESS);
		must(do_write(&a, 2, 0, through(c, &b, 0, 64), 0));
		took(a.req_evd, 2, DAT_DTO_SUCCESS);
		must(dat_rmr_free(rmr));
		must(dat_lmr_free(lmr));
		must(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
		took_ends(&a, &b, DAT_CONNECTION_EVENT_DISCONNECTED);
		if (i == 200)
			th_usage(&early);
	}
	plateau(&early);
}

RIG_TEST(limits_cycles, adapters__opened_and_closed_leak_nothing)
{
	struct th_usage early;

	for (int i = 0; i < 100; i++) {
		end_join(&a, a.ep, &b, b.ep);
		end_close(&a);
		took_conn(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		end_free(&b);
		end_open(&a, RIG_MEM, NULL);
		end_open(&b, RIG_MEM, NULL);
		if (i == 40)
			th_usage(&early);
	}
	plateau(&early);
}

RIG_TEST(limits_cycles, memory__registered_and_freed_leaks_nothing)
{
	struct th_usage early;

	for (int i = 0; i < 5000; i++) {
		must(dat_lmr_free(end_lmr(&a, a.mem, 4096, DAT_MEM_PRIV_ALL_FLAG, NULL, NULL)));
		if (i == 500)
			th_usage(&early);
	}
	plateau(&early);
}
