/* SPDX-License-Identifier: BSD-2-Clause */
/* A driver boots the device, uses it, and leaves it; guests crash and come again. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/vfio_user/rig.h"

TestSuite(boot, .timeout = 60);

enum { ARMED = 0x9, FIRED = 0xa, EV_CMD = 0x0a, EV_PAGE_REQUEST = 0x0b };
enum { EQ_ARM = 0x40 };

Test(boot, boot__for_each_kind_of_function_succeeds)
{
	static const struct vm_config kinds[] = {
		{ .ports = 1 }, { .ports = 1, .infiniband = true }, { .ports = 2, .physical = true },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct rig *r = rig_open_with(&kinds[i]);

		rig_boot(r);
		cr_expect(rig_works(r));
		cr_expect_eq(rig_simple(r, CMD_TEARDOWN_HCA, 0), 0);
		cr_expect_eq(rig_simple(r, CMD_DISABLE_HCA, 0), 0);
		rig_close(r);
	}
}

enum { CONFIG = VFIO_PCI_CONFIG_REGION_INDEX, CAPABILITIES = 0x34, VENDOR_SPECIFIC = 9 };

/* Returns the offset of a capability in config space, or 0. */
static uint8_t find_capability(struct rig *r, uint8_t id)
{
	uint8_t at, head[2];

	cr_assert_eq(rig_read(r, CONFIG, CAPABILITIES, &at, 1), 0);
	for (unsigned int i = 0; at && i < 48; i++) {
		cr_assert_eq(rig_read(r, CONFIG, at, head, 2), 0);
		if (head[0] == id)
			return at;
		at = head[1];
	}
	return 0;
}

/* Does what Linux does: takes the lock, selects a space, reads the status (none), and unlocks. */
Test(boot, gateway__of_a_physical_function_is_locked_and_has_no_space)
{
	const struct vm_config physical = { .ports = 1, .physical = true }, virtual = { .ports = 1 };
	struct rig *r = rig_open_with(&virtual);
	uint32_t ticket, lock = 1, space = 7, none = 0;
	uint8_t at;

	cr_expect_eq(find_capability(r, VENDOR_SPECIFIC), 0);
	rig_close(r);
	r = rig_open_with(&physical);
	at = find_capability(r, VENDOR_SPECIFIC);
	cr_assert(at);
	cr_assert_eq(rig_read(r, CONFIG, at + 0xc, &lock, 4), 0);
	cr_expect_eq(lock, 0);
	cr_assert_eq(rig_read(r, CONFIG, at + 8, &ticket, 4), 0);
	cr_expect_neq(ticket, 0);
	cr_assert_eq(rig_write(r, CONFIG, at + 0xc, &ticket, 4), 0);
	cr_assert_eq(rig_read(r, CONFIG, at + 0xc, &lock, 4), 0);
	cr_expect_eq(lock, ticket);
	space |= UINT32_MAX << 29;
	cr_assert_eq(rig_write(r, CONFIG, at + 4, &space, 4), 0);
	cr_assert_eq(rig_read(r, CONFIG, at + 4, &space, 4), 0);
	cr_expect_eq(le32toh(space), 7);
	cr_assert_eq(rig_write(r, CONFIG, at + 0xc, &none, 4), 0);
	cr_assert_eq(rig_read(r, CONFIG, at + 0xc, &lock, 4), 0);
	cr_expect_eq(lock, 0);
	rig_close(r);
}

static uint32_t eq_state(struct rig *r, uint32_t eqn)
{
	rig_begin(r, CMD_QUERY_EQ, 0);
	sn_set(r->in, CMD_EQN, eqn);
	cr_assert_eq(rig_run(r, 16, 0x110), 0);
	return sn_get(r->out + AT_CTX, EQC_ST);
}

static bool fires(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, TH_PEER_MS) == 1;
}

