/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access to a ConnectX that no kernel driver has: it is bound to vfio-pci, and libmlx5 (mlx5dv) boots
 * it and passes commands. There is no network interface, so addresses come from ia_params.
 *
 *   vfio.c          open and close of an IA
 *   vfio_dev.c      the device, which all IAs of a process share
 *   vfio_list.c     list of devices, and why one cannot be opened
 *   vfio_event.c    event queues, and the thread that replaces an interrupt handler
 *   vfio_health.c   health checks
 *   vfio_port.c     the port and its address
 *   dv*.c           memory, commands and objects, shared with the access through the kernel's DEVX
 *
 * libmlx5 provides one uncached doorbell page and no BlueFlame register. If the device is dead, libmlx5
 * ends the process (mlx5dv_vfio_process_events), and commands wait forever. So the health is checked
 * here before each such call, and waiting commands are ended with an error.
 */
#ifndef M5_CTL_VFIO_H
#define M5_CTL_VFIO_H

#include "hw_mlx5/ctl/dv.h"
#include "hw_mlx5/ctl/eq.h"

#define VF_PCI_LEN 16
#define VF_GIDS 16u

struct vf_eq {
	struct m5_eq eq;
	struct mlx5dv_devx_eq *devx;
};

struct vf_health {
	uint64_t looked, changed;	/* ms: last check, and last change of the count */
	uint32_t count;			/* the device's heartbeat counter */
	unsigned int still;		/* consecutive checks in which count was the same */
	unsigned int waiting;		/* consecutive checks in which a command of an earlier turn waited */
	unsigned int gib;		/* most that registrations pinned at once during these checks */
};

/* An entry of the device's table of addresses. */
struct vf_gid {
	struct m5_roce_address addr;
	unsigned int users;		/* IAs with this address; 0: the entry is free */
};

struct vf_device {
	struct vf_device *next;
	char pci[VF_PCI_LEN];
	unsigned int users;		/* IAs; protected by the lock of all devices */
	struct ibv_context *ctx;
	struct mlx5dv_devx_uar *uar;
	struct mlx5dv_devx_msi_vector *msi;
	struct dv_watch watch;
	struct vf_eq completions, async;
	pthread_mutex_t eq_lock;	/* held while eqs and events are read */
	bool eqs;			/* the EQs exist */
	struct m5_events events;	/* channels of CQs, and events for all IAs */
	struct vf_health health;
	pthread_t thread;
	int stop_fd, dead_fd, events_fd;	/* events_fd: libmlx5's events */
	/* protects ias; the thread takes it to report events, so no command is sent while it is held */
	pthread_mutex_t lock;
	struct m5_ctl_vfio *ias;
	pthread_mutex_t gid_lock;	/* protects gids; held during commands */
	struct vf_gid gids[VF_GIDS];
};

struct m5_ctl_vfio {
	struct m5_ctl_dv dv;
	struct vf_device *dev;
	struct m5_ctl_vfio *next;	/* next IA of the same device */
	struct m5_events events;
	struct m5_port port;		/* constant attributes: GID, MAC */
	struct vf_gid *gid;		/* the entry of its address, or NULL */
};

static inline struct m5_ctl_vfio *vf_of(struct m5_ctl *ctl)
{
	return (struct m5_ctl_vfio *)ctl;
}

/* ---- vfio_dev.c ---- */
/* Adds v to the device's IAs: 0, or -errno with cause and remedy in why. */
int vf_device_get(struct m5_ctl_vfio *v, const char *pci, char *why, size_t whylen);
void vf_device_put(struct m5_ctl_vfio *v);

/* ---- vfio_list.c ---- */
/* Converts "3b:00.0" or "0000:3B:00.0" to the kernel's spelling. */
bool vf_name(const char *ia_name, char pci[VF_PCI_LEN]);
/* Is the device bound to vfio-pci, and may this user open it? Returns 0, or -errno with cause and
 * remedy. */
int vf_ready(const char *pci, char *why, size_t whylen);
/* libmlx5 failed to open it with err (positive) in errno. Returns -errno. */
int vf_why_not(const char *pci, int err, char *why, size_t whylen);
/* Path /dev/vfio/N of a bound device. */
bool vf_group(const char *pci, char *path, size_t len);
/* Reads the identity from PCI config space. */
void vf_identify(const char *pci, struct m5_ident *ident);
size_t vf_list(const struct m5_ctl_ops *ops, struct dapl_device *devs, size_t max);

/* ---- vfio_event.c ---- */
/* Starts the thread; from here on the device is monitored. */
int vf_serve_start(struct vf_device *d);
void vf_serve_stop(struct vf_device *d);
int vf_eqs_create(struct m5_ctl_vfio *v);
void vf_eqs_destroy(struct m5_ctl_vfio *v);
/* The object with this number, created by this opcode, is destroyed: drops its unread events. */
void vf_events_forget(struct vf_device *d, uint16_t create, uint32_t number);

/* ---- vfio_health.c ---- */
#define VF_HEALTH_MS 250
/* Returns NULL, or the device's problem as text. */
const char *vf_health(struct vf_device *d);
/* Major, minor and sub-minor version. */
void vf_firmware(const struct vf_device *d, uint16_t version[3]);
/* Reads the internal timer; -EIO: the device is dead. */
int vf_timer(struct m5_ctl *ctl, uint64_t *ticks);

/* ---- vfio_port.c ---- */
/* Times for a link to come up: the most, the time until a wait is logged, and the time between
 * checks. */
#define VF_LINK_MS 20000u
#define VF_LINK_SAY_MS 2000u
#define VF_LINK_LOOK_MS 20
/* Writes the address of ia_params into the device's table; 0, or -errno with cause and remedy. */
int vf_port_open(struct m5_ctl_vfio *v, char *why, size_t whylen);
/* Removes the address from the table, unless another IA has it too. */
void vf_port_close(struct m5_ctl_vfio *v);
int vf_port(struct m5_ctl *ctl, struct m5_port *port);

#endif
