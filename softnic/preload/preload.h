/* SPDX-License-Identifier: BSD-2-Clause */
/* What both preloaded fronts need of the system. real.c: the C library's functions, past our names. */
#ifndef SOFTNIC_PRELOAD_PRELOAD_H
#define SOFTNIC_PRELOAD_PRELOAD_H

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* The C library's functions that the fronts stand in front of. */
#define PRE_REAL_NAMES(X) \
	X(open) X(fopen) X(opendir) X(stat) X(lstat) X(fstat) X(access) X(readlink) X(realpath) X(close) \
	X(ioctl) X(pread) X(pwrite) X(socket) X(pthread_spin_unlock)

struct pre_real {
#define PRE_MEMBER(name) __typeof__(&name) name;
	PRE_REAL_NAMES(PRE_MEMBER)
#undef PRE_MEMBER
};
const struct pre_real *pre_real(void);

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
