/* SPDX-License-Identifier: BSD-2-Clause */
/* Registers and admin commands of the EFA: correct and incorrect uses. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tests/vfio_user/efa.h"

TestSuite(efa_admin, .timeout = 60);

enum { REG_VERSION = 0x00, REG_AQ_LO = 0x10, REG_AQ_CAPS = 0x18, REG_AQ_DB = 0x2c, REG_INTR_MASK = 0x4c,
       REG_DEV_STS = 0x58, REG_MMIO_READ = 0x5c, REG_MMIO_LO = 0x60, REG_EQ_DB = 0x68 };
enum { CREATE_QP = 1, QUERY_QP = 3, DESTROY_QP = 4, REG_MR = 7, DEREG_MR = 8, CREATE_CQ = 9, DESTROY_CQ = 10,
       GET_FEATURE = 11, SET_FEATURE = 12, GET_STATS = 13, ALLOC_PD = 14, DEALLOC_PD = 15, DEALLOC_UAR = 17,
       CREATE_EQ = 18, DESTROY_EQ = 19 };
enum { NO_RESOURCE = 1, UNSUPPORTED = 3, MALFORMED = 4, ILLEGAL = 5, BUSY = 7 };
/* An address where the guest has no memory. */
#define NOWHERE UINT64_C(0x7f000000)

static struct efa_guest g;

static uint32_t config(struct rig *r, uint64_t at, unsigned int bytes)
{
	uint8_t word[4];

	cr_assert_eq(rig_read(r, VFIO_PCI_CONFIG_REGION_INDEX, at, word, bytes), 0);
	return (uint32_t)efa_get(word, 0, bytes);
}

Test(efa_admin, profile__has_its_identity_and_boots)
{
	static const struct {
		const char *name;
		uint16_t device;
		uint32_t caps;
	} profiles[] = {
		{ "efa0", 0xefa0, 0 }, { "efa1", 0xefa1, 0 }, { "read", 0xefa1, 3 }, { "write", 0xefa2, 11 },
		{ "unsol", 0xefa3, 27 },
	};

	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
		struct rig *r = efa_open(profiles[i].name);

		cr_expect_eq(config(r, 0, 2), 0x1d0f);
		cr_expect_eq(config(r, 2, 2), profiles[i].device);
		cr_expect_eq(config(r, 0xa0, 4), 1, "the MSI-X table is not at the start of BAR 1");
		efa_probe(&g, r);
		efa_op(&g, GET_FEATURE)[17] = 1;
		cr_expect_eq(efa_run(&g), 0);
		cr_expect_eq(efa_get(g.op.out, 8 + 28, 2), EFA_DB_BAR);
		cr_expect_eq(efa_get(g.op.out, 8 + 32, 4), profiles[i].caps,
			     "profile %s has the wrong capabilities", profiles[i].name);
		cr_expect(efa_works(&g));
		cr_expect_eq(rig_reports(r), 0);
		efa_end(&g);
	}
}

Test(efa_admin, bar_sizes__are_found_by_writing_ones)
{
	static const struct {
		unsigned int bar;
		/* expected values: of the BAR's register, and of the next register */
		uint32_t low, high;
	} bars[] = {
		{ 0, 0xffffe000, 0xffffe000 }, { 2, 0xf000000c, 0xffffffff }, { 4, 0xffc00004, 0xffffffff },
	};
	struct rig *r = efa_open("write");
	const uint32_t ones = UINT32_MAX;

	for (size_t i = 0; i < sizeof(bars) / sizeof(bars[0]); i++) {
		uint64_t at = 0x10 + 4 * bars[i].bar;

		for (unsigned int k = 0; k < 2; k++)
			cr_assert_eq(rig_write(r, VFIO_PCI_CONFIG_REGION_INDEX, at + 4 * k, &ones, 4), 0);
		cr_expect_eq(config(r, at, 4), bars[i].low, "BAR %u has the wrong size",
			     bars[i].bar);
		cr_expect_eq(config(r, at + 4, 4), bars[i].high, "BAR %u has the wrong size",
			     bars[i].bar + 1);
	}
	rig_close(r);
}

