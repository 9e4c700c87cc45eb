/* SPDX-License-Identifier: BSD-2-Clause */
/* softnic-run: writes the kernel's view of the adapters as files, and preloads the program. */
#ifndef SOFTNIC_RUN_H
#define SOFTNIC_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { RUN_DEVICES_MAX = 16, RUN_PORTS_MAX = 2 };
enum run_status { STATUS_TROUBLE = 125, STATUS_CANNOT_RUN = 126, STATUS_NOT_FOUND = 127 };

struct run_adapters {
	unsigned int devices, ports;	/* ports: number of ports of each device */
	bool infiniband;
	const char *efa;		/* the profile; NULL: ConnectX adapters */
	const char *ip;			/* the address for RoCE devices of other hosts, or NULL */
};

/* The kernel's view of the devices, as files below root: libibverbs reads it through SYSFS_PATH. */
struct run_sysfs {
	const char *root;
	int err;		/* the first error as -errno; after it nothing is written */
};

/* Write a file and a symbolic link in a directory below root. */
void run_sysfs_put(struct run_sysfs *fs, const char *dir, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void run_sysfs_link(struct run_sysfs *fs, const char *dir, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
struct run_attribute {
	const char *name, *value;
};
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
void run_sysfs_put_all(struct run_sysfs *fs, const char *dir, const struct run_attribute *a, size_t n);
/* sizes of the directory of PCI function i, and of a directory below it */
enum { RUN_FUNCTION_SIZE = 64, RUN_DIR_SIZE = 160 };
void run_sysfs_function_name(unsigned int i, char dir[RUN_FUNCTION_SIZE]);
/* Writes RDMA device i: its GUIDs, its uverbs device, and the class links of both. */
void run_sysfs_device(struct run_sysfs *fs, const char *function, const char *device, unsigned int i,
		      const char *guid);

/*
 * Write one adapter: a ConnectX, an EFA, or a ConnectX bound to vfio-pci, which has a group but no RDMA
 * device.
 */
typedef void run_sysfs_adapter(struct run_sysfs *fs, unsigned int i, const struct run_adapters *adapters);
run_sysfs_adapter run_sysfs_mlx5, run_sysfs_efa, run_sysfs_vfio;
void run_sysfs_mlx5_function(struct run_sysfs *fs, unsigned int i, char dir[RUN_FUNCTION_SIZE]);

/* A private directory, locked while this process lives. */
struct run_dir {
	char path[PATH_MAX];
	int lock;
};
int run_dir_make(struct run_dir *dir);
void run_dir_remove(struct run_dir *dir);

/* Finds command in PATH. Nonzero, with a message on stderr, if it cannot be preloaded. */
int run_program_check(const char *command);

/* Finds the front "uverbs" or "vfio" in ../lib beside this binary, or in the library directory. */
int run_library_path(const char *front, char path[PATH_MAX]);

#endif
