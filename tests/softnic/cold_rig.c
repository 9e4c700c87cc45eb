/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/softnic/cold_rig.h"

/* PRM: initialization segment, command queue entry, mailbox */
enum { ISEG_QUEUE_HIGH = 0x10, ISEG_QUEUE_LOW = 0x14, ISEG_DOORBELL = 0x18, ISEG_INIT = 0x1fc };
enum { ENTRY_IN_LEN = 0x04, ENTRY_IN_PTR = 0x08, ENTRY_IN = 0x10, ENTRY_OUT = 0x20,
       ENTRY_OUT_PTR = 0x30, ENTRY_OUT_LEN = 0x38, ENTRY_OWN = 0x3f };
enum { BOX_NEXT = 0x230, BOX_NUMBER = 0x238, BOX_DATA = 512 };

static void *dma(void *ctx, uint64_t addr, size_t len, bool write)
{
	struct cold *c = ctx;

	(void)write;
	if (!addr || (addr + len > c->refuse_at && addr < c->refuse_at + c->refuse_len))
		return NULL;
	return (void *)(uintptr_t)addr;
}

static void irq(void *ctx, unsigned int vector)
{
	struct cold *c = ctx;

	(void)vector;
	c->irqs++;
}

static uint8_t *memory(size_t align, size_t len)
{
	uint8_t *p = aligned_alloc(align, len);

	cr_assert_not_null(p);
	memset(p, 0, len);
	return p;
}

struct cold *cold_open(void)
{
	return cold_open_flags(0);
}

struct cold *cold_open_flags(unsigned int flags)
{
	struct cold *c = calloc(1, sizeof(*c));
	struct softnic_config config = {
		.flags = SOFTNIC_COLD | SOFTNIC_SCAN_UARS | SOFTNIC_NO_THREAD |
			SOFTNIC_LOOPBACK_ONLY | flags,
		.seed = 1,
		.host = { .dma = dma, .irq = irq, .ctx = c },
	};

	cr_assert_not_null(c);
	cr_assert_eq(softnic_open(&config, &c->nic), 0);
	c->bar = softnic_uar(c->nic, 0);
	c->queue = memory(4096, 4096);
	c->pages = memory(4096, (size_t)COLD_PAGES * 4096);
	for (unsigned int i = 0; i < COLD_BOXES; i++) {
		c->in_box[i] = memory(COLD_BOX, COLD_BOX);
		c->out_box[i] = memory(COLD_BOX, COLD_BOX);
	}
	sn_set32(c->bar, ISEG_QUEUE_HIGH, (uint32_t)((uintptr_t)c->queue >> 32));
	sn_set32(c->bar, ISEG_QUEUE_LOW, (uint32_t)(uintptr_t)c->queue);
	return c;
}

void cold_close(struct cold *c)
{
	softnic_close(c->nic);
	for (unsigned int i = 0; i < COLD_BOXES; i++) {
		free(c->in_box[i]);
		free(c->out_box[i]);
	}
	free(c->pages);
	free(c->queue);
	free(c);
}

uint8_t *cold_entry(struct cold *c, unsigned int slot)
{
	return c->queue + (size_t)slot * 64;
}

void cold_begin(struct cold *c, uint16_t opcode, uint16_t op_mod)
{
	memset(c->in, 0, sizeof(c->in));
	sn_set(c->in, CMD_OPCODE, opcode);
	sn_set(c->in, CMD_OP_MOD, op_mod);
}

static void chain(uint8_t **box)
{
	for (uint32_t i = 0; i < COLD_BOXES; i++) {
		sn_set32(box[i], BOX_NUMBER, i);
		sn_set64(box[i], BOX_NEXT, i + 1 < COLD_BOXES ? (uintptr_t)box[i + 1] : 0);
	}
}

