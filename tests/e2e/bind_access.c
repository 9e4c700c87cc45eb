/* SPDX-License-Identifier: BSD-2-Clause */
/* Which memory a bound context makes accessible. Accesses to all other memory are refused. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/e2e/ends.h"
#include "tests/e2e/window.h"

static DAT_RMR_HANDLE rmr;

static void setup(void)
{
	window_pair(&a, &b, &rmr);
}

TestSuite(bind_access, .timeout = 60);

RIG_TEST(bind_access, range__accesses_outside_the_window_are_refused)
{
	DAT_RMR_CONTEXT c = window_bind(&b, rmr, 1000, 5000, RIGHTS_RW);

	check(c == window_query(rmr));
	check(c != b.rmr_context);
	window_opens(&a, &b, c, 1000, 5000);
	window_opens(&a, &b, c, 1000, 1);
	window_opens(&a, &b, c, 5999, 1);
	window_opens(&a, &b, c, 1003, 4096);
	window_refuses_write(&a, &b, c, 999, 1);
	window_refuses_write(&a, &b, c, 6000, 1);
	window_refuses_write(&a, &b, c, 999, 5001);
	window_refuses_write(&a, &b, c, 1000, 5001);
	window_refuses_read(&a, &b, c, 999, 1);
	window_refuses_read(&a, &b, c, 6000, 1);
	window_refuses_read(&a, &b, c, 999, 5001);
	window_refuses_read(&a, &b, c, 1000, 5001);
	window_opens(&a, &b, c, 1000, 5000);
}

RIG_TEST(bind_access, range__of_one_byte_opens_that_byte_alone)
{
	DAT_RMR_CONTEXT c = window_bind(&b, rmr, 4095, 1, RIGHTS_RW);

	window_opens(&a, &b, c, 4095, 1);
	window_refuses_write(&a, &b, c, 4094, 1);
	window_refuses_write(&a, &b, c, 4096, 1);
	window_refuses_write(&a, &b, c, 4095, 2);
}

RIG_TEST(bind_access, range__of_the_whole_lmr_opens_no_byte_beyond)
{
	DAT_RMR_CONTEXT c = window_bind(&b, rmr, 0, RIG_MEM, RIGHTS_RW);

	window_opens(&a, &b, c, 0, RIG_MEM);
	window_refuses_write(&a, &b, c, RIG_MEM, 1);
	window_refuses_read(&a, &b, c, (size_t)-1, 1);
}

/* An address range that wraps must not end inside the window. */
RIG_TEST(bind_access, range__address_that_wraps_is_refused)
{
	DAT_RMR_CONTEXT c = window_bind(&b, rmr, 0, 4096, RIGHTS_RW);
	DAT_RMR_TRIPLET to = through(c, &b, 0, 4096);

	to.target_address = UINT64_MAX - 10;
	must(do_write(&a, 3, 0, to, 0));
	took(a.req_evd, 3, DAT_DTO_ERR_REMOTE_ACCESS);
	took_ends(&a, &b, DAT_CONNECTION_EVENT_BROKEN);
}

RIG_TEST(bind_access, rights__read_only_refuse_writes)
{
	DAT_RMR_CONTEXT c = window_bind(&b, rmr, 0, 100, DAT_MEM_PRIV_REMOTE_READ_FLAG);

	must(do_read(&a, 1, 0, through(c, &b, 0, 100), 0));
	took(a.req_evd, 1, DAT_DTO_SUCCESS);
	window_refuses_write(&a, &b, c, 0, 100);
	must(do_read(&a, 1, 0, through(c, &b, 0, 100), 0));
	took(a.req_evd, 1, DAT_DTO_SUCCESS);
}

RIG_TEST(bind_access, rights__write_only_refuse_reads)
{
	DAT_RMR_CONTEXT c = window_bind(&b, rmr, 0, 100, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);

	must(do_write(&a, 1, 0, through(c, &b, 0, 100), 0));
	took(a.req_evd, 1, DAT_DTO_SUCCESS);
	window_refuses_read(&a, &b, c, 0, 100);
}

RIG_TEST(bind_access, rights__none_refuse_reads_and_writes)
{
	DAT_RMR_CONTEXT c = window_bind(&b, rmr, 0, 100, DAT_MEM_PRIV_NONE_FLAG);

	window_refuses_read(&a, &b, c, 0, 1);
	window_refuses_write(&a, &b, c, 0, 1);
}

/* An LMR without remote rights has no context for peers. A window over it has one. */
RIG_TEST(bind_access, rights__over_an_lmr_without_remote_ones_are_the_windows)
{
	DAT_LMR_CONTEXT lmr_context, own = b.lmr_context;
	DAT_RMR_CONTEXT none = 1, c;

	end_lmr(&b, b.mem, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
		&lmr_context, &none);
	same(none, 0);
	b.lmr_context = lmr_context;
	c = window_bind(&b, rmr, 100, 100, RIGHTS_RW);
	window_opens(&a, &b, c, 100, 100);
	window_refuses_write(&a, &b, lmr_context, 100, 100);
	window_refuses_read(&a, &b, lmr_context, 100, 100);
	b.lmr_context = own;
}

