/* SPDX-License-Identifier: BSD-2-Clause */
/* A device after power-on, and what it requires of the driver that boots it. */
#include <criterion/criterion.h>
#include <malloc.h>
#include <string.h>

#include "tests/harness/harness.h"
#include "tests/softnic/cold_rig.h"

static struct cold *c;

static void setup(void)
{
	c = cold_open();
}

static void teardown(void)
{
	cold_close(c);
}

TestSuite(cold, .init = setup, .fini = teardown, .timeout = 60);

static void nothing_held_against(void)
{
	struct softnic_violation v[4];
	size_t n = softnic_violations(c->nic, v, 4);

	cr_assert_eq(n, 0, "unexpected violation %s: %s", v[0].name, v[0].detail);
}

Test(cold, boot__in_order_succeeds)
{
	cold_boot(c);
	cr_assert_eq(cold_simple(c, CMD_ALLOC_PD, 0), 0);
	cr_assert_eq(cold_simple(c, CMD_TEARDOWN_HCA, 0), 0);
	cr_expect_eq(softnic_object_count(c->nic, "pd"), 0);
	cr_assert_eq(cold_simple(c, CMD_INIT_HCA, 0), 0);
	cr_assert_eq(cold_simple(c, CMD_DISABLE_HCA, 0), 0);
	nothing_held_against();
}

Test(cold, close__of_a_device_returns_its_memory)
{
	enum { MANY = 50, LEAST = 2000 };
	size_t before = 0, grown;

	for (unsigned int i = 0; i <= MANY; i++) {
		cold_close(c);
		c = cold_open();
		cold_boot(c);
		if (!i)
			before = mallinfo2().uordblks;
	}
	grown = mallinfo2().uordblks - before;
	cr_expect_lt((ptrdiff_t)grown, MANY * LEAST, "%d devices leave %zu bytes", MANY, grown);
}

/* PRM "Initialization segment": revision of the interface, queue sizes, initializing, health. */
Test(cold, init_segment__of_a_new_device_has_the_values_of_the_manual)
{
	uint32_t before;

	cr_expect(sn_get32(c->bar, 0x1fc) >> 31, "the new firmware reports ready without a delay");
	softnic_pump(c->nic);
	cr_expect_eq(sn_get32(c->bar, 0x1fc), 0);
	cr_expect_eq(sn_get32(c->bar, 0x04) >> 16, 5);
	cr_expect_eq(sn_get32(c->bar, 0x14) & 0xff, 0x56);
	cr_expect_eq(sn_get32(c->bar, 0x14) & 0xfffff000, (uint32_t)(uintptr_t)c->queue);
	before = sn_get32(c->bar, 0x1010);
	for (long i = 0; i < 100000000 && sn_get32(c->bar, 0x1010) == before; i++)
		softnic_pump(c->nic);
	cr_expect_neq(sn_get32(c->bar, 0x1010), before, "the health counter stands still");
}

/* PRM "HCA vport context": port GUID at 0x30, node GUID at 0x38. The device sets them, not the
 * driver. */
Test(cold, boot__infiniband_port_has_its_guids_after_each_reset)
{
	cold_close(c);
	c = cold_open_flags(SOFTNIC_INFINIBAND);
	for (int i = 0; i < 2; i++) {
		cold_boot(c);
		cold_begin(c, 0x762, 0);
		sn_set(c->in, SN_FLD(0x4c, 4), 1);
		cr_assert_eq(cold_run(c, 16, 512), 0);
		cr_expect_neq(sn_get64(c->out, 16 + 0x30), 0, "the port GUID is 0");
		cr_expect_neq(sn_get64(c->out, 16 + 0x38), 0, "the node GUID is 0");
		softnic_reset(c->nic);
		sn_set32(c->bar, 0x10, (uint32_t)((uintptr_t)c->queue >> 32));
		sn_set32(c->bar, 0x14, (uint32_t)(uintptr_t)c->queue);
		c->given = 0;
	}
}

