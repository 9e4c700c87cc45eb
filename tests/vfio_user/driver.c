/* SPDX-License-Identifier: BSD-2-Clause */
/* The guest's driver: initialization segment, command queue, pages. Written to the manual by byte offsets. */
#include <string.h>
#include <sys/mman.h>

#include "tests/vfio_user/rig.h"

/* PRM: initialization segment, command queue entry, mailbox */
enum { ISEG_QUEUE_HIGH = 0x10, ISEG_QUEUE_LOW = 0x14, ISEG_DOORBELL = 0x18, ISEG_INIT = 0x1fc };
enum { ENTRY_IN_LEN = 0x04, ENTRY_IN_PTR = 0x08, ENTRY_IN = 0x10, ENTRY_OUT = 0x20,
       ENTRY_OUT_PTR = 0x30, ENTRY_OUT_LEN = 0x38, ENTRY_OWN = 0x3f };
enum { BOX_NEXT = 0x230, BOX_NUMBER = 0x238, BOX_DATA = 512, BOX = 1024, BOXES = 12 };
/*
 * Pages of the guest's memory: the queue, the input and output mailboxes, and the firmware's pages
 */
enum { QUEUE = 0, IN_BOXES = 1, OUT_BOXES = 5, FIRMWARE = 16 };
enum { CONFIG_COMMAND = 4, MASTER_AND_MEMORY = 6 };

uint64_t rig_page(struct rig *r, unsigned int n, uint8_t **at)
{
	if (at)
		*at = r->ram + (size_t)n * 4096;
	return RIG_RAM_AT + (uint64_t)n * 4096;
}

/* reads a big-endian word of BAR 0 */
static uint32_t rig_reg(struct rig *r, uint32_t offset)
{
	uint8_t word[4];

	cr_assert_eq(rig_read(r, VFIO_PCI_BAR0_REGION_INDEX, offset, word, 4), 0);
	return sn_get32(word, 0);
}

void rig_set_reg(struct rig *r, uint32_t offset, uint32_t value)
{
	uint8_t word[4];

	sn_set32(word, 0, value);
	cr_assert_eq(rig_write(r, VFIO_PCI_BAR0_REGION_INDEX, offset, word, 4), 0);
}

void rig_map_bar(struct rig *r)
{
	struct vfio_region_info info = { .argsz = 4096, .index = VFIO_PCI_BAR0_REGION_INDEX };

	cr_assert_eq(rig_request(r, VM_REGION_INFO, &info, sizeof(info)), 0);
	cr_assert_geq(r->reply_fd, 0);
	r->bar_fd = r->reply_fd;
	memcpy(&info, r->reply, sizeof(info));
	r->bar = mmap(NULL, info.size, PROT_READ | PROT_WRITE, MAP_SHARED, r->bar_fd, 0);
	cr_assert_neq(r->bar, MAP_FAILED);
}

/* maps memory, enables bus mastering, and sets the queue's address */
static void rig_probe(struct rig *r)
{
	uint16_t command = MASTER_AND_MEMORY;

	cr_assert_eq(rig_map(r, RIG_RAM_AT, RIG_RAM, r->ram_fd, 0), 0);
	cr_assert_eq(rig_write(r, VFIO_PCI_CONFIG_REGION_INDEX, CONFIG_COMMAND, &command, 2), 0);
	cr_assert(TH_WITHIN(TH_PEER_MS, !(rig_reg(r, ISEG_INIT) >> 31)),
		  "the firmware did not become ready in time");
	rig_set_reg(r, ISEG_QUEUE_HIGH, 0);
	rig_set_reg(r, ISEG_QUEUE_LOW, RIG_RAM_AT + QUEUE * 4096);
}

void rig_begin(struct rig *r, uint16_t opcode, uint16_t op_mod)
{
	memset(r->in, 0, sizeof(r->in));
	sn_set(r->in, CMD_OPCODE, opcode);
	sn_set(r->in, CMD_OP_MOD, op_mod);
}

/* Builds a chain of mailboxes that starts at a page; returns its bus address. */
static uint64_t chain(struct rig *r, unsigned int page)
{
	uint8_t *box;
	uint64_t at = rig_page(r, page, &box);

	for (uint32_t i = 0; i < BOXES; i++) {
		memset(box + (size_t)i * BOX, 0, BOX);
		sn_set32(box + (size_t)i * BOX, BOX_NUMBER, i);
		sn_set64(box + (size_t)i * BOX, BOX_NEXT, i + 1 < BOXES ? at + (i + 1) * BOX : 0);
	}
	return at;
}

static uint8_t *entry(struct rig *r)
{
	return r->ram + QUEUE * 4096;
}

void rig_give(struct rig *r, size_t inlen, size_t outlen)
{
	uint8_t *e = entry(r), *box;

	memset(e, 0, 64);
	e[0] = 7;
	sn_set32(e, ENTRY_IN_LEN, (uint32_t)inlen);
	sn_set64(e, ENTRY_IN_PTR, chain(r, IN_BOXES));
	memcpy(e + ENTRY_IN, r->in, 16);
	sn_set64(e, ENTRY_OUT_PTR, chain(r, OUT_BOXES));
	sn_set32(e, ENTRY_OUT_LEN, (uint32_t)outlen);
	rig_page(r, IN_BOXES, &box);
	for (size_t at = 16; at < inlen; at += BOX_DATA)
		memcpy(box + (at - 16) / BOX_DATA * BOX, r->in + at,
		       inlen - at < BOX_DATA ? inlen - at : BOX_DATA);
	__atomic_store_n(&e[ENTRY_OWN], 1, __ATOMIC_RELEASE);
}

