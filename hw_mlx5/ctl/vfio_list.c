/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The machine's ConnectX devices by PCI address, and why one cannot be opened, with a remedy. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "hw_common/device.h"
#include "hw_common/memory.h"
#include "hw_mlx5/ctl/vfio.h"

#define PCI_DEVICES "/sys/bus/pci/devices"
#define CONTAINER "/dev/vfio/vfio"
#define VENDOR_MELLANOX 0x15b3
#define CLASS_NETWORK 0x02		/* the class of InfiniBand controllers, too */

bool vf_name(const char *ia_name, char pci[VF_PCI_LEN])
{
	unsigned int domain = 0, bus, slot, function;
	int end = 0;

	if (sscanf(ia_name, "%4x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &end) != 4 ||
	    !hw_device_ends(ia_name + end)) {
		domain = 0;
		end = 0;
		if (sscanf(ia_name, "%2x:%2x.%1x%n", &bus, &slot, &function, &end) != 3 ||
		    !hw_device_ends(ia_name + end))
			return false;
	}
	snprintf(pci, VF_PCI_LEN, "%04x:%02x:%02x.%x", domain & 0xffff, bus & 0xff, slot & 0xff,
		 function & 0xf);
	return true;
}

/* Returns the number in a sysfs file of the device; 0 if there is none. */
static unsigned long read_attribute(const char *pci, const char *name)
{
	char path[128], text[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/%s", pci, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return strtoul(text, NULL, 16);
}

/* Returns the last component of the target of a sysfs link. */
static bool link_of(const char *pci, const char *name, char *last, size_t len)
{
	char path[128], target[256], *slash;
	ssize_t n;

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/%s", pci, name);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = 0;
	slash = strrchr(target, '/');
	return (size_t)snprintf(last, len, "%s", slash ? slash + 1 : target) < len;
}

void vf_identify(const char *pci, struct m5_ident *ident)
{
	ident->hw = (uint16_t)read_attribute(pci, "revision");
	m5_model((uint32_t)read_attribute(pci, "device"), ident);
}

bool vf_group(const char *pci, char *path, size_t len)
{
	char group[16];

	return link_of(pci, "iommu_group", group, sizeof(group)) &&
	       (size_t)snprintf(path, len, "/dev/vfio/%s", group) < len;
}

static int device_fits(const char *pci, char *why, size_t whylen)
{
	char path[128], group[64];

	snprintf(path, sizeof(path), PCI_DEVICES "/%s", pci);
	if (access(path, F_OK)) {
		snprintf(why, whylen, "there is no PCI device %s: lspci -D -d 15b3: lists them", pci);
		return -ENODEV;
	}
	if (read_attribute(pci, "vendor") != VENDOR_MELLANOX) {
		snprintf(why, whylen, "%s is not a ConnectX; this provider supports no other adapter",
			 pci);
		return -EIO;
	}
	if (!vf_group(pci, group, sizeof(group))) {
		snprintf(why, whylen, "there is no IOMMU for %s: enable it in the machine's setup "
			 "(VT-d, AMD-Vi), and on Intel boot with intel_iommu=on", pci);
		return -EIO;
	}
	return 0;
}

static int bound(const char *pci, char *why, size_t whylen)
{
	char driver[32];

	if (!link_of(pci, "driver", driver, sizeof(driver)))
		snprintf(why, whylen, "%s has no driver: scripts/vfio bind %s binds it to vfio-pci",
			 pci, pci);
	else if (!strstr(driver, "vfio"))
		snprintf(why, whylen, "%s is driven by %s: scripts/vfio bind %s binds it to "
			 "vfio-pci and removes its network interface", pci, driver, pci);
	else
		return 0;
	return -EIO;
}

static int may_open(const char *path, char *why, size_t whylen)
{
	int err;

	if (!access(path, R_OK | W_OK))
		return 0;
	err = errno;
	if (err == EACCES || err == EPERM)
		snprintf(why, whylen, "no permission to open %s: give it to the user (chown), or run as "
			 "root", path);
	else
		snprintf(why, whylen, "there is no %s: load the kernel's module with modprobe "
			 "vfio-pci, then scripts/vfio bind", path);
	return err == EACCES || err == EPERM ? -EACCES : -EIO;
}

int vf_ready(const char *pci, char *why, size_t whylen)
{
	char group[64];
	int err = device_fits(pci, why, whylen);

	if (!err)
		err = bound(pci, why, whylen);
	if (!err)
		err = may_open(CONTAINER, why, whylen);
	if (!err && vf_group(pci, group, sizeof(group)))
		err = may_open(group, why, whylen);
	return err;
}

/* Are all devices of the group bound to vfio-pci? Changes nothing. */
static bool group_is_viable(const char *group)
{
	struct vfio_group_status status = { .argsz = sizeof(status) };
	int fd = open(group, O_RDWR | O_CLOEXEC);
	bool yes;

	if (fd < 0)
		return true;
	yes = ioctl(fd, VFIO_GROUP_GET_STATUS, &status) || status.flags & VFIO_GROUP_FLAGS_VIABLE;
	close(fd);
	return yes;
}

int vf_why_not(const char *pci, int err, char *why, size_t whylen)
{
	char group[64] = "";

	vf_group(pci, group, sizeof(group));
	if (err == EBUSY) {
		snprintf(why, whylen, "%s is in use: another process has the device, which serves "
			 "one at a time (fuser -v %s shows which)", group, group);
	} else if (err == EACCES || err == EPERM) {
		snprintf(why, whylen, "no permission for %s: give it to the user (chown), or run as root",
			 group);
	} else if (err == ENOMEM) {
		hw_why_memory(-err, why, whylen);
	} else if (!group_is_viable(group)) {
		snprintf(why, whylen, "%s holds other devices that are not bound to vfio-pci: "
			 "scripts/vfio status shows them, bind them as well", group);
		return -EIO;
	} else if (err == EOPNOTSUPP) {
		snprintf(why, whylen, "the firmware of %s is too old for VFIO: update it", pci);
	} else {
		snprintf(why, whylen, "%s does not start through VFIO: %s. Set MLX5_DEBUG_FILE=/dev/stderr "
			 "for details", pci, err ? strerror(err) : "libmlx5 gave no reason");
	}
	return err ? hw_error(err) : -EIO;
}

/* Devices of mlx5_core are listed by the kernel access, by name and port. */
static bool is_listed(const char *pci)
{
	char driver[32];

	return read_attribute(pci, "vendor") == VENDOR_MELLANOX &&
	       read_attribute(pci, "class") >> 16 == CLASS_NETWORK &&
	       (!link_of(pci, "driver", driver, sizeof(driver)) || strcmp(driver, "mlx5_core"));
}

/* Does not open them: that would boot them. */
size_t vf_list(const struct m5_ctl_ops *ops, struct dapl_device *devs, size_t max)
{
	DIR *dir = opendir(PCI_DEVICES);
	struct dirent *e;
	char pci[VF_PCI_LEN];
	size_t n = 0;

	if (!dir)
		return 0;
	while ((e = readdir(dir))) {
		if (!vf_name(e->d_name, pci) || !is_listed(pci))
			continue;
		if (n < max) {
			m5_device_init(&devs[n], ops);
			snprintf(devs[n].name, sizeof(devs[n].name), "%s", pci);
			vf_ready(pci, devs[n].why, sizeof(devs[n].why));
		}
		n++;
	}
	closedir(dir);
	return n;
}
