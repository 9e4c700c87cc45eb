/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fence: a replica lets one leader at a time write to its log, through a window, and deposes the
 * leader by closing the window. After that no write of the old leader arrives, whatever it has in
 * flight; this needs neither the leader's cooperation nor a clock. Arguments: the IA (soft-mlx5-0),
 * and how many leaders (1000) are deposed. Of each leader 100 writes fail: the replica's adapter
 * refuses the first, and the leader's own adapter flushes the others.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat/udat.h>

enum { DEPTH = 100, WAIT_US = 20000000 };	/* DEPTH: writes that a leader has in flight */

static struct {
	DAT_RMR_TRIPLET window;		/* the window as the replica sends it to the leader */
	volatile unsigned long log;	/* the replica's log; a leader writes an increasing number
					 * to it */
	unsigned long entry[DEPTH];	/* the leader's entries */
} mem;
static char *ia_name = "soft-mlx5-0";
static unsigned long leaders = 1000;
static const DAT_CONTEXT cookie;
static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE async_evd, conn_evd, data_evd;
static DAT_EP_HANDLE ep;
static DAT_LMR_CONTEXT lmr_context;

static void must(DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "?";

	dat_strerror(ret, &major, &minor);
	if (ret != DAT_SUCCESS)
		errx(1, "%s: %s %s", call, major, minor);
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

static DAT_EVENT expect(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;
	DAT_COUNT more;

	must(dat_evd_wait(evd, WAIT_US, 1, &event, &more), "dat_evd_wait");
	if (event.event_number != number)
		errx(1, "%s where %s should be", event_name(event.event_number), event_name(number));
	return event;
}

static DAT_LMR_TRIPLET segment(volatile void *at, DAT_VLEN length)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = lmr_context, .segment_length = length,
				  .virtual_address = (DAT_VADDR)(uintptr_t)at };
}

/* The memory has no remote right: only the window gives access to a leader. */
static void set_up(void)
{
	DAT_REGION_DESCRIPTION where = { .for_va = &mem };
	DAT_RMR_CONTEXT none;
	DAT_LMR_HANDLE lmr;
	DAT_EP_ATTR attr = { .max_recv_dtos = 1, .max_request_dtos = DEPTH };
	DAT_VADDR address;
	DAT_VLEN size;

	must(dat_ia_open(ia_name, 8, &async_evd, &ia), "dat_ia_open");
	must(dat_pz_create(ia, &pz), "dat_pz_create");
	must(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG, &conn_evd), "evd_create");
	must(dat_evd_create(ia, 2 * DEPTH, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG, &data_evd), "evd");
	must(dat_ep_create(ia, pz, data_evd, data_evd, conn_evd, &attr, &ep), "dat_ep_create");
	must(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, where, sizeof(mem), pz,
			    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &lmr,
			    &lmr_context, &none, &size, &address), "dat_lmr_create");
}

/* Opens the window for the leader that is connected now, and sends it. */
static void elect(DAT_RMR_HANDLE rmr)
{
	DAT_LMR_TRIPLET log = segment(&mem.log, sizeof(mem.log));
	DAT_LMR_TRIPLET message = segment(&mem.window, sizeof(mem.window));

	mem.log = 0;
	mem.window.target_address = log.virtual_address;
	mem.window.segment_length = log.segment_length;
	must(dat_rmr_bind(rmr, &log, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, ep, cookie,
			  DAT_COMPLETION_SUPPRESS_FLAG, &mem.window.rmr_context), "dat_rmr_bind");
	must(dat_ep_post_send(ep, 1, &message, cookie, DAT_COMPLETION_DEFAULT_FLAG), "send");
	/* Without its ACK the send would be flushed when a refused write ends the connection. */
	expect(data_evd, DAT_DTO_COMPLETION_EVENT);
}

/* Length 0 closes the window. After the completion the log belongs to the replica alone. */
static unsigned long depose(DAT_RMR_HANDLE rmr)
{
	DAT_LMR_TRIPLET nothing = segment(&mem.log, 0);
	DAT_RMR_CONTEXT context;

	must(dat_rmr_bind(rmr, &nothing, DAT_MEM_PRIV_NONE_FLAG, ep, cookie,
			  DAT_COMPLETION_DEFAULT_FLAG, &context), "dat_rmr_bind");
	expect(data_evd, DAT_RMR_BIND_COMPLETION_EVENT);
	return mem.log;
}