static const struct too_early {
	uint16_t opcode;
	int state;	/* 0: off, 1: enabled, 2: running */
} too_early[] = {
	{ CMD_QUERY_HCA_CAP, 0 }, { CMD_INIT_HCA, 0 }, { CMD_QUERY_PAGES, 0 }, { CMD_ALLOC_PD, 0 },
	{ CMD_ALLOC_PD, 1 }, { CMD_ALLOC_UAR, 1 }, { CMD_QUERY_NIC_VPORT_CONTEXT, 1 },
	{ CMD_ENABLE_HCA, 2 }, { CMD_INIT_HCA, 2 }, { CMD_SET_ISSI, 2 },
};

Test(cold, command__in_the_wrong_state_is_refused)
{
	int state = 0;

	for (size_t i = 0; i < sizeof(too_early) / sizeof(too_early[0]); i++) {
		if (too_early[i].state == 1 && state == 0)
			cold_enable(c);
		if (too_early[i].state == 2 && state == 1)
			cr_assert_eq(cold_simple(c, CMD_INIT_HCA, 0), 0);
		state = too_early[i].state;
		cr_expect_eq(cold_simple(c, too_early[i].opcode, 1), 0x04,
			     "command %#x in state %d returned the wrong status %#x",
			     too_early[i].opcode, state, c->out[0]);
	}
	cr_expect_gt(cold_count(c, "cmd.state"), 0);
}

Test(cold, init_hca__without_issi_or_pages_is_refused)
{
	cr_assert_eq(cold_simple(c, CMD_ENABLE_HCA, 0), 0);
	cr_expect_eq(cold_simple(c, CMD_INIT_HCA, 0), 0x04,
		     "INIT_HCA with ISSI 0 is not refused with status 4");
	cold_begin(c, CMD_SET_ISSI, 0);
	sn_set(c->in, SN_FLD(0x50, 16), 1);
	cr_assert_eq(cold_run(c, 16, 16), 0);
	cr_expect_eq(cold_simple(c, CMD_INIT_HCA, 0), 0x04,
		     "INIT_HCA without pages is not refused with status 4");
}

/* Sets capabilities that a driver may choose, and others, which are refused. */
Test(cold, set_hca_cap__accepts_choices_only)
{
	static uint8_t cap[4096];

	cr_assert_eq(cold_simple(c, CMD_ENABLE_HCA, 0), 0);
	cold_begin(c, CMD_QUERY_HCA_CAP, 1);
	cr_assert_eq(cold_run(c, 16, COLD_OUT), 0);
	memcpy(cap, c->out + 0x10, COLD_OUT - 0x10);
	cr_expect_eq(sn_get(cap, SN_FLD(0x210, 2)), 1, "the capability cmdif_checksum is not 1");
	sn_set(cap, SN_FLD(0x210, 2), 0);
	cold_begin(c, CMD_SET_HCA_CAP, 0);
	memcpy(c->in + 0x10, cap, sizeof(cap));
	cr_expect_eq(cold_run(c, 0x1010, 16), 0);
	nothing_held_against();
	sn_set(cap, SN_FLD(0xdb, 5), 24);
	cold_begin(c, CMD_SET_HCA_CAP, 0);
	memcpy(c->in + 0x10, cap, sizeof(cap));
	cr_expect_eq(cold_run(c, 0x1010, 16), 0x03,
		     "the driver can set more CQs than the model has");
	cr_expect_eq(cold_count(c, "cmd.field"), 1);
}

/* PRM disable_link_up_by_init_hca: a driver looks for the bit in the maximum, and sets the current one. */
Test(cold, query_hca_cap__a_link_kept_down_is_a_choice)
{
	cr_assert_eq(cold_simple(c, CMD_ENABLE_HCA, 0), 0);
	for (uint16_t current = 0; current < 2; current++) {
		cold_begin(c, CMD_QUERY_HCA_CAP, current);
		cr_assert_eq(cold_run(c, 16, COLD_OUT), 0);
		cr_expect_eq(sn_get(c->out + 0x10, SN_FLD(0x1b4, 1)), !current);
	}
}

