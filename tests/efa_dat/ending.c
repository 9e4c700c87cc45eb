/* SPDX-License-Identifier: BSD-2-Clause */
/* The peer ends the connection. All requests whose data it received complete with success. */
#include "tests/efa_dat/rig.h"

TestSuite(efa_ending, .timeout = 120);

enum { ROUNDS = 40, MESSAGES = 8 };

static void messages(void)
{
	for (uint32_t i = 0; i < MESSAGES; i++)
		ok(do_recv(&b, i, 0, 64));
	for (uint32_t i = 0; i < MESSAGES; i++)
		ok(do_send(&a, i, 0, 8));
	for (uint32_t i = 0; i < MESSAGES; i++)
		cr_assert_eq(took(b.recv, i), DAT_DTO_SUCCESS);
}

/* The disconnect message takes another path than acknowledgements, and may arrive before them. */
static void ends_by(DAT_CLOSE_FLAGS how, const char *params)
{
	for (int round = 0; round < ROUNDS; round++) {
		pair_open(params, params);
		messages();
		ok(dat_ep_disconnect(b.ep, how));
		took_conn(&a, DAT_CONNECTION_EVENT_DISCONNECTED);
		for (uint32_t i = 0; i < MESSAGES; i++)
			cr_expect_eq(took(a.req, i), DAT_DTO_SUCCESS, "round %d, send %u", round, i);
		pair_close();
	}
}

#define BUSY "variant=silicon efa_reorder=256"

Test(efa_ending, sends__that_have_come_before_a_graceful_end)
{
	ends_by(DAT_CLOSE_GRACEFUL_FLAG, "efa_reorder=256");
}

Test(efa_ending, sends__that_have_come_before_an_abrupt_end)
{
	ends_by(DAT_CLOSE_ABRUPT_FLAG, "efa_reorder=256");
}

Test(efa_ending, sends__that_have_come_before_a_graceful_end_by_a_device)
{
	ends_by(DAT_CLOSE_GRACEFUL_FLAG, BUSY);
}

Test(efa_ending, sends__that_have_come_before_an_abrupt_end_by_a_device)
{
	ends_by(DAT_CLOSE_ABRUPT_FLAG, BUSY);
}

/*
 * Neither b's consumer nor the library's thread polls for b until a has disconnected. That takes more
 * than ten seconds if b is not asked to poll, because a then times out.
 */
static void ends_unattended(const char *params)
{
	DAT_EVENT ev;

	pair_open("", params);
	for (uint32_t i = 0; i < MESSAGES; i++)
		ok(do_recv(&b, i, 0, 64));
	for (uint32_t i = 0; i < MESSAGES; i++)
		ok(do_send(&a, i, 0, 8));
	ok(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	cr_assert(TH_WITHIN(8000, dat_evd_dequeue(a.conn, &ev) == DAT_SUCCESS));
	cr_assert_eq(ev.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		cr_assert_eq(took(a.req, i), DAT_DTO_SUCCESS);
		cr_assert_eq(took(b.recv, i), DAT_DTO_SUCCESS);
	}
	took_conn(&b, DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_close();
}

Test(efa_ending, graceful__with_a_peer_that_does_not_poll)
{
	ends_unattended("efa_look=60000");
	ends_unattended("variant=silicon efa_look=60000");
}