static int replica(DAT_CONN_QUAL qual)
{
	unsigned long last, entries = 0;
	DAT_PSP_HANDLE psp;
	DAT_RMR_HANDLE rmr;
	DAT_EVENT event;

	set_up();
	must(dat_rmr_create(pz, &rmr), "dat_rmr_create");
	must(dat_psp_create(ia, qual, conn_evd, DAT_PSP_CONSUMER_FLAG, &psp), "dat_psp_create");
	for (unsigned long i = 0; i < leaders; i++) {
		event = expect(conn_evd, DAT_CONNECTION_REQUEST_EVENT);
		must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL),
		     "dat_cr_accept");
		expect(conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
		elect(rmr);
		while (!mem.log)			/* waits until the leader has written */
			usleep(1);
		last = depose(rmr);
		expect(conn_evd, DAT_CONNECTION_EVENT_BROKEN);	/* the leader's next write has been
								 * refused */
		if (mem.log != last)
			errx(1, "entry %lu came after %lu, the last one allowed", mem.log, last);
		entries += last;
		must(dat_ep_reset(ep), "dat_ep_reset");
	}
	printf("replica: %lu leaders deposed after %lu entries; none came later\n", leaders, entries);
	return 0;
}

static void post_entry(unsigned long number)
{
	DAT_LMR_TRIPLET from = segment(&mem.entry[number % DEPTH], sizeof(mem.entry[0]));

	mem.entry[number % DEPTH] = number;
	must(dat_ep_post_rdma_write(ep, 1, &from, cookie, &mem.window, DAT_COMPLETION_DEFAULT_FLAG),
	     "dat_ep_post_rdma_write");
}

/* Writes until it is deposed. Returns the number of writes that failed. */
static unsigned long lead(void)
{
	unsigned long number, refused = 0;

	for (number = 1; number <= DEPTH; number++)
		post_entry(number);
	while (refused < DEPTH) {
		DAT_DTO_COMPLETION_STATUS status = expect(data_evd, DAT_DTO_COMPLETION_EVENT)
							.event_data.dto_completion_event_data.status;

		if (!refused && status == DAT_DTO_SUCCESS)
			post_entry(number++);
		else if (status == (refused ? DAT_DTO_ERR_FLUSHED : DAT_DTO_ERR_REMOTE_ACCESS))
			refused++;
		else
			errx(1, "%s after %lu refused writes", status_name(status), refused);
	}
	return refused;
}

static int leader(DAT_CONN_QUAL qual)
{
	unsigned long refused = 0;
	DAT_LMR_TRIPLET message;
	DAT_IA_ATTR attr;

	set_up();
	message = segment(&mem.window, sizeof(mem.window));
	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), "dat_ia_query");
	for (unsigned long i = 0; i < leaders; i++) {
		must(dat_ep_post_recv(ep, 1, &message, cookie, DAT_COMPLETION_DEFAULT_FLAG), "recv");
		must(dat_ep_connect(ep, attr.ia_address_ptr, qual, WAIT_US, 0, NULL,
				    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG), "dat_ep_connect");
		expect(conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
		expect(data_evd, DAT_DTO_COMPLETION_EVENT);
		refused += lead();
		expect(conn_evd, DAT_CONNECTION_EVENT_BROKEN);
		must(dat_ep_reset(ep), "dat_ep_reset");
	}
	printf("leader: %lu writes refused\n", refused);
	return refused != leaders * DEPTH;
}

int main(int argc, char **argv)
{
	DAT_CONN_QUAL qual = (DAT_CONN_QUAL)getpid();
	int status;

	if (argc > 1)
		ia_name = argv[1];
	if (argc > 2)
		leaders = strtoul(argv[2], NULL, 0);
	if (fork() == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
		exit(replica(qual));
	return leader(qual) || wait(&status) < 0 || status;
}
