/* SPDX-License-Identifier: BSD-2-Clause */
/* How endpoints tell the device of work: what is asked for, and what an instance does. */
#ifndef M5_MMIO_H
#define M5_MMIO_H

#include <stddef.h>
#include <stdint.h>

enum m5_mmio {
	M5_MMIO_AUTO,			/* asked for: what the access says of its pages */
	M5_MMIO_BLUEFLAME,		/* WQEs are copied into a page of the endpoint's own */
	M5_MMIO_COMBINED,		/* 8 bytes into such a page, and a flush */
	M5_MMIO_DOORBELL,		/* 8 bytes into the page that all share */
	M5_MMIO_MEASURE,		/* asked for: BlueFlame where the page combines writes */
};

struct m5_ia;

/* By what a flushed copy and a flushed word took. */
enum m5_mmio m5_mmio_judge(uint64_t block_ns, uint64_t word_ns);
/* Decides for an instance that knows its device and parameters: mmio, mmio_by, bf_regs_left. */
void m5_mmio_choose(struct m5_ia *ia);
/* An 8-byte doorbell of that UAR; the record is written. */
void m5_mmio_ring(const struct m5_ia *ia, volatile uint8_t *uar, uint32_t page, uint32_t offset,
		  uint64_t value);
/* As dat_info shows it. */
void m5_mmio_text(const struct m5_ia *ia, char *text, size_t len);

#endif
