/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that a client may send, and messages that it may not send. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/vfio_user/rig.h"

TestSuite(protocol, .timeout = 60);

static struct vm_header header(enum vm_command command, uint32_t size, uint32_t flags)
{
	return (struct vm_header){ .id = 7, .command = (uint16_t)command, .size = size, .flags = flags };
}

/* A message of REGION_WRITE. Only the data that is needed is sent. */
struct write {
	uint64_t offset;
	uint32_t region, count;
	uint8_t data[8];
};

Test(protocol, version__capabilities_are_json)
{
	struct rig *r = rig_open();
	const struct vm_version *v = (const void *)r->reply;

	cr_expect_eq(v->major, 0);
	cr_expect_eq(v->minor, 0);
	cr_assert_eq(r->reply[r->reply_len - 1], '\0');
	cr_expect_not_null(strstr(v->data, "\"max_msg_fds\":16"));
	rig_close(r);
}

Test(protocol, version__other_major_ends_the_connection)
{
	struct rig *r = rig_open();
	struct vm_version v = { .major = 1 };

	rig_hang_up(r);
	rig_connect(r);
	cr_expect_eq(rig_request(r, VM_VERSION, &v, sizeof(v)), ENOTSUP);
	cr_expect(rig_is_cut(r));
	rig_close(r);
}

Test(protocol, version__data_without_end_is_refused)
{
	struct rig *r = rig_open();

	rig_hang_up(r);
	rig_connect(r);
	cr_expect_eq(rig_request(r, VM_VERSION, "\0\0\0\0{}", 6), EINVAL);
	cr_expect(rig_is_cut(r));
	rig_close(r);
}

/* A client might take the reply for a command. */
Test(protocol, version__that_is_a_reply_ends_the_connection_without_a_reply)
{
	struct rig *r = rig_open();
	struct vm_version v = { 0 };
	struct vm_header h = header(VM_VERSION, sizeof(h) + sizeof(v), VM_TYPE_REPLY);

	rig_hang_up(r);
	rig_connect(r);
	rig_send(r, &h, &v, sizeof(v), (struct rig_fds){ 0 });
	cr_expect(rig_is_cut(r));
	cr_expect_eq(atomic_load(&rig_lines), 1);
	rig_close(r);
}

Test(protocol, first_message__other_than_version_ends_the_connection)
{
	struct rig *r = rig_open();
	struct vm_header h = header(VM_RESET, sizeof(h), 0);

	rig_hang_up(r);
	rig_connect(r);
	rig_send(r, &h, NULL, 0, (struct rig_fds){ 0 });
	cr_expect(rig_is_cut(r));
	rig_close(r);
}

Test(protocol, device_info__reports_a_pci_function_that_can_be_reset)
{
	struct rig *r = rig_open();
	struct vfio_device_info info = { .argsz = 16 };

	cr_assert_eq(rig_request(r, VM_DEVICE_INFO, &info, 16), 0);
	cr_assert_eq(r->reply_len, 16);
	memcpy(&info, r->reply, 16);
	cr_expect_eq(info.flags, VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET);
	cr_expect_eq(info.num_regions, VFIO_PCI_NUM_REGIONS);
	cr_expect_eq(info.num_irqs, VFIO_PCI_NUM_IRQS);
	rig_close(r);
}

static struct vfio_region_info region_info(struct rig *r, uint32_t index, uint32_t room)
{
	struct vfio_region_info info = { .argsz = room, .index = index };

	cr_assert_eq(rig_request(r, VM_REGION_INFO, &info, sizeof(info)), 0);
	cr_assert_geq(r->reply_len, sizeof(info));
	memcpy(&info, r->reply, sizeof(info));
	cr_expect_eq(info.index, index);
	return info;
}

