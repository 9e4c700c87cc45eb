/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of the guest: mapped, not mapped, or unmapped while it is in use. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/vfio_user/rig.h"

TestSuite(memory, .timeout = 60);

enum { SIZE = 1 << 16, PAGE = 4096 };

static int file(size_t size)
{
	int fd = memfd_create("part", MFD_CLOEXEC);

	cr_assert_eq(ftruncate(fd, (off_t)size), 0);
	return fd;
}

Test(memory, map__invalid_ranges_are_refused)
{
	static const struct { uint64_t iova, size, offset; } bad[] = {
		{ 0, 0, 0 }, { 1, PAGE, 0 }, { PAGE, 100, 0 }, { 0, PAGE, 1 }, { 0, SIZE + PAGE, 0 },
		{ 0, PAGE, SIZE }, { 0, PAGE, UINT64_MAX - PAGE + 1 }, { 0, UINT64_MAX - PAGE + 1, 0 },
		{ UINT64_MAX - PAGE + 1, 2 * PAGE, 0 },
	};
	struct rig *r = rig_open();
	int fd = file(SIZE);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_eq(rig_map(r, bad[i].iova, bad[i].size, fd, bad[i].offset), EINVAL,
			     "the invalid map of case %zu was not refused", i);
	cr_expect_eq(rig_reports(r), sizeof(bad) / sizeof(bad[0]));
	cr_expect_eq(rig_map(r, UINT64_MAX - SIZE + 1, SIZE, fd, 0), 0);
	close(fd);
	rig_close(r);
}

Test(memory, map__without_rights_or_with_unknown_ones_is_refused)
{
	static const uint32_t bad[] = { 0, 4, 7, UINT32_MAX };
	struct rig *r = rig_open();
	int fd = file(SIZE);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct vm_dma_map m = { .argsz = 32, .flags = bad[i], .size = PAGE };

		cr_expect_eq(rig_request_fds(r, VM_DMA_MAP, &m, sizeof(m), (struct rig_fds){ &fd, 1 }),
			     EINVAL);
	}
	close(fd);
	rig_close(r);
}

Test(memory, map__files_that_are_no_memory_are_refused)
{
	struct rig *r = rig_open();
	int pipes[2], null = open("/dev/null", O_RDWR | O_CLOEXEC), two[2];
	struct vm_dma_map m = { .argsz = 32, .flags = 3, .size = PAGE };

	cr_assert_eq(pipe(pipes), 0);
	cr_expect_eq(rig_map(r, 0, PAGE, pipes[0], 0), EINVAL);
	cr_expect_eq(rig_map(r, 0, PAGE, null, 0), EINVAL);
	two[0] = two[1] = r->ram_fd;
	cr_expect_eq(rig_request_fds(r, VM_DMA_MAP, &m, sizeof(m), (struct rig_fds){ two, 2 }), EINVAL);
	cr_expect_eq(rig_map(r, 0, PAGE, r->ram_fd, 0), 0);
	close(pipes[0]);
	close(pipes[1]);
	close(null);
	rig_close(r);
}

/* A page of such a file may come from a process of the client, or over a network. */
Test(memory, map__file_of_a_disk_returns_einval)
{
	struct vm_dma_map m = { .argsz = 32, .flags = VFIO_DMA_MAP_FLAG_READ, .size = PAGE };
	int fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	struct rig *r = rig_open();

	cr_assert_geq(fd, 0);
	cr_expect_eq(rig_request_fds(r, VM_DMA_MAP, &m, sizeof(m), (struct rig_fds){ &fd, 1 }), EINVAL);
	cr_expect_eq(r->dev->maps.n, 0);
	cr_expect_eq(rig_map(r, 0, PAGE, r->ram_fd, 0), 0);
	close(fd);
	rig_close(r);
}