/* Stores to one word of the driver's own page, one after the other. None of them may be lost. */
Test(boot, trapped_page__each_eq_is_armed)
{
	enum { EQS = 4 };
	struct rig *r = rig_open();
	uint32_t uar, eqn[EQS];

	rig_boot(r);
	uar = rig_alloc_uar(r);
	cr_assert_eq(uar, SOFTNIC_UAR_DRIVER);
	for (unsigned int i = 0; i < EQS; i++)
		eqn[i] = rig_create_eq(r, uar, i, 0, 0);
	for (unsigned int i = 0; i < EQS; i++)
		rig_arm_eq(r, uar, eqn[i], 0);
	for (unsigned int i = 0; i < EQS; i++)
		cr_expect_eq(eq_state(r, eqn[i]), ARMED, "EQ %u is not armed", i);
	rig_close(r);
}

/* A page that belongs to another owner is mapped, so a scan finds a store there. */
Test(boot, mapped_page__eq_is_armed_by_a_store)
{
	struct rig *r = rig_open();
	uint32_t uar, eqn, *word;

	rig_boot(r);
	rig_map_bar(r);
	rig_alloc_uar(r);
	uar = rig_alloc_uar(r);
	eqn = rig_create_eq(r, uar, 0, 0, 0);
	word = (uint32_t *)(void *)(r->bar + (size_t)uar * 4096 + EQ_ARM);
	__atomic_store_n(word, htobe32(eqn << 24), __ATOMIC_RELEASE);
	cr_expect(TH_WITHIN(TH_PEER_MS, eq_state(r, eqn) == ARMED));
	rig_close(r);
}

