/* SPDX-License-Identifier: BSD-2-Clause */
/* How an endpoint notifies the device of work, depending on the parameters; and how often suppressed
 * work is signaled. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "hw_mlx5/mmio.h"
#include "hw_mlx5/params.h"
#include "tests/harness/harness.h"
#include "tests/mlx5/rig.h"

static struct rig r;

static const char *attribute(const char *name)
{
	const struct dap_caps *caps = &r.ia->caps;

	for (unsigned int i = 0; i < caps->nattr; i++)
		if (!strcmp(caps->attr[i].name, name))
			return caps->attr[i].value;
	return "";
}

static DAT_RETURN write_8(DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 8);
	DAT_RMR_TRIPLET t = rig_remote(&r.b, 0, 8);

	return r.hot->rdma_write(r.a.ep, 1, &l, rig_cookie(5), &t, flags);
}

/* Posts one inline block, a window of three blocks, and further blocks. */
static void use(void)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 64, 64);
	struct dap_rmr *rmr;
	DAT_RMR_CONTEXT ctx;
	DAT_EVENT ev;

	cr_assert_eq(rig_rmr(&r, &rmr), 0);
	cr_assert_eq(write_8(0), DAT_SUCCESS);
	cr_assert_eq(r.hot->rmr_bind(rmr, &l, DAT_MEM_PRIV_REMOTE_READ_FLAG, r.a.ep, rig_cookie(6),
				     0, &ctx), DAT_SUCCESS);
	cr_assert_eq(write_8(0), DAT_SUCCESS);
	for (int i = 0; i < 3; i++)
		cr_assert(rig_event(&r, r.a.request, &ev), "completion %d is missing", i);
	cr_assert(rig_empty(&r, r.a.request));
	rig_rmr_free(rmr);
}

static void mode_is(const char *params, uint32_t bf_bb_limit, bool own, const char *doorbell,
		    const char *by)
{
	struct rig_config c = { .params = params };

	cr_assert_eq(rig_open(&r, &c), 0, "the IA cannot be opened with \"%s\"", params);
	cr_expect_eq(m5_ep(r.a.ep)->sq.bf_bb_limit, bf_bb_limit,
		     "with \"%s\": wrong BlueFlame limit of %u blocks", params,
		     m5_ep(r.a.ep)->sq.bf_bb_limit);
	cr_expect_eq(m5_ep(r.a.ep)->own_uar, own,
		     "with \"%s\": wrong choice between an own and a shared doorbell page", params);
	cr_expect_str_eq(attribute("doorbell"), doorbell,
			 "with \"%s\": wrong attribute doorbell: %s", params,
			 attribute("doorbell"));
	cr_expect_str_eq(attribute("doorbell_by"), by,
			 "with \"%s\": wrong attribute doorbell_by: %s", params,
			 attribute("doorbell_by"));
	use();
	rig_close(&r, NULL);
}

static void each_mode(enum rig_variant variant)
{
	rig_variant = variant;
	mode_is("", 5, true, "blueflame (8 endpoints)", "access");
	mode_is("mmio=auto bf_eps=3", 5, true, "blueflame (3 endpoints)", "access");
	mode_is("mmio=blueflame", 5, true, "blueflame (8 endpoints)", "parameter");
	mode_is("mmio=combined", 1, true, "8 bytes, combined (8 endpoints)", "parameter");
	mode_is("mmio=doorbell", 1, false, "8 bytes", "parameter");
	mode_is("mmio=measure", 5, true, "blueflame (8 endpoints)", "parameter");
	mode_is("mmio=blueflame bf_eps=0", 1, false, "8 bytes", "access");
}

Test(mmio, ia_open__in_each_mode_reports_the_mode_on_model, .timeout = 120)
{
	each_mode(RIG_MODEL);
}

Test(mmio, ia_open__in_each_mode_reports_the_mode_on_silicon, .timeout = 120)
{
	each_mode(RIG_SILICON);
}

/* When the registers are used up, further endpoints share the page of the instance, in the same mode
 * or another one. */
