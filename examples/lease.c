/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease: an owner lends a record to a reader for microseconds, through a window. It closes the
 * window when the reader returns the lease, or when the time is over, and only then changes the
 * record. So no reader sees a change in part. Each tenth reader is late on purpose, and refused.
 * Arguments: the IA (soft-mlx5-0), and the number of leases (500).
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat/udat.h>

enum { LEASE_US = 200, WORDS = 64, WAIT_US = 20000000 };

static struct {
	DAT_RMR_TRIPLET window;			/* the window as the owner sends it to the reader */
	long record[WORDS];			/* all words are the number of changes */
} mem;
static DAT_LMR_TRIPLET message, record;	/* the memory of both, in the form that posts take */
static char *ia_name = "soft-mlx5-0";
static int leases = 500;
static const DAT_CONTEXT cookie;
static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE async_evd, conn_evd, recv_evd, request_evd;
static DAT_EP_HANDLE ep;

static void must(DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "?";

	dat_strerror(ret, &major, &minor);
	if (ret != DAT_SUCCESS)
		errx(1, "%s: %s %s", call, major, minor);
}

static DAT_EVENT next_event(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	must(dat_evd_wait(evd, WAIT_US, 1, &event, &more), "dat_evd_wait");
	return event;
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
	case DAT_RMR_BIND_COMPLETION_EVENT: return "DAT_RMR_BIND_COMPLETION_EVENT";
	default: return "another event";
	}
}

static void expect(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT_NUMBER got = next_event(evd).event_number;

	if (got != number)
		errx(1, "%s where %s should be", event_name(got), event_name(number));
}

static void set_up(void)
{
	DAT_EVD_HANDLE *evds[] = { &conn_evd, &recv_evd, &request_evd };
	DAT_REGION_DESCRIPTION where = { .for_va = &mem };
	DAT_RMR_CONTEXT none;
	DAT_LMR_HANDLE lmr;
	DAT_VADDR at;
	DAT_VLEN size;

	must(dat_ia_open(ia_name, 8, &async_evd, &ia), "dat_ia_open");
	must(dat_pz_create(ia, &pz), "dat_pz_create");
	for (int i = 0; i < 3; i++)
		must(dat_evd_create(ia, 8, NULL, DAT_EVD_DEFAULT_FLAG, evds[i]), "dat_evd_create");
	must(dat_ep_create(ia, pz, recv_evd, request_evd, conn_evd, NULL, &ep), "dat_ep_create");
	must(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, where, sizeof(mem), pz,
			    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &lmr,
			    &record.lmr_context, &none, &size, &at), "dat_lmr_create");
	message = record;
	message.virtual_address = (DAT_VADDR)(uintptr_t)&mem.window;
	message.segment_length = sizeof(mem.window);
	mem.window.target_address = record.virtual_address = (DAT_VADDR)(uintptr_t)mem.record;
	mem.window.segment_length = record.segment_length = sizeof(mem.record);
}

static void post_recv(DAT_COUNT segments)
{
	must(dat_ep_post_recv(ep, segments, &message, cookie, DAT_COMPLETION_DEFAULT_FLAG), "recv");
}

/* Sends the window, or a message without content. If its ACK is lost and the peer ends the connection, the
 * send completes as flushed. */
static void send_message(DAT_COUNT segments)
{
	must(dat_ep_post_send(ep, segments, &message, cookie, DAT_COMPLETION_DEFAULT_FLAG), "send");
	expect(request_evd, DAT_DTO_COMPLETION_EVENT);
}

/* Length 0 closes the window: after the completion no read through it succeeds. */
static void bind_record(DAT_RMR_HANDLE rmr, DAT_VLEN length)
{
	record.segment_length = length;
	must(dat_rmr_bind(rmr, &record, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep, cookie,
			  DAT_COMPLETION_DEFAULT_FLAG, &mem.window.rmr_context), "dat_rmr_bind");
	expect(request_evd, DAT_RMR_BIND_COMPLETION_EVENT);
}