/* All pages can be mapped except the initialization segment and the driver's page of doorbells. */
Test(protocol, region_info__bar_is_mapped_but_for_two_pages)
{
	struct rig *r = rig_open();
	struct vfio_region_info info = region_info(r, VFIO_PCI_BAR0_REGION_INDEX, sizeof(info));
	uint32_t size = info.argsz;
	struct vfio_region_info_cap_sparse_mmap cap;
	struct vfio_region_sparse_mmap_area area[2];
	struct stat st;

	cr_expect_eq(r->reply_fd, -1,
		     "a reply without room for the capability brought a descriptor");
	cr_assert_eq(size, sizeof(info) + sizeof(cap) + sizeof(area));
	cr_expect_eq(info.cap_offset, sizeof(info));
	info = region_info(r, VFIO_PCI_BAR0_REGION_INDEX, size);
	cr_assert_eq(r->reply_len, size);
	memcpy(&cap, r->reply + info.cap_offset, sizeof(cap));
	memcpy(area, r->reply + info.cap_offset + sizeof(cap), sizeof(area));
	cr_assert_eq(cap.nr_areas, 2);
	cr_expect_eq(area[0].offset, 4096);
	cr_expect_eq(area[0].offset + area[0].size, SOFTNIC_UAR_DRIVER * 4096);
	cr_expect_eq(area[1].offset, (SOFTNIC_UAR_DRIVER + 1) * 4096);
	cr_expect_eq(area[1].offset + area[1].size, info.size);
	cr_assert_eq(fstat(r->reply_fd, &st), 0);
	cr_expect_eq((uint64_t)st.st_size, info.size);
	close(r->reply_fd);
	rig_close(r);
}

/* A client that could shorten the file would end the server, which accesses all of it. */
static void expect_sealed(struct rig *r, uint32_t bar)
{
	struct vfio_region_info info = region_info(r, bar, 4096);

	cr_assert_geq(r->reply_fd, 0);
	cr_expect_lt(ftruncate(r->reply_fd, 0), 0, "a client could shorten BAR %u", bar);
	cr_expect_eq(errno, EPERM);
	cr_expect_lt(ftruncate(r->reply_fd, (off_t)info.size * 64), 0, "a client could enlarge BAR %u", bar);
	cr_expect_eq(errno, EPERM);
	close(r->reply_fd);
	rig_close(r);
}

Test(protocol, region_info__file_of_a_bar_keeps_its_size)
{
	expect_sealed(rig_open(), VFIO_PCI_BAR0_REGION_INDEX);
	expect_sealed(rig_open_with(&(struct vm_config){ .ports = 1, .efa = "write" }),
		      VFIO_PCI_BAR2_REGION_INDEX);
}

Test(protocol, region_info__of_other_regions_has_their_sizes)
{
	struct rig *r = rig_open();
	struct vfio_region_info info = { .argsz = sizeof(info), .index = VFIO_PCI_NUM_REGIONS };

	cr_expect_eq(region_info(r, VFIO_PCI_CONFIG_REGION_INDEX, sizeof(info)).size, 4096);
	cr_expect_eq(region_info(r, VF_MSIX_BAR, sizeof(info)).size, 8192);
	cr_expect_eq(region_info(r, VFIO_PCI_ROM_REGION_INDEX, sizeof(info)).size, 0);
	cr_expect_eq(rig_request(r, VM_REGION_INFO, &info, sizeof(info)), EINVAL);
	info = (struct vfio_region_info){ .argsz = sizeof(info) - 1 };
	cr_expect_eq(rig_request(r, VM_REGION_INFO, &info, sizeof(info)), EINVAL);
	rig_close(r);
}

Test(protocol, irq_info__has_msix_and_no_interrupt_line)
{
	struct rig *r = rig_open();
	static const unsigned int counts[VFIO_PCI_NUM_IRQS] = {
		[VFIO_PCI_MSIX_IRQ_INDEX] = VF_VECTORS, [VFIO_PCI_ERR_IRQ_INDEX] = 1,
		[VFIO_PCI_REQ_IRQ_INDEX] = 1,
	};
	struct vfio_irq_info info;

	for (uint32_t i = 0; i <= VFIO_PCI_NUM_IRQS; i++) {
		info = (struct vfio_irq_info){ .argsz = sizeof(info), .index = i };
		cr_expect_eq(rig_request(r, VM_IRQ_INFO, &info, sizeof(info)),
			     i < VFIO_PCI_NUM_IRQS ? 0 : EINVAL);
		memcpy(&info, r->reply, sizeof(info));
		cr_expect(i == VFIO_PCI_NUM_IRQS || info.count == counts[i],
			  "interrupt index %u has the wrong count %u", i, info.count);
	}
	rig_close(r);
}

