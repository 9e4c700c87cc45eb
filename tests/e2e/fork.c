/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Forks while other threads are inside calls: inherited handles return INVALID_HANDLE in the child,
 * whatever locks those threads held, and the parent's connection continues.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/rig.h"

#define CHILDREN 40
#define CHILD_S 60		/* only guards against hangs */
/* In a child, a lock of the address sanitizer may be held by a thread that exists only in the parent. */
#define MAY_ALLOCATE (!TH_ASAN)

static struct end s, t;
static DAT_EP_HANDLE busy_ep;
static DAT_SRQ_HANDLE srq;
static DAT_RMR_HANDLE rmr;
static DAT_CNO_HANDLE cno;
static bool stop;

static void setup(void)
{
}

static void teardown(void)
{
}

TestSuite(fork, .timeout = 120);

/* ---- Threads that hold locks nearly always ---- */

static bool stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_ACQUIRE);
}

static void *query(void *arg)
{
	DAT_EP_PARAM param;
	DAT_COUNT n;

	while (!stopped()) {
		must(dat_ep_query(busy_ep, DAT_EP_FIELD_ALL, &param));
		must(dat_ep_set_watermark(busy_ep, 3, DAT_WATERMARK_INFINITE));
		must(dat_ep_recv_query(busy_ep, &n, &n));
	}
	return arg;
}

static void open_and_close(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	must(rig_ia_open(&async, &ia));
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void *make_and_free(void *arg)
{
	DAT_LMR_HANDLE lmr;
	DAT_EVD_HANDLE evd;

	while (!stopped()) {
		lmr = end_lmr(&s, s.mem, 4096, DAT_MEM_PRIV_ALL_FLAG, NULL, NULL);
		must(dat_evd_create(s.ia, 8, cno, DAT_EVD_DTO_FLAG, &evd));
		must(dat_evd_free(evd));
		must(dat_lmr_free(lmr));
		open_and_close();
	}
	return arg;
}

static void *come_and_go(void *arg)
{
	while (!stopped())
		open_and_close();
	return arg;
}

static void *await(void *arg)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	while (!stopped())
		must_fail(dat_evd_wait(s.async, 100, 1, &ev, &more), DAT_TIMEOUT_EXPIRED);
	return arg;
}

/* ---- The child ---- */

#define foreign(call) must_fail(call, DAT_INVALID_HANDLE)

static void posts_are_refused(void)
{
	DAT_LMR_TRIPLET l = seg(&s, 0, 8);
	DAT_RMR_TRIPLET r = far(&t, 0, 8);
	DAT_RMR_CONTEXT context;
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_EVENT ev;

	foreign(dat_ep_post_send(s.ep, 1, &l, cookie, 0));
	foreign(dat_ep_post_recv(s.ep, 1, &l, cookie, 0));
	foreign(dat_ep_post_rdma_write(s.ep, 1, &l, cookie, &r, 0));
	foreign(dat_ep_post_rdma_read(s.ep, 1, &l, cookie, &r, 0));
	foreign(dat_srq_post_recv(srq, 1, &l, cookie));
	foreign(dat_rmr_bind(rmr, &l, DAT_MEM_PRIV_REMOTE_READ_FLAG, s.ep, cookie, 0, &context));
	foreign(dat_evd_dequeue(s.recv_evd, &ev));
	foreign(dat_evd_dequeue(s.conn_evd, &ev));
}

