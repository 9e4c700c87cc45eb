/* SPDX-License-Identifier: BSD-2-Clause */
/* Transfers that fail: both sides get events, and both can connect again. */
#include <string.h>

#include "tests/e2e/pair.h"

TestSuite(error_transfer, .timeout = 60);

/* Checks that both sides got one event each, and can be reconnected and used. */
static void recovers(void)
{
	took_ends(&a, &b, DAT_CONNECTION_EVENT_BROKEN);
	rig_empty(a.req_evd);
	rig_empty(a.recv_evd);
	rig_empty(b.req_evd);
	rig_empty(b.recv_evd);
	pair_again(&a, &b);
	pair_moves(&a, &b);
}

/* ---- Receives ---- */

RIG_TEST(error_transfer, receive__too_short_fails_both_sides)
{
	static const struct {
		size_t sent, room;
	} each[] = { { 1, 0 }, { 29, 28 }, { 189, 188 }, { 4097, 4096 }, { 60000, 59999 },
		     { 60000, 1 } };

	rig_needs_end_to_end();
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		memset(b.mem, 0xee, RIG_MEM);
		must(do_recv(&b, 1, 0, each[i].room));
		must(do_recv(&b, 2, 0, 64));
		must(do_send(&a, 3, 0, each[i].sent, 0));
		must(do_send(&a, 4, 0, 8, 0));
		took(a.req_evd, 3, DAT_DTO_ERR_REMOTE_RESPONDER);
		took(a.req_evd, 4, FLUSHED);
		took(b.recv_evd, 1, DAT_DTO_ERR_LOCAL_LENGTH);
		took(b.recv_evd, 2, FLUSHED);
		check(all_bytes(b.mem + each[i].room, RIG_MEM - each[i].room, 0xee));
		recovers();
	}
}

RIG_TEST(error_transfer, receive__too_short_in_pieces_fails_both_sides)
{
	DAT_LMR_TRIPLET t[3] = { seg(&b, 0, 100), seg(&b, 200, 0), seg(&b, 300, 99) };
	DAT_DTO_COOKIE c = { .as_64 = 1 };

	rig_needs_end_to_end();
	memset(b.mem, 0xee, 1000);
	must(dat_ep_post_recv(b.ep, 3, t, c, DAT_COMPLETION_DEFAULT_FLAG));
	must(do_send(&a, 3, 0, 200, 0));
	took(a.req_evd, 3, DAT_DTO_ERR_REMOTE_RESPONDER);
	took(b.recv_evd, 1, DAT_DTO_ERR_LOCAL_LENGTH);
	check(all_bytes(b.mem + 100, 200, 0xee) && all_bytes(b.mem + 399, 601, 0xee));
	recovers();
}

/* A send waits for a receive, which is posted later. */
RIG_TEST(error_transfer, receive__posted_late_completes_the_waiting_send)
{
	rig_needs_end_to_end();
	fill(a.mem, 100, 1);
	must(do_send(&a, 3, 0, 100, 0));
	th_sleep_ms(100);
	rig_empty(a.req_evd);
	must(do_recv(&b, 1, 0, 100));
	took(b.recv_evd, 1, DAT_DTO_SUCCESS);
	took(a.req_evd, 3, DAT_DTO_SUCCESS);
	check(filled(b.mem, 100, 1));
}

/* ---- Local segments ---- */

struct bad {
	const char *what;
	DAT_LMR_TRIPLET t;
	bool writes_only;		/* the LMR gives no read access */
};

static DAT_LMR_CONTEXT of_another_zone(struct end *e)
{
	DAT_REGION_DESCRIPTION region = { .for_va = e->mem };
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(e->ia, &pz));
	must(dat_lmr_create(e->ia, DAT_MEM_TYPE_VIRTUAL, region, e->len, pz, DAT_MEM_PRIV_ALL_FLAG,
			    &lmr, &context, NULL, NULL, NULL));
	return context;
}

static DAT_LMR_CONTEXT freed(struct end *e)
{
	DAT_LMR_CONTEXT context;

	must(dat_lmr_free(end_lmr(e, e->mem, e->len, DAT_MEM_PRIV_ALL_FLAG, &context, NULL)));
	return context;
}

static DAT_LMR_CONTEXT read_only(struct end *e)
{
	DAT_LMR_CONTEXT context;

	end_lmr(e, e->mem, e->len, DAT_MEM_PRIV_LOCAL_READ_FLAG, &context, NULL);
	return context;
}

enum { NBAD = 7 };

