/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A consumer that is compiled for each API level. `peer IA` is the server, and prints its qualifier.
 * `peer IA QUAL` connects, sends the server the address of a buffer, and receives what the server writes
 * there.
 */
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef DAP_DAT20
#include <dat2/udat.h>
#define VA_TYPE DAT_VA_TYPE_VA,
#else
#include <dat/udat.h>
#define VA_TYPE
#endif

#define BYTES 65536
#define SOON 20000000

struct message {
	uint64_t address;
	uint32_t context, seed;
};

static DAT_EVD_HANDLE dto, conn, requests;
static DAT_LMR_CONTEXT lmr_context;
static DAT_RMR_CONTEXT rmr_context;
static DAT_IA_HANDLE ia;
static DAT_EP_HANDLE ep;
static struct { struct message in, out; unsigned char data[BYTES]; } mem;

static void check(DAT_RETURN ret, const char *what)
{
	if (ret == DAT_SUCCESS)
		return;
	fprintf(stderr, "%s returned 0x%08x\n", what, ret);
	exit(1);
}
#define DO(call) check(call, #call)

static DAT_EVENT wait_for(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	DO(dat_evd_wait(evd, SOON, 1, &ev, &more));
	if (ev.event_number != number) {
		fprintf(stderr, "event 0x%x came instead of 0x%x\n", ev.event_number, number);
		exit(1);
	}
	return ev;
}

static void completed(void)
{
	DAT_EVENT ev = wait_for(dto, DAT_DTO_COMPLETION_EVENT);

	check(ev.event_data.dto_completion_event_data.status, "completion");
}

static DAT_LMR_TRIPLET segment(void *at, unsigned int length)
{
	return (DAT_LMR_TRIPLET){ .virtual_address = (DAT_VADDR)(uintptr_t)at,
				  .segment_length = length, .lmr_context = lmr_context };
}

static void start(const char *name)
{
	DAT_REGION_DESCRIPTION region = { .for_va = &mem };
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_LMR_TRIPLET in;
	DAT_LMR_HANDLE lmr;
	DAT_PZ_HANDLE pz;
	DAT_VADDR address;
	DAT_VLEN size;

	DO(dat_ia_open((DAT_NAME_PTR)(uintptr_t)name, 8, &async, &ia));
	DO(dat_pz_create(ia, &pz));
	DO(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &dto));
	DO(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &conn));
	DO(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &requests));
	DO(dat_ep_create(ia, pz, dto, dto, conn, NULL, &ep));
	DO(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(mem), pz, DAT_MEM_PRIV_ALL_FLAG,
			  VA_TYPE &lmr, &lmr_context, &rmr_context, &size, &address));
	in = segment(&mem.in, sizeof(mem.in));
	DO(dat_ep_post_recv(ep, 1, &in, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void send_out(void)
{
	DAT_LMR_TRIPLET out = segment(&mem.out, sizeof(mem.out));
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };

	DO(dat_ep_post_send(ep, 1, &out, cookie, DAT_COMPLETION_SUPPRESS_FLAG));
}

static unsigned char pattern(uint32_t seed, unsigned int i)
{
	return (unsigned char)(seed + i * 7 + i / 256);
}

static void serve(void)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 3 };
	DAT_LMR_TRIPLET from = segment(mem.data, BYTES);
	DAT_RMR_TRIPLET to = { .segment_length = BYTES };
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EVENT ev;

	DO(dat_psp_create_any(ia, &qual, requests, DAT_PSP_CONSUMER_FLAG, &psp));
	printf("qualifier %llu\n", (unsigned long long)qual);
	fflush(stdout);
	ev = wait_for(requests, DAT_CONNECTION_REQUEST_EVENT);
	DO(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL));
	wait_for(conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	completed();
	for (unsigned int i = 0; i < BYTES; i++)
		mem.data[i] = pattern(mem.in.seed, i);
	to.rmr_context = mem.in.context;
#ifdef DAP_DAT20
	to.virtual_address = mem.in.address;
#else
	to.target_address = mem.in.address;
#endif
	DO(dat_ep_post_rdma_write(ep, 1, &from, cookie, &to, DAT_COMPLETION_DEFAULT_FLAG));
	send_out();
	completed();
	wait_for(conn, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void request(DAT_CONN_QUAL qual)
{
	struct sockaddr_in host = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	DO(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&host, qual, SOON, 0, NULL, DAT_QOS_BEST_EFFORT,
			  DAT_CONNECT_DEFAULT_FLAG));
	wait_for(conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	mem.out = (struct message){ (uintptr_t)mem.data, rmr_context, 99 };
	send_out();
	completed();
	for (unsigned int i = 0; i < BYTES; i++) {
		if (mem.data[i] != pattern(99, i)) {
			fprintf(stderr, "byte %u of the data is wrong\n", i);
			exit(1);
		}
	}
	DO(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	wait_for(conn, DAT_CONNECTION_EVENT_DISCONNECTED);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	start(argv[1]);
	if (argc > 2)
		request(strtoull(argv[2], NULL, 0));
	else
		serve();
	DO(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	puts("verified");
	return 0;
}
