/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys of an RMR whose binds were flushed: the driver does not know which the device has changed. */
#include <criterion/criterion.h>

#include "hw_common/soft.h"
#include "softnic/softnic.h"
#include "tests/harness/harness.h"
#include "tests/mlx5/rig.h"

#define RW (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

enum { VARIANTS = 255 };		/* binds by one key */

static struct rig r;
static struct dap_rmr *rmr;
static struct dap_ep *c, *d;		/* a second connection in the same zone: c is on b's side */

static void open_rig(void)
{
	struct rig_config config = { 0 };

	cr_assert_eq(rig_open(&r, &config), 0);
	cr_assert_eq(rig_rmr(&r, &rmr), 0);
	cr_assert_eq(rig_ep(&r, &r.b, &c), 0);
	cr_assert_eq(rig_ep(&r, &r.a, &d), 0);
	cr_assert_eq(rig_connect(c, d), 0);
}

static void close_rig(void)
{
	if (c)
		rig_ep_free(c);
	rig_ep_free(d);
	rig_rmr_free(rmr);
	rig_close(&r, NULL);
}

static void bind_times(struct dap_ep *ep, unsigned int n, DAT_DTO_COMPLETION_STATUS status)
{
	DAT_LMR_TRIPLET t = rig_local(&r.b, 0, 64);
	DAT_RMR_CONTEXT context;
	DAT_EVENT ev;

	for (unsigned int i = 0; i < n; i++) {
		cr_assert_eq(r.hot->rmr_bind(rmr, &t, RW, ep, rig_cookie(i), 0, &context), DAT_SUCCESS,
			     "bind %u of %u failed", i, n);
		cr_assert(rig_event(&r, r.b.request, &ev));
		cr_assert_eq(ev.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
		cr_assert_eq(ev.event_data.rmr_completion_event_data.status, (unsigned int)status);
	}
}

static void disconnect_c(void)
{
	fake.quiet = true;
	cr_assert_eq(m5_hw.qp_error(c), 0);
	c->state = DAP_EP_DISCONNECTED;
	c->obj.table = r.ia->tables[DAP_TABLE_CHECKED];
}

/* A key that a bind names must be the device's. The rig reports any other as a violation. */
static void flush_and_bind_by_all_keys(unsigned int flushed)
{
	bind_times(r.b.ep, VARIANTS, DAT_DTO_SUCCESS);
	disconnect_c();
	bind_times(c, flushed, DAT_DTO_ERR_FLUSHED);
	bind_times(r.b.ep, (M5_RMR_KEYS + 1) * VARIANTS, DAT_DTO_SUCCESS);
}

RIG_TEST(keys, rmr_bind__after_a_flushed_change_of_keys_names_the_device_s_keys)
{
	flush_and_bind_by_all_keys(1);
}

RIG_TEST(keys, rmr_bind__after_several_flushed_changes_of_keys_names_the_device_s_keys)
{
	flush_and_bind_by_all_keys(300);
}

/* Without memory for one of the keys the RMR has none, and the next bind makes them. */
RIG_TEST(keys, rmr_bind__that_gets_not_all_new_keys_fails_and_the_next_one_succeeds)
{
	DAT_LMR_TRIPLET t = rig_local(&r.b, 0, 64);
	DAT_RMR_CONTEXT context;

	disconnect_c();
	bind_times(c, 1, DAT_DTO_ERR_FLUSHED);
	for (unsigned int nth = 1; nth <= M5_RMR_KEYS; nth++) {
		hw_soft_fail(nth);
		cr_expect_neq(r.hot->rmr_bind(rmr, &t, RW, r.b.ep, rig_cookie(1), 0, &context),
			      DAT_SUCCESS);
		hw_soft_fail(0);
		bind_times(r.b.ep, 1, DAT_DTO_SUCCESS);
		/* the next turn needs another bind of unknown success */
		bind_times(c, 1, DAT_DTO_ERR_FLUSHED);
	}
	bind_times(r.b.ep, 1, DAT_DTO_SUCCESS);
}

/* The number of the endpoint's QP can be used again, so none of the keys may stay bound to it. */
RIG_TEST(keys, ep_free__after_a_flushed_change_of_keys_leaves_no_key_of_the_endpoint)
{
	struct softnic *nic = m5_ia(r.ia)->ctl->soft;
	size_t others;

	m5_hw.rmr_destroy(rmr);
	others = softnic_object_count(nic, "mkey");
	rmr->for_ep = true;
	cr_assert_eq(m5_hw.rmr_create(rmr), 0);
	bind_times(c, VARIANTS, DAT_DTO_SUCCESS);
	disconnect_c();
	bind_times(c, 1, DAT_DTO_ERR_FLUSHED);
	rig_ep_free(c);
	c = NULL;
	cr_expect_eq(softnic_object_count(nic, "mkey"), others);
	bind_times(r.b.ep, 1, DAT_DTO_SUCCESS);
}
