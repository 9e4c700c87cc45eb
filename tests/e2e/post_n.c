/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several requests in one call of dapl_direct.h: the effects and completions are those of as many single
 * calls, in the same order.
 */
#include <stdlib.h>
#include <string.h>

#include <dat/dapl_direct.h>

#include "tests/e2e/ends.h"

#define MOST 24

static struct dapl_work work[MOST];

static void setup(void)
{
	rig_conf("");
	pair_open(&a, &b);
	memset(work, 0, sizeof(work));
	for (int i = 0; i < RIG_MEM; i++)
		a.mem[i] = (char)(i * 7 + i / 256);
}

TestSuite(post_n, .timeout = 60);

/* Makes a request of len bytes, with the same offset at both ends. */
static struct dapl_work request(unsigned short op, uint64_t cookie, size_t off, uint32_t len)
{
	DAT_LMR_TRIPLET from = seg(&a, off, len);
	DAT_RMR_TRIPLET to = far(&b, off, len);

	return (struct dapl_work){ .op = op, .cookie.as_64 = cookie, .length = len,
				   .lmr_context = from.lmr_context, .address = from.virtual_address,
				   .rmr_context = to.rmr_context, .target = to.target_address };
}

static void post_all(DAT_COUNT n)
{
	DAT_COUNT posted = -1;

	must(dapl_ep_post_n(a.ep, n, work, &posted));
	same(posted, n);
}

static void is_written(size_t off, size_t len)
{
	check(!memcmp(a.mem + off, b.mem + off, len));
}

/* Posts each number of 8-byte writes. The ring wraps many times. */
RIG_TEST(post_n, post_n__writes_of_8_bytes_complete_in_order)
{
	for (DAT_COUNT n = 1; n <= MOST; n++) {
		for (int lap = 0; lap < 8; lap++) {
			memset(b.mem, 0, 8 * MOST);
			for (DAT_COUNT i = 0; i < n; i++)
				work[i] = request(DAPL_WORK_WRITE, (uint64_t)i + 1, 8 * (size_t)i, 8);
			post_all(n);
			took_range(a.req_evd, 1, (uint64_t)n, DAT_DTO_SUCCESS);
			is_written(0, 8 * (size_t)n);
			check(all_bytes(b.mem + 8 * n, (size_t)(8 * (MOST - n)), 0));
		}
	}
	rig_empty(a.req_evd);
}

/* The writes have the same target: the last one stays. */
RIG_TEST(post_n, post_n__the_last_write_wins)
{
	for (uint64_t lap = 0; lap < 100; lap++) {
		for (unsigned int i = 0; i < 16; i++) {
			work[i] = request(DAPL_WORK_WRITE, i, 0, 8);
			work[i].address += 8 * i;
		}
		post_all(16);
		took_range(a.req_evd, 0, 15, DAT_DTO_SUCCESS);
		check(!memcmp(b.mem, a.mem + 8 * 15, 8));
	}
}

/* Posts every length in turn, so that plain writes are between all others. */
RIG_TEST(post_n, post_n__writes_of_any_length_land)
{
	static const uint32_t lengths[] = { 8, 1, 8, 8, 64, 8, 8, 8, 4096, 0, 8, 8, 8, 8, 8, 28, 200, 8 };
	DAT_COUNT n = sizeof(lengths) / sizeof(*lengths);

	for (int lap = 0; lap < 20; lap++) {
		memset(b.mem, 0, RIG_MEM);
		for (DAT_COUNT i = 0; i < n; i++)
			work[i] = request(DAPL_WORK_WRITE, (uint64_t)i, (size_t)i * 1024, lengths[i]);
		post_all(n);
		took_range(a.req_evd, 0, (uint64_t)n - 1, DAT_DTO_SUCCESS);
		for (DAT_COUNT i = 0; i < n; i++)
			is_written((size_t)i * 1024, lengths[i]);
	}
}

