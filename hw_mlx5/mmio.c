/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * How the endpoints of an instance ring doorbells. An endpoint that owns a page of write-combining
 * memory copies its WQEs there (BlueFlame), or writes 8 bytes and flushes them; one that shares
 * its page writes 8 bytes to uncached memory.
 *
 * Processor and hypervisor decide whether the page really combines writes, and do not report it.
 * If it does not, each store of a copy goes out separately. So it can be measured by a bounded
 * number of zero blocks. They do nothing: the page belongs to no QP with number 0, and index and
 * doorbell record show no new work.
 */
#include <stdio.h>

#include "core/clock.h"
#include "hw_mlx5/lock.h"
#include "hw_mlx5/mmio.h"

enum { ROUNDS = 16, STORES = 8, SLOWER = 4 };

enum m5_mmio m5_mmio_judge(uint64_t block_ns, uint64_t word_ns)
{
	return block_ns > SLOWER * (word_ns ? word_ns : 1) ? M5_MMIO_DOORBELL : M5_MMIO_BLUEFLAME;
}

/* The shortest time in ns of STORES flushed stores of that many words. */
static uint64_t least_ns(volatile uint64_t *reg, unsigned int words)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = dap_now_ns(), ns;

		for (int k = 0; k < STORES; k++) {
			for (unsigned int w = 0; w < words; w++)
				dap_mmio_store64(&reg[w], 0);
			dap_wc_flush();
		}
		ns = dap_now_ns() - start;
		if (ns < least)
			least = ns;
	}
	return least;
}

static void measure(struct m5_ia *ia)
{
	uint64_t block, word;
	struct m5_uar uar;

	if (ia->ctl->ops->uar_alloc(ia->ctl, M5_UAR_BF, &uar)) {
		ia->mmio = M5_MMIO_DOORBELL;
		snprintf(ia->mmio_by, sizeof(ia->mmio_by), "access");
		return;
	}
	block = least_ns(uar.reg, M5_BB / 8);
	word = least_ns(uar.reg, 1);
	ia->ctl->ops->uar_free(ia->ctl, &uar);
	ia->mmio = m5_mmio_judge(block, word);
	snprintf(ia->mmio_by, sizeof(ia->mmio_by), "measured: 64 bytes %.0f ns, 8 bytes %.0f ns",
		 (double)block / STORES, (double)word / STORES);
}

void m5_mmio_choose(struct m5_ia *ia)
{
	enum m5_mmio asked = ia->params.mmio;
	bool own = ia->dev.bf && ia->params.bf_eps;

	snprintf(ia->mmio_by, sizeof(ia->mmio_by), own && asked ? "parameter" : "access");
	if (!own)
		ia->mmio = M5_MMIO_DOORBELL;
	else if (asked == M5_MMIO_AUTO)
		ia->mmio = M5_MMIO_BLUEFLAME;
	else if (asked != M5_MMIO_MEASURE)
		ia->mmio = asked;
	else if (!ia->ctl->soft)
		measure(ia);
	else			/* the model's page is plain memory: a measurement proves nothing */
		ia->mmio = M5_MMIO_BLUEFLAME;
	ia->bf_regs_left = ia->mmio == M5_MMIO_DOORBELL ? 0 : ia->params.bf_eps;
}

void m5_mmio_ring(const struct m5_ia *ia, volatile uint8_t *uar, uint32_t page, uint32_t offset,
		  uint64_t value)
{
	if (ia->inline_model) {
		ia->ctl->ops->doorbell(ia->ctl, page, offset, value);
		return;
	}
	dap_wmb_dbrec_before_mmio();
	dap_mmio_store64((volatile uint64_t *)(uar + offset), value);
	dap_wc_flush();
}

void m5_mmio_text(const struct m5_ia *ia, char *text, size_t len)
{
	if (ia->mmio == M5_MMIO_DOORBELL)
		snprintf(text, len, "8 bytes");
	else
		snprintf(text, len, "%s (%u endpoints)", ia->mmio == M5_MMIO_BLUEFLAME ?
			 "blueflame" : "8 bytes, combined", ia->params.bf_eps);
}
