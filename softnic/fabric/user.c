/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Does the process at the other end of a socket run as this user? In a user namespace the kernel reports
 * every unmapped user as the overflow uid. So that number identifies a user only where all users are
 * mapped, as in the initial namespace.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "softnic/fabric/link.h"

enum { OVERFLOW_UID = 65534 };	/* default of /proc/sys/fs/overflowuid */

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

static bool all_users_are_mapped(void)
{
	FILE *f = fopen("/proc/self/uid_map", "re");
	unsigned int inside, outside, count;
	uint64_t mapped = 0;

	if (!f)
		return false;
	while (fscanf(f, "%u %u %u", &inside, &outside, &count) == 3)
		mapped += count;
	fclose(f);
	/* A map of all uids has every number but (uid_t)-1, which is no uid. */
	return mapped >= UINT32_MAX;
}

bool sn_link_same_user(int sock)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) || cred.uid != geteuid())
		return false;
	return cred.uid != overflow_uid() || all_users_are_mapped();
}
