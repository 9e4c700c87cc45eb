/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Clients that connect and disconnect, two servers whose provider makes the endpoints and that hand off
 * some of the requests to each other, and service points that are created and freed meanwhile.
 */
#include <netinet/in.h>

#include "tests/tsan/serve.h"

enum { CLIENTS = 2, ROUNDS = 300, LIMIT_US = TSAN_LIMIT_S * 1000000 };

struct server {
	struct consumer c;
	DAT_CONN_QUAL qual, other;
	DAT_PSP_HANDLE psp;
};

static struct server servers[2];
static struct consumer shared;
static atomic_bool stop;

static DAT_CONN_QUAL qual(unsigned int n)
{
	return 0x500000 + 8 * (DAT_CONN_QUAL)getpid() + n;
}

static void accept_with_its_own(struct server *s, DAT_CR_HANDLE cr)
{
	const DAT_EP_PARAM give = {
		.pz_handle = s->c.pz, .recv_evd_handle = s->c.recv_evd,
		.request_evd_handle = s->c.req_evd, .connect_evd_handle = s->c.conn_evd,
	};
	DAT_CR_PARAM p;

	tsan_must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &p) == DAT_SUCCESS, "dat_cr_query failed");
	tsan_must(dat_ep_modify(p.local_ep_handle,
				DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
					DAT_EP_FIELD_REQUEST_EVD_HANDLE |
					DAT_EP_FIELD_CONNECT_EVD_HANDLE,
				&give) == DAT_SUCCESS,
		  "dat_ep_modify failed");
	tsan_must(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL) == DAT_SUCCESS,
		  "dat_cr_accept failed");
}

static void answer(void *arg, DAT_CR_HANDLE cr, unsigned int n)
{
	struct server *s = arg;

	if (n % 5 < 2 && dat_cr_handoff(cr, s->other) == DAT_SUCCESS)
		return;
	if (n % 5 == 2)
		tsan_must(dat_cr_reject(cr) == DAT_SUCCESS, "dat_cr_reject failed");
	else
		accept_with_its_own(s, cr);
}

static void *serve(void *arg)
{
	struct server *s = arg;

	tsan_serve(&s->c, &stop, s, answer);
	return arg;
}

static void *client(void *arg)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	tsan_must(dat_evd_create(shared.ia, 16, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &evd) ==
		  DAT_SUCCESS, "dat_evd_create failed");
	tsan_must(dat_ep_create(shared.ia, shared.pz, shared.recv_evd, shared.req_evd, evd, NULL,
				&ep) == DAT_SUCCESS, "dat_ep_create failed");
	for (unsigned int n = 0; n < ROUNDS; n++) {
		tsan_must(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&to, servers[n % 2].qual, LIMIT_US,
					 0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG) ==
			  DAT_SUCCESS, "dat_ep_connect failed");
		if (tsan_next(evd) == DAT_CONNECTION_EVENT_ESTABLISHED) {
			dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
			tsan_next(evd);
		}
		tsan_must(dat_ep_reset(ep) == DAT_SUCCESS, "dat_ep_reset failed");
	}
	return arg;
}

/* Opens and closes the second server again and again. A reserved service point is always about to be
 * freed. */
static void *come_and_go(void *arg)
{
	struct server *s = &servers[1];

	while (!atomic_load(&stop)) {
		DAT_RSP_HANDLE rsp;

		tsan_must(dat_psp_free(s->psp) == DAT_SUCCESS, "dat_psp_free failed");
		usleep(300);
		tsan_must(dat_psp_create(s->c.ia, s->qual, s->c.cr_evd, DAT_PSP_PROVIDER_FLAG,
					 &s->psp) == DAT_SUCCESS, "dat_psp_create failed");
		if (dat_rsp_create(s->c.ia, qual(2), DAT_HANDLE_NULL, s->c.cr_evd, &rsp) == DAT_SUCCESS)
			dat_rsp_free(rsp);
		usleep(2000);
	}
	return arg;
}

int main(void)
{
	pthread_t clients[CLIENTS], threads[3];

	tsan_must(!consumer_open(&shared, tsan_ia()), "consumer_open failed");
	for (unsigned int i = 0; i < 2; i++) {
		struct server *s = &servers[i];

		tsan_must(!consumer_open(&s->c, tsan_ia()), "consumer_open failed");
		s->qual = qual(i);
		s->other = qual(1 - i);
		tsan_must(dat_psp_create(s->c.ia, s->qual, s->c.cr_evd, DAT_PSP_PROVIDER_FLAG,
					 &s->psp) == DAT_SUCCESS, "dat_psp_create failed");
		threads[i] = tsan_thread(serve, s);
	}
	threads[2] = tsan_thread(come_and_go, NULL);
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = tsan_thread(client, NULL);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	atomic_store(&stop, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	consumer_close(&shared);
	consumer_close(&servers[0].c);
	consumer_close(&servers[1].c);
	return 0;
}
