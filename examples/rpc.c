/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rpc: requests and responses by send and receive, several outstanding at a time. One process lets
 * another square numbers, and checks each answer. Each send needs a posted receive: the server posts
 * CALLS receives before it accepts, and reposts each before it answers. The client posts the receive for
 * an answer before its request, and has at most CALLS outstanding.
 */
#include <arpa/inet.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat/udat.h>

enum { CALLS = 8, TOTAL = 1000, CONNECT_US = 10000000 };

/* Receive buffers, followed by send buffers. Network order: the peer may be another machine. */
static uint32_t mem[2 * CALLS];
static DAT_LMR_CONTEXT lmr_context;
static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async_evd, evd;	/* evd: one for all events */
static DAT_EP_HANDLE ep;

static void must(DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "?";

	dat_strerror(ret, &major, &minor);
	if (ret != DAT_SUCCESS)
		errx(1, "%s: %s %s", call, major, minor);
}

static DAT_EVENT next_event(void)
{
	DAT_EVENT event;
	DAT_COUNT more;

	must(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), "dat_evd_wait");
	return event;
}

static void set_up(void)
{
	DAT_REGION_DESCRIPTION where = { .for_va = mem };
	DAT_RMR_CONTEXT none;
	DAT_LMR_HANDLE lmr;
	DAT_PZ_HANDLE pz;
	DAT_VADDR address;
	DAT_VLEN size;

	must(dat_ia_open("soft-mlx5-0", 8, &async_evd, &ia), "dat_ia_open");
	must(dat_pz_create(ia, &pz), "dat_pz_create");
	must(dat_evd_create(ia, 32, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG, &evd), "dat_evd_create");
	must(dat_ep_create(ia, pz, evd, evd, evd, NULL, &ep), "dat_ep_create");
	must(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, where, sizeof(mem), pz,
			    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &lmr,
			    &lmr_context, &none, &size, &address), "dat_lmr_create");
}

/* The completion returns the cookie, which identifies the buffer. */
static void post_recv(int slot)
{
	DAT_LMR_TRIPLET to = { lmr_context, 0, (DAT_VADDR)(uintptr_t)&mem[slot], sizeof(*mem) };
	DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)slot };

	must(dat_ep_post_recv(ep, 1, &to, cookie, DAT_COMPLETION_DEFAULT_FLAG), "post_recv");
}

/* Suppresses the success event: the peer's answer shows that the message was sent. An error is
 * still reported. */
static void post_send(int slot, uint32_t number)
{
	uint32_t *out = &mem[CALLS + slot];
	DAT_LMR_TRIPLET from = { lmr_context, 0, (DAT_VADDR)(uintptr_t)out, sizeof(*out) };
	DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)slot };

	*out = htonl(number);
	must(dat_ep_post_send(ep, 1, &from, cookie, DAT_COMPLETION_SUPPRESS_FLAG), "post_send");
}

/* Returns the slot of the next message, or -1 after the end of the connection flushed the
 * receives. */
static int next_message(void)
{
	DAT_EVENT event = next_event();
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	if (event.event_number != DAT_DTO_COMPLETION_EVENT || dto->status != DAT_DTO_SUCCESS)
		return -1;
	return (int)dto->user_cookie.as_64;
}

static int server(DAT_CONN_QUAL qual)
{
	int slot, served = 0;
	DAT_PSP_HANDLE psp;
	DAT_CR_HANDLE cr;

	set_up();
	for (slot = 0; slot < CALLS; slot++)
		post_recv(slot);
	must(dat_psp_create(ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp), "dat_psp_create");
	cr = next_event().event_data.cr_arrival_event_data.cr_handle;
	must(dat_cr_accept(cr, ep, 0, NULL), "dat_cr_accept");
	if (next_event().event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		return 1;
	for (; (slot = next_message()) >= 0; served++) {
		uint32_t number = ntohl(mem[slot]);

		post_recv(slot);
		post_send(slot, number * number);
	}
	return served != TOTAL;
}

static int client(DAT_CONN_QUAL qual)
{
	DAT_IA_ATTR attr;
	int asked = 0, answered, slot;

	set_up();
	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), "dat_ia_query");
	must(dat_ep_connect(ep, attr.ia_address_ptr, qual, CONNECT_US, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG), "dat_ep_connect");
	if (next_event().event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		return 1;
	for (answered = 0; answered < TOTAL; answered++) {
		for (; asked < TOTAL && asked < answered + CALLS; asked++) {
			post_recv(asked % CALLS);
			post_send(asked % CALLS, (uint32_t)asked);
		}
		slot = next_message();
		if (slot < 0 || ntohl(mem[slot]) != (uint32_t)(answered * answered))
			errx(1, "answer %d is wrong, or did not come", answered);
	}
	printf("%d answers, each of them right\n", answered);
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS;
}

int main(void)
{
	DAT_CONN_QUAL qual = (DAT_CONN_QUAL)getpid();
	int status;

	if (fork() == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
		exit(server(qual));
	return client(qual) || wait(&status) < 0 || status;
}