static uint16_t config16(struct rig *r, uint32_t at)
{
	uint16_t v;

	cr_assert_eq(rig_read(r, VFIO_PCI_CONFIG_REGION_INDEX, at, &v, 2), 0);
	return v;
}

Test(protocol, config__identity_is_the_chosen_one)
{
	static const struct vm_config kinds[] = {
		{ .ports = 1 }, { .ports = 2, .infiniband = true }, { .ports = 1, .physical = true },
	};
	static const uint16_t device[] = { 0x101e, 0x101e, 0x101d }, class[] = { 0x0200, 0x0207, 0x0200 };

	for (size_t i = 0; i < 3; i++) {
		struct rig *r = rig_open_with(&kinds[i]);

		cr_expect_eq(config16(r, 0x00), 0x15b3);
		cr_expect_eq(config16(r, 0x02), device[i]);
		cr_expect_eq(config16(r, 0x0a), class[i]);
		rig_close(r);
	}
}

/* Finds the size of a BAR as an operating system does: the BAR keeps only the bits above its
 * size. */
Test(protocol, config__bars_keep_the_bits_above_their_size)
{
	struct rig *r = rig_open();
	uint64_t ones = UINT64_MAX, v;

	cr_assert_eq(rig_write(r, VFIO_PCI_CONFIG_REGION_INDEX, 0x10, &ones, 8), 0);
	cr_assert_eq(rig_read(r, VFIO_PCI_CONFIG_REGION_INDEX, 0x10, &v, 8), 0);
	cr_expect_eq(~(v & ~UINT64_C(15)) + 1, r->dev->config.bar[0].size);
	cr_assert_eq(rig_write(r, VFIO_PCI_CONFIG_REGION_INDEX, 0x18, &ones, 8), 0);
	cr_assert_eq(rig_read(r, VFIO_PCI_CONFIG_REGION_INDEX, 0x18, &v, 8), 0);
	cr_expect_eq(~(v & ~UINT64_C(15)) + 1, 8192);
	rig_close(r);
}

/* The capability names BAR 2: the table is at its start, and the pending bits are in its second
 * half. */
Test(protocol, config__msix_capability_names_its_table_and_pending_bits)
{
	struct rig *r = rig_open();
	uint32_t at = 0x34, table, pending;
	uint16_t control;
	uint8_t next;

	for (int i = 0; i < 8; i++) {
		cr_assert_eq(rig_read(r, VFIO_PCI_CONFIG_REGION_INDEX, i ? at + 1 : at, &next, 1), 0);
		cr_assert_neq(next, 0, "the function has no MSI-X capability");
		at = next;
		if ((config16(r, at) & 0xff) == 0x11)
			break;
	}
	cr_expect_eq(config16(r, at + 2) & 0x7ff, VF_VECTORS - 1);
	cr_assert_eq(rig_read(r, VFIO_PCI_CONFIG_REGION_INDEX, at + 4, &table, 4), 0);
	cr_assert_eq(rig_read(r, VFIO_PCI_CONFIG_REGION_INDEX, at + 8, &pending, 4), 0);
	cr_expect_eq(table, VF_MSIX_BAR);
	cr_expect_eq(pending, 4096 | VF_MSIX_BAR);
	control = 0xc000;
	cr_assert_eq(rig_write(r, VFIO_PCI_CONFIG_REGION_INDEX, at + 2, &control, 2), 0);
	cr_expect_eq(config16(r, at + 2), 0xc000 | (VF_VECTORS - 1));
	rig_close(r);
}

Test(protocol, msix_table__keeps_written_values_except_pending_bits)
{
	struct rig *r = rig_open();
	uint64_t v = 0x1122334455667788, back;

	cr_assert_eq(rig_write(r, VF_MSIX_BAR, 4088, &v, 8), 0);
	cr_assert_eq(rig_read(r, VF_MSIX_BAR, 4088, &back, 8), 0);
	cr_expect_eq(back, v);
	cr_assert_eq(rig_write(r, VF_MSIX_BAR, 4096, &v, 8), 0);
	cr_assert_eq(rig_read(r, VF_MSIX_BAR, 4096, &back, 8), 0);
	cr_expect_eq(back, 0);
	rig_close(r);
}

