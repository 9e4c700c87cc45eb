/* SPDX-License-Identifier: BSD-2-Clause */
/* RDMA writes and reads of each size: every byte arrives, and no byte outside changes. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/e2e/ends.h"
#include "tests/e2e/pieces.h"

static void setup(void)
{
	pieces_pair(&a, &b);
}

TestSuite(data_rdma, .timeout = 60);

/*
 * Checks that the seed's data is at to->mem + HALF + 64 + skew, and that no byte around it changed.
 */
static void landed(const struct end *to, size_t size, size_t skew, uint64_t seed)
{
	const char *at = to->mem + HALF + 64 + skew;

	check(filled(at, size, seed));
	check(all_bytes(at - 64, 64, 0xee));
	check(all_bytes(at + size, 64, 0xee));
}

static void write_size(struct end *from, struct end *to, size_t size, size_t skew)
{
	fill(from->mem + 7 * skew, size, size);
	memset(to->mem + HALF, 0xee, size + 256);
	must(do_write(from, size, 7 * skew, far(to, HALF + 64 + skew, size), 0));
	took(from->req_evd, size, DAT_DTO_SUCCESS);
	landed(to, size, skew, size);
}

static void read_size(struct end *to, struct end *from, size_t size, size_t skew)
{
	fill(from->mem + 7 * skew, size, size);
	memset(to->mem + HALF, 0xee, size + 256);
	must(do_read(to, size, HALF + 64 + skew, far(from, 7 * skew, size), 0));
	took(to->req_evd, size, DAT_DTO_SUCCESS);
	landed(to, size, skew, size);
}

RIG_TEST(data_rdma, write__of_every_size_lands_unchanged)
{
	for (size_t i = 0; i < SIZES; i++) {
		rig_sleeps = i & 1;
		write_size(&a, &b, sizes[i], 0);
		write_size(&b, &a, sizes[i], 3);
	}
}

RIG_TEST(data_rdma, write__of_each_size_up_to_300_lands_unchanged)
{
	for (size_t size = 1; size <= 300; size++)
		write_size(&a, &b, size, size % 7);
}

RIG_TEST(data_rdma, read__of_every_size_lands_unchanged)
{
	for (size_t i = 0; i < SIZES; i++) {
		rig_sleeps = i & 1;
		read_size(&a, &b, sizes[i], 0);
		read_size(&b, &a, sizes[i], 3);
	}
}

RIG_TEST(data_rdma, read__of_each_size_up_to_300_lands_unchanged)
{
	for (size_t size = 1; size <= 300; size++)
		read_size(&a, &b, size, size % 7);
}

RIG_TEST(data_rdma, nothing__needs_no_right)
{
	DAT_RMR_TRIPLET nowhere = { .rmr_context = 0x1234 };
	DAT_DTO_COOKIE c = { .as_64 = 5 };

	memset(b.mem, 0xee, 64);
	must(do_write(&a, 1, 0, far(&b, 0, 0), 0));
	must(do_read(&a, 2, 0, far(&b, 0, 0), 0));
	must(dat_ep_post_rdma_write(a.ep, 0, NULL, c, &nowhere, DAT_COMPLETION_DEFAULT_FLAG));
	must(dat_ep_post_rdma_read(a.ep, 0, NULL, c, &nowhere, DAT_COMPLETION_DEFAULT_FLAG));
	took_range(a.req_evd, 1, 2, DAT_DTO_SUCCESS);
	took_range(a.req_evd, 5, 5, DAT_DTO_SUCCESS);
	took_range(a.req_evd, 5, 5, DAT_DTO_SUCCESS);
	check(all_bytes(b.mem, 64, 0xee));
	same(end_state(a.ep), DAT_EP_STATE_CONNECTED);
}

static void write_pieces(unsigned int n, size_t size, uint64_t seed)
{
	/* the remote buffer may be longer */
	DAT_RMR_TRIPLET to = far(&b, HALF + 64, size + seed % 3);
	DAT_DTO_COOKIE c = { .as_64 = seed };
	struct pieces p;

	pieces_cut(&p, &a, 0, n, size, seed);
	pieces_fill(&p, seed);
	memset(b.mem + HALF, 0xee, size + 256);
	must(dat_ep_post_rdma_write(a.ep, (DAT_COUNT)p.n, p.seg, c, &to, 0));
	memset(p.seg, 0, sizeof(p.seg));
	took(a.req_evd, seed, DAT_DTO_SUCCESS);
	landed(&b, size, 0, seed);
}

