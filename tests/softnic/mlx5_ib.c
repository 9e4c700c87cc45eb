/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects that Linux's mlx5_ib makes for itself. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/softnic/drv.h"

static struct drv *d;
static struct drv_cq cq;

static void setup(void)
{
	d = drv_open(0);
	drv_cq(d, &cq, 4, false);
}

static void teardown(void)
{
	drv_cq_free(&cq);
	drv_close(d);
}

TestSuite(mlx5_ib, .init = setup, .fini = teardown, .timeout = 60);

/* The command in d->in is refused so, and the checker has a word for it. */
static void refused(size_t inlen, uint8_t status, const char *name)
{
	uint8_t got = drv_run(d, inlen);

	cr_expect_eq(got, status, "status %#x", got);
	drv_expect(d, name);
}

static uint32_t alloc_xrcd(void)
{
	cr_assert_eq(drv_simple(d, 0x80e, 0), 0);
	return sn_get(d->out, SN_FLD(0x48, 24));
}

/* PRM "XRC SRQ context", from byte 0x10 on: xrcd at bit 0x28, cqn 0x48, pd 0xc8 */
static void begin_xrc_srq(uint32_t xrcd, uint32_t cqn, uint32_t pd)
{
	drv_begin(d, 0x705);
	sn_set(d->in + 0x10, SN_FLD(0x28, 24), xrcd);
	sn_set(d->in + 0x10, SN_FLD(0x48, 24), cqn);
	sn_set(d->in + 0x10, SN_FLD(0xc8, 24), pd);
}

Test(mlx5_ib, xrc_srq__holds_its_domain)
{
	uint32_t xrcd = alloc_xrcd(), srq;

	begin_xrc_srq(xrcd, cq.cqn, d->pd);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	srq = sn_get(d->out, SN_FLD(0x48, 24));
	cr_expect_neq(srq, 0);
	cr_expect_eq(drv_simple(d, 0x80f, xrcd), 0x06);
	drv_expect(d, "cmd.busy");
	cr_expect_eq(drv_simple(d, CMD_DESTROY_CQ, cq.cqn), 0x06);
	drv_expect(d, "cmd.busy");
	cr_expect_eq(drv_simple(d, 0x706, srq), 0);
	cr_expect_eq(drv_simple(d, 0x80f, xrcd), 0);
}

Test(mlx5_ib, xrc_srq__of_what_does_not_exist)
{
	uint32_t xrcd = alloc_xrcd();

	begin_xrc_srq(xrcd + 1, cq.cqn, d->pd);
	refused(AT_PAS, 0x05, "cmd.resource");
	begin_xrc_srq(xrcd, cq.cqn + 1, d->pd);
	refused(AT_PAS, 0x05, "cmd.resource");
	begin_xrc_srq(xrcd, cq.cqn, d->pd + 1);
	refused(AT_PAS, 0x05, "cmd.resource");
	begin_xrc_srq(xrcd, cq.cqn, d->pd);
	refused(AT_PAS - 4, 0x50, "cmd.length");
	cr_expect_eq(drv_simple(d, 0x706, 1), 0x05);
	drv_expect(d, "cmd.resource");
	cr_expect_eq(drv_simple(d, 0x80f, xrcd), 0);
	cr_expect_eq(drv_simple(d, 0x80f, xrcd), 0x05);
	drv_expect(d, "cmd.resource");
}
