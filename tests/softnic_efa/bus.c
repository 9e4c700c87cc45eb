/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues and regions at bus addresses. The host may refuse the access to each of them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/softnic_efa/rig.h"

static struct side a, b;
static struct wqe w;
static struct cqe c;

static void open_pair(const char *profile)
{
	pair_open(&a, &b, &(struct setup){ .profile = profile, .bus = true });
	fill(a.mem, MEM, 1);
	fill(b.mem, MEM, 2);
}

static void refuse(struct side *s, uint64_t addr, uint64_t len)
{
	s->refused = addr;
	s->refused_len = len;
}

static void send_from_a(uint32_t off, uint32_t len)
{
	w_send(&a, &w, 1, off, len);
	post(&a, &w);
}

static void rdma_from_a(unsigned int op, uint32_t len)
{
	w_rdma(&a, &w, op, 0, 1, 1000, 5000, len);
	post(&a, &w);
	c = cqe_wait(&a, &b);
}

Test(bus, send__arrives_on_every_profile)
{
	for (const char *const *p = softnic_efa_profiles(); *p; p++) {
		open_pair(*p);
		for (uint32_t i = 0; i < 200; i++) {
			uint32_t len = 1 + i * 977 % a.caps.mtu;

			rx_post(&b, (uint16_t)i, 16384 + i, 65535);
			send_from_a(512 + i, len);
			c = cqe_wait(&b, &a);
			cr_assert_eq(c.status, 0);
			cr_assert_eq(c.length, len);
			cr_assert(!memcmp(b.mem + 16384 + i, a.mem + 512 + i, len));
			cr_assert_eq(cqe_wait(&a, &b).status, 0);
		}
		expect_violations(&a, "");
		expect_violations(&b, "");
		pair_close(&a, &b);
	}
}

Test(bus, rdma__moves_each_byte_and_no_other)
{
	static uint8_t before[MEM];

	open_pair("write");
	memcpy(before, b.mem, MEM);
	rdma_from_a(OP_WRITE, 300001);
	cr_assert_eq(c.status, 0);
	cr_assert(!memcmp(b.mem + 5000, a.mem + 1000, 300001));
	cr_assert(!memcmp(b.mem, before, 5000));
	cr_assert(!memcmp(b.mem + 305001, before + 305001, MEM - 305001));
	fill(b.mem, MEM, 3);
	rdma_from_a(OP_READ, 300001);
	cr_assert_eq(c.status, 0);
	cr_assert(!memcmp(a.mem + 1000, b.mem + 5000, 300001));
	expect_violations(&a, "");
	expect_violations(&b, "");
	pair_close(&a, &b);
}

/* The second of two pages is refused. */
Test(bus, refused_memory_of_the_sender__send_ends_with_invalid_lkey)
{
	open_pair(NULL);
	refuse(&a, bus_of(&a, 8192) & ~UINT64_C(4095), 4096);
	rx_post(&b, 1, 0, 65535);
	send_from_a(4096, 8000);
	c = cqe_wait(&a, &b);
	cr_expect_eq(c.status, 5);
	settle(&a, &b, 3000);
	cr_expect(!cqe_poll(&b, &c), "the failed send consumed a receive");
	expect_violations(&a, "dma.refused");
	expect_violations(&b, "");
	pair_close(&a, &b);
}

Test(bus, refused_memory_of_the_receiver__receive_ends_with_invalid_lkey)
{
	open_pair(NULL);
	refuse(&b, bus_of(&b, 100), 1);
	rx_post(&b, 1, 0, 65535);
	send_from_a(0, 200);
	cr_expect_eq(cqe_wait(&b, &a).status, 5);
	cr_expect_eq(cqe_wait(&a, &b).status, 12);
	expect_violations(&b, "dma.refused");
	pair_close(&a, &b);
}

Test(bus, refused_memory_of_the_target__rdma_ends_with_bad_address)
{
	open_pair("write");
	refuse(&b, bus_of(&b, 5000) & ~UINT64_C(4095), 4096);
	rdma_from_a(OP_WRITE, 100);
	cr_expect_eq(c.status, 7);
	rdma_from_a(OP_READ, 100);
	cr_expect_eq(c.status, 7);
	expect_violations(&b, "dma.refused");
	expect_violations(&a, "");
	refuse(&b, 0, 0);
	rdma_from_a(OP_WRITE, 100);
	cr_expect_eq(c.status, 0);
	pair_close(&a, &b);
}

Test(bus, refused_cq__loses_the_completion_and_no_other)
{
	open_pair(NULL);
	refuse(&a, BUS_CQ, 32);
	for (uint16_t i = 0; i < 2; i++) {
		rx_post(&b, i, 0, 65535);
		send_from_a(0, 10);
		cr_assert_eq(cqe_wait(&b, &a).status, 0);
		settle(&a, &b, 3000);
	}
	cr_expect(!cqe_poll(&a, &c), "the CQE was written to refused memory");
	a.cc[0] = 1;
	cr_expect(cqe_poll(&a, &c));
	expect_violations(&a, "dma.refused");
	pair_close(&a, &b);
}

