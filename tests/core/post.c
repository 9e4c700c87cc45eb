/* SPDX-License-Identifier: BSD-2-Clause */
/* The checked post calls: for each state, and with validation for each triplet. */
#include <dat/udat_redirection.h>

#include "core/ep/ep.h"
#include "core/ep/fsm.h"
#include "core/front/slots.h"
#include "core/ia.h"
#include "tests/core/fixture.h"

static void open_all(void)
{
	fake_open_objects(&t, DAT_EVD_DEFAULT_FLAG);
}

TestSuite(post, .init = open_all, .fini = teardown, .timeout = 60);

/* Takes the endpoint from UNCONNECTED to a state, by any path of causes. */
static void lead_to(struct dap_ep *ep, enum dap_ep_state state)
{
	static const enum dap_ep_cause way[DAP_EP_STATES][3] = {
		[DAP_EP_RESERVED] = {DAP_CAUSE_RESERVE, DAP_CAUSES},
		[DAP_EP_PASSIVE_PENDING] = {DAP_CAUSE_RESERVE, DAP_CAUSE_REQUEST, DAP_CAUSES},
		[DAP_EP_ACTIVE_PENDING] = {DAP_CAUSE_CONNECT, DAP_CAUSES},
		[DAP_EP_TENTATIVE_PENDING] = {DAP_CAUSE_TENTATIVE, DAP_CAUSES},
		[DAP_EP_COMPLETION_PENDING] = {DAP_CAUSE_ACCEPT, DAP_CAUSES},
		[DAP_EP_CONNECTED] = {DAP_CAUSE_CONNECT, DAP_CAUSE_ESTABLISHED, DAP_CAUSES},
		[DAP_EP_DISCONNECTED] = {DAP_CAUSE_CONNECT, DAP_CAUSE_FAILED, DAP_CAUSES},
	};

	pthread_mutex_lock(&core_ep(ep)->lock);
	if (state == DAP_EP_DISCONNECT_PENDING) {
		dap_ep_fsm(ep, DAP_CAUSE_CONNECT);
		dap_ep_fsm(ep, DAP_CAUSE_ESTABLISHED);
		dap_ep_fsm(ep, DAP_CAUSE_DISCONNECT_GRACEFUL);
	} else if (state != DAP_EP_UNCONNECTED) {
		for (int i = 0; i < 3 && way[state][i] != DAP_CAUSES; i++)
			cr_assert_eq(dap_ep_fsm(ep, way[state][i]), 0);
	}
	pthread_mutex_unlock(&core_ep(ep)->lock);
	cr_assert_eq(dap_ep_state(ep), state);
}

static void lead_back(struct dap_ep *ep)
{
	pthread_mutex_lock(&core_ep(ep)->lock);
	dap_ep_fsm(ep, DAP_CAUSE_UNRESERVE);
	dap_ep_fsm(ep, DAP_CAUSE_REJECT);
	dap_ep_fsm(ep, DAP_CAUSE_BROKEN);
	dap_ep_fsm(ep, DAP_CAUSE_RESET);
	pthread_mutex_unlock(&core_ep(ep)->lock);
	cr_assert_eq(dap_ep_state(ep), DAP_EP_UNCONNECTED);
}

static const enum dap_ep_state states[] = {
	DAP_EP_UNCONNECTED, DAP_EP_RESERVED, DAP_EP_PASSIVE_PENDING, DAP_EP_ACTIVE_PENDING,
	DAP_EP_TENTATIVE_PENDING, DAP_EP_COMPLETION_PENDING, DAP_EP_CONNECTED,
	DAP_EP_DISCONNECT_PENDING, DAP_EP_DISCONNECTED,
};
#define STATES (sizeof(states) / sizeof(states[0]))

static const DAT_RETURN_SUBTYPE state_sub[DAP_EP_STATES] = {
	[DAP_EP_UNCONNECTED] = DAT_INVALID_STATE_EP_UNCONNECTED,
	[DAP_EP_RESERVED] = DAT_INVALID_STATE_EP_RESERVED,
	[DAP_EP_PASSIVE_PENDING] = DAT_INVALID_STATE_EP_PASSCONNPENDING,
	[DAP_EP_ACTIVE_PENDING] = DAT_INVALID_STATE_EP_ACTCONNPENDING,
	[DAP_EP_TENTATIVE_PENDING] = DAT_INVALID_STATE_EP_TENTCONNPENDING,
	[DAP_EP_COMPLETION_PENDING] = DAT_INVALID_STATE_EP_COMPLPENDING,
	[DAP_EP_DISCONNECT_PENDING] = DAT_INVALID_STATE_EP_DISCPENDING,
};

