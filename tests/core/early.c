/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_ep_connect(3): no message arrives before ESTABLISHED is on the EVD. A peer may send as soon
 * as its own side is connected, so a message can overtake the last message of the connection
 * manager. Here the test acts as that peer: it sends its data first, and the last message of the
 * connection manager after it.
 */
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/cm/loop.h"
#include "core/cm/sock.h"
#include "core/cm/wire.h"
#include "core/ep/ep.h"
#include "tests/core/fake_hw.h"

enum { SOON_US = 10000000, SHORT_US = 50000 };

static struct fake_objects o;
static int listener, peer;
static uint64_t id;

/*
 * Listens at the port of any qualifier, and returns the qualifier: several tests may run at the
 * same time.
 */
static DAT_CONN_QUAL listen_somewhere(struct sockaddr_in *at)
{
	for (DAT_CONN_QUAL qual = (DAT_CONN_QUAL)getpid();; qual++) {
		*at = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(cm_port_of(qual)),
					    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (!bind(listener, (struct sockaddr *)at, sizeof(*at)) && !listen(listener, 1))
			return qual;
		close(listener);
	}
}

static void say(enum cm_type type)
{
	struct cm_msg m = { .type = type, .id = id,
			    .path = { .link_layer = 1, .mtu = 1024, .qpn = 7 } };
	struct cm_wire w;

	cm_wire_put(&m, &w);
	cr_assert_eq(send(peer, &w, sizeof(w), MSG_NOSIGNAL), (ssize_t)sizeof(w));
}

static enum cm_type hear(void)
{
	struct cm_wire w;
	struct cm_msg m;

	cr_assert_eq(recv(peer, &w, sizeof(w), MSG_WAITALL), (ssize_t)sizeof(w));
	cr_assert_eq(cm_wire_get(&w, sizeof(w), &m), 1);
	id = m.id;
	return m.type;
}

/* Makes the connection up to the RTU. From then on the peer may send. */
static void connect_but_last_word(DAT_EP_HANDLE ep)
{
	struct sockaddr_in at;
	DAT_CONN_QUAL qual = listen_somewhere(&at);
	struct pollfd p;

	cr_assert_eq(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&at, qual, SOON_US, 0, NULL,
				    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG), DAT_SUCCESS);
	p = (struct pollfd){ .fd = listener, .events = POLLIN };
	cr_assert_eq(poll(&p, 1, SOON_US / 1000), 1);
	peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	cr_assert_eq(hear(), CM_REQ);
	say(CM_REP);
	cr_assert_eq(hear(), CM_RTU);
}

static void message(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie)
{
	fake_complete_dto(evd, ep, cookie, false);
}

static void end(void)
{
	close(peer);
	close(listener);
	fake_close(o.ia);
}

static DAT_EVENT_NUMBER wait_for(DAT_EVD_HANDLE evd, DAT_TIMEOUT us)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	return dat_evd_wait(evd, us, 1, &ev, &more) == DAT_SUCCESS ? ev.event_number : 0;
}

static DAT_EVENT_NUMBER poll_once(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	return dat_evd_dequeue(evd, &ev) == DAT_SUCCESS ? ev.event_number : 0;
}

static uint64_t next_cookie(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	if (dat_evd_dequeue(evd, &ev) != DAT_SUCCESS || ev.event_number != DAT_DTO_COMPLETION_EVENT)
		return 0;
	return ev.event_data.dto_completion_event_data.user_cookie.as_64;
}

static void setup(void)
{
	fake_open_objects(&o, DAT_EVD_DEFAULT_FLAG);
}

TestSuite(early, .init = setup, .timeout = 60);

Test(early, dequeue__message_comes_after_ESTABLISHED)
{
	connect_but_last_word(o.ep);
	message(o.evd, o.ep, 1);
	message(o.evd, o.ep, 2);
	cr_expect_eq(poll_once(o.evd), 0);
	cr_expect_eq(poll_once(o.evd), 0);
	say(CM_GO);
	cr_expect_eq(wait_for(o.evd, SOON_US), DAT_CONNECTION_EVENT_ESTABLISHED);
	/* the manager's thread releases the messages just after it has posted that event */
	cr_expect(TH_WITHIN(SOON_US / 1000, poll_once(o.evd) == DAT_DTO_COMPLETION_EVENT));
	cr_expect_eq(poll_once(o.evd), DAT_DTO_COMPLETION_EVENT);
	end();
}

