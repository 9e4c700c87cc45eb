/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several threads share one adapter, each with its own endpoints and EVDs, while others create and
 * destroy objects. Threadsafe and nonthreadsafe IAs allow that.
 */
#include <pthread.h>
#include <string.h>

#include "tests/e2e/ends.h"

#define THREADS 4
#define PART 8192u
#define APART (2 * THREADS * PART)	/* offset of memory that no thread uses as its part */
#define ALL (APART + 4096u)

static bool stop;

static void setup(void)
{
	end_open(&a, ALL, NULL);
	end_open(&b, ALL, NULL);
	end_listen(&b);
}

TestSuite(limits_threads, .timeout = 120);

/* Makes a copy of an end that has a part of its memory, its own EVDs and its own endpoint. */
static void share(struct end *own, const struct end *of, unsigned int i)
{
	*own = *of;
	own->mem = of->mem + 2 * i * PART;
	must(dat_evd_create(own->ia, 128, NULL, DAT_EVD_DTO_FLAG, &own->recv_evd));
	must(dat_evd_create(own->ia, 128, NULL, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
			    &own->req_evd));
	must(dat_evd_create(own->ia, 16, NULL, DAT_EVD_CONNECTION_FLAG, &own->conn_evd));
	own->ep = end_ep(own, NULL);
}

struct worker {
	struct end a, b;
	pthread_t thread;
	uint64_t laps;
	DAT_RMR_HANDLE rmr;
	const char *wrong;
};

/* Prints an error, because only the main thread may assert. Returns false, which ends the
 * worker. */
static bool done(DAT_EVD_HANDLE evd, uint64_t cookie)
{
	DAT_EVENT ev;

	return TH_WITHIN(SOON_MS, dat_evd_dequeue(evd, &ev) == DAT_SUCCESS) &&
	       ev.event_data.dto_completion_event_data.user_cookie.as_64 == cookie &&
	       ev.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
}

static const char *one_lap(struct worker *w, uint64_t n)
{
	size_t size = n * 131 % PART + 1;
	DAT_RMR_CONTEXT c;

	fill(w->a.mem, size, n);
	if (do_bind(&w->b, w->rmr, n, 0, PART, RIGHTS_RW, &c) || !done(w->b.req_evd, n))
		return "bind";
	if (do_write(&w->a, n, 0, through(c, &w->b, 0, size), 0) || !done(w->a.req_evd, n))
		return "write";
	if (!filled(w->b.mem, size, n))
		return "data of the write";
	if (do_read(&w->a, n + 1, PART, through(c, &w->b, 0, size), 0) || !done(w->a.req_evd, n + 1))
		return "read";
	if (!filled(w->a.mem + PART, size, n))
		return "data of the read";
	if (do_recv(&w->b, n, PART, size) || do_send(&w->a, n, 0, size, SUPPRESS) ||
	    !done(w->b.recv_evd, n))
		return "send";
	return filled(w->b.mem + PART, size, n) ? NULL : "data of the message";
}