Test(memory, map__overlap_is_refused_and_the_first_stays)
{
	struct rig *r = rig_open();
	int fd = file(SIZE);

	cr_assert_eq(rig_map(r, SIZE, SIZE, fd, 0), 0);
	cr_expect_eq(rig_map(r, SIZE, SIZE, fd, 0), EEXIST);
	cr_expect_eq(rig_map(r, SIZE + PAGE, PAGE, fd, 0), EEXIST);
	cr_expect_eq(rig_map(r, SIZE - PAGE, 2 * PAGE, -1, 0), EEXIST);
	cr_expect_eq(rig_map(r, 2 * SIZE, SIZE, fd, 0), 0);
	cr_expect_not_null(vf_maps_find(&r->dev->maps, SIZE, SIZE, false));
	close(fd);
	rig_close(r);
}

Test(memory, unmap__has_to_be_a_range_that_was_mapped)
{
	struct rig *r = rig_open();
	int fd = file(SIZE);

	cr_expect_eq(rig_unmap(r, 0, SIZE), ENOENT);
	cr_assert_eq(rig_map(r, 0, SIZE, fd, 0), 0);
	cr_expect_eq(rig_unmap(r, 0, PAGE), ENOENT);
	cr_expect_eq(rig_unmap(r, PAGE, SIZE - PAGE), ENOENT);
	cr_expect_eq(rig_unmap(r, 0, 2 * SIZE), ENOENT);
	cr_expect_eq(rig_unmap(r, 0, SIZE), 0);
	cr_expect_eq(r->reply_len, sizeof(struct vm_dma_unmap));
	cr_expect_eq(rig_unmap(r, 0, SIZE), ENOENT);
	close(fd);
	rig_close(r);
}

Test(memory, unmap__all_removes_each_map)
{
	struct vm_dma_unmap all = { .argsz = 24, .flags = VFIO_DMA_UNMAP_FLAG_ALL };
	struct rig *r = rig_open();
	int fd = file(SIZE);

	for (uint64_t i = 0; i < 20; i++)
		cr_assert_eq(rig_map(r, 2 * i * SIZE, SIZE, i % 3 ? fd : -1, 0), 0);
	all.size = PAGE;
	cr_expect_eq(rig_request(r, VM_DMA_UNMAP, &all, sizeof(all)), EINVAL);
	all.size = 0;
	cr_expect_eq(rig_request(r, VM_DMA_UNMAP, &all, sizeof(all)), 0);
	cr_expect_eq(r->dev->maps.n, 0);
	all.flags = 1;
	cr_expect_eq(rig_request(r, VM_DMA_UNMAP, &all, sizeof(all)), EINVAL);
	close(fd);
	rig_close(r);
}

Test(memory, map__beyond_the_announced_number_returns_enospc)
{
	struct rig *r = rig_open();

	for (uint64_t i = 0; i < VM_MAPS_MAX; i++)
		cr_assert_eq(rig_map(r, i * PAGE, PAGE, r->ram_fd, 0), 0);
	cr_expect_eq(rig_map(r, VM_MAPS_MAX * (uint64_t)PAGE, PAGE, r->ram_fd, 0), ENOSPC);
	cr_expect_eq(rig_unmap(r, 0, PAGE), 0);
	cr_expect_eq(rig_map(r, 0, PAGE, r->ram_fd, 0), 0);
	rig_close(r);
}

/* A map without pages costs the client nothing, but all devices share the address space of the server. */
Test(memory, map__beyond_the_address_space_of_a_device_returns_enospc)
{
	const uint64_t half = UINT64_C(1) << 41;
	struct rig *r = rig_open(), *other = rig_open();
	int fd = file(1ul << 46);

	cr_expect_eq(rig_map(r, 0, 1ul << 46, fd, 0), ENOSPC);
	for (uint64_t i = 0; i < 3; i++)
		cr_expect_eq(rig_map(r, i * half, half, fd, 0), i < 2 ? 0 : ENOSPC);
	cr_expect_eq(rig_map(r, 2 * half, half, -1, 0), 0, "a map without a file needs no address space");
	cr_expect_eq(rig_map(other, 0, 2 * half, fd, 0), 0);
	cr_expect_eq(rig_unmap(r, 0, half), 0);
	cr_expect_eq(rig_map(r, 0, half, fd, 0), 0);
	close(fd);
	rig_close(r);
	rig_close(other);
}