Test(boot, command_event__raises_its_vector)
{
	struct rig *r = rig_open();
	int fd[2] = { eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	uint32_t uar, eqn;
	uint64_t n;

	cr_assert_eq(rig_set_irqs(r, VFIO_PCI_MSIX_IRQ_INDEX, 0, 2, (struct rig_fds){ fd, 2 }), 0);
	rig_boot(r);
	uar = rig_alloc_uar(r);
	eqn = rig_create_eq(r, uar, 0, 1, 1ull << EV_CMD);
	for (uint32_t i = 0; i < 10; i++) {
		rig_arm_eq(r, uar, eqn, i);
		cr_assert_eq(rig_simple(r, CMD_QUERY_ADAPTER, 0), 0);
		cr_assert(fires(fd[1]), "command %u raised no interrupt", i);
		cr_assert_eq(read(fd[1], &n, sizeof(n)), 8);
	}
	cr_expect_lt(read(fd[0], &n, sizeof(n)), 0);
	close(fd[0]);
	close(fd[1]);
	rig_close(r);
}

/* A doorbell of 8 bytes is stored in two halves of 4: a CQ's arm word, and the number of the CQ. */
Test(boot, trapped_page__doorbell_in_halves_counts_once)
{
	struct rig *r = rig_open();
	uint32_t uar;

	rig_boot(r);
	uar = rig_alloc_uar(r);
	rig_set_reg(r, uar * 4096 + 0x20, 1 << 24);
	cr_expect_eq(rig_violations(r, "cq.unknown"), 0);
	rig_set_reg(r, uar * 4096 + 0x24, 0x123456);
	cr_expect_eq(rig_violations(r, "cq.unknown"), 1);
	/* The second half alone is no doorbell. */
	rig_set_reg(r, uar * 4096 + 0x24, 0x123456);
	cr_expect_eq(rig_violations(r, "cq.unknown"), 1);
	rig_close(r);
}

/*
 * Rings a doorbell of 8 bytes until the device reports it. While the device's thread works, the
 * doorbell stays in the page, where a scan finds only valid doorbells.
 */
static bool rings(struct rig *r, uint64_t offset, const char *violation)
{
	uint64_t db = htobe64(0x0000010a00abcd02);

	cr_assert_eq(rig_write(r, VFIO_PCI_BAR0_REGION_INDEX, offset, &db, 8), 0);
	return rig_violations(r, violation) > 0;
}

Test(boot, doorbells__of_foreign_queues_and_pages_are_reported)
{
	struct rig *r = rig_open();
	uint64_t page;

	rig_boot(r);
	page = rig_alloc_uar(r) * UINT64_C(4096);
	cr_expect(TH_WITHIN(TH_PEER_MS, rings(r, page + 0x800, "db.unknown_qp")));
	cr_expect(TH_WITHIN(TH_PEER_MS, rings(r, 1000 * 4096 + 0x800, "db.uar")));
	cr_expect(TH_WITHIN(TH_PEER_MS, rings(r, page + 0x100, "db.offset")));
	rig_arm_eq(r, SOFTNIC_UAR_DRIVER, 200, 0);
	rig_arm_eq(r, 2047, 201, 0);
	cr_expect_eq(rig_violations(r, "eq.unknown"), 2);
	cr_expect_eq(rig_write(r, 0, page + 0x801, "abcd", 4), EINVAL);
	cr_expect_eq(rig_write(r, 0, page + 0x800, "abc", 3), EINVAL);
	cr_expect_eq(rig_write(r, 0, 0x19, "abcd", 4), EINVAL);
	cr_expect(rig_works(r));
	rig_close(r);
}

/* After random stores of a guest, the function can be reset and booted. */
Test(boot, random_stores__leave_a_function_that_a_reset_revives)
{
	struct rig *r = rig_open(), *other = rig_open();
	uint64_t x = 2463534242;

	rig_boot(r);
	rig_boot(other);
	rig_alloc_uar(r);
	for (int i = 0; i < 3000; i++) {
		static const uint32_t regions[] = { 0, 0, 0, 2, 7 };
		static const uint64_t sizes[] = { 0x6000, 0x1100, 8 << 20, 8192, 4096 };
		uint64_t v, at;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		at = (x >> 8) % sizes[i % 5] & ~UINT64_C(7);
		v = x * 0x9e3779b97f4a7c15;
		cr_assert_eq(rig_write(r, regions[i % 5], at, &v, x & 1 ? 4 : 8), 0);
	}
	cr_expect(rig_works(other));
	cr_expect_eq(rig_request(r, VM_RESET, NULL, 0), 0);
	cr_expect_eq(rig_unmap(r, RIG_RAM_AT, RIG_RAM), 0);
	rig_boot_and_close(r);
	rig_close(other);
}

/* A bit of the PCI Express capability at 0x60 starts the reset. */
Test(boot, function_level_reset__by_config_space_destroys_all_objects)
{
	struct rig *r = rig_open();
	uint16_t control = 0x8000, back;

	rig_boot(r);
	cr_assert_eq(rig_write(r, VFIO_PCI_CONFIG_REGION_INDEX, 0x68, &control, 2), 0);
	cr_assert_eq(rig_read(r, VFIO_PCI_CONFIG_REGION_INDEX, 0x68, &back, 2), 0);
	cr_expect_eq(back, 0);
	cr_assert_eq(rig_read(r, VFIO_PCI_CONFIG_REGION_INDEX, 0x04, &back, 2), 0);
	cr_expect_eq(back & 4, 0, "the function is still bus master");
	cr_expect_eq(softnic_object_count(r->dev->nic, "uar"), 0);
	cr_assert_eq(rig_unmap(r, RIG_RAM_AT, RIG_RAM), 0);
	rig_boot_and_close(r);
}

/* The guest reboots. QEMU resets the function; maps and eventfds stay. */
Test(boot, reset__ends_all_objects_of_the_guest)
{
	struct rig *r = rig_open();

	rig_boot(r);
	for (int i = 0; i < 3; i++) {
		cr_expect_eq(rig_alloc_uar(r), SOFTNIC_UAR_DRIVER);
		cr_assert_eq(rig_simple(r, CMD_ALLOC_PD, 0), 0);
		cr_assert_eq(rig_request(r, VM_RESET, NULL, 0), 0);
		cr_expect_eq(softnic_object_count(r->dev->nic, "pd"), 0);
		cr_expect_not_null(vf_maps_find(&r->dev->maps, RIG_RAM_AT, RIG_RAM, false));
		cr_assert_eq(rig_unmap(r, RIG_RAM_AT, RIG_RAM), 0);
		rig_boot(r);
	}
	rig_close(r);
}

/* Returns how often this process, which is client and server, maps a file of that name. */
static unsigned int mappings(const char *name)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned int n = 0;
	char line[512];

	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, name) != NULL;
	fclose(f);
	return n;
}