Test(mmio, ep_create__after_the_last_register_shares_the_doorbell)
{
	struct rig_config c = { .params = "bf_eps=1" };

	cr_assert_eq(rig_open(&r, &c), 0);
	cr_assert(m5_ep(r.a.ep)->own_uar && !m5_ep(r.b.ep)->own_uar);
	cr_assert_eq(m5_ep(r.a.ep)->sq.bf_bb_limit, 5);
	cr_assert_eq(m5_ep(r.b.ep)->sq.bf_bb_limit, 1);
	cr_assert_eq(m5_ep(r.b.ep)->sq.uar_page, m5_ia(r.ia)->uar.page);
	use();
	rig_close(&r, NULL);
}

Test(mmio, m5_params_parse__unknown_mmio_names_the_choices)
{
	struct m5_params p;
	char why[128] = "";

	cr_assert_eq(m5_params_parse("mmio=measure", &p, why, sizeof(why)), 0);
	cr_assert_eq(p.mmio, M5_MMIO_MEASURE);
	cr_assert_eq(m5_params_parse("mmio=fast", &p, why, sizeof(why)), -EINVAL);
	cr_assert_str_eq(why, "ia_params: mmio=fast: must be one of auto, blueflame, combined, doorbell, "
				   "measure");
	cr_assert_eq(m5_params_parse("mmio", &p, why, sizeof(why)), -EINVAL);
}

Test(mmio, m5_mmio_judge__block_slower_than_four_words_means_doorbell)
{
	cr_assert_eq(m5_mmio_judge(50, 40), M5_MMIO_BLUEFLAME);
	cr_assert_eq(m5_mmio_judge(160, 40), M5_MMIO_BLUEFLAME);
	cr_assert_eq(m5_mmio_judge(161, 40), M5_MMIO_DOORBELL);
	cr_assert_eq(m5_mmio_judge(4, 0), M5_MMIO_BLUEFLAME);
	cr_assert_eq(m5_mmio_judge(5, 0), M5_MMIO_DOORBELL);
}

/* One request of each group is signaled. A group is a quarter of the queue, but at least one and at
 * most 64 requests, so that credit returns in time. */
static void suppressed_with(uint32_t dtos, uint32_t signal_every)
{
	struct rig_config c = { .attr = { .max_request_dtos = dtos } };
	DAT_EVENT ev;

	cr_assert_eq(rig_open(&r, &c), 0);
	cr_assert_eq(m5_ep(r.a.ep)->sq.signal_every, signal_every,
		     "wrong signal interval for a queue of %u requests", dtos);
	for (uint32_t i = 0; i < 3 * dtos + 10; i++)
		cr_assert(TH_WITHIN(20000, write_8(DAT_COMPLETION_SUPPRESS_FLAG) == DAT_SUCCESS),
			  "queue of %u requests: request %u found no room", dtos, i);
	cr_assert(TH_WITHIN(20000, write_8(0) == DAT_SUCCESS));
	cr_assert(rig_event(&r, r.a.request, &ev));
	cr_assert(rig_empty(&r, r.a.request),
		  "queue of %u requests: a suppressed success is reported", dtos);
	rig_close(&r, NULL);
}

static void suppressed_on(enum rig_variant variant)
{
	static const struct { uint32_t dtos, signal_every; } sizes[] = {
		{ 1, 1 }, { 2, 1 }, { 3, 1 }, { 4, 1 }, { 7, 1 }, { 8, 2 }, { 9, 2 }, { 63, 15 },
		{ 64, 16 }, { 255, 63 }, { 256, 64 }, { 300, 64 }, { 1024, 64 },
	};

	rig_variant = variant;
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		suppressed_with(sizes[i].dtos, sizes[i].signal_every);
}

Test(mmio, rdma_write__suppressed_at_each_ring_size_completes_on_model, .timeout = 120)
{
	suppressed_on(RIG_MODEL);
}

Test(mmio, rdma_write__suppressed_at_each_ring_size_completes_on_silicon, .timeout = 120)
{
	suppressed_on(RIG_SILICON);
}
