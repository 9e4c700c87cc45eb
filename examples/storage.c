/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * storage: a server sends blocks to 1,000 clients, which run in eight other processes. Requests are
 * block numbers and arrive in one shared receive queue, sized for the requests that arrive at a time.
 */
#include <err.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat/udat.h>

enum { BLOCK = 512, MAX = 1000, RECVS = 128, PROCESSES = 8, CLIENTS = 125, CONNECT_US = 20000000 };

static struct {			/* objects of the server, or of all clients in a process */
	uint32_t request[MAX];	/* in network order */
	char block[MAX][BLOCK];
} mem;
static const DAT_CONTEXT none;
static DAT_LMR_CONTEXT lmr_context;
static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE async_evd, evd;	/* evd: one for all events */
static DAT_SRQ_HANDLE srq;

static void must(DAT_RETURN ret, const char *call)
{
	if (ret != DAT_SUCCESS)
		errx(1, "%s: 0x%x", call, ret);
}

static void set_up(void)
{
	DAT_REGION_DESCRIPTION where = { .for_va = &mem };
	DAT_RMR_CONTEXT no;
	DAT_LMR_HANDLE lmr;

	must(dat_ia_open("soft-mlx5-0", 8, &async_evd, &ia), "dat_ia_open");
	must(dat_pz_create(ia, &pz), "dat_pz_create");
	must(dat_evd_create(ia, 4096, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG, &evd), "evd_create");
	must(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, where, sizeof(mem), pz,
			    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &lmr,
			    &lmr_context, &no, NULL, NULL), "dat_lmr_create");
}

static DAT_LMR_TRIPLET segment(void *at, size_t length)
{
	return (DAT_LMR_TRIPLET){ lmr_context, 0, (DAT_VADDR)(uintptr_t)at, length };
}

static void post_recv(DAT_UINT64 slot)
{
	DAT_LMR_TRIPLET to = segment(&mem.request[slot], sizeof(uint32_t));

	must(dat_srq_post_recv(srq, 1, &to, (DAT_CONTEXT){ .as_64 = slot }), "dat_srq_post_recv");
}

static void serve(DAT_EP_HANDLE ep, DAT_UINT64 slot)
{
	DAT_LMR_TRIPLET block = segment(mem.block[ntohl(mem.request[slot]) % MAX], BLOCK);

	post_recv(slot);
	must(dat_ep_post_send(ep, 1, &block, none, DAT_COMPLETION_SUPPRESS_FLAG), "post_send");
}

/* The queues of a client's endpoint are short: it has one request outstanding. */
static void accept_client(DAT_CR_HANDLE cr)
{
	DAT_EP_ATTR attr = { .max_message_size = BLOCK, .max_recv_dtos = 1, .max_recv_iov = 1,
			     .max_request_dtos = 4, .max_request_iov = 1 };
	DAT_EP_HANDLE ep;

	must(dat_ep_create_with_srq(ia, pz, evd, evd, evd, srq, &attr, &ep), "create_with_srq");
	must(dat_cr_accept(cr, ep, 0, NULL), "dat_cr_accept");
}

static int server(DAT_CONN_QUAL qual)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = RECVS, .max_recv_iov = 1 };
	DAT_EVENT e;
	DAT_DTO_COMPLETION_EVENT_DATA *got = &e.event_data.dto_completion_event_data;
	DAT_PSP_HANDLE psp;
	int i, gone = 0;

	set_up();
	for (i = 0; i < MAX * BLOCK; i++)
		mem.block[i / BLOCK][i % BLOCK] = (char)(i / BLOCK % 255 + 1);
	must(dat_srq_create(ia, pz, &attr, &srq), "dat_srq_create");
	for (DAT_UINT64 slot = 0; slot < RECVS; slot++)
		post_recv(slot);
	must(dat_psp_create(ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp), "dat_psp_create");
	while (gone < PROCESSES * CLIENTS) {
		must(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &e, &i), "dat_evd_wait");
		if (e.event_number == DAT_CONNECTION_REQUEST_EVENT) {
			accept_client(e.event_data.cr_arrival_event_data.cr_handle);
		} else if (e.event_number == DAT_DTO_COMPLETION_EVENT) {
			if (got->status == DAT_DTO_SUCCESS)
				serve(got->ep_handle, got->user_cookie.as_64);
		} else if (e.event_number != DAT_CONNECTION_EVENT_ESTABLISHED) {
			must(dat_ep_free(e.event_data.connect_event_data.ep_handle), "ep_free");
			gone++;
		}
	}
	return printf("%d clients, one queue of %d receives\n", gone, RECVS) < 0;
}

static int clients(DAT_CONN_QUAL qual, int first)
{
	DAT_IA_ATTR attr;
	DAT_EP_HANDLE ep[CLIENTS];
	DAT_EVENT e;
	int i, more;

	set_up();
	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), "dat_ia_query");
	for (i = 0; i < CLIENTS; i++) {
		DAT_LMR_TRIPLET in = segment(mem.block[i], BLOCK);
		must(dat_ep_create(ia, pz, evd, evd, evd, NULL, &ep[i]), "dat_ep_create");
		must(dat_ep_post_recv(ep[i], 1, &in, none, DAT_COMPLETION_DEFAULT_FLAG), "recv");
		must(dat_ep_connect(ep[i], attr.ia_address_ptr, qual, CONNECT_US, 0, NULL,
				    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG), "connect");
	}
	for (i = 0; i < CLIENTS; i++)
		must(dat_evd_wait(evd, CONNECT_US, 1, &e, &more), "dat_evd_wait");
	for (i = 0; i < CLIENTS; i++) {
		DAT_LMR_TRIPLET out = segment(&mem.request[i], sizeof(uint32_t));
		mem.request[i] = htonl((uint32_t)(first + i));
		must(dat_ep_post_send(ep[i], 1, &out, none, DAT_COMPLETION_SUPPRESS_FLAG), "send");
	}
	for (i = 0; i < CLIENTS; i++)
		must(dat_evd_wait(evd, CONNECT_US, 1, &e, &more), "dat_evd_wait");
	for (i = 0; i < CLIENTS * BLOCK; i++)
		if (mem.block[i / BLOCK][i % BLOCK] != (char)((first + i / BLOCK) % 255 + 1))
			errx(1, "block %d is not as the server has it", first + i / BLOCK);
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS;
}

int main(void)
{
	DAT_CONN_QUAL qual = (DAT_CONN_QUAL)getpid();
	struct rlimit files = { 2 * MAX, 2 * MAX };	/* each connection needs a descriptor */
	int status, i;

	setrlimit(RLIMIT_NOFILE, &files);
	for (i = 0; i <= PROCESSES; i++)
		if (fork() == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
			return i ? clients(qual, (i - 1) * CLIENTS) : server(qual);
	while (wait(&status) > 0 && status == 0) { }
	return status != 0;
}
