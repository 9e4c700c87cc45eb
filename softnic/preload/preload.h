/* SPDX-License-Identifier: BSD-2-Clause */
/* What both preloaded fronts have in common, and what each of them gives for it. */
#ifndef SOFTNIC_PRELOAD_PRELOAD_H
#define SOFTNIC_PRELOAD_PRELOAD_H

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "softnic/softnic.h"

#define EXPORT __attribute__((visibility("default")))

/* ---- real.c: the C library's functions, past our names */
#define PRE_REAL_NAMES(X) \
	X(open) X(fopen) X(opendir) X(stat) X(lstat) X(fstat) X(access) X(readlink) X(realpath) X(close) \
	X(ioctl) X(pread) X(pwrite) X(socket) X(pthread_spin_unlock)

struct pre_real {
#define PRE_MEMBER(name) __typeof__(&name) name;
	PRE_REAL_NAMES(PRE_MEMBER)
#undef PRE_MEMBER
};
const struct pre_real *pre_real(void);

/* ---- names.c: the names that both stand in front of */
/* path, or where below SYSFS_PATH it lies when it begins like one of trees, which end with NULL. */
const char *pre_moved(const char *path, const char *const *trees, char moved[PATH_MAX]);

/* The fronts' part. False: it is not about a device of ours. ret: what the call returns, or -errno. */
bool front_open(const char *path, int flags, int *ret);
bool front_ioctl(int fd, unsigned long request, void *arg, int *ret);
const char *front_path(const char *path, char moved[PATH_MAX]);

/* ---- env.c */
/* SOFTNIC_DEVICES; how many there could be */
enum { PRE_DEVICES = 16 };
unsigned int pre_device_count(void);
bool pre_asked(const char *variable);		/* is it 1? */
void pre_print_violations(const struct softnic_violation *v, size_t n);
/*
 * Of all handlers of forks the newest one comes first before a fork. The model's locks lie inside of a
 * front's, so its handlers, which its first device installs, have to be the older ones. 0, -errno.
 */
int pre_open_model_once(void);

/* ---- populate.c */
/* What the kernel does when it pins. -EFAULT where a page is missing or read-only. */
int pre_populate(uint64_t start, uint64_t len, bool write);

#endif