RIG_TEST(post_n, post_n__mixed_requests_with_segments_complete_in_order)
{
	DAT_LMR_TRIPLET pieces[3] = { seg(&a, 100, 10), seg(&a, 300, 20), seg(&a, 500, 30) };

	for (uint64_t lap = 0; lap < 20; lap++) {
		memset(b.mem + 8192, (int)lap + 1, 64);
		must(do_recv(&b, lap, 4096, 64));
		work[0] = request(DAPL_WORK_WRITE, 1, 0, 8);
		work[1] = request(DAPL_WORK_SEND, 2, 16, 40);
		work[2] = request(DAPL_WORK_READ, 3, 8192, 64);
		work[3] = request(DAPL_WORK_WRITE, 4, 1024, 60);
		work[3].segments = 3;
		work[3].iov = pieces;
		work[4] = request(DAPL_WORK_WRITE, 5, 8, 8);
		post_all(5);
		took_range(a.req_evd, 1, 5, DAT_DTO_SUCCESS);
		same(took(b.recv_evd, lap, DAT_DTO_SUCCESS), 40);
		check(!memcmp(b.mem + 4096, a.mem + 16, 40));
		check(all_bytes(a.mem + 8192, 64, (int)lap + 1));
		check(!memcmp(b.mem + 1024, a.mem + 100, 10) && !memcmp(b.mem + 1034, a.mem + 300, 20) &&
		      !memcmp(b.mem + 1054, a.mem + 500, 30));
		is_written(0, 16);
	}
}

static struct dapl_work bind_of(DAT_RMR_HANDLE rmr, DAT_RMR_CONTEXT *context)
{
	struct dapl_work w = request(DAPL_WORK_BIND, 1, 256, 64);

	w.rmr_handle = rmr;
	w.lmr_handle = a.lmr;
	w.privileges = DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	w.new_context = context;
	return w;
}

/* A window is open for all requests after its bind. The same batch sends the context to the peer. */
RIG_TEST(post_n, post_n__bind_before_its_message_is_valid_on_arrival)
{
	DAT_RMR_CONTEXT context = 0, last = 0;
	DAT_RMR_HANDLE rmr;

	must(dat_rmr_create(a.pz, &rmr));
	for (uint64_t lap = 0; lap < 20; lap++) {
		must(do_recv(&b, lap, 0, 64));
		work[0] = bind_of(rmr, &context);
		work[1] = request(DAPL_WORK_SEND, 2, 0, 8);
		work[2] = request(DAPL_WORK_WRITE, 3, 512, 8);
		post_all(3);
		check(context != last);
		last = context;
		took_bind(a.req_evd, rmr, 1, DAT_RMR_BIND_SUCCESS);
		took_range(a.req_evd, 2, 3, DAT_DTO_SUCCESS);
		took(b.recv_evd, lap, DAT_DTO_SUCCESS);
		memset(b.mem, (int)lap + 1, 8);
		must(do_write(&b, 9, 0, through(context, &a, 256, 8), 0));
		took(b.req_evd, 9, DAT_DTO_SUCCESS);
		check(all_bytes(a.mem + 256, 8, (int)lap + 1));
	}
}