Test(early, wait__message_comes_after_ESTABLISHED)
{
	connect_but_last_word(o.ep);
	message(o.evd, o.ep, 1);
	cr_expect_eq(wait_for(o.evd, SHORT_US), 0);
	say(CM_GO);
	cr_expect_eq(wait_for(o.evd, SOON_US), DAT_CONNECTION_EVENT_ESTABLISHED);
	cr_expect_eq(wait_for(o.evd, SOON_US), DAT_DTO_COMPLETION_EVENT);
	end();
}

/* Connections have an EVD of their own. ESTABLISHED is on that EVD when the message is dequeued. */
static DAT_EP_HANDLE ep_of_two(DAT_EVD_HANDLE *connections)
{
	DAT_EP_HANDLE ep;

	*connections = fake_evd(o.ia, 4, DAT_EVD_CONNECTION_FLAG);
	cr_assert_eq(dat_ep_create(o.ia, o.pz, o.evd, o.evd, *connections, NULL, &ep), DAT_SUCCESS);
	return ep;
}

static void *say_go_later(void *unused)
{
	usleep(SHORT_US);
	say(CM_GO);
	return unused;
}

Test(early, wait__of_another_evd_is_woken_by_ESTABLISHED)
{
	DAT_EVD_HANDLE connections;
	DAT_EP_HANDLE ep = ep_of_two(&connections);
	pthread_t later;

	connect_but_last_word(ep);
	message(o.evd, ep, 1);
	cr_expect_eq(wait_for(o.evd, SHORT_US), 0);
	pthread_create(&later, NULL, say_go_later, NULL);
	cr_expect_eq(wait_for(o.evd, SOON_US), DAT_DTO_COMPLETION_EVENT);
	cr_expect_eq(poll_once(connections), DAT_CONNECTION_EVENT_ESTABLISHED);
	pthread_join(later, NULL);
	end();
}

/*
 * ESTABLISHED may be dequeued, and a request be completed, before the manager's thread has noted that
 * messages need not wait any more.
 */
