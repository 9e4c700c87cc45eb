/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creating and destroying links. The side with a packet to send creates the memory, seals its size (a
 * peer that shrank it would raise SIGBUS here), passes it and starts to send at once. The other side
 * checks the peer's user and the memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "softnic/fabric/link.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define BACKLOG 128

static bool ring_bytes_valid(size_t bytes)
{
	return bytes >= SN_LINK_RING_MIN && bytes <= SN_LINK_RING_MAX && !(bytes & (bytes - 1));
}

static socklen_t name_of(const struct sn_addr *gid, struct sockaddr_un *name)
{
	char *p = name->sun_path + 1;

	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	p += sprintf(p, "softnic-");
	for (size_t i = 0; i < sizeof(gid->raw); i++)
		p += sprintf(p, "%02x", gid->raw[i]);
	return (socklen_t)(p - (char *)name);
}

static int open_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

int sn_link_listen(const struct sn_addr *self)
{
	struct sockaddr_un name;
	socklen_t len = name_of(self, &name);
	int fd = open_socket(), err;

	if (fd < 0)
		return fd;
	if (!bind(fd, (struct sockaddr *)&name, len) && !listen(fd, BACKLOG))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* Maps fd and sets up both rings; ours is the index of the ring that this side writes. */
static int map_rings(struct sn_link *link, int fd, size_t ring_bytes, unsigned int ours)
{
	size_t bytes = SN_LINK_CTL_BYTES + 2 * ring_bytes;
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	uint8_t *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, 0);
	struct sn_ring_ctl *ctl = (struct sn_ring_ctl *)(void *)map;

	if (map == MAP_FAILED)
		return -errno;
	/* An access in a forked child then faults, so a child cannot write into the parent's packets. */
	madvise(map, bytes, MADV_DONTFORK);
	link->map = map;
	link->map_bytes = bytes;
	sn_ring_init(&link->tx, &ctl[ours], map + SN_LINK_CTL_BYTES + ours * ring_bytes, ring_bytes);
	sn_ring_init(&link->rx, &ctl[!ours], map + SN_LINK_CTL_BYTES + !ours * ring_bytes, ring_bytes);
	return 0;
}

int sn_link_loop(const struct sn_addr *self, size_t ring_bytes, struct sn_link **out)
{
	struct sn_link *link = calloc(1, sizeof(*link));
	int err;

	if (!link)
		return -ENOMEM;
	link->peer = *self;
	link->sock = -1;
	err = map_rings(link, -1, ring_bytes, 0);
	if (err) {
		free(link);
		return err;
	}
	link->rx = link->tx;
	*out = link;
	return 0;
}

static int make_memory(size_t ring_bytes)
{
	int fd = memfd_create("softnic-link", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int err;

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, (off_t)(SN_LINK_CTL_BYTES + 2 * ring_bytes)) && !fcntl(fd, F_ADD_SEALS, SEALS))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

union fd_message {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

static int send_hello(int sock, const struct sn_fab_config *self, int fd)
{
	struct sn_link_hello hello = {.version = SN_LINK_VERSION,
				      .ring_bytes = (uint32_t)self->ring_bytes, .self = self->gid,
				      .protocol = self->protocol};
	struct iovec iov = {&hello, sizeof(hello)};
	union fd_message control = {0};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			     .msg_controllen = sizeof(control.room)};

	memcpy(hello.magic, SN_LINK_MAGIC, sizeof(hello.magic));
	control.head.cmsg_len = CMSG_LEN(sizeof(int));
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	if (sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -errno;
	return 0;
}

static int connect_to(const struct sn_addr *peer)
{
	struct sockaddr_un name;
	socklen_t len = name_of(peer, &name);
	int sock = open_socket(), err;

	if (sock < 0)
		return sock;
	if (connect(sock, (struct sockaddr *)&name, len))
		err = errno == EAGAIN ? -EBUSY : -EHOSTUNREACH;
	else if (!sn_link_same_user(sock))
		err = -EHOSTUNREACH;
	else
		return sock;
	close(sock);
	return err;
}

int sn_link_connect(const struct sn_fab_config *self, const struct sn_addr *peer,
		    struct sn_link **out)
{
	struct sn_link *link = calloc(1, sizeof(*link));
	int fd, err;

