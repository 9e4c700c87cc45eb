/* SPDX-License-Identifier: BSD-2-Clause */
/* The address of an IA whose adapter has none: connections are set up over the host's network. */
#ifndef HW_ADDRESS_H
#define HW_ADDRESS_H

#include <stddef.h>

#include "core/dap.h"

/* Parses ip= of ia_params: an address of this machine or the name of an interface. Returns 0, or
 * -errno with cause and remedy in why. */
int hw_address_read(const char *value, union dap_addr *ip, char *why, size_t whylen);
/* Parses an address of any machine, but no interface. -EINVAL: it is not an address;
 * -EADDRNOTAVAIL: it is link-local, and why says so. */
int hw_address_parse(const char *value, union dap_addr *ip, char *why, size_t whylen);
/* Can peers connect to this address? Returns 0, or -errno with cause and remedy in why. */
int hw_address_here(const union dap_addr *ip, char *why, size_t whylen);
/* Finds the address for ip=auto: the IPv4 address of the default route. Returns 0, or -EINVAL with cause and
 * remedy in why. */
int hw_address_auto(union dap_addr *ip, char *why, size_t whylen);
/* Stores the address of the default route, for an IA without ip=. If there is no default route, logs that
 * and leaves *ip unchanged. */
void hw_address_default(const char *ia_name, union dap_addr *ip);

#endif