/* Tries addresses of maps without a file, and addresses without any map. */
Test(memory, command_queue__where_nothing_is_mapped_is_reported)
{
	struct rig *r = rig_open();
	uint16_t command = 6;

	cr_assert_eq(rig_map(r, 1 << 30, SIZE, -1, 0), 0);
	cr_assert_eq(rig_write(r, VFIO_PCI_CONFIG_REGION_INDEX, 4, &command, 2), 0);
	for (int i = 0; i < 2; i++) {
		rig_set_reg(r, 0x14, i ? 1 << 30 : 1 << 28);
		rig_set_reg(r, 0x18, 1);
		cr_expect(TH_WITHIN(TH_PEER_MS, rig_violations(r, "dma.refused") > (uint64_t)i));
	}
	rig_boot_and_close(r);
}

/* Without its bus master bit, a function cannot access memory. */
Test(memory, command__without_mastering_is_not_taken)
{
	struct rig *r = rig_open();
	uint16_t command = 2;

	rig_boot(r);
	cr_assert_eq(rig_write(r, VFIO_PCI_CONFIG_REGION_INDEX, 4, &command, 2), 0);
	rig_begin(r, CMD_ALLOC_PD, 0);
	rig_ring(r, 16, 16);
	cr_expect(TH_WITHIN(TH_PEER_MS, rig_violations(r, "dma.refused") > 0));
	cr_expect_eq(r->ram[0x3f] & 1, 1);
	command = 6;
	cr_assert_eq(rig_write(r, VFIO_PCI_CONFIG_REGION_INDEX, 4, &command, 2), 0);
	cr_expect(rig_works(r));
	rig_close(r);
}

/* The device writes to a private copy. The client's file does not change. */
Test(memory, read_only__is_not_written_to)
{
	struct vm_dma_map m = { .argsz = 32, .flags = VFIO_DMA_MAP_FLAG_READ, .iova = RIG_RAM_AT,
				.size = RIG_RAM };
	struct rig *r = rig_open();
	uint16_t command = 6;

	cr_assert_eq(rig_request_fds(r, VM_DMA_MAP, &m, sizeof(m), (struct rig_fds){ &r->ram_fd, 1 }), 0);
	cr_assert_eq(rig_write(r, VFIO_PCI_CONFIG_REGION_INDEX, 4, &command, 2), 0);
	rig_set_reg(r, 0x14, RIG_RAM_AT);
	rig_begin(r, CMD_ENABLE_HCA, 0);
	rig_ring(r, 16, 16);
	vm_settle(r->dev);
	cr_expect_eq(r->ram[0x3f], 1, "the device wrote to memory that it may only read");
	cr_expect_eq(rig_request(r, VM_RESET, NULL, 0), 0);
	cr_expect_eq(rig_unmap(r, RIG_RAM_AT, RIG_RAM), 0);
	rig_boot(r);
	rig_close(r);
}

/* The client truncates the file while the device uses it. The device then reads zeros, and the
 * server continues. */
Test(memory, file__that_becomes_shorter_is_the_loss_of_its_device)
{
	struct rig *r = rig_open(), *other = rig_open();

	cr_assert_eq(vm_memory_guard(), 0);
	rig_boot(r);
	rig_boot(other);
	cr_assert_eq(ftruncate(r->ram_fd, 0), 0);
	rig_set_reg(r, 0x18, 1);
	vm_settle(r->dev);
	cr_expect(rig_works(other));
	cr_expect_eq(rig_unmap(r, RIG_RAM_AT, RIG_RAM), 0);
	cr_assert_eq(ftruncate(r->ram_fd, RIG_RAM), 0);
	cr_expect_eq(rig_request(r, VM_RESET, NULL, 0), 0);
	rig_boot_and_close(r);
	rig_close(other);
}