static void calls_are_refused(void)
{
	DAT_EP_PARAM ep;
	DAT_EVD_PARAM evd;
	DAT_CONTEXT context = { .as_64 = 1 };
	DAT_HANDLE_TYPE type;
	DAT_PZ_HANDLE pz;
	DAT_EVENT ev;
	DAT_COUNT n;

	foreign(dat_ep_query(busy_ep, DAT_EP_FIELD_ALL, &ep));
	foreign(dat_ep_recv_query(busy_ep, &n, &n));
	foreign(dat_ep_disconnect(s.ep, DAT_CLOSE_ABRUPT_FLAG));
	foreign(dat_ep_reset(s.ep));
	foreign(dat_ep_free(busy_ep));
	foreign(dat_evd_query(s.recv_evd, DAT_EVD_FIELD_ALL, &evd));
	foreign(dat_evd_wait(s.async, 100, 1, &ev, &n));
	foreign(dat_evd_free(s.async));
	foreign(dat_cno_free(cno));
	foreign(dat_lmr_free(s.lmr));
	foreign(dat_rmr_free(rmr));
	foreign(dat_srq_free(srq));
	foreign(dat_psp_free(t.psp));
	foreign(dat_pz_create(s.ia, &pz));
	foreign(dat_pz_free(s.pz));
	foreign(dat_set_consumer_context(s.ep, context));
	foreign(dat_get_handle_type(s.ia, &type));
	foreign(dat_ia_query(s.ia, NULL, 0, NULL, 0, NULL));
	foreign(dat_ia_close(s.ia, DAT_CLOSE_GRACEFUL_FLAG));
	foreign(dat_ia_close(s.ia, DAT_CLOSE_ABRUPT_FLAG));
	foreign(dat_ia_close(t.ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* Checks that the child's own objects have other handles than all inherited ones. */
static void own_ones_work(void)
{
	struct end x, y;

	pair_open(&x, &y);
	posts_are_refused();
	pair_moves(&x, &y);
	end_free(&x);
	took_conn(&y, y.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	end_free(&y);
}

static _Noreturn void child(int what)
{
	rig_second();
	th_is_child();
	alarm(CHILD_S);
	posts_are_refused();
	calls_are_refused();
	if (MAY_ALLOCATE && what % 4 == 0)
		own_ones_work();
	_exit(0);
}

/* ---- The parent ---- */

static void still_works(uint64_t seed)
{
	fill(s.mem + 4096, 5000, seed);
	must(do_recv(&t, 1, 10000, 5000));
	must(do_send(&s, 2, 4096, 5000, 0));
	took(t.recv_evd, 1, DAT_DTO_SUCCESS);
	took(s.req_evd, 2, DAT_DTO_SUCCESS);
	check(filled(t.mem + 10000, 5000, seed));
	rig_empty(s.conn_evd);
	rig_empty(t.conn_evd);
}

static void make_others(void)
{
	DAT_SRQ_ATTR attr = { 4, 1, DAT_SRQ_LW_DEFAULT };

	must(dat_srq_create(s.ia, s.pz, &attr, &srq));
	must(dat_rmr_create(s.pz, &rmr));
	must(dat_cno_create(s.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	busy_ep = end_ep(&s, NULL);
}

static void free_others(void)
{
	must(dat_ep_free(busy_ep));
	must(dat_cno_free(cno));
	must(dat_rmr_free(rmr));
	must(dat_srq_free(srq));
}

/* The registry initialises the provider at the first open of an IA, and finishes it after the last
 * close. */
RIG_TEST(fork, child_of_a_process_that_opens__opens_its_own)
{
	pthread_t threads[2];
	int status;

	if (!MAY_ALLOCATE)
		cr_skip_test("the address sanitizer cannot allocate in a child of threads");
	/* The first open must not coincide with a fork, see dapl-direct(7). */
	open_and_close();
	for (int i = 0; i < 2; i++)
		check(!pthread_create(&threads[i], NULL, come_and_go, NULL));
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = th_fork();

		check(pid >= 0);
		if (!pid) {
			rig_second();
			th_is_child();
			alarm(CHILD_S);
			open_and_close();
			_exit(0);
		}
		check(waitpid(pid, &status, 0) == pid);
		check(WIFEXITED(status));
		same(WEXITSTATUS(status), 0);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (int i = 0; i < 2; i++)
		check(!pthread_join(threads[i], NULL));
}

RIG_TEST(fork, child_of_a_process_at_work__has_nothing_of_it)
{
	void *(*const work[])(void *) = { query, make_and_free, await };
	pthread_t threads[3];
	int status;

	rig_needs_srq();
	pair_open(&s, &t);
	make_others();
	for (int i = 0; i < 3; i++)
		check(!pthread_create(&threads[i], NULL, work[i], NULL));
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = th_fork();

		check(pid >= 0);
		if (!pid)
			child(i);
		still_works((uint64_t)i);
		check(waitpid(pid, &status, 0) == pid);
		check(WIFEXITED(status));
		same(WEXITSTATUS(status), 0);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (int i = 0; i < 3; i++)
		check(!pthread_join(threads[i], NULL));
	still_works(99);
	free_others();
	end_free(&s);
	took_conn(&t, t.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	end_free(&t);
}
