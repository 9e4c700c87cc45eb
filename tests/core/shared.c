/* SPDX-License-Identifier: BSD-2-Clause */
/* The register of shared memory when another user has forged entries. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/mem/shared.h"
#include "tests/harness/harness.h"

#define NOBODY_UID 65534
#define SIZE 4096
#define COOKIE_AT (sizeof("dapl-lmr.") - 1)
#define MEMORY_AT (COOKIE_AT + (DAP_COOKIE_SIZE * 8 + 5) / 6)

TestSuite(shared_memory, .timeout = 60);

static char cookie[DAP_COOKIE_SIZE];
static struct sockaddr_un entry = { .sun_family = AF_UNIX };
static bool full;

static int enter(void *memory)
{
	return dap_shared_enter(cookie, (uintptr_t)memory, SIZE);
}

/* The abstract name of a socket of this process. */
static void read_name(int fd, char *name, size_t size)
{
	socklen_t len = sizeof(struct sockaddr_un);
	struct sockaddr_un at = { 0 };

	cr_assert_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	snprintf(name, size, "%s", at.sun_path + 1);
}

/* Another user registers other memory under the same cookie. */
static int other_user(int sock, void *arg)
{
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				    strlen(entry.sun_path + 1));
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), caller;

	(void)arg;
	if (setresuid(NOBODY_UID, NOBODY_UID, NOBODY_UID) ||
	    bind(fd, (struct sockaddr *)&entry, len) || listen(fd, 0))
		return 1;
	do
		caller = full ? socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0) : -1;
	while (full && !connect(caller, (struct sockaddr *)&entry, len));
	th_meet(sock);
	return th_meet(sock);
}

static void enter_beside_other_user(bool with_full_backlog)
{
	void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct th_child child;
	int first, second;
	pid_t pid = getpid();

	if (geteuid())
		cr_skip_test("only root can start a process of another user");
	memcpy(cookie, &pid, sizeof(pid));
	first = enter(memory);
	cr_assert_geq(first, 0, "the first dap_shared_enter failed: %s", strerror(-first));
	read_name(first, entry.sun_path + 1, sizeof(entry.sun_path) - 1);
	entry.sun_path[1 + MEMORY_AT] ^= 1;
	full = with_full_backlog;
	cr_assert_eq(th_spawn(&child, other_user, NULL), 0);
	cr_assert_eq(th_meet(child.sock), 0);
	second = enter(memory);
	cr_assert_geq(second, 0, "the second dap_shared_enter failed: %s", strerror(-second));
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, 10000), 0);
	close(first);
	close(second);
}

Test(shared_memory, enter__entry_of_another_user_is_passed_over)
{
	enter_beside_other_user(false);
}

Test(shared_memory, enter__full_backlog_of_another_user_is_passed_over)
{
	enter_beside_other_user(true);
}

/* The descriptor that is opened last is the one that checks the other entry's owner. */
Test(shared_memory, enter__without_descriptors_returns_emfile)
{
	void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	void *other = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = getpid();
	int first;

	memcpy(cookie, &pid, sizeof(pid));
	first = enter(memory);
	cr_assert_geq(first, 0);
	cr_assert_eq(enter(other), -EEXIST);
	for (unsigned int room = 0; room < 3; room++) {
		cr_assert_eq(th_fds_limit(room), 0);
		cr_assert_eq(enter(other), -EMFILE);
		th_fds_restore();
	}
	close(first);
}