/* The guest's doorbell is a plain store, so the device's own thread reads the memory that is gone. */
Test(memory, file__that_becomes_shorter_ends_no_thread_of_a_device)
{
	struct rig *r = rig_open();
	uint32_t *doorbell;

	cr_assert_eq(vm_memory_guard(), 0);
	rig_boot(r);
	rig_map_bar(r);
	doorbell = (uint32_t *)(void *)(r->bar + 0x18);
	cr_assert_eq(ftruncate(r->ram_fd, 0), 0);
	__atomic_store_n(doorbell, htobe32(1), __ATOMIC_RELEASE);
	cr_assert(TH_WITHIN(TH_PEER_MS, !__atomic_load_n(doorbell, __ATOMIC_ACQUIRE)));
	vm_settle(r->dev);
	cr_expect_eq(rig_unmap(r, RIG_RAM_AT, RIG_RAM), 0);
	cr_assert_eq(ftruncate(r->ram_fd, RIG_RAM), 0);
	cr_expect_eq(rig_request(r, VM_RESET, NULL, 0), 0);
	rig_boot_and_close(r);
}

/* A file of huge pages, which it gets when it is used first. */
static int huge_file(size_t *page)
{
	int fd = memfd_create("huge_part", MFD_CLOEXEC | MFD_HUGETLB);
	struct stat st;

	if (fd < 0)
		cr_skip_test("memfd_create refuses MFD_HUGETLB: %s", strerror(errno));
	cr_assert_eq(fstat(fd, &st), 0);
	*page = (size_t)st.st_blksize;
	cr_assert_eq(ftruncate(fd, (off_t)(2 * *page)), 0);
	return fd;
}

static bool is_mapped(const char *name)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	bool found = false;

	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f))
		found |= strstr(line, name) != NULL;
	fclose(f);
	return found;
}

/* The RAM of a PC has a hole below 1 MiB, so its parts begin in the middle of a huge page. */
Test(memory, map__part_of_a_huge_page_is_mapped_and_unmapped)
{
	static const struct { size_t offset, size; } parts[] = {
		{ 0, 0xa0000 }, { 0xc0000, PAGE }, { 1 << 20, 1 << 20 }, { 1 << 20, 2 << 20 },
	};
	struct rig *r = rig_open();
	size_t page;
	int fd = huge_file(&page);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		uint64_t at = parts[i].offset + (1 << 30);
		const void *p;

		cr_assert_eq(rig_map(r, at, parts[i].size, fd, parts[i].offset), 0, "part %zu", i);
		p = vf_maps_find(&r->dev->maps, at, parts[i].size, false);
		cr_expect_eq((uintptr_t)p % page, parts[i].offset % page, "part %zu", i);
		cr_assert_eq(rig_unmap(r, at, parts[i].size), 0);
		cr_expect_not(is_mapped("huge_part"), "part %zu is mapped after its unmap", i);
	}
	close(fd);
	rig_close(r);
}

/* The client maps a part of a huge page that it does not have, if the machine has no free one. */
Test(memory, huge_page__that_is_missing_is_the_loss_of_its_device)
{
	struct rig *r = rig_open(), *other = rig_open();
	uint16_t command = 6;
	size_t page;
	int fd = huge_file(&page);

	cr_assert_eq(vm_memory_guard(), 0);
	rig_boot(other);
	cr_assert_eq(rig_map(r, 1 << 30, PAGE, fd, 0), 0);
	cr_assert_eq(rig_write(r, VFIO_PCI_CONFIG_REGION_INDEX, 4, &command, 2), 0);
	rig_set_reg(r, 0x14, 1 << 30);
	rig_set_reg(r, 0x18, 1);
	vm_settle(r->dev);
	cr_expect(rig_works(other));
	cr_expect_eq(rig_unmap(r, 1 << 30, PAGE), 0);
	cr_expect_not(is_mapped("huge_part"));
	close(fd);
	rig_boot_and_close(r);
	rig_close(other);
}

struct ringer {
	struct rig *r;
	atomic_bool stop;
};

/* A guest that sends commands all the time, by plain stores to the BAR. */
static void *ring_all_the_time(void *arg)
{
	struct ringer *p = arg;
	uint8_t *e = p->r->ram;

	while (!atomic_load(&p->stop)) {
		__atomic_store_n(&e[0x3f], 1, __ATOMIC_RELEASE);
		__atomic_store_n((uint32_t *)(void *)(p->r->bar + 0x18), htobe32(1), __ATOMIC_RELEASE);
		th_yield();
	}
	return NULL;
}

