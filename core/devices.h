/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For dat_info(1), which finds these functions in libdapl-direct.so by name: the adapters of this
 * machine, whether dat.conf names them or not, the keys of ia_params, and how the library was built.
 */
#ifndef DAP_DEVICES_H
#define DAP_DEVICES_H

#include <stddef.h>

struct dapl_device {
	char name[64];			/* IA name */
	char access[16];		/* for example "model" */
	char why[160];			/* why it cannot be opened, and the remedy; "" if it can */
};

/* Fills at most max entries; returns the number of devices. */
typedef size_t dapl_direct_devices_fn(struct dapl_device *devs, size_t max);
dapl_direct_devices_fn dapl_direct_devices;

struct dapl_param {
	const char *adapter;		/* name of the backend; "any": every adapter knows the key */
	const char *key, *unit, *meaning;	/* unit: "" when there is none */
	char otherwise[96], range[160];	/* the default, the allowed values */
};

typedef size_t dapl_direct_params_fn(struct dapl_param *params, size_t max);
dapl_direct_params_fn dapl_direct_params;

/*
 * Checks the ia_params of an IA with that name, without opening it. Returns -1 if they are valid, or the
 * offset of the word that is not, with the reason in why.
 */
typedef long dapl_direct_check_fn(const char *ia_name, const char *ia_params, char *why, size_t whylen);
dapl_direct_check_fn dapl_direct_check;

struct dapl_build {
	const char *version, *compiler;
	const char *rdma_core;		/* release of the headers; "" without rdma-core */
	char backends[128];		/* each as "name (access, access)" */
};

typedef void dapl_direct_build_fn(struct dapl_build *build);
dapl_direct_build_fn dapl_direct_build;

#endif
