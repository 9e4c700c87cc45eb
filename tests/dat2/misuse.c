/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors of consumers, and what the calls return. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/dat2/dat2.h"
#include "tests/harness/harness.h"

TestSuite(misuse, .timeout = 60);

static DAT_RETURN open_named(const char *name, DAT_BOOLEAN threadsafe, DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	return dat_ia_openv((DAT_NAME_PTR)(unsigned long)name, 8, &async, ia, 2, 0, threadsafe);
}

/*
 * The registry reads its file before main. So a test runs this program again with its own line; the exit
 * status is the result of opening the name: 0 for success.
 */
__attribute__((constructor(65535))) static void try_and_exit(void)
{
	const char *name = getenv("DAPL_TRY_NAME");
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	if (!name)
		return;
	ret = open_named(name, DAT_FALSE, &ia);
	if (ret == DAT_SUCCESS)
		_exit(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) == DAT_SUCCESS ? 0 : 3);
	_exit(DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND ? 1 : 2);
}

/* Opens name with a dat.conf of this line. 0: success; 1: PROVIDER_NOT_FOUND. */
static int try_line(const char *name, const char *line)
{
	char file[] = "/tmp/dapl-dat2-XXXXXX", me[64];
	int fd = mkstemp(file), status;
	pid_t pid;

	snprintf(me, sizeof(me), "/proc/%d/exe", getpid());
	cr_assert(fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line));
	close(fd);
	pid = th_fork();
	if (!pid) {
		setenv("DAT_OVERRIDE", file, 1);
		setenv("DAPL_TRY_NAME", name, 1);
		execl(me, me, (char *)NULL);
		_exit(9);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	unlink(file);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

/* Tries a line of dat.conf that names our library, or another library in its folder. */
static int try_entry(const char *name, const char *version, const char *safe, const char *lib)
{
	const char *dir = getenv("DAPL_BUILD_DIR");
	char line[1024];

	snprintf(line, sizeof(line), "%s %s %s default %s/lib/%s dapl_direct.2.0 \"\" \"\"\n", name,
		 version, safe, dir ? dir : "build", lib);
	return try_line(name, line);
}

#define SOFT "soft-mlx5-0"
#define OURS "libdapl-direct2.so"

Test(misuse, dat_conf__good_line_is_taken)
{
	cr_assert_eq(try_entry(SOFT, "u2.0", "nonthreadsafe", OURS), 0);
}

Test(misuse, dat_conf__missing_library_returns_provider_not_found)
{
	cr_assert_eq(try_entry(SOFT, "u2.0", "nonthreadsafe", "no-such-file.so"), 1);
}

Test(misuse, dat_conf__library_of_no_provider_returns_provider_not_found)
{
	cr_assert_eq(try_line(SOFT, SOFT " u2.0 nonthreadsafe default libm.so.6 m.2.0 \"\" \"\"\n"), 1);
}

Test(misuse, dat_conf__library_of_the_other_level_returns_provider_not_found)
{
	cr_assert_eq(try_entry(SOFT, "u2.0", "nonthreadsafe", "libdapl-direct.so"), 1);
}

Test(misuse, dat_conf__other_version_returns_provider_not_found)
{
	cr_assert_eq(try_entry(SOFT, "u1.2", "nonthreadsafe", OURS), 1);
	cr_assert_eq(try_entry(SOFT, "u2.1", "nonthreadsafe", OURS), 1);
}

/* A consumer that requests nonthreadsafe, as all do with Debian's header, does not see a threadsafe
 * line. */
Test(misuse, dat_conf__other_thread_flag_returns_provider_not_found)
{
	cr_assert_eq(try_entry(SOFT, "u2.0", "threadsafe", OURS), 1);
}

Test(misuse, dat_conf__missing_adapter_returns_provider_not_found)
{
	cr_assert_eq(try_entry("no-such-0", "u2.0", "nonthreadsafe", OURS), 1);
}

static void use_in_child(DAT_IA_HANDLE ia)
{
	DAT_EVENT ev;
	DAT_PZ_HANDLE pz;
	DAT_IA_ATTR attr;

	/* IAs opened before the fork belong to the parent. */
	if (dat_ia_query(ia, NULL, DAT_IA_ALL, &attr, 0, NULL) == DAT_SUCCESS)
		_exit(1);
	if (dat_pz_create(ia, &pz) == DAT_SUCCESS)
		_exit(2);
	if (DAT_GET_TYPE(dat_evd_dequeue(a.dto, &ev)) != DAT_INVALID_HANDLE)
		_exit(3);
	if (DAT_GET_TYPE(dat_ep_free(a.ep)) != DAT_INVALID_HANDLE)
		_exit(4);
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	/* A forked child may open an IA of its own. */
	if (open_named("soft-mlx5-0", DAT_FALSE, &ia) != DAT_SUCCESS)
		_exit(5);
	if (dat_pz_create(ia, &pz) != DAT_SUCCESS)
		_exit(6);
	_exit(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS ? 0 : 7);
}

Test(misuse, fork__inherited_ias_are_the_parents, .init = sides_open, .fini = sides_close)
{
	pid_t pid = th_fork();
	int status;

	if (!pid)
		use_in_child(a.ia);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status), "the child was killed by signal %d", WTERMSIG(status));
	cr_assert_eq(WEXITSTATUS(status), 0, "the child failed at step %d", WEXITSTATUS(status));
	sides_connect();
}

