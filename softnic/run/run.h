/* SPDX-License-Identifier: BSD-2-Clause */
/* softnic-run: what the kernel would show of the adapters, as files, and the program preloaded. */
#ifndef SOFTNIC_RUN_H
#define SOFTNIC_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { RUN_DEVICES_MAX = 16, RUN_PORTS_MAX = 2 };
enum run_status { STATUS_TROUBLE = 125, STATUS_CANNOT_RUN = 126, STATUS_NOT_FOUND = 127 };

struct run_adapters {
	unsigned int devices, ports;	/* ports: of each device */
	bool infiniband;
	const char *efa;		/* the profile; NULL: they are ConnectX adapters */
};

/* The kernel's view of the devices, as files below root: libibverbs reads it by SYSFS_PATH. */
int run_sysfs_write(const char *root, const struct run_adapters *adapters);	/* 0, -errno */
int run_sysfs_write_efa(const char *root, const struct run_adapters *adapters);
/* The same of functions that are bound to vfio-pci: no RDMA devices, but groups. */
int run_sysfs_write_vfio(const char *root, const struct run_adapters *adapters);
/* What of sysfs both kinds have: files, links and the function itself, which is told as dir. */
int run_sysfs_put(const char *root, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int run_sysfs_link(const char *root, const char *name, const char *target);
enum { RUN_FUNCTION_SIZE = 64 };
int run_sysfs_function(const char *root, unsigned int i, char dir[RUN_FUNCTION_SIZE]);
/* The same without what tells the kind of the function. */
void run_sysfs_function_name(unsigned int i, char dir[RUN_FUNCTION_SIZE]);
struct run_attribute {
	const char *name, *value;
};
int run_sysfs_put_all(const char *root, const char *dir, const struct run_attribute *a, size_t n);
int run_sysfs_link_class(const char *root, const char *class, const char *device, const char *dir);
/* The uverbs device i of the RDMA device named so, below its function. */
int run_sysfs_uverbs(const char *root, const char *function, unsigned int i, const char *device);

/* A private directory, held by a lock as long as this process lives. */
struct run_dir {
	char path[PATH_MAX];
	int lock;
};
int run_dir_make(struct run_dir *dir);
void run_dir_remove(struct run_dir *dir);

/* Finds command in PATH. Not 0, with a message on stderr, when no preload could reach it. */
int run_program_check(const char *command);

/* The front "uverbs" or "vfio": in ../lib beside this binary, or where its libraries are. */
int run_library_path(const char *front, char path[PATH_MAX]);

#endif