static void *work(void *arg)
{
	struct worker *w = arg;

	while (!w->wrong && !__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		w->wrong = one_lap(w, __atomic_fetch_add(&w->laps, 1, __ATOMIC_RELEASE));
	return NULL;
}

static struct worker workers[THREADS];

/* A thread that has not run proves nothing, so wait until each has run. */
static bool all_have_run(void)
{
	for (unsigned int i = 0; i < THREADS; i++) {
		if (__atomic_load_n(&workers[i].laps, __ATOMIC_ACQUIRE) < 4 && !workers[i].wrong)
			return false;
	}
	return true;
}

static void workers_start(void)
{
	for (unsigned int i = 0; i < THREADS; i++) {
		struct worker *w = &workers[i];

		share(&w->a, &a, i);
		share(&w->b, &b, i);
		must(dat_rmr_create(w->b.pz, &w->rmr));
		must(end_dial(w->a.ep, b.qual, SOON_MS * 1000u));
		must(dat_cr_accept(end_request(&b), w->b.ep, 0, NULL));
		took_conn(&w->b, w->b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		took_conn(&w->a, w->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		same(pthread_create(&w->thread, NULL, work, w), 0);
	}
}

static void workers_stop(void)
{
	TH_WITHIN(SOON_MS, all_have_run());
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		cr_assert_null(workers[i].wrong, "thread %u: %s", i, workers[i].wrong);
		check(workers[i].laps > 2);
	}
}

RIG_TEST(limits_threads, threads__each_with_its_own_endpoint_do_not_disturb_others)
{
	workers_start();
	th_sleep_ms(500);
	workers_stop();
}

/* While the workers transfer, objects of every type are created and destroyed in the same two adapters. */
RIG_TEST(limits_threads, threads__work_beside_creation_and_destruction)
{
	DAT_EP_HANDLE x, y;
	DAT_RMR_HANDLE rmr;
	DAT_LMR_HANDLE lmr;
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;

	workers_start();
	for (uint64_t i = 0; i < 150; i++) {
		must(dat_pz_create(a.ia, &pz));
		must(dat_evd_create(a.ia, 16, NULL, DAT_EVD_DTO_FLAG, &evd));
		must(dat_rmr_create(pz, &rmr));
		lmr = end_lmr(&b, b.mem, 4096, DAT_MEM_PRIV_ALL_FLAG, NULL, NULL);
		x = end_ep(&a, NULL);
		y = end_ep(&b, NULL);
		end_join(&a, x, &b, y);
		must(dat_ep_disconnect(i & 1 ? x : y, (DAT_CLOSE_FLAGS)(i >> 1 & 1)));
		took_conn(&a, x, DAT_CONNECTION_EVENT_DISCONNECTED);
		took_conn(&b, y, DAT_CONNECTION_EVENT_DISCONNECTED);
		must(dat_ep_free(x));
		must(dat_ep_free(y));
		must(dat_lmr_free(lmr));
		must(dat_rmr_free(rmr));
		must(dat_evd_free(evd));
		must(dat_pz_free(pz));
	}
	workers_stop();
}

/* While the workers transfer, adapters are opened and closed, and connections to them are made. */
RIG_TEST(limits_threads, threads__work_beside_adapters_that_come_and_go)
{
	struct end c;

	workers_start();
	for (int i = 0; i < 30; i++) {
		DAT_EP_HANDLE ep = end_ep(&b, NULL);

		end_open(&c, RIG_MEM, NULL);
		end_join(&c, c.ep, &b, ep);
		if (i & 1) {
			end_free(&c);
		} else {
			must(do_recv(&c, 1, 0, 64));
			end_close(&c);
		}
		took_conn(&b, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		must(dat_ep_free(ep));
	}
	workers_stop();
}

/* While the workers transfer, another connection breaks again and again. */
RIG_TEST(limits_threads, threads__work_beside_a_connection_that_breaks)
{
	workers_start();
	end_join(&a, a.ep, &b, b.ep);
	for (int i = 0; i < 60; i++) {
		DAT_EP_HANDLE ea = a.ep;

		must(do_write(&a, 1, APART, far(&b, APART, 8), SUPPRESS));
		must(dat_ep_disconnect(i & 1 ? ea : b.ep, DAT_CLOSE_ABRUPT_FLAG));
		took_ends(&a, &b, DAT_CONNECTION_EVENT_DISCONNECTED);
		must(do_recv(&a, 2, APART, 8));
		took(a.recv_evd, 2, FLUSHED);
		pair_again(&a, &b);
	}
	workers_stop();
}

/* Each thread waits in dat_evd_wait(), and only its own completions wake it. */
static void *sleep_and_work(void *arg)
{
	struct worker *w = arg;
	DAT_COUNT more;
	DAT_EVENT ev;

	while (!w->wrong && !__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		uint64_t n = w->laps++;

		if (do_recv(&w->b, n, 0, 64) || do_send(&w->a, n, PART, 64, SUPPRESS) ||
		    dat_evd_wait(w->b.recv_evd, SOON_MS * 1000u, 1, &ev, &more) ||
		    ev.event_data.dto_completion_event_data.user_cookie.as_64 != n)
			w->wrong = "a post, a wait or its event was wrong";
	}
	return NULL;
}

RIG_TEST(limits_threads, threads__each_asleep_on_its_own_evd_are_woken)
{
	for (unsigned int i = 0; i < THREADS; i++) {
		struct worker *w = &workers[i];

		share(&w->a, &a, i);
		share(&w->b, &b, i);
		must(end_dial(w->a.ep, b.qual, SOON_MS * 1000u));
		must(dat_cr_accept(end_request(&b), w->b.ep, 0, NULL));
		took_conn(&w->b, w->b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		took_conn(&w->a, w->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		same(pthread_create(&w->thread, NULL, sleep_and_work, w), 0);
	}
	th_sleep_ms(500);
	workers_stop();
}