static void read_pieces(unsigned int n, size_t size, uint64_t seed)
{
	DAT_RMR_TRIPLET from = far(&b, 0, size);
	DAT_DTO_COOKIE c = { .as_64 = seed };
	struct pieces p;

	pieces_cut(&p, &a, 0, n, size, seed);
	pieces_blank(&p);
	fill(b.mem, size, seed);
	must(dat_ep_post_rdma_read(a.ep, (DAT_COUNT)p.n, p.seg, c, &from, 0));
	took(a.req_evd, seed, DAT_DTO_SUCCESS);
	check(pieces_filled(&p, seed));
}

RIG_TEST(data_rdma, write_and_read__in_each_number_of_pieces_land_unchanged)
{
	static const size_t total[] = { 5, 28, 100, 188, 189, 1000, 5000, 70000 };
	uint64_t seed = 1000;

	for (unsigned int n = 1; n <= PIECES_MAX; n++) {
		for (size_t i = 0; i < sizeof(total) / sizeof(total[0]); i++) {
			write_pieces(n, total[i], seed += 10);
			read_pieces(n, total[i], seed += 10);
		}
	}
}

/* The remote buffer determines the length; the local one may be longer. */
RIG_TEST(data_rdma, read__into_a_longer_buffer_leaves_its_rest_unchanged)
{
	DAT_LMR_TRIPLET t[3] = { seg(&a, 0, 100), seg(&a, 1000, 100), seg(&a, 2000, 100) };
	DAT_RMR_TRIPLET from = far(&b, 0, 150);
	DAT_DTO_COOKIE c = { .as_64 = 1 };

	memset(a.mem, 0xee, 4096);
	fill(b.mem, 300, 4);
	must(dat_ep_post_rdma_read(a.ep, 3, t, c, &from, 0));
	took(a.req_evd, 1, DAT_DTO_SUCCESS);
	check(!memcmp(a.mem, b.mem, 100) && !memcmp(a.mem + 1000, b.mem + 100, 50));
	check(all_bytes(a.mem + 1050, 50, 0xee) && all_bytes(a.mem + 2000, 100, 0xee));
}

RIG_TEST(data_rdma, lengths__that_do_not_fit_are_refused)
{
	DAT_LMR_TRIPLET t[2] = { seg(&a, 0, 60), seg(&a, 100, 41) };
	DAT_RMR_TRIPLET to = far(&b, 0, 100), from = far(&b, 0, 102);
	DAT_DTO_COOKIE c = { .as_64 = 1 };

	memset(b.mem, 0xee, 200);
	must_fail(dat_ep_post_rdma_write(a.ep, 2, t, c, &to, 0), DAT_LENGTH_ERROR);
	must_fail(dat_ep_post_rdma_read(a.ep, 2, t, c, &from, 0), DAT_LENGTH_ERROR);
	t[0].segment_length = 101;
	must_fail(dat_ep_post_rdma_write(a.ep, 1, t, c, &to, 0), DAT_LENGTH_ERROR);
	must_fail(dat_ep_post_rdma_read(a.ep, 1, t, c, &from, 0), DAT_LENGTH_ERROR);
	t[0].segment_length = to.segment_length = from.segment_length = UINT64_MAX;
	must_fail(dat_ep_post_rdma_write(a.ep, 1, t, c, &to, 0), DAT_LENGTH_ERROR);
	must_fail(dat_ep_post_rdma_read(a.ep, 1, t, c, &from, 0), DAT_LENGTH_ERROR);
	must_code(dat_ep_post_rdma_write(a.ep, 1, t, c, NULL, 0), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG5);
	must_code(dat_ep_post_rdma_read(a.ep, 1, t, c, NULL, 0), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG5);
	rig_empty(a.req_evd);
	check(all_bytes(b.mem, 200, 0xee));
	write_size(&a, &b, 100, 0);
}

