/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peer of `make bench`: a provider of uDAPL 2.0, named in dat.conf by the first argument, through
 * Debian's libdat2. It has the calls of dat_bench except windows, which OpenFabrics' provider lacks.
 */
#include <stdio.h>

#include "perf/common/pair.h"
#include "perf/peer/peer.h"

static struct pair p;
static const DAT_DTO_COOKIE cookie = { .as_64 = 7 };
static DAT_LMR_TRIPLET small_segment, line_segment, big_segment, recv_segment, pieces[4];
static DAT_RMR_TRIPLET small_target, line_target, big_target;

static void fill_all(void)
{
	unsigned int i;

	small_segment = region_segment(&p.local, 0, PEER_SMALL);
	line_segment = region_segment(&p.local, 0, PEER_LINE);
	big_segment = region_segment(&p.local, 0, PEER_BIG);
	recv_segment = region_segment(&p.remote, 0, PEER_BIG);
	for (i = 0; i < 4; i++)
		pieces[i] = region_segment(&p.local, i * PEER_BIG / 4, PEER_BIG / 4);
	small_target = region_target(&p.remote, 0, PEER_SMALL);
	line_target = region_target(&p.remote, 0, PEER_LINE);
	big_target = region_target(&p.remote, 0, PEER_BIG);
}

PEER_SHARED write_to(DAT_COUNT segments, DAT_LMR_TRIPLET *from, const DAT_RMR_TRIPLET *to)
{
	return dat_ep_post_rdma_write(p.a.ep, segments, from, cookie, to, DAT_COMPLETION_DEFAULT_FLAG) !=
	       DAT_SUCCESS;
}

PEER_SHARED recv4k(void)
{
	return dat_ep_post_recv(p.b.ep, 1, &recv_segment, cookie, DAT_COMPLETION_DEFAULT_FLAG) !=
	       DAT_SUCCESS;
}

PEER_SHARED send4k(void)
{
	return dat_ep_post_send(p.a.ep, 1, &big_segment, cookie, DAT_COMPLETION_DEFAULT_FLAG) !=
	       DAT_SUCCESS;
}

PEER_SHARED dequeue(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	return dat_evd_dequeue(evd, &ev) == DAT_SUCCESS;
}

/* Functions that run before and after batches */

static int reap(DAT_EVD_HANDLE evd, unsigned int n)
{
	DAT_EVENT ev;

	while (n)
		if (dat_evd_dequeue(evd, &ev) == DAT_SUCCESS) {
			if (ev.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
				return -1;
			n--;
		}
	return 0;
}

static int reap_sent(unsigned int n)
{
	return reap(p.a.req_evd, n);
}

static int reap_both(unsigned int n)
{
	return reap(p.a.req_evd, n) || reap(p.b.recv_evd, n) ? -1 : 0;
}

static int post_recvs(unsigned int n)
{
	while (n--)
		if (recv4k())
			return -1;
	return 0;
}

static int send_to_all(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (send4k())
			return -1;
	return reap_both(n);
}

static int feed(unsigned int n)
{
	while (n--)
		if (write_to(1, &small_segment, &small_target))
			return -1;
	peer_let_complete();
	return 0;
}

/* The measured calls */

PEER_CALL dapl_write8(void) { return write_to(1, &small_segment, &small_target); }
PEER_CALL dapl_write64(void) { return write_to(1, &line_segment, &line_target); }
PEER_CALL dapl_write4k(void) { return write_to(1, &big_segment, &big_target); }

PEER_CALL dapl_read4k(void)
{
	return dat_ep_post_rdma_read(p.a.ep, 1, &big_segment, cookie, &big_target,
				     DAT_COMPLETION_DEFAULT_FLAG) != DAT_SUCCESS;
}

PEER_CALL dapl_pieces(void) { return write_to(4, pieces, &big_target); }
PEER_CALL dapl_send4k(void) { return send4k(); }
PEER_CALL dapl_recv(void) { return recv4k(); }
PEER_CALL dapl_dequeue_one(void) { return dequeue(p.a.req_evd); }
PEER_CALL dapl_dequeue_none(void) { return dequeue(p.b.req_evd); }

static const struct peer_op ops[] = {
	{ "post write 8 B inline", "dapl_write8", dapl_write8, NULL, reap_sent, PEER_BATCH, 0 },
	{ "post write 64 B inline", "dapl_write64", dapl_write64, NULL, reap_sent, PEER_BATCH, 0 },
	{ "post write 4 KB", "dapl_write4k", dapl_write4k, NULL, reap_sent, PEER_BATCH, 0 },
	{ "post read 4 KB", "dapl_read4k", dapl_read4k, NULL, reap_sent, PEER_BATCH, 0 },
	{ "post send 4 KB", "dapl_send4k", dapl_send4k, post_recvs, reap_both, PEER_BATCH, 0 },
	{ "post write 4 segments", "dapl_pieces", dapl_pieces, NULL, reap_sent, PEER_BATCH, 0 },
	{ "post recv", "dapl_recv", dapl_recv, NULL, send_to_all, PEER_BATCH, 0 },
	{ "dequeue one completion", "dapl_dequeue_one", dapl_dequeue_one, feed, reap_sent,
	  PEER_BATCH, 1 },
	{ "dequeue none", "dapl_dequeue_none", dapl_dequeue_none, NULL, NULL, PEER_BATCH, 0 },
	{ 0 },
};

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: peer_dapl NAME [-n CALLS]\n");
		return 1;
	}
	p.no_rmr = true;
	if (pair_open(&p, argv[1]))
		return 1;
	fill_all();
	return peer_run(argc, argv, ops);
}
