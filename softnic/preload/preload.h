/* SPDX-License-Identifier: BSD-2-Clause */
/* The common part of both preloaded fronts, and the functions that each of them supplies. */
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
/* One function under two names: off_t has 64 bits. */
#define EXPORT_AS(name) EXPORT __attribute__((alias(#name)))

/* ---- Functions of real.c, which call the C library's own */
#define PRE_REAL_NAMES(X) \
	X(open) X(fopen) X(opendir) X(stat) X(lstat) X(fstat) X(access) X(readlink) X(realpath) X(close) \
	X(ioctl) X(read) X(pread) X(pwrite) X(socket) X(pthread_spin_unlock)

struct pre_real {
#define PRE_MEMBER(name) __typeof__(&name) name;
	PRE_REAL_NAMES(PRE_MEMBER)
#undef PRE_MEMBER
};
const struct pre_real *pre_real(void);

/* ---- Functions of names.c: calls that both fronts replace */
/* If path starts with one of the NULL-terminated trees, returns its place below SYSFS_PATH; else path
 * itself. */
const char *pre_moved(const char *path, const char *const *trees, char moved[PATH_MAX]);

/* Each front implements these. False: the call is not for a software device, so libc gets it. True: *ret is
 * its result, or -errno. */
bool front_open(const char *path, int flags, int *ret);
bool front_ioctl(int fd, unsigned long request, void *arg, int *ret);
const char *front_path(const char *path, char moved[PATH_MAX]);

/* ---- Functions of env.c */
/* The largest value of SOFTNIC_DEVICES */
enum { PRE_DEVICES = 16 };
unsigned int pre_device_count(void);
/* Returns the index of the device whose path is the prefix and a number, counted from first; or -1. */
int pre_device_of(const char *path, const char *prefix, unsigned int first);
bool pre_asked(const char *variable);		/* is the variable's value 1? */
void pre_print_violations(const struct softnic_violation *v, size_t n);
/*
 * Opens the model. Call this before the front registers its fork handlers, so that the model's
 * handlers are older. The newest handler runs first before a fork, and a front's locks are taken
 * before the model's. Returns 0 or -errno.
 */
int pre_open_model_once(void);

/* ---- A function of duplicate.c */
/* Returns a descriptor other than fd that is_duplicate() accepts, or -1. */
int pre_other_fd(int fd, bool (*is_duplicate)(const void *ctx, int other), const void *ctx);

#endif
