/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Everything that this driver needs from the owner of a ConnectX: commands, memory registration,
 * UARs, events and the port. Above this interface one code path creates PDs, windows, CQs and QPs
 * by PRM commands. The data path does not use it.
 *
 * Implementations: soft*.c (the software ConnectX in this process), uverbs*.c (the kernel's DEVX
 * through mlx5dv), vfio*.c (libmlx5 in place of the kernel).
 *
 * Functions return 0 or -errno. -EREMOTEIO: the device refused; status and syndrome are in out.
 * Slow path only. Safe to call from any thread.
 */
#ifndef M5_CTL_H
#define M5_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dapl_device;
struct m5_ctl;
struct m5_obj;			/* an object that the access modifies or destroys */
struct m5_evch;			/* an event channel: one file descriptor */

enum m5_uar_type { M5_UAR_BF, M5_UAR_NC };

struct m5_uar {
	uint32_t page;		/* for uar_page fields of CQ and QP contexts */
	volatile void *base;	/* the 4 KiB page: CQ doorbell at 0x20 */
	volatile void *reg;	/* first BlueFlame/doorbell register: base + 0x800 */
	bool bf;		/* the register supports BlueFlame */
	void *priv;
};

struct m5_mr {
	uint32_t lkey, rkey;	/* keys; rkey is valid only with remote rights */
	void *priv;
};

struct m5_umem {
	uint32_t id;
	void *priv;
};

enum m5_access {		/* rights of a memory registration */
	M5_ACCESS_LOCAL_WRITE = 1 << 0,
	M5_ACCESS_REMOTE_WRITE = 1 << 1,
	M5_ACCESS_REMOTE_READ = 1 << 2,
	M5_ACCESS_REMOTE_ATOMIC = 1 << 3,
};

struct m5_port {
	bool up;
	/* true: RoCE, with gid and mac; false: InfiniBand, with lid and pkey */
	bool ethernet;
	uint16_t mtu;		/* active path MTU in bytes: 256 .. 4096 */
	uint8_t port_num;
	uint16_t gid_index;
	uint8_t gid[16];
	uint8_t mac[6];
	uint16_t lid;
	uint16_t pkey_index;
	int lost;		/* 0, or why it can have no new connection: an error of port() below */
	bool grh;		/* InfiniBand: every packet needs a GRH */
	/* IPv4 address of the GID, or of ip= in ia_params; 0: there is none */
	uint8_t ipv4[4];
	/* Software adapter with ip=: its UDP port, MTU and address (as a GID) for peers on other hosts.
	 * udp_port 0: other hosts cannot reach it. */
	uint16_t udp_port, udp_mtu;
	uint8_t udp_gid[16];
};

enum m5_event_kind {
	M5_EVENT_QP, M5_EVENT_CQ_ERROR, M5_EVENT_SRQ_LIMIT, M5_EVENT_SRQ_ERROR, M5_EVENT_PORT,
	M5_EVENT_FATAL,
	M5_EVENT_LOST,		/* events were dropped, of which objects is unknown */
	M5_EVENT_STARVED,	/* the device needs memory and did not get any */
};

enum { M5_PORT_DOWN = 1, M5_PORT_UP = 4 };	/* sub_type of M5_EVENT_PORT; others: attributes changed */

struct m5_event {
	enum m5_event_kind kind;
	uint8_t type, sub_type;	/* the EQE's event type */
	uint32_t number;	/* number of the QP, CQ, SRQ or port */
};

struct m5_ctl_ops {
	const char *access;	/* "model", "devx", "vfio": shown by dat_info */

	void (*close)(struct m5_ctl *ctl);
	/* A command that creates no object: QUERY_HCA_CAP, QUERY_ROCE_ADDRESS, ... */
	int (*cmd)(struct m5_ctl *ctl, const void *in, size_t inlen, void *out, size_t outlen);
	int (*obj_create)(struct m5_ctl *ctl, const void *in, size_t inlen, void *out,
			  size_t outlen, struct m5_obj **obj);
	/* Modifies or queries the object, which in must name. */
	int (*obj_cmd)(struct m5_obj *obj, const void *in, size_t inlen, void *out, size_t outlen);
	int (*obj_destroy)(struct m5_obj *obj);

