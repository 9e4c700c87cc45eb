/* SPDX-License-Identifier: BSD-2-Clause */
/* Life cycles: references, the state after a failure, and objects that a close frees. */
#include <arpa/inet.h>
#include <dat/dat_registry.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/cm/cm.h"
#include "core/ep/fsm.h"
#include "core/evd/evd.h"
#include "tests/core/fake_hw.h"
#include "tests/harness/capture.h"

static char mem[4096];

TestSuite(objects, .timeout = 60);

Test(objects, ia_open__unknown_name_returns_provider_not_found)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)77;

	fake_params("absent", "");
	assert_ret(dat_ia_open("absent", 4, &async, &ia), DAT_PROVIDER_NOT_FOUND);
	cr_assert_null(async);
	cr_assert_eq(ia, (DAT_IA_HANDLE)77);
	cr_assert(fake_is_clean());
}

/* Opens an IA while the first call of the backend fails with err. */
static DAT_RETURN refused_open(int err)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	fake = (struct fake){ .fail_at = 1, .fail_with = err, .mute = true };
	fake_params("fake0", "");
	return dat_ia_open("fake0", 4, &async, &ia);
}

static const char *log_of_open(int err)
{
	capture_begin(STDERR_FILENO);
	cr_assert_neq(refused_open(err), DAT_SUCCESS);
	return capture_end();
}

Test(objects, ia_open__logs_the_error_of_a_backend_without_a_reason)
{
	cr_expect(strstr(log_of_open(-ENOMEM), "memory"));
	cr_expect(strstr(log_of_open(-EMFILE), "ulimit -n"));
	cr_expect(strstr(log_of_open(-ENODEV), "no adapter has that name"));
}

Test(objects, ia_open__returns_the_code_of_the_error_of_a_backend)
{
	assert_code(refused_open(-EOPNOTSUPP), DAT_MODEL_NOT_SUPPORTED, 0);
	assert_code(refused_open(-EPROTO), DAT_INTERNAL_ERROR, 0);
}

