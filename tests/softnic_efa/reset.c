/* SPDX-License-Identifier: BSD-2-Clause */
/* One of two devices is reset while both are at work. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/softnic_efa/rig.h"

static struct side a, b;
static struct wqe w;

static void post_some(struct side *s)
{
	for (uint16_t i = 0; i < 10; i++) {
		rx_post(s, i, 0, 65535);
		w_send(s, &w, i, 0, 5000);
		post(s, &w);
		w_rdma(s, &w, OP_READ, 0, (uint16_t)(100 + i), 0, 0, 100000);
		post(s, &w);
	}
}

static void expect_nothing_left(void)
{
	static const char *const kinds[] = { "qp", "cq", "mr", "ah", "pd" };
	size_t size, dirty = 0;
	int fd = softnic_efa_bar_fd(a.nic, &size);
	uint8_t *bar = mmap(NULL, MEM, PROT_READ, MAP_SHARED, fd, 0);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		cr_expect_eq(softnic_efa_object_count(a.nic, kinds[i]), 0,
			     "objects of kind %s are left after the reset", kinds[i]);
	cr_assert_neq(bar, MAP_FAILED);
	for (size_t i = 0; i < MEM; i++)
		dirty += bar[i] != 0;
	cr_expect_eq(dirty, 0, "%zu bytes of the queues are not zero", dirty);
	munmap(bar, MEM);
}

/* Checks that the device is for the next driver as it was for the first. */
static void expect_works(uint32_t seed)
{
	side_objects(&a, &(struct setup){ .profile = "write" });
	cr_assert_eq(softnic_efa_ah_create(a.nic, a.pd, b.caps.gid, &a.ah), 0);
	side_ready(&a, 0);
	side_name(&a, b.qp.qpn, b.mem, b.rkey);
	fill(a.mem, 5000, seed);
	w_rdma(&a, &w, OP_WRITE, 0, 1, 0, 0, 5000);
	post(&a, &w);
	cr_assert_eq(cqe_wait(&a, &b).status, 0);
	cr_assert(!memcmp(a.mem, b.mem, 5000));
}

Test(reset, reset__in_the_middle_of_traffic_leaves_no_object)
{
	for (unsigned int turns = 0; turns < 20; turns++) {
		struct cqe c;

		pair_open(&a, &b, &(struct setup){ .profile = "write", .seed = 1 + turns });
		post_some(&a);
		post_some(&b);
		pair_turns(&a, &b, turns);
		softnic_efa_reset(a.nic);
		expect_nothing_left();
		settle(&a, &b, 20000);
		while (cqe_poll(&b, &c))
			;
		expect_works(turns);
		pair_abandon(&a, &b);
	}
}
