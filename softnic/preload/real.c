/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "softnic/preload/real.h"

/*
 * Looked up at the first use and not in a constructor: other libraries' constructors open files
 * before ours has run. Two threads that meet here find the same address.
 */
static void *real(_Atomic(void *) *slot, const char *name)
{
	void *f = atomic_load_explicit(slot, memory_order_relaxed);

	if (!f) {
		f = dlsym(RTLD_NEXT, name);
		atomic_store_explicit(slot, f, memory_order_relaxed);
	}
	return f;
}

#define REAL(type, name) \
	static _Atomic(void *) slot; \
	__typeof__(type) *f = (__typeof__(type) *)real(&slot, name)

int pre_real_open(const char *path, int flags, mode_t mode)
{
	REAL(int (const char *, int, ...), "open");

	return f(path, flags, mode);
}

int pre_real_stat(const char *path, struct stat *st)
{
	REAL(int (const char *, struct stat *), "stat");

	return f(path, st);
}

int pre_real_fstat(int fd, struct stat *st)
{
	REAL(int (int, struct stat *), "fstat");

	return f(fd, st);
}

int pre_real_access(const char *path, int mode)
{
	REAL(int (const char *, int), "access");

	return f(path, mode);
}

int pre_real_close(int fd)
{
	REAL(int (int), "close");

	return f(fd);
}

int pre_real_ioctl(int fd, unsigned long request, void *arg)
{
	REAL(int (int, unsigned long, ...), "ioctl");

	return f(fd, request, arg);
}

int pre_real_socket(int domain, int type, int protocol)
{
	REAL(int (int, int, int), "socket");

	return f(domain, type, protocol);
}

int pre_real_spin_unlock(pthread_spinlock_t *lock)
{
	REAL(int (pthread_spinlock_t *), "pthread_spin_unlock");

	return f(lock);
}

int pre_real_lstat(const char *path, struct stat *st)
{
	REAL(int (const char *, struct stat *), "lstat");

	return f(path, st);
}

FILE *pre_real_fopen(const char *path, const char *mode)
{
	REAL(FILE *(const char *, const char *), "fopen");

	return f(path, mode);
}

DIR *pre_real_opendir(const char *path)
{
	REAL(DIR *(const char *), "opendir");

	return f(path);
}

ssize_t pre_real_readlink(const char *path, char *target, size_t size)
{
	REAL(ssize_t (const char *, char *, size_t), "readlink");

	return f(path, target, size);
}

char *pre_real_realpath(const char *path, char *resolved)
{
	REAL(char *(const char *, char *), "realpath");

	return f(path, resolved);
}

ssize_t pre_real_pread(int fd, void *buf, size_t n, off_t off)
{
	REAL(ssize_t (int, void *, size_t, off_t), "pread");

	return f(fd, buf, n, off);
}

ssize_t pre_real_pwrite(int fd, const void *buf, size_t n, off_t off)
{
	REAL(ssize_t (int, const void *, size_t, off_t), "pwrite");

	return f(fd, buf, n, off);
}

unsigned int pre_device_count(void)
{
	static atomic_int count = -1;
	int n = atomic_load_explicit(&count, memory_order_relaxed);

	if (n < 0) {
		const char *env = getenv("SOFTNIC_DEVICES");

		n = env ? atoi(env) : 0;
		n = n < 0 ? 0 : n > PRE_DEVICES ? PRE_DEVICES : n;
		atomic_store_explicit(&count, n, memory_order_relaxed);
	}
	return (unsigned int)n;
}
