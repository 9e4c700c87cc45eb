/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that keeps writing changes no byte after its access has been revoked: after the call has
 * returned, or after the completion has been dequeued.
 */
#include <pthread.h>
#include <string.h>

#include "tests/e2e/pair.h"
#include "tests/e2e/window.h"

#define BYTES 4096u
#define LAPS 40

static DAT_RMR_HANDLE rmr;

TestSuite(bind_revoke, .timeout = 60);

struct writer {
	DAT_RMR_CONTEXT context;
	uint64_t written;
	DAT_DTO_COMPLETION_STATUS status;
	pthread_t thread;
};

/* Makes a write a different value each time, until a write is refused. Does not assert. */
static void *write_on(void *arg)
{
	struct writer *w = arg;
	DAT_EVENT ev;

	while (w->status == DAT_DTO_SUCCESS) {
		uint64_t n = w->written;

		memset(a.mem + n % 4 * BYTES, (int)n, BYTES);
		if (do_write(&a, n, n % 4 * BYTES, through(w->context, &b, 0, BYTES), 0) ||
		    !TH_WITHIN(SOON_MS, dat_evd_dequeue(a.req_evd, &ev) == DAT_SUCCESS))
			break;
		w->status = ev.event_data.dto_completion_event_data.status;
		if (w->status == DAT_DTO_SUCCESS)
			__atomic_store_n(&w->written, n + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void writer_start(struct writer *w, DAT_RMR_CONTEXT context, unsigned int lap)
{
	*w = (struct writer){ .context = context };
	same(pthread_create(&w->thread, NULL, write_on, w), 0);
	check(TH_WITHIN(SOON_MS, __atomic_load_n(&w->written, __ATOMIC_ACQUIRE) > 2 + lap));
}

/* Checks that access has ended. */
static void nothing_changes(struct writer *w)
{
	static char seen[BYTES];

	memcpy(seen, b.mem, BYTES);
	pthread_join(w->thread, NULL);
	check(!memcmp(seen, b.mem, BYTES));
	same(w->status, DAT_DTO_ERR_REMOTE_ACCESS);
	took_ends(&a, &b, DAT_CONNECTION_EVENT_BROKEN);
	rig_empty(a.req_evd);
	pair_again(&a, &b);
}

RIG_TEST(bind_revoke, rmr_free__lets_no_write_land_after_it_returned)
{
	struct writer w;

	for (unsigned int lap = 0; lap < LAPS; lap++) {
		must(dat_rmr_create(b.pz, &rmr));
		writer_start(&w, window_bind(&b, rmr, 0, BYTES, RIGHTS_RW), lap);
		must(dat_rmr_free(rmr));
		nothing_changes(&w);
	}
}

RIG_TEST(bind_revoke, lmr_free__lets_no_write_land_after_it_returned)
{
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	struct writer w;

	for (unsigned int lap = 0; lap < LAPS; lap++) {
		lmr = end_lmr(&b, b.mem, BYTES, DAT_MEM_PRIV_ALL_FLAG, &lmr_context, &context);
		writer_start(&w, context, lap);
		must(dat_lmr_free(lmr));
		nothing_changes(&w);
	}
}

RIG_TEST(bind_revoke, unbind__lets_no_write_land_after_its_completion)
{
	struct writer w;

	must(dat_rmr_create(b.pz, &rmr));
	for (unsigned int lap = 0; lap < LAPS; lap++) {
		writer_start(&w, window_bind(&b, rmr, 0, BYTES, RIGHTS_RW), lap);
		window_bind(&b, rmr, 0, 0, DAT_MEM_PRIV_NONE_FLAG);
		nothing_changes(&w);
	}
}

/*
 * The window is bound to the same memory under another context, which works like any other context.
 */
RIG_TEST(bind_revoke, rebind__lets_no_write_land_after_its_completion)
{
	struct writer w;

	must(dat_rmr_create(b.pz, &rmr));
	for (unsigned int lap = 0; lap < LAPS; lap++) {
		writer_start(&w, window_bind(&b, rmr, 0, BYTES, RIGHTS_RW), lap);
		window_bind(&b, rmr, 0, BYTES, RIGHTS_RW);
		nothing_changes(&w);
	}
}

/* Frees the endpoint that receives the writes: no work of that connection is executed any more. */
RIG_TEST(bind_revoke, ep_free__lets_no_write_land_after_it_returned)
{
	static char seen[BYTES];
	struct writer w;

	for (unsigned int lap = 0; lap < LAPS; lap++) {
		writer_start(&w, b.rmr_context, lap);
		must(dat_ep_free(b.ep));
		memcpy(seen, b.mem, BYTES);
		pthread_join(w.thread, NULL);
		check(!memcmp(seen, b.mem, BYTES));
		check(w.status != DAT_DTO_SUCCESS);
		took_conn(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		must(dat_ep_reset(a.ep));
		b.ep = end_ep(&b, NULL);
		end_join(&a, a.ep, &b, b.ep);
	}
}

/* The whole adapter is closed. */
RIG_TEST(bind_revoke, ia_close__lets_no_write_land_after_it_returned)
{
	static char seen[BYTES];
	struct writer w;
	char *mem;

	for (unsigned int lap = 0; lap < 10; lap++) {
		writer_start(&w, b.rmr_context, lap);
		mem = b.mem;
		must(dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG));
		memcpy(seen, mem, BYTES);
		pthread_join(w.thread, NULL);
		check(!memcmp(seen, mem, BYTES));
		check(w.status != DAT_DTO_SUCCESS);
		took_conn(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		must(dat_ep_reset(a.ep));
		end_open(&b, RIG_MEM, NULL);
		end_join(&a, a.ep, &b, b.ep);
	}
}