Test(misuse, close__abrupt_with_objects_alive_ends_their_handles, .init = sides_open, .fini = sides_close)
{
	DAT_EVENT ev;

	sides_connect();
	assert_ret(dat_ia_close(a.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
	assert_ok(dat_ia_close(a.ia, DAT_CLOSE_ABRUPT_FLAG));
	side_wait(b.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	assert_ret(dat_ep_free(a.ep), DAT_INVALID_HANDLE);
	assert_ret(dat_evd_dequeue(a.dto, &ev), DAT_INVALID_HANDLE);
	assert_ret(dat_lmr_free(a.lmr), DAT_INVALID_HANDLE);
	assert_ret(dat_pz_free(a.pz), DAT_INVALID_HANDLE);
}

/* If the IA of the connect EVD is closed, the endpoint has no connect EVD any more. */
Test(misuse, close__of_the_ia_of_the_connect_evd_detaches_the_evd, .init = sides_open, .fini = sides_close)
{
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE evd;
	DAT_EVENT ev;

	assert_ok(dat_ep_create(b.ia, b.pz, b.dto, b.dto, a.conn, NULL, &ep));
	assert_ok(dat_ia_close(a.ia, DAT_CLOSE_ABRUPT_FLAG));
	assert_ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	cr_assert_eq(param.connect_evd_handle, DAT_HANDLE_NULL);
	/* A new EVD in the memory of the freed one gets no events of that endpoint's connections. */
	assert_ok(dat_evd_create(b.ia, 8, NULL, DAT_EVD_CONNECTION_FLAG, &evd));
	assert_ok(dat_ep_connect(ep, side_address(0), 77777, 1000, 0, NULL, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
	do {
		assert_ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
		usleep(1000);
	} while (param.ep_state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	assert_ret(dat_evd_dequeue(evd, &ev), DAT_QUEUE_EMPTY);
	assert_ok(dat_ep_free(ep));
	assert_ok(dat_evd_free(evd));
}

/* A consumer that uses one table for all handles uses the table of the IA. */
Test(misuse, table__of_the_ia_serves_all_handles, .init = sides_open, .fini = sides_close)
{
	DAT_LMR_TRIPLET from = side_segment(&a, 0, 5), to = side_segment(&b, 0, 64);
	DAT_RMR_TRIPLET there = side_remote(&b, 128, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = 9 };
	const DAT_PROVIDER *table;
	DAT_IA_HANDLE raw;
	DAT_EVENT ev;
	int got = 0;

	sides_connect();
	raw = side_own_handle(&a);
	table = PROVIDER(raw);
	cr_assert_neq(table, PROVIDER(a.ep));
	strcpy(a.mem, "word");
	assert_ok(table->ep_post_recv_func(b.ep, 1, &to, cookie, 0));
	assert_ok(table->ep_post_send_func(a.ep, 1, &from, cookie, 0));
	assert_ok(table->ep_post_rdma_write_func(a.ep, 1, &from, cookie, &there, 0));
	while (got < 2) {
		DAT_RETURN ret = table->evd_dequeue_func(a.dto, &ev);

		got += ret == DAT_SUCCESS;
		cr_assert(ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY);
	}
	side_wait(b.dto, DAT_DTO_COMPLETION_EVENT);
	cr_assert_str_eq(b.mem, "word");
	cr_assert_str_eq(b.mem + 128, "word");
	assert_ok(table->ep_disconnect_func(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	assert_ok(table->ep_free_func(a.ep));
	assert_ret(table->ep_post_send_func(a.ep, 1, &from, cookie, 0), DAT_INVALID_HANDLE);
}

Test(misuse, lmr__of_no_length_returns_length_error, .init = sides_open, .fini = sides_close)
{
	DAT_REGION_DESCRIPTION nothing = { .for_va = NULL }, there = { .for_va = a.mem };
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	DAT_VLEN size;
	DAT_VADDR at;

	assert_ret(dat_lmr_create(a.ia, DAT_MEM_TYPE_VIRTUAL, nothing, 0, a.pz, DAT_MEM_PRIV_ALL_FLAG,
				  DAT_VA_TYPE_VA, &lmr, &context, NULL, &size, &at),
		   DAT_LENGTH_ERROR);
	assert_ret(dat_lmr_create(a.ia, DAT_MEM_TYPE_VIRTUAL, there, 0, a.pz, DAT_MEM_PRIV_ALL_FLAG,
				  DAT_VA_TYPE_VA, &lmr, &context, NULL, &size, &at),
		   DAT_LENGTH_ERROR);
}

/* In 2.0 the two values of this state are exchanged, compared with 1.2. */
Test(misuse, srq__that_works_is_not_in_error, .init = sides_open, .fini = sides_close)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_SRQ_PARAM param;
	DAT_SRQ_HANDLE srq;

	side_needs_srq();
	assert_ok(dat_srq_create(a.ia, a.pz, &attr, &srq));
	assert_ok(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	cr_assert_eq(param.srq_state, DAT_SRQ_STATE_OPERATIONAL);
	cr_assert_neq(DAT_SRQ_STATE_ERROR, DAT_SRQ_STATE_OPERATIONAL);
	assert_ok(dat_srq_free(srq));
}

static void open_validating(void)
{
	setenv("DAPL_VALIDATE", "1", 1);
	sides_open();
}

/* A validating instance refuses wrong segments of each kind of request, and the connection stays. */
Test(misuse, validate__refuses_wrong_segments, .init = open_validating, .fini = sides_close)
{
	DAT_LMR_TRIPLET good = side_segment(&a, 0, 8), bad = good;
	DAT_RMR_TRIPLET to = side_remote(&b, 0, 8), small = side_remote(&b, 0, 4);
	DAT_DTO_COOKIE cookie = { .as_64 = 5 };
	DAT_EVENT ev;

	side_needs(DAT_IB_ATTR_IMMED_DATA);
	sides_connect();
	bad.lmr_context = ~bad.lmr_context;
	assert_ret(dat_ep_post_rdma_write(a.ep, 1, &bad, cookie, &to, 0), DAT_PRIVILEGES_VIOLATION);
	assert_ret(dat_ep_post_rdma_write(a.ep, 1, &good, cookie, &small, 0), DAT_LENGTH_ERROR);
	assert_ret(dat_ib_post_rdma_write_immed(a.ep, 1, &bad, cookie, &to, 7, 0),
		   DAT_PRIVILEGES_VIOLATION);
	assert_ret(dat_ib_post_rdma_write_immed(a.ep, 1, &good, cookie, &small, 7, 0),
		   DAT_LENGTH_ERROR);
	if (side_says(DAT_IB_ATTR_FETCH_AND_ADD, "TRUE")) {
		assert_ret(dat_ib_post_fetch_and_add(a.ep, 2, &bad, cookie, &to, 0),
			   DAT_PRIVILEGES_VIOLATION);
		assert_ret(dat_ib_post_cmp_and_swap(a.ep, 1, 2, &bad, cookie, &to, 0),
			   DAT_PRIVILEGES_VIOLATION);
	}
	assert_ok(dat_ep_post_rdma_write(a.ep, 1, &good, cookie, &to, 0));
	ev = side_wait(a.dto, DAT_DTO_COMPLETION_EVENT);
	cr_assert_eq(ev.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
}

static void binds_with_unknown_va_type(const char *name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_LMR_TRIPLET part = { 0 };
	DAT_RMR_COOKIE cookie = { .as_64 = 1 };
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE pz;
	DAT_IA_HANDLE ia;

	assert_ok(dat_ia_open((DAT_NAME_PTR)(unsigned long)name, 8, &async, &ia));
	assert_ok(dat_pz_create(ia, &pz));
	assert_ok(dat_rmr_create(pz, &rmr));
	assert_ret(dat_rmr_bind(rmr, DAT_HANDLE_NULL, &part, DAT_MEM_PRIV_NONE_FLAG, (DAT_VA_TYPE)7,
				DAT_HANDLE_NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG, &context),
		   DAT_INVALID_PARAMETER);
	assert_ok(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

Test(misuse, rmr_bind__unknown_va_type_is_refused)
{
	binds_with_unknown_va_type("soft-mlx5-0");
	binds_with_unknown_va_type("soft-efa-0");
}

/* Windows of one endpoint and zero-based addresses exist only on a ConnectX. */
Test(misuse, efa__reports_missing_features)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION region;
	DAT_PROVIDER_ATTR provider;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE pz;
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;
	DAT_VADDR at;
	DAT_VLEN size;
	char mem[64];

	assert_ok(dat_ia_open((DAT_NAME_PTR)(unsigned long)"soft-efa-0", 8, &async, &ia));
	assert_ok(dat_ia_query(ia, NULL, DAT_IA_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &provider));
	cr_assert_eq(attr.zb_supported, DAT_FALSE);
	cr_assert_eq(provider.rmr_scope_supported, DAT_RMR_SCOPE_PZ);
	assert_ok(dat_pz_create(ia, &pz));
	assert_ret(PROVIDER(pz)->rmr_create_for_ep_func(pz, &rmr), DAT_MODEL_NOT_SUPPORTED);
	region.for_va = mem;
	assert_ret(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(mem), pz,
				  DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_ZB, &lmr, &context, &remote,
				  &size, &at), DAT_MODEL_NOT_SUPPORTED);
	assert_ok(dat_pz_free(pz));
	assert_ok(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}
