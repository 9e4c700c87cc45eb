/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of each size and different segments: every byte is checked. */
#include <string.h>

#include "tests/e2e/ends.h"
#include "tests/e2e/pieces.h"

static void setup(void)
{
	pieces_pair(&a, &b);
}

TestSuite(data_message, .timeout = 60);

static void one_size(struct end *from, struct end *to, size_t size, size_t skew)
{
	fill(from->mem + skew, size, size);
	memset(to->mem + HALF, 0xee, size + 2 * 64);
	must(do_recv(to, size + 1, HALF + 64, size + skew));
	must(do_send(from, size, skew, size, 0));
	same(took(to->recv_evd, size + 1, DAT_DTO_SUCCESS), size);
	same(took(from->req_evd, size, DAT_DTO_SUCCESS), size);
	check(filled(to->mem + HALF + 64, size, size));
	check(all_bytes(to->mem + HALF, 64, 0xee));
	check(all_bytes(to->mem + HALF + 64 + size, 64, 0xee));
}

RIG_TEST(data_message, send__of_every_size_arrives_unchanged)
{
	for (size_t i = 0; i < SIZES; i++) {
		rig_sleeps = i & 1;
		one_size(&a, &b, sizes[i], 0);
		one_size(&b, &a, sizes[i], 3);	/* the addresses are not aligned */
	}
	rig_empty(a.recv_evd);
	rig_empty(b.req_evd);
}

RIG_TEST(data_message, send__of_each_size_up_to_300_arrives_unchanged)
{
	for (size_t size = 1; size <= 300; size++)
		one_size(&a, &b, size, size % 5);
}

RIG_TEST(data_message, send__of_no_bytes_completes_a_receive)
{
	DAT_DTO_COOKIE c = { .as_64 = 9 };

	memset(b.mem, 0xee, 64);
	must(do_recv(&b, 1, 0, 64));
	must(dat_ep_post_recv(b.ep, 0, NULL, c, DAT_COMPLETION_DEFAULT_FLAG));
	must(dat_ep_post_send(a.ep, 0, NULL, c, DAT_COMPLETION_DEFAULT_FLAG));
	must(do_send(&a, 2, 0, 0, 0));
	same(took(b.recv_evd, 1, DAT_DTO_SUCCESS), 0);
	same(took(b.recv_evd, 9, DAT_DTO_SUCCESS), 0);
	same(took(a.req_evd, 9, DAT_DTO_SUCCESS), 0);
	same(took(a.req_evd, 2, DAT_DTO_SUCCESS), 0);
	check(all_bytes(b.mem, 64, 0xee));
}

/* Sends one message, which the two sides split into different segments. */
static void in_pieces(unsigned int sender, unsigned int receiver, size_t size, uint64_t seed)
{
	DAT_DTO_COOKIE c = { .as_64 = seed };
	struct pieces s, r;

	pieces_cut(&s, &a, 0, sender, size, seed);
	pieces_cut(&r, &b, HALF, receiver, size, seed + 1);
	pieces_fill(&s, seed);
	pieces_blank(&r);
	must(dat_ep_post_recv(b.ep, (DAT_COUNT)r.n, r.seg, c, DAT_COMPLETION_DEFAULT_FLAG));
	must(dat_ep_post_send(a.ep, (DAT_COUNT)s.n, s.seg, c, DAT_COMPLETION_DEFAULT_FLAG));
	memset(s.seg, 0, sizeof(s.seg));	/* the program may reuse the segments at once */
	same(took(b.recv_evd, seed, DAT_DTO_SUCCESS), size);
	took(a.req_evd, seed, DAT_DTO_SUCCESS);
	check(pieces_filled(&r, seed));
}

RIG_TEST(data_message, send__in_each_number_of_pieces_arrives_unchanged)
{
	static const size_t total[] = { 5, 28, 100, 188, 189, 1000, 5000, 70000 };
	uint64_t seed = 1000;

	for (unsigned int n = 1; n <= PIECES_MAX; n++) {
		for (size_t i = 0; i < sizeof(total) / sizeof(total[0]); i++)
			in_pieces(n, PIECES_MAX + 1 - n, total[i], seed += 10);
	}
}

