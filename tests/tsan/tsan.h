/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the race programs. Each is a plain main() that makes calls as the concurrency contract
 * allows, in the variant of the hot path for hardware, under the race detector.
 */
#ifndef TSAN_H
#define TSAN_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "perf/common/pair.h"
#include "perf/common/stats.h"

enum { TSAN_OPS = 2000, TSAN_LIMIT_S = 60 };

/* DAPL_TEST_IA names another adapter. */
static inline const char *tsan_ia(void)
{
	const char *name = getenv("DAPL_TEST_IA");

	return name && *name ? name : "soft-mlx5-0";
}

static inline void tsan_must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "FAILED: %s\n", what);
	_Exit(1);
}

static inline DAT_RETURN tsan_write(struct pair *p, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET l = region_segment(&p->local, 0, 64);
	DAT_RMR_TRIPLET r = region_target(&p->remote, 0, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	return dat_ep_post_rdma_write(p->a.ep, 1, &l, cookie, &r, flags);
}

/* Repeats a post until it succeeds. If the queue is full, waits for the poller. False: the connection
 * has ended. */
static inline bool tsan_write_all(struct pair *p, unsigned int n, DAT_COMPLETION_FLAGS flags)
{
	uint64_t until = now_ns() + TSAN_LIMIT_S * 1000000000ull;
	DAT_RETURN ret;

	while (n) {
		ret = tsan_write(p, flags);
		if (ret == DAT_SUCCESS) {
			n--;
		} else if (DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES) {
			return false;
		} else {
			tsan_must(now_ns() < until, "the queue stays full");
			sched_yield();
		}
	}
	return true;
}

/* Dequeues n completions of any status. */
static inline void tsan_reap(DAT_EVD_HANDLE evd, unsigned int n)
{
	uint64_t until = now_ns() + TSAN_LIMIT_S * 1000000000ull;
	DAT_EVENT ev;

	while (n) {
		if (dat_evd_dequeue(evd, &ev) == DAT_SUCCESS) {
			n--;
			continue;
		}
		tsan_must(now_ns() < until, "completions are missing");
		sched_yield();
	}
}

/* Creates a disconnected endpoint on evd: it was connected, and there is no listener. */
static inline DAT_EP_HANDLE tsan_dead_ep(DAT_IA_HANDLE ia, DAT_COUNT dtos, DAT_EVD_HANDLE evd)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = dtos, .max_request_dtos = dtos };
	DAT_EVD_HANDLE conn_evd;
	DAT_IA_ATTR ia_attr;
	DAT_EP_HANDLE ep;
	DAT_PZ_HANDLE pz;
	DAT_COUNT nmore;
	DAT_EVENT ev;

	tsan_must(!dat_pz_create(ia, &pz), "dat_pz_create failed");
	tsan_must(!dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &conn_evd),
		  "dat_evd_create failed");
	tsan_must(!dat_ep_create(ia, pz, evd, evd, conn_evd, &attr, &ep), "dat_ep_create failed");
	tsan_must(!dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &ia_attr, 0, NULL), "dat_ia_query failed");
	tsan_must(!dat_ep_connect(ep, ia_attr.ia_address_ptr, 61234, 50000, 0, NULL,
				  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG), "dat_ep_connect failed");
	tsan_must(!dat_evd_wait(conn_evd, TSAN_LIMIT_S * 1000000, 1, &ev, &nmore), "dat_evd_wait failed");
	tsan_must(ev.event_number != DAT_CONNECTION_EVENT_ESTABLISHED,
		  "the connect did not fail although no process listens");
	return ep;
}

static inline pthread_t tsan_thread(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	tsan_must(pthread_create(&t, NULL, fn, arg) == 0, "pthread_create failed");
	return t;
}

#endif
