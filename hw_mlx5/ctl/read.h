/* SPDX-License-Identifier: BSD-2-Clause */
/* Decoding and queries shared by several implementations of ctl.h. */
#ifndef M5_CTL_READ_H
#define M5_CTL_READ_H

#include <stdio.h>

#include "core/hw.h"
#include "hw_mlx5/ctl/ctl.h"
#include "hw_mlx5/ifc.h"

/* ---- read.c ---- */
/* Converts an EQE that is no completion. */
void m5_eqe_event(const struct m5_eqe *e, struct m5_event *ev);
void m5_mac(uint16_t hi, uint32_t lo, uint8_t mac[6]);
/* Returns the model's name for a PCI device number. */
void m5_model(uint32_t part, struct m5_ident *ident);
/* ::ffff:0:0/96 (RFC 4291): an IPv4 address. */
bool m5_gid_is_ipv4(const uint8_t gid[16]);
/* IBTA annex A17: the GID of RoCE v2 is the IPv6 address, or the mapped IPv4 address. */
void m5_gid_of_ip(const union dap_addr *ip, uint8_t gid[16]);
/* The link-local GID: fe80::/64 and the interface identifier from a MAC (RFC 4291, appendix A). */
void m5_gid_of_mac(const uint8_t mac[6], uint8_t gid[16]);

/* ---- port.c: by commands, 0 or -errno ---- */
/* Path MTU, and the permanent MAC. */
int m5_port_vport(struct m5_ctl *ctl, uint16_t *mtu, uint8_t mac[6]);
int m5_port_state(struct m5_ctl *ctl, bool *up);

/* A CQ whose events go to a channel (eq.h); fd is the channel's. */
struct m5_cq_link {
	struct m5_cq_link *next;
	uint32_t cqn;
	int fd;
};

/* One kind of access; m5_ctl_open and m5_ctl_list try all built-in kinds. */
struct m5_access_kind {
	const struct m5_ctl_ops *ops;	/* close also frees the struct */
	size_t size;			/* size of the struct whose first member is m5_ctl */
	/* ctl is zero except for ops. -ENODEV: this kind has no device of that name. */
	int (*open)(struct m5_ctl *ctl, const char *ia_name, const char *params, char *why,
		    size_t whylen);
	size_t (*list)(const struct m5_ctl_ops *ops, struct dapl_device *devs, size_t max);
};
extern const struct m5_access_kind m5_access_soft, m5_access_uverbs, m5_access_vfio;

static inline void m5_device_init(struct dapl_device *dev, const struct m5_ctl_ops *ops)
{
	*dev = (struct dapl_device){ 0 };
	snprintf(dev->access, sizeof(dev->access), "%s", ops->access);
}

/* m5_ctl_open for one kind. */
int m5_access_open(const struct m5_access_kind *kind, const char *ia_name, const char *params,
		   struct m5_ctl **ctl, char *why, size_t whylen);

#endif