Test(protocol, access__beyond_a_region_is_refused)
{
	static const struct vm_access bad[] = {
		{ .region = 7, .offset = 4095, .count = 2 },
		{ .region = 7, .offset = UINT64_MAX, .count = 2 },
		{ .region = 7, .offset = 4097, .count = 0 },
		{ .region = 0, .offset = 8 << 20, .count = 4 },
		{ .region = 0, .offset = UINT64_MAX - 3, .count = 4 },
		{ .region = 0, .offset = 0, .count = UINT32_MAX },
		{ .region = 0, .offset = 0, .count = VM_TRANSFER_MAX + 1 },
		{ .region = 1, .offset = 0, .count = 4 },
		{ .region = 2, .offset = 8192, .count = 1 },
		{ .region = UINT32_MAX, .offset = 0, .count = 1 },
	};
	struct rig *r = rig_open();

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		unsigned int before = rig_reports(r);

		cr_expect_eq(rig_request(r, VM_REGION_READ, &bad[i], sizeof(bad[i])), EINVAL,
			     "the invalid access of case %zu was not refused", i);
		cr_expect_eq(rig_reports(r), before + 1,
			     "the invalid access of case %zu is not reported once", i);
	}
	cr_expect_eq(rig_write(r, 7, 4094, "abcd", 4), EINVAL);
	rig_close(r);
}

Test(protocol, read__of_the_longest_length_is_answered_whole)
{
	struct rig *r = rig_open();
	struct vm_access a = { .region = 0, .offset = 4096, .count = VM_TRANSFER_MAX };

	cr_assert_eq(rig_request(r, VM_REGION_READ, &a, sizeof(a)), 0);
	cr_expect_eq(r->reply_len, sizeof(a) + VM_TRANSFER_MAX);
	rig_close(r);
}

Test(protocol, write__shorter_or_longer_than_announced_is_refused)
{
	const struct write m = { .offset = 4, .region = 7, .count = 4 };
	struct rig *r = rig_open();

	for (size_t n = 0; n <= sizeof(m.data); n++)
		cr_expect_eq(rig_request(r, VM_REGION_WRITE, &m, 16 + n), n == 4 ? 0 : EINVAL,
			     "wrong result of a write of 4 bytes that brings %zu", n);
	rig_close(r);
}

Test(protocol, any_command__of_wrong_size_is_refused)
{
	static const struct { enum vm_command command; size_t size; } all[] = {
		{ VM_DMA_MAP, 32 }, { VM_DMA_UNMAP, 24 }, { VM_DEVICE_INFO, 16 }, { VM_REGION_INFO, 32 },
		{ VM_IRQ_INFO, 16 }, { VM_REGION_READ, 16 }, { VM_RESET, 0 },
	};
	uint8_t zeros[64] = { 0 };
	struct rig *r = rig_open();

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		cr_expect_eq(rig_request(r, all[i].command, zeros, all[i].size + 1), EINVAL);
		if (all[i].size)
			cr_expect_eq(rig_request(r, all[i].command, zeros, all[i].size - 1), EINVAL);
		if (all[i].size)
			cr_expect_eq(rig_request(r, all[i].command, zeros, 0), EINVAL);
	}
	cr_expect_eq(rig_request(r, VM_SET_IRQS, zeros, 19), EINVAL);
	cr_expect_eq(rig_request(r, VM_REGION_WRITE, zeros, 15), EINVAL);
	rig_close(r);
}

Test(protocol, unknown_command__is_refused_and_the_connection_stays)
{
	static const unsigned int commands[] = { 0, 6, 11, 12, 14, 15, 16, 18, 100, 0xffff };
	struct rig *r = rig_open();

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		cr_expect_eq(rig_request(r, commands[i], NULL, 0), ENOTSUP,
			     "the unknown command %u was not refused", commands[i]);
	cr_expect_eq(rig_reports(r), sizeof(commands) / sizeof(commands[0]));
	rig_close(r);
}

/*
 * The client sends a reply although nothing was requested. The next request still gets its own
 * answer.
 */
Test(protocol, reply_as_request__is_reported_and_has_no_reply)
{
	struct rig *r = rig_open();
	struct vm_header h = header(VM_RESET, sizeof(h), VM_TYPE_REPLY);

	rig_send(r, &h, NULL, 0, (struct rig_fds){ 0 });
	cr_expect_eq(rig_request(r, VM_RESET, NULL, 0), 0);
	cr_expect_eq(rig_reports(r), 1);
	rig_close(r);
}

