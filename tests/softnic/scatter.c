/* SPDX-License-Identifier: BSD-2-Clause */
/* Scatter to CQE (PRM cs_req, cs_res): a small payload is in its CQE and not in memory. */
#include <criterion/criterion.h>
#include <string.h>

#include "softnic/mlx5/prm.h"
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

enum { PAGE = 4096, ENTRIES = 32 };

/*
 * Gives the QPs that are created next a ring in the pages 3 and 1. It starts 64 bytes into its first page, as
 * Linux allows, so the halves of its last entry are in different pages. No command names the pages 0 and 2.
 */
static void use_split_ring(struct rig *rig, uint8_t pages[4][PAGE])
{
	uint8_t in[AT_PAS + 16] = {0}, out[16], *ctx = in + AT_CTX;

	sn_set(in, CMD_OPCODE, CMD_CREATE_CQ);
	sn_set(ctx, CQC_CQE_SZ, 1);
	sn_set(ctx, CQC_LOG_SIZE, 5);
	sn_set(ctx, CQC_PAGE_OFFSET, 1);
	sn_set(ctx, CQC_UAR, rig->uar);
	sn_set(ctx, CQC_EQN, rig->eqn);
	sn_set64(ctx, CQC_DBR_ADDR, (uintptr_t)(rig->cq_dbr + 2));
	sn_set64(in, AT_PAS, (uintptr_t)pages[3]);
	sn_set64(in, AT_PAS + 8, (uintptr_t)pages[1]);
	cr_assert_eq(softnic_cmd(rig->nic, in, sizeof(in), out, sizeof(out)), 0);
	cr_assert_eq(out[0], 0);
	rig->cqn = sn_get(out, CMD_NUMBER);
}

Test(scatter, receive__into_an_entry_in_two_pages_writes_only_these)
{
	static uint8_t pages[4][PAGE] __attribute__((aligned(PAGE)));

	rig_scatter = (struct rig_scatter){.cqe_size = 128, .res = 2};
	rig_open(&ra, SOFTNIC_NO_THREAD, 1);
	rig_open(&rb, SOFTNIC_NO_THREAD, 2);
	use_split_ring(&rb, pages);
	rig_qp(&ra, &a);
	rig_qp(&rb, &b);
	rig_connect(&a, &b, NULL);
	for (uint32_t i = 0; i < ENTRIES; i++) {
		rig_fill(ra.data, 64, i);
		rig_recv(&b, rb.data, 64);
		rig_post_ring(&a, &(struct rig_wr){.op = RIG_SEND, .va = ra.data, .len = 64});
		cr_assert_eq(rig_wait(&ra, &rb).syndrome, 0);
	}
	cr_expect(rig_filled(pages[3] + PAGE - 64, 64, ENTRIES - 1), "the last payload is not in its entry");
	cr_expect_eq(sn_get32(pages[1], 44), 64, "the last descriptor is not in its entry");
	cr_expect(untouched(pages[0], PAGE), "the device wrote before the second page of the ring");
	cr_expect(untouched(pages[2], PAGE), "the device wrote before the first page of the ring");
	close_both("", "");
}
