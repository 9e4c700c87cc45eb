/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Is the device alive? Detects the conditions in which libmlx5 would end the process, before
 * libmlx5 checks them, and commands without an answer (PRM, "Initialization Segment" and "Health
 * Buffer").
 */
#include <errno.h>

#include "core/clock.h"
#include "hw_mlx5/ctl/vfio.h"

/* Offsets in BAR0. */
enum {
	SEG_FW_REV = 0x00,		/* minor 31:16, major 15:0 */
	SEG_FW_SUB = 0x04,		/* cmd_interface_rev 31:16, sub-minor 15:0 */
	SEG_CMDQ_ADDR_L = 0x14,		/* nic_interface 9:8 */
	SEG_HEALTH_FW_VER = 0x230,
	SEG_HEALTH_RFR = 0x238,		/* bit 31 */
	SEG_HEALTH_SYNDROME = 0x23c,	/* bits 23:16 */
	SEG_TIMER_H = 0x1000,
	SEG_TIMER_L = 0x1004,
	SEG_HEALTH_COUNTER = 0x1010,	/* bits 23:0 */
};
enum { NIC_ENABLED = 0, NIC_DISABLED = 1, NIC_RESET = 3 };

/*
 * libmlx5 gives the firmware three seconds without a heartbeat, in three checks of one second, and
 * then ends the process. STUCK_MS is shorter, so that this check comes first. Time alone does not
 * decide: a virtual machine that stood still for seconds also stopped its part of the firmware. A
 * command has a minute, as in libmlx5's boot, counted in checks. A registration has a second more for each
 * GiB, because libmlx5 sends its command after the kernel has pinned the memory.
 */
#define STUCK_MS 2600
#define STUCK_LOOKS 2
#define WAITING_LOOKS (60 * 1000 / VF_HEALTH_MS)
#define PINNING_LOOKS (1000 / VF_HEALTH_MS)

/* A doorbell page is in BAR0 at its number, in pages. */
static uint32_t seg_read(const struct vf_device *d, unsigned int offset)
{
	const volatile uint8_t *bar = (const volatile uint8_t *)d->uar->base_addr -
				      (size_t)d->uar->page_id * 4096;

	return be32_to_cpu(*(const volatile be32_t *)(const volatile void *)(bar + offset));
}

void vf_firmware(const struct vf_device *d, uint16_t version[3])
{
	uint32_t rev = seg_read(d, SEG_FW_REV);

	version[0] = (uint16_t)rev;
	version[1] = (uint16_t)(rev >> 16);
	version[2] = (uint16_t)seg_read(d, SEG_FW_SUB);
}

/* Between the loads of the halves the lower one may wrap. */
int vf_timer(struct m5_ctl *ctl, uint64_t *ticks)
{
	const struct vf_device *d = vf_of(ctl)->dev;
	uint32_t high, low, again = seg_read(d, SEG_TIMER_H);

	do {
		high = again;
		low = seg_read(d, SEG_TIMER_L);
		again = seg_read(d, SEG_TIMER_H);
	} while (again != high);
	*ticks = (uint64_t)high << 32 | low;
	return __atomic_load_n(&d->watch.dead, __ATOMIC_SEQ_CST) ? -EIO : 0;
}

static const char *sensors(const struct vf_device *d)
{
	switch (seg_read(d, SEG_CMDQ_ADDR_L) >> 8 & 3) {
	case NIC_DISABLED:
		return "its interface has been disabled";
	case NIC_RESET:
		return "it has been reset";
	}
	if (seg_read(d, SEG_HEALTH_RFR) >> 31 && seg_read(d, SEG_HEALTH_SYNDROME) >> 16 & 0xff)
		return "its firmware has failed";
	return NULL;
}

/* Each check of libmlx5 follows one of these, so libmlx5 cannot find the firmware stuck earlier. */
static bool firmware_stuck(struct vf_device *d, uint64_t ms, bool due)
{
	uint32_t count = seg_read(d, SEG_HEALTH_COUNTER) & 0xffffff;
	struct vf_health *h = &d->health;

	if (!h->changed || count != h->count) {
		h->changed = ms;
		h->count = count;
		h->still = 0;
	} else if (due) {
		h->still++;
	}
	return ms - h->changed >= STUCK_MS && h->still >= STUCK_LOOKS;
}

/* A turn ends when no command of the turn before it waits: later commands cannot hide one that is stuck. */
static bool command_stuck(struct vf_device *d)
{
	struct vf_health *h = &d->health;
	struct dv_watch *watch = &d->watch;
	unsigned int gib = __atomic_load_n(&watch->pinning, __ATOMIC_SEQ_CST);

	h->waiting++;
	h->gib = gib > h->gib ? gib : h->gib;
	if (!__atomic_load_n(&watch->calls[(watch->turn + 1) % 2], __ATOMIC_SEQ_CST)) {
		__atomic_fetch_add(&watch->turn, 1, __ATOMIC_SEQ_CST);
		h->waiting = 0;
		h->gib = gib;
	}
	return h->waiting >= WAITING_LOOKS + PINNING_LOOKS * h->gib;
}

const char *vf_health(struct vf_device *d)
{
	const char *why;
	uint64_t ms;
	bool due;

	/* A removed device reads as all ones. */
	if (seg_read(d, SEG_HEALTH_FW_VER) == UINT32_MAX)
		return "it has been removed";
	why = sensors(d);
	if (why)
		return why;
	ms = dap_now_ms();
	due = ms - d->health.looked >= VF_HEALTH_MS;	/* interrupts call this more often */
	if (due)
		d->health.looked = ms;
	if (firmware_stuck(d, ms, due))
		return "its firmware has stopped";
	return due && command_stuck(d) ? "a command has not been answered for a minute" : NULL;
}
