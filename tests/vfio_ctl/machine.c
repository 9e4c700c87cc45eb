/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine as the driver and libmlx5 see it: files, permissions, time, threads, descriptors. */
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "hw_mlx5/ctl/vfio.h"
#include "tests/vfio_ctl/vfio_ctl.h"

static bool ends_with(const char *path, const char *end)
{
	size_t n = strlen(path), m = strlen(end);

	return n >= m && !strcmp(path + n - m, end);
}

/* The driver queries the machine: links of the device, and permissions. A test names such a query by
 * the end of its path. */
ssize_t readlink(const char *path, char *target, size_t size)
{
	static const char other[] = "../../../bus/pci/drivers/mlx5_core";

	if ((ends_with(path, "/driver") && calls_fails_named("driver")) ||
	    (ends_with(path, "/iommu_group") && calls_fails_named("iommu_group")))
		return -1;
	if (ends_with(path, "/driver") && calls_fails_named("mlx5_core")) {
		memcpy(target, other, sizeof(other) - 1);
		return sizeof(other) - 1;
	}
	return CALLS_REAL(readlink)(path, target, size);
}

int access(const char *path, int mode)
{
	if ((ends_with(path, "/vfio/vfio") && calls_fails_named("container")) ||
	    (ends_with(path, "/vfio/11") && calls_fails_named("group")))
		return -1;
	return CALLS_REAL(access)(path, mode);
}

static unsigned int pins_for, looks;	/* looks: number of checks by the health thread */

void vfio_pin_for(unsigned int times)
{
	pins_for = times;
}

/* Pins a large range until the health thread has made pins_for checks. Then the pinning fails for lack of
 * memory. */
static int pin_slowly(const struct vfio_iommu_type1_dma_map *map)
{
	unsigned int end = __atomic_load_n(&looks, __ATOMIC_SEQ_CST) + pins_for;

	if (!pins_for || map->size < UINT64_C(1) << 30)
		return 0;
	for (int i = 0; i < 20000 && (int)(end - __atomic_load_n(&looks, __ATOMIC_SEQ_CST)) > 0; i++)
		usleep(1000);
	errno = ENOMEM;
	return -1;
}

/*
 * libmlx5's calls of vfio come through here too: host pages that the device may access. This fails only
 * by name, because libmlx5 44.0 frees a mailbox twice if it could not grow during the boot.
 */
int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *arg;
	int err;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	if (request == VFIO_IOMMU_MAP_DMA && (calls_fails_named("VFIO_IOMMU_MAP_DMA") || pin_slowly(arg)))
		return -1;
	err = CALLS_REAL(ioctl)(fd, request, arg);
	if (!err && request == VFIO_GROUP_GET_STATUS && calls_fails_named("viable"))
		((struct vfio_group_status *)arg)->flags &= ~(uint32_t)VFIO_GROUP_FLAGS_VIABLE;
	return err;
}

int open(const char *path, int flags, ...)
{
	va_list list;
	int mode;

	va_start(list, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, int) : 0;
	va_end(list);
	if ((ends_with(path, "/vendor") && calls_fails_named("vendor")) ||
	    (ends_with(path, "/vfio/11") && calls_fails_named("open group")) ||
	    (!strcmp(path, "/") && calls_fails_named("open /")))
		return -1;
	return CALLS_REAL(open)(path, flags, mode);
}

DIR *opendir(const char *path)
{
	return calls_fails_named(path) ? NULL : CALLS_REAL(opendir)(path);
}

/* Returns true if the call came from the driver itself. Calls by libraries do not fail here: if libmlx5
 * 44.0 finds no descriptor, it keeps the device in use. */
static bool by_driver(const void *caller)
{
	Dl_info own, its;

	return dladdr((const void *)by_driver, &own) && dladdr(caller, &its) &&
	       own.dli_fbase == its.dli_fbase;
}

int eventfd(unsigned int n, int flags)
{
	if (by_driver(__builtin_return_address(0)) && calls_fails_named("eventfd"))
		return -1;
	return CALLS_REAL(eventfd)(n, flags);
}

