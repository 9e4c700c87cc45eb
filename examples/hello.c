/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hello: one process connects to another and sends it a line, which the other process prints.
 *
 *        hello		runs both, as two processes on this machine
 *        hello -s	runs the listener
 *        hello HOST	connects and sends
 */
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat/udat.h>

enum { LINE = 128, CONNECT_US = 10000000 };

static const char text[] = "hello from the other side";
static char line[LINE];			/* the memory that the adapter reads and writes */
static DAT_LMR_TRIPLET segment;		/* the same memory, in the form that posts take */
static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE conn_evd, data_evd;
static DAT_EP_HANDLE ep;

static void must(DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "?";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "%s: %s %s\n", call, major, minor);
	exit(1);
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

static const char *status_name(DAT_DTO_COMPLETION_STATUS status)
{
	switch (status) {
	case DAT_DTO_SUCCESS: return "DAT_DTO_SUCCESS";
	case DAT_DTO_ERR_FLUSHED: return "DAT_DTO_ERR_FLUSHED";
	case DAT_DTO_ERR_REMOTE_ACCESS: return "DAT_DTO_ERR_REMOTE_ACCESS";
	case DAT_DTO_ERR_TRANSPORT: return "DAT_DTO_ERR_TRANSPORT";
	default: return "another status";
	}
}

/* Waits for the next event of the EVD, and checks its number and status. */
static DAT_EVENT expect(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_DTO_COMPLETION_STATUS status;
	DAT_EVENT event;
	DAT_COUNT more;

	must(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), "dat_evd_wait");
	if (event.event_number != number) {
		fprintf(stderr, "%s where %s should be\n", event_name(event.event_number),
			event_name(number));
		exit(1);
	}
	status = event.event_data.dto_completion_event_data.status;
	if (number == DAT_DTO_COMPLETION_EVENT && status != DAT_DTO_SUCCESS) {
		fprintf(stderr, "a request or a receive ends with %s\n", status_name(status));
		exit(1);
	}
	return event;
}

/* Opens an adapter, registers memory, creates event queues, and an endpoint that uses them. */
static void set_up(void)
{
	DAT_REGION_DESCRIPTION where = { .for_va = line };
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_CONTEXT none;
	DAT_VADDR address;
	DAT_VLEN size;

	must(dat_ia_open("soft-mlx5-0", 8, &async_evd, &ia), "dat_ia_open");
	must(dat_pz_create(ia, &pz), "dat_pz_create");
	must(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &conn_evd),
	     "dat_evd_create");
	must(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &data_evd),
	     "dat_evd_create");
	must(dat_ep_create(ia, pz, data_evd, data_evd, conn_evd, NULL, &ep), "dat_ep_create");
	must(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, where, LINE, pz,
			    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &lmr,
			    &segment.lmr_context, &none, &size, &address), "dat_lmr_create");
	segment.virtual_address = (DAT_VADDR)(uintptr_t)line;
	segment.segment_length = LINE;
}

static int listen_and_print(DAT_CONN_QUAL qual)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	set_up();
	/* The receive must be posted before the message arrives, so post it before accepting. */
	must(dat_ep_post_recv(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
	     "dat_ep_post_recv");
	must(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &cr_evd), "dat_evd_create");
	must(dat_psp_create(ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp), "dat_psp_create");
	event = expect(cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL),
	     "dat_cr_accept");
	expect(conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect(data_evd, DAT_DTO_COMPLETION_EVENT);
	printf("received: %.*s\n", LINE, line);
	expect(conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	return strcmp(line, text) != 0;
}

/* host: NULL for this host, where the other process has the same adapter */
static int connect_and_send(const char *host, DAT_CONN_QUAL qual)
{
	struct addrinfo hint = { .ai_family = host && strchr(host, ':') ? AF_INET6 : AF_INET }, *to;
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_IA_ATTR attr;

	set_up();
	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), "dat_ia_query");
	if (host && getaddrinfo(host, NULL, &hint, &to)) {
		fprintf(stderr, "%s: no such host\n", host);
		return 1;
	}
	must(dat_ep_connect(ep, host ? to->ai_addr : attr.ia_address_ptr, qual, CONNECT_US, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG), "dat_ep_connect");
	if (host)
		freeaddrinfo(to);
	expect(conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	memcpy(line, text, sizeof(text));
	segment.segment_length = sizeof(text);
	must(dat_ep_post_send(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
	     "dat_ep_post_send");
	expect(data_evd, DAT_DTO_COMPLETION_EVENT);
	must(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
	expect(conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	return 0;
}

int main(int argc, char **argv)
{
	DAT_CONN_QUAL qual = argc > 1 ? 45251 : (DAT_CONN_QUAL)getpid();
	int status;

	if (argc > 1)
		return strcmp(argv[1], "-s") ? connect_and_send(argv[1], qual) :
					       listen_and_print(qual);
	/* An adapter belongs to the process that opened it: fork first. */
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		exit(listen_and_print(qual));
	}
	return connect_and_send(NULL, qual) || wait(&status) < 0 || status;
}
