/* SPDX-License-Identifier: BSD-2-Clause */
/* Receives and sends messages, with the descriptors that come with them. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "softnic/vfio_user/vm.h"

/* The kernel passes at most this many descriptors (SCM_MAX_FD): those above VM_FDS_MAX are closed. */
enum { CONTROL_FDS = 253 };

union control {
	char bytes[CMSG_SPACE(sizeof(int) * CONTROL_FDS)];
	struct cmsghdr align;
};

int vm_message_init(struct vm_message *m)
{
	*m = (struct vm_message){ .in = malloc(VM_PAYLOAD_MAX), .out = malloc(VM_PAYLOAD_MAX),
				  .out_fd = -1 };
	if (m->in && m->out)
		return 0;
	vm_message_free(m);
	return -ENOMEM;
}

void vm_message_free(struct vm_message *m)
{
	vm_message_close_fds(m);
	free(m->in);
	free(m->out);
}

void vm_message_close_fds(struct vm_message *m)
{
	for (unsigned int i = 0; i < m->nfds; i++)
		close(m->fds[i]);
	m->nfds = 0;
}

/* Waits until the socket is ready. Returns 0, or -ECANCELED when the server ends. */
static int wait_for(struct vm_device *dev, int sock, short events)
{
	struct pollfd p[2] = { { .fd = sock, .events = events }, { .fd = dev->stop_fd, .events = POLLIN } };

	while (poll(p, 2, -1) < 0)
		if (errno != EINTR)
			return -errno;
	return p[1].revents ? -ECANCELED : 0;
}

static void keep_fds(struct vm_message *m, struct msghdr *h)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (m->nfds < VM_FDS_MAX) {
				m->fds[m->nfds++] = fd;
			} else {
				close(fd);
				m->fds_lost = true;
			}
		}
	}
	m->fds_lost |= !!(h->msg_flags & MSG_CTRUNC);
}

/* Receives all of len bytes. Returns 1; 0 if the socket was closed before the first byte; -EPIPE
 * after it. */
static int receive(struct vm_device *dev, int sock, struct vm_message *m, void *buf, size_t len)
{
	size_t have = 0;

	while (have < len) {
		union control control;
		struct iovec v = { (uint8_t *)buf + have, len - have };
		struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control,
				    .msg_controllen = sizeof(control) };
		int err = wait_for(dev, sock, POLLIN);
		ssize_t n;

		if (err)
			return err;
		n = recvmsg(sock, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return have ? -EPIPE : 0;
		keep_fds(m, &h);
		have += (size_t)n;
	}
	return 1;
}

int vm_receive(struct vm_device *dev, int sock, struct vm_message *m)
{
	int ret;

	m->fds_lost = false;
	m->len = m->out_len = 0;
	m->out_fd = -1;
	ret = receive(dev, sock, m, &m->header, sizeof(m->header));
	if (ret <= 0)
		goto failed;
	if (m->header.size < sizeof(m->header) || m->header.size - sizeof(m->header) > VM_PAYLOAD_MAX) {
		vm_report(dev, "command %u: message of %u bytes; connection closed", m->header.command,
			  m->header.size);
		return -EPROTO;
	}
	m->len = m->header.size - sizeof(m->header);
	ret = receive(dev, sock, m, m->in, m->len);
	if (ret > 0 || !m->len)
		return 1;
	ret = ret ? ret : -EPIPE;
failed:
	if (ret == -EPIPE)
		vm_report(dev, "connection closed in the middle of a message");
	return ret;
}

static void attach(struct msghdr *h, union control *control, int fd)
{
	memset(control, 0, sizeof(*control));
	h->msg_control = control;
	h->msg_controllen = CMSG_SPACE(sizeof(fd));
	control->align.cmsg_level = SOL_SOCKET;
	control->align.cmsg_type = SCM_RIGHTS;
	control->align.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&control->align), &fd, sizeof(fd));
}

/* The descriptor is sent with the first byte. */
static int send_all(struct vm_device *dev, int sock, struct iovec v[2], int fd)
{
	while (v[0].iov_len || v[1].iov_len) {
		union control control;
		struct msghdr h = { .msg_iov = v, .msg_iovlen = 2 };
		ssize_t n;

		if (fd >= 0)
			attach(&h, &control, fd);
		n = sendmsg(sock, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN) {
			int err = wait_for(dev, sock, POLLOUT);

			if (err)
				return err;
			continue;
		}
		if (n < 0 && errno != EINTR)
			return -errno;
		for (size_t i = 0, left = n < 0 ? 0 : (size_t)n; i < 2 && left; i++) {
			size_t part = left < v[i].iov_len ? left : v[i].iov_len;

			v[i].iov_base = (uint8_t *)v[i].iov_base + part;
			v[i].iov_len -= part;
			left -= part;
		}
		fd = n > 0 ? -1 : fd;
	}
	return 0;
}

int vm_reply(struct vm_device *dev, int sock, struct vm_message *m, int err)
{
	struct vm_header h = { .id = m->header.id, .command = m->header.command, .flags = VM_TYPE_REPLY };
	size_t len = err ? 0 : m->out_len;
	struct iovec v[2] = { { &h, sizeof(h) }, { m->out, len } };

	h.size = (uint32_t)(sizeof(h) + len);
	if (err) {
		h.flags |= VM_ERROR;
		h.error = (uint32_t)-err;
	}
	return send_all(dev, sock, v, err ? -1 : m->out_fd);
}
