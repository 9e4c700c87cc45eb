/* SPDX-License-Identifier: BSD-2-Clause */
/* The IPv4 address of an IA whose adapter has none: connections are made over the host's network. */
#ifndef HW_ADDRESS_H
#define HW_ADDRESS_H

#include <stddef.h>
#include <stdint.h>

/* The value of ip= in ia_params, an address of this machine or the name of an interface: 0, or
 * -errno with cause and cure. */
int hw_address_read(const char *value, uint8_t ip[4], char *why, size_t whylen);
/* 0: peers can be listened for at this address; or -errno with cause and cure. */
int hw_address_here(const uint8_t ip[4], char *why, size_t whylen);
/* Where no ip= is given: the address of the default route. Without one it is said, and ip stays. */
void hw_address_default(const char *ia_name, uint8_t ip[4]);

#endif