static void make_bad(struct bad *bad, struct end *e, size_t len)
{
	DAT_LMR_TRIPLET good = seg(e, 0, len);

	for (int i = 0; i < NBAD; i++)
		bad[i] = (struct bad){ .t = good };
	bad[0].t.lmr_context = 0x12345678;
	bad[1].t.lmr_context = e->lmr_context ^ 1;
	bad[2].t.lmr_context = freed(e);
	bad[3].t.lmr_context = of_another_zone(e);
	bad[4].t.virtual_address += RIG_MEM - len + 1;
	bad[5].t.virtual_address--;
	bad[6].t.lmr_context = read_only(e);
	bad[6].writes_only = true;
}

/* Tries each invalid source of a send or write. The data is short, so it would be copied if that
 * were allowed. */
static void each_source(size_t len)
{
	DAT_RMR_TRIPLET to = far(&b, 0, len);
	DAT_DTO_COOKIE c = { .as_64 = 3 };
	struct bad bad[NBAD];

	make_bad(bad, &a, len);
	for (int i = 0; i < NBAD; i++) {
		if (bad[i].writes_only)
			continue;
		must(do_recv(&b, 1, 0, len));
		must(dat_ep_post_send(a.ep, 1, &bad[i].t, c, SUPPRESS));
		took(a.req_evd, 3, DAT_DTO_ERR_LOCAL_PROTECTION);
		took(b.recv_evd, 1, FLUSHED);
		recovers();
		memset(b.mem, 0xee, len);
		must(dat_ep_post_rdma_write(a.ep, 1, &bad[i].t, c, &to, 0));
		took(a.req_evd, 3, DAT_DTO_ERR_LOCAL_PROTECTION);
		/* If there are several packets, the first ones may have been written. */
		check(len > 1024 || all_bytes(b.mem, len, 0xee));
		recovers();
	}
}

RIG_TEST(error_transfer, segment__invalid_source_gets_local_protection)
{
	each_source(1);
	each_source(100);
	each_source(5000);
}

RIG_TEST(error_transfer, segment__bad_after_good_ones_gets_local_protection)
{
	DAT_LMR_TRIPLET t[3] = { seg(&a, 0, 50), seg(&a, 100, 50), seg(&a, 200, 50) };
	DAT_DTO_COOKIE c = { .as_64 = 3 };
	DAT_RMR_TRIPLET to = far(&b, 0, 150);

	for (int i = 0; i < 3; i++) {
		t[i].lmr_context ^= 2;
		must(dat_ep_post_rdma_write(a.ep, 3, t, c, &to, 0));
		took(a.req_evd, 3, DAT_DTO_ERR_LOCAL_PROTECTION);
		t[i].lmr_context ^= 2;
		recovers();
	}
}

/* An empty segment is valid, whatever its context. */
RIG_TEST(error_transfer, segment__empty_one_is_not_looked_at)
{
	DAT_LMR_TRIPLET t[3] = { { .lmr_context = 0x1234 }, seg(&a, 100, 50),
				 { .lmr_context = 0x5678, .virtual_address = UINT64_MAX } };
	DAT_DTO_COOKIE c = { .as_64 = 3 };
	DAT_RMR_TRIPLET to = far(&b, 0, 50);

	must(dat_ep_post_rdma_write(a.ep, 3, t, c, &to, 0));
	took(a.req_evd, 3, DAT_DTO_SUCCESS);
	must(dat_ep_post_rdma_read(a.ep, 3, t, c, &to, 0));
	took(a.req_evd, 3, DAT_DTO_SUCCESS);
}

RIG_TEST(error_transfer, segment__invalid_read_target_gets_local_protection)
{
	DAT_DTO_COOKIE c = { .as_64 = 3 };
	struct bad bad[NBAD];
	size_t len[] = { 1, 5000 };

	for (int k = 0; k < 2; k++) {
		DAT_RMR_TRIPLET from = far(&b, 0, len[k]);

		make_bad(bad, &a, len[k]);
		for (int i = 0; i < NBAD; i++) {
			must(dat_ep_post_rdma_read(a.ep, 1, &bad[i].t, c, &from, 0));
			took(a.req_evd, 3, DAT_DTO_ERR_LOCAL_PROTECTION);
			recovers();
		}
	}
}

RIG_TEST(error_transfer, segment__invalid_receive_gets_local_protection)
{
	DAT_DTO_COOKIE c = { .as_64 = 3 };
	struct bad bad[NBAD];
	size_t len[] = { 1, 5000 };

	rig_needs_end_to_end();
	for (int k = 0; k < 2; k++) {
		make_bad(bad, &b, len[k]);
		for (int i = 0; i < NBAD; i++) {
			must(dat_ep_post_recv(b.ep, 1, &bad[i].t, c, DAT_COMPLETION_DEFAULT_FLAG));
			must(do_send(&a, 4, 0, len[k], 0));
			took(b.recv_evd, 3, DAT_DTO_ERR_LOCAL_PROTECTION);
			took(a.req_evd, 4, DAT_DTO_ERR_REMOTE_RESPONDER);
			recovers();
		}
	}
}

