/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's list of abstract socket names serves as the list of shared memory. A process that
 * registers memory listens on a socket whose name contains the cookie, the identity of the memory,
 * and random bytes. The name disappears with the last process that holds the socket. Every process
 * adds its entry first and then checks all others, so of two conflicting processes at least one
 * notices.
 *
 * Any user may bind any name, so an entry counts only if the kernel reports our user as its owner.
 * The kernel reports the owner only of a connected socket. Since no process accepts, the backlog
 * of an entry can be full; then its owner is unknown, and the entry counts as another user's.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/mem/shared.h"
#include "core/user.h"

#define PREFIX "dapl-lmr."
#define DIGIT "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-"
#define OWN_BYTES 3
#define TEXT(bytes) (((bytes) * 8 + 5) / 6)
#define COOKIE_TEXT TEXT(DAP_COOKIE_SIZE)
#define MEMORY_TEXT TEXT(sizeof(struct memory))
#define NAME_LEN (sizeof(PREFIX) - 1 + COOKIE_TEXT + MEMORY_TEXT + TEXT(OWN_BYTES))
#define TRIES 16

/* Identity of the memory at the start of the region: equal in all processes that map it. */
struct memory {
	uint64_t inode, offset, length;
	uint32_t device;
} __attribute__((packed));

_Static_assert(NAME_LEN < sizeof(((struct sockaddr_un *)0)->sun_path), "a name fits in an address");

/* Six bits per character. */
static char *put_text(char *to, const void *from, size_t len)
{
	const uint8_t *p = from;

	for (size_t bit = 0; bit < len * 8; bit += 6) {
		size_t at = bit / 8;
		unsigned int v = p[at] >> bit % 8;

		if (at + 1 < len)
			v |= (unsigned int)p[at + 1] << (8 - bit % 8);
		*to++ = DIGIT[v & 63];
	}
	return to;
}

static int make_name(char *name, const char *cookie, const struct memory *m)
{
	uint8_t own[OWN_BYTES];
	char *p = name;

	if (getrandom(own, sizeof(own), 0) != sizeof(own))
		return -EAGAIN;
	p = stpcpy(p, PREFIX);
	p = put_text(p, cookie, DAP_COOKIE_SIZE);
	p = put_text(p, m, sizeof(*m));
	p = put_text(p, own, sizeof(own));
	*p = '\0';
	return 0;
}

static socklen_t address_of(const char *name, struct sockaddr_un *sa)
{
	*sa = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(sa->sun_path + 1, name, NAME_LEN);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + NAME_LEN);
}

static int open_stream(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

static int listen_as(const char *name)
{
	struct sockaddr_un sa;
	socklen_t len = address_of(name, &sa);
	int fd = open_stream(), err;

	if (fd < 0)
		return fd;
	if (!bind(fd, (struct sockaddr *)&sa, len) && !listen(fd, SOMAXCONN))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* Does the socket of that name belong to our user? Returns 1, 0 or -errno. */
static int is_of_us(const char *name)
{
	struct sockaddr_un sa;
	socklen_t len = address_of(name, &sa);
	int fd = open_stream(), ours;

	if (fd < 0)
		return fd;
	ours = !connect(fd, (struct sockaddr *)&sa, len) && dap_user_is_ours(fd);
	close(fd);
	return ours;
}

/* Two entries conflict if exactly one of cookie and memory is equal. */
static bool names_conflict(const char *a, const char *b)
{
	const size_t cookie = sizeof(PREFIX) - 1, memory = cookie + COOKIE_TEXT;

	return !memcmp(a + cookie, b + cookie, COOKIE_TEXT) !=
	       !memcmp(a + memory, b + memory, MEMORY_TEXT);
}

static int ask_others(const char *name)
{
	FILE *f = fopen("/proc/net/unix", "re");
	char line[512];
	int err = 0;

	if (!f)
		return -errno;
	while (!err && fgets(line, sizeof(line), f)) {
		char *other = strstr(line, " @" PREFIX);

		if (!other || strcspn(other + 2, "\n") != NAME_LEN)
			continue;
		other[2 + NAME_LEN] = '\0';
		if (names_conflict(name, other + 2))
			err = is_of_us(other + 2);
	}
	fclose(f);
	return err > 0 ? -EEXIST : err;
}

/* Adds one line of /proc/self/maps if it is part of the range; *at moves to its end. */
static int add_mapping(const char *line, uint64_t end, uint64_t *at, struct memory *m)
{
	uint64_t from, to, offset, inode;
	unsigned int major, minor, device;
	char rights[5];

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64, &from, &to,
		   rights, &offset, &major, &minor, &inode) != 7)
		return -EFAULT;
	if (to <= *at || from >= end)
		return 0;
	if (from > *at)
		return -EFAULT;
	offset += *at - from;
	device = major << 20 | minor;
	if (rights[3] != 's')
		return -EXDEV;
	if (!m->length)
		*m = (struct memory){.inode = inode, .device = device, .offset = offset};
	else if (m->inode != inode || m->device != device ||
		 m->offset + m->length != offset)
		return -EXDEV;
	to = to < end ? to : end;
	m->length += to - *at;
	*at = to;
	return 0;
}

static int identify(uint64_t addr, uint64_t length, struct memory *m)
{
	FILE *f = fopen("/proc/self/maps", "re");
	uint64_t at = addr;
	char *line = NULL;
	size_t size = 0;
	int err = 0;

	*m = (struct memory){.length = 0};
	if (!f)
		return -errno;
	while (!err && at < addr + length && getline(&line, &size, f) > 0)
		err = add_mapping(line, addr + length, &at, m);
	if (!err && at < addr + length)
		err = feof(f) ? -EFAULT : -ENOMEM;
	free(line);
	fclose(f);
	return err;
}

int dap_shared_enter(const char cookie[DAP_COOKIE_SIZE], uint64_t addr, uint64_t length)
{
	char name[NAME_LEN + 1];
	struct memory m;
	int fd, err = identify(addr, length, &m);

	if (err)
		return err;
	for (int i = 0; i < TRIES; i++) {
		err = make_name(name, cookie, &m);
		fd = err ? err : listen_as(name);
		if (fd != -EADDRINUSE)
			break;
	}
	if (fd < 0)
		return fd;
	err = ask_others(name);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}
