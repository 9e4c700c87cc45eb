/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * remote_memory: the owner of a buffer lets its peer write to it through a window, and then closes the
 * window: the next write fails and changes nothing.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat/udat.h>

enum { SIZE = 64, CONNECT_US = 10000000 };

/* The invitation is the window's triplet for the peer. Hosts of different byte order must convert it. */
static struct {
	DAT_RMR_TRIPLET window;
	char buffer[SIZE];
} mem;
static DAT_LMR_TRIPLET message, buffer;		/* the memory of both, in the form that posts
						 * take */
static const DAT_CONTEXT cookie;		/* cookies are empty: the order of completions is
						 * known */
static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE async_evd, conn_evd, data_evd;
static DAT_EP_HANDLE ep;

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

	must(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), "dat_evd_wait");
	if (event.event_number != number)
		errx(1, "%s where %s should be", event_name(event.event_number), event_name(number));
	return event;
}

static void expect_status(DAT_DTO_COMPLETION_STATUS status)
{
	DAT_EVENT event = expect(data_evd, DAT_DTO_COMPLETION_EVENT);
	DAT_DTO_COMPLETION_STATUS got = event.event_data.dto_completion_event_data.status;

	if (got != status)
		errx(1, "%s where %s should be", status_name(got), status_name(status));
}

/* The memory has no remote right: only the window gives access to the peer. */
static void set_up(void)
{
	DAT_REGION_DESCRIPTION where = { .for_va = &mem };
	DAT_RMR_CONTEXT none;
	DAT_LMR_HANDLE lmr;
	DAT_VADDR address;
	DAT_VLEN size;

	must(dat_ia_open("soft-mlx5-0", 8, &async_evd, &ia), "dat_ia_open");
	must(dat_pz_create(ia, &pz), "dat_pz_create");
	must(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG, &conn_evd), "evd_create");
	must(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG, &data_evd), "evd_create");
	must(dat_ep_create(ia, pz, data_evd, data_evd, conn_evd, NULL, &ep), "dat_ep_create");
	must(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, where, sizeof(mem), pz,
			    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &lmr,
			    &message.lmr_context, &none, &size, &address), "dat_lmr_create");
	buffer = message;
	message.virtual_address = (DAT_VADDR)(uintptr_t)&mem.window;
	message.segment_length = sizeof(mem.window);
	buffer.virtual_address = (DAT_VADDR)(uintptr_t)mem.buffer;
	buffer.segment_length = SIZE;
}

static int owner(DAT_CONN_QUAL qual)
{
	DAT_PSP_HANDLE psp;
	DAT_RMR_HANDLE rmr;
	DAT_EVENT event;

	set_up();
	must(dat_ep_post_recv(ep, 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG), "recv");
	must(dat_psp_create(ia, qual, conn_evd, DAT_PSP_CONSUMER_FLAG, &psp), "dat_psp_create");
	event = expect(conn_evd, DAT_CONNECTION_REQUEST_EVENT);
	must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL), "accept");
	expect(conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);

	/* Opens the window and sends it: a post after a bind starts when the bind is done. */
	mem.window.target_address = buffer.virtual_address;
	mem.window.segment_length = SIZE;
	must(dat_rmr_create(pz, &rmr), "dat_rmr_create");
	must(dat_rmr_bind(rmr, &buffer, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, ep, cookie,
			  DAT_COMPLETION_SUPPRESS_FLAG, &mem.window.rmr_context), "dat_rmr_bind");
	must(dat_ep_post_send(ep, 1, &message, cookie, DAT_COMPLETION_SUPPRESS_FLAG), "send");
	expect_status(DAT_DTO_SUCCESS);
	printf("owner: the peer wrote \"%s\"\n", mem.buffer);

	/* Length 0 closes the window. After this completion the context gives no access. */
	buffer.segment_length = 0;
	must(dat_rmr_bind(rmr, &buffer, DAT_MEM_PRIV_NONE_FLAG, ep, cookie,
			  DAT_COMPLETION_DEFAULT_FLAG, &mem.window.rmr_context), "dat_rmr_bind");
	expect(data_evd, DAT_RMR_BIND_COMPLETION_EVENT);
	must(dat_ep_post_send(ep, 0, NULL, cookie, DAT_COMPLETION_SUPPRESS_FLAG), "send");
	expect(conn_evd, DAT_CONNECTION_EVENT_BROKEN);
	printf("owner: the window is closed, and there is still \"%s\"\n", mem.buffer);
	return strcmp(mem.buffer, "let me in") != 0;
}

static int peer(DAT_CONN_QUAL qual)
{
	DAT_IA_ATTR attr;

	set_up();
	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), "dat_ia_query");
	must(dat_ep_post_recv(ep, 1, &message, cookie, DAT_COMPLETION_DEFAULT_FLAG), "recv");
	must(dat_ep_post_recv(ep, 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG), "recv");
	must(dat_ep_connect(ep, attr.ia_address_ptr, qual, CONNECT_US, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG), "dat_ep_connect");
	expect(conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_status(DAT_DTO_SUCCESS);			/* the window has arrived */
	strcpy(mem.buffer, "let me in");
	must(dat_ep_post_rdma_write(ep, 1, &buffer, cookie, &mem.window,
				    DAT_COMPLETION_SUPPRESS_FLAG), "dat_ep_post_rdma_write");
	must(dat_ep_post_send(ep, 0, NULL, cookie, DAT_COMPLETION_SUPPRESS_FLAG), "send");
	expect_status(DAT_DTO_SUCCESS);			/* the message that the window is closed */
	strcpy(mem.buffer, "and again");
	must(dat_ep_post_rdma_write(ep, 1, &buffer, cookie, &mem.window,
				    DAT_COMPLETION_DEFAULT_FLAG), "dat_ep_post_rdma_write");
	expect_status(DAT_DTO_ERR_REMOTE_ACCESS);
	printf("peer: the second write was refused\n");
	expect(conn_evd, DAT_CONNECTION_EVENT_BROKEN);
	return 0;
}

int main(void)
{
	DAT_CONN_QUAL qual = (DAT_CONN_QUAL)getpid();
	int status;

	if (fork() == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
		exit(owner(qual));
	return peer(qual) || wait(&status) < 0 || status;
}