static uint32_t atomic_order(void)
{
	cold_begin(c, CMD_QUERY_HCA_CAP, 3 << 1 | 1);
	cr_assert_eq(cold_run(c, 16, COLD_OUT), 0);
	return sn_get(c->out + 0x10, SN_FLD(0x40, 2));
}

static uint8_t set_atomic_order(uint32_t order)
{
	cold_begin(c, CMD_SET_HCA_CAP, 3 << 1);
	sn_set(c->in + 0x10, SN_FLD(0x40, 2), order);
	return cold_run(c, 0x1010, 16);
}

/* PRM atomic_req_8B_endianness_mode: big-endian as after power-on, or the host's order. */
Test(cold, set_hca_cap__sets_the_order_of_the_values_of_atomics)
{
	cr_assert_eq(cold_simple(c, CMD_ENABLE_HCA, 0), 0);
	cr_expect_eq(atomic_order(), 0);
	cr_expect_eq(set_atomic_order(1), 0);
	cr_expect_eq(atomic_order(), 1);
	nothing_held_against();
	cr_expect_eq(set_atomic_order(2), 0x03);
	cr_expect_eq(cold_count(c, "cmd.field"), 1);
	cr_assert_eq(cold_simple(c, CMD_DISABLE_HCA, 0), 0);
	cr_assert_eq(cold_simple(c, CMD_ENABLE_HCA, 0), 0);
	cr_expect_eq(atomic_order(), 0);
}

/* Rings the doorbells of two slots in sequence; the second store overwrites the first. */
Test(cold, doorbell__that_hides_another_loses_no_command)
{
	cr_assert_eq(cold_simple(c, CMD_ENABLE_HCA, 0), 0);
	cold_begin(c, CMD_QUERY_ADAPTER, 0);
	cold_give(c, 3, 16, 16);
	cold_ring(c, 1 << 3);
	cold_begin(c, CMD_QUERY_ISSI, 0);
	cold_give(c, 0, 16, 16);
	cold_ring(c, 1);
	cr_expect_eq(cold_wait(c, 3, 16), 0);
	cr_expect_eq(cold_wait(c, 0, 16), 0);
	cold_ring(c, 1 << 3);
	softnic_pump(c->nic);
	nothing_held_against();
}

/* Linux gives the entry to the device first, and is ready for its completion only when it rings. */
Test(cold, command__not_rung_waits_where_no_doorbell_is_hidden)
{
	cold_close(c);
	c = cold_open_flags(SOFTNIC_KEEPS_COMMANDS);
	cr_assert_eq(cold_simple(c, CMD_ENABLE_HCA, 0), 0);
	cold_begin(c, CMD_QUERY_ISSI, 0);
	cold_give(c, 3, 16, 16);
	for (int i = 0; i < 10; i++)
		cr_assert_eq(cold_simple(c, CMD_QUERY_ADAPTER, 0), 0);
	cr_assert(cold_entry(c, 3)[0x3f] & 1, "the device executed a command without a doorbell");
	cold_ring(c, 1 << 3);
	cr_expect_eq(cold_wait(c, 3, 16), 0);
	nothing_held_against();
}

Test(cold, reset__forgets_all)
{
	cold_boot(c);
	cr_assert_eq(cold_simple(c, CMD_ALLOC_PD, 0), 0);
	cr_assert_eq(softnic_fault(c->nic, "fatal"), 0);
	cr_expect_neq(c->bar[0x200 + 0x3d], 0, "the health syndrome is 0 after a fatal error");
	cr_expect_eq(cold_simple(c, CMD_ALLOC_PD, 0), 0x01);
	softnic_reset(c->nic);
	cr_expect_eq(c->bar[0x200 + 0x3d], 0);
	cr_expect_eq(softnic_object_count(c->nic, "pd"), 0);
	sn_set32(c->bar, 0x10, (uint32_t)((uintptr_t)c->queue >> 32));
	sn_set32(c->bar, 0x14, (uint32_t)(uintptr_t)c->queue);
	cr_expect_eq(cold_simple(c, CMD_INIT_HCA, 0), 0x04);
	c->given = 0;
	cold_boot(c);
	cr_assert_eq(cold_simple(c, CMD_ALLOC_PD, 0), 0);
}

