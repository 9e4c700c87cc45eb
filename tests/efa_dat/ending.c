/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a connection. If the peer ends it, all requests whose data it received complete with
 * success. While a command for it runs, other endpoints of the IA work.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/efa_dat/rig.h"

TestSuite(efa_ending, .timeout = 120);

/* SETTLE_MS: how long the end of a connection waits for acknowledgements (hw_efa/conn.c). */
enum { ROUNDS = 40, MESSAGES = 8, LONG = 40000, SETTLE_MS = 500 };

/*
 * False: a send failed in a round that may have taken longer than SETTLE_MS, because the machine is busy.
 * Such a round proves nothing, and is repeated.
 */
static bool sends_succeeded(int round, uint64_t began)
{
	unsigned int failed = 0;

	for (uint32_t i = 0; i < MESSAGES; i++)
		failed += took(a.req, i) != DAT_DTO_SUCCESS;
	cr_assert(!failed || th_now_ms() - began >= SETTLE_MS, "round %d: %u sends failed", round, failed);
	return !failed;
}

/* Returns true while the rounds that succeeded are fewer than ROUNDS. */
static bool goes_on(int round)
{
	static int tries;

	cr_assert_lt(tries++, 10 * ROUNDS, "only %d rounds were fast enough", round);
	return round < ROUNDS;
}

static void messages_of(uint32_t len)
{
	for (uint32_t i = 0; i < MESSAGES; i++)
		ok(do_recv(&b, i, 0, len));
	for (uint32_t i = 0; i < MESSAGES; i++)
		ok(do_send(&a, i, 0, len));
	for (uint32_t i = 0; i < MESSAGES; i++)
		cr_assert_eq(took(b.recv, i), DAT_DTO_SUCCESS);
}

static void messages(void)
{
	messages_of(8);
}

static void long_messages(void)
{
	messages_of(LONG);
}

/* The target has seen the last write, which its software has carried out. */
static void emulated_writes(void)
{
	const volatile char *last = b.mem + MESSAGES;

	memset(a.mem, 1, 2 * MESSAGES);
	for (uint32_t i = 0; i < MESSAGES; i++)
		ok(do_write(&a, i, i, i + 1, 1));
	cr_assert(TH_WITHIN(SOON_MS, *last));
}

/* The disconnect message takes another path than acknowledgements, and may arrive before them. */
static void ends_after(void (*some)(void), DAT_CLOSE_FLAGS how, const char *params)
{
	for (int round = 0; goes_on(round);) {
		uint64_t began;

		pair_open(params, params);
		began = th_now_ms();
		some();
		ok(dat_ep_disconnect(b.ep, how));
		took_conn(&a, DAT_CONNECTION_EVENT_DISCONNECTED);
		round += sends_succeeded(round, began);
		pair_close();
	}
}

static void ends_by(DAT_CLOSE_FLAGS how, const char *params)
{
	ends_after(messages, how, params);
}

#define BUSY "variant=silicon efa_reorder=256"

Test(efa_ending, sends__that_arrived_before_a_graceful_end_succeed)
{
	ends_by(DAT_CLOSE_GRACEFUL_FLAG, "efa_reorder=256");
}

Test(efa_ending, sends__that_arrived_before_an_abrupt_end_succeed)
{
	ends_by(DAT_CLOSE_ABRUPT_FLAG, "efa_reorder=256");
}

Test(efa_ending, sends__that_arrived_before_a_graceful_end_succeed_on_silicon)
{
	ends_by(DAT_CLOSE_GRACEFUL_FLAG, BUSY);
}

Test(efa_ending, sends__that_arrived_before_an_abrupt_end_succeed_on_silicon)
{
	ends_by(DAT_CLOSE_ABRUPT_FLAG, BUSY);
}

/* The software of the peer answers these requests. */
Test(efa_ending, sends__that_the_peer_read_before_an_abrupt_end_succeed)
{
	ends_after(long_messages, DAT_CLOSE_ABRUPT_FLAG, BUSY);
}

Test(efa_ending, writes__emulated_before_an_abrupt_end_succeed)
{
	ends_after(emulated_writes, DAT_CLOSE_ABRUPT_FLAG, BUSY " efa_profile=read");
}

