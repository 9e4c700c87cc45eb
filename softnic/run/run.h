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
struct run_sysfs {
	const char *root;
	int err;		/* the first -errno; nothing is written after it */
};

/* A file, and a symbolic link, in a directory below root. */
void run_sysfs_put(struct run_sysfs *fs, const char *dir, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void run_sysfs_link(struct run_sysfs *fs, const char *dir, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
struct run_attribute {
	const char *name, *value;
};
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
void run_sysfs_put_all(struct run_sysfs *fs, const char *dir, const struct run_attribute *a, size_t n);
/* The directory of PCI function i, and of what lies below it. */
enum { RUN_FUNCTION_SIZE = 64, RUN_DIR_SIZE = 160 };
void run_sysfs_function_name(unsigned int i, char dir[RUN_FUNCTION_SIZE]);
/* Of RDMA device i: its GUIDs, its uverbs device, and both in their classes. */
void run_sysfs_device(struct run_sysfs *fs, const char *function, const char *device, unsigned int i,
		      const char *guid);

/* One adapter: a ConnectX, an EFA, a ConnectX that is bound to vfio-pci: no RDMA device, but a group. */
typedef void run_sysfs_adapter(struct run_sysfs *fs, unsigned int i, const struct run_adapters *adapters);
run_sysfs_adapter run_sysfs_mlx5, run_sysfs_efa, run_sysfs_vfio;
void run_sysfs_mlx5_function(struct run_sysfs *fs, unsigned int i, char dir[RUN_FUNCTION_SIZE]);

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