Test(efa_admin, register__is_the_same_by_a_response_and_by_a_read)
{
	struct rig *r = efa_open("write");
	uint8_t word[4];

	efa_probe(&g, r);
	cr_expect_eq(efa_reg(&g, REG_VERSION), 1);
	cr_expect_eq(efa_reg(&g, REG_AQ_LO), RIG_RAM_AT + EFA_AQ * 4096);
	cr_expect_eq(efa_reg(&g, 0x6c), UINT32_MAX,
		     "the register after the last one does not read as all ones");
	cr_assert_eq(rig_read(r, EFA_REG_BAR, REG_AQ_LO, word, 4), 0);
	cr_expect_eq(efa_get(word, 0, 4), efa_reg(&g, REG_AQ_LO));
	cr_assert_eq(rig_read(r, EFA_REG_BAR, REG_AQ_LO + 1, word, 2), 0);
	cr_expect_eq(efa_get(word, 0, 2), efa_reg(&g, REG_AQ_LO) >> 8 & 0xffff);
	efa_end(&g);
}

/* Each bad access is reported, and the device continues. */
Test(efa_admin, bad_register_access__is_reported)
{
	struct rig *r = efa_open("write");
	unsigned int reports = 0;

	efa_probe(&g, r);
	efa_set_reg(r, REG_VERSION, 7);
	cr_expect_eq(rig_reports(r), ++reports);
	cr_expect_eq(efa_reg(&g, REG_VERSION), 1);
	efa_set_reg(r, 0x1000, 7);
	cr_expect_eq(rig_reports(r), ++reports);
	efa_set_reg(r, REG_EQ_DB, UINT32_C(1) << 31 | 3);
	cr_expect_eq(rig_reports(r), ++reports, "a doorbell of an unknown EQ is not reported once");
	efa_set_reg(r, REG_MMIO_LO, (uint32_t)NOWHERE);
	efa_set_reg(r, REG_MMIO_READ, 1);
	cr_expect_eq(rig_reports(r), ++reports,
		     "a response to an address without memory is not reported once");
	efa_set_reg(r, REG_MMIO_LO, RIG_RAM_AT + EFA_MMIO * 4096 + 4);
	efa_set_reg(r, REG_MMIO_READ, 1);
	cr_expect_eq(rig_reports(r), ++reports,
		     "a response to an unaligned address is not reported once");
	cr_expect_eq(rig_write(r, EFA_REG_BAR, REG_AQ_LO + 1, "abcd", 4), EINVAL);
	cr_expect_eq(rig_write(r, EFA_REG_BAR, REG_AQ_LO, "ab", 2), EINVAL);
	cr_expect(efa_works(&g));
	efa_end(&g);
}

Test(efa_admin, completion__interrupts_unless_masked)
{
	struct rig *r = efa_open("write");
	uint64_t n;

	efa_boot(&g, r);
	cr_expect_eq(read(g.irq[0], &n, sizeof(n)), 8,
		     "the commands of the boot raised no interrupt");
	efa_set_reg(r, REG_INTR_MASK, 1);
	cr_expect(efa_works(&g));
	cr_expect_lt(read(g.irq[0], &n, sizeof(n)), 0);
	efa_set_reg(r, REG_INTR_MASK, 0);
	cr_expect(efa_works(&g));
	cr_expect_eq(read(g.irq[0], &n, sizeof(n)), 8);
	cr_expect_eq(n, 2);
	efa_end(&g);
}

/* Both rings wrap many times. */
Test(efa_admin, queue__that_wraps_loses_no_command)
{
	struct rig *r = efa_open("write");

	efa_probe(&g, r);
	for (int i = 0; i < 200; i++)
		cr_assert(efa_works(&g), "command %d failed", i);
	efa_end(&g);
}

Test(efa_admin, unknown_command__is_unsupported)
{
	static const uint8_t opcodes[] = { 0, 20, 64, 255 };
	struct rig *r = efa_open("write");

	efa_probe(&g, r);
	for (size_t i = 0; i < sizeof(opcodes); i++)
		cr_expect_eq(efa_simple(&g, opcodes[i], 0), UNSUPPORTED,
			     "the unknown command %u was not refused", opcodes[i]);
	cr_expect_eq(rig_reports(r), sizeof(opcodes));
	cr_expect(efa_works(&g));
	efa_end(&g);
}