RIG_TEST(data_message, send__of_more_pieces_than_the_attributes_allow_is_refused)
{
	DAT_LMR_TRIPLET t[PIECES_MAX + 1];
	DAT_DTO_COOKIE c = { 0 };

	for (int i = 0; i <= PIECES_MAX; i++)
		t[i] = seg(&a, 0, 1);
	must_code(dat_ep_post_send(a.ep, PIECES_MAX + 1, t, c, 0), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must_code(dat_ep_post_recv(a.ep, PIECES_MAX + 1, t, c, 0), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must_code(dat_ep_post_send(a.ep, -1, t, c, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_code(dat_ep_post_send(a.ep, 1, NULL, c, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	one_size(&a, &b, 100, 0);
}

/*
 * Many messages are in flight, of one packet and of several. Each completes its receive, in order.
 */
RIG_TEST(data_message, send__a_queue_full_arrives_in_order)
{
	for (uint64_t lap = 0; lap < 20; lap++) {
		size_t off = 0;

		for (uint64_t i = 0; i < RIG_DTOS; i++)
			must(do_recv(&b, lap * 100 + i, HALF + i * 20000, 20000));
		for (uint64_t i = 0; i < RIG_DTOS; i++) {
			size_t size = sizes[(lap + i) % (SIZES - 6)];

			fill(a.mem + off, size, lap * 100 + i);
			must(do_send(&a, lap * 100 + i, off, size, 0));
			off += size;
		}
		rig_sleeps = lap & 1;
		for (uint64_t i = 0; i < RIG_DTOS; i++) {
			size_t size = sizes[(lap + i) % (SIZES - 6)];

			same(took(b.recv_evd, lap * 100 + i, DAT_DTO_SUCCESS), size);
			check(filled(b.mem + HALF + i * 20000, size, lap * 100 + i));
		}
		took_range(a.req_evd, lap * 100, lap * 100 + RIG_DTOS - 1, DAT_DTO_SUCCESS);
	}
}

/* Both sides send at the same time. */
RIG_TEST(data_message, send__crossing_messages_arrive_at_both_ends)
{
	for (uint64_t i = 0; i < RIG_DTOS; i++) {
		must(do_recv(&a, i, HALF + i * 5000, 5000));
		must(do_recv(&b, i, HALF + i * 5000, 5000));
	}
	for (uint64_t i = 0; i < RIG_DTOS; i++) {
		fill(a.mem + i * 5000, 5000, i);
		fill(b.mem + i * 5000, 5000, i + 500);
		must(do_send(&a, i, i * 5000, 5000, 0));
		must(do_send(&b, i, i * 5000, 5000, 0));
	}
	took_range(a.recv_evd, 0, RIG_DTOS - 1, DAT_DTO_SUCCESS);
	took_range(b.recv_evd, 0, RIG_DTOS - 1, DAT_DTO_SUCCESS);
	took_range(a.req_evd, 0, RIG_DTOS - 1, DAT_DTO_SUCCESS);
	took_range(b.req_evd, 0, RIG_DTOS - 1, DAT_DTO_SUCCESS);
	for (uint64_t i = 0; i < RIG_DTOS; i++) {
		check(filled(b.mem + HALF + i * 5000, 5000, i));
		check(filled(a.mem + HALF + i * 5000, 5000, i + 500));
	}
}

/* Operations complete in order, whatever each has to wait for. */
RIG_TEST(data_message, mixed_requests__complete_in_order)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	must(dat_rmr_create(a.pz, &rmr));
	for (uint64_t lap = 0; lap < 30; lap++) {
		uint64_t at = lap * 10;

		must(do_recv(&b, at, 0, 4096));
		must(do_write(&a, at, 0, far(&b, 4096, 20000), 0));
		must(do_read(&a, at + 1, 50000, far(&b, 4096, 9000), 0));
		must(do_write(&a, at + 2, 0, far(&b, 4096, 8), 0));
		must(do_bind(&a, rmr, at + 3, 0, 64, RIGHTS_RW, &context));
		must(do_send(&a, at + 4, 0, 100, 0));
		must(do_read(&a, at + 5, 60000, far(&b, 4096, 1), 0));
		rig_sleeps = lap & 1;
		took(a.req_evd, at, DAT_DTO_SUCCESS);
		took(a.req_evd, at + 1, DAT_DTO_SUCCESS);
		took(a.req_evd, at + 2, DAT_DTO_SUCCESS);
		took_bind(a.req_evd, rmr, at + 3, DAT_RMR_BIND_SUCCESS);
		took(a.req_evd, at + 4, DAT_DTO_SUCCESS);
		took(a.req_evd, at + 5, DAT_DTO_SUCCESS);
		took(b.recv_evd, at, DAT_DTO_SUCCESS);
	}
	rig_empty(a.req_evd);
}

/* A message longer than the endpoint's limit is refused before any of it is sent. */
RIG_TEST(data_message, send__longer_than_max_message_size_returns_length_error)
{
	DAT_EP_ATTR attr = rig_attr();
	DAT_LMR_TRIPLET t[2] = { seg(&a, 0, 600), seg(&a, 0, 401) };
	DAT_DTO_COOKIE c = { .as_64 = 1 };
	DAT_EP_HANDLE ea, eb;

	attr.max_message_size = 1000;
	ea = end_ep(&a, &attr);
	eb = end_ep(&b, NULL);
	end_join(&a, ea, &b, eb);
	must_fail(dat_ep_post_send(ea, 2, t, c, 0), DAT_LENGTH_ERROR);
	t[0].segment_length = 1001;
	must_fail(dat_ep_post_send(ea, 1, t, c, 0), DAT_LENGTH_ERROR);
	t[0].segment_length = UINT64_C(1) << 32;
	must_fail(dat_ep_post_send(ea, 1, t, c, 0), DAT_LENGTH_ERROR);
	t[0].segment_length = UINT64_MAX;
	must_fail(dat_ep_post_send(ea, 2, t, c, 0), DAT_LENGTH_ERROR);
	rig_empty(a.req_evd);
	same(end_state(ea), DAT_EP_STATE_CONNECTED);
}