static DAT_RETURN request(int which, DAT_EP_HANDLE ep, DAT_RMR_HANDLE rmr)
{
	DAT_DTO_COOKIE cookie = {.as_64 = 1};
	DAT_RMR_TRIPLET remote = {0};
	DAT_LMR_TRIPLET none = {0};
	DAT_RMR_CONTEXT context;

	switch (which) {
	case 0:
		return dat_ep_post_send(ep, 0, NULL, cookie, 0);
	case 1:
		return dat_ep_post_rdma_read(ep, 0, NULL, cookie, &remote, 0);
	case 2:
		return dat_ep_post_rdma_write(ep, 0, NULL, cookie, &remote, 0);
	default:
		return front_rmr_bind(rmr, &none, 0, ep, cookie, 0, &context);
	}
}

Test(post, request__succeeds_only_if_connected_or_disconnected)
{
	DAT_RMR_HANDLE rmr;
	DAT_EVENT ev;

	cr_assert_eq(dat_rmr_create(t.pz, &rmr), DAT_SUCCESS);
	for (size_t i = 0; i < STATES; i++) {
		bool ok = states[i] == DAP_EP_CONNECTED || states[i] == DAP_EP_DISCONNECTED;

		lead_to(t.ep, states[i]);
		for (int which = 0; which < 4; which++) {
			DAT_RETURN ret = request(which, t.ep, rmr);

			if (!ok) {
				assert_code(ret, DAT_INVALID_STATE, state_sub[states[i]]);
				continue;
			}
			cr_assert_eq(ret, DAT_SUCCESS,
				     "state %u, call %d returned 0x%08x", states[i], which,
				     ret);
			cr_assert_eq(dat_evd_dequeue(t.evd, &ev), DAT_SUCCESS);
		}
		lead_back(t.ep);
	}
	assert_ret(dat_evd_dequeue(t.evd, &ev), DAT_QUEUE_EMPTY);
}

Test(post, recv__succeeds_in_every_state)
{
	DAT_DTO_COOKIE cookie = {.as_64 = 1};
	DAT_EVENT ev;

	for (size_t i = 0; i < STATES; i++) {
		lead_to(t.ep, states[i]);
		cr_assert_eq(dat_ep_post_recv(t.ep, 0, NULL, cookie, 0), DAT_SUCCESS);
		cr_assert_eq(dat_evd_dequeue(t.evd, &ev), DAT_SUCCESS);
		lead_back(t.ep);
	}
}

Test(post, post__invalid_handles_are_refused)
{
	DAT_HANDLE bad[] = {NULL, t.ia, t.pz, t.evd, fake_ep(t.ia, t.pz, t.evd)};
	DAT_DTO_COOKIE cookie = {.as_64 = 1};

	cr_assert_eq(dat_ep_free(bad[4]), DAT_SUCCESS);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		for (int which = 0; which < 3; which++)
			assert_code(request(which, bad[i], NULL), DAT_INVALID_HANDLE,
				    DAT_INVALID_HANDLE_EP);
		assert_code(dat_ep_post_recv(bad[i], 0, NULL, cookie, 0), DAT_INVALID_HANDLE,
			    DAT_INVALID_HANDLE_EP);
	}
	cr_assert_null(fake.last_post);
}

