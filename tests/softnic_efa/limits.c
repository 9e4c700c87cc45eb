/* SPDX-License-Identifier: BSD-2-Clause */
/* Each number of objects that the capabilities report as the maximum is enforced. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "tests/softnic_efa/rig.h"

static struct side s;

static int new_pd(uint32_t *number)
{
	uint16_t pd = 0;
	int err = softnic_efa_pd_alloc(s.nic, &pd);

	*number = pd;
	return err;
}

static int free_pd(uint32_t number)
{
	return softnic_efa_pd_dealloc(s.nic, (uint16_t)number);
}

/* Each AH is for another GID, because a driver makes one AH for each destination. */
static int new_ah(uint32_t *number)
{
	static uint32_t destination;
	uint8_t gid[16] = { 0xfe, 0x80 };
	uint16_t ah = 0;
	int err;

	put32(gid + 8, ++destination);
	err = softnic_efa_ah_create(s.nic, s.pd, gid, &ah);
	*number = ah;
	return err;
}

static int free_ah(uint32_t number)
{
	return softnic_efa_ah_destroy(s.nic, s.pd, (uint16_t)number);
}

static int new_mr(uint32_t *lkey)
{
	static uint8_t memory[PAGE];
	uint32_t rkey;

	return softnic_efa_mr_reg(s.nic, s.pd, memory, sizeof(memory), (uintptr_t)memory,
				  SOFTNIC_EFA_LOCAL_WRITE, lkey, &rkey);
}

static int free_mr(uint32_t lkey)
{
	return softnic_efa_mr_dereg(s.nic, lkey);
}

static int new_cq(uint32_t *number)
{
	const struct softnic_efa_cq_attr attr = {
		.entries = 16, .entry_size = 32, .sub_cqs = s.caps.sub_cqs,
	};
	struct softnic_efa_cq cq = { 0 };
	int err = softnic_efa_cq_create(s.nic, &attr, &cq);

	*number = cq.cq;
	return err;
}

static int free_cq(uint32_t number)
{
	return softnic_efa_cq_destroy(s.nic, (uint16_t)number);
}

static int new_qp(uint32_t *handle)
{
	const struct softnic_efa_qp_attr attr = {
		.pd = s.pd, .send_cq = s.cq.cq, .recv_cq = s.cq.cq, .sq_depth = 32, .rq_depth = 16,
	};
	struct softnic_efa_qp qp = { 0 };
	int err = softnic_efa_qp_create(s.nic, &attr, &qp);

	*handle = qp.handle;
	return err;
}

static int free_qp(uint32_t handle)
{
	return softnic_efa_qp_destroy(s.nic, handle);
}

static const struct kind {
	const char *name;
	size_t max;			/* offset of the limit in the capabilities */
	int (*create)(uint32_t *number);
	int (*destroy)(uint32_t number);
} kinds[] = {
	{ "pd", offsetof(struct softnic_efa_caps, max_pd), new_pd, free_pd },
	{ "ah", offsetof(struct softnic_efa_caps, max_ah), new_ah, free_ah },
	{ "mr", offsetof(struct softnic_efa_caps, max_mr), new_mr, free_mr },
	{ "cq", offsetof(struct softnic_efa_caps, max_cq), new_cq, free_cq },
	{ "qp", offsetof(struct softnic_efa_caps, max_qp), new_qp, free_qp },
};

static void open_device(void)
{
	const struct softnic_efa_config config = {
		.flags = SOFTNIC_EFA_NO_THREAD | SOFTNIC_EFA_LOOPBACK_ONLY, .seed = 1,
	};
	uint32_t number;

	cr_assert_eq(softnic_efa_open(&config, &s.nic), 0);
	softnic_efa_caps(s.nic, &s.caps);
	cr_assert_eq(softnic_efa_pd_alloc(s.nic, &s.pd), 0);
	cr_assert_eq(new_cq(&number), 0);
	s.cq.cq = (uint16_t)number;
}

/* Linux's driver gets RESOURCE_ALLOCATION_FAILURE for the admin command, and returns ENOMEM. */
static void fill_table(const struct kind *kind)
{
	size_t n = softnic_efa_object_count(s.nic, kind->name);
	uint32_t max, number, last = 0;
	int err = 0;

	memcpy(&max, (const uint8_t *)&s.caps + kind->max, sizeof(max));
	for (; n <= max && !err; n += !err) {
		err = kind->create(&number);
		last = err ? last : number;
	}
	cr_expect_eq(n, max, "%s: %zu objects could be created, but %u are reported as the limit",
		     kind->name, n, max);
	cr_expect_eq(err, -ENOMEM, "%s: one object too many returned the wrong code %d", kind->name,
		     err);
	expect_violations(&s, "cmd.resource");
	cr_expect_eq(kind->destroy(last), 0, "%s: the last object cannot be destroyed", kind->name);
	cr_expect_eq(kind->create(&number), 0,
		     "%s: no object can be created after one was destroyed", kind->name);
	cr_expect_eq(kind->create(&number), -ENOMEM, "%s: an object was created in a full table",
		     kind->name);
	expect_violations(&s, "cmd.resource");
}

/* efa_admin_create_cq_cmd.sub_cq_depth has 16 bits. */
Test(limits, cq_create__with_more_entries_than_the_command_can_name_is_refused)
{
	struct softnic_efa_cq_attr attr = { .entries = 32768, .entry_size = 32 };
	struct softnic_efa_cq cq;

	open_device();
	attr.sub_cqs = s.caps.sub_cqs;
	cr_expect_eq(s.caps.max_cqe, attr.entries);
	cr_assert_eq(softnic_efa_cq_create(s.nic, &attr, &cq), 0);
	cr_assert_eq(softnic_efa_cq_destroy(s.nic, cq.cq), 0);
	attr.entries *= 2;
	cr_assert_eq(softnic_efa_cq_create(s.nic, &attr, &cq), -EINVAL);
	expect_violations(&s, "cmd.field");
	softnic_efa_close(s.nic);
}

enum { MANY = 200 };

/* Creates and destroys many QPs. Returns the highest offset of a send queue. */
static uint64_t highest_queue(void)
{
	const struct softnic_efa_qp_attr attr = {
		.pd = s.pd, .send_cq = s.cq.cq, .recv_cq = s.cq.cq, .sq_depth = 32, .rq_depth = 16,
	};
	struct softnic_efa_qp qp[MANY];
	uint64_t highest = 0;

	for (size_t i = 0; i < MANY; i++) {
		cr_assert_eq(softnic_efa_qp_create(s.nic, &attr, &qp[i]), 0);
		if (qp[i].sq.ring_bar_offset > highest)
			highest = qp[i].sq.ring_bar_offset;
	}
	for (size_t i = 0; i < MANY; i++)
		cr_assert_eq(softnic_efa_qp_destroy(s.nic, qp[i].handle), 0);
	return highest;
}

/* The memory of the queues has an end. */
Test(limits, destroy__gives_back_the_memory_of_each_queue)
{
	uint64_t first;

	open_device();
	first = highest_queue();
	for (int i = 0; i < 10; i++)
		cr_assert_leq(highest_queue(), first,
			      "round %d got new memory, although that of %d QPs is free", i, MANY);
	softnic_efa_close(s.nic);
}

Test(limits, create__is_refused_beyond_the_reported_maximum, .timeout = 60)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		open_device();
		fill_table(&kinds[i]);
		softnic_efa_close(s.nic);
	}
}
