/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/shortage/shortage.h"

#include <dat/dat_registry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cm/private.h"
#include "core/dap.h"
#include "core/ia.h"
#include "core/obj.h"
#include "hw_efa/obj.h"
#include "hw_mlx5/ctl/soft.h"
#include "hw_mlx5/obj.h"
#include "softnic/softnic.h"
#include "softnic/softnic_efa.h"

#define MOST 3000		/* a scenario has at most this number of failures */
#define ROUNDS 3		/* at most this number of times with each of its failures */
#define KEPT 64
/* after this time without an event, all sides are waiting for the end of a shortage */
#define QUIET_MS 60

struct bench b;
static DAT_HANDLE made[KEPT];
static unsigned int n_made;
static char trouble[200];	/* text of the first error */
static DAT_EVENT last_event;

/* ---- Steps ---- */

void odd(const char *text)
{
	if (!trouble[0])
		snprintf(trouble, sizeof(trouble), "%s", text);
}

static enum adapters { CONNECTX = 1, EFA = 2, ANY = CONNECTX | EFA } tested;

/* The calls that may run out of resources: their pages of DAT 1.2 have a code for that, or only our manual
 * pages have one. */
static const struct {
	const char *call;
	enum adapters on;		/* on these adapters */
	bool always;			/* it runs out in each scenario that makes the call */
} calls[] = {
	{ "dat_pz_create(", ANY, true }, { "dat_evd_create(", ANY, true },
	{ "dat_evd_resize(", ANY, true }, { "dat_cno_create(", ANY, true },
	{ "dat_ep_create(", ANY, true }, { "dat_ep_create_with_srq(", ANY, true },
	{ "dat_ep_connect(", ANY, true }, { "dat_ep_dup_connect(", ANY, true },
	{ "dat_ep_post_recv(", ANY, false },
	{ "dat_lmr_create(", ANY, true }, { "dat_rmr_create(", CONNECTX, true },
	{ "dat_rmr_bind(", EFA, true }, { "dat_psp_create_any(", ANY, true },
	{ "dat_rsp_create(", ANY, true }, { "dat_srq_create(", ANY, true },
	/* calls without a code for a lack of resources in DAT 1.2 */
	{ "dat_cno_modify_agent(", ANY, true }, { "dat_evd_modify_cno(", ANY, false },
	{ "dat_ep_modify(", ANY, true }, { "dat_ep_reset(", ANY, false },
	{ "dat_evd_wait(", ANY, true }, { "dat_cr_handoff(", ANY, true },
	{ "dat_srq_set_lw(", ANY, true }, { "dat_ep_recv_query(", ANY, true },
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))
static bool called[CALLS], refused[CALLS];

/* Records a call that may run out of resources. Returns false if the call may not. */
static bool may_lack(const char *text, DAT_RETURN ret)
{
	for (size_t i = 0; i < CALLS; i++) {
		if (strncmp(text, calls[i].call, strlen(calls[i].call)) != 0)
			continue;
		called[i] = true;
		refused[i] |= ret != DAT_SUCCESS;
		return calls[i].on & tested;
	}
	return false;
}

bool step(DAT_RETURN ret, const char *text)
{
	bool may = may_lack(text, ret);
	char what[200];

	if (ret == DAT_SUCCESS)
		return true;
	if (DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES || !may) {
		snprintf(what, sizeof(what), "%.120s returned 0x%08x", text, ret);
		odd(what);
	}
	return false;
}

/* A call that had to run out of resources and never did, or NULL. */
static const char *never_refused(void)
{
	for (size_t i = 0; i < CALLS; i++)
		if (called[i] && !refused[i] && calls[i].always && calls[i].on & tested)
			return calls[i].call;
	return NULL;
}

void no_trouble(void)
{
	cr_assert(!trouble[0], "%s", trouble);
}

DAT_HANDLE *keep(void)
{
	made[n_made] = DAT_HANDLE_NULL;
	return &made[n_made];
}

/* Drops the handle of a failed call: its output was not written. */
bool kept(bool done)
{
	if (!done && made[n_made])
		odd("a failed call wrote a handle");
	n_made += done;
	return done;
}