	if (!link)
		return -ENOMEM;
	link->peer = *peer;
	err = link->sock = connect_to(peer);
	if (err < 0)
		goto err_free;
	err = fd = make_memory(self->ring_bytes);
	if (err < 0)
		goto err_free;
	err = map_rings(link, fd, self->ring_bytes, 0);
	if (!err)
		err = send_hello(link->sock, self, fd);
	close(fd);
	if (err)
		goto err_free;
	*out = link;
	return 0;

err_free:
	sn_link_free(link, false);
	return err;
}

/*
 * Keeps the first descriptor of the message in *fd, which is -1 before, and closes all others. Returns
 * how many there were. The kernel closes those that do not fit into msg_control.
 */
static size_t keep_first_fd(struct msghdr *msg, int *fd)
{
	size_t count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n = c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS
				   ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;

		for (size_t i = 0; i < n; i++) {
			int sent;

			memcpy(&sent, CMSG_DATA(c) + i * sizeof(sent), sizeof(sent));
			if (count++)
				close(sent);
			else
				*fd = sent;
		}
	}
	return count;
}

/* Receives the hello and its one descriptor. A message with another number of descriptors is refused. */
static int receive_hello(int sock, struct sn_link_hello *hello, int *fd)
{
	struct iovec iov = {hello, sizeof(*hello)};
	union fd_message control;
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			     .msg_controllen = sizeof(control.room)};
	ssize_t n = recvmsg(sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	size_t fds;

	if (n < 0)
		return -errno;
	fds = keep_first_fd(&msg, fd);
	if (fds == 1 && n == sizeof(*hello) && !(msg.msg_flags & MSG_CTRUNC) &&
	    !memcmp(hello->magic, SN_LINK_MAGIC, sizeof(hello->magic)) &&
	    hello->version == SN_LINK_VERSION && ring_bytes_valid(hello->ring_bytes))
		return 0;
	if (fds)
		close(*fd);
	return -EPROTO;
}

/* Is fd shared memory of the right size, sealed so that its size cannot change? */
static bool memory_valid(int fd, size_t ring_bytes)
{
	struct statfs fs;
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & SEALS) == SEALS && !fstatfs(fd, &fs) &&
	       fs.f_type == TMPFS_MAGIC && !fstat(fd, &st) &&
	       st.st_size == (off_t)(SN_LINK_CTL_BYTES + 2 * ring_bytes);
}

int sn_link_accept(int sock, uint32_t protocol, struct sn_link **out)
{
	struct sn_link *link;
	struct sn_link_hello hello;
	int fd = -1, err = receive_hello(sock, &hello, &fd);

	if (err)
		return err;
	link = calloc(1, sizeof(*link));
	if (!link)
		err = -ENOMEM;
	else if (hello.protocol != protocol || !memory_valid(fd, hello.ring_bytes))
		err = -EPROTO;
	else
		err = map_rings(link, fd, hello.ring_bytes, 1);
	close(fd);
	if (err) {
		free(link);
		return err;
	}
	link->sock = sock;
	link->peer = hello.self;
	*out = link;
	return 0;
}

void sn_link_wake(struct sn_link *link)
{
	static const char byte;

	/* A full socket already contains wake-ups. If the peer is dead, the next service notices
	 * it. Not by send(2), which is a cancellation point. */
	if (link->sock >= 0)
		syscall(SYS_sendto, link->sock, &byte, sizeof(byte), MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0);
}

void sn_link_free(struct sn_link *link, bool in_child)
{
	if (!in_child && link->map)
		munmap(link->map, link->map_bytes);
	if (!in_child && link->sock >= 0)
		close(link->sock);
	free(link);
}