Test(objects, ia_open__shares_async_evd)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, mine, exists = DAT_EVD_ASYNC_EXISTS;
	DAT_IA_HANDLE first = fake_open("fake0"), second, third;
	DAT_EVENT ev;

	cr_assert_eq(dat_ia_query(first, &async, 0, NULL, 0, NULL), DAT_SUCCESS);
	mine = async;
	cr_assert_eq(dat_ia_open("fake0", 0, &mine, &second), DAT_SUCCESS);
	cr_assert_eq(mine, async);
	cr_assert_eq(dat_ia_open("fake0", 0, &exists, &third), DAT_SUCCESS);
	cr_assert_eq(exists, DAT_EVD_OUT_OF_SCOPE);

	dap_async_post(second, DAP_EV_ASYNC_INTERNAL, second, 0);
	dap_async_post(third, DAP_EV_ASYNC_INTERNAL, third, 0);
	cr_assert_eq(dat_evd_dequeue(async, &ev), DAT_SUCCESS);
	cr_assert_eq(ev.event_data.asynch_error_event_data.dat_handle, second);
	assert_ret(dat_evd_dequeue(async, &ev), DAT_QUEUE_EMPTY);

	/* Frees the owner first. No caller may keep a pointer to the freed EVD. */
	cr_assert_eq(dat_ia_close(first, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	dap_async_post(second, DAP_EV_ASYNC_INTERNAL, second, 0);
	cr_assert_eq(dat_ia_query(second, &async, 0, NULL, 0, NULL), DAT_SUCCESS);
	cr_assert_eq(async, DAT_EVD_OUT_OF_SCOPE);
	cr_assert_eq(dat_ia_close(second, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	cr_assert_eq(dat_ia_close(third, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	cr_assert(fake_is_clean());
}

Test(objects, ia_open__invalid_async_evd_is_refused)
{
	DAT_IA_HANDLE ia = fake_open("fake0"), other = fake_open("fake1"), out = NULL;
	DAT_EVD_HANDLE dto = fake_evd(ia, 4, DAT_EVD_DTO_FLAG), async, evd;

	cr_assert_eq(dat_ia_query(ia, &async, 0, NULL, 0, NULL), DAT_SUCCESS);
	evd = dto;
	assert_code(dat_ia_open("fake0", 0, &evd, &out), DAT_INVALID_HANDLE,
		    DAT_INVALID_HANDLE_EVD_ASYNC);
	evd = async;	/* the asynchronous EVD of an IA with another name */
	assert_ret(dat_ia_open("fake1", 0, &evd, &out), DAT_INVALID_HANDLE);
	evd = ia;
	assert_ret(dat_ia_open("fake0", 0, &evd, &out), DAT_INVALID_HANDLE);
	cr_assert_null(out);
	cr_assert_eq(dat_ia_close(other, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	fake_close(ia);
}

/* One object of each type, including all that depend on others. */
struct zoo {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep, deaf;
	DAT_LMR_HANDLE lmr, alias;
	DAT_RMR_HANDLE rmr;
	DAT_LMR_CONTEXT context;
};

static DAT_RETURN make_lmrs(struct zoo *z)
{
	DAT_REGION_DESCRIPTION va = {.for_va = mem}, base;
	DAT_RMR_CONTEXT rmr_context;
	DAT_RETURN ret = dat_lmr_create(z->ia, DAT_MEM_TYPE_VIRTUAL, va, sizeof(mem), z->pz,
					DAT_MEM_PRIV_ALL_FLAG, &z->lmr, &z->context, &rmr_context,
					NULL, NULL);

	if (ret != DAT_SUCCESS)
		return ret;
	base.for_lmr_handle = z->lmr;
	return dat_lmr_create(z->ia, DAT_MEM_TYPE_LMR, base, 0, z->pz, DAT_MEM_PRIV_ALL_FLAG,
			      &z->alias, &z->context, &rmr_context, NULL, NULL);
}

static DAT_RETURN make_zoo(struct zoo *z)
{
	DAT_RETURN ret = dat_pz_create(z->ia, &z->pz);

	if (ret == DAT_SUCCESS)
		ret = dat_evd_create(z->ia, 16, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG, &z->evd);
	if (ret == DAT_SUCCESS)
		ret = dat_ep_create(z->ia, z->pz, z->evd, z->evd, z->evd, NULL, &z->ep);
	if (ret == DAT_SUCCESS)
		ret = dat_ep_create(z->ia, z->pz, NULL, NULL, NULL, NULL, &z->deaf);
	if (ret == DAT_SUCCESS)
		ret = make_lmrs(z);
	if (ret == DAT_SUCCESS)
		ret = dat_rmr_create(z->pz, &z->rmr);
	return ret;
}

static void free_zoo(struct zoo *z)
{
	cr_assert(!z->rmr || dat_rmr_free(z->rmr) == DAT_SUCCESS);
	cr_assert(!z->alias || dat_lmr_free(z->alias) == DAT_SUCCESS);
	cr_assert(!z->lmr || dat_lmr_free(z->lmr) == DAT_SUCCESS);
	cr_assert(!z->deaf || dat_ep_free(z->deaf) == DAT_SUCCESS);
	cr_assert(!z->ep || dat_ep_free(z->ep) == DAT_SUCCESS);
	cr_assert(!z->evd || dat_evd_free(z->evd) == DAT_SUCCESS);
	cr_assert(!z->pz || dat_pz_free(z->pz) == DAT_SUCCESS);
}

Test(objects, ia_close__graceful_needs_all_freed)
{
	struct zoo z = {.ia = fake_open("fake0")};

	cr_assert_eq(make_zoo(&z), DAT_SUCCESS);
	assert_code(dat_ia_close(z.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE,
		    DAT_INVALID_STATE_IA_IN_USE);
	free_zoo(&z);
	cr_assert_eq(dat_ia_close(z.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	cr_assert(fake_is_clean());
	assert_ret(dat_ia_close(z.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_HANDLE);
}

Test(objects, ia_close__abrupt_frees_all_objects)
{
	struct zoo z = {.ia = fake_open("fake0")};
	DAT_EP_STATE state;
	DAT_EVENT ev;

	cr_assert_eq(make_zoo(&z), DAT_SUCCESS);
	fake_close(z.ia);
	assert_ret(dat_pz_free(z.pz), DAT_INVALID_HANDLE);
	assert_ret(dat_ep_get_status(z.ep, &state, NULL, NULL), DAT_INVALID_HANDLE);
	assert_ret(dat_evd_dequeue(z.evd, &ev), DAT_INVALID_HANDLE);
	assert_ret(dat_lmr_free(z.lmr), DAT_INVALID_HANDLE);
	assert_ret(dat_rmr_free(z.rmr), DAT_INVALID_HANDLE);
}

/* Endpoints of a second opening use a connect EVD of the first one. While one endpoint is freed, another
 * thread closes the first opening. */
static struct {
	DAT_IA_HANDLE ia;
	struct core_evd *connect;
} first;

static void close_first(void *unused)
{
	(void)unused;
	if (!first.ia || __atomic_load_n(&first.connect->feeders, __ATOMIC_ACQUIRE) != 1)
		return;
	assert_ok(dat_ia_close(first.ia, DAT_CLOSE_ABRUPT_FLAG));
	first.ia = NULL;
}

Test(objects, ia_close__beside_a_free_leaves_the_connect_evd_once)
{
	DAT_IA_HANDLE second = fake_open("fake0");
	struct dap_ep_args args = { .pz = fake_pz(second) };
	struct dap_ep *a, *b;

	first.ia = fake_open("fake0");
	args.connect_evd = fake_evd(first.ia, 4, DAT_EVD_CONNECTION_FLAG);
	first.connect = core_evd(args.connect_evd);
	cr_assert_eq(dap_ep_create(second, &args, &a), 0);
	cr_assert_eq(dap_ep_create(second, &args, &b), 0);
	th_at_locks(close_first, NULL);
	assert_ok(dat_ep_free(a));
	th_at_locks(NULL, NULL);
	cr_assert_null(first.ia, "the endpoint still feeds the EVD");
	assert_ok(dat_ep_free(b));
	fake_close(second);
}

/* Two threads of a program that uses another registry than libdat close an IA: libdat lets only one call
 * through. */
static struct {
	DAT_PROVIDER table;
	DAT_IA_HANDLE ia;
	DAT_RETURN again;
} closed_twice;

static void close_again(void *unused)
{
	(void)unused;
	th_at_locks(NULL, NULL);
	closed_twice.again = closed_twice.table.ia_close_func(closed_twice.ia, DAT_CLOSE_ABRUPT_FLAG);
}

Test(objects, ia_close__beside_a_close_is_refused)
{
	DAT_IA_HANDLE ia = fake_open("fake0");
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[] = "fake0";

	closed_twice.table = **(DAT_PROVIDER **)ia;
	assert_ok(closed_twice.table.ia_open_func(name, 4, &async, &closed_twice.ia));
	th_at_locks(close_again, NULL);
	assert_ok(closed_twice.table.ia_close_func(closed_twice.ia, DAT_CLOSE_ABRUPT_FLAG));
	assert_code(closed_twice.again, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	fake_close(ia);
}

Test(objects, ia_close__unknown_flag_is_refused)
{
	DAT_IA_HANDLE ia = fake_open("fake0");

	assert_code(dat_ia_close(ia, 2), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	fake_close(ia);
}

Test(objects, free__refused_while_in_use)
{
	struct zoo z = {.ia = fake_open("fake0")};
	DAT_LMR_TRIPLET seg = {.segment_length = 16, .virtual_address = (uintptr_t)mem};
	DAT_RMR_COOKIE cookie = {.as_64 = 1};
	DAT_RMR_CONTEXT context;
	struct dap_ep *ep;

	cr_assert_eq(make_zoo(&z), DAT_SUCCESS);
	assert_code(dat_pz_free(z.pz), DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
	assert_code(dat_evd_free(z.evd), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	ep = z.ep;
	dap_ep_fsm(ep, DAP_CAUSE_CONNECT);
	dap_ep_fsm(ep, DAP_CAUSE_ESTABLISHED);
	seg.lmr_context = z.context;
	cr_assert_eq(dat_rmr_bind(z.rmr, &seg, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep, cookie, 0,
				  &context), DAT_SUCCESS);
	assert_code(dat_lmr_free(z.alias), DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
	free_zoo(&z);
	fake_close(z.ia);
}

Test(objects, rmr_query__reports_the_last_bind)
{
	struct zoo z = {.ia = fake_open("fake0")};
	DAT_LMR_TRIPLET seg = {.segment_length = 16, .virtual_address = (uintptr_t)mem + 8};
	DAT_RMR_CONTEXT context;
	DAT_RMR_PARAM param;
	struct dap_ep *ep;

	cr_assert_eq(make_zoo(&z), DAT_SUCCESS);
	cr_assert_eq(dat_rmr_query(z.rmr, DAT_RMR_FIELD_ALL, &param), DAT_SUCCESS);
	cr_assert_eq(param.ia_handle, z.ia);
	cr_assert_eq(param.pz_handle, z.pz);
	cr_assert_eq(param.lmr_triplet.segment_length, 0);
	ep = z.ep;
	dap_ep_fsm(ep, DAP_CAUSE_CONNECT);
	dap_ep_fsm(ep, DAP_CAUSE_ESTABLISHED);
	seg.lmr_context = z.context;
	cr_assert_eq(dat_rmr_bind(z.rmr, &seg, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
				  (DAT_RMR_COOKIE){.as_64 = 1}, 0, &context), DAT_SUCCESS);
	cr_assert_eq(dat_rmr_query(z.rmr, DAT_RMR_FIELD_ALL, &param), DAT_SUCCESS);
	cr_assert_eq(memcmp(&param.lmr_triplet, &seg, sizeof(seg)), 0);
	cr_assert_eq(param.mem_priv, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	cr_assert_eq(param.rmr_context, context);
	assert_ret(dat_rmr_query(z.rmr, 0x20, &param), DAT_INVALID_PARAMETER);
	assert_ret(dat_rmr_query(z.rmr, DAT_RMR_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	fake_close(z.ia);
}

static DAT_RETURN open_and_make(struct zoo *z)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_ia_open("fake0", 4, &async, &z->ia);

	return ret == DAT_SUCCESS ? make_zoo(z) : ret;
}

/* Every call into the backend fails once. The DAT call returns the error, and nothing leaks. */
Test(objects, create__nth_backend_call_fails)
{
	unsigned long n = 0;
	DAT_RETURN ret;

	fake_close(fake_open("fake0"));
	do {
		struct zoo z = {.ia = NULL};

		fake.calls = 0;
		fake.fail_at = ++n;
		fake.fail_with = -ENOMEM;
		ret = open_and_make(&z);
		fake.fail_at = 0;
		if (ret != DAT_SUCCESS)
			assert_ret(ret, DAT_INSUFFICIENT_RESOURCES);
		if (z.ia) {
			free_zoo(&z);
			cr_assert_eq(dat_ia_close(z.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
		}
		cr_assert(fake_is_clean(), "objects were left when call %lu of the backend failed",
			  n);
	} while (ret != DAT_SUCCESS && n < 100);
	cr_assert_eq(ret, DAT_SUCCESS);
	cr_assert_gt(n, 8);
}

/* Another IA is open already, so that the manager's thread runs and its start is not part of the
 * test. */
Test(objects, create__nth_allocation_fails)
{
	DAT_IA_HANDLE other = fake_open("fake1");
	unsigned long n = 0, seen;
	DAT_RETURN ret;

	cr_assert_eq(DAT_SUCCESS, dat_ia_close(fake_open("fake0"), DAT_CLOSE_ABRUPT_FLAG));
	do {
		struct zoo z = {.ia = NULL};

		th_fail_start(TH_FAIL_HEAP | TH_FAIL_MMAP, ++n);
		ret = open_and_make(&z);
		seen = th_fail_stop();
		if (ret != DAT_SUCCESS)
			assert_ret(ret, DAT_INSUFFICIENT_RESOURCES);
		if (z.ia) {
			free_zoo(&z);
			cr_assert_eq(dat_ia_close(z.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
		}
		cr_assert_eq(fake.live[FAKE_IA], 1,
			     "wrong number of IAs after allocation %lu failed", n);
	} while (seen >= n && n < 200);
	fake_close(other);
	cr_assert_lt(seen, n);
	cr_assert_eq(ret, DAT_SUCCESS);
	cr_assert_gt(n, 8);
}

Test(objects, create_and_free__holds_nothing)
{
	struct th_usage before, after;

	for (int i = 0; i < 220; i++) {
		struct zoo z = {.ia = fake_open("fake0")};

		if (i == 100)
			th_usage(&before);
		cr_assert_eq(make_zoo(&z), DAT_SUCCESS);
		if (i % 2)
			free_zoo(&z);
		cr_assert_eq(dat_ia_close(z.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	}
	th_usage(&after);
	cr_assert(fake_is_clean());
	cr_assert_leq(after.fds, before.fds);
	cr_assert_leq(after.threads, before.threads);
}

/* A fatal error of an SRQ is reported once, and its state shows it. */
Test(objects, srq__fatal_error_is_reported_once_and_shown_as_its_state)
{
	DAT_IA_HANDLE ia = fake_open("fake0");
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_EVD_HANDLE async;
	DAT_SRQ_HANDLE srq;
	DAT_SRQ_PARAM p;
	DAT_EVENT ev;

	cr_assert_eq(dat_ia_query(ia, &async, 0, NULL, 0, NULL), DAT_SUCCESS);
	cr_assert_eq(dat_srq_create(ia, fake_pz(ia), &attr, &srq), DAT_SUCCESS);
	cr_assert_eq(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &p), DAT_SUCCESS);
	cr_assert_eq(p.srq_state, DAT_SRQ_STATE_OPERATIONAL);
	dap_srq_broken(srq);
	dap_srq_broken(srq);
	cr_assert_eq(dat_evd_dequeue(async, &ev), DAT_SUCCESS);
	cr_assert_eq(ev.event_number, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	cr_assert_eq(ev.event_data.asynch_error_event_data.dat_handle, srq);
	cr_assert_eq(ev.event_data.asynch_error_event_data.reason, DAT_SRQ_TRANSFER_TO_ERROR);
	assert_ret(dat_evd_dequeue(async, &ev), DAT_QUEUE_EMPTY);
	cr_assert_eq(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &p), DAT_SUCCESS);
	cr_assert_eq(p.srq_state, DAT_SRQ_STATE_ERROR);
	cr_assert_eq(dat_srq_free(srq), DAT_SUCCESS);
	fake_close(ia);
}

/* Otherwise the next dat_ep_reset() would give the endpoint a CQ that does not exist. */
Test(objects, evd_free__after_a_reset_without_resources_is_refused)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct fake_objects o = { 0 };
	DAT_EVD_HANDLE dtos;
	DAT_EP_HANDLE ep;

	fake_open_objects(&o, DAT_EVD_DEFAULT_FLAG);
	dtos = fake_evd(o.ia, 8, DAT_EVD_DTO_FLAG);
	assert_ok(dat_ep_create(o.ia, o.pz, dtos, DAT_HANDLE_NULL, o.evd, NULL, &ep));
	assert_ok(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&at, th_qual(), DAT_TIMEOUT_INFINITE, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	assert_ok(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	for (unsigned long k = 1; k <= 2; k++) {	/* the internal CQ, the QP */
		fake.fail_at = fake.calls + k;
		fake.fail_with = -ENOMEM;
		assert_ret(dat_ep_reset(ep), DAT_INSUFFICIENT_RESOURCES);
		assert_ret(dat_evd_free(dtos), DAT_INVALID_STATE);
	}
	fake.fail_at = 0;
	assert_ok(dat_ep_reset(ep));
	assert_ok(dat_ep_free(ep));
	assert_ok(dat_evd_free(dtos));
	fake_close(o.ia);
}

/* ---- The device keeps the access that an LMR or RMR gave ---- */

static void assert_fails(const struct fake_objects *o)
{
	DAT_EVENT ev;

	fake.kept = 0;
	cr_assert_eq(dat_evd_wait(o->async, 10000000, 1, &ev, &(DAT_COUNT){ 0 }), DAT_SUCCESS);
	cr_assert_eq(ev.event_number, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	cr_assert_eq(ev.event_data.asynch_error_event_data.dat_handle, o->ia);
	assert_ret(dat_evd_wait(o->async, 50000, 1, &ev, &(DAT_COUNT){ 0 }), DAT_TIMEOUT_EXPIRED);
	fake_close(o->ia);
}

static void assert_next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *ev)
{
	cr_assert_eq(dat_evd_wait(evd, 10000000, 1, ev, &(DAT_COUNT){ 0 }), DAT_SUCCESS);
	cr_assert_eq(ev->event_number, number);
}

static struct fake_objects open_with_async(void)
{
	struct fake_objects o = { 0 };

	fake_open_objects(&o, DAT_EVD_DEFAULT_FLAG);
	cr_assert_eq(dat_ia_query(o.ia, &o.async, 0, NULL, 0, NULL), DAT_SUCCESS);
	fake.kept = -EIO;
	return o;
}

Test(objects, lmr_free__that_the_device_refuses_fails_the_ia)
{
	struct fake_objects o = open_with_async();
	DAT_LMR_CONTEXT context;

	cr_assert_eq(dat_lmr_free(fake_lmr(o.ia, o.pz, mem, sizeof(mem), DAT_MEM_PRIV_ALL_FLAG, &context)),
		     DAT_SUCCESS);
	assert_fails(&o);
}

Test(objects, rmr_free__that_the_device_refuses_fails_the_ia)
{
	struct fake_objects o = open_with_async();
	DAT_RMR_HANDLE rmr;

	cr_assert_eq(dat_rmr_create(o.pz, &rmr), DAT_SUCCESS);
	cr_assert_eq(dat_rmr_free(rmr), DAT_SUCCESS);
	assert_fails(&o);
}

Test(objects, lmr_free__after_the_device_has_failed_reports_nothing_more)
{
	struct fake_objects o = open_with_async();
	DAT_LMR_CONTEXT context;

	dap_ia_fatal(o.ia);
	cr_assert_eq(dat_lmr_free(fake_lmr(o.ia, o.pz, mem, sizeof(mem), DAT_MEM_PRIV_ALL_FLAG, &context)),
		     DAT_SUCCESS);
	assert_fails(&o);
}

static void connect_two(const struct fake_objects *o)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	DAT_EP_HANDLE other = fake_ep(o->ia, o->pz, o->evd);
	DAT_PSP_HANDLE psp;
	DAT_EVENT ev;

	assert_ok(dat_psp_create(o->ia, th_qual(), o->evd, DAT_PSP_CONSUMER_FLAG, &psp));
	assert_ok(dat_ep_connect(o->ep, (DAT_IA_ADDRESS_PTR)&at, th_qual(), DAT_TIMEOUT_INFINITE, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	assert_next(o->evd, DAT_CONNECTION_REQUEST_EVENT, &ev);
	assert_ok(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, other, 0, NULL));
	assert_next(o->evd, DAT_CONNECTION_EVENT_ESTABLISHED, &ev);
	assert_next(o->evd, DAT_CONNECTION_EVENT_ESTABLISHED, &ev);
}

/* The program goes on with the failed IA. The peer must not have the memory of the second LMR either. */
Test(objects, lmr_free__refused_again_breaks_the_connections_made_since)
{
	struct fake_objects o = open_with_async();
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr[2];
	DAT_EVENT ev;

	for (int i = 0; i < 2; i++)
		lmr[i] = fake_lmr(o.ia, o.pz, mem, sizeof(mem), DAT_MEM_PRIV_ALL_FLAG, &context);
	assert_ok(dat_lmr_free(lmr[0]));
	assert_next(o.async, DAT_ASYNC_ERROR_IA_CATASTROPHIC, &ev);
	dap_cm_sync(((struct dap_ia *)o.ia)->cm);
	connect_two(&o);
	assert_ok(dat_lmr_free(lmr[1]));
	assert_next(o.evd, DAT_CONNECTION_EVENT_BROKEN, &ev);
	assert_next(o.evd, DAT_CONNECTION_EVENT_BROKEN, &ev);
	assert_ret(dat_evd_dequeue(o.async, &ev), DAT_QUEUE_EMPTY);
	fake_close(o.ia);
}