Test(protocol, no_reply__is_obeyed)
{
	struct rig *r = rig_open();
	const struct write m = { .offset = 0x3c, .region = 7, .count = 1, .data = { 11 } };
	struct vm_header h = header(VM_REGION_WRITE, sizeof(h) + 17, VM_NO_REPLY);

	rig_send(r, &h, &m, 17, (struct rig_fds){ 0 });
	cr_expect_eq(config16(r, 0x3c) & 0xff, 11);
	rig_close(r);
}

Test(protocol, message__of_impossible_size_ends_the_connection)
{
	static const uint32_t sizes[] = { 0, 1, 15, UINT32_MAX, 16 + VM_PAYLOAD_MAX + 1 };
	struct rig *r = rig_open();

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct vm_header h = header(VM_DEVICE_INFO, sizes[i], 0);

		rig_send(r, &h, NULL, 0, (struct rig_fds){ 0 });
		cr_expect(rig_is_cut(r),
			  "a message of the invalid size %u did not close the connection",
			  sizes[i]);
		rig_reconnect(r);
	}
	rig_boot_and_close(r);
}

Test(protocol, message__cut_off_is_the_end_of_that_client_alone)
{
	struct rig *r = rig_open();
	struct vm_header h = header(VM_DMA_MAP, sizeof(h) + 32, 0);

	for (size_t n = 1; n <= 20; n += 19) {
		uint8_t bytes[20] = { 0 };

		memcpy(bytes, &h, sizeof(h));
		cr_assert_eq(send(r->sock, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
		rig_reconnect(r);
	}
	rig_boot(r);
	rig_close(r);
}

Test(protocol, message__in_pieces_is_put_together)
{
	struct rig *r = rig_open();
	uint8_t bytes[16 + 16] = { 0 };
	struct vm_header h = header(VM_DEVICE_INFO, sizeof(bytes), 0);

	memcpy(bytes, &h, sizeof(h));
	r->id = h.id;
	for (size_t i = 0; i < sizeof(bytes); i++)
		cr_assert_eq(send(r->sock, bytes + i, 1, MSG_NOSIGNAL), 1);
	cr_expect_eq(rig_receive(r), 0);
	rig_close(r);
}

static int open_fds(void)
{
	struct th_usage u;

	th_usage(&u);
	return (int)u.fds;
}

/* Descriptors that no request uses are closed. */
Test(protocol, descriptors__that_are_not_wanted_are_refused_and_closed)
{
	struct rig *r = rig_open();
	int fd = eventfd(0, EFD_CLOEXEC), many[40], before = open_fds();
	struct rig_fds one = { &fd, 1 }, all = { many, 40 };
	const struct vfio_irq_set set = {
		.argsz = sizeof(set), .index = VFIO_PCI_MSIX_IRQ_INDEX, .count = 40,
		.flags = VFIO_IRQ_SET_ACTION_TRIGGER | VFIO_IRQ_SET_DATA_EVENTFD,
	};

	for (int i = 0; i < 40; i++)
		many[i] = fd;
	cr_expect_eq(rig_request_fds(r, VM_RESET, NULL, 0, one), EINVAL);
	cr_expect_eq(rig_request_fds(r, 99, NULL, 0, one), ENOTSUP);
	cr_expect_eq(rig_request_fds(r, VM_SET_IRQS, &set, sizeof(set), all), EINVAL);
	cr_expect_eq(rig_set_irqs(r, VFIO_PCI_MSIX_IRQ_INDEX, 0, 2, one), EINVAL);
	cr_expect_eq(rig_set_irqs(r, VFIO_PCI_MSIX_IRQ_INDEX, VF_VECTORS, 1, one), EINVAL);
	cr_expect_eq(rig_set_irqs(r, VFIO_PCI_INTX_IRQ_INDEX, 0, 1, one), EINVAL);
	cr_expect_eq(rig_set_irqs(r, 77, 0, 1, one), EINVAL);
	cr_expect_eq(open_fds(), before);
	close(fd);
	rig_close(r);
}

/*
 * QEMU sends several messages: one with descriptors for a range of vectors, the next one without
 * any for another range.
 */
Test(protocol, set_irqs__in_pieces_sets_each_range)
{
	struct rig *r = rig_open();
	int fd[4], before = open_fds();
	uint64_t n;

	for (int i = 0; i < 4; i++)
		fd[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	cr_expect_eq(rig_set_irqs(r, VFIO_PCI_MSIX_IRQ_INDEX, 0, 2, (struct rig_fds){ fd, 2 }), 0);
	cr_expect_eq(rig_set_irqs(r, VFIO_PCI_MSIX_IRQ_INDEX, 2, 30, (struct rig_fds){ 0 }), 0);
	cr_expect_eq(rig_set_irqs(r, VFIO_PCI_MSIX_IRQ_INDEX, 62, 2, (struct rig_fds){ fd + 2, 2 }), 0);
	vf_irq_fire(&r->dev->irqs, 1);
	vf_irq_fire(&r->dev->irqs, 63);
	vf_irq_fire(&r->dev->irqs, 5);
	vf_irq_fire(&r->dev->irqs, 64);
	for (int i = 0; i < 4; i++)
		cr_expect_eq(read(fd[i], &n, 8) == 8, i % 2,
			     "eventfd %d has a wrong state: only those with odd numbers should "
			     "fire",
			     i);
	cr_expect_eq(rig_set_irqs(r, VFIO_PCI_MSIX_IRQ_INDEX, 0, 0, (struct rig_fds){ 0 }), 0);
	vf_irq_fire(&r->dev->irqs, 1);
	cr_expect_lt(read(fd[1], &n, 8), 0);
	cr_expect_eq(open_fds(), before + 4);
	for (int i = 0; i < 4; i++)
		close(fd[i]);
	rig_close(r);
}

/* Triggers the first vector of MSI-X. */
static int fire(struct rig *r)
{
	const struct vfio_irq_set set = {
		.argsz = sizeof(set), .index = VFIO_PCI_MSIX_IRQ_INDEX, .count = 1,
		.flags = VFIO_IRQ_SET_ACTION_TRIGGER | VFIO_IRQ_SET_DATA_NONE,
	};

	return rig_request(r, VM_SET_IRQS, &set, sizeof(set));
}

/* A write to a full pipe, or to a full eventfd that blocks, would never end. */
Test(protocol, set_irqs__of_a_client_that_does_not_read_never_blocks)
{
	struct rig *r = rig_open();
	int ends[2], full = eventfd(0, EFD_CLOEXEC);
	uint64_t n = UINT64_MAX - 1;

	cr_assert_eq(pipe(ends), 0);
	cr_expect_eq(rig_set_irqs(r, VFIO_PCI_MSIX_IRQ_INDEX, 0, 1, (struct rig_fds){ &ends[1], 1 }), EINVAL,
		     "a pipe was accepted as the target of an interrupt");
	cr_assert_eq(write(full, &n, sizeof(n)), sizeof(n));
	cr_assert_eq(rig_set_irqs(r, VFIO_PCI_MSIX_IRQ_INDEX, 0, 1, (struct rig_fds){ &full, 1 }), 0);
	cr_expect_eq(fire(r), 0);
	cr_assert_eq(read(full, &n, sizeof(n)), sizeof(n));
	cr_expect_eq(n, UINT64_MAX - 1);
	cr_expect_eq(fire(r), 0);
	cr_assert_eq(read(full, &n, sizeof(n)), sizeof(n));
	cr_expect_eq(n, 1);
	close(ends[0]);
	close(ends[1]);
	close(full);
	rig_close(r);
}

Test(protocol, random_bytes__never_end_the_server)
{
	struct rig *r = rig_open();
	uint64_t x = 88172645463325252;

	for (int i = 0; i < 200; i++) {
		uint8_t bytes[64];
		uint32_t size;

		for (size_t k = 0; k < sizeof(bytes); k++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			bytes[k] = (uint8_t)x;
		}
		/* Half of the inputs are complete messages of a known command. */
		size = sizeof(bytes);
		if (i % 2) {
			bytes[2] %= 20, bytes[3] = 0;
			memcpy(bytes + 4, &size, sizeof(size));
			bytes[8] &= 0x10;
		}
		(void)!send(r->sock, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT);
		if (i % 4 == 3)
			rig_reconnect(r);
	}
	rig_boot_and_close(r);
}