/* The key is renewed while the call owns the queue. */
Test(post_n, post_n__bind_after_a_flushed_one_is_posted_in_a_threadsafe_ia)
{
	DAT_EP_HANDLE own, other, theirs;
	DAT_RMR_CONTEXT context = 0;
	DAT_RMR_HANDLE rmr;

	setenv("RIG_THREADSAFE", "1", 1);
	setup();
	own = a.ep;
	other = end_ep(&a, NULL);
	theirs = end_ep(&b, NULL);
	end_join(&a, other, &b, theirs);
	must(dat_rmr_create(a.pz, &rmr));
	must(do_bind(&a, rmr, 1, 0, 64, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &context));
	took_bind(a.req_evd, rmr, 1, DAT_RMR_BIND_SUCCESS);
	must(dat_ep_disconnect(other, DAT_CLOSE_ABRUPT_FLAG));
	took_conn(&a, other, DAT_CONNECTION_EVENT_DISCONNECTED);
	took_conn(&b, theirs, DAT_CONNECTION_EVENT_DISCONNECTED);
	a.ep = other;
	must(do_bind(&a, rmr, 2, 64, 64, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &context));
	took_bind(a.req_evd, rmr, 2, (DAT_RMR_BIND_COMPLETION_STATUS)FLUSHED);
	a.ep = own;
	must(do_recv(&b, 3, 0, 64));
	work[0] = bind_of(rmr, &context);
	work[1] = request(DAPL_WORK_SEND, 2, 0, 8);
	post_all(2);
	took_bind(a.req_evd, rmr, 1, DAT_RMR_BIND_SUCCESS);
	took(a.req_evd, 2, DAT_DTO_SUCCESS);
	took(b.recv_evd, 3, DAT_DTO_SUCCESS);
	teardown();
}

RIG_TEST(post_n, post_n__suppressed_requests_give_no_event)
{
	for (int lap = 0; lap < 50; lap++) {
		for (unsigned int i = 0; i < 16; i++) {
			work[i] = request(DAPL_WORK_WRITE, i, 8 * i, 8);
			work[i].flags = i == 5 || i == 15 ? 0 : SUPPRESS;
		}
		post_all(16);
		took(a.req_evd, 5, DAT_DTO_SUCCESS);
		took(a.req_evd, 15, DAT_DTO_SUCCESS);
		is_written(0, 128);
	}
	rig_empty(a.req_evd);
}

/* The queue has room for RIG_DTOS requests. Requests that do not fit are refused; posted ones
 * complete. */