	int (*pd_alloc)(struct m5_ctl *ctl, uint32_t *pdn, void **priv);
	int (*pd_free)(struct m5_ctl *ctl, uint32_t pdn, void *priv);
	/* Pins [addr, addr+len); -EFAULT if not mapped with these rights, -ENOMEM above the locked
	 * limit. */
	int (*mr_reg)(struct m5_ctl *ctl, void *pd_priv, uint32_t pdn, void *addr, uint64_t len,
		      unsigned int access, struct m5_mr *mr);
	int (*mr_dereg)(struct m5_ctl *ctl, struct m5_mr *mr);
	/* Registers memory for queues and doorbell records. */
	int (*umem_reg)(struct m5_ctl *ctl, void *addr, size_t len, struct m5_umem *umem);
	int (*umem_dereg)(struct m5_ctl *ctl, struct m5_umem *umem);
	int (*uar_alloc)(struct m5_ctl *ctl, enum m5_uar_type type, struct m5_uar *uar);
	void (*uar_free)(struct m5_ctl *ctl, struct m5_uar *uar);

	/* Completion events: an EQ number for CREATE_CQ, and a channel with a pollable fd. */
	int (*eqn)(struct m5_ctl *ctl, uint32_t *eqn);
	int (*evch_create)(struct m5_ctl *ctl, struct m5_evch **ch);
	void (*evch_destroy)(struct m5_evch *ch);
	int (*evch_fd)(struct m5_evch *ch);
	/* After this, an event of the armed CQ makes the channel's fd readable. */
	int (*evch_bind)(struct m5_evch *ch, struct m5_obj *cq, uint32_t cqn);
	/* Empties the channel and returns the number of events that were in it; -ENODEV: the device is
	 * gone. Does not block. */
	int (*evch_drain)(struct m5_evch *ch);

	/* Asynchronous events: a pollable fd; read returns 1 for an event, 0 for none, or
	 * -errno. */
	int (*async_fd)(struct m5_ctl *ctl);
	int (*async_read)(struct m5_ctl *ctl, struct m5_event *ev);

	/* -ENETDOWN: the port has no RoCE address; -ENETUNREACH: it is not in the partition of ia_params. */
	int (*port)(struct m5_ctl *ctl, struct m5_port *port);
	/*
	 * Ethernet: the MAC of the next hop to that GID, a router if it is in another network.
	 * NULL: there is no kernel to ask; use the peer's own MAC.
	 */
	int (*next_hop)(struct m5_ctl *ctl, void *pd_priv, const uint8_t gid[16], uint8_t mac[6]);

	/* Reads the internal timer. From the first call on, a software adapter writes timestamps. */
	int (*timer)(struct m5_ctl *ctl, uint64_t *ticks);

	/*
	 * Software adapter: is the port with this MAC address on this host, so that packets need no UDP?
	 * Returns 1, 0 or -errno, and sets the GID that it would have there. NULL: hardware.
	 */
	int (*is_local)(struct m5_ctl *ctl, const uint8_t mac[6], uint8_t gid[16]);

	/* Does the pending work of a software adapter that callers drive; NULL: hardware. */
	void (*drive)(struct m5_ctl *ctl);
	/* Passes an 8-byte doorbell to a software adapter that callers drive. */
	void (*doorbell)(struct m5_ctl *ctl, uint32_t page, uint32_t offset, uint64_t value);
};

/* Identity of the device; parts may be unknown. */
struct m5_ident {
	char model[32];		/* name such as "ConnectX-6 Dx", or "" */
	uint16_t hw, fw[3];	/* hardware revision; firmware version: major, minor, sub-minor */
};

struct m5_ctl {
	const struct m5_ctl_ops *ops;
	char device[80];	/* the IA name that needs no ia_params: "mlx5_0-1" */
	struct m5_ident ident;
	struct softnic *soft;   /* the software adapter in this process, or NULL */
	const char *faults;     /* the faults that its fault script may name */
	uint8_t counter_set;	/* the kernel's for QPs of the port, which its hw_counters show; 0: none */
	bool no_bf;		/* UARs of this device support only 8-byte doorbells */
	struct m5_arena *arena;	/* huge pages for queues, or NULL */
	int node;		/* the adapter's NUMA node, or HW_NO_NODE */
};

/*
 * Opens a device by IA name with the ia_params of dat.conf. Returns -ENODEV if there is no such
 * device, or another -errno; then why (size whylen) contains cause and remedy.
 */
int m5_ctl_open(const char *ia_name, const char *params, struct m5_ctl **ctl, char *why,
		size_t whylen);
/* Fills at most max entries; returns the number of devices. */
size_t m5_ctl_list(struct dapl_device *devs, size_t max);

#endif
