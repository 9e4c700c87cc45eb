/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two processes trust each other if they run as the same user. In a user namespace the kernel
 * reports every unmapped user as the overflow uid, so this uid identifies no user there. Only a
 * namespace that maps all uids, such as the first one, has no unmapped users.
 */
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/user.h"

#define OVERFLOW_UID 65534u
#define ALL_UIDS 4294967295u		/* -1 is not a uid */

static uid_t overflow_uid(void)
{
	FILE *f = fopen("/proc/sys/kernel/overflowuid", "re");
	unsigned int uid = OVERFLOW_UID;

	if (!f)
		return uid;
	if (fscanf(f, "%u", &uid) != 1)
		uid = OVERFLOW_UID;
	fclose(f);
	return uid;
}

static bool maps_all_uids(void)
{
	FILE *f = fopen("/proc/self/uid_map", "re");
	unsigned long long mapped = 0;
	unsigned int count;

	if (!f)
		return false;
	while (fscanf(f, "%*u %*u %u", &count) == 1)
		mapped += count;
	fclose(f);
	return mapped >= ALL_UIDS;
}

static bool is_our_uid(uid_t uid)
{
	return uid == geteuid() && (uid != overflow_uid() || maps_all_uids());
}

bool dap_user_is_ours(int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) && is_our_uid(who.uid);
}

/* ---- sock_diag(7): owners of the listening local sockets of this network namespace ---- */

static int request_listeners(void)
{
	const struct {
		struct nlmsghdr head;
		struct unix_diag_req req;
	} ask = {
		.head = { .nlmsg_len = sizeof(ask), .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.req = { .sdiag_family = AF_UNIX, .udiag_states = 1u << TCP_LISTEN,
			 .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_UID },
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (fd >= 0 && send(fd, &ask, sizeof(ask), 0) != (ssize_t)sizeof(ask)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Is the entry's name the given one, and its owner our user? */
static bool is_our_entry(const uint8_t *entry, size_t len, const char *path, size_t path_len)
{
	uid_t uid = (uid_t)-1;
	bool same = false;
	struct rtattr a;

	for (size_t at = NLMSG_LENGTH(NLMSG_ALIGN(sizeof(struct unix_diag_msg)));
	     at + sizeof(a) <= len; at += RTA_ALIGN(a.rta_len)) {
		const uint8_t *data = entry + at + RTA_LENGTH(0);

		memcpy(&a, entry + at, sizeof(a));
		if (a.rta_len < RTA_LENGTH(0) || a.rta_len > len - at)
			return false;
		if (a.rta_type == UNIX_DIAG_NAME)
			same = RTA_PAYLOAD(&a) == path_len && !memcmp(data, path, path_len);
		if (a.rta_type == UNIX_DIAG_UID && RTA_PAYLOAD(&a) == sizeof(uid))
			memcpy(&uid, data, sizeof(uid));
	}
	return same && is_our_uid(uid);
}

/* Parses one packet of the answer; *more: it was not the last. */
static bool find_listener(const uint8_t *in, size_t len, const char *path, size_t path_len,
			  bool *more)
{
	struct nlmsghdr h;

	for (size_t at = 0; at + sizeof(h) <= len; at += NLMSG_ALIGN(h.nlmsg_len)) {
		memcpy(&h, in + at, sizeof(h));
		*more = h.nlmsg_type == SOCK_DIAG_BY_FAMILY && h.nlmsg_len >= sizeof(h) &&
			h.nlmsg_len <= len - at;
		if (!*more)
			return false;
		if (is_our_entry(in + at, h.nlmsg_len, path, path_len))
			return true;
	}
	return false;
}

bool dap_user_has_listener(const struct sockaddr_un *name, socklen_t len)
{
	const size_t path_len = len - offsetof(struct sockaddr_un, sun_path);
	int fd = request_listeners();
	bool found = false, more = fd >= 0;
	uint8_t in[16384];

	while (more && !found) {
		ssize_t n = recv(fd, in, sizeof(in), MSG_DONTWAIT);

		more = n > 0;
		if (more)
			found = find_listener(in, (size_t)n, name->sun_path, path_len, &more);
	}
	if (fd >= 0)
		close(fd);
	return found;
}
