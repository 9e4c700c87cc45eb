/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sockets and their names: options and addresses, descriptors sent and received, the port of a
 * connection qualifier, and the abstract names of this host's local sockets.
 *
 * A connection qualifier has 64 bits and a TCP port has 16, so a qualifier is folded:
 *
 *	port = 16384 + (fold14(conn_qual) xor 8192)
 *
 * where fold14 is the exclusive or of its 14-bit pieces. The ports are 16384 to 32767, below those
 * of Linux's ephemeral range. Qualifiers that differ only in their
 * lowest 14 bits have different ports. No qualifier maps to the port of the same number, because a
 * consumer may use that itself. The REQ contains the whole qualifier, so several in one process may
 * share a port; between processes of a host the first one gets it.
 *
 * Any user may bind any abstract name. So TCP is used if the name does not exist, if its owner is
 * another user, or if its backlog is full: the kernel reports the owner only of a connected socket.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/cm/sock.h"
#include "core/user.h"

#define PORT_BITS 14
#define PORT_MASK ((1u << PORT_BITS) - 1)
#define MUX_NAME "dapl-direct.line."
/* a random suffix follows, so that no other process can bind the name first */
#define LOCAL_NAME "dapl-direct.near."

uint16_t cm_port_of(uint64_t conn_qual)
{
	unsigned int fold = 0;

	for (; conn_qual; conn_qual >>= PORT_BITS)
		fold ^= (unsigned int)conn_qual & PORT_MASK;
	return (uint16_t)(1u << PORT_BITS | (fold ^ 1u << (PORT_BITS - 1)));
}

/* ---- Names of local sockets ---- */

socklen_t cm_handoff_name(uint64_t conn_qual, struct sockaddr_un *name)
{
	int len;

	*name = (struct sockaddr_un){ .sun_family = AF_UNIX };
	len = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "dapl-direct.%u.%llx",
		       geteuid(), (unsigned long long)conn_qual);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

/* The host in hexadecimal: 8 digits of IPv4, 32 of IPv6. */
static const char *hex_of(const union dap_addr *at, char hex[33])
{
	const uint8_t *host = (const uint8_t *)&at->v4.sin_addr;
	size_t n = sizeof(at->v4.sin_addr);

	if (dap_addr_is_v6(at)) {
		host = at->v6.sin6_addr.s6_addr;
		n = sizeof(at->v6.sin6_addr);
	}
	for (size_t i = 0; i < n; i++)
		sprintf(hex + 2 * i, "%02x", host[i]);
	return hex;
}

static bool read_hex(const char *hex, union dap_addr *at)
{
	uint8_t host[16];
	size_t n = strlen(hex) / 2;

	if (strlen(hex) % 2 || (n != 4 && n != 16))
		return false;
	for (size_t i = 0; i < n; i++)
		sscanf(hex + 2 * i, "%2hhx", &host[i]);
	memset(at, 0, sizeof(*at));
	at->sa.sa_family = n == 4 ? AF_INET : AF_INET6;
	memcpy(n == 4 ? (void *)&at->v4.sin_addr : &at->v6.sin6_addr, host, n);
	return true;
}

socklen_t cm_local_name(const union dap_addr *at, struct sockaddr_un *name)
{
	char hex[33];
	int len;

	*name = (struct sockaddr_un){ .sun_family = AF_UNIX };
	len = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, MUX_NAME "%u.%s.%u",
		       geteuid(), hex_of(at, hex), dap_addr_port(at));
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

bool cm_local_parse(const struct sockaddr_un *name, socklen_t len, union dap_addr *at)
{
	char text[sizeof(name->sun_path)] = "", hex[33];
	size_t head = offsetof(struct sockaddr_un, sun_path) + 1;
	unsigned int port;

	if (name->sun_family != AF_UNIX || len <= head || name->sun_path[0])
		return false;
	memcpy(text, name->sun_path + 1, len - head);
	if (sscanf(text, LOCAL_NAME "%32[0-9a-f].%5u", hex, &port) != 2 || port > UINT16_MAX ||
	    !read_hex(hex, at))
		return false;
	dap_addr_set_port(at, (uint16_t)port);
	return true;
}

