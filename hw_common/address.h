/* SPDX-License-Identifier: BSD-2-Clause */
/* The IPv4 address of an IA whose adapter has none: connections are set up over the host's
 * network. */
#ifndef HW_ADDRESS_H
#define HW_ADDRESS_H

#include <stddef.h>
#include <stdint.h>

/* Parses ip= of ia_params: an address of this machine or the name of an interface. Returns 0, or
 * -errno with cause and remedy in why. */
int hw_address_read(const char *value, uint8_t ip[4], char *why, size_t whylen);
/* Can peers connect to this address? Returns 0, or -errno with cause and remedy in why. */
int hw_address_here(const uint8_t ip[4], char *why, size_t whylen);
/* Without ip=: the address of the default route. If there is no such route, logs that and leaves ip
 * alone. */
void hw_address_default(const char *ia_name, uint8_t ip[4]);

#endif
