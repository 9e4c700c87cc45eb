/* SPDX-License-Identifier: BSD-2-Clause */
/* Doorbell modes of endpoints: the one asked for, and the one an instance uses. */
#ifndef M5_MMIO_H
#define M5_MMIO_H

#include <stddef.h>
#include <stdint.h>

enum m5_mmio {
	M5_MMIO_AUTO,			/* default: chosen by the access from its pages */
	M5_MMIO_BLUEFLAME,		/* WQEs are copied to a page that the endpoint owns */
	M5_MMIO_COMBINED,		/* 8 bytes to such a page, and a flush */
	M5_MMIO_DOORBELL,		/* 8 bytes to a shared page */
	M5_MMIO_MEASURE,		/* BlueFlame if measurements show that the page combines writes */
};

struct m5_ia;

/* Judges by the times of a flushed copy and a flushed word. */
enum m5_mmio m5_mmio_judge(uint64_t block_ns, uint64_t word_ns);
/* Sets mmio, mmio_by and bf_regs_left of an instance from its device and parameters. */
void m5_mmio_choose(struct m5_ia *ia);
/* Writes an 8-byte doorbell to that UAR; the record is already written. */
void m5_mmio_ring(const struct m5_ia *ia, volatile uint8_t *uar, uint32_t page, uint32_t offset,
		  uint64_t value);
/* Text for dat_info. */
void m5_mmio_text(const struct m5_ia *ia, char *text, size_t len);

#endif
