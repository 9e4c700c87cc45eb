/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two processes trust each other if they have the same user. In a user namespace the kernel reports
 * every user that the namespace does not map as the overflow uid, so that this number names no user
 * there. Only a namespace that maps all numbers, as the first one does, has no such users.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/user.h"

#define OVERFLOW_UID 65534u
#define ALL_UIDS 4294967295u		/* -1 is none */

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

bool dap_user_is_ours(int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) || who.uid != geteuid())
		return false;
	return who.uid != overflow_uid() || maps_all_uids();
}