RIG_TEST(post_n, post_n__full_queue_posts_what_fits)
{
	DAT_COUNT posted, sum = 0;
	DAT_RETURN ret = DAT_SUCCESS;

	while (ret == DAT_SUCCESS) {
		for (unsigned int i = 0; i < MOST; i++)
			work[i] = request(DAPL_WORK_WRITE, (uint64_t)sum + i, 8 * i, 8);
		posted = -1;
		ret = dapl_ep_post_n(a.ep, MOST, work, &posted);
		check(posted >= 0 && posted <= MOST && (posted == MOST) == (ret == DAT_SUCCESS));
		sum += posted;
		check(sum <= 16 * RIG_DTOS);
	}
	must_code(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	check(sum >= RIG_DTOS);
	took_range(a.req_evd, 0, (uint64_t)sum - 1, DAT_DTO_SUCCESS);
	rig_empty(a.req_evd);
	must(do_write(&a, 7, 0, far(&b, 0, 8), 0));
	took(a.req_evd, 7, DAT_DTO_SUCCESS);
}

/* If a request is refused, the requests before it are posted, and those behind it are not. */
RIG_TEST(post_n, post_n__bad_request_in_the_middle_posts_those_before_it)
{
	static const struct {
		struct dapl_work w;
		DAT_RETURN type;
	} bad[] = {
		{ { .op = 0 }, DAT_INVALID_PARAMETER },
		{ { .op = 77 }, DAT_INVALID_PARAMETER },
		{ { .op = DAPL_WORK_BIND }, DAT_INVALID_HANDLE },
		{ { .op = DAPL_WORK_SEND, .segments = 2 }, DAT_INVALID_PARAMETER },
		{ { .op = DAPL_WORK_WRITE, .segments = 60000 }, DAT_INVALID_PARAMETER },
		{ { .op = DAPL_WORK_READ, .flags = 0x4000, .length = 8 }, DAT_INVALID_PARAMETER },
	};

	for (DAT_COUNT at = 0; at < 6; at++) {
		for (unsigned int k = 0; k < sizeof(bad) / sizeof(*bad); k++) {
			DAT_COUNT posted = -1;

			memset(b.mem, 0, 64);
			for (unsigned int i = 0; i < 8; i++)
				work[i] = request(DAPL_WORK_WRITE, i, 8 * i, 8);
			work[at] = bad[k].w;
			must_fail(dapl_ep_post_n(a.ep, 8, work, &posted), bad[k].type);
			same(posted, at);
			if (at)
				took_range(a.req_evd, 0, (uint64_t)at - 1, DAT_DTO_SUCCESS);
			rig_empty(a.req_evd);
			is_written(0, 8 * (size_t)at);
			check(all_bytes(b.mem + 8 * at, 8, 0));
		}
	}
}

/*
 * Memory outside of the LMR is refused by the adapter and not read: the connection ends. On an
 * adapter where the peer's software executes writes, the end would also flush earlier writes, so
 * these complete first.
 */
RIG_TEST(post_n, post_n__address_outside_the_lmr_is_an_error_completion)
{
	for (unsigned int i = 0; i < 4; i++)
		work[i] = request(DAPL_WORK_WRITE, i, 8 * i, 8);
	post_all(2);
	took_range(a.req_evd, 0, 1, DAT_DTO_SUCCESS);
	work[0] = work[2];
	work[0].address += RIG_MEM - 20;
	work[1] = work[3];
	post_all(2);
	took_error(a.req_evd, 2);
	took(a.req_evd, 3, FLUSHED);
	took_ends(&a, &b, DAT_CONNECTION_EVENT_BROKEN);
}

RIG_TEST(post_n, post_n__invalid_arguments_are_refused)
{
	DAT_HANDLE others[] = { DAT_HANDLE_NULL, a.pz, a.req_evd };
	DAT_COUNT posted = 77;

	work[0] = request(DAPL_WORK_WRITE, 0, 0, 8);
	for (unsigned int i = 0; i < sizeof(others) / sizeof(*others); i++)
		must_code(dapl_ep_post_n(others[i], 1, work, &posted), DAT_INVALID_HANDLE,
			  DAT_INVALID_HANDLE_EP);
	must_code(dapl_ep_post_n(a.ep, 0, work, &posted), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_code(dapl_ep_post_n(a.ep, -1, work, &posted), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_code(dapl_ep_post_n(a.ep, 1, NULL, &posted), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_code(dapl_ep_post_n(a.ep, 1, work, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	same(posted, 77);
	rig_empty(a.req_evd);
}

RIG_TEST(post_n, post_n__unconnected_endpoint_is_refused)
{
	DAT_EP_HANDLE fresh = end_ep(&a, NULL);
	DAT_COUNT posted = 77;

	work[0] = request(DAPL_WORK_WRITE, 0, 0, 8);
	must_fail(dapl_ep_post_n(fresh, 1, work, &posted), DAT_INVALID_STATE);
	same(posted, 0);
	must(dat_ep_free(fresh));
	must_fail(dapl_ep_post_n(fresh, 1, work, &posted), DAT_INVALID_HANDLE);
	must(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	took_ends(&a, &b, DAT_CONNECTION_EVENT_DISCONNECTED);
	post_all(1);
	took(a.req_evd, 0, FLUSHED);
}

/* The call gets handles of another provider, and of a release of this one without the call. */
RIG_TEST(post_n, post_n__provider_without_the_call_returns_not_implemented)
{
	struct dapl_direct old = *dapl_direct_of(a.ep);
	const void *table[2] = { NULL, NULL }, *handle[1] = { table };
	DAT_COUNT posted = 77;

	work[0] = request(DAPL_WORK_WRITE, 0, 0, 8);
	must_code(dapl_ep_post_n((DAT_EP_HANDLE)handle, 1, work, &posted), DAT_NOT_IMPLEMENTED, 0);
	old.size = offsetof(struct dapl_direct, ep_post_n);
	table[1] = &old;
	must_code(dapl_ep_post_n((DAT_EP_HANDLE)handle, 1, work, &posted), DAT_NOT_IMPLEMENTED, 0);
	same(posted, 77);
}