Test(bus, refused_receive_queue__has_receives_without_room)
{
	open_pair(NULL);
	rx_post(&b, 1, 0, 65535);
	refuse(&b, BUS_RQ, 16);
	send_from_a(0, 10);
	cr_expect_eq(cqe_wait(&b, &a).status, 6);
	cr_expect_eq(cqe_wait(&a, &b).status, 11);
	expect_violations(&b, "dma.refused rx.short_buffer");
	pair_close(&a, &b);
}

Test(bus, pages_of_a_region__are_judged)
{
	uint64_t list[3] = { 0x10000, 0x20000, 0x30000 };
	const struct {
		struct softnic_efa_pages pages;
		uint64_t len, iova;
		int err;
	} cases[] = {
		{ { list, 3, 12 }, 8193, 4095, 0 },
		{ { list, 3, 12 }, 8194, 4095, -EINVAL },
		{ { list, 3, 12 }, 8193, 4096, 0 },
		{ { list, 3, 12 }, 8192, 4096, -EINVAL },
		{ { list, 1, 16 }, 65536, 0, 0 },
		/* a page of 1 << 17 bytes cannot start at 0x10000 */
		{ { list, 1, 17 }, 65536, 0, -EINVAL },
		{ { list, 3, 11 }, 6144, 0, -EINVAL },
		{ { list, 1, 76 }, 4096, 0, -EINVAL },
		{ { list, 0, 12 }, 0, 0, -EINVAL },
	};
	uint32_t lkey, rkey;

	open_pair(NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int err = softnic_efa_mr_reg_pages(a.nic, a.pd, &cases[i].pages, cases[i].len,
						   cases[i].iova, 1, &lkey, &rkey);

		cr_expect_eq(err, cases[i].err,
			     "case %zu: the registration returned the wrong code %d", i, err);
		if (!err)
			cr_expect_eq(softnic_efa_mr_dereg(a.nic, lkey), 0);
	}
	expect_violations(&a, "cmd.field");
	pair_close(&a, &b);
}

Test(bus, pages_of_all_regions__have_a_limit)
{
	enum { N = 1 << 20 };
	uint64_t *list = calloc(N, sizeof(*list));
	const struct softnic_efa_pages pages = { list, N, 12 };
	const uint64_t len = (uint64_t)N * PAGE;
	uint32_t lkey, rkey, other;

	open_pair(NULL);
	cr_assert_eq(a.caps.max_mr_pages, 4 * N);
	cr_assert_eq(softnic_efa_mr_dereg(a.nic, a.lkey), 0);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(softnic_efa_mr_reg_pages(a.nic, a.pd, &pages, len, 0, 1, &lkey, &rkey), 0);
	cr_expect_eq(softnic_efa_mr_reg_pages(a.nic, a.pd, &pages, len, 0, 1, &other, &rkey), -ENOMEM);
	expect_violations(&a, "cmd.resource");
	cr_assert_eq(softnic_efa_mr_dereg(a.nic, lkey), 0);
	cr_expect_eq(softnic_efa_mr_reg_pages(a.nic, a.pd, &pages, len, 0, 1, &lkey, &rkey), 0);
	pair_abandon(&a, &b);
	free(list);
}

/* Bus addresses are refused without an IOMMU, and if they are not aligned to an entry. */
Test(bus, queues_at_bus_addresses__are_judged)
{
	struct softnic_efa_cq_attr cq = { .entries = 64, .entry_size = 32, .sub_cqs = 1,
					  .flags = SOFTNIC_EFA_CQ_BUS, .bus_addr = 16 };
	struct softnic_efa_qp_attr qp = { .rq_depth = 16, .flags = SOFTNIC_EFA_QP_BUS_RQ,
					  .rq_bus_addr = 8 };
	struct softnic_efa_cq made_cq;
	struct softnic_efa_qp made_qp;

	open_pair(NULL);
	qp.pd = a.pd;
	qp.send_cq = qp.recv_cq = a.cq.cq;
	cr_expect_eq(softnic_efa_cq_create(a.nic, &cq, &made_cq), -EINVAL);
	cr_expect_eq(softnic_efa_qp_create(a.nic, &qp, &made_qp), -EINVAL);
	pair_close(&a, &b);
	pair_open(&a, &b, &(struct setup){ 0 });
	cq.bus_addr = qp.rq_bus_addr = 4096;
	cr_expect_eq(softnic_efa_cq_create(a.nic, &cq, &made_cq), -EINVAL);
	cr_expect_eq(softnic_efa_qp_create(a.nic, &qp, &made_qp), -EINVAL);
	expect_violations(&a, "cmd.field");
	pair_close(&a, &b);
}

/* A fault script allows accesses to a region after its dereg, but not to pages that the device no
 * longer knows. */
Test(bus, late_access__finds_no_pages)
{
	open_pair("write");
	cr_assert_eq(softnic_efa_fault(b.nic, "late_dereg"), 0);
	cr_assert_eq(softnic_efa_mr_dereg(b.nic, b.lkey), 0);
	rdma_from_a(OP_WRITE, 100);
	cr_expect_eq(c.status, 7);
	pair_abandon(&a, &b);
}
