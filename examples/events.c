/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * events: one thread serves several event queues, each with its own handler, and sleeps in one place: a
 * Consumer Notification Object. Three senders connect, send and disconnect; a software event ends the
 * loop.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat/udat.h>

enum { SENDERS = 3, MESSAGES = 5, WAIT_US = 10000000 };

static const DAT_CONTEXT no_cookie;
static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE async_evd;
static int received, gone, over;

static void must(DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "?";

	dat_strerror(ret, &major, &minor);
	if (ret != DAT_SUCCESS)
		errx(1, "%s: %s %s", call, major, minor);
}

typedef void handler(const DAT_EVENT *event);
static handler on_request, on_connection, on_data, on_stop;
static struct queue {
	DAT_EVD_FLAGS streams;
	handler *handle;
	DAT_EVD_HANDLE evd;
} queues[] = {
	{ DAT_EVD_CR_FLAG, on_request, NULL },
	{ DAT_EVD_CONNECTION_FLAG, on_connection, NULL },
	{ DAT_EVD_DTO_FLAG, on_data, NULL },
	{ DAT_EVD_SOFTWARE_FLAG, on_stop, NULL },
};
enum { REQUESTS, CONNECTIONS, DATA, STOP, QUEUES };

static void on_request(const DAT_EVENT *event)
{
	DAT_EVD_HANDLE data = queues[DATA].evd;
	DAT_EP_HANDLE ep;

	must(dat_ep_create(ia, pz, data, data, queues[CONNECTIONS].evd, NULL, &ep), "ep_create");
	for (int i = 0; i < MESSAGES; i++)
		must(dat_ep_post_recv(ep, 0, NULL, no_cookie, DAT_COMPLETION_DEFAULT_FLAG), "recv");
	must(dat_cr_accept(event->event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL), "accept");
}

static void on_connection(const DAT_EVENT *event)
{
	static DAT_EVENT stop = { .event_number = DAT_SOFTWARE_EVENT };

	/* Any thread may post a software event; here it is posted when the last sender has
	 * ended. */
	if (event->event_number != DAT_CONNECTION_EVENT_ESTABLISHED && ++gone == SENDERS)
		must(dat_evd_post_se(queues[STOP].evd, &stop), "dat_evd_post_se");
}

static void on_data(const DAT_EVENT *event)
{
	received += event->event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
}

static void on_stop(const DAT_EVENT *event)
{
	over = event->event_number == DAT_SOFTWARE_EVENT;
}

/* The CNO reports each trigger once and keeps no count, so empty the queue each time. */
static void drain(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	for (int i = 0; i < QUEUES; i++)
		while (queues[i].evd == evd && dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
			queues[i].handle(&event);
}

static int server(DAT_CONN_QUAL qual)
{
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;

	must(dat_ia_open("soft-mlx5-0", 8, &async_evd, &ia), "dat_ia_open");
	must(dat_pz_create(ia, &pz), "dat_pz_create");
	must(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
	for (struct queue *q = queues; q < queues + QUEUES; q++)
		must(dat_evd_create(ia, 64, cno, q->streams, &q->evd), "dat_evd_create");
	must(dat_psp_create(ia, qual, queues[REQUESTS].evd, DAT_PSP_CONSUMER_FLAG, &psp), "psp");
	while (!over) {
		must(dat_cno_wait(cno, WAIT_US, &evd), "dat_cno_wait");
		drain(evd);
	}
	printf("%d messages of %d senders\n", received, gone);
	return received != SENDERS * MESSAGES;
}

/* Names the events that this program can get. */
static const char *event_name(DAT_EVENT_NUMBER number)
{
	switch (number) {
	case DAT_CONNECTION_REQUEST_EVENT: return "DAT_CONNECTION_REQUEST_EVENT";
	case DAT_CONNECTION_EVENT_ESTABLISHED: return "DAT_CONNECTION_EVENT_ESTABLISHED";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED: return "DAT_CONNECTION_EVENT_NON_PEER_REJECTED";
	case DAT_CONNECTION_EVENT_DISCONNECTED: return "DAT_CONNECTION_EVENT_DISCONNECTED";
	case DAT_CONNECTION_EVENT_BROKEN: return "DAT_CONNECTION_EVENT_BROKEN";
	case DAT_CONNECTION_EVENT_UNREACHABLE: return "DAT_CONNECTION_EVENT_UNREACHABLE";
	case DAT_DTO_COMPLETION_EVENT: return "DAT_DTO_COMPLETION_EVENT";
	default: return "another event";
	}
}

static void expect(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;
	DAT_COUNT more;

	must(dat_evd_wait(evd, WAIT_US, 1, &event, &more), "dat_evd_wait");
	if (event.event_number != number)
		errx(1, "%s where %s should be", event_name(event.event_number), event_name(number));
}

static int sender(DAT_CONN_QUAL qual)
{
	DAT_IA_ATTR attr;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;

	must(dat_ia_open("soft-mlx5-0", 8, &async_evd, &ia), "dat_ia_open");
	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), "dat_ia_query");
	must(dat_pz_create(ia, &pz), "dat_pz_create");
	must(dat_evd_create(ia, 8, NULL, DAT_EVD_DEFAULT_FLAG, &evd), "dat_evd_create");
	must(dat_ep_create(ia, pz, evd, evd, evd, NULL, &ep), "dat_ep_create");
	must(dat_ep_connect(ep, attr.ia_address_ptr, qual, WAIT_US, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG), "dat_ep_connect");
	expect(evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (int i = 0; i < MESSAGES; i++) {
		must(dat_ep_post_send(ep, 0, NULL, no_cookie, DAT_COMPLETION_DEFAULT_FLAG), "send");
		expect(evd, DAT_DTO_COMPLETION_EVENT);
	}
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS;
}

int main(void)
{
	DAT_CONN_QUAL qual = (DAT_CONN_QUAL)getpid();
	int status, i;

	for (i = 0; i <= SENDERS; i++)
		if (fork() == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
			exit(i ? sender(qual) : server(qual));
	while (wait(&status) > 0)
		if (status)
			return 1;
	return 0;
}