/* The socket closes while everything is in use. The next guest finds the function as after
 * power-on. */
Test(boot, crash__leaves_nothing_behind)
{
	struct rig *r = rig_open();
	struct th_usage before, after;

	rig_boot(r);
	rig_reconnect(r);
	th_usage(&before);
	for (int i = 0; i < 5; i++) {
		int fd = eventfd(0, EFD_CLOEXEC);
		uint32_t uar;

		cr_assert_eq(rig_set_irqs(r, VFIO_PCI_MSIX_IRQ_INDEX, 0, 1, (struct rig_fds){ &fd, 1 }), 0);
		close(fd);
		rig_boot(r);
		uar = rig_alloc_uar(r);
		rig_arm_eq(r, uar, rig_create_eq(r, uar, 0, 0, 1ull << EV_CMD), 0);
		rig_begin(r, CMD_ALLOC_PD, 0);
		rig_ring(r, 16, 16);
		rig_hang_up(r);
		cr_expect_eq(softnic_object_count(r->dev->nic, "eq"), 0);
		cr_expect_eq(r->dev->maps.n, 0);
		rig_connect(r);
		cr_assert_eq(rig_version(r), 0);
	}
	th_usage(&after);
	cr_expect_eq(after.fds, before.fds);
	cr_expect_eq(mappings("memfd:guest"), 1,
		     "the server still maps memory of a disconnected guest");
	rig_close(r);
}

/* The guest crashes after each message of a boot, one at a time. */
Test(boot, crash__at_each_step_of_a_boot_lets_the_next_boot_succeed)
{
	struct rig *r = rig_open();
	uint16_t command = 6;

	for (int step = 0; step < 6; step++) {
		if (step > 0)
			cr_assert_eq(rig_map(r, RIG_RAM_AT, RIG_RAM, r->ram_fd, 0), 0);
		if (step > 1)
			cr_assert_eq(rig_write(r, VFIO_PCI_CONFIG_REGION_INDEX, 4, &command, 2), 0);
		if (step > 2)
			rig_set_reg(r, 0x14, RIG_RAM_AT);
		if (step > 3)
			cr_assert_eq(rig_simple(r, CMD_ENABLE_HCA, 0), 0);
		if (step > 4)
			cr_assert_eq(rig_simple(r, CMD_QUERY_PAGES, 1), 0);
		rig_reconnect(r);
	}
	rig_boot_and_close(r);
}

Test(boot, devices__do_not_disturb_each_other)
{
	enum { N = 4 };
	struct rig *r[N];

	for (unsigned int i = 0; i < N; i++)
		r[i] = rig_open_with(&(struct vm_config){ .ports = 1, .index = i });
	for (unsigned int i = 0; i < N; i++)
		rig_boot(r[i]);
	rig_hang_up(r[1]);
	cr_assert_eq(rig_request(r[2], VM_RESET, NULL, 0), 0);
	cr_expect(rig_works(r[0]));
	cr_expect(rig_works(r[3]));
	for (unsigned int i = 0; i < N; i++)
		rig_close(r[i]);
}

Test(boot, reports__of_one_client_come_to_an_end)
{
	struct rig *r = rig_open();

	for (int i = 0; i < 200; i++)
		cr_assert_eq(rig_request(r, 77, NULL, 0), ENOTSUP);
	cr_expect_eq(rig_reports(r), 200);
	cr_expect_eq(atomic_load(&rig_lines), 65,
		     "the log should have 64 reports and one about the omitted ones");
	rig_hang_up(r);
	cr_expect_eq(rig_reports(r), 0);
	rig_close(r);
}
