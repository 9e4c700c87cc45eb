/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The initialization segment of a cold device: plain memory in the BAR that the driver reads and writes
 * and the device scans. PRM "Initialization segment", "Health buffer".
 */
#include <errno.h>
#include <stdlib.h>

#include "softnic/mlx5/cold.h"
#include "softnic/mlx5/quirk.h"

enum { FW_MAJOR = 22, FW_MINOR = 36, FW_SUBMINOR = 1010, CMDIF_REV = 5 };
enum {
	SIZES = SN_CMDQ_LOG_SIZE << 4 | SN_CMDQ_LOG_STRIDE,
	SIZES_MASK = 0xff,
	INTERFACE_SHIFT = 8,
	RFR = 31,			/* bit "recovery flow required" */
	HEALTH_TICK_NS = 10000000,
	MANY_KEYS = 32,			/* number of mkeys for the quirk SN_Q_NO_HEARTBEAT */
};

static void put32(be32_t *at, uint32_t v)
{
	__atomic_store_n(&at->be, to_be32(v).be, __ATOMIC_RELAXED);
}

static uint32_t get32(const be32_t *at)
{
	return be32toh(__atomic_load_n(&at->be, __ATOMIC_ACQUIRE));
}

static void open_segment(struct softnic *nic)
{
	struct sn_iseg *s = sn_iseg(nic);

	memset(s, 0, sizeof(*s));
	put32(&s->fw_rev, FW_MINOR << 16 | FW_MAJOR);
	put32(&s->cmdif_rev, CMDIF_REV << 16 | FW_SUBMINOR);
	put32(&s->cmdq_low, SIZES);
	put32(&s->health.fw_ver, FW_MAJOR << 24 | FW_MINOR << 16 | FW_SUBMINOR);
	put32(&s->health.hw_id, 0x101d);
	put32(&s->initializing, UINT32_C(1) << 31);
}

void sn_iseg_fatal(struct softnic *nic)
{
	enum { INTERNAL_ERROR = 1 };	/* PRM health syndromes */
	struct sn_iseg *s = sn_iseg(nic);

	put32(&s->health.rfr, UINT32_C(1) << RFR);
	__atomic_store_n(&s->health.synd, INTERNAL_ERROR, __ATOMIC_RELEASE);
}

/* Increments the health counter. It stops after a fatal error. */
static void tick(struct softnic *nic)
{
	struct sn_iseg *s = sn_iseg(nic);
	uint64_t now = sn_internal_timer(nic);

	if (!sn_quirk(nic, SN_Q_NO_HEARTBEAT) || nic->mkeys.live < MANY_KEYS)
		put32(&s->health_counter, (uint32_t)(now / HEALTH_TICK_NS) & 0xffffff);
}

/* The driver stores the whole word, but the two size fields in it are read-only. */
static uint32_t keep_sizes(be32_t *at)
{
	uint32_t raw = __atomic_load_n(&at->be, __ATOMIC_ACQUIRE), want;

	do
		want = htobe32((be32toh(raw) & ~(uint32_t)SIZES_MASK) | SIZES);
	while (raw != want && !__atomic_compare_exchange_n(&at->be, &raw, want, false,
							   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return be32toh(want);
}

/* The driver disables the function by a store and not by a command, after TEARDOWN_HCA. */
static bool set_interface(struct softnic *nic, enum sn_nic_interface interface)
{
	if (interface == SN_NIC_FULL || nic->dev->cold->state == SN_BOOT_OFF)
		return false;
	sn_boot_reset(nic);
	return true;
}

bool sn_iseg_scan(struct softnic *nic)
{
	struct sn_iseg *s = sn_iseg(nic);
	uint32_t low, vector;
	bool any;

	if (!nic->dev->cold->looked)
		put32(&s->initializing, 0);
	nic->dev->cold->looked = true;
	if (!nic->fatal)
		tick(nic);
	/* The doorbell is read first, because the driver stores the queue's address before it. */
	vector = get32(&s->cmd_doorbell);
	if (vector)
		vector = be32toh(__atomic_exchange_n(&s->cmd_doorbell.be, 0, __ATOMIC_ACQ_REL));
	low = keep_sizes(&s->cmdq_low);
	any = set_interface(nic, low >> INTERFACE_SHIFT & 7);
	if (!vector && !nic->dev->cold->seen)
		return any;
	sn_cmdq_ring(nic, (uint64_t)get32(&s->cmdq_high) << 32 | (low & ~UINT32_C(0xfff)), vector);
	return any || vector;
}

int sn_cold_open(struct softnic *nic)
{
	struct sn_cold *cold;

	if (!(nic->config.flags & SOFTNIC_COLD))
		return 0;
	cold = calloc(1, sizeof(*cold));
	if (!cold)
		return -ENOMEM;
	nic->dev->cold = cold;
	cold->out = malloc(SN_CMD_OUT_MAX);
	if (!cold->out)
		return -ENOMEM;
	cold->checksum = 1;
	nic->dev->roce_en = false;
	open_segment(nic);
	return 0;
}

void sn_cold_close(struct softnic *nic)
{
	struct sn_cold *cold = nic->dev->cold;

	if (!cold)
		return;
	free(cold->pages);
	free(cold->in);
	free(cold->out);
	free(cold);
	nic->dev->cold = NULL;
}

void sn_cold_reset(struct softnic *nic)
{
	nic->dev->cold->npages = 0;
	nic->dev->cold->seen = nic->dev->cold->early = 0;
	nic->dev->cold->looked = false;
	sn_boot_reset(nic);
	open_segment(nic);
}