/* Gives one lease to the connected reader. Returns true if its time ran out. */
static int lend(DAT_RMR_HANDLE rmr)
{
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret;

	bind_record(rmr, sizeof(mem.record));
	send_message(1);
	ret = dat_evd_wait(recv_evd, LEASE_US, 1, &event, &more);
	bind_record(rmr, 0);
	for (int i = 0; i < WORDS; i++)
		mem.record[i]++;
	send_message(0);			/* tells the reader that the lease is over */
	return DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED;
}

static int owner(DAT_CONN_QUAL qual)
{
	DAT_PSP_HANDLE psp;
	DAT_RMR_HANDLE rmr;
	DAT_EVENT event;
	int revoked = 0;

	must(dat_rmr_create(pz, &rmr), "dat_rmr_create");
	must(dat_psp_create(ia, qual, conn_evd, DAT_PSP_CONSUMER_FLAG, &psp), "dat_psp_create");
	for (int i = 0; i < leases; i++) {
		post_recv(0);
		event = next_event(conn_evd);
		must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL), "accept");
		expect(conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
		revoked += lend(rmr);
		next_event(conn_evd);			/* takes the event of the connection's
							 * end */
		must(dat_ep_reset(ep), "dat_ep_reset");
	}
	printf("owner: %d leases, %d of them revoked\n", leases, revoked);
	return revoked < leases / 10;
}

/* Reads the record through the window. Returns false if the owner's adapter refused the read. */
static int read_record(void)
{
	DAT_DTO_COMPLETION_STATUS status;

	must(dat_ep_post_rdma_read(ep, 1, &record, cookie, &mem.window, DAT_COMPLETION_DEFAULT_FLAG), "read");
	status = next_event(request_evd).event_data.dto_completion_event_data.status;
	if (status == DAT_DTO_ERR_REMOTE_ACCESS)
		return 0;
	for (int i = 0; i < WORDS; i++)
		if (status != DAT_DTO_SUCCESS || mem.record[i] != mem.record[0])
			errx(1, "%s, or change %ld seen in part", status_name(status), mem.record[0]);
	return 1;
}

/* Returns true if the read succeeded; otherwise it has broken the connection. */
static int borrow(int late)
{
	expect(recv_evd, DAT_DTO_COMPLETION_EVENT);
	if (late)
		expect(recv_evd, DAT_DTO_COMPLETION_EVENT);
	if (!read_record()) {
		expect(conn_evd, DAT_CONNECTION_EVENT_BROKEN);
		return 0;
	}
	if (late)
		errx(1, "a read after the lease succeeded");
	send_message(0);		/* returns the lease */
	expect(recv_evd, DAT_DTO_COMPLETION_EVENT);
	must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
	expect(conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	return 1;
}

static int reader(DAT_CONN_QUAL qual)
{
	DAT_IA_ATTR attr;
	int read = 0;

	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), "dat_ia_query");
	for (int i = 0; i < leases; i++) {
		post_recv(1);
		post_recv(0);
		must(dat_ep_connect(ep, attr.ia_address_ptr, qual, WAIT_US, 0, NULL,
				    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG), "dat_ep_connect");
		expect(conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
		read += borrow(i % 10 == 9);
		must(dat_ep_reset(ep), "dat_ep_reset");
	}
	printf("reader: %d reads through a lease, %d refused after one\n", read, leases - read);
	return 0;
}

int main(int argc, char **argv)
{
	DAT_CONN_QUAL qual = (DAT_CONN_QUAL)getpid();
	int child, status;

	if (argc > 1)
		ia_name = argv[1];
	if (argc > 2)
		leases = atoi(argv[2]);
	child = fork();
	prctl(PR_SET_PDEATHSIG, child ? 0 : SIGKILL);
	set_up();
	return child ? reader(qual) || wait(&status) < 0 || status : owner(qual);
}