/* The last request fails at this end, at once. The requests before it are still on their way. */
static void fails_here(const char *params)
{
	for (int round = 0; goes_on(round);) {
		uint64_t began;

		pair_open(params, params);
		began = th_now_ms();
		for (uint32_t i = 0; i < MESSAGES; i++)
			ok(do_recv(&b, i, 0, 64));
		for (uint32_t i = 0; i < MESSAGES; i++)
			ok(do_send(&a, i, 0, 8));
		ok(do_read(&a, MESSAGES, MEM, 0, 8));
		round += sends_succeeded(round, began);
		cr_assert_eq(took(a.req, MESSAGES), DAT_DTO_ERR_LOCAL_PROTECTION);
		both_broken();
		pair_close();
	}
}

/* The peer has no room for the last message, and breaks the connection. It has taken those before it. */
static void fails_there(const char *params)
{
	for (int round = 0; goes_on(round);) {
		uint64_t began;

		pair_open(params, params);
		began = th_now_ms();
		for (uint32_t i = 0; i <= MESSAGES; i++)
			ok(do_recv(&b, i, 0, i < MESSAGES ? 64 : 4));
		for (uint32_t i = 0; i <= MESSAGES; i++)
			ok(do_send(&a, i, 0, 8));
		for (uint32_t i = 0; i < MESSAGES; i++)
			cr_assert_eq(took(b.recv, i), DAT_DTO_SUCCESS);
		cr_assert_eq(took(b.recv, MESSAGES), DAT_DTO_ERR_LOCAL_LENGTH);
		both_broken();
		round += sends_succeeded(round, began);
		pair_close();
	}
}

Test(efa_ending, sends__before_a_request_that_fails_are_not_flushed)
{
	fails_here("efa_reorder=256");
	fails_here(BUSY);
}

Test(efa_ending, sends__before_a_message_that_the_peer_refuses_are_not_flushed)
{
	fails_there("efa_reorder=256");
	fails_there(BUSY);
}

/*
 * A request of the peer fails while the peer reads messages. Their receives succeed nevertheless if the
 * reads are under way. The sends of these messages succeed too.
 */
static void fails_while_it_reads(const char *params)
{
	for (int round = 0; goes_on(round);) {
		unsigned int received = 1, sent = 0;
		uint64_t began;

		pair_open(params, params);
		began = th_now_ms();
		for (uint32_t i = 0; i < MESSAGES; i++)
			ok(do_recv(&b, i, 0, LONG));
		for (uint32_t i = 0; i < MESSAGES; i++)
			ok(do_send(&a, i, 0, LONG));
		cr_assert_eq(took(b.recv, 0), DAT_DTO_SUCCESS);
		ok(do_read(&b, MESSAGES, MEM, 0, 8));
		for (uint32_t i = 1; i < MESSAGES; i++)
			received += took(b.recv, i) == DAT_DTO_SUCCESS;
		both_broken();
		for (uint32_t i = 0; i < MESSAGES; i++)
			sent += took(a.req, i) == DAT_DTO_SUCCESS;
		cr_assert(sent >= received || th_now_ms() - began >= SETTLE_MS,
			  "round %d: %u sends succeeded, and %u receives", round, sent, received);
		round += sent >= received;
		pair_close();
	}
}

Test(efa_ending, sends__that_a_failing_peer_has_read_are_not_flushed)
{
	fails_while_it_reads("efa_reorder=256");
	fails_while_it_reads(BUSY);
}

/* ---- Peers that answer while this end settles ---- */

enum { STOP_POLL = 48, ANSWER_POLL = 80, STOP_MS = 600 };

static struct {
	const struct efa_ctl_ops *device;
	struct efa_ctl_ops ops;
	pthread_t settles;
	const struct end *e, *peer;
	unsigned int polls, stop_ms;
} late;

static bool has_completion(const struct end *e)
{
	const struct efa_cqring *cq = &efa_ia((struct dap_ia *)e->ia)->eng->cq;

	return (cq->base[cq->ci & cq->mask].flags ^ cq->taken >> 8) & EFA_CQE_PHASE;
}

/* Pauses the settling thread at one of its polls; at a later poll the peer answers. */
static bool late_drive(struct softnic_efa *soft)
{
	bool left = late.device->drive(soft);

	if (!pthread_equal(late.settles, pthread_self()))
		return left;
	late.polls++;
	if (late.polls == STOP_POLL && late.stop_ms)
		th_sleep_ms(late.stop_ms);
	if (late.polls != ANSWER_POLL)
		return left;
	cr_assert_eq(softnic_efa_fault(device(late.peer), ""), 0);
	cr_assert(TH_WITHIN(SOON_MS, (late.device->drive(soft), has_completion(late.e))));
	return true;
}

