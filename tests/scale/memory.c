/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures the memory of a connected endpoint, without its queues: at most 12 KiB. */
#include <errno.h>
#include <stdio.h>

#include "hw_mlx5/obj.h"
#include "tests/scale/scale.h"

#define MANY 4096u
/* number of connections in a sanitizer build, where the heap gives no figures */
#define FEWER 1024u
/* number of connections that are being established at a time */
#define AT_ONCE 32u
#define DTOS 16
#define BYTES 64u
#define MOST (12u << 10)		/* most bytes of each endpoint */

TestSuite(memory, .timeout = 300);

static DAT_EP_HANDLE eps[MANY];

static DAT_EP_HANDLE modest_ep(struct end *e)
{
	DAT_EP_ATTR attr = rig_attr();

	attr.max_recv_dtos = attr.max_request_dtos = DTOS;
	attr.max_recv_iov = attr.max_request_iov = 2;
	return end_ep(e, &attr);
}

static unsigned int smaller(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* ---- The second process connects, and sends a message through each endpoint ---- */

static void dial_all(struct end *e, DAT_CONN_QUAL qual, unsigned int n)
{
	for (unsigned int done = 0; done < n;) {
		unsigned int some = smaller(AT_ONCE, n - done);

		for (unsigned int i = 0; i < some; i++) {
			eps[done + i] = modest_ep(e);
			must(end_dial(eps[done + i], qual, SOON_MS * 1000u));
		}
		for (; some; some--, done++)
			next_event(e->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
}

static void exchange(struct end *e, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		e->ep = eps[i];
		must(do_recv(e, i, 0, BYTES));
		must(do_send(e, i, BYTES, BYTES, SUPPRESS));
		took(e->recv_evd, i, DAT_DTO_SUCCESS);
	}
}

static int dialler(int sock, void *arg)
{
	unsigned int n = *(const unsigned int *)arg;
	DAT_CONN_QUAL qual;
	struct end e;

	same(scale_connections(n), n);
	wide_end(&e, n);
	same(th_recv(sock, &qual, sizeof(qual)), 0);
	dial_all(&e, qual, n);
	same(th_meet(sock), 0);
	exchange(&e, n);
	while (th_meet(sock) == -ETIMEDOUT)
		;
	end_close(&e);
	return 0;
}

/* ---- This process accepts, and is measured ---- */

static void accept_all(struct end *e, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		DAT_CR_HANDLE cr = end_request(e);

		eps[i] = modest_ep(e);
		e->ep = eps[i];
		must(do_recv(e, i, 0, BYTES));
		must(dat_cr_accept(cr, eps[i], 0, NULL));
		if (i % 512 == 511)
			fprintf(stderr, "memory: %u connections\n", i + 1);
	}
	for (unsigned int i = 0; i < n; i++)
		next_event(e->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void answer_all(struct end *e, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		DAT_EVENT ev = next_event(e->recv_evd, DAT_DTO_COMPLETION_EVENT);

		e->ep = ev.event_data.dto_completion_event_data.ep_handle;
		must(do_send(e, i, 0, BYTES, 0));
		took(e->req_evd, i, DAT_DTO_SUCCESS);
	}
}

/* Returns the size of the mapped rings of each endpoint, both of them, if they exist. */
static size_t rings(unsigned int n)
{
	size_t bytes = 0;

	for (unsigned int i = 0; i < n; i++)
		bytes += m5_ep((struct dap_ep *)eps[i])->mem.len;
	return bytes;
}

static void judge(const struct holding *before, const struct holding *now, unsigned int n)
{
	size_t ring = rings(n) / n, heap = (now->heap - before->heap) / n;
	size_t anon = (now->anon - before->anon) / n, beside = anon > ring ? anon - ring : 0;

	fprintf(stderr, "note: %u endpoints of %d requests and %d receives: each %zu bytes of "
		"provider memory (resident: %zu), beside rings of %zu\n", n, DTOS, DTOS, heap,
		beside, ring);
	fprintf(stderr, "note: shared memory of the software fabric, per pair of devices: %zu KiB; "
		"descriptors: %u\n", (now->shared - before->shared) >> 10, now->fds - before->fds);
	check(TH_ASAN || heap <= MOST);
	check(TH_ASAN || beside <= MOST);
	/* Each endpoint has one socket; waits need a few more descriptors. */
	check(now->fds - before->fds <= n + 16);
}

Test(memory, endpoints__cost_little_beside_their_queues)
{
	unsigned int n = scale_connections(TH_ASAN ? FEWER : MANY);
	struct holding before, now;
	struct th_child peer;
	struct end e;

	peer_spawn(&peer, dialler, &n);
	wide_end(&e, n);
	end_listen(&e);
	holding_now(&before);
	same(th_send(peer.sock, &e.qual, sizeof(e.qual)), 0);
	accept_all(&e, n);
	same(th_meet(peer.sock), 0);
	answer_all(&e, n);
	holding_now(&now);
	judge(&before, &now, n);
	same(th_meet(peer.sock), 0);
	peer_done(&peer);
	end_close(&e);
}
