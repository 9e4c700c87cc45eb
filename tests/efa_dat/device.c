/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices that misbehave: the DAT event, the status, and the message are checked. */
#include <stdio.h>

#include "tests/efa_dat/rig.h"

TestSuite(efa_device, .timeout = 120);

static void setup(void)
{
	pair_open("", "");
}

#define OURS "please report it"

/* Each completion status of a WQE is reported in the DAT completion, and as text with advice. */
Test(efa_device, status__each_has_its_dto_status_and_advice)
{
	static const struct {
		unsigned int device;
		DAT_DTO_COMPLETION_STATUS status;
		const char *cause, *cure;
	} each[] = {
		{ 1, DAT_DTO_ERR_FLUSHED, "flushed", "given up the QP" },
		{ 2, DAT_DTO_ERR_LOCAL_EP, "local QP", OURS },
		{ 3, DAT_DTO_ERR_LOCAL_EP, "not supported", OURS },
		{ 4, DAT_DTO_ERR_LOCAL_EP, "bad address handle", OURS },
		{ 5, DAT_DTO_ERR_LOCAL_PROTECTION, "bad local key", "LMR of the request been freed?" },
		{ 6, DAT_DTO_ERR_LOCAL_LENGTH, "longer than the MTU", OURS },
		{ 7, DAT_DTO_ERR_REMOTE_ACCESS, "remote address or key", "ended at the peer" },
		{ 8, DAT_DTO_ERR_TRANSPORT, "aborted", "endpoint been freed?" },
		{ 9, DAT_DTO_ERR_TRANSPORT, "QP", "was its process killed?" },
		{ 10, DAT_DTO_ERR_RECEIVER_NOT_READY, "not ready", OURS },
		{ 11, DAT_DTO_ERR_REMOTE_RESPONDER, "receive too short", OURS },
		{ 12, DAT_DTO_ERR_BAD_RESPONSE, "bad remote status", "do not agree" },
		{ 13, DAT_DTO_ERR_TRANSPORT, "has stopped", "host up?" },
		{ 14, DAT_DTO_ERR_TRANSPORT, "no address handle for us", "Connect again" },
		{ 15, DAT_DTO_ERR_TRANSPORT, "never answered", "security groups" },
		{ 18, DAT_DTO_ERR_TRANSPORT, "differ in a feature", "same release" },
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		char script[32];

		setup();
		ok(do_recv(&b, 1, 0, 64));
		/* The first RDMA of a connection is posted again after status 14. */
		ok(do_write(&a, 1, 0, 0, 64));
		cr_assert_eq(took(a.req, 1), DAT_DTO_SUCCESS);
		snprintf(script, sizeof(script), "status=%u:1", each[i].device);
		cr_assert_eq(softnic_efa_fault(device(&a), script), 0);
		ok(do_write(&a, 2, 0, 0, 64));
		ok(do_write(&a, 3, 0, 0, 64));
		both_broken();
		cr_assert_eq(took(a.req, 2), each[i].status,
			     "device status %u has the wrong DTO status", each[i].device);
		cr_assert_eq(took(a.req, 3), DAT_DTO_ERR_FLUSHED);
		cr_assert_eq(took(b.recv, 1), DAT_DTO_ERR_FLUSHED);
		said("the connection is broken: ");
		said("the peer's endpoint broke the connection: ");
		said(each[i].cause);
		said(each[i].cure);
		pair_close();
	}
}

Test(efa_device, peer__silent_breaks_the_connection, .init = setup)
{
	cr_assert_eq(softnic_efa_fault(device(&b), "silence"), 0);
	ok(do_write(&a, 1, 0, 0, 64));
	cr_assert_eq(took(a.req, 1), DAT_DTO_ERR_TRANSPORT);
	both_broken();
	said("answer");
	pair_close();
}

static void forget_the_other(struct end *e)
{
	struct efa_ah *ah = inner_efa(e)->cold->ah;

	cr_assert_eq(softnic_efa_ah_destroy(device(e), (uint16_t)(uintptr_t)ah->pd, ah->number), 0);
}

/* The target's device has no address handle for this side, so it refuses RDMA. */
Test(efa_device, target__without_address_handle_refuses_rdma, .init = setup)
{
	forget_the_other(&b);
	ok(do_write(&a, 1, 0, 0, 64));
	cr_assert_eq(took(a.req, 1), DAT_DTO_ERR_TRANSPORT);
	both_broken();
	said("no address handle for us");
	pair_close();
}

/* The message arrives nevertheless, because its CQE has the GID of its sender. */
Test(efa_device, receiver__without_address_handle_takes_the_message, .init = setup)
{
	forget_the_other(&b);
	ok(do_recv(&b, 1, 0, 64));
	ok(do_send(&a, 2, 0, 64));
	cr_assert_eq(took(b.recv, 1), DAT_DTO_SUCCESS);
	cr_assert_eq(took(a.req, 2), DAT_DTO_SUCCESS);
	pair_close();
}

/* A write in flight is complete by then, or is refused. A later write is refused, or flushed behind
 * that one. */
Test(efa_device, key__revoked_in_flight_refuses_the_next_write, .init = setup)
{
	DAT_DTO_COMPLETION_STATUS under_way;

	ok(do_write(&a, 1, 0, 0, 60000));
	ok(dat_lmr_free(b.lmr));
	ok(do_write(&a, 2, 0, 0, 64));
	both_broken();
	under_way = took(a.req, 1);
	cr_assert(under_way == DAT_DTO_SUCCESS || under_way == DAT_DTO_ERR_REMOTE_ACCESS);
	cr_assert_eq(took(a.req, 2), under_way ? DAT_DTO_ERR_FLUSHED : DAT_DTO_ERR_REMOTE_ACCESS);
	said("remote address or key: the context has ended at the peer");
	said("the peer's endpoint broke the connection: ");
	pair_close();
}

/* The peer's endpoint is freed in the middle of transfers. Later connections reuse its number. */
Test(efa_device, completion__of_a_freed_endpoint_is_not_delivered)
{
	for (int i = 0; i < 20; i++) {
		setup();
		for (uint64_t n = 0; n < DTOS; n++) {
			ok(do_recv(&b, n, 0, 64));
			ok(do_send(&a, n, 0, 64));
		}
		ok(dat_ep_free(i & 1 ? a.ep : b.ep));
		took_conn(i & 1 ? &b : &a, DAT_CONNECTION_EVENT_DISCONNECTED);
		took_none(i & 1 ? a.req : b.recv);
		pair_close();
	}
}