/* A word in the segment disables the interface, after a teardown by commands. */
Test(cold, nic_interface__disabled_destroys_all_objects)
{
	cold_boot(c);
	cr_assert_eq(cold_simple(c, CMD_ALLOC_PD, 0), 0);
	sn_set32(c->bar, 0x14, sn_get32(c->bar, 0x14) | 1 << 8);
	softnic_pump(c->nic);
	cr_expect_eq(softnic_object_count(c->nic, "pd"), 0);
	sn_set32(c->bar, 0x14, (uint32_t)(uintptr_t)c->queue);
	cr_expect_eq(cold_simple(c, CMD_ALLOC_PD, 0), 0x04);
}

static void enable_roce(void)
{
	cold_begin(c, CMD_MODIFY_NIC_VPORT_CONTEXT, 0);
	sn_set(c->in, SN_FLD(0x7e, 1), 1);
	sn_set(c->in + 0x100, SN_FLD(0x1f, 1), 1);
	cr_assert_eq(cold_run(c, 0x200, 16), 0);
}

static uint8_t set_gid(uint16_t index, uint8_t last)
{
	cold_begin(c, CMD_SET_ROCE_ADDRESS, 0);
	sn_set(c->in, ROCE_INDEX, index);
	sn_set(c->in + AT_CTX, ROCE_VERSION, 2);
	sn_set(c->in + AT_CTX, ROCE_L3_TYPE, 1);
	c->in[AT_CTX + ROCE_GID] = last ? 0xfd : 0;
	c->in[AT_CTX + ROCE_GID + 15] = last;
	return cold_run(c, 0x30, 16);
}

static uint8_t get_gid(uint16_t index)
{
	cold_begin(c, CMD_QUERY_ROCE_ADDRESS, 0);
	sn_set(c->in, ROCE_INDEX, index);
	cr_assert_eq(cold_run(c, 16, 0x30), 0);
	return c->out[AT_CTX + ROCE_GID + 15];
}

/* Behind VFIO the table of addresses has only entries that the driver sets. */
Test(cold, roce_address__is_the_drivers)
{
	cold_boot(c);
	for (uint16_t i = 0; i < 16; i++)
		cr_expect_eq(get_gid(i), 0, "GID table entry %u is not empty", i);
	enable_roce();
	cr_assert_eq(set_gid(3, 7), 0);
	cr_assert_eq(set_gid(0, 8), 0);
	cr_expect_eq(get_gid(3), 7);
	cr_expect_eq(get_gid(0), 8);
	cr_assert_eq(set_gid(0, 0), 0);
	cr_expect_eq(get_gid(0), 0);
	cr_assert_eq(cold_simple(c, CMD_TEARDOWN_HCA, 0), 0);
	cr_assert_eq(cold_simple(c, CMD_INIT_HCA, 0), 0);
	cr_expect_eq(get_gid(3), 0);
	nothing_held_against();
}

static uint32_t new_eq(uint8_t *ring, uint32_t uar, uint64_t events)
{
	cold_begin(c, CMD_CREATE_EQ, 0);
	sn_set(c->in + AT_CTX, EQC_LOG_SIZE, 6);
	sn_set(c->in + AT_CTX, EQC_UAR, uar);
	sn_set64(c->in, EQ_BITMASK, events);
	sn_set64(c->in, AT_PAS, (uintptr_t)ring);
	cr_assert_eq(cold_run(c, AT_PAS + 8, 16), 0);
	return sn_get(c->out, CMD_EQN);
}