static void start_ringing(struct ringer *p, pthread_t *thread, struct rig *r)
{
	*p = (struct ringer){ .r = r };
	rig_map_bar(r);
	rig_begin(r, CMD_QUERY_HCA_CAP, 0);
	cr_assert_eq(rig_run(r, 16, 0x1010), 0);
	cr_assert_eq(pthread_create(thread, NULL, ring_all_the_time, p), 0);
}

/* The memory is unmapped in this process too: if the device still used it, this process would
 * crash. */
Test(memory, unmap__while_the_device_works_ends_its_accesses)
{
	struct rig *r = rig_open();
	struct ringer p;
	pthread_t thread;

	rig_boot(r);
	start_ringing(&p, &thread, r);
	for (int i = 0; i < 300; i++) {
		cr_assert_eq(rig_unmap(r, RIG_RAM_AT, RIG_RAM), 0);
		cr_assert_eq(rig_map(r, RIG_RAM_AT, RIG_RAM, r->ram_fd, 0), 0);
	}
	atomic_store(&p.stop, true);
	pthread_join(thread, NULL);
	cr_expect_eq(rig_request(r, VM_RESET, NULL, 0), 0);
	cr_expect_eq(rig_unmap(r, RIG_RAM_AT, RIG_RAM), 0);
	rig_boot_and_close(r);
}

/* An interrupt stops the device in the middle of a command. The reply comes when the device has
 * continued. */
Test(memory, unmap__waits_until_the_device_is_done)
{
	const struct vm_dma_unmap unmap = { .argsz = sizeof(unmap), .iova = RIG_RAM_AT, .size = RIG_RAM };
	struct vm_header h = { .command = VM_DMA_UNMAP, .size = sizeof(h) + sizeof(unmap) };
	struct rig *r = rig_open();
	uint32_t uar;
	char byte;

	rig_boot(r);
	rig_map_bar(r);
	uar = rig_alloc_uar(r);
	rig_arm_eq(r, uar, rig_create_eq(r, uar, 0, 0, 1 << 0x0a), 0);
	pthread_mutex_lock(&r->dev->irqs.lock);
	rig_begin(r, CMD_QUERY_ADAPTER, 0);
	rig_give(r, 16, 16);
	__atomic_store_n((uint32_t *)(void *)(r->bar + 0x18), htobe32(1), __ATOMIC_RELEASE);
	cr_assert(TH_WITHIN(TH_PEER_MS, !(__atomic_load_n(&r->ram[0x3f], __ATOMIC_ACQUIRE) & 1)));
	cr_assert(TH_WITHIN(TH_PEER_MS, th_others_sleep()));
	h.id = ++r->id;
	rig_send(r, &h, &unmap, sizeof(unmap), (struct rig_fds){ 0 });
	cr_assert(TH_WITHIN(TH_PEER_MS, th_others_sleep()));
	cr_expect_lt(recv(r->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT), 0,
		     "the unmap was answered while the device used the memory");
	pthread_mutex_unlock(&r->dev->irqs.lock);
	cr_expect_eq(rig_receive(r), 0);
	rig_close(r);
}

Test(memory, reset__under_traffic_leaves_other_devices_working)
{
	struct rig *r = rig_open(), *other = rig_open();
	struct ringer p;
	pthread_t thread;

	rig_boot(r);
	rig_boot(other);
	start_ringing(&p, &thread, r);
	for (int i = 0; i < 100; i++) {
		uint16_t command = 6;

		cr_assert_eq(rig_request(r, VM_RESET, NULL, 0), 0);
		cr_assert_eq(rig_write(r, VFIO_PCI_CONFIG_REGION_INDEX, 4, &command, 2), 0);
		rig_set_reg(r, 0x14, RIG_RAM_AT);
	}
	cr_expect(rig_works(other));
	/* The guest crashes. The server finds its socket closed while the device is at work. */
	rig_hang_up(r);
	atomic_store(&p.stop, true);
	pthread_join(thread, NULL);
	rig_connect(r);
	cr_assert_eq(rig_version(r), 0);
	rig_boot_and_close(r);
	rig_close(other);
}
