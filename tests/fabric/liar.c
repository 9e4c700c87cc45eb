/* SPDX-License-Identifier: BSD-2-Clause */
/* Bad peers, on the socket and in the shared memory. Each is refused, and other peers continue. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "softnic/fabric/link.h"
#include "tests/fabric/port.h"
#include "tests/harness/harness.h"

static struct port victim, friend;
static struct sn_link_hello good;

static void setup(void)
{
	port_open(&victim, 0);
	port_open(&friend, 0);
	port_aim(&victim, &friend.addr);
	port_aim(&friend, &victim.addr);
	memcpy(good.magic, SN_LINK_MAGIC, sizeof(good.magic));
	good.version = SN_LINK_VERSION;
	good.ring_bytes = PORT_RING;
	memset(&good.self, 0x5a, sizeof(good.self));
}

static void teardown(void)
{
	sn_fab_close(friend.fab);
	sn_fab_close(victim.fab);
}

static int call(const struct sn_addr *to)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "softnic-");
	size_t i;

	for (i = 0; i < sizeof(to->raw); i++)
		n += snprintf(name.sun_path + 1 + n, 3, "%02x", to->raw[i]);
	cr_assert_eq(connect(sock, (struct sockaddr *)&name,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)), 0);
	return sock;
}

enum { MANY = 8 };

/* Sends a message with n copies of one descriptor. */
static void greet_with(int sock, const void *bytes, size_t len, int fd, size_t n)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(MANY * sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)(uintptr_t)bytes, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	size_t i;

	if (n) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
		control.head = (struct cmsghdr){CMSG_LEN(n * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
		for (i = 0; i < n; i++)
			memcpy(CMSG_DATA(&control.head) + i * sizeof(fd), &fd, sizeof(fd));
	}
	cr_assert_geq(sendmsg(sock, &msg, MSG_NOSIGNAL), 0);
}