static uint32_t new_cq(uint8_t *ring, uint8_t *record, uint32_t uar, uint32_t eqn)
{
	cold_begin(c, CMD_CREATE_CQ, 0);
	sn_set(c->in + AT_CTX, CQC_LOG_SIZE, 6);
	sn_set(c->in + AT_CTX, CQC_UAR, uar);
	sn_set(c->in + AT_CTX, CQC_EQN, eqn);
	sn_set64(c->in + AT_CTX, CQC_DBR_ADDR, (uintptr_t)record);
	sn_set64(c->in, AT_PAS, (uintptr_t)ring);
	cr_assert_eq(cold_run(c, AT_PAS + 8, 16), 0);
	return sn_get(c->out, CMD_NUMBER);
}

/* Before the device destroys a CQ it drives its queues. A command in another slot waits until then. */
Test(cold, destroy_cq__beside_a_command_not_rung_has_its_own_status)
{
	static uint8_t rings[3][4096] __attribute__((aligned(4096)));
	uint32_t uar, cqn;

	cold_boot(c);
	cr_assert_eq(cold_simple(c, CMD_ALLOC_UAR, 0), 0);
	uar = sn_get(c->out, CMD_NUMBER);
	cqn = new_cq(rings[1], rings[2], uar, new_eq(rings[0], uar, 0));
	cold_begin(c, 0xfff, 0);
	cold_give(c, 0, 16, 16);
	cold_begin(c, CMD_DESTROY_CQ, 0);
	sn_set(c->in, CMD_NUMBER, cqn);
	cold_give(c, 1, 16, 16);
	cold_ring(c, 1 << 1);
	cr_expect_eq(cold_wait(c, 1, 16), 0);
	cr_expect_eq(c->out[0], 0, "the other command failed with status %#x", c->out[0]);
	cr_expect_eq(cold_wait(c, 0, 16), 0);
	cr_expect_eq(c->out[0], 0x02);
	cr_expect_eq(softnic_object_count(c->nic, "cq"), 0);
}

/* PRM, QUERY_VPORT_STATE: the link comes up some time after INIT_HCA. */
static bool link_is_up(void)
{
	softnic_pump(c->nic);
	cr_assert_eq(cold_simple(c, CMD_QUERY_VPORT_STATE, 0), 0);
	return (c->out[15] & 15) == 1;
}

/* PRM, PAOS: port and administrative status. The status changes only if ase is set. */
static void set_admin(unsigned int status)
{
	cold_begin(c, CMD_ACCESS_REG, 0);
	sn_set(c->in, SN_FLD(0x50, 16), 0x5006);
	sn_set32(c->in, 0x10, 1u << 16 | status << 8);
	sn_set32(c->in, 0x14, 1u << 31);
	cr_assert_eq(cold_run(c, 32, 32), 0);
}

Test(cold, link__comes_up_after_init_hca_and_goes_down_by_paos)
{
	cold_boot(c);
	cr_expect_not(link_is_up(), "the link is up without training");
	cr_assert(TH_WITHIN(10000, link_is_up()));
	set_admin(2);
	cr_expect_not(link_is_up());
	set_admin(1);
	cr_expect_not(link_is_up(), "the link is up without training");
	cr_assert(TH_WITHIN(10000, link_is_up()));
	nothing_held_against();
}

/* The word that arms one EQ is overwritten by that of another EQ before the device reads it. */
Test(cold, eq__whose_arming_is_hidden_still_raises_its_interrupt)
{
	static uint8_t rings[2][4096] __attribute__((aligned(4096)));
	uint32_t uar, eqn[2], *word;

	cold_boot(c);
	cr_assert(TH_WITHIN(10000, link_is_up()));
	cr_assert_eq(cold_simple(c, CMD_ALLOC_UAR, 0), 0);
	uar = sn_get(c->out, CMD_NUMBER);
	eqn[0] = new_eq(rings[0], uar, 1 << 9);		/* this EQ subscribes to the port change
							 * event */
	eqn[1] = new_eq(rings[1], uar, 0);
	word = (uint32_t *)(void *)((uint8_t *)softnic_uar(c->nic, uar) + 0x40);
	__atomic_store_n(word, htobe32(eqn[0] << 24), __ATOMIC_RELEASE);
	__atomic_store_n(word, htobe32(eqn[1] << 24), __ATOMIC_RELEASE);
	softnic_pump(c->nic);
	cr_assert_eq(softnic_fault(c->nic, "link_down"), 0);
	for (long i = 0; i < 100000000 && !c->irqs; i++)
		softnic_pump(c->nic);
	cr_expect_gt(c->irqs, 0, "the event raised no interrupt");
	nothing_held_against();
}