/* ---- Remote buffers ---- */

static void remote_refused(DAT_RMR_TRIPLET r, bool write, bool read)
{
	if (write) {
		must(do_write(&a, 3, 0, r, SUPPRESS));
		took(a.req_evd, 3, DAT_DTO_ERR_REMOTE_ACCESS);
		recovers();
	}
	if (read) {
		must(do_read(&a, 3, 0, r, SUPPRESS));
		took(a.req_evd, 3, DAT_DTO_ERR_REMOTE_ACCESS);
		recovers();
	}
}

RIG_TEST(error_transfer, remote__invalid_context_is_refused)
{
	static const DAT_RMR_CONTEXT none[] = { 0, 1, 0xff, 0x100, 0x12345678, 0xffffffff };

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		remote_refused(through(none[i], &b, 0, 8), true, true);
	remote_refused(through(b.rmr_context ^ 1, &b, 0, 5000), true, true);
	remote_refused(through(freed(&b), &b, 0, 8), true, true);
	remote_refused(through(of_another_zone(&b), &b, 0, 8), true, true);
	remote_refused(far(&b, RIG_MEM - 7, 8), true, true);
	remote_refused(far(&b, (size_t)-1, 8), true, true);
}

/* Each right of an LMR allows its access, and no other. */
RIG_TEST(error_transfer, remote__rights_of_the_lmr_allow_only_their_access)
{
	const DAT_MEM_PRIV_FLAGS local = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	DAT_LMR_CONTEXT lmr;
	DAT_RMR_CONTEXT c;

	end_lmr(&b, b.mem, 4096, local | DAT_MEM_PRIV_REMOTE_READ_FLAG, &lmr, &c);
	must(do_read(&a, 1, 0, through(c, &b, 0, 100), 0));
	took(a.req_evd, 1, DAT_DTO_SUCCESS);
	remote_refused(through(c, &b, 0, 100), true, false);
	end_lmr(&b, b.mem, 4096, local | DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &lmr, &c);
	must(do_write(&a, 1, 0, through(c, &b, 0, 100), 0));
	took(a.req_evd, 1, DAT_DTO_SUCCESS);
	remote_refused(through(c, &b, 0, 100), false, true);
	end_lmr(&b, b.mem, 4096, local, &lmr, &c);
	same(c, 0);
	remote_refused(through(lmr, &b, 0, 100), true, true);
}

/* The peer serves no reads, so the reader gets an error instead of waiting. */
RIG_TEST(error_transfer, read__from_an_endpoint_that_serves_none_fails)
{
	DAT_EP_ATTR attr = rig_attr();

	attr.max_rdma_read_in = 0;
	must(dat_ep_free(b.ep));
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	b.ep = end_ep(&b, &attr);
	must(dat_ep_reset(a.ep));
	end_join(&a, a.ep, &b, b.ep);
	must(do_read(&a, 3, 0, far(&b, 0, 100), 0));
	took(a.req_evd, 3, DAT_DTO_ERR_REMOTE_RESPONDER);
	recovers();
}

/*
 * Receives of two segments go around the queue. A later receive of one segment has only that one, although
 * its slot held two.
 */
RIG_TEST(error_transfer, receive__of_one_segment_in_a_slot_that_held_two_has_one)
{
	DAT_LMR_TRIPLET two[2] = { seg(&b, 0, 16), seg(&b, 4096, 64) };
	DAT_DTO_COOKIE c = { .as_64 = 7 };

	rig_needs_end_to_end();
	for (uint64_t i = 0; i < 2 * RIG_DTOS; i++) {
		must(dat_ep_post_recv(b.ep, 2, two, c, DAT_COMPLETION_DEFAULT_FLAG));
		must(do_send(&a, i, 0, 40, 0));
		same(took(b.recv_evd, 7, DAT_DTO_SUCCESS), 40);
		took(a.req_evd, i, DAT_DTO_SUCCESS);
	}
	memset(b.mem, 0xee, RIG_MEM);
	for (uint64_t i = 1; i <= 4; i++) {
		must(do_recv(&b, i, 0, 16));
		must(do_send(&a, i, 0, i < 4 ? 16 : 40, 0));
		took(b.recv_evd, i, i < 4 ? DAT_DTO_SUCCESS : DAT_DTO_ERR_LOCAL_LENGTH);
		took(a.req_evd, i, i < 4 ? DAT_DTO_SUCCESS : DAT_DTO_ERR_REMOTE_RESPONDER);
	}
	check(all_bytes(b.mem + 16, RIG_MEM - 16, 0xee));
}