void rig_ring(struct rig *r, size_t inlen, size_t outlen)
{
	rig_give(r, inlen, outlen);
	rig_set_reg(r, ISEG_DOORBELL, 1);
}

uint8_t rig_run(struct rig *r, size_t inlen, size_t outlen)
{
	uint8_t *e = entry(r), *box;

	rig_ring(r, inlen, outlen);
	cr_assert(TH_WITHIN(TH_PEER_MS, !(__atomic_load_n(&e[ENTRY_OWN], __ATOMIC_ACQUIRE) & 1)),
		  "the device did not execute the command in time");
	cr_assert_eq(e[ENTRY_OWN] >> 1, 0, "the command's delivery status is %#x",
		     e[ENTRY_OWN] >> 1);
	memcpy(r->out, e + ENTRY_OUT, 16);
	rig_page(r, OUT_BOXES, &box);
	for (size_t at = 16; at < outlen; at += BOX_DATA)
		memcpy(r->out + at, box + (at - 16) / BOX_DATA * BOX,
		       outlen - at < BOX_DATA ? outlen - at : BOX_DATA);
	return r->out[0];
}

uint8_t rig_simple(struct rig *r, uint16_t opcode, uint16_t op_mod)
{
	rig_begin(r, opcode, op_mod);
	return rig_run(r, 16, 16);
}

static void give_pages(struct rig *r, uint16_t stage)
{
	uint32_t n;

	cr_assert_eq(rig_simple(r, CMD_QUERY_PAGES, stage), 0);
	n = sn_get32(r->out, 0x0c);
	cr_assert_leq(r->given + n, RIG_PAGES);
	rig_begin(r, CMD_MANAGE_PAGES, 1);
	sn_set32(r->in, 0x0c, n);
	for (uint32_t i = 0; i < n; i++)
		sn_set64(r->in, 0x10 + 8 * i, rig_page(r, FIRMWARE + r->given + i, NULL));
	cr_assert_eq(rig_run(r, 0x10 + 8 * (size_t)n, 16), 0);
	r->given += n;
}

void rig_boot(struct rig *r)
{
	rig_probe(r);
	cr_assert_eq(rig_simple(r, CMD_ENABLE_HCA, 0), 0);
	cr_assert_eq(rig_simple(r, CMD_QUERY_ISSI, 0), 0);
	rig_begin(r, CMD_SET_ISSI, 0);
	sn_set(r->in, SN_FLD(0x50, 16), 1);
	cr_assert_eq(rig_run(r, 16, 16), 0);
	r->given = 0;
	give_pages(r, 1);
	rig_begin(r, CMD_QUERY_HCA_CAP, 0);
	cr_assert_eq(rig_run(r, 16, 0x1010), 0);
	give_pages(r, 2);
	cr_assert_eq(rig_simple(r, CMD_INIT_HCA, 0), 0);
}

bool rig_works(struct rig *r)
{
	uint32_t pdn;

	if (rig_simple(r, CMD_ALLOC_PD, 0))
		return false;
	pdn = sn_get(r->out, CMD_NUMBER);
	rig_begin(r, CMD_DEALLOC_PD, 0);
	sn_set(r->in, CMD_NUMBER, pdn);
	return !rig_run(r, 16, 16);
}

uint64_t rig_violations(struct rig *r, const char *name)
{
	struct softnic_violation v[64];
	size_t n = softnic_violations(r->dev->nic, v, 64);

	for (size_t i = 0; i < n && i < 64; i++)
		if (!strcmp(v[i].name, name))
			return v[i].count;
	return 0;
}

enum { EQ_LOG_SIZE = 6, EQ_BYTES = 64 << EQ_LOG_SIZE };

void rig_boot_and_close(struct rig *r)
{
	rig_boot(r);
	cr_expect(rig_works(r));
	rig_close(r);
}

uint32_t rig_alloc_uar(struct rig *r)
{
	cr_assert_eq(rig_simple(r, CMD_ALLOC_UAR, 0), 0);
	return sn_get(r->out, CMD_NUMBER);
}

/* Linux shares the EQs of completions with all user contexts. */
uint32_t rig_create_eq(struct rig *r, uint32_t uar, unsigned int n, uint8_t vector, uint64_t events)
{
	uint8_t *ctx = r->in + AT_CTX, *at;

	rig_begin(r, CMD_CREATE_EQ, 0);
	sn_set(r->in, CMD_UID, events ? 0 : 0xffff);
	sn_set(ctx, EQC_LOG_SIZE, EQ_LOG_SIZE);
	sn_set(ctx, EQC_UAR, uar);
	sn_set(ctx, EQC_INTR, vector);
	sn_set64(r->in, EQ_BITMASK, events);
	sn_set64(r->in, AT_PAS, rig_page(r, RIG_EQ_PAGE + n, &at));
	memset(at, 0, EQ_BYTES);
	cr_assert_eq(rig_run(r, AT_PAS + 8, 16), 0);
	return sn_get(r->out, CMD_EQN);
}

void rig_arm_eq(struct rig *r, uint32_t uar, uint32_t eqn, uint32_t ci)
{
	rig_set_reg(r, uar * 4096 + 0x40, eqn << 24 | ci);
}