void cold_give(struct cold *c, unsigned int slot, size_t inlen, size_t outlen)
{
	uint8_t *e = cold_entry(c, slot);

	chain(c->in_box);
	chain(c->out_box);
	for (size_t at = 16; at < inlen; at += BOX_DATA)
		memcpy(c->in_box[(at - 16) / BOX_DATA], c->in + at, BOX_DATA);
	e[0] = 7;
	sn_set32(e, ENTRY_IN_LEN, (uint32_t)inlen);
	sn_set64(e, ENTRY_IN_PTR, (uintptr_t)c->in_box[0]);
	memcpy(e + ENTRY_IN, c->in, 16);
	sn_set64(e, ENTRY_OUT_PTR, (uintptr_t)c->out_box[0]);
	sn_set32(e, ENTRY_OUT_LEN, (uint32_t)outlen);
	__atomic_store_n(&e[ENTRY_OWN], 1, __ATOMIC_RELEASE);
}

void cold_ring(struct cold *c, uint32_t slots)
{
	__atomic_store_n((uint32_t *)(void *)(c->bar + ISEG_DOORBELL), htobe32(slots),
			 __ATOMIC_RELEASE);
}

unsigned int cold_wait(struct cold *c, unsigned int slot, size_t outlen)
{
	uint8_t *e = cold_entry(c, slot);

	for (int i = 0; i < 1000 && e[ENTRY_OWN] & 1; i++)
		softnic_pump(c->nic);
	cr_assert(!(e[ENTRY_OWN] & 1), "the device does not return slot %u", slot);
	memcpy(c->out, e + ENTRY_OUT, 16);
	for (size_t at = 16; at < outlen; at += BOX_DATA)
		memcpy(c->out + at, c->out_box[(at - 16) / BOX_DATA],
		       outlen - at < BOX_DATA ? outlen - at : BOX_DATA);
	return e[ENTRY_OWN] >> 1;
}

uint8_t cold_run(struct cold *c, size_t inlen, size_t outlen)
{
	unsigned int delivery;

	cold_give(c, 0, inlen, outlen);
	cold_ring(c, 1);
	delivery = cold_wait(c, 0, outlen);
	cr_assert_eq(delivery, 0, "the command's delivery status is %#x", delivery);
	return c->out[0];
}

uint8_t cold_simple(struct cold *c, uint16_t opcode, uint16_t op_mod)
{
	cold_begin(c, opcode, op_mod);
	return cold_run(c, 16, 16);
}

uint8_t cold_give_pages(struct cold *c, unsigned int n)
{
	uint8_t status;

	cold_begin(c, CMD_MANAGE_PAGES, 1);
	sn_set32(c->in, 0x0c, n);
	for (unsigned int i = 0; i < n; i++)
		sn_set64(c->in, 0x10 + 8 * i, (uintptr_t)c->pages + (c->given + i) * 4096ull);
	status = cold_run(c, 0x10 + 8 * (size_t)n, 16);
	if (!status)
		c->given += n;
	return status;
}

static void satisfy(struct cold *c, uint16_t stage)
{
	cr_assert_eq(cold_simple(c, CMD_QUERY_PAGES, stage), 0);
	cr_assert_eq(cold_give_pages(c, sn_get32(c->out, 0x0c)), 0);
}

void cold_enable(struct cold *c)
{
	cr_assert_eq(cold_simple(c, CMD_ENABLE_HCA, 0), 0);
	cold_begin(c, CMD_SET_ISSI, 0);
	sn_set(c->in, SN_FLD(0x50, 16), 1);
	cr_assert_eq(cold_run(c, 16, 16), 0);
	satisfy(c, 1);
	satisfy(c, 2);
}

void cold_boot(struct cold *c)
{
	cold_enable(c);
	cr_assert_eq(cold_simple(c, CMD_INIT_HCA, 0), 0);
}

uint64_t cold_count(struct cold *c, const char *violation)
{
	struct softnic_violation v[64];
	size_t n = softnic_violations(c->nic, v, 64);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(v[i].name, violation))
			return v[i].count;
	return 0;
}