/* ---- Pages */

Test(cold, pages__that_cannot_be_used_are_refused)
{
	cr_assert_eq(cold_simple(c, CMD_ENABLE_HCA, 0), 0);
	cr_assert_eq(cold_give_pages(c, 1), 0);
	c->given = 0;
	cr_expect_eq(cold_give_pages(c, 1), 0x03, "a page can be given twice");
	cold_begin(c, CMD_MANAGE_PAGES, 1);
	sn_set32(c->in, 0x0c, 1);
	sn_set64(c->in, 0x10, (uintptr_t)c->pages + 4096 + 8);
	cr_expect_eq(cold_run(c, 0x18, 16), 0x03, "an address inside a page is accepted as a page");
	sn_set32(c->in, 0x0c, 2);
	cr_expect_eq(cold_run(c, 0x18, 16), 0x50,
		     "a command with fewer pages than announced is not refused");
	c->refuse_at = (uintptr_t)c->pages + 4096;
	c->refuse_len = 4096;
	c->given = 1;
	cr_expect_eq(cold_give_pages(c, 1), 0x03, "a page that is not mapped is accepted");
	cr_expect_gt(cold_count(c, "dma.refused"), 0);
}

Test(cold, manage_pages__gives_all_pages_back)
{
	cold_boot(c);
	cr_assert_eq(cold_simple(c, CMD_TEARDOWN_HCA, 0), 0);
	cold_begin(c, CMD_MANAGE_PAGES, 2);
	sn_set32(c->in, 0x0c, c->given + 5);
	cr_assert_eq(cold_run(c, 16, 0x10 + 8 * (c->given + 5)), 0);
	cr_expect_eq(sn_get32(c->out, 0x08), c->given);
	cr_expect_eq(sn_get64(c->out, 0x10), (uintptr_t)c->pages + (c->given - 1) * 4096ull);
	nothing_held_against();
}

/* ---- Violations */

static void bad_type(void)
{
	cold_entry(c, 0)[0] = 6;
}

static void bad_reserved(void)
{
	cold_entry(c, 0)[1] = 1;
}

static void bad_box_reserved(void)
{
	c->in_box[0][0x200] = 1;
}

static void bad_in_length(void)
{
	sn_set32(cold_entry(c, 0), 0x04, 4);
}

static void bad_out_length(void)
{
	sn_set32(cold_entry(c, 0), 0x38, 0);
}

static void bad_in_pointer(void)
{
	sn_set64(cold_entry(c, 0), 0x08, (uintptr_t)c->in_box[0] + 64);
}

static void bad_out_pointer(void)
{
	sn_set64(cold_entry(c, 0), 0x30, (uintptr_t)c->out_box[0] + 64);
}

static void bad_in_token(void)
{
	cold_entry(c, 0)[0x3c] = 9;
}

static void bad_out_token(void)
{
	c->out_box[0][0x23d] = 9;
}

static void bad_block(void)
{
	sn_set32(c->in_box[1], 0x238, 7);
}

static const struct wrong {
	const char *violation;
	void (*spoil)(void);
	unsigned int delivery;
} wrongs[] = {
	{ "cmdq.type", bad_type, 0x10 },
	{ "cmdq.reserved_bits", bad_reserved, 0x9 },
	{ "cmdq.reserved_bits", bad_box_reserved, 0x9 },
	{ "cmdq.length", bad_in_length, 0x7 },
	{ "cmdq.length", bad_out_length, 0x8 },
	{ "cmdq.pointer", bad_in_pointer, 0x5 },
	{ "cmdq.pointer", bad_out_pointer, 0x4 },
	{ "cmdq.token", bad_in_token, 0x2 },
	{ "cmdq.token", bad_out_token, 0x2 },
	{ "cmdq.block_number", bad_block, 0x3 },
};