Test(efa_admin, entry_of_another_turn__is_malformed)
{
	struct rig *r = efa_open("write");

	efa_probe(&g, r);
	for (unsigned int i = 0; i < EFA_DEPTH; i++)
		cr_assert_eq(efa_simple(&g, ALLOC_PD, 0), 0);
	efa_op(&g, ALLOC_PD)[3] = 1;		/* the phase of the first lap */
	cr_expect_eq(efa_run(&g), MALFORMED);
	cr_expect(efa_works(&g));
	efa_end(&g);
}

Test(efa_admin, queue_without_memory__is_fatal_until_a_reset)
{
	struct rig *r = efa_open("write");

	efa_probe(&g, r);
	efa_set_reg(r, REG_AQ_LO, (uint32_t)NOWHERE);
	efa_set_reg(r, REG_AQ_DB, 1);
	cr_expect_eq(rig_reports(r), 1);
	cr_expect_neq(efa_reg(&g, REG_DEV_STS) & 1 << 5, 0);
	cr_assert_eq(rig_unmap(r, RIG_RAM_AT, RIG_RAM), 0);
	efa_probe(&g, r);
	cr_expect_eq(efa_reg(&g, REG_DEV_STS), 1);
	cr_expect(efa_works(&g));
	efa_end(&g);
}

Test(efa_admin, doorbell__of_more_entries_than_there_are_is_reported)
{
	static const uint32_t caps[] = { 0, 64 << 16 | 31, 32 << 16 | 32, 64 << 16 };
	struct rig *r = efa_open("write");
	unsigned int reports = 0;

	efa_probe(&g, r);
	efa_set_reg(r, REG_AQ_DB, EFA_DEPTH + 1);
	cr_expect_eq(rig_reports(r), ++reports);
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		efa_set_reg(r, REG_AQ_CAPS, caps[i]);
		efa_set_reg(r, REG_AQ_DB, 1);
		cr_expect_eq(rig_reports(r), ++reports,
			     "the invalid queue capabilities %#x are not reported once", caps[i]);
	}
	efa_set_reg(r, REG_AQ_CAPS, 64 << 16 | EFA_DEPTH);
	cr_expect(efa_works(&g));
	efa_end(&g);
}

Test(efa_admin, features__those_that_linux_needs_are_supported)
{
	struct rig *r = efa_open("write");

	efa_probe(&g, r);
	for (uint8_t feature = 0; feature < 10; feature++) {
		efa_op(&g, GET_FEATURE)[17] = feature;
		cr_expect_eq(efa_run(&g), feature >= 1 && feature <= 7 ? 0 : UNSUPPORTED,
			     "GET_FEATURE of feature %u has the wrong status", feature);
	}
	efa_op(&g, GET_FEATURE)[17] = 3;
	cr_assert_eq(efa_run(&g), 0);
	cr_expect_arr_eq(g.op.out + 8, r->dev->efa->caps.gid, 16);
	efa_op(&g, SET_FEATURE)[17] = 2;
	efa_put(g.op.in, 24, 4, 0x1e);
	cr_expect_eq(efa_run(&g), 0);
	efa_op(&g, GET_FEATURE)[17] = 2;
	cr_assert_eq(efa_run(&g), 0);
	cr_expect_eq(efa_get(g.op.out, 8, 8), 0x1e0000001e);
	efa_op(&g, SET_FEATURE)[17] = 2;
	efa_put(g.op.in, 24, 4, 0x20);
	cr_expect_eq(efa_run(&g), ILLEGAL);
	efa_op(&g, SET_FEATURE)[17] = 6;
	cr_expect_eq(efa_run(&g), 0);
	efa_op(&g, SET_FEATURE)[17] = 4;
	cr_expect_eq(efa_run(&g), UNSUPPORTED);
	for (uint8_t type = 0; type < 5; type++) {
		efa_op(&g, GET_STATS)[16] = type;
		cr_expect_eq(efa_run(&g), type < 4 ? 0 : UNSUPPORTED);
	}
	efa_end(&g);
}

