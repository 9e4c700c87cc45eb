/* SPDX-License-Identifier: BSD-2-Clause */
/* Stock libmlx5 opens, uses and closes the device. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/stock/devx.h"
#include "tests/vfio/rig.h"

static struct rig_name name;

static void setup(void)
{
	name = rig_name();
}

TestSuite(boot, .init = setup, .timeout = 120);

Test(boot, open_and_close__many_times_succeed)
{
	for (int i = 0; i < 20; i++) {
		struct ibv_context *ctx = rig_open(&name);

		cr_assert_geq(mlx5dv_vfio_get_events_fd(ctx), 0);
		cr_assert_eq(mlx5dv_vfio_process_events(ctx), 0);
		ibv_close_device(ctx);
	}
}

Test(boot, open__names_of_others_are_refused)
{
	static const char *const names[] = { "0000:7f:00.0", "0000:01:00.1", "mlx5_0", "" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect_null(rig_try_open(names[i]), "a device named \"%s\" was opened",
			       names[i]);
}

Test(boot, open__of_an_open_device_returns_ebusy)
{
	struct ibv_context *ctx = rig_open(&name);

	cr_expect_null(rig_try_open(name.pci));
	cr_expect_eq(errno, EBUSY, "the second open did not fail with EBUSY: %s", strerror(errno));
	ibv_close_device(ctx);
	ibv_close_device(rig_open(&name));
}

Test(boot, close__with_objects_alive_leaks_no_descriptor_or_thread)
{
	static uint8_t mem[8192] __attribute__((aligned(4096)));
	struct ibv_context *ctx = rig_open(&name);
	struct th_usage before, after;
	struct ibv_pd *pd;

	th_usage(&before);
	for (int i = 0; i < 5; i++) {
		cr_assert_not_null(pd = ibv_alloc_pd(ctx));
		cr_assert_not_null(ibv_reg_mr(pd, mem, sizeof(mem), IBV_ACCESS_LOCAL_WRITE));
		ibv_close_device(ctx);
		ctx = rig_open(&name);
	}
	th_usage(&after);
	cr_expect_eq(after.fds, before.fds, "%ld descriptors are open instead of %ld",
		     (long)after.fds, (long)before.fds);
	cr_expect_eq(after.threads, before.threads);
	ibv_close_device(ctx);
}

/* Returns the number of pages that the device requests for regular use, by QUERY_PAGES. */
static int32_t pages_wanted(struct ibv_context *ctx)
{
	uint8_t in[16] = { 0 }, out[16] = { 0 };

	dx_head(in, 0x107, 0);
	dx_put(in, 4, 16, 16, 3);
	cr_assert_eq(rig_cmd(ctx, in, sizeof(in), out, sizeof(out)), 0);
	return (int32_t)dx_get(out, 12, 0, 32);
}

/*
 * The firmware requests pages for the objects, and libmlx5 gives them between commands. It returns 16 at
 * a time, again and again, while it has over 48 to spare.
 */
Test(boot, pages__of_many_destroyed_objects_are_returned)
{
	enum { MANY = 3000 };
	struct ibv_context *ctx = rig_open(&name);
	struct ibv_pd **pds = calloc(MANY, sizeof(struct ibv_pd *));

	for (int i = 0; i < MANY; i++)
		cr_assert_not_null(pds[i] = ibv_alloc_pd(ctx), "PD %d cannot be allocated: %s", i,
				   strerror(errno));
	for (int i = 0; i < MANY; i++)
		cr_assert_eq(ibv_dealloc_pd(pds[i]), 0);
	cr_expect_geq(pages_wanted(ctx), -64, "the device keeps the pages of destroyed objects");
	free(pds);
	ibv_close_device(ctx);
}

/* A child has the descriptors but no device. Its parent continues, and keeps the group. */
Test(boot, fork__leaves_the_parent_alone)
{
	struct ibv_context *ctx = rig_open(&name);
	int status;
	pid_t pid = th_fork();

	if (!pid)
		_exit(rig_try_open(name.pci) || errno != EBUSY);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFEXITED(status) && !WEXITSTATUS(status));
	cr_assert_not_null(ibv_alloc_pd(ctx));
	ibv_close_device(ctx);
	ibv_close_device(rig_open(&name));
}

/* Such a child shares the parent's memory, but it has descriptors of its own. */
Test(boot, vfork__child_that_closes_all_descriptors_leaves_the_parent_alone)
{
	struct ibv_context *ctx = rig_open(&name);
	int status;
	pid_t pid = vfork();

	if (!pid) {
		for (int fd = 3; fd < 256; fd++)
			close(fd);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_not_null(ibv_alloc_pd(ctx));
	ibv_close_device(ctx);
	ibv_close_device(rig_open(&name));
}

static int opens_and_waits(int sock, void *arg)
{
	(void)arg;
	if (!rig_try_open(name.pci))
		return 1;
	th_meet(sock);
	pause();
	return 0;
}

Test(boot, killed__leaves_the_group_free)
{
	struct th_child child;

	cr_assert_eq(th_spawn(&child, opens_and_waits, NULL), 0);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_expect_null(rig_try_open(name.pci));
	th_kill(&child);
	ibv_close_device(rig_open(&name));
}

/*
 * libmlx5 answers a page request with a command of its own. If that fails, any command that is waiting
 * at the time returns its error, whatever the device did with it. A dead device refuses pages, so no
 * request may be outstanding when it dies. The last query collects the completion of libmlx5's command.
 */
static void settle_pages(struct ibv_context *ctx)
{
	for (int i = 0; i < 10000 && pages_wanted(ctx) > 0; i++)
		;
	cr_assert_leq(pages_wanted(ctx), 0);
}

/* A dead device reports that it is dead, and can be closed. */
Test(boot, fatal__commands_fail_and_close_ends)
{
	struct ibv_context *ctx = rig_open(&name);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);

	cr_assert_not_null(pd);
	settle_pages(ctx);
	rig_fault(&name, "fatal");
	cr_expect_null(ibv_alloc_pd(ctx));
	cr_expect_eq(ibv_dealloc_pd(pd), 0);
	ibv_close_device(ctx);
	ibv_close_device(rig_open(&name));
}

/* rdma-core 44.0 aborts the program if it handles events of a device that is not healthy. */
Test(boot, fatal__health_is_seen, .signal = SIGABRT)
{
	struct ibv_context *ctx = rig_open(&name);

	rig_fault(&name, "fatal");
	mlx5dv_vfio_process_events(ctx);
}

/* libmlx5 counts polls, at least a second apart, in which the health counter had not changed. */
Test(boot, health__of_a_device_at_rest_stays_good)
{
	struct ibv_context *ctx = rig_open(&name);

	for (int i = 0; i < 5; i++) {
		cr_assert_eq(mlx5dv_vfio_process_events(ctx), 0);
		th_sleep_ms(1010);
	}
	ibv_close_device(ctx);
}