static void greet(int sock, const void *bytes, size_t len, int fd)
{
	greet_with(sock, bytes, len, fd, fd >= 0);
}

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static int memory(size_t size, int seals)
{
	int fd = memfd_create("liar", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	cr_assert_eq(ftruncate(fd, (off_t)size), 0);
	cr_assert_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* The device has closed the socket of the bad caller, and still serves its good peer. */
static void assert_refused(int sock, uint64_t how_many)
{
	struct sn_fab_stats stats;
	unsigned int before = friend.got;
	char c;

	sn_fab_service(victim.fab);
	sn_fab_stats(victim.fab, &stats);
	cr_assert_eq(stats.refused, how_many);
	cr_assert_eq(recv(sock, &c, 1, MSG_DONTWAIT), 0, "the device has not closed the socket");
	cr_assert_eq(port_send(&victim, friend.next, 64), 0);
	ports_settle(&victim, &friend);
	cr_assert_eq(friend.got, before + 1);
	close(sock);
}

static void refuse(const void *bytes, size_t len, int fd, uint64_t how_many)
{
	int sock = call(&victim.addr);

	greet(sock, bytes, len, fd);
	if (fd >= 0)
		close(fd);
	assert_refused(sock, how_many);
}

Test(liar, bad_hellos__are_refused, .init = setup, .fini = teardown)
{
	size_t size = SN_LINK_CTL_BYTES + 2 * PORT_RING;
	struct sn_link_hello h;
	struct th_usage before, after;

	refuse("what", 4, -1, 1);
	th_usage(&before);
	refuse(&good, sizeof(good), -1, 2);
	refuse(&good, sizeof(good) - 1, memory(size, SEALS), 3);
	h = good;
	h.magic[0] ^= 1;
	refuse(&h, sizeof(h), memory(size, SEALS), 4);
	h = good;
	h.version++;
	refuse(&h, sizeof(h), memory(size, SEALS), 5);
	h = good;
	h.ring_bytes = PORT_RING + 4096;
	refuse(&h, sizeof(h), memory(SN_LINK_CTL_BYTES + 2 * (PORT_RING + 4096), SEALS), 6);
	h = good;
	h.self = victim.addr;
	refuse(&h, sizeof(h), memory(size, SEALS), 7);
	th_usage(&after);
	cr_assert_eq(before.fds, after.fds);
}

Test(liar, hello__with_many_descriptors_is_refused_and_leaks_none, .init = setup, .fini = teardown)
{
	size_t size = SN_LINK_CTL_BYTES + 2 * PORT_RING;
	struct th_usage before, after;
	int fd = memory(size, SEALS), sock;
	size_t n;

	sn_fab_service(victim.fab);
	cr_assert_eq(port_send(&victim, friend.next, 64), 0);
	ports_settle(&victim, &friend);
	th_usage(&before);
	for (n = 2; n <= MANY; n++) {
		sock = call(&victim.addr);
		greet_with(sock, &good, n % 2 ? sizeof(good) : 0, fd, n);
		assert_refused(sock, n - 1);
	}
	th_usage(&after);
	cr_assert_eq(before.fds, after.fds);
	close(fd);
}

Test(liar, bad_memory__is_refused, .init = setup, .fini = teardown)
{
	size_t size = SN_LINK_CTL_BYTES + 2 * PORT_RING;

	refuse(&good, sizeof(good), memory(size, F_SEAL_SHRINK | F_SEAL_GROW), 1);
	refuse(&good, sizeof(good), memory(size, F_SEAL_GROW | F_SEAL_SEAL), 2);
	refuse(&good, sizeof(good), memory(size - 4096, SEALS), 3);
	refuse(&good, sizeof(good), open("/dev/zero", O_RDWR | O_CLOEXEC), 4);
	refuse(&good, sizeof(good), memory(size, SEALS | F_SEAL_WRITE), 5);
}

/* Becomes a peer that behaves well at first. */
static uint8_t *befriend(int *sock)
{
	size_t size = SN_LINK_CTL_BYTES + 2 * PORT_RING;
	int fd = memory(size, SEALS);
	uint8_t *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	cr_assert_neq(map, MAP_FAILED);
	*sock = call(&victim.addr);
	greet(*sock, &good, sizeof(good), fd);
	close(fd);
	sn_fab_service(victim.fab);
	victim.down = 0;
	return map;
}

Test(liar, impossible_words__break_only_that_link, .init = setup, .fini = teardown)
{
	static const uint32_t words[] = {SN_FAB_MAX + 1, 0x80000000u, UINT32_MAX, PORT_RING};
	struct sn_fab_stats stats;
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		unsigned int before = friend.got;
		int sock;
		uint8_t *map = befriend(&sock);

		memcpy(map + SN_LINK_CTL_BYTES, &words[i], sizeof(words[i]));
		cr_assert_eq(sn_fab_poll(victim.fab, 8), 0);
		sn_fab_poll(victim.fab, 8);
		cr_assert_eq(victim.down, 1);
		sn_fab_stats(victim.fab, &stats);
		cr_assert_eq(stats.links_lost, i + 1);
		cr_assert_eq(port_send(&victim, friend.next, 64), 0);
		ports_settle(&victim, &friend);
		cr_assert_eq(friend.got, before + 1);
		munmap(map, SN_LINK_CTL_BYTES + 2 * PORT_RING);
		close(sock);
	}
}

Test(liar, silent_callers__are_bounded, .init = setup, .fini = teardown)
{
	int socks[3 * SN_FAB_HALF_OPEN];
	struct sn_fab_stats stats;
	struct th_usage before, after;
	size_t i;

	cr_assert_eq(port_send(&victim, 0, 64), 0);
	ports_settle(&victim, &friend);
	th_usage(&before);
	for (i = 0; i < sizeof(socks) / sizeof(socks[0]); i++) {
		socks[i] = call(&victim.addr);
		sn_fab_service(victim.fab);
	}
	th_usage(&after);
	cr_assert_leq(after.fds - before.fds, sizeof(socks) / sizeof(socks[0]) + SN_FAB_HALF_OPEN);
	sn_fab_stats(victim.fab, &stats);
	cr_assert_eq(stats.refused, 2 * SN_FAB_HALF_OPEN);
	for (i = 0; i < sizeof(socks) / sizeof(socks[0]); i++)
		close(socks[i]);
	cr_assert_eq(port_send(&victim, 1, 64), 0);
	ports_settle(&victim, &friend);
	cr_assert_eq(friend.got, 2);
}

static int call_as_another_user(int sock, void *arg)
{
	const struct sn_addr *addr = arg;
	size_t size = SN_LINK_CTL_BYTES + 2 * PORT_RING;
	struct port port;
	int s;

	if (setresuid(65534, 65534, 65534))
		return 1;
	port_open(&port, 0);
	port_aim(&port, addr);
	if (port_send(&port, 0, 64) != -EHOSTUNREACH)
		return 2;
	s = call(addr);
	greet(s, &good, sizeof(good), memory(size, SEALS));
	th_meet(sock);
	th_meet(sock);
	sn_fab_close(port.fab);
	return 0;
}

Test(liar, another_user__is_refused_by_both_sides, .init = setup, .fini = teardown)
{
	struct th_child child;
	struct sn_fab_stats stats;

	if (geteuid() != 0)
		cr_skip_test("only root can act as two users");
	cr_assert_eq(th_spawn(&child, call_as_another_user, &victim.addr), 0);
	cr_assert_eq(th_meet(child.sock), 0);
	sn_fab_service(victim.fab);
	sn_fab_stats(victim.fab, &stats);
	cr_assert_eq(stats.links_made, 0);
	cr_assert_geq(stats.refused, 1);
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, TH_PEER_MS), 0);
}

