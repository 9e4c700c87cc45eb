/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device as after power-on (SOFTNIC_COLD). The driver finds it by the initialization segment at the
 * start of the BAR and sends commands through a queue in memory. It boots the device with firmware pages,
 * capabilities and INIT_HCA. The files are iseg.c, cmdq.c, boot.c and pages.c. All calls need the device
 * lock.
 */
#ifndef SN_COLD_H
#define SN_COLD_H

#include "softnic/mlx5/dev.h"

enum {
	SN_CMDQ_LOG_SIZE = 5,
	SN_CMDQ_LOG_STRIDE = 6,
	SN_CMDQ_SLOTS = 1 << SN_CMDQ_LOG_SIZE,
};

/* PRM "Initialization segment": health buffer */
struct sn_health {
	be32_t assert_var[5], rsvd0[3];
	be32_t assert_exit_ptr, assert_callra, rsvd1[2];
	be32_t fw_ver, hw_id, rfr;
	uint8_t irisc_index, synd;
	be16_t ext_synd;
};
SN_SIZE(struct sn_health, 0x40);
SN_AT(struct sn_health, rfr, 0x38);
SN_AT(struct sn_health, synd, 0x3d);

struct sn_iseg {
	be32_t fw_rev;			/* minor(16) major(16) */
	be32_t cmdif_rev;		/* minor version (16 bits), major version (16) */
	be32_t rsvd0[2];
	be32_t cmdq_high;
	be32_t cmdq_low;		/* addr(20) rsvd(1) nic_interface(3) log_size(4) log_stride(4) */
	be32_t cmd_doorbell;
	be32_t rsvd1[120];
	be32_t initializing;		/* bit 31: the function is initializing */
	struct sn_health health;
	be32_t rsvd2[880];
	be64_t timer;			/* internal timer, in ns */
	be32_t rsvd3[2];
	be32_t health_counter;
};
SN_AT(struct sn_iseg, cmdq_high, 0x10);
SN_AT(struct sn_iseg, cmd_doorbell, 0x18);
SN_AT(struct sn_iseg, initializing, 0x1fc);
SN_AT(struct sn_iseg, health, 0x200);
SN_AT(struct sn_iseg, timer, 0x1000);
SN_AT(struct sn_iseg, health_counter, 0x1010);

enum sn_nic_interface { SN_NIC_FULL = 0, SN_NIC_DISABLED = 1, SN_NIC_SW_RESET = 7 };

/* Boot state of the function. */
enum sn_boot { SN_BOOT_OFF, SN_BOOT_ENABLED, SN_BOOT_READY };

struct sn_cold {
	enum sn_boot state;
	/* the device has seen that the driver finished the initialization */
	bool looked;
	bool link_kept_down;		/* INIT_HCA must not bring the link up */
	uint8_t checksum;		/* cmdif_checksum: 1 initial value, 0 off, 3 on */
	bool roce_sport;		/* the driver enabled the optional RoCE capabilities */
	bool atomic_host_order;		/* atomics return values in the host's byte order */

	/* fields of cmdq.c */
	/* bit mask of slots that hardware owns without a doorbell; they run at the next pass */
	uint32_t seen;
	/* bit mask of slots that ran without their doorbell, which may still come */
	uint32_t early;
	uint8_t *in;			/* buffer for the input of a command, in one piece */
	size_t in_size;
	uint8_t *out;

	/* fields of pages.c: pages that the driver has given, sorted by address */
	uint64_t *pages;
	uint32_t npages;
	/* pages requested by an event that the driver has not answered yet; if negative, pages to be
	 * taken back */
	int32_t asked;
	uint32_t look;			/* index of the page to be checked next */
};

static inline struct sn_iseg *sn_iseg(struct softnic *nic)
{
	return (struct sn_iseg *)(void *)nic->dev->bar;
}

/* iseg.c: updates the fields that the driver reads and acts on those that it writes. */
int sn_cold_open(struct softnic *nic);		/* opens the cold part of a device; returns 0 or
						 * -ENOMEM */
void sn_cold_close(struct softnic *nic);
void sn_cold_reset(struct softnic *nic);
bool sn_iseg_scan(struct softnic *nic);
void sn_iseg_fatal(struct softnic *nic);

/* functions of cmdq.c */
void sn_cmdq_ring(struct softnic *nic, uint64_t queue, uint32_t vector);

/* boot.c: 0 if the current boot state allows the command; else reports the refusal and returns its status. */
uint8_t sn_boot_check(struct sn_cmd *c);
void sn_boot_reset(struct softnic *nic);

/* functions of pages.c */
enum sn_page_stage { SN_PAGES_BOOT = 1, SN_PAGES_INIT = 2, SN_PAGES_REGULAR = 3 };
/* returns the number of pages that this stage needs in addition to those given */
int32_t sn_pages_wanted(struct softnic *nic, enum sn_page_stage stage);
/* Requests more pages, or asks the driver to take some back, according to the number of objects. */
void sn_pages_balance(struct softnic *nic);

#endif
