/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A driver that boots a device: initialization segment, command queue, mailboxes, pages. Written to
 * the manual by byte offsets, so that it shares no structure with the device.
 */
#ifndef TEST_SOFTNIC_COLD_RIG_H
#define TEST_SOFTNIC_COLD_RIG_H

#include "softnic/mlx5/prm.h"
#include "softnic/softnic.h"

enum { COLD_BOXES = 12, COLD_BOX = 1024, COLD_PAGES = 128, COLD_OUT = 4096 };

struct cold {
	struct softnic *nic;
	uint8_t *bar, *queue;
	uint8_t *in_box[COLD_BOXES], *out_box[COLD_BOXES];
	uint8_t *pages;
	unsigned int given;		/* of pages */
	unsigned int irqs;
	uint8_t in[COLD_BOXES * 512], out[COLD_OUT];
	uint64_t refuse_at, refuse_len;	/* what the IOMMU does not let through */
};

struct cold *cold_open(void);
struct cold *cold_open_flags(unsigned int flags);	/* of enum softnic_flags, besides */
void cold_close(struct cold *c);

/* The entry of a slot; what a test writes there goes with the next command of that slot. */
uint8_t *cold_entry(struct cold *c, unsigned int slot);
/* c->in with this opcode and op_mod, else zero. */
void cold_begin(struct cold *c, uint16_t opcode, uint16_t op_mod);
/* Fills the entry and its mailboxes, and gives them to the device without a doorbell. */
void cold_give(struct cold *c, unsigned int slot, size_t inlen, size_t outlen);
void cold_ring(struct cold *c, uint32_t slots);
/* Status of delivery of a slot once the device has let go of it; fetches the output. */
unsigned int cold_wait(struct cold *c, unsigned int slot, size_t outlen);
/* All of that in slot 0, without a delivery error: the command's status. */
uint8_t cold_run(struct cold *c, size_t inlen, size_t outlen);
uint8_t cold_simple(struct cold *c, uint16_t opcode, uint16_t op_mod);
/* Gives n pages more. */
uint8_t cold_give_pages(struct cold *c, unsigned int n);
void cold_enable(struct cold *c);	/* up to INIT_HCA, without it */
void cold_boot(struct cold *c);
uint64_t cold_count(struct cold *c, const char *violation);

/* cold.c: is this violation one of those that are provoked there? */
int cold_provokes(const char *violation);

#endif
