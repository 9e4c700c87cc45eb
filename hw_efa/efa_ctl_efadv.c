/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Devices behind the kernel's efa driver. Their queues are told by efadv_query_qp_wqs and
 * efadv_query_cq of libefa, which rdma-core has from release 59 on (Debian 12 has 44), so that both
 * are looked up when a device is opened, and their absence is said. What follows, the access itself,
 * is not built yet, which is said as well: no device is opened here.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hw_efa/efa_ctl.h"

#define SYS "/sys/class/infiniband"

static bool is_efa(const char *device)
{
	char path[320], driver[256];
	ssize_t n;

	snprintf(path, sizeof(path), SYS "/%s/device/driver", device);
	n = readlink(path, driver, sizeof(driver) - 1);
	if (n < 0)
		return false;
	driver[n] = '\0';
	n = (ssize_t)strlen(driver);
	return n >= 4 && !strcmp(driver + n - 4, "/efa");
}

/* Why it cannot be opened, and the cure. */
static void refusal(char *why, size_t len)
{
	void *lib = dlopen("libefa.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		snprintf(why, len, "there is no libefa: rdma-core 59 or newer is needed");
	else if (!dlsym(lib, "efadv_query_qp_wqs") || !dlsym(lib, "efadv_query_cq"))
		snprintf(why, len, "libefa lacks efadv_query_qp_wqs: rdma-core 59 or newer is "
			 "needed (60 to sleep in waits)");
	else
		snprintf(why, len, "this release has no access through efadv yet: soft-efa-0 is "
			 "the only EFA that it drives");
	if (lib)
		dlclose(lib);
}

/* IA names are those of mlx5: device and port. */
static bool is_name_of(const char *ia_name, const char *device)
{
	size_t n = strlen(device);

	return !strncmp(ia_name, device, n) && !strcmp(ia_name + n, "-1");
}

static int dv_open(const char *ia_name, const struct efa_params *p, struct efa_ctl **ctl, char *why,
		   size_t whylen)
{
	DIR *dir = opendir(SYS);
	struct dirent *e;
	bool found = false;

	(void)p;
	(void)ctl;
	while (dir && !found && (e = readdir(dir)))
		found = e->d_name[0] != '.' && is_name_of(ia_name, e->d_name) && is_efa(e->d_name);
	if (dir)
		closedir(dir);
	if (!found)
		return -ENODEV;
	refusal(why, whylen);
	return -EOPNOTSUPP;
}

static size_t dv_list(struct efa_ctl_device *devs, size_t max)
{
	DIR *dir = opendir(SYS);
	struct dirent *e;
	size_t n = 0;

	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.' || !is_efa(e->d_name))
			continue;
		if (n < max) {
			devs[n] = (struct efa_ctl_device){ .access = "efadv" };
			snprintf(devs[n].name, sizeof(devs[n].name), "%.60s-1", e->d_name);
			refusal(devs[n].why, sizeof(devs[n].why));
		}
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

const struct efa_access_kind efa_access_efadv = { .open = dv_open, .list = dv_list };
