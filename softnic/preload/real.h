/* SPDX-License-Identifier: BSD-2-Clause */
/* What both preloaded fronts need of the system. real.c: the C library's functions, past our names. */
#ifndef SOFTNIC_PRELOAD_REAL_H
#define SOFTNIC_PRELOAD_REAL_H

#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

int pre_real_open(const char *path, int flags, mode_t mode);
int pre_real_stat(const char *path, struct stat *st);
int pre_real_fstat(int fd, struct stat *st);
int pre_real_access(const char *path, int mode);
int pre_real_close(int fd);
int pre_real_ioctl(int fd, unsigned long request, void *arg);
int pre_real_socket(int domain, int type, int protocol);
int pre_real_spin_unlock(pthread_spinlock_t *lock);

/* ... and those that only the VFIO front stands in front of */
int pre_real_lstat(const char *path, struct stat *st);
FILE *pre_real_fopen(const char *path, const char *mode);
DIR *pre_real_opendir(const char *path);
ssize_t pre_real_readlink(const char *path, char *target, size_t size);
char *pre_real_realpath(const char *path, char *resolved);
ssize_t pre_real_pread(int fd, void *buf, size_t n, off_t off);
ssize_t pre_real_pwrite(int fd, const void *buf, size_t n, off_t off);

/* SOFTNIC_DEVICES; how many there could be */
enum { PRE_DEVICES = 16 };
unsigned int pre_device_count(void);

/* The mode is there only when a file may be made. */
#define PRE_OPEN_MODE(mode, flags) \
	mode_t mode = 0; \
	if ((flags) & (O_CREAT | __O_TMPFILE)) { \
		va_list args; \
		va_start(args, flags); \
		mode = va_arg(args, mode_t); \
		va_end(args); \
	}

/* populate.c: what the kernel does when it pins. -EFAULT where a page is missing or read-only. */
int pre_populate(uint64_t start, uint64_t len, bool write);

#endif
