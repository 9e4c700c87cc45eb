/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that connect, disconnect, reset and free endpoints of one IA, a server that accepts them all,
 * and service points and adapters that are created and freed meanwhile.
 */
#include <netinet/in.h>
#include <string.h>

#include "tests/tsan/serve.h"

enum { CLIENTS = 2, ROUNDS = 600, LIMIT_US = TSAN_LIMIT_S * 1000000 };

static struct consumer server, shared;
static atomic_bool stop;

static DAT_CONN_QUAL qual(unsigned int n)
{
	return 0x300000 + 8 * (DAT_CONN_QUAL)getpid() + n;
}

/* ---- The server: an endpoint for each request, freed when its connection has ended ---- */

static void accept_request(void *arg, DAT_CR_HANDLE cr, unsigned int n)
{
	DAT_EP_HANDLE ep;

	(void)arg;
	if (n % 7 == 3) {
		tsan_must(dat_cr_reject(cr) == DAT_SUCCESS, "dat_cr_reject failed");
		return;
	}
	tsan_must(dat_ep_create(server.ia, server.pz, server.recv_evd, server.req_evd,
				server.conn_evd, NULL, &ep) == DAT_SUCCESS,
		  "the server cannot create an endpoint");
	tsan_must(dat_cr_accept(cr, ep, 0, NULL) == DAT_SUCCESS, "dat_cr_accept failed");
}

static void *serve(void *arg)
{
	tsan_serve(&server, &stop, NULL, accept_request);
	return arg;
}

/* ---- clients ---- */

static DAT_RETURN dial(DAT_EP_HANDLE ep)
{
	struct sockaddr_in to = { .sin_family = AF_INET };

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&to, qual(0), LIMIT_US, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* Connects and disconnects. Exactly one event ends the connection, whichever of the two calls came
 * first. Then the endpoint can be used again. */
static void connect_and_part(DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd, unsigned int n)
{
	DAT_EVENT_NUMBER event;

	tsan_must(dial(ep) == DAT_SUCCESS, "dat_ep_connect failed");
	if (n % 3 == 2) {
		dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
		event = tsan_next(evd);
		if (event == DAT_CONNECTION_EVENT_ESTABLISHED)
			event = tsan_next(evd);
	} else {
		event = tsan_next(evd);
		if (event == DAT_CONNECTION_EVENT_ESTABLISHED) {
			dat_ep_disconnect(ep, n % 2 ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG);
			event = tsan_next(evd);
		}
	}
	tsan_must(event == DAT_CONNECTION_EVENT_DISCONNECTED ||
		  event == DAT_CONNECTION_EVENT_PEER_REJECTED,
		  "the connection ended with an unexpected event");
	tsan_must(dat_ep_reset(ep) == DAT_SUCCESS, "dat_ep_reset failed");
}

static DAT_EP_HANDLE make_ep(DAT_EVD_HANDLE evd)
{
	DAT_EP_HANDLE ep;

	tsan_must(dat_ep_create(shared.ia, shared.pz, shared.recv_evd, shared.req_evd, evd, NULL,
				&ep) == DAT_SUCCESS, "dat_ep_create failed");
	return ep;
}

static void *client(void *arg)
{
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_EVENT ev;

	tsan_must(dat_evd_create(shared.ia, 16, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &evd) ==
		  DAT_SUCCESS, "dat_evd_create failed");
	ep = make_ep(evd);
	for (unsigned int n = 0; n < ROUNDS; n++) {
		if (n % 10 == 9) {		/* disconnects in the middle of a connection attempt */
			tsan_must(dial(ep) == DAT_SUCCESS, "dat_ep_connect failed");
			tsan_must(dat_ep_free(ep) == DAT_SUCCESS, "dat_ep_free failed");
			while (dat_evd_dequeue(evd, &ev) == DAT_SUCCESS)
				;
			ep = make_ep(evd);
		} else {
			connect_and_part(ep, evd, n);
		}
	}
	tsan_must(dat_ep_free(ep) == DAT_SUCCESS, "dat_ep_free failed");
	tsan_must(dat_evd_free(evd) == DAT_SUCCESS, "dat_evd_free failed");
	return arg;
}

/* ---- creating and freeing ---- */

static void *come_and_go(void *arg)
{
	for (unsigned int n = 0; !atomic_load(&stop); n++) {
		DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
		DAT_PSP_HANDLE psp;
		DAT_IA_HANDLE ia;

		if (dat_psp_create(server.ia, qual(1 + n % 2), server.cr_evd, DAT_PSP_CONSUMER_FLAG,
				   &psp) == DAT_SUCCESS)
			dat_psp_free(psp);
		if (n % 4 == 0) {
			tsan_must(dat_ia_open((DAT_NAME_PTR)(uintptr_t)tsan_ia(), 8, &async, &ia) ==
					  DAT_SUCCESS,
				  "dat_ia_open failed");
			tsan_must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS,
				  "dat_ia_close failed");
		}
		usleep(1000);
	}
	return arg;
}

int main(void)
{
	pthread_t clients[CLIENTS], server_thread, other;

	tsan_must(!consumer_open(&server, tsan_ia()) && !consumer_open(&shared, tsan_ia()),
		  "consumer_open failed");
	tsan_must(!consumer_listen(&server, qual(0)), "consumer_listen failed");
	server_thread = tsan_thread(serve, NULL);
	other = tsan_thread(come_and_go, NULL);
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = tsan_thread(client, NULL);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	atomic_store(&stop, true);
	pthread_join(server_thread, NULL);
	pthread_join(other, NULL);
	consumer_close(&shared);
	consumer_close(&server);
	return 0;
}
