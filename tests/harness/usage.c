/* SPDX-License-Identifier: BSD-2-Clause */
/* The resources of this process, from /proc/self, and a limit on its descriptors. */
#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/harness/harness.h"

static unsigned int dir_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int n = 0;
	struct dirent *e;

	if (!dir)
		return 0;
	while ((e = readdir(dir)))
		n += e->d_name[0] != '.';
	closedir(dir);
	return n;
}

static unsigned int file_lines(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned int n = 0;
	int c;

	if (!f)
		return 0;
	while ((c = getc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

/* Returns the resident memory without shared memory, because the ring between two devices becomes
 * resident page by page as it is used. */
static size_t rss_kb(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long size = 0, resident = 0, shared = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%lu %lu %lu", &size, &resident, &shared) != 3)
		resident = shared = 0;
	fclose(f);
	return (resident - shared) * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

#define EXITING 4		/* the bit PF_EXITING of linux/sched.h */

/* A joined thread is visible for a moment longer: the kernel wakes the joining thread first. */
static bool is_exiting(const char *thread)
{
	unsigned long flags = 0;
	char path[64], line[512];
	const char *after;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%.16s/stat", thread);
	f = fopen(path, "re");
	if (!f)
		return true;
	/* The fields after the name, which may contain any character: state, five numbers,
	 * flags. */
	after = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	if (after)
		sscanf(after, ") %*c %*d %*d %*d %*d %*d %lu", &flags);
	fclose(f);
	return !after || flags & EXITING;
}

static unsigned int threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *e;
	unsigned int n = 0;

	while (dir && (e = readdir(dir)))
		n += e->d_name[0] != '.' && !is_exiting(e->d_name);
	if (dir)
		closedir(dir);
	return n;
}

/* Defined with the address sanitizer, which keeps freed memory in a quarantine. */
extern void __sanitizer_purge_allocator(void) __attribute__((weak));

void th_usage(struct th_usage *usage)
{
	if (__sanitizer_purge_allocator)
		__sanitizer_purge_allocator();
	usage->fds = dir_entries("/proc/self/fd") - 1;	/* minus the descriptor in use here */
	usage->fds -= th_number_fds();			/* minus the harness's own descriptors */
	usage->threads = threads();
	usage->maps = file_lines("/proc/self/maps");
	usage->rss_kb = rss_kb();
}

static rlim_t saved_limit;

/* Returns the number of the (n + 1)th new descriptor. The open ones may leave gaps. */
static int number_after(unsigned int n)
{
	int fd = dup(0), last;

	if (fd < 0 || !n)
		last = fd;
	else
		last = number_after(n - 1);
	if (fd >= 0)
		close(fd);
	return last;
}

int th_fds_limit(unsigned int n)
{
	struct rlimit lim;
	int end;

	/* before the limit is lowered, since no descriptor is left afterwards */
	th_number();
	end = number_after(n);
	if (end < 0 || getrlimit(RLIMIT_NOFILE, &lim))
		return -errno;
	saved_limit = lim.rlim_cur;
	lim.rlim_cur = (rlim_t)end;
	return setrlimit(RLIMIT_NOFILE, &lim) ? -errno : 0;
}

void th_fds_restore(void)
{
	struct rlimit lim;

	if (saved_limit && !getrlimit(RLIMIT_NOFILE, &lim)) {
		lim.rlim_cur = saved_limit;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

int th_memlock(size_t bytes)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_MEMLOCK, &lim))
		return -errno;
	lim.rlim_cur = bytes;
	if (lim.rlim_max < bytes)
		lim.rlim_max = bytes;
	return setrlimit(RLIMIT_MEMLOCK, &lim) ? -errno : 0;
}

bool th_sleeps(pid_t tid)
{
	char path[64], state = '?';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	fclose(f);
	return state == 'S';
}

/* Checks several times, because the thread may sleep for a moment in a lock on its way. */
bool th_goes_on_sleeping(pid_t tid)
{
	for (int i = 0; i < 3; i++) {
		if (!th_sleeps(tid))
			return false;
		th_sleep_ms(5);
	}
	return true;
}

bool th_asleep(const pid_t *tid, unsigned int ms)
{
	pid_t id;

	return TH_WITHIN(ms, (id = __atomic_load_n(tid, __ATOMIC_ACQUIRE)) &&
			 th_goes_on_sleeping(id));
}

int th_drop_net_raw(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, data))
		return -errno;
	data[0].effective &= ~(UINT32_C(1) << CAP_NET_RAW);
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}