/* Lets the end settle. The peer is silent at first, and answers before the call returns. */
static void settle_late(const struct end *e, const struct end *peer, unsigned int stop_ms)
{
	struct efa_ctl *ctl = efa_ia((struct dap_ia *)e->ia)->ctl;

	late.device = ctl->ops;
	late.ops = *ctl->ops;
	late.ops.drive = late_drive;
	late.settles = pthread_self();
	late.e = e;
	late.peer = peer;
	late.polls = 0;
	late.stop_ms = stop_ms;
	ctl->ops = &late.ops;
	efa_qp_settle(inner(e));
	ctl->ops = late.device;
}

static void silence(const struct end *e)
{
	cr_assert_eq(softnic_efa_fault(device(e), "silence"), 0);
}

Test(efa_ending, settle__time_in_which_the_machine_was_stopped_does_not_count)
{
	pair_open("", "");
	ok(do_recv(&b, 0, 0, 64));
	silence(&b);
	ok(do_send(&a, 0, 0, 8));
	settle_late(&a, &b, STOP_MS);
	cr_assert_eq(inner_efa(&a)->tx.done, 1, "the send was given up");
	pair_close();
}

/* In both calls of settle_late(), one WQE is outstanding and the peer has not acknowledged it. */
Test(efa_ending, settle__time_of_an_earlier_wqe_does_not_count)
{
	pair_open("", "efa_look=60000");
	ok(do_recv(&b, 0, 0, 64));
	efa_qp_look(inner(&b));		/* from now on b acknowledges each message */
	ok(do_send(&a, 0, 0, 8));
	cr_assert_eq(took(a.req, 0), DAT_DTO_SUCCESS);
	silence(&a);
	cr_assert_eq(took(b.recv, 0), DAT_DTO_SUCCESS);
	cr_assert_eq(inner_efa(&b)->sq.used, 1, "b has not acknowledged the message");
	settle_late(&b, &a, 0);
	cr_assert_eq(inner_efa(&b)->sq.used, 0, "the acknowledgement was given up");
	th_sleep_ms(STOP_MS);
	silence(&a);
	ok(do_recv(&a, 1, 0, 64));
	ok(do_send(&b, 1, 0, 8));
	settle_late(&b, &a, 0);
	cr_assert_eq(inner_efa(&b)->tx.done, 1, "the send was given up");
	pair_close();
}

/* ---- Peers that answer nothing ---- */

static struct {
	bool (*drive)(struct softnic_efa *soft);
	struct efa_ctl_ops ops;
	atomic_uint n;
} polls;

static bool counted_drive(struct softnic_efa *soft)
{
	atomic_fetch_add(&polls.n, 1);
	return polls.drive(soft);
}

static void count_polls(void)
{
	struct efa_ctl *ctl = efa_ia((struct dap_ia *)a.ia)->ctl;

	polls.drive = ctl->ops->drive;
	polls.ops = *ctl->ops;
	polls.ops.drive = counted_drive;
	ctl->ops = &polls.ops;
}

/* When the first endpoint has settled, the requests of both endpoints have waited for the longest
 * permitted time. */
Test(efa_ending, settle__of_two_silent_peers_takes_no_longer_than_of_one)
{
	enum { FEW = 1000 };
	struct dap_ep *first;

	pair_open("", "");
	first = inner(&a);
	ok(do_recv(&b, 0, 0, 64));
	cr_assert_eq(softnic_efa_fault(device(&b), "silence"), 0);
	ok(do_send(&a, 0, 0, 8));
	end_new_ep(&a);
	end_new_ep(&b);
	pair_join();
	ok(do_send(&a, 1, 0, 8));
	count_polls();
	efa_qp_settle(first);
	atomic_store(&polls.n, 0);
	efa_qp_settle(inner(&a));
	cr_expect_lt(atomic_load(&polls.n), FEW);
	took_none(a.req);
	pair_close();
}

/*
 * Until a has disconnected, neither b's consumer nor the library's thread polls for b. If no message
 * asks b to poll, this takes more than ten seconds, because a has to time out.
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

Test(efa_ending, graceful__with_a_peer_that_does_not_poll_ends_without_a_timeout)
{
	ends_unattended("efa_look=60000");
	ends_unattended("variant=silicon efa_look=60000");
}

/* ---- A command that ends a QP, which takes as long as the test wants ---- */

