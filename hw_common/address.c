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

/* Any address that this process can bind to. Whether 127/8 or addresses of other machines can be
 * bound depends on the kernel's configuration. */
int hw_address_here(const uint8_t ip[4], char *why, size_t whylen)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	char text[INET_ADDRSTRLEN] = "";
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return no_socket(errno, why, whylen);
	memcpy(&at.sin_addr, ip, 4);
	err = at.sin_addr.s_addr && !bind(fd, (struct sockaddr *)&at, sizeof(at)) ? 0 : -EINVAL;
	close(fd);
	if (err)
		snprintf(why, whylen, "ia_params: ip=%s is not an address of this machine: ip addr "
			 "lists them", inet_ntop(AF_INET, ip, text, sizeof(text)));
	return err;
}

static int interface_address(const char *name, uint8_t ip[4], char *why, size_t whylen)
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
	memcpy(ip, &((const struct sockaddr_in *)(const void *)&req.ifr_addr)->sin_addr, 4);
	return 0;
}

int hw_address_read(const char *value, uint8_t ip[4], char *why, size_t whylen)
{
	uint8_t found[4];
	int err = inet_pton(AF_INET, value, found) == 1 ?
		  hw_address_here(found, why, whylen) : interface_address(value, found, why, whylen);

	if (!err)
		memcpy(ip, found, sizeof(found));
	return err;
}

/* The source address that this machine uses for outside networks; sends nothing (RFC 5737: the
 * target does not exist). */
static int default_route_address(uint8_t ip[4])
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
		memcpy(ip, &at.sin_addr, 4);
	return err;
}

void hw_address_default(const char *ia_name, uint8_t ip[4])
{
	int err = default_route_address(ip);

	if (err)
		dap_log(DAP_LOG_WARN, "%s: cannot choose an address for peers on other hosts: this "
			"machine has no default route (%s); set ip= in ia_params to an address or an "
			"interface", ia_name, strerror(-err));
}
