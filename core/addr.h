/* SPDX-License-Identifier: BSD-2-Clause */
/* The address of a host, IPv4 or IPv6, and a port where the caller uses one. The layout is
 * sockaddr's, so consumers receive it without conversion. */
#ifndef DAP_ADDR_H
#define DAP_ADDR_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

union dap_addr {
	struct sockaddr sa;		/* AF_INET or AF_INET6; 0 if there is no address */
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

#define DAP_ADDR_TEXT INET6_ADDRSTRLEN

static inline bool dap_addr_is_v6(const union dap_addr *a)
{
	return a->sa.sa_family == AF_INET6;
}

static inline socklen_t dap_addr_len(const union dap_addr *a)
{
	return dap_addr_is_v6(a) ? sizeof(a->v6) : sizeof(a->v4);
}

static inline uint16_t dap_addr_port(const union dap_addr *a)
{
	return ntohs(dap_addr_is_v6(a) ? a->v6.sin6_port : a->v4.sin_port);
}

static inline void dap_addr_set_port(union dap_addr *a, uint16_t port)
{
	if (dap_addr_is_v6(a))
		a->v6.sin6_port = htons(port);
	else
		a->v4.sin_port = htons(port);
}

/* Returns true if the address is 0.0.0.0 or ::, or if there is none. */
static inline bool dap_addr_is_any(const union dap_addr *a)
{
	return dap_addr_is_v6(a) ? IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr) :
				   a->v4.sin_addr.s_addr == htonl(INADDR_ANY);
}

static inline bool dap_addr_is_loopback(const union dap_addr *a)
{
	return dap_addr_is_v6(a) ? IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr) :
				   ntohl(a->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* Returns true if both are addresses of one host. Link-local addresses must be of one link, too. */
static inline bool dap_addr_same(const union dap_addr *a, const union dap_addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	if (!dap_addr_is_v6(a))
		return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
	return IN6_ARE_ADDR_EQUAL(&a->v6.sin6_addr, &b->v6.sin6_addr) &&
	       a->v6.sin6_scope_id == b->v6.sin6_scope_id;
}

static inline union dap_addr dap_addr_v4(uint32_t host)
{
	return (union dap_addr){ .v4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(host) } };
}

/* Converts an IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2) to the IPv4 address. */
static inline void dap_addr_unmap(union dap_addr *a)
{
	union dap_addr v4 = { .v4 = { .sin_family = AF_INET, .sin_port = a->v6.sin6_port } };

	if (!dap_addr_is_v6(a) || !IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr))
		return;
	memcpy(&v4.v4.sin_addr, a->v6.sin6_addr.s6_addr + 12, 4);
	*a = v4;
}

/* Returns the address as text, without port and scope. */
static inline const char *dap_addr_text(const union dap_addr *a, char text[DAP_ADDR_TEXT])
{
	const void *host = dap_addr_is_v6(a) ? (const void *)&a->v6.sin6_addr : &a->v4.sin_addr;
	const char *s = inet_ntop(a->sa.sa_family, host, text, DAP_ADDR_TEXT);

	return s ? s : "?";
}

#endif