static DAT_RETURN free_one(DAT_HANDLE h)
{
	DAT_HANDLE_TYPE type;
	DAT_RETURN ret = dat_get_handle_type(h, &type);

	if (ret != DAT_SUCCESS)
		return ret;
	switch (type) {
	case DAT_HANDLE_TYPE_CR: return dat_cr_reject(h);
	case DAT_HANDLE_TYPE_EP: return dat_ep_free(h);
	case DAT_HANDLE_TYPE_EVD: return dat_evd_free(h);
	case DAT_HANDLE_TYPE_LMR: return dat_lmr_free(h);
	case DAT_HANDLE_TYPE_PSP: return dat_psp_free(h);
	case DAT_HANDLE_TYPE_PZ: return dat_pz_free(h);
	case DAT_HANDLE_TYPE_RMR: return dat_rmr_free(h);
	case DAT_HANDLE_TYPE_RSP: return dat_rsp_free(h);
	case DAT_HANDLE_TYPE_CNO: return dat_cno_free(h);
	case DAT_HANDLE_TYPE_SRQ: return dat_srq_free(h);
	default: return dat_ia_close(h, DAT_CLOSE_GRACEFUL_FLAG);
	}
}

/* Drops requests that no step answers, and events that no step expects. */
static void empty(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	while (dat_evd_dequeue(evd, &ev) == DAT_SUCCESS) {
		if (ev.event_number == DAT_CONNECTION_REQUEST_EVENT)
			step(dat_cr_reject(ev.event_data.cr_arrival_event_data.cr_handle),
			     "dat_cr_reject");
	}
}

void free_all(void)
{
	while (n_made)
		step(free_one(made[--n_made]), "freeing");
	empty(b.cr_evd);
	empty(b.conn_evd);
	empty(b.dto_evd);
	empty(b.soft_evd);
}

/* ---- Resources ---- */

#define DEVICE_KINDS 8u

/* A backend whose software device can refuse requests. */
struct adapter {
	const char *name;
	const char *kinds[DEVICE_KINDS];
	size_t (*count)(const char *kind);
	int (*fault)(const char *script);
	bool soft_evds;			/* EVDs of this backend need nothing from the device */
};

struct count {
	size_t device[DEVICE_KINDS];
	unsigned int objects[DAP_TYPES];
	struct th_usage usage;
};

static struct softnic *connectx(void)
{
	return m5_ia((struct dap_ia *)b.ia)->ctl->soft;
}

static size_t connectx_count(const char *kind) { return softnic_object_count(connectx(), kind); }
static int connectx_fault(const char *script) { return softnic_fault(connectx(), script); }

static struct softnic_efa *efa(void)
{
	return efa_ia((struct dap_ia *)b.ia)->ctl->soft;
}

static size_t efa_count(const char *kind) { return softnic_efa_object_count(efa(), kind); }
static int efa_fault(const char *script) { return softnic_efa_fault(efa(), script); }

static const struct adapter adapters[] = {
	{ "soft-mlx5-0", { "qp", "cq", "mkey", "pd", "uar", "umem", "eq", "rmp" }, connectx_count,
	  connectx_fault, false },
	{ "soft-efa-0", { "qp", "cq", "mr", "pd", "ah" }, efa_count, efa_fault, true },
}, *adapter = adapters;

const char *bench_name(void)
{
	const char *name = getenv("DAPL_TEST_IA");

	adapter = &adapters[name && !strcmp(name, adapters[1].name)];
	tested = adapter == adapters ? CONNECTX : EFA;
	return adapter->name;
}

static void count(struct count *c)
{
	memset(c, 0, sizeof(*c));
	for (size_t i = 0; i < DEVICE_KINDS && adapter->kinds[i]; i++)
		c->device[i] = adapter->count(adapter->kinds[i]);
	for (unsigned int t = DAP_NONE + 1; t < DAP_TYPES; t++)
		c->objects[t] = dap_obj_count((enum dap_type)t, NULL);
	th_usage(&c->usage);
}

static bool as_before(const struct count *before)
{
	struct count now;

	count(&now);
	return !memcmp(now.device, before->device, sizeof(now.device)) &&
	       !memcmp(now.objects, before->objects, sizeof(now.objects)) &&
	       now.usage.fds <= before->usage.fds && now.usage.threads <= before->usage.threads;
}

/* If the device did not end an access, the manager's thread breaks the endpoints of the IA: it must not find
 * those of the next run. */
static void failure_is_over(void)
{
	struct dap_ia *ia = b.ia;

	cr_assert(TH_WITHIN(SOON_MS, !__atomic_load_n(&core_ia(ia)->failure.set, __ATOMIC_ACQUIRE)));
	dap_cm_sync(ia->cm);
}

static void nothing_left(const struct count *before, const char *what, unsigned long n)
{
	struct count now;

	failure_is_over();
	/* Waits, because the end of a connection is reported by another thread. */
	if (TH_WITHIN(SOON_MS, (empty(b.cr_evd), as_before(before))))
		return;
	count(&now);
	for (size_t i = 0; i < DEVICE_KINDS; i++)
		cr_expect_eq(now.device[i], before->device[i],
			     "after a run with %s %lu: %zu objects of kind %s are left, not %zu",
			     what, n, now.device[i], adapter->kinds[i], before->device[i]);
	for (unsigned int t = DAP_NONE + 1; t < DAP_TYPES; t++)
		cr_expect_eq(now.objects[t], before->objects[t],
			     "after a run with %s %lu: %u objects of type %u are left", what, n,
			     now.objects[t], t);
	cr_assert(false, "after a run with %s %lu: %u descriptors and %u threads; before %u and %u",
		  what, n, now.usage.fds, now.usage.threads, before->usage.fds,
		  before->usage.threads);
}