int dup3(int fd, int to, int flags)
{
	return calls_fails_named("dup3") ? -1 : CALLS_REAL(dup3)(fd, to, flags);
}

static unsigned int no_threads;

unsigned int vfio_no_threads(unsigned int times)
{
	unsigned int left = no_threads;

	no_threads = times;
	return left;
}

/* Only threads of this driver are made to fail; other threads belong to the device. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	int err;

	if (by_driver(__builtin_return_address(0)))
		err = calls_fails_named("pthread_create");
	else
		err = no_threads && no_threads-- ? EAGAIN : 0;
	return err ? err : CALLS_REAL(pthread_create)(thread, attr, fn, arg);
}

/* ---- Time of the health thread ---- */

static bool hurries;
static volatile uint32_t *heart;
static _Thread_local uint64_t gained;	/* time that this thread has skipped, in ms */

void vfio_hurry(volatile uint32_t *counter)
{
	heart = counter;
	__atomic_store_n(&hurries, true, __ATOMIC_SEQ_CST);
}

static _Thread_local bool skips_pauses;

void vfio_skip_pauses(bool on)
{
	skips_pauses = on;
}

static unsigned int late_ms;

void vfio_late(unsigned int ms)
{
	__atomic_store_n(&late_ms, ms, __ATOMIC_SEQ_CST);
}

int poll(struct pollfd *fds, nfds_t n, int ms)
{
	bool watch = ms == VF_HEALTH_MS;
	int ready;

	if (!n && skips_pauses) {
		gained += (uint64_t)ms;
		ms = 0;
	}
	if (watch && calls_fails_named("poll"))
		return -1;
	if (watch && __atomic_load_n(&hurries, __ATOMIC_SEQ_CST)) {
		gained += VF_HEALTH_MS;
		__atomic_add_fetch(&looks, 1, __ATOMIC_SEQ_CST);
		ms = 1;
		if (heart)
			*heart = htobe32(be32toh(*heart) + 1);
	}
	ready = CALLS_REAL(poll)(fds, n, ms);
	if (watch && __atomic_load_n(&late_ms, __ATOMIC_SEQ_CST))
		usleep(late_ms * 1000);
	return ready;
}

static _Thread_local uint64_t fixed;	/* time of this thread's clock, in ms */

void vfio_time(uint64_t ms)
{
	fixed = ms;
}

/* The device gets the true time: a timer in the future would stop its thread. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	int err = CALLS_REAL(clock_gettime)(clock, now);

	if (!err && clock == CLOCK_MONOTONIC && fixed) {
		*now = (struct timespec){ (time_t)(fixed / 1000), (long)(fixed % 1000) * 1000000 };
	} else if (!err && clock == CLOCK_MONOTONIC && by_driver(__builtin_return_address(0))) {
		now->tv_sec += (time_t)(gained / 1000);
		now->tv_nsec += (long)(gained % 1000) * 1000000;
		now->tv_sec += now->tv_nsec / 1000000000;
		now->tv_nsec %= 1000000000;
	}
	return err;
}

/* ---- Event queues ---- */

void (*vfio_eq_made)(const struct mlx5dv_devx_eq *eq);

struct mlx5dv_devx_eq *mlx5dv_devx_create_eq(struct ibv_context *ctx, const void *in, size_t inlen,
					     void *out, size_t outlen)
{
	struct mlx5dv_devx_eq *eq;

	if (calls_fails(__func__))
		return NULL;
	eq = calls_made(CALLS_REAL(mlx5dv_devx_create_eq)(ctx, in, inlen, out, outlen));
	if (eq && vfio_eq_made)
		vfio_eq_made(eq);
	return eq;
}

int mlx5dv_devx_destroy_eq(struct mlx5dv_devx_eq *eq)
{
	int err = calls_fails_named(__func__);

	return err ? err : calls_ended(CALLS_REAL(mlx5dv_devx_destroy_eq)(eq));
}