/* A write that was posted before a send has arrived when the message arrives. */
RIG_TEST(data_rdma, write__before_a_send_lands_before_it)
{
	for (uint64_t i = 0; i < 200; i++) {
		size_t size = sizes[i % (SIZES - 2)];

		fill(a.mem, size, i);
		must(do_recv(&b, i, MEM - 8, 8));
		must(do_write(&a, i, 0, far(&b, HALF, size), SUPPRESS));
		must(do_send(&a, i, MEM - 8, 8, SUPPRESS));
		took(b.recv_evd, i, DAT_DTO_SUCCESS);
		check(filled(b.mem + HALF, size, i));
	}
	rig_empty(a.req_evd);
}

/* More reads are posted than either side can have outstanding. */
RIG_TEST(data_rdma, reads__a_queue_full_all_complete)
{
	for (uint64_t i = 0; i < RIG_DTOS; i++)
		fill(b.mem + i * 20000, 20000, i);
	for (uint64_t i = 0; i < RIG_DTOS; i++)
		must(do_read(&a, i, HALF + i * 20000, far(&b, i * 20000, 20000), 0));
	took_range(a.req_evd, 0, RIG_DTOS - 1, DAT_DTO_SUCCESS);
	for (uint64_t i = 0; i < RIG_DTOS; i++)
		check(filled(a.mem + HALF + i * 20000, 20000, i));
}

/* Both sides write to each other's memory, read it back, and find their data. */
RIG_TEST(data_rdma, write_and_read__in_both_directions_land_unchanged)
{
	for (uint64_t lap = 0; lap < 50; lap++) {
		fill(a.mem, 9000, lap);
		fill(b.mem, 9000, lap + 1000);
		must(do_write(&a, 1, 0, far(&b, HALF, 9000), SUPPRESS));
		must(do_write(&b, 1, 0, far(&a, HALF, 9000), SUPPRESS));
		must(do_read(&a, 2, HALF + 20000, far(&b, HALF, 9000), 0));
		must(do_read(&b, 2, HALF + 20000, far(&a, HALF, 9000), 0));
		took(a.req_evd, 2, DAT_DTO_SUCCESS);
		took(b.req_evd, 2, DAT_DTO_SUCCESS);
		check(filled(a.mem + HALF + 20000, 9000, lap));
		check(filled(b.mem + HALF + 20000, 9000, lap + 1000));
	}
}

/* An endpoint can write to another of the same IA. */
RIG_TEST(data_rdma, write__within_one_adapter_lands)
{
	DAT_EP_HANDLE x = end_ep(&a, NULL), y = end_ep(&a, NULL), own = a.ep;

	end_join(&a, x, &a, y);
	a.ep = x;
	for (uint64_t i = 0; i < 50; i++) {
		fill(a.mem, 5000, i);
		must(do_write(&a, 1, 0, far(&a, HALF, 5000), 0));
		took(a.req_evd, 1, DAT_DTO_SUCCESS);
		check(filled(a.mem + HALF, 5000, i));
	}
	a.ep = own;
}

/* A page without rights lies on each side of the source: a read outside it ends the process. */
RIG_TEST(data_rdma, write__from_either_end_of_a_page_reads_nothing_outside)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct end edge = a;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_CONTEXT unused;
	char *room;

	room = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(room != MAP_FAILED);
	edge.mem = room + page;
	check(!mprotect(edge.mem, page, PROT_READ | PROT_WRITE));
	lmr = end_lmr(&a, edge.mem, page, DAT_MEM_PRIV_LOCAL_READ_FLAG, &edge.lmr_context, &unused);
	for (size_t size = 1; size <= 300; size++) {
		for (int last = 0; last < 2; last++) {
			size_t off = last ? page - size : 0;

			fill(edge.mem + off, size, size);
			memset(b.mem + HALF, 0xee, size + 256);
			must(do_write(&edge, size, off, far(&b, HALF + 64, size), 0));
			took(a.req_evd, size, DAT_DTO_SUCCESS);
			landed(&b, size, 0, size);
			memset(b.mem + HALF, 0xee, size + 256);
			must(do_recv(&b, size, HALF + 64, size));
			must(do_send(&edge, size, off, size, 0));
			took(b.recv_evd, size, DAT_DTO_SUCCESS);
			took(a.req_evd, size, DAT_DTO_SUCCESS);
			landed(&b, size, 0, size);
		}
	}
	must(dat_lmr_free(lmr));
	check(!munmap(room, 3 * page));
}