Test(post, bind__invalid_handles_are_refused)
{
	DAT_IA_HANDLE other_ia = fake_open("fake1");
	DAT_PZ_HANDLE other_pz = fake_pz(other_ia);
	DAT_EVD_HANDLE other_evd = fake_evd(other_ia, 8, DAT_EVD_DEFAULT_FLAG);
	DAT_EP_HANDLE other_ep = fake_ep(other_ia, other_pz, other_evd);
	DAT_RMR_HANDLE rmr, freed;

	cr_assert_eq(dat_rmr_create(t.pz, &rmr), DAT_SUCCESS);
	cr_assert_eq(dat_rmr_create(t.pz, &freed), DAT_SUCCESS);
	cr_assert_eq(dat_rmr_free(freed), DAT_SUCCESS);
	lead_to(t.ep, DAP_EP_CONNECTED);
	lead_to(other_ep, DAP_EP_CONNECTED);
	assert_code(request(3, t.ep, NULL), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	assert_code(request(3, t.ep, freed), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	assert_code(request(3, t.ep, t.ep), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	assert_code(request(3, NULL, rmr), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	assert_code(request(3, other_ep, rmr), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	cr_assert_eq(dat_ia_close(other_ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

/* Live tables: for each endpoint, which function a call reaches. */
Test(post, table__follows_state)
{
	struct dap_ep *ep = t.ep;
	const DAT_PROVIDER *checked = ep->obj.table, *live;
	const struct dap_hot *hot = core_ia(ep->obj.ia)->hot;

	cr_assert_eq(checked->ep_post_send_func, front_ep_post_send);
	lead_to(ep, DAP_EP_CONNECTED);
	live = ep->obj.table;
	cr_assert_eq(live->ep_post_send_func, hot->post_send);
	cr_assert_eq(live->ep_post_recv_func, hot->post_recv);
	cr_assert_eq(live->ep_post_rdma_read_func, hot->rdma_read);
	cr_assert_eq(live->ep_post_rdma_write_func, hot->rdma_write);
	/* this function must not depend on the handle */
	cr_assert_eq(live->evd_dequeue_func, front_evd_dequeue);
	cr_assert_eq(live->rmr_bind_func, front_rmr_bind);
	lead_back(ep);
	cr_assert_eq(ep->obj.table, checked);
}

static void reopen_validating(void)
{
	fake_close(t.ia);
	fake_params("fake0", "validate=1 spin_us=0");
	open_all();
	lead_to(t.ep, DAP_EP_CONNECTED);
}

static DAT_LMR_TRIPLET triplet(DAT_LMR_CONTEXT context, const char *at, size_t len)
{
	return (DAT_LMR_TRIPLET){.lmr_context = context, .virtual_address = (uintptr_t)at,
				 .segment_length = len};
}

static DAT_RETURN post_send(DAT_LMR_TRIPLET seg)
{
	return dat_ep_post_send(t.ep, 1, &seg, (DAT_DTO_COOKIE){.as_64 = 1}, 0);
}

static DAT_RETURN post_recv(DAT_LMR_TRIPLET seg)
{
	return dat_ep_post_recv(t.ep, 1, &seg, (DAT_DTO_COOKIE){.as_64 = 1}, 0);
}

Test(post, validate__refuses_invalid_segments)
{
	static char page[256];
	char *mem = page + 64;
	DAT_PZ_HANDLE other_pz;
	DAT_LMR_CONTEXT read_only, write_only, foreign, freed;
	DAT_LMR_HANDLE lmr;

	reopen_validating();
	other_pz = fake_pz(t.ia);
	fake_lmr(t.ia, t.pz, mem, 100, DAT_MEM_PRIV_LOCAL_READ_FLAG, &read_only);
	fake_lmr(t.ia, t.pz, mem, 100, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &write_only);
	fake_lmr(t.ia, other_pz, mem, 100, DAT_MEM_PRIV_ALL_FLAG, &foreign);
	lmr = fake_lmr(t.ia, t.pz, mem, 100, DAT_MEM_PRIV_ALL_FLAG, &freed);
	cr_assert_eq(dat_lmr_free(lmr), DAT_SUCCESS);

	cr_assert_eq(post_send(triplet(read_only, mem, 100)), DAT_SUCCESS);
	cr_assert_eq(post_send(triplet(read_only, mem + 99, 1)), DAT_SUCCESS);
	cr_assert_eq(post_send(triplet(0, NULL, 0)), DAT_SUCCESS);
	cr_assert_eq(post_recv(triplet(write_only, mem, 100)), DAT_SUCCESS);
	assert_ret(post_send(triplet(read_only, mem, 101)), DAT_INVALID_PARAMETER);
	assert_ret(post_send(triplet(read_only, mem + 1, 100)), DAT_INVALID_PARAMETER);
	assert_ret(post_send(triplet(read_only, mem - 1, 1)), DAT_INVALID_PARAMETER);
	assert_ret(post_send(triplet(read_only, mem, SIZE_MAX)), DAT_INVALID_PARAMETER);
	assert_code(post_send(triplet(write_only, mem, 1)), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ);
	assert_code(post_recv(triplet(read_only, mem, 1)), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	assert_ret(post_send(triplet(freed, mem, 1)), DAT_PRIVILEGES_VIOLATION);
	assert_ret(post_send(triplet(0, mem, 1)), DAT_PRIVILEGES_VIOLATION);
	assert_ret(post_send(triplet(UINT32_MAX, mem, 1)), DAT_PRIVILEGES_VIOLATION);
	assert_ret(post_send(triplet(foreign, mem, 1)), DAT_PROTECTION_VIOLATION);
}

Test(post, validate__refuses_wrong_lengths)
{
	static char mem[64];
	DAT_DTO_COOKIE cookie = {.as_64 = 1};
	DAT_RMR_TRIPLET remote = {.segment_length = 10};
	DAT_LMR_TRIPLET seg[2];
	DAT_LMR_CONTEXT context;

	reopen_validating();
	fake_lmr(t.ia, t.pz, mem, sizeof(mem), DAT_MEM_PRIV_ALL_FLAG, &context);
	seg[0] = triplet(context, mem, 5);
	seg[1] = triplet(context, mem + 8, 5);
	cr_assert_eq(dat_ep_post_rdma_write(t.ep, 2, seg, cookie, &remote, 0), DAT_SUCCESS);
	cr_assert_eq(dat_ep_post_rdma_read(t.ep, 2, seg, cookie, &remote, 0), DAT_SUCCESS);
	remote.segment_length = 9;
	assert_ret(dat_ep_post_rdma_write(t.ep, 2, seg, cookie, &remote, 0), DAT_LENGTH_ERROR);
	cr_assert_eq(dat_ep_post_rdma_read(t.ep, 2, seg, cookie, &remote, 0), DAT_SUCCESS);
	remote.segment_length = 11;
	cr_assert_eq(dat_ep_post_rdma_write(t.ep, 2, seg, cookie, &remote, 0), DAT_SUCCESS);
	assert_ret(dat_ep_post_rdma_read(t.ep, 2, seg, cookie, &remote, 0), DAT_LENGTH_ERROR);
	assert_ret(dat_ep_post_send(t.ep, -1, seg, cookie, 0), DAT_INVALID_PARAMETER);
	assert_ret(dat_ep_post_send(t.ep, 1, NULL, cookie, 0), DAT_INVALID_PARAMETER);
}

Test(post, validate__refuses_an_invalid_bind)
{
	static char mem[64];
	DAT_RMR_HANDLE rmr, foreign;
	DAT_RMR_CONTEXT out = 77;
	DAT_DTO_COOKIE cookie = {.as_64 = 1};
	DAT_LMR_CONTEXT read_only;
	DAT_LMR_TRIPLET seg;

	reopen_validating();
	fake_lmr(t.ia, t.pz, mem, 64, DAT_MEM_PRIV_LOCAL_READ_FLAG, &read_only);
	cr_assert_eq(dat_rmr_create(t.pz, &rmr), DAT_SUCCESS);
	cr_assert_eq(dat_rmr_create(fake_pz(t.ia), &foreign), DAT_SUCCESS);
	seg = triplet(read_only, mem, 64);
	assert_ret(dat_rmr_bind(rmr, &seg, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, t.ep, cookie, 0, &out),
		   DAT_PRIVILEGES_VIOLATION);
	assert_ret(dat_rmr_bind(foreign, &seg, DAT_MEM_PRIV_REMOTE_READ_FLAG, t.ep, cookie, 0, &out),
		   DAT_PROTECTION_VIOLATION);
	seg.segment_length = 65;
	assert_ret(dat_rmr_bind(rmr, &seg, DAT_MEM_PRIV_REMOTE_READ_FLAG, t.ep, cookie, 0, &out),
		   DAT_INVALID_PARAMETER);
	cr_assert_eq(out, 77);
	seg.segment_length = 64;
	cr_assert_eq(dat_rmr_bind(rmr, &seg, DAT_MEM_PRIV_REMOTE_READ_FLAG, t.ep, cookie, 0, &out),
		     DAT_SUCCESS);
}

/* If an endpoint has no EVDs, a poster that finds no room reaps its completions itself. */
Test(post, reap__takes_completions_of_an_endpoint_without_evds)
{
	DAT_EP_HANDLE ep = fake_ep(t.ia, t.pz, NULL);
	DAT_EP_PARAM param;

	cr_assert_eq(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	cr_assert_null(param.request_evd_handle);
	cr_assert_null(param.recv_evd_handle);
	cr_assert_not(dap_ep_reap(ep, false));
	lead_to(ep, DAP_EP_CONNECTED);
	cr_assert_eq(request(0, ep, NULL), DAT_SUCCESS);
	cr_assert(dap_ep_reap(ep, false));
	cr_assert_not(dap_ep_reap(ep, false));
	cr_assert_not(dap_ep_reap(t.ep, false));
	cr_assert_eq(dat_ep_free(ep), DAT_SUCCESS);
	cr_assert_eq(fake.live[FAKE_CQ], 1);
}