/* ---- Scenarios in which the n-th request fails ---- */

struct shortage {
	const char *of;
	void (*start)(unsigned long n);
	unsigned long (*stop)(void);
};

static void heap_start(unsigned long n)
{
	th_fail_start(TH_FAIL_HEAP | TH_FAIL_MMAP, n);
}

/* Shortages that last: all allocations from the n-th on fail, or no descriptor is free. */
static unsigned long no_heap_from, no_heap_seen;
static bool no_fds, relieved;

static void no_heap_start(unsigned long n)
{
	no_heap_from = n;
	th_fail_start(TH_FAIL_HEAP | TH_FAIL_MMAP | TH_FAIL_ON, n);
}

static unsigned long no_heap_stop(void)
{
	if (no_heap_from)
		no_heap_seen = th_fail_stop();
	no_heap_from = 0;
	return no_heap_seen;
}

static void no_fds_stop(void)
{
	if (no_fds)
		th_fds_restore();
	no_fds = false;
}

static void relieve(void)
{
	if (no_heap_from && th_fail_count() >= no_heap_from)
		no_heap_stop();
	relieved |= no_fds;
	no_fds_stop();
}

static void device_start(unsigned long n)
{
	hw_soft_fail(n);
}

static unsigned long device_stop(void)
{
	return hw_soft_fail(0);
}

static const struct shortage shortages[3] = {
	{ "failed allocation", heap_start, th_fail_stop },
	{ "allocations failing from number", no_heap_start, no_heap_stop },
	{ "failed request", device_start, device_stop },
};

/*
 * Runs the scenario without a failure first, which creates the resources that each process creates
 * once.
 */
static void whole(bool (*scenario)(void))
{
	struct count before;

	for (int i = 0; i < 2; i++) {
		if (i)
			count(&before);
		cr_assert(scenario(), "the scenario failed without a failed call: %s", trouble);
		free_all();
		cr_assert(!trouble[0], "the scenario failed without a failed call: %s", trouble);
	}
	nothing_left(&before, "no failed call,", 0);
}

static void each_of(const struct shortage *s, bool (*scenario)(void))
{
	struct count before;
	unsigned long n = 0, seen;
	bool done;

	count(&before);
	do {
		cr_assert_lt(++n, MOST);
		s->start(n);
		done = scenario();
		seen = s->stop();
		cr_assert(!trouble[0], "in a run with %s %lu: %s", s->of, n, trouble);
		free_all();
		cr_assert(!trouble[0], "in a run with %s %lu: %s", s->of, n, trouble);
		nothing_left(&before, s->of, n);
	} while (seen >= n);
	cr_assert(done, "the scenario failed in a run that had no %s among %lu calls; the last event is %#x, "
		  "as a completion it has status %d", s->of, seen, last_event.event_number,
		  last_event.event_data.dto_completion_event_data.status);
	cr_assert(n > 1 || (s->start == device_start && adapter->soft_evds),
		  "the scenario reaches no %s", s->of);
}

void needs_nothing(bool (*before)(void), void (*act)(void))
{
	struct count there;
	unsigned long n = 0, seen;

	count(&there);
	do {
		cr_assert_lt(++n, MOST);
		cr_assert(before(), "the scenario failed without a failed call: %s", trouble);
		no_heap_start(n);
		act();
		seen = no_heap_stop();
		cr_assert(!trouble[0], "when allocation %lu failed: %s", n, trouble);
		nothing_left(&there, "failed allocation", n);
	} while (seen >= n);
}

/* Runs the scenario with no free descriptor, then with one, and so on, until nothing fails. */
static void each_descriptor(bool (*scenario)(void))
{
	struct count before;
	unsigned int room = 0;
	bool done;

	count(&before);
	do {
		cr_assert_lt(room, 64);
		cr_assert_eq(th_fds_limit(room), 0);
		no_fds = true;
		relieved = false;
		done = scenario() && !relieved;
		no_fds_stop();
		cr_assert(!trouble[0], "with %u free descriptors: %s", room, trouble);
		free_all();
		no_trouble();
		nothing_left(&before, "free descriptors:", room++);
	} while (!done);
}

