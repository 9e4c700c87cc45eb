/* SPDX-License-Identifier: BSD-2-Clause */
/* The socket of a device. It serves one client at a time; others wait. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "softnic/vfio_user/vm.h"

/* Returns true if a socket of this name exists, but no process listens on it. */
static bool is_left_behind(const struct sockaddr_un *addr)
{
	struct stat st;
	bool dead;
	int fd;

	/* connect() refuses a file that is no socket with the same error. */
	if (lstat(addr->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return false;
	/* Nonblocking: with a full backlog, connect() fails with EAGAIN, which shows that a server lives. */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	dead = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) && errno == ECONNREFUSED;
	close(fd);
	return dead;
}

static int bind_to(int fd, const struct sockaddr_un *addr)
{
	mode_t mask = umask(0177);
	int err = bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) ? -errno : 0;

	if (err == -EADDRINUSE && is_left_behind(addr) && !unlink(addr->sun_path))
		err = bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) ? -errno : 0;
	umask(mask);
	return err;
}

int vm_listen_open(struct vm_listener *l, struct vm_device *dev)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = strlen(dev->given.name);
	int err;

	if (!len || len >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, dev->given.name, len);
	l->dev = dev;
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return -errno;
	err = bind_to(l->fd, &addr);
	if (!err && listen(l->fd, 4)) {
		err = -errno;
		unlink(addr.sun_path);
	}
	if (err)
		close(l->fd);
	return err;
}

void vm_listen_close(struct vm_listener *l)
{
	close(l->fd);
	unlink(l->dev->given.name);
}

/* Accepts the next client; -ECANCELED when the server ends. Further clients wait in the backlog. */
static int next_client(struct vm_listener *l)
{
	enum { PAUSE_MS = 100 };
	struct pollfd p[2] = { { .fd = l->dev->stop_fd, .events = POLLIN },
			       { .fd = l->fd, .events = POLLIN } };

	for (;;) {
		int sock;

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (p[0].revents)
			return -ECANCELED;
		sock = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
		if (sock >= 0)
			return sock;
		/* If no descriptor is free, the client stays in the backlog, and the listener stays
		 * readable. */
		if (errno != EAGAIN && errno != EINTR)
			poll(p, 1, PAUSE_MS);
	}
}

void vm_listen_run(struct vm_listener *l)
{
	int sock;

	while ((sock = next_client(l)) >= 0)
		vm_serve(l->dev, sock);
}