Test(efa_admin, destroy__of_what_is_in_use_is_busy)
{
	struct rig *r = efa_open("write");

	efa_boot(&g, r);
	cr_expect_eq(efa_simple(&g, DEALLOC_UAR, g.uar), BUSY);
	cr_expect_eq(efa_simple(&g, DESTROY_EQ, g.eqn), BUSY);
	cr_expect_eq(efa_simple(&g, DESTROY_CQ, g.cq), BUSY);
	cr_expect_eq(efa_simple(&g, DEALLOC_PD, g.pd), BUSY);
	cr_expect_eq(efa_simple(&g, DESTROY_QP, g.qp), 0);
	cr_expect_eq(efa_simple(&g, DESTROY_EQ, g.eqn), BUSY);
	cr_expect_eq(efa_simple(&g, DESTROY_CQ, g.cq), 0);
	cr_expect_eq(efa_simple(&g, DEREG_MR, g.lkey), 0);
	cr_expect_eq(efa_simple(&g, DESTROY_EQ, g.eqn), 0);
	cr_expect_eq(efa_simple(&g, DEALLOC_UAR, g.uar), 0);
	cr_expect_eq(efa_simple(&g, DEALLOC_PD, g.pd), 0);
	/* Commands for an object that does not exist any more are refused. */
	cr_expect_eq(efa_simple(&g, DESTROY_QP, g.qp), ILLEGAL);
	cr_expect_eq(efa_simple(&g, DESTROY_QP, UINT32_MAX), ILLEGAL);
	cr_expect_eq(efa_simple(&g, QUERY_QP, 5000), ILLEGAL);
	cr_expect_eq(efa_simple(&g, DESTROY_CQ, 0xffff), ILLEGAL);
	cr_expect_eq(efa_simple(&g, DESTROY_EQ, 0xffff), ILLEGAL);
	cr_expect_eq(efa_simple(&g, DEALLOC_UAR, 0xffff), ILLEGAL);
	cr_expect_eq(efa_simple(&g, DEREG_MR, g.lkey), ILLEGAL);
	efa_end(&g);
}

/* A change to a valid command, and the status that it must cause. */
struct change {
	unsigned int at, bytes;
	uint64_t value;
	uint8_t status;
};

static void try_changes(const uint8_t good[64], const struct change *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		memcpy(g.op.in, good, 64);
		g.op.in[3] &= 0xfe;
		efa_put(g.op.in, c[i].at, c[i].bytes, c[i].value);
		cr_expect_eq(efa_run(&g), c[i].status,
			     "case %zu: the command has the wrong status %u", i, g.op.out[2]);
	}
}

Test(efa_admin, create_cq__bad_fields_are_refused)
{
	static const struct change changes[] = {
		{ 4, 1, 1 << 5 | 1 << 6, UNSUPPORTED }, { 4, 1, 1, ILLEGAL }, { 5, 1, 1 << 7 | 8, ILLEGAL },
		{ 5, 1, 3, ILLEGAL }, { 6, 2, 0, ILLEGAL }, { 6, 2, 100, ILLEGAL }, { 8, 2, 1, ILLEGAL },
		{ 8, 2, 0xffff, ILLEGAL }, { 12, 8, 8, ILLEGAL }, { 24, 2, 2, ILLEGAL },
		{ 26, 2, 9, ILLEGAL }, { 26, 2, 0xffff, ILLEGAL }, { 6, 2, 1, 0 },
	};
	struct rig *r = efa_open("write");
	uint8_t good[64] = { [2] = CREATE_CQ, [4] = 1 << 5, [5] = 8 };

	efa_boot(&g, r);
	efa_put(good, 6, 2, 64);
	efa_put(good, 8, 2, g.eqn);
	efa_put(good, 24, 2, 1);
	efa_put(good, 26, 2, g.uar);
	try_changes(good, changes, sizeof(changes) / sizeof(changes[0]));
	cr_expect_eq(softnic_efa_object_count(r->dev->efa->nic, "cq"), 2);
	efa_end(&g);
}

