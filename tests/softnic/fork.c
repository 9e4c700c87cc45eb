/* SPDX-License-Identifier: BSD-2-Clause */
/* A process that forks while its device is at work. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/harness.h"
#include "tests/softnic/drv.h"

enum { CHILDREN = 40 };

static struct drv *d;
static struct drv_cq cq;
static struct drv_qp qp;
static atomic_bool stop;

/* Holds the device's lock most of the time, so that some children are forked while it is taken. */
static void *pump(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop))
		softnic_pump(d->nic);
	return NULL;
}

static void post_nop(void)
{
	struct drv_wqe w;

	drv_ctrl(&qp, &w, 0, CE_ALWAYS << 2, 0);
	drv_post(&qp, &w);
}

/*
 * Checks in a child that each call returns, that a doorbell has no effect, and that the objects can
 * be freed.
 */
static int in_child(void)
{
	struct softnic_counters before, after;
	struct drv_cqe e;

	alarm(20);
	softnic_counters(d->nic, &before);
	post_nop();
	if (softnic_pump(d->nic) || drv_poll(&cq, &e))
		return 1;
	softnic_counters(d->nic, &after);
	if (after.doorbells + after.blueflames != before.doorbells + before.blueflames)
		return 2;
	if (drv_simple(d, CMD_2RST_QP, qp.qpn) || drv_simple(d, CMD_DESTROY_QP, qp.qpn))
		return 3;
	softnic_close(d->nic);
	return 0;
}

static void fork_at_work(unsigned int flags)
{
	pthread_t thread;
	struct drv_cqe e;

	d = drv_open(flags);
	drv_cq(d, &cq, 8, false);
	drv_qp(d, &qp, &cq, &cq);
	drv_connect(&qp, &qp);
	cr_assert_eq(pthread_create(&thread, NULL, pump, NULL), 0);
	for (int i = 0; i < CHILDREN; i++) {
		int status;
		pid_t pid;

		pid = th_fork();
		if (pid == 0)
			_exit(in_child());
		cr_assert_gt(pid, 0);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_assert(WIFEXITED(status), "child %d was killed by signal %d", i,
			  WTERMSIG(status));
		cr_assert_eq(WEXITSTATUS(status), 0, "child %d exited with status %d", i,
			     WEXITSTATUS(status));
		post_nop();
		drv_wait(&cq, &e);
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	drv_qp_free(&qp);
	drv_cq_free(&cq);
	drv_close(d);
}

Test(fork, at_work__leaves_the_device_to_the_parent, .timeout = 60)
{
	fork_at_work(SOFTNIC_NO_THREAD | SOFTNIC_LOOPBACK_ONLY);
}

/* The parent's scan must not find plain stores of the child, which go to pages of its own. */
Test(fork, pages__are_not_shared, .timeout = 60)
{
	uint64_t *word;
	int status;
	pid_t pid;

	d = drv_open(SOFTNIC_SCAN_UARS);
	word = (uint64_t *)(void *)((uint8_t *)softnic_uar(d->nic, d->uar) + 0x800);
	pid = th_fork();
	if (pid == 0) {
		*word = htobe64(0x1234500000001);
		_exit(*word == 0);
	}
	cr_assert_gt(pid, 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	cr_assert_eq(*word, 0);
	softnic_pump(d->nic);
	drv_close(d);
}
