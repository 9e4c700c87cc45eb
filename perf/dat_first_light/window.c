/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes of memory windows: a peer (b) writes into the window that a binds. */
#include <stdio.h>
#include <string.h>

#include "perf/common/stats.h"
#include "perf/dat_first_light/probe.h"

struct window {
	struct pair p;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context;
};

static const DAT_DTO_COOKIE no_cookie;

static bool open_window(const struct light *l, struct window *w, struct answer *a)
{
	*w = (struct window){ .p.no_rmr = true };
	if (!light_pair(l, "", &w->p, a))
		return false;
	if (dat_ok(dat_rmr_create(w->p.a.pz, &w->rmr), "dat_rmr_create"))
		return true;
	bad(a, "nothing: give LMRs remote rights instead", "no: no RMR can be created");
	return false;
}

/* Binds the window; len 0 unbinds. Returns "" if the call was refused. */
static const char *bind_window(struct window *w, size_t len)
{
	DAT_LMR_TRIPLET l = region_segment(&w->p.window, 0, len);
	DAT_RETURN ret = dat_rmr_bind(w->rmr, &l, len ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG :
				      DAT_MEM_PRIV_NONE_FLAG, w->p.a.ep, no_cookie,
				      DAT_COMPLETION_DEFAULT_FLAG, &w->context);

	return dat_ok(ret, "dat_rmr_bind") ? completed(w->p.a.req_evd, 5000) : "a refused call";
}

static bool bind_ok(struct window *w, size_t len, const char *what, struct answer *a)
{
	const char *status = bind_window(w, len);

	if (!strcmp(status, "SUCCESS"))
		return true;
	bad(a, "nothing: give LMRs remote rights instead of windows", "no: %s ends with %s", what, status);
	return false;
}

static const char *peer_writes(struct window *w, DAT_RMR_CONTEXT context)
{
	DAT_LMR_TRIPLET l = region_segment(&w->p.remote, 0, 64);
	DAT_RMR_TRIPLET to = region_target(&w->p.window, 0, 64);

	to.rmr_context = context;
	if (!dat_ok(dat_ep_post_rdma_write(w->p.b.ep, 1, &l, no_cookie, &to,
					   DAT_COMPLETION_DEFAULT_FLAG), "dat_ep_post_rdma_write"))
		return "a refused call";
	return completed(w->p.b.req_evd, 10000);
}

static bool write_ok(struct window *w, struct answer *a)
{
	const char *status = peer_writes(w, w->context);

	if (!strcmp(status, "SUCCESS"))
		return true;
	bad(a, "nothing: give LMRs remote rights instead of windows",
	    "no: a write by its context ends with %s", status);
	return false;
}

/* Binds a window, writes through it and unbinds it. */
void probe_bind(const struct light *l, struct answer *a)
{
	struct window w;

	if (!open_window(l, &w, a) || !bind_ok(&w, 4096, "a bind", a) || !write_ok(&w, a) ||
	    !bind_ok(&w, 0, "an unbind", a))
		return;
	good(a, "yes: bound, written by the peer, unbound");
}

/* Binds an RMR more often than it has keys, without an unbind between. */
void probe_rebind(const struct light *l, struct answer *a)
{
	enum { BINDS = 1100 };	/* an RMR has 4 keys with 255 contexts each */
	uint64_t until = long_enough();
	struct window w;
	char what[40];
	int i;

	if (!open_window(l, &w, a))
		return;
	for (i = 0; i < BINDS && now_ns() < until; i++) {
		snprintf(what, sizeof(what), "bind %d", i + 1);
		if (!bind_ok(&w, 64 + (size_t)i % 64 * 8, what, a) || (i % 16 == 0 && !write_ok(&w, a)))
			return;
	}
	good(a, "yes: %d times, without an unbind between", i);
}

/* Writes with the key of an earlier bind. The adapter refuses that, which ends the connection. */
void probe_old_key(const struct light *l, struct answer *a)
{
	DAT_RMR_CONTEXT old;
	const char *status;
	struct window w;

	if (!open_window(l, &w, a) || !bind_ok(&w, 4096, "a bind", a) || !write_ok(&w, a))
		return;
	old = w.context;
	if (!bind_ok(&w, 4096, "a second bind", a))
		return;
	status = peer_writes(&w, old);
	if (!strcmp(status, "REMOTE_ACCESS"))
		good(a, "yes: a write by the old context is refused");
	else if (!strcmp(status, "SUCCESS"))
		bad(a, "nothing: free the RMR to end a context",
		    "no: a peer still writes by the context that was bound before");
	else
		bad(a, "nothing", "no: a write by the old context is not refused, but ends with %s", status);
}

/*
 * Measures binds. On an EFA a bind is a registration, which takes longer if the device reuses keys.
 */
void probe_bind_cost(const struct light *l, struct answer *a)
{
	enum { BINDS = 200 };
	struct window w;
	uint64_t start;

	if (!open_window(l, &w, a) || !bind_ok(&w, 4096, "a bind", a) || !write_ok(&w, a))
		return;
	start = now_ns();
	for (int i = 0; i < BINDS; i++)
		if (!bind_ok(&w, 4096, "a bind", a))
			return;
	if (!write_ok(&w, a))
		return;
	good(a, "%.1f us each, of %d", (double)(now_ns() - start) / 1e3 / BINDS, BINDS);
}