Test(efa_admin, create_qp__bad_fields_are_refused)
{
	static const struct change changes[] = {
		{ 4, 2, 99, ILLEGAL }, { 6, 1, 0, ILLEGAL }, { 6, 1, 3, ILLEGAL }, { 7, 1, 1, UNSUPPORTED },
		{ 7, 1, 2, UNSUPPORTED }, { 7, 1, 4, UNSUPPORTED }, { 16, 8, 8, ILLEGAL },
		{ 24, 4, 0x10000, ILLEGAL }, { 28, 4, 511, ILLEGAL }, { 40, 4, 65, ILLEGAL },
		{ 40, 4, 3 * 64, ILLEGAL }, { 40, 4, 1 << 30, ILLEGAL }, { 48, 4, 8, ILLEGAL },
		{ 48, 4, 1 << 30, ILLEGAL }, { 56, 2, 7, ILLEGAL }, { 6, 1, 1, 0 },
	};
	struct rig *r = efa_open("write");
	uint8_t good[64] = { [2] = CREATE_QP, [6] = 2 };

	efa_boot(&g, r);
	efa_put(good, 4, 2, g.pd);
	efa_put(good, 24, 4, g.cq);
	efa_put(good, 28, 4, g.cq);
	efa_put(good, 40, 4, 64 * 64);
	efa_put(good, 48, 4, 16 * 16);
	efa_put(good, 56, 2, g.uar);
	try_changes(good, changes, sizeof(changes) / sizeof(changes[0]));
	cr_expect_eq(softnic_efa_object_count(r->dev->efa->nic, "qp"), 2);
	efa_end(&g);
}

Test(efa_admin, create_eq__bad_fields_are_refused)
{
	static const struct change changes[] = {
		{ 4, 2, 0, ILLEGAL }, { 4, 2, 100, ILLEGAL }, { 4, 2, 8192, ILLEGAL }, { 6, 1, 64, ILLEGAL },
		{ 7, 1, 8, ILLEGAL }, { 8, 8, 8, ILLEGAL }, { 16, 4, 2, ILLEGAL }, { 4, 2, 1, 0 },
	};
	struct rig *r = efa_open("write");
	uint8_t good[64] = { [2] = CREATE_EQ, [5] = 1, [7] = 4, [16] = 1 };

	efa_probe(&g, r);
	try_changes(good, changes, sizeof(changes) / sizeof(changes[0]));
	for (int i = 1; i < 32; i++) {
		memcpy(efa_op(&g, CREATE_EQ), good, 64);
		cr_assert_eq(efa_run(&g), 0);
	}
	memcpy(efa_op(&g, CREATE_EQ), good, 64);
	cr_expect_eq(efa_run(&g), NO_RESOURCE);
	efa_end(&g);
}

/* ---- Regions */

enum { PER_PAGE = 512, IN_CHUNK = 510 };

static uint8_t *begin_mr(uint64_t pages)
{
	uint8_t *in = efa_op(&g, REG_MR);

	efa_put(in, 40, 8, pages * 4096);
	in[48] = 12;
	in[49] = 1;
	efa_put(in, 56, 8, 0x10000);
	return in;
}

static void probe_with_pd(void)
{
	efa_probe(&g, efa_open("write"));
	cr_assert_eq(efa_simple(&g, ALLOC_PD, 0), 0);
}

Test(efa_admin, reg_mr__of_more_than_four_pages_in_the_command_is_refused)
{
	probe_with_pd();
	for (unsigned int n = 1; n <= 5; n++) {
		begin_mr(n);
		for (unsigned int i = 0; i < 4; i++)
			efa_put(g.op.in, 8 + 8 * i, 8, (uint64_t)i << 20);
		cr_expect_eq(efa_run(&g), n <= 4 ? 0 : ILLEGAL,
			     "wrong status of a registration of %u pages", n);
	}
	begin_mr(1);
	efa_put(g.op.in, 8, 8, 2048);
	cr_expect_eq(efa_run(&g), ILLEGAL, "a page of half the size was not refused");
	begin_mr(1)[48] |= 0x80;
	cr_expect_eq(efa_run(&g), UNSUPPORTED, "a region of physical addresses was not refused");
	begin_mr(1)[48] = 11;
	cr_expect_eq(efa_run(&g), ILLEGAL);
	begin_mr(0);
	cr_expect_eq(efa_run(&g), ILLEGAL);
	begin_mr(UINT64_C(1) << 40);
	cr_expect_eq(efa_run(&g), ILLEGAL);
	begin_mr((UINT64_C(4) << 20) + 1);
	cr_expect_eq(efa_run(&g), NO_RESOURCE);
	begin_mr(1)[49] = 8;
	cr_expect_eq(efa_run(&g), UNSUPPORTED, "an unknown access right was not refused");
	efa_end(&g);
}

