/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes of a ConnectX port: time until the link is up, MTU, MAC, and bond. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hw_mlx5/ctl/ctl.h"
#include "perf/common/stats.h"
#include "perf/dat_first_light/probe.h"

void probe_link(const struct light *l, struct answer *a)
{
	struct consumer c = { .idle_ns = 1 };
	uint64_t start = now_ns();
	double s;

	if (strcmp(l->access, "vfio")) {
		skipped(a, "not by VFIO: the kernel raises the link");
		return;
	}
	light_conf(l, "");
	if (consumer_open(&c, l->ia))
		return;
	s = (double)(now_ns() - start) / 1e9;
	if (s > 15)
		bad(a, "nothing: dat_ia_open waits 20 s at most", "hardly: after %.1f s", s);
	else
		good(a, "yes, the IA is open after %.1f s", s);
}

/*
 * Behind VFIO this provider gives up an IA whose firmware does not respond for 2.6 s. Meanwhile the
 * probe keeps the firmware busy with registrations.
 */
void probe_heartbeat(const struct light *l, struct answer *a)
{
	enum { WATCH_S = 6, BYTES = 1 << 20, REGIONS = 64 };
	struct region r[REGIONS] = { 0 };
	struct pair p = { .no_rmr = true };
	uint64_t start = now_ns();
	unsigned int n = 0;
	DAT_EVENT ev;

	if (strcmp(l->access, "vfio")) {
		skipped(a, "not by VFIO: the kernel watches the firmware");
		return;
	}
	if (!light_pair(l, "", &p, a))
		return;
	for (; since_ns(start) < WATCH_S * 1000000000ull; n++) {
		region_free(&r[n % REGIONS]);
		if (region_create(&p.a, &r[n % REGIONS], BYTES, DAT_MEM_PRIV_ALL_FLAG) ||
		    dat_evd_dequeue(p.a.async_evd, &ev) == DAT_SUCCESS) {
			bad(a, "nothing: DAPL_DBG_TYPE=0xff logs why", "yes: the IA is lost after %.1f s",
			    (double)since_ns(start) / 1e9);
			return;
		}
	}
	good(a, "no: not in %d s with %u registrations of %d MiB", WATCH_S, n, BYTES >> 20);
}

void probe_mtu(const struct light *l, struct answer *a)
{
	enum { BYTES = 1 << 20 };
	struct pair p = { .no_rmr = true };
	struct region from = { 0 }, to = { 0 };
	DAT_RMR_TRIPLET target;
	char mtu[32];

	if (!light_pair(l, "", &p, a) || region_create(&p.a, &from, BYTES, DAT_MEM_PRIV_ALL_FLAG) ||
	    region_create(&p.b, &to, BYTES, DAT_MEM_PRIV_ALL_FLAG))
		return;
	light_attr(p.a.ia, "path_mtu", mtu, sizeof(mtu));
	target = region_target(&to, 0, BYTES);
	if (!post_write(&p, &from, &target) || !succeeded(a, p.a.req_evd, "a write of 1 MiB"))
		return;
	if (atoi(mtu) < 4096)
		tune(a, "the MTU of the network interface: 4200 or more", "no: %s bytes", mtu);
	else
		good(a, "yes: %s bytes", mtu);
}

/* Reads the MAC by a firmware command and not through DAT. Firmware may refuse the command to a
 * user context. */
void probe_mac(const struct light *l, struct answer *a)
{
	static const uint8_t none[6];
	struct m5_port port = { 0 };
	struct m5_ctl *ctl;
	char why[200] = "";
	int err = m5_ctl_open(l->device, l->params, &ctl, why, sizeof(why));

	if (err) {
		fprintf(stderr, "%s: %s\n", l->ia, why);
		return;
	}
	err = ctl->ops->port(ctl, &port);
	if (err)
		bad(a, "nothing", "no: the port cannot be queried: %s", strerror(-err));
	else if (!port.ethernet)
		skipped(a, "the port is InfiniBand");
	else if (!memcmp(port.mac, none, sizeof(none)))
		bad(a, "nothing, where the kernel knows the next hop to each peer",
		    "no: QUERY_ROCE_ADDRESS is refused");
	else
		good(a, "yes: %02x:%02x:%02x:%02x:%02x:%02x", port.mac[0], port.mac[1], port.mac[2],
		     port.mac[3], port.mac[4], port.mac[5]);
}

/* Finds the port's network interface through the port's GID table. */
static bool interface_of(const char *root, const char *device, char *name, size_t size)
{
	const char *dash = strrchr(device, '-');
	char path[PATH_MAX];
	bool found;
	FILE *f;

	if (!dash)
		return false;
	snprintf(path, sizeof(path), "%s/class/infiniband/%.*s/ports/%s/gid_attrs/ndevs/0", root,
		 (int)(dash - device), device, dash + 1);
	f = fopen(path, "r");
	if (!f)
		return false;
	found = fgets(name, (int)size, f);
	fclose(f);
	name[strcspn(name, "\n")] = 0;
	return found && *name;
}

void probe_bond(const struct light *l, struct answer *a)
{
	const char *sysfs = getenv("SYSFS_PATH"), *root = sysfs ? sysfs : "/sys";
	char name[64], path[PATH_MAX], bond[PATH_MAX] = "";

	if (strcmp(l->access, "devx") || !interface_of(root, l->device, name, sizeof(name))) {
		skipped(a, "the port has no network interface");
		return;
	}
	snprintf(path, sizeof(path), "%s/class/net/%s/bonding", root, name);
	if (!access(path, F_OK))
		snprintf(bond, sizeof(bond), "%s", name);
	snprintf(path, sizeof(path), "%s/class/net/%s/master", root, name);
	if (!*bond && readlink(path, bond, sizeof(bond) - 1) < 0)
		*bond = 0;
	if (*bond)
		tune(a, "nothing: firmware spreads connections; look at the switch's counters",
		     "yes: %s, of %s", name, strrchr(bond, '/') ? strrchr(bond, '/') + 1 : bond);
	else
		good(a, "no: %s is in no bond", name);
}