/* Repairs what each test has damaged, except reserved bits, which the next cold_give clears. */
static void heal(void)
{
	cold_entry(c, 0)[1] = 0;
	cold_entry(c, 0)[0x3c] = 0;
	c->in_box[0][0x200] = 0;
	c->out_box[0][0x23d] = 0;
}

Test(cold, entry__each_invalid_field_has_its_delivery_status)
{
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		uint64_t before = cold_count(c, wrongs[i].violation);
		unsigned int delivery;

		cold_begin(c, CMD_ENABLE_HCA, 0);
		cold_give(c, 0, 16 + 600, 16 + 600);
		wrongs[i].spoil();
		cold_ring(c, 1);
		delivery = cold_wait(c, 0, 16);
		cr_expect_eq(delivery, wrongs[i].delivery, "case %zu: wrong delivery status %#x", i,
			     delivery);
		cr_expect_eq(cold_count(c, wrongs[i].violation), before + 1,
			     "case %zu: violation %s is not reported once", i, wrongs[i].violation);
		heal();
	}
}

Test(cold, doorbell__of_a_slot_that_software_owns_is_reported)
{
	cold_ring(c, 1 << 5);
	softnic_pump(c->nic);
	cr_expect_eq(cold_count(c, "cmdq.ownership"), 1);
}

static uint8_t xor8(const uint8_t *p, size_t n)
{
	uint8_t x = 0;

	while (n--)
		x ^= *p++;
	return x;
}

static void sign(uint8_t *entry)
{
	entry[0x3d] = 0;
	entry[0x3d] = (uint8_t)~xor8(entry, 64);
}

/* PRM: if the driver enables checksums, all bytes of an entry, or of a mailbox, xor to all ones. */
Test(cold, signature__where_it_is_on_is_checked_and_written)
{
	static uint8_t cap[4096];
	uint8_t *e = cold_entry(c, 0);

	cr_assert_eq(cold_simple(c, CMD_ENABLE_HCA, 0), 0);
	cold_begin(c, CMD_QUERY_HCA_CAP, 1);
	cr_assert_eq(cold_run(c, 16, COLD_OUT), 0);
	memcpy(cap, c->out + 0x10, COLD_OUT - 0x10);
	sn_set(cap, SN_FLD(0x210, 2), 3);
	cold_begin(c, CMD_SET_HCA_CAP, 0);
	memcpy(c->in + 0x10, cap, sizeof(cap));
	cr_assert_eq(cold_run(c, 0x1010, 16), 0);
	cold_begin(c, CMD_QUERY_ISSI, 0);
	cold_give(c, 0, 16, 16);
	sign(e);
	cold_ring(c, 1);
	cr_expect_eq(cold_wait(c, 0, 16), 0);
	cr_expect_eq(xor8(e, 64), 0xff, "the response has no valid signature");
	cold_give(c, 0, 16, 16);
	sign(e);
	e[0x3d] ^= 1;
	cold_ring(c, 1);
	cr_expect_eq(cold_wait(c, 0, 16), 1);
	cr_expect_eq(cold_count(c, "cmdq.signature"), 1);
}

Test(cold, pages__that_the_driver_writes_to_are_reported)
{
	cold_boot(c);
	memset(c->pages, 1, 4096);
	for (unsigned int i = 0; i < c->given; i++)
		cr_assert_eq(cold_simple(c, CMD_QUERY_ISSI, 0), 0);
	cr_expect_eq(cold_count(c, "pages.touched"), 1);
}

int cold_provokes(const char *violation)
{
	return !strncmp(violation, "cmdq.", 5) || !strcmp(violation, "pages.touched");
}