Test(early, wait__completion_of_a_request_is_never_kept_back)
{
	DAT_EVD_HANDLE requests = fake_evd(o.ia, 4, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep;

	cr_assert_eq(dat_ep_create(o.ia, o.pz, o.evd, requests, o.evd, NULL, &ep), DAT_SUCCESS);
	connect_but_last_word(ep);
	message(requests, ep, 1);
	/* the completion comes before the attempt to connect times out */
	cr_expect_eq(wait_for(requests, SOON_US / 2), DAT_DTO_COMPLETION_EVENT);
	message(requests, ep, 2);
	cr_expect_eq(next_cookie(requests), 2);
	end();
}

Test(early, cno__is_triggered_by_ESTABLISHED)
{
	DAT_EVD_HANDLE connections, got;
	DAT_EP_HANDLE ep = ep_of_two(&connections);
	DAT_CNO_HANDLE cno;

	cr_assert_eq(dat_cno_create(o.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
	cr_assert_eq(dat_evd_modify_cno(o.evd, cno), DAT_SUCCESS);
	connect_but_last_word(ep);
	message(o.evd, ep, 1);
	if (dat_cno_wait(cno, SHORT_US, &got) == DAT_SUCCESS)
		cr_expect_eq(poll_once(o.evd), 0);
	say(CM_GO);
	cr_assert_eq(dat_cno_wait(cno, SOON_US, &got), DAT_SUCCESS);
	cr_expect_eq(got, o.evd);
	cr_expect_eq(poll_once(o.evd), DAT_DTO_COMPLETION_EVENT);
	end();
}

/* If a peer never sends its last message of the connection setup, completions of other endpoints
 * are still dequeued. */
Test(early, dequeue__others_go_on)
{
	DAT_EVD_HANDLE connections;
	DAT_EP_HANDLE ep = ep_of_two(&connections);

	connect_but_last_word(ep);
	message(o.evd, ep, 1);
	message(o.evd, o.ep, 2);
	message(o.evd, ep, 3);
	message(o.evd, o.ep, 4);
	cr_expect_eq(next_cookie(o.evd), 2);
	cr_expect_eq(wait_for(o.evd, SOON_US), DAT_DTO_COMPLETION_EVENT);
	cr_expect_eq(poll_once(o.evd), 0);
	say(CM_GO);
	cr_expect_eq(wait_for(connections, SOON_US), DAT_CONNECTION_EVENT_ESTABLISHED);
	cr_expect(TH_WITHIN(SOON_US / 1000, poll_once(o.evd) == DAT_DTO_COMPLETION_EVENT));
	cr_expect_eq(next_cookie(o.evd), 3);
	end();
}

static DAT_EP_HANDLE answered;

static bool is_early(DAT_EVD_HANDLE evd)
{
	return __atomic_load_n(&((struct dap_evd *)evd)->slow, __ATOMIC_ACQUIRE) & DAP_SLOW_EARLY;
}

/* A message without SOLICITED_WAIT, or of another endpoint, is an event but triggers nothing. */
static void expect_no_trigger_by(DAT_EP_HANDLE of_message)
{
	DAT_EVD_HANDLE connections, got;
	DAT_EP_HANDLE ep = ep_of_two(&connections);
	DAT_CNO_HANDLE cno;
	DAT_EVD_PARAM p;

	cr_assert_eq(dat_cno_create(o.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
	cr_assert_eq(dat_evd_modify_cno(o.evd, cno), DAT_SUCCESS);
	connect_but_last_word(ep);
	fake_complete_dto(o.evd, of_message ? of_message : ep, 1, true);
	assert_ret(dat_cno_wait(cno, SHORT_US, &got), DAT_QUEUE_EMPTY);
	say(CM_GO);
	cr_expect_eq(wait_for(connections, SOON_US), DAT_CONNECTION_EVENT_ESTABLISHED);
	cr_expect(TH_WITHIN(SOON_US / 1000, !is_early(o.evd)));
	/* takes the lock that the manager's thread holds until it has notified */
	cr_expect_eq(dat_evd_query(o.evd, DAT_EVD_FIELD_ALL, &p), DAT_SUCCESS);
	assert_ret(dat_cno_wait(cno, 0, &got), DAT_QUEUE_EMPTY);
	cr_expect_eq(poll_once(o.evd), DAT_DTO_COMPLETION_EVENT);
	end();
}

Test(early, cno__is_not_triggered_by_a_message_that_does_not_notify)
{
	expect_no_trigger_by(NULL);
}

Test(early, cno__is_not_triggered_by_a_completion_of_another_endpoint)
{
	expect_no_trigger_by(o.ep);
}

/* Called within a dequeue that has found no message that may be delivered. */
static void say_go_and_send(struct dap_evd *evd)
{
	fake.on_poll = NULL;
	say(CM_GO);
	cr_assert(TH_WITHIN(SOON_US / 1000, !is_early(evd)));
	message(evd, answered, 2);
}

Test(early, dequeue__while_ESTABLISHED_comes_returns_messages_in_order)
{
	DAT_EVD_HANDLE connections;

	answered = ep_of_two(&connections);
	connect_but_last_word(answered);
	message(o.evd, answered, 1);
	cr_expect_eq(poll_once(o.evd), 0);
	fake.on_poll = say_go_and_send;
	cr_expect_eq(next_cookie(o.evd), 1);
	cr_expect_eq(next_cookie(o.evd), 2);
	end();
}

/* The peer closes its connection instead of sending that message: the attempt fails, and the data
 * messages are delivered all the same. */
Test(early, failed__messages_are_delivered_all_the_same)
{
	connect_but_last_word(o.ep);
	message(o.evd, o.ep, 1);
	cr_expect_eq(poll_once(o.evd), 0);
	close(peer);
	cr_expect_eq(wait_for(o.evd, SOON_US), DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	/* the manager's thread releases the messages just after it has posted that event */
	cr_expect_eq(wait_for(o.evd, SOON_US), DAT_DTO_COMPLETION_EVENT);
	cr_expect_eq(poll_once(o.evd), 0);
	end();
}

Test(early, disconnect__message_comes_before_the_end)
{
	connect_but_last_word(o.ep);
	message(o.evd, o.ep, 1);
	cr_expect_eq(poll_once(o.evd), 0);
	cr_expect_eq(dat_ep_disconnect(o.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	cr_expect_eq(wait_for(o.evd, SOON_US), DAT_DTO_COMPLETION_EVENT);
	cr_expect_eq(wait_for(o.evd, SOON_US), DAT_CONNECTION_EVENT_DISCONNECTED);
	end();
}

Test(early, free__drops_what_waits)
{
	DAT_EVD_HANDLE connections;
	DAT_EP_HANDLE ep = ep_of_two(&connections);

	connect_but_last_word(ep);
	message(o.evd, ep, 1);
	cr_expect_eq(poll_once(o.evd), 0);
	cr_expect_eq(dat_ep_free(ep), DAT_SUCCESS);
	cr_expect_eq(poll_once(o.evd), 0);
	message(o.evd, o.ep, 2);
	cr_expect_eq(poll_once(o.evd), DAT_DTO_COMPLETION_EVENT);
	end();
}

static bool is_told(DAT_TIMEOUT us)
{
	struct pollfd p = { .fd = peer, .events = POLLIN };

	return poll(&p, 1, (int)(us / 1000)) == 1;
}

/* dat_ep_set_watermark(3): two messages wait for ESTABLISHED, one more than the hard watermark. */
Test(early, watermark__that_is_passed_early_breaks_the_connection)
{
	struct dap_event ev = { .number = DAP_EV_DTO, .receive = true, .dto.ep = o.ep };

	connect_but_last_word(o.ep);
	fake_complete(o.evd, &ev);
	fake_complete(o.evd, &ev);
	assert_ok(dat_ep_set_watermark(o.ep, DAT_WATERMARK_INFINITE, 1));
	say(CM_GO);
	cr_expect_eq(wait_for(o.evd, SOON_US), DAT_CONNECTION_EVENT_ESTABLISHED);
	cr_expect(is_told(SOON_US), "the peer hears of no end");
	cr_expect_eq(wait_for(o.evd, SOON_US), DAT_DTO_COMPLETION_EVENT);
	cr_expect_eq(wait_for(o.evd, SOON_US), DAT_DTO_COMPLETION_EVENT);
	cr_expect_eq(wait_for(o.evd, SOON_US), DAT_CONNECTION_EVENT_BROKEN);
	end();
}

/* ---- The end of the connection, as the peer sees it ---- */

static void establish(void)
{
	connect_but_last_word(o.ep);
	say(CM_GO);
	cr_assert_eq(wait_for(o.evd, SOON_US), DAT_CONNECTION_EVENT_ESTABLISHED);
}

static bool goes_on(struct dap_ep *ep)
{
	(void)ep;
	return false;
}

Test(early, disconnect__graceful_waits_for_posted_work_but_not_for_ever)
{
	struct core_ep *own = core_ep((struct dap_ep *)o.ep);

	establish();
	fake.drain_done = goes_on;
	assert_ok(dat_ep_disconnect(o.ep, DAT_CLOSE_GRACEFUL_FLAG));
	cr_expect_not(is_told(SHORT_US));
	pthread_mutex_lock(&own->lock);
	own->drain_looks = 2;
	pthread_mutex_unlock(&own->lock);
	cr_assert(is_told(SOON_US));
	cr_expect_eq(hear(), CM_DISC);
	say(CM_DISC);
	cr_expect_eq(wait_for(o.evd, SOON_US), DAT_CONNECTION_EVENT_DISCONNECTED);
	end();
}

/* Replaces drain_done: finds that the send queue has failed, and reports the endpoint as broken like
 * hw_mlx5. */
static bool fails(struct dap_ep *ep)
{
	dap_ep_broken(ep);
	return true;
}

static bool manager_waits_in_call(void)
{
	return __atomic_load_n(&cm_loop.calling, __ATOMIC_ACQUIRE) && th_others_sleep();
}

/* Like fails(), but returns only when the manager's thread, which has to break the connection, waits for
 * the disconnecting thread. */
static bool fails_and_manager_comes(struct dap_ep *ep)
{
	dap_ep_broken(ep);
	cr_expect(TH_WITHIN(SOON_US / 1000, manager_waits_in_call()));
	return true;
}

static void expect_break(bool (*drain_done)(struct dap_ep *ep))
{
	char c;

	establish();
	fake.drain_done = drain_done;
	assert_ok(dat_ep_disconnect(o.ep, DAT_CLOSE_GRACEFUL_FLAG));
	cr_expect_eq(recv(peer, &c, 1, 0), 0, "the peer hears of an orderly end");
	cr_expect_eq(wait_for(o.evd, SOON_US), DAT_CONNECTION_EVENT_BROKEN);
	end();
}

Test(early, disconnect__graceful_of_work_that_fails_breaks_the_connection)
{
	expect_break(fails);
}

Test(early, disconnect__graceful_while_the_manager_breaks_the_connection)
{
	expect_break(fails_and_manager_comes);
}