enum { STRANGERS = 2 * SN_FAB_HALF_OPEN };

static int calls_many_times(int sock, void *arg)
{
	unsigned int i;

	if (setresuid(65534, 65534, 65534))
		return 1;
	for (i = 0; i < STRANGERS; i++) {
		call(arg);
		th_meet(sock);
	}
	return 0;
}

Test(liar, other_users__do_not_evict_a_silent_caller_of_our_user, .init = setup, .fini = teardown)
{
	size_t size = SN_LINK_CTL_BYTES + 2 * PORT_RING;
	struct th_child child;
	struct sn_fab_stats stats;
	int sock, fd = memory(size, SEALS);
	unsigned int i;

	if (geteuid() != 0)
		cr_skip_test("only root can act as two users");
	sock = call(&victim.addr);
	sn_fab_service(victim.fab);
	cr_assert_eq(th_spawn(&child, calls_many_times, &victim.addr), 0);
	for (i = 0; i < STRANGERS; i++) {
		cr_assert_eq(th_meet(child.sock), 0);
		sn_fab_service(victim.fab);
	}
	cr_assert_eq(th_join(&child, TH_PEER_MS), 0);
	greet(sock, &good, sizeof(good), fd);
	sn_fab_service(victim.fab);
	sn_fab_stats(victim.fab, &stats);
	cr_assert_eq(stats.refused, STRANGERS);
	cr_assert_eq(stats.links_made, 1);
	close(sock);
	close(fd);
}

/* In a user namespace without a mapping, all users have the same number. */
static int listens_unmapped(int sock, void *arg)
{
	struct sn_fab_stats stats;
	struct port port;
	int refused;

	(void)arg;
	refused = unshare(CLONE_NEWUSER) ? errno : 0;
	th_send(sock, &refused, sizeof(refused));
	if (refused)
		return 0;
	port_open(&port, 0);
	th_send(sock, &port.addr, sizeof(port.addr));
	th_meet(sock);
	sn_fab_service(port.fab);
	sn_fab_stats(port.fab, &stats);
	sn_fab_close(port.fab);
	return stats.links_made == 0 && stats.refused == 1 ? 0 : 1;
}

Test(liar, user__without_a_mapping_is_never_ours)
{
	size_t size = SN_LINK_CTL_BYTES + 2 * PORT_RING;
	struct th_child child;
	struct sn_addr addr;
	int refused, sock;

	cr_assert_eq(th_spawn(&child, listens_unmapped, NULL), 0);
	cr_assert_eq(th_recv(child.sock, &refused, sizeof(refused)), 0);
	if (refused)
		cr_skip_test("user namespaces are forbidden here: %s", strerror(refused));
	cr_assert_eq(th_recv(child.sock, &addr, sizeof(addr)), 0);
	setup();
	sock = call(&addr);
	greet(sock, &good, sizeof(good), memory(size, SEALS));
	cr_assert_eq(th_meet(child.sock), 0);
	cr_assert_eq(th_join(&child, TH_PEER_MS), 0);
	close(sock);
	teardown();
}
