/* SPDX-License-Identifier: BSD-2-Clause */
/* The socket of a device, and its clients one after another. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/vfio_user/rig.h"

TestSuite(listen, .timeout = 60);

struct place {
	char dir[32], path[64];
	struct vm_device *dev;
	struct vm_listener l;
	pthread_t thread;
};

static void *run(void *arg)
{
	vm_listen_run(arg);
	return NULL;
}

static void quiet(const char *line)
{
	(void)line;
}

static int open_at(struct place *p)
{
	struct vm_config c = { .name = p->path, .ports = 1, .report = quiet };
	int err;

	cr_assert_eq(vm_device_open(&c, &p->dev), 0);
	err = vm_listen_open(&p->l, p->dev);
	if (err)
		vm_device_close(p->dev);
	return err;
}

static void choose(struct place *p)
{
	strcpy(p->dir, "/tmp/softnic-vm.XXXXXX");
	cr_assert_not_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/nic", p->dir);
}

static void start(struct place *p)
{
	cr_assert_eq(open_at(p), 0);
	cr_assert_eq(pthread_create(&p->thread, NULL, run, &p->l), 0);
}

static void stop(struct place *p)
{
	vm_device_stop(p->dev);
	pthread_join(p->thread, NULL);
	vm_listen_close(&p->l);
	vm_device_close(p->dev);
}

static int call(const struct place *p)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = TH_PEER_MS / 1000 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(a.sun_path, p->path);
	cr_assert_eq(connect(fd, (void *)&a, sizeof(a)), 0, "connect failed: %s", strerror(errno));
	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	return fd;
}

static void ask(int fd)
{
	struct { struct vm_header h; struct vm_version v; } m = {
		.h = { .command = VM_VERSION, .size = sizeof(m) } };

	cr_assert_eq(send(fd, &m, sizeof(m), MSG_NOSIGNAL), (ssize_t)sizeof(m));
}

static bool answered(int fd)
{
	struct vm_header h;

	return recv(fd, &h, sizeof(h), MSG_WAITALL) == sizeof(h) && h.flags == VM_TYPE_REPLY;
}

Test(listen, clients__are_served_one_after_another)
{
	struct place p;
	int first, second;

	choose(&p);
	start(&p);
	first = call(&p);
	ask(first);
	cr_expect(answered(first));
	second = call(&p);
	ask(second);
	close(first);
	cr_expect(answered(second));
	close(second);
	stop(&p);
	cr_expect_eq(rmdir(p.dir), 0,
		     "the server's directory is not empty; is its socket still there?");
}

Test(listen, socket__is_for_its_user_alone)
{
	struct place p;
	struct stat st;

	choose(&p);
	start(&p);
	cr_assert_eq(stat(p.path, &st), 0);
	cr_expect(S_ISSOCK(st.st_mode));
	cr_expect_eq(st.st_mode & 077, 0);
	stop(&p);
	rmdir(p.dir);
}

Test(listen, socket__that_was_left_behind_is_replaced)
{
	struct place p;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	choose(&p);
	strcpy(a.sun_path, p.path);
	cr_assert_eq(bind(fd, (void *)&a, sizeof(a)), 0);
	close(fd);
	start(&p);
	close(call(&p));
	stop(&p);
	rmdir(p.dir);
}

Test(listen, socket__of_another_server_or_another_file_stays)
{
	struct place p, other;
	int fd;

	choose(&p);
	start(&p);
	other = p;
	cr_expect_eq(open_at(&other), -EADDRINUSE);
	close(call(&p));
	stop(&p);
	fd = open(p.path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	cr_expect_eq(open_at(&other), -EADDRINUSE);
	cr_expect_eq(access(p.path, F_OK), 0);
	close(fd);
	unlink(p.path);
	rmdir(p.dir);
}

/* The server is stopped. A connect() that waits for room in the backlog would not return. */
Test(listen, socket__of_a_server_with_a_full_backlog_stays)
{
	struct place p;
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), clients[8];
	size_t n = 0;

	choose(&p);
	strcpy(a.sun_path, p.path);
	cr_assert_eq(bind(fd, (void *)&a, sizeof(a)), 0);
	cr_assert_eq(listen(fd, 4), 0);
	do {
		clients[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	} while (!connect(clients[n++], (void *)&a, sizeof(a)) && n < 8);
	cr_assert_eq(errno, EAGAIN, "the backlog is not full after %zu clients", n);
	cr_expect_eq(open_at(&p), -EADDRINUSE);
	while (n)
		close(clients[--n]);
	close(fd);
	unlink(p.path);
	rmdir(p.dir);
}

Test(listen, stop__with_a_client_in_the_middle_of_a_message_returns)
{
	struct place p;
	int fd;

	choose(&p);
	start(&p);
	fd = call(&p);
	cr_assert_eq(send(fd, "\0\0", 2, MSG_NOSIGNAL), 2);
	stop(&p);
	close(fd);
	rmdir(p.dir);
}