void each_failure(bool (*scenario)(void))
{
	int round = 0;

	whole(scenario);
	/* Threads of the library allocate, too, so the numbers of a call's allocations vary, and a round can
	 * miss them. */
	do
		for (size_t i = 0; i < sizeof(shortages) / sizeof(shortages[0]); i++)
			each_of(&shortages[i], scenario);
	while (++round < ROUNDS && never_refused());
	needs_nothing(scenario, free_all);
	each_descriptor(scenario);
	whole(scenario);
	cr_assert(!never_refused(), "%s) never ran out of resources", never_refused());
}

/* ---- Setup ---- */

/* Makes this program the provider, whatever dat.conf contains. */
static void be_provider(void)
{
	DAT_PROVIDER_INFO info = { .dapl_version_major = DAT_VERSION_MAJOR,
				   .dapl_version_minor = DAT_VERSION_MINOR,
				   .is_thread_safe = DAT_THREADSAFE };

	strcpy(info.ia_name, bench_name());
	setenv("DAT_OVERRIDE", "/dev/null", 1);
	dat_provider_init(&info, "");
}

#define ok(call) cr_assert_eq((call), DAT_SUCCESS, "%s did not succeed", #call)

static DAT_EVD_HANDLE evd(DAT_COUNT qlen, int flags)
{
	DAT_EVD_HANDLE h = DAT_HANDLE_NULL;

	ok(dat_evd_create(b.ia, qlen, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)flags, &h));
	return h;
}

void bench_open(void)
{
	DAT_REGION_DESCRIPTION region;
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;

	be_provider();
	/* A shared stream is kept for the next connection. Its idle time is made short, so that the
	 * tests need not wait for its end. */
	cm_limits.idle_us = 1000;
	memset(&b, 0, sizeof(b));
	b.mem = aligned_alloc(4096, MEM);
	region.for_va = b.mem;
	ok(dat_ia_open((DAT_NAME_PTR)(uintptr_t)adapter->name, 8, &b.async, &b.ia));
	ok(dat_ia_query(b.ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &provider));
	b.address = attr.ia_address_ptr;
	b.has_srq = provider.srq_supported;
	b.cr_evd = evd(32, DAT_EVD_CR_FLAG);
	b.conn_evd = evd(32, DAT_EVD_CONNECTION_FLAG);
	b.dto_evd = evd(256, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	b.soft_evd = evd(8, DAT_EVD_SOFTWARE_FLAG);
	ok(dat_pz_create(b.ia, &b.pz));
	ok(dat_lmr_create(b.ia, DAT_MEM_TYPE_VIRTUAL, region, MEM, b.pz, DAT_MEM_PRIV_ALL_FLAG, &b.lmr,
			  &b.lmr_context, &b.rmr_context, NULL, NULL));
	b.qual = th_qual();
}

void bench_close(void)
{
	ok(dat_lmr_free(b.lmr));
	ok(dat_pz_free(b.pz));
	ok(dat_evd_free(b.cr_evd));
	ok(dat_evd_free(b.conn_evd));
	ok(dat_evd_free(b.dto_evd));
	ok(dat_evd_free(b.soft_evd));
	ok(dat_ia_close(b.ia, DAT_CLOSE_GRACEFUL_FLAG));
	for (unsigned int t = DAP_NONE + 1; t < DAP_TYPES; t++)
		cr_assert_eq(dap_obj_count((enum dap_type)t, NULL), 0);
	free(b.mem);
}

void bench_fault(const char *script)
{
	cr_assert_eq(adapter->fault(script), 0);
}

DAT_LMR_TRIPLET piece(size_t off, size_t len)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = b.lmr_context,
				  .virtual_address = (uintptr_t)b.mem + off, .segment_length = len };
}

DAT_EP_ATTR small(void)
{
	return (DAT_EP_ATTR){ .max_recv_dtos = 4, .max_request_dtos = 4, .max_recv_iov = 1,
			      .max_request_iov = 1, .srq_soft_hw = DAT_HW_DEFAULT };
}

static bool came(DAT_EVD_HANDLE evd, DAT_EVENT *ev)
{
	bool any = dat_evd_dequeue(evd, ev) == DAT_SUCCESS;

	if (any)
		last_event = *ev;
	return any;
}

DAT_EVENT_NUMBER next_of(DAT_EVD_HANDLE evd, DAT_EVD_HANDLE other, DAT_EVENT *ev)
{
	if (TH_WITHIN(QUIET_MS, came(evd, ev) || came(other, ev)))
		return ev->event_number;
	relieve();
	return TH_WITHIN(SOON_MS, came(evd, ev) || came(other, ev)) ? ev->event_number : 0;
}

DAT_EVENT_NUMBER next(DAT_EVD_HANDLE evd, DAT_EVENT *ev)
{
	return next_of(evd, evd, ev);
}
