/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A driver that boots a device: initialization segment, command queue, mailboxes, pages. Written from
 * the manual with byte offsets, so that it shares no structure with the device.
 */
#ifndef TEST_SOFTNIC_COLD_RIG_H
#define TEST_SOFTNIC_COLD_RIG_H

#include "softnic/mlx5/prm.h"
#include "softnic/softnic.h"

enum { COLD_BOXES = 130, COLD_BOX = 1024, COLD_PAGES = 1024, COLD_OUT = 4096 };

struct cold {
	struct softnic *nic;
	uint8_t *bar, *queue;
	uint8_t *in_box[COLD_BOXES], *out_box[COLD_BOXES];
	uint8_t *pages;
	unsigned int given;		/* number of pages given */
	unsigned int irqs;
	uint8_t in[COLD_BOXES * 512], out[COLD_OUT];
	uint64_t refuse_at, refuse_len;	/* the range that the IOMMU refuses */
};

struct cold *cold_open(void);
/* flags: bits of enum softnic_flags in addition to those of a cold device */
struct cold *cold_open_flags(unsigned int flags);
void cold_close(struct cold *c);

/* Returns the entry of a slot. What a test changes there applies to the next command in that slot. */
uint8_t *cold_entry(struct cold *c, unsigned int slot);
/* Zeroes c->in and sets opcode and op_mod. */
void cold_begin(struct cold *c, uint16_t opcode, uint16_t op_mod);
/* Fills the entry and its mailboxes, and passes ownership to the device without a doorbell. */
void cold_give(struct cold *c, unsigned int slot, size_t inlen, size_t outlen);
void cold_ring(struct cold *c, uint32_t slots);
/* Waits until the device returns the slot; returns its delivery status and fetches the output. */
unsigned int cold_wait(struct cold *c, unsigned int slot, size_t outlen);
/* Runs a command in slot 0, which must have no delivery error. Returns its status. */
uint8_t cold_run(struct cold *c, size_t inlen, size_t outlen);
uint8_t cold_simple(struct cold *c, uint16_t opcode, uint16_t op_mod);
/* Gives n more pages to the device. */
uint8_t cold_give_pages(struct cold *c, unsigned int n);
void cold_enable(struct cold *c);	/* boots the device until just before INIT_HCA */
void cold_boot(struct cold *c);
uint64_t cold_count(struct cold *c, const char *violation);

/* cold.c: does a test there provoke this violation? */
int cold_provokes(const char *violation);

#endif