int cm_local_connect(const union dap_addr *to)
{
	struct sockaddr_un name;
	socklen_t len = cm_local_name(to, &name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (!connect(fd, (const struct sockaddr *)&name, len) && dap_user_is_ours(fd))
		return fd;
	close(fd);
	return -ENOENT;
}

static int bind_pair(int fd, const union dap_addr *at)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	uint64_t rest[2];
	char hex[33];
	int len;

	if (getrandom(rest, sizeof(rest), 0) != sizeof(rest))
		return -1;
	len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, LOCAL_NAME "%s.%u.%jx.%jx",
		       hex_of(at, hex), dap_addr_port(at), (uintmax_t)rest[0], (uintmax_t)rest[1]);
	return bind(fd, (struct sockaddr *)&name,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len));
}

int cm_local_pair(const union dap_addr *at, int fd[2])
{
	int err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd))
		return -errno;
	if (!bind_pair(fd[0], at))
		return 0;
	err = -errno;
	close(fd[0]);
	close(fd[1]);
	return err;
}

/* ---- Options and addresses ---- */

/* A vanished host is detected within about ten seconds, idle or not. */
void cm_sock_options(int fd)
{
	const int on = 1, idle = 5, interval = 2, count = 3, user_ms = 10000;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_ms, sizeof(user_ms));
}

static bool read_end(const struct sockaddr_storage *end, socklen_t len, union dap_addr *to)
{
	if (end->ss_family == AF_UNIX)
		return cm_local_parse((const struct sockaddr_un *)end, len, to);
	memcpy(to, end, sizeof(*to));
	dap_addr_unmap(to);
	return true;
}

bool cm_sock_ends(int fd, union dap_addr *own, union dap_addr *peer)
{
	struct sockaddr_storage o, p;
	socklen_t lo = sizeof(o), lp = sizeof(p);

	if (getsockname(fd, (struct sockaddr *)&o, &lo) || getpeername(fd, (struct sockaddr *)&p, &lp))
		return false;
	if (!read_end(&o, lo, own))		/* a connecting socket has no name */
		return read_end(&p, lp, peer) && (*own = *peer, true);
	if (!read_end(&p, lp, peer))
		*peer = *own;
	return true;
}

/*
 * Within a host the kernel reports every closed connection, so keepalive is off. With thousands of
 * idle connections the probes would expire in one tick and overflow the kernel's backlog; all
 * would count as dead.
 */
bool cm_sock_connected(int fd)
{
	union dap_addr own, peer;
	const int off = 0;

	if (!cm_sock_ends(fd, &own, &peer) || !dap_addr_same(&own, &peer))
		return false;
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &off, sizeof(off));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &off, sizeof(off));
	return true;
}

/* ---- Sending and receiving descriptors ---- */

ssize_t cm_send_fd(int sock, struct iovec *iov, size_t n, int fd)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .room = { 0 } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = n, .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &fd, sizeof(int));
	return sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int one_fd(struct msghdr *m)
{
	bool cut = m->msg_flags & MSG_CTRUNC, more = m->msg_flags & MSG_TRUNC;
	int only = -ENOENT, fd;

	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = CMSG_LEN(0); at + sizeof(fd) <= h->cmsg_len; at += sizeof(fd)) {
			memcpy(&fd, (char *)h + at, sizeof(fd));
			more |= only >= 0;
			if (only >= 0)
				close(fd);
			else
				only = fd;
		}
	}
	if (only < 0)
		return more ? -EPROTO : cut ? -EMFILE : -ENOENT;
	if (!more && !cut)
		return only;
	close(only);
	return -EPROTO;
}

ssize_t cm_recv_fd(int sock, void *to, size_t room, int *fd)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { to, room };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t n;

	do
		n = recvmsg(sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	*fd = n < 0 ? -ENOENT : one_fd(&m);
	return n < 0 ? -errno : n;
}
