/* SPDX-License-Identifier: BSD-2-Clause */
/* A program with an open adapter forks. Parent and child do not disturb each other. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/life.h"

static struct end a, b;

static void open_both(void)
{
	rig_conf("");
	pair_open(&a, &b);
}

static void close_both(void)
{
	end_close(&a);
	end_close(&b);
}

TestSuite(forks, .init = open_both, .fini = close_both, .timeout = 60);

static void moves(uint64_t cookie)
{
	must(do_recv(&b, cookie, 0, 4096));
	must(do_send(&a, cookie, 0, 4096, 0));
	took(b.recv_evd, cookie, DAT_DTO_SUCCESS);
	took(a.req_evd, cookie, DAT_DTO_SUCCESS);
}

static void ends_with(pid_t child, int want)
{
	int status = 0;

	same(waitpid(child, &status, 0), child);
	same(WIFEXITED(status) ? WEXITSTATUS(status) : -1, want);
}

/* The device reads the data that the parent writes while a child exists, so it uses the parent's
 * pages. */
Test(forks, child__that_lives_on_leaves_the_parents_data_intact)
{
	int ends[2];
	char byte;
	pid_t child;

	same(pipe(ends), 0);
	moves(1);
	child = th_fork();
	if (!child) {
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) == 0 ? 7 : 1);
	}
	memset(a.mem, 0x33, 4096);
	moves(2);
	same(b.mem[0], 0x33);
	same(b.mem[4095], 0x33);
	close(ends[1]);
	ends_with(child, 7);
	close(ends[0]);
}

static int lives(int sock, void *arg)
{
	struct life l;

	(void)sock;
	(void)arg;
	return life_run(&l, SOON_MS) ? 0 : 1;
}

/* Behind VFIO the parent's device is in use, so the child opens another device. */
Test(forks, child__that_opens_its_own_device_leaves_the_parent_working)
{
	struct th_child child;

	same(th_spawn(&child, lives, NULL), 0);
	moves(1);
	same(th_join(&child, SOON_MS), 0);
	moves(2);
}