static struct {
	const struct efa_ctl_ops *device;
	struct efa_ctl_ops ops;
	bool refuses_error;
	atomic_bool runs, may_end;
} command;

static void run_command(void)
{
	atomic_store(&command.runs, true);
	cr_assert(TH_WITHIN(SOON_MS, atomic_load(&command.may_end)));
}

static int held_error(struct efa_ctl *ctl, struct efa_qp_res *qp)
{
	if (command.refuses_error)
		return -EIO;
	run_command();
	return command.device->qp_error(ctl, qp);
}

static int held_destroy(struct efa_ctl *ctl, struct efa_qp_res *qp)
{
	run_command();
	return command.device->qp_destroy(ctl, qp);
}

static void hold_commands(bool refuses_error)
{
	struct efa_ctl *ctl = efa_ia((struct dap_ia *)a.ia)->ctl;

	command.device = ctl->ops;
	command.ops = *ctl->ops;
	command.ops.qp_error = held_error;
	if (refuses_error)
		command.ops.qp_destroy = held_destroy;
	command.refuses_error = refuses_error;
	ctl->ops = &command.ops;
}

static void *disconnect(void *ep)
{
	ok(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	return NULL;
}

/* If the end of the QP held the lock of the IA, messages() would never return. */
static void others_work_during_the_end(bool refuses_error)
{
	DAT_EP_HANDLE first;
	pthread_t thread;
	DAT_EVENT ev;

	pair_open("", "");
	first = a.ep;
	end_new_ep(&a);
	end_new_ep(&b);
	pair_join();
	hold_commands(refuses_error);
	cr_assert_eq(pthread_create(&thread, NULL, disconnect, first), 0);
	cr_assert(TH_WITHIN(SOON_MS, atomic_load(&command.runs)));
	messages();
	for (uint32_t i = 0; i < MESSAGES; i++)
		cr_assert_eq(took(a.req, i), DAT_DTO_SUCCESS);
	atomic_store(&command.may_end, true);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert(TH_WITHIN(SOON_MS, dat_evd_dequeue(a.conn, &ev) == DAT_SUCCESS));
	cr_expect_eq(ev.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
	cr_expect_eq(ev.event_data.connect_event_data.ep_handle, first);
	pair_close();
}

Test(efa_ending, other_endpoints__work_while_a_qp_goes_to_error)
{
	others_work_during_the_end(false);
}

/* Tests what the driver does if the device refuses the transition to ERR. */
Test(efa_ending, other_endpoints__work_while_a_qp_is_destroyed)
{
	others_work_during_the_end(true);
}

static bool b_reads(void)
{
	struct efa_engine *eng = inner_efa(&b)->tx.eng;
	DAT_EVENT ev;
	bool reads;

	cr_assert_neq(dat_evd_dequeue(b.recv, &ev), DAT_SUCCESS);
	efa_enter(eng);
	reads = inner_efa(&b)->rx.recv[0].left;
	efa_leave(eng);
	return reads;
}

/* A thread of the IA may take the completion first. */
static int error_after_the_read(struct efa_ctl *ctl, struct efa_qp_res *qp)
{
	const struct efa_cqring *cq = &inner_efa(&b)->tx.eng->cq;
	uint32_t before = cq->ci;

	cr_assert_eq(softnic_efa_fault(device(&a), ""), 0);
	cr_assert(TH_WITHIN(SOON_MS, (command.device->drive(ctl->soft),
				      has_completion(&b) || cq->ci != before)));
	return command.device->qp_error(ctl, qp);
}

/* The data comes after b has answered for the last time, so the sender does not learn of it. */
Test(efa_ending, abrupt__end_before_a_message_is_read_flushes_both_requests)
{
	struct efa_ctl *ctl;

	pair_open("", "");
	silence(&a);
	ok(do_recv(&b, 0, 0, LONG));
	ok(do_send(&a, 0, 0, LONG));
	cr_assert(TH_WITHIN(SOON_MS, b_reads()));
	ctl = efa_ia((struct dap_ia *)b.ia)->ctl;
	command.device = ctl->ops;
	command.ops = *ctl->ops;
	command.ops.qp_error = error_after_the_read;
	ctl->ops = &command.ops;
	ok(dat_ep_disconnect(b.ep, DAT_CLOSE_ABRUPT_FLAG));
	cr_expect_eq(took(b.recv, 0), DAT_DTO_ERR_FLUSHED);
	cr_expect_eq(took(a.req, 0), DAT_DTO_ERR_FLUSHED);
	pair_close();
}