static uint8_t reg_list(uint64_t pages, uint64_t at, uint32_t length)
{
	uint8_t *in = begin_mr(pages);

	in[3] = 2;
	efa_put(in, 8, 4, length);
	efa_put(in, 12, 8, at);
	return efa_run(&g);
}

Test(efa_admin, reg_mr__with_a_short_or_missing_page_list_is_refused)
{
	const uint64_t at = RIG_RAM_AT + EFA_LISTS * 4096, end = RIG_RAM_AT + RIG_RAM;

	probe_with_pd();
	cr_expect_eq(reg_list(1000, at, 8000), 0);
	cr_expect_eq(reg_list(1000, at, 7999), ILLEGAL);
	cr_expect_eq(reg_list(1000, end - 8000, 8000), 0);
	cr_expect_eq(reg_list(1000, end - 7992, 8000), ILLEGAL,
		     "a page list whose last word has no memory was not refused");
	cr_expect_eq(reg_list(1000, NOWHERE, 8000), ILLEGAL);
	cr_expect_eq(reg_list(1000, UINT64_MAX - 7, 8000), ILLEGAL);
	cr_expect(efa_works(&g));
	efa_end(&g);
}

/* Makes chunks in the pages from EFA_LISTS on. The pointer in each of them names the page after all
 * of them. */
static void make_chunks(unsigned int n, uint64_t list)
{
	for (unsigned int i = 0; i < n; i++) {
		uint8_t *chunk;

		rig_page(g.r, EFA_LISTS + i, &chunk);
		for (unsigned int k = 0; k < IN_CHUNK; k++)
			efa_put(chunk, 8 * k, 8, list);
		efa_put(chunk, 8 * IN_CHUNK, 4, 4092);
		efa_put(chunk, 8 * IN_CHUNK + 4, 8, rig_page(g.r, EFA_LISTS + i + 1, NULL));
	}
}

static uint8_t reg_chunks(uint64_t pages, uint32_t length)
{
	uint8_t *in = begin_mr(pages);

	in[3] = 2 | 4;
	efa_put(in, 8, 4, length);
	efa_put(in, 12, 8, rig_page(g.r, EFA_LISTS, NULL));
	return efa_run(&g);
}

Test(efa_admin, reg_mr__with_a_list_in_invalid_chunks_is_refused)
{
	enum { CHUNK = IN_CHUNK * PER_PAGE };
	uint64_t list;
	uint8_t *at;

	probe_with_pd();
	list = rig_page(g.r, EFA_LISTS + 3, &at);
	memset(at, 0, 4096);
	make_chunks(3, list);
	cr_expect_eq(reg_chunks(1, 20), 0);
	cr_expect_eq(reg_chunks(1, 19), ILLEGAL);
	cr_expect_eq(reg_chunks(PER_PAGE + 1, 28), 0);
	cr_expect_eq(reg_chunks(PER_PAGE + 1, 20), ILLEGAL);
	cr_expect_eq(reg_chunks(CHUNK, 4092), 0);
	cr_expect_eq(reg_chunks(CHUNK + 1, 4092), 0);
	cr_expect_eq(reg_chunks(3 * CHUNK, 4092), 0);
	cr_expect_eq(reg_chunks(CHUNK, 4097), ILLEGAL);
	/* The address of the last list of pages is not aligned to a page. */
	efa_put(at, 4088, 8, 17);
	cr_expect_eq(reg_chunks(2 * CHUNK, 4092), ILLEGAL);
	efa_put(at, 4088, 8, 0);
	rig_page(g.r, EFA_LISTS + 1, &at);
	efa_put(at, 8 * 509, 8, NOWHERE);
	cr_expect_eq(reg_chunks(2 * CHUNK, 4092), ILLEGAL,
		     "a list with a page without memory was not refused");
	cr_expect_eq(reg_chunks(2 * CHUNK - PER_PAGE, 4092), 0);
	rig_page(g.r, EFA_LISTS, &at);
	efa_put(at, 8 * IN_CHUNK + 4, 8, NOWHERE);
	cr_expect_eq(reg_chunks(CHUNK + 1, 4092), ILLEGAL,
		     "a list with a chunk without memory was not refused");
	cr_expect(efa_works(&g));
	efa_end(&g);
}
