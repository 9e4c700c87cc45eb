/* SPDX-License-Identifier: BSD-2-Clause */
/* Servers and clients of the programs that connect. */
#ifndef TSAN_SERVE_H
#define TSAN_SERVE_H

#include <unistd.h>

#include "tests/tsan/tsan.h"

/*
 * Until *stop, answers requests, the n-th one with answer(), and frees each endpoint when its
 * connection has ended.
 */
static inline void tsan_serve(struct consumer *c, atomic_bool *stop, void *arg,
			      void (*answer)(void *arg, DAT_CR_HANDLE cr, unsigned int n))
{
	unsigned int n = 0;
	DAT_EVENT ev;

	while (!atomic_load(stop)) {
		bool idle = true;

		if (dat_evd_dequeue(c->cr_evd, &ev) == DAT_SUCCESS) {
			answer(arg, ev.event_data.cr_arrival_event_data.cr_handle, n++);
			idle = false;
		}
		if (dat_evd_dequeue(c->conn_evd, &ev) == DAT_SUCCESS) {
			if (ev.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
				dat_ep_free(ev.event_data.connect_event_data.ep_handle);
			idle = false;
		}
		if (idle)
			usleep(200);
	}
}

static inline DAT_EVENT_NUMBER tsan_next(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	tsan_must(dat_evd_wait(evd, TSAN_LIMIT_S * 1000000, 1, &ev, &more) == DAT_SUCCESS,
		  "an event is missing");
	return ev.event_number;
}

#endif
