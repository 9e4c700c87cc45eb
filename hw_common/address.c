/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/dap.h"
#include "hw_common/address.h"

static int no_socket(int err, char *why, size_t whylen)
{
	snprintf(why, whylen, "ia_params: cannot check ip=: %s", strerror(err));
	return -err;
}

/* Accepts any address that this process can bind to. Whether 127/8 or addresses of other machines
 * can be bound depends on the kernel's configuration. */
int hw_address_here(const union dap_addr *ip, char *why, size_t whylen)
{
	int fd = socket(ip->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[DAP_ADDR_TEXT];
	int err;

	if (fd < 0)
		return no_socket(errno, why, whylen);
	err = !dap_addr_is_any(ip) && !bind(fd, &ip->sa, dap_addr_len(ip)) ? 0 : -EINVAL;
	close(fd);
	if (err)
		snprintf(why, whylen, "ia_params: ip=%s is not an address of this machine: ip addr "
			 "lists them", dap_addr_text(ip, text));
	return err;
}

int hw_address_parse(const char *value, union dap_addr *ip, char *why, size_t whylen)
{
	union dap_addr v6 = { .v6 = { .sin6_family = AF_INET6 } };

	*ip = dap_addr_v4(INADDR_ANY);
	if (inet_pton(AF_INET, value, &ip->v4.sin_addr) == 1)
		return 0;
	if (inet_pton(AF_INET6, value, &v6.v6.sin6_addr) != 1)
		return -EINVAL;
	*ip = v6;
	dap_addr_unmap(ip);
	if (!dap_addr_is_v6(ip) || !IN6_IS_ADDR_LINKLOCAL(&ip->v6.sin6_addr))
		return 0;
	snprintf(why, whylen, "ia_params: ip=%s: peers cannot use a link-local address: give a global or "
		 "unique local one", value);
	return -EADDRNOTAVAIL;
}

static int interface_address(const char *name, union dap_addr *ip, char *why, size_t whylen)
{
	struct ifreq req = { .ifr_addr.sa_family = AF_INET };
	int fd, err = 0;

	if (!*name || strlen(name) >= sizeof(req.ifr_name)) {
		snprintf(why, whylen, "ia_params: ip=%s is neither an address nor an interface", name);
		return -EINVAL;
	}
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return no_socket(errno, why, whylen);
	strcpy(req.ifr_name, name);
	if (ioctl(fd, SIOCGIFADDR, &req))
		err = errno;
	close(fd);
	if (err) {
		snprintf(why, whylen, err == EADDRNOTAVAIL ?
			 "ia_params: ip=%s: the interface has no IPv4 address; assign one" :
			 "ia_params: ip=%s: there is no such interface; ip addr lists them",
			 name);
		return -EINVAL;
	}
	memcpy(&ip->v4, &req.ifr_addr, sizeof(ip->v4));
	return 0;
}

int hw_address_read(const char *value, union dap_addr *ip, char *why, size_t whylen)
{
	union dap_addr found;
	int err = hw_address_parse(value, &found, why, whylen);

	if (!err)
		err = hw_address_here(&found, why, whylen);
	else if (err == -EINVAL)
		err = interface_address(value, &found, why, whylen);
	if (err)
		return err == -EADDRNOTAVAIL ? -EINVAL : err;
	*ip = found;
	dap_addr_set_port(ip, 0);
	return 0;
}

/* Finds the source address that this machine uses for outside networks. Sends nothing (RFC 5737:
 * the target does not exist). */
static int default_route_address(union dap_addr *ip)
{
	struct sockaddr_in far = { .sin_family = AF_INET, .sin_port = htons(9),
				   .sin_addr.s_addr = htonl(0xc6336401) };	/* 198.51.100.1 */
	struct sockaddr_in at = { 0 };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&far, sizeof(far)) ||
	    getsockname(fd, (struct sockaddr *)&at, &len))
		err = -errno;
	close(fd);
	if (!err)
		ip->v4.sin_addr = at.sin_addr;
	return err;
}

int hw_address_auto(union dap_addr *ip, char *why, size_t whylen)
{
	int err;

	*ip = dap_addr_v4(INADDR_ANY);
	err = default_route_address(ip);
	if (!err)
		return 0;
	snprintf(why, whylen, "ia_params: ip=auto: this machine has no default route (%s): give an address",
		 strerror(-err));
	return -EINVAL;
}

void hw_address_default(const char *ia_name, union dap_addr *ip)
{
	int err = default_route_address(ip);

	if (err)
		dap_log(DAP_LOG_WARN, "%s: cannot choose an address for peers on other hosts: this "
			"machine has no default route (%s); set ip= in ia_params", ia_name,
			strerror(-err));
}