RIG_TEST(bind_access, two_windows__over_one_lmr_keep_their_own_rights)
{
	DAT_RMR_CONTEXT x, y;
	DAT_RMR_HANDLE other;

	must(dat_rmr_create(b.pz, &other));
	x = window_bind(&b, rmr, 0, 200, RIGHTS_RW);
	y = window_bind(&b, other, 100, 200, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	check(x != y);
	window_opens(&a, &b, x, 100, 100);
	must(do_read(&a, 1, 0, through(y, &b, 100, 200), 0));
	took(a.req_evd, 1, DAT_DTO_SUCCESS);
	window_refuses_write(&a, &b, y, 100, 1);
	window_refuses_write(&a, &b, x, 200, 1);
	must(dat_rmr_free(other));
	window_refuses_read(&a, &b, y, 100, 1);
	window_opens(&a, &b, x, 0, 200);
}

/* A context belongs to a zone: a peer of an endpoint in another zone cannot use it. */
RIG_TEST(bind_access, zone__access_through_an_endpoint_of_another_is_refused)
{
	DAT_RMR_CONTEXT c = window_bind(&b, rmr, 0, 100, RIGHTS_RW);
	DAT_EP_ATTR attr = rig_attr();
	DAT_EP_HANDLE ea = a.ep;
	DAT_EP_HANDLE eb = b.ep;
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(b.ia, &pz));
	must(dat_ep_create(b.ia, pz, b.recv_evd, b.req_evd, b.conn_evd, &attr, &b.ep));
	a.ep = end_ep(&a, NULL);
	end_join(&a, a.ep, &b, b.ep);
	window_refuses_write(&a, &b, c, 0, 100);
	window_refuses_write(&a, &b, b.rmr_context, 0, 100);
	a.ep = ea;
	b.ep = eb;
	window_opens(&a, &b, c, 0, 100);
}

/* A context belongs to an adapter. At another adapter it is invalid, or names another window. */
RIG_TEST(bind_access, adapter__context_used_at_another_is_refused)
{
	DAT_RMR_CONTEXT c = window_bind(&b, rmr, 0, 100, RIGHTS_RW);

	must(do_write(&b, 3, 0, through(c, &a, 0, 100), 0));
	took(b.req_evd, 3, DAT_DTO_ERR_REMOTE_ACCESS);
	took_ends(&a, &b, DAT_CONNECTION_EVENT_BROKEN);
}

/*
 * Gigabytes of addresses over little memory: the same pages are mapped repeatedly. One entry of a
 * window's translation cannot have more than 2 GiB. The mapping begins at a multiple of block, because
 * before rdma-core 47 libmlx5 cannot register memory across a multiple of 256 GiB over VFIO.
 */
static char *large_mapping(size_t len, size_t piece, size_t block)
{
	char *room = mmap(NULL, 2 * block, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *at = (char *)(((uintptr_t)room + block - 1) & ~(uintptr_t)(block - 1));
	int fd = memfd_create("pages", MFD_CLOEXEC);

	check(room != MAP_FAILED && fd >= 0 && !ftruncate(fd, (off_t)piece));
	for (size_t off = 0; off < len; off += piece)
		check(mmap(at + off, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
		      at + off);
	close(fd);
	return at;
}

RIG_TEST(bind_access, range__over_2_gib_opens_exactly_its_bytes)
{
	const size_t len = (size_t)5 << 29, piece = 64u << 20, block = (size_t)1 << 32;
	struct end big = b;
	DAT_RMR_CONTEXT c;

	big.mem = large_mapping(len, piece, block);
	big.len = 0;
	end_lmr(&b, big.mem, len, DAT_MEM_PRIV_ALL_FLAG, &big.lmr_context, &big.rmr_context);
	c = window_bind(&big, rmr, 4096, len - 8192, RIGHTS_RW);
	window_opens(&a, &big, c, 4096, 5000);
	window_opens(&a, &big, c, ((size_t)1 << 30) - 100, 5000);
	window_opens(&a, &big, c, ((size_t)1 << 31) - 100, 5000);
	window_opens(&a, &big, c, ((size_t)1 << 31) + 4000, 5000);
	window_opens(&a, &big, c, len - 4096 - 5000, 5000);
	window_refuses_write(&a, &big, c, len - 4096 - 100, 101);
	window_refuses_write(&a, &big, c, 4095, 1);
	must(dat_rmr_free(rmr));
	munmap(big.mem, len);
}
