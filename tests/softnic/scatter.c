/* SPDX-License-Identifier: BSD-2-Clause */
/* Scatter to CQE (PRM cs_req, cs_res): a small payload is in its CQE and not in memory. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/softnic/rc_rig.h"

static struct rig ra, rb;
static struct rig_qp a, b;

static void open_with(struct rig_scatter scatter, unsigned int flags)
{
	rig_scatter = scatter;
	rig_open_pair(&ra, &rb, &a, &b, SOFTNIC_NO_THREAD | flags, NULL);
}

static void open_both(struct rig_scatter scatter)
{
	open_with(scatter, 0);
}

static void close_both(const char *violations_a, const char *violations_b)
{
	rig_settle(&ra, &rb);
	rig_close_pair(&ra, &rb, violations_a, violations_b);
}

static bool untouched(const uint8_t *p, size_t len)
{
	while (len--)
		if (*p++)
			return false;
	return true;
}

/*
 * Checks a successful completion of that length. A payload of up to `most` bytes is in the CQE, a
 * longer one at data.
 */
static void arrived(struct rig *rig, struct rig *other, uint32_t len, uint32_t most, uint8_t *data,
		    uint32_t seed)
{
	struct rig_cqe cqe = rig_wait(rig, other);
	unsigned int format = !len || len > most ? 0 : len <= 32 ? 1 : 2;

	cr_assert_eq(cqe.syndrome, 0);
	cr_assert_eq(cqe.len, len);
	cr_assert_eq(cqe.format, format, "payload of %u bytes, limit %u: wrong CQE format %u", len,
		     most, cqe.format);
	cr_assert(rig_filled(format == 0 ? data : format == 1 ? cqe.at : cqe.at - 64, len, seed));
	if (format)
		cr_assert(untouched(data, 200));
}

static const uint32_t sizes[] = {0, 1, 32, 33, 64, 65, 200};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void each_size(struct rig_scatter scatter, uint32_t most_req, uint32_t most_res)
{
	open_both(scatter);
	for (uint32_t i = 0; i < SIZES; i++) {
		memset(rb.data, 0, 200);
		rig_fill(ra.data, sizes[i], i);
		rig_recv(&b, rb.data, 200);
		rig_post_ring(&a, &(struct rig_wr){.op = RIG_SEND, .va = ra.data, .len = sizes[i]});
		arrived(&rb, &ra, sizes[i], most_res, rb.data, i);
		cr_assert_eq(rig_wait(&ra, &rb).format, 0,
			     "the CQE of a send has data of the message");
		memset(ra.data, 0, 200);
		rig_fill(rb.data, sizes[i], i + 50);
		rig_post_ring(&a, &(struct rig_wr){.op = RIG_READ, .va = ra.data, .len = sizes[i],
						   .raddr = rb.data, .rkey = rb.key});
		arrived(&ra, &rb, sizes[i], most_req, ra.data, i + 50);
	}
	close_both("", "");
}

Test(scatter, receive_and_read__with_scatter_off_go_to_memory)
{
	each_size((struct rig_scatter){.cqe_size = 64}, 0, 0);
}

Test(scatter, receive_and_read__up_to_32_bytes_go_to_a_cqe_of_64_bytes)
{
	each_size((struct rig_scatter){.cqe_size = 64, .req = 0x11, .res = 1}, 32, 32);
}

Test(scatter, receive_and_read__up_to_64_bytes_go_to_a_cqe_of_128_bytes)
{
	each_size((struct rig_scatter){.cqe_size = 128, .req = 0x22, .res = 2}, 64, 64);
}

Test(scatter, receive__with_scatter_on_one_side_alone_goes_to_the_cqe)
{
	each_size((struct rig_scatter){.cqe_size = 128, .res = 1}, 0, 32);
}

/* Reads without a CQE, and waits for a write behind the read. */
static void read_unsignalled(void)
{
	rig_fill(rb.data, 16, 1);
	a.ce = 0;
	rig_post(&a, &(struct rig_wr){.op = RIG_READ, .va = ra.data, .len = 16, .raddr = rb.data,
				      .rkey = rb.key});
	a.ce = 2;
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_WRITE, .va = ra.data + 64, .len = 8,
					   .raddr = rb.data + 64, .rkey = rb.key});
	cr_assert_eq(rig_wait(&ra, &rb).counter, 1);
}

/* A read that has no CQE writes its payload to memory. */
Test(scatter, read__unsignalled_writes_to_memory)
{
	open_both((struct rig_scatter){.cqe_size = 64, .req = 0x11, .res = 1});
	read_unsignalled();
	cr_assert(rig_filled(ra.data, 16, 1));
	close_both("", "");
}

Test(scatter, read__unsignalled_loses_its_data_on_an_adversarial_device)
{
	open_with((struct rig_scatter){.cqe_size = 64, .req = 0x11, .res = 1}, SOFTNIC_ADVERSARIAL);
	read_unsignalled();
	cr_assert(untouched(ra.data, 16));
	close_both("", "");
}

/* The keys are checked even though nothing is written to memory. */
Test(scatter, receive__into_memory_beyond_its_key_gets_local_protection)
{
	struct rig_cqe cqe;

	open_both((struct rig_scatter){.cqe_size = 64, .req = 0x11, .res = 1});
	rig_recv(&b, rb.data + RIG_DATA - 4, 32);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_SEND, .va = ra.data, .len = 8});
	cqe = rig_wait(&rb, &ra);
	cr_assert_eq(cqe.op, 14);
	cr_assert_eq(cqe.syndrome, 4);
	cr_assert_eq(rig_wait(&ra, &rb).op, 13);
	close_both("", "mkey.bounds,remote.operational");
}
