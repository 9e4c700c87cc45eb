/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hw_common/device.h"

const char *hw_sysfs(void)
{
	const char *path = secure_getenv("SYSFS_PATH");

	return path ? path : "/sys";
}

static bool is_in_class(const char *class, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/class/%s/%s", hw_sysfs(), class, name);
	return *name && !strchr(name, '/') && !access(path, F_OK);
}

/* Reads the first line of a file, without its newline. */
static bool read_line(const char *path, char *line, int size)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(line, size, f);

	if (f)
		fclose(f);
	if (ok)
		line[strcspn(line, "\n")] = '\0';
	return ok;
}

/* Splits "dev-1" into device and port. The device may contain dashes. */
static bool split_dash(const char *name, char *device, size_t len, uint8_t *port)
{
	const char *dash = strrchr(name, '-');
	unsigned long n;
	char *end;

	if (!dash || dash == name || (size_t)(dash - name) >= len || dash[1] < '0' || dash[1] > '9')
		return false;
	n = strtoul(dash + 1, &end, 10);
	if (*end || n < 1 || n > UINT8_MAX)
		return false;
	memcpy(device, name, (size_t)(dash - name));
	device[dash - name] = 0;
	*port = (uint8_t)n;
	return true;
}

/* Copies the last component of the path into device. */
static void copy_base(const char *path, char *device, size_t len)
{
	snprintf(device, len, "%s", strrchr(path, '/') + 1);
}

/* Finds the device of an Ethernet interface, or of a VLAN or bond over one: the device has a GID of
 * the interface. */
static bool find_by_gid(const char *interface, char *device, size_t len, uint8_t *port)
{
	char pattern[PATH_MAX], line[IF_NAMESIZE + 1];
	glob_t found;
	bool ok = false;

	snprintf(pattern, sizeof(pattern), "%s/class/infiniband/*/ports/*/gid_attrs/ndevs/*", hw_sysfs());
	if (glob(pattern, 0, NULL, &found))
		return false;
	for (size_t i = 0; i < found.gl_pathc && !ok; i++) {
		char *at = found.gl_pathv[i], *number;

		if (!read_line(at, line, sizeof(line)) || strcmp(line, interface))
			continue;
		number = strstr(at, "/ports/");
		*number = '\0';
		copy_base(at, device, len);
		*port = (uint8_t)atoi(number + strlen("/ports/"));
		ok = true;
	}
	globfree(&found);
	return ok;
}

/* Finds the device of an IP over InfiniBand interface: both belong to one PCI function. */
static bool find_by_function(const char *interface, char *device, size_t len, uint8_t *port)
{
	char path[PATH_MAX], line[16] = "0";
	glob_t found;

	snprintf(path, sizeof(path), "%s/class/net/%s/device/infiniband/*", hw_sysfs(), interface);
	if (glob(path, 0, NULL, &found))
		return false;
	copy_base(found.gl_pathv[0], device, len);
	globfree(&found);
	snprintf(path, sizeof(path), "%s/class/net/%s/dev_port", hw_sysfs(), interface);
	read_line(path, line, sizeof(line));
	*port = (uint8_t)(atoi(line) + 1);
	return true;
}

static bool is_address(const struct sockaddr *sa, int family, const uint8_t address[16])
{
	if (!sa || sa->sa_family != family)
		return false;
	if (family == AF_INET)
		return !memcmp(&((const struct sockaddr_in *)(const void *)sa)->sin_addr, address, 4);
	return !memcmp(&((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr, address, 16);
}

/* Finds the interface with this address. False if name is not an address, or is one of another
 * machine. */
static bool interface_of(const char *name, char interface[IF_NAMESIZE])
{
	struct ifaddrs *list, *i;
	uint8_t address[16];
	int family = inet_pton(AF_INET, name, address) == 1 ? AF_INET :
		     inet_pton(AF_INET6, name, address) == 1 ? AF_INET6 : AF_UNSPEC;

	if (family == AF_UNSPEC || getifaddrs(&list))
		return false;
	for (i = list; i && !is_address(i->ifa_addr, family, address);)
		i = i->ifa_next;
	if (i)
		snprintf(interface, IF_NAMESIZE, "%s", i->ifa_name);
	freeifaddrs(list);
	return i;
}

static int find_by_interface(const char *interface, unsigned long wanted, char *device, size_t len,
			     uint8_t *port, char *why, size_t whylen)
{
	if (!find_by_gid(interface, device, len, port) &&
	    !find_by_function(interface, device, len, port)) {
		snprintf(why, whylen, "network interface %s has no RDMA device: rdma link lists the "
			 "interfaces that have one", interface);
		return -ENODEV;
	}
	if (wanted && wanted != *port) {
		snprintf(why, whylen, "ia_params: network interface %s is port %u of %s, not port %lu: "
			 "use port %u, or 0 for the port of the interface", interface, *port, device, wanted,
			 *port);
		return -EINVAL;
	}
	return 0;
}

int hw_device_split(const char *text, char *device, size_t len, uint8_t *port, char *why, size_t whylen)
{
	const char *blank = strchr(text, ' ');
	char name[64], interface[IF_NAMESIZE];
	unsigned long wanted;

	if (!blank)
		return split_dash(text, device, len, port) ? 0 : -ENODEV;
	snprintf(name, sizeof(name), "%.*s", (int)(blank - text), text);
	wanted = strtoul(blank, NULL, 10);
	if (!is_in_class("infiniband", name)) {
		if (interface_of(name, interface))
			return find_by_interface(interface, wanted, device, len, port, why, whylen);
		if (is_in_class("net", name) || find_by_gid(name, device, len, port))
			return find_by_interface(name, wanted, device, len, port, why, whylen);
		if (!wanted && split_dash(name, device, len, port))
			return 0;
	}
	snprintf(device, len, "%s", name);
	*port = (uint8_t)(wanted ? wanted : 1);
	return 0;
}

bool hw_device_ends(const char *rest)
{
	return !*rest || *rest == ' ';
}

int hw_device_only_port(const char *text, char *why, size_t whylen)
{
	const char *blank = strchr(text, ' ');
	unsigned long port = blank ? strtoul(blank, NULL, 10) : 1;

	if (port <= 1)
		return 0;
	snprintf(why, whylen, "ia_params: %.*s has no port %lu: use port 1", (int)(blank - text),
		 text, port);
	return -EINVAL;
}
