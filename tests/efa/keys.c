/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices that give the key of a freed region to the next one. The context that a bind or an unbind has
 * ended gives no access after the next bind, and efa_rmr_bind does what its value says.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/efa/rig.h"

enum { LEN = 4096, LAPS = 64 };

TestSuite(efa_keys, .timeout = 60);

static struct rig r;
static struct dap_rmr *rmr;

/* The operations of the device. Every registration is checked. */
static const struct efa_ctl_ops *real;
static struct efa_ctl_ops ops;
static uint32_t had[LAPS + 1];
static unsigned int nhad, registered;

static int look(struct efa_ctl *ctl, void *pd, uint64_t addr, uint64_t len, unsigned int access,
		struct efa_mr *mr)
{
	registered++;
	return real->mr_reg(ctl, pd, addr, len, access, mr);
}

static void start(const char *profile)
{
	char params[80];

	snprintf(params, sizeof(params), "seed=7 efa_window=4 efa_profile=%s", profile);
	rig_open_pair(&r, params);
	cr_assert_eq(softnic_efa_fault(r.nic, "rkey_reuse"), 0);
	real = efa_ia(r.ia)->ctl->ops;
	ops = *real;
	ops.mr_reg = look;
	efa_ia(r.ia)->ctl->ops = &ops;
	rmr = rig_rmr(&r, &r.b);
	nhad = registered = 0;
}

static void end(void)
{
	efa_hw.rmr_destroy(rmr);
	free(rmr);
	efa_ia(r.ia)->ctl->ops = real;
	rig_close_pair(&r);
}

static uint32_t bind_to(uint32_t len)
{
	uint32_t context = 0;

	cr_assert_eq(rig_bind(rmr, &r.b, len, &context), 0, "bind %u failed: %s", nhad, fake.said);
	cr_assert_eq(rig_next(&r, r.b.req).number, DAP_EV_RMR_BIND);
	if (!len)
		return 0;
	cr_assert(!nhad || had[nhad - 1] != context, "bind %u returned the previous context", nhad);
	had[nhad++] = context;
	return context;
}

static enum dap_dto_status try_it(uint32_t context, bool write)
{
	DAT_RETURN ret;

	r.b.lmr->rmr_context = context;		/* requests of side a use this context */
	ret = write ? rig_write(&r, &r.a, 1, 0, 0, LEN) : rig_read(&r, &r.a, 1, 0, 0, 8);
	cr_assert_eq(ret, DAT_SUCCESS);
	return rig_next(&r, r.a.req).dto.status;
}

static void is_shut(uint32_t context, bool write)
{
	memset(r.a.mem, 0xee, RIG_MEM);
	memset(r.b.mem, 0x11, RIG_MEM);
	cr_assert_eq(try_it(context, write), DAP_DTO_REMOTE_ACCESS);
	cr_assert_eq(fake.broken_count, 1);
	cr_assert_eq(r.b.mem[0], 0x11);
	cr_assert_eq(r.a.mem[0], 0xee);
	rig_endpoints_free(&r);
	rig_endpoints(&r);
}

static void over_and_over(const char *profile, bool unbind)
{
	uint32_t now = 0;

	start(profile);
	for (unsigned int lap = 0; lap < LAPS; lap++) {
		if (unbind && lap)
			bind_to(0);
		now = bind_to(LEN);
		if (lap % 16 == 1 || lap == LAPS - 1)
			is_shut(had[lap - 1], lap & 16);
		if (lap % 16 == 1)
			cr_assert_eq(try_it(now, lap & 16), DAP_DTO_SUCCESS,
				     "a write through the new context failed: %s", fake.said);
	}
	end();
}

/* Profiles that the driver opens: efa0 and efa1 have no RDMA read. */
static void each_profile(void (*act)(const char *profile))
{
	for (const char *const *p = softnic_efa_profiles(); *p; p++)
		if (strncmp(*p, "efa", 3))
			act(*p);
}

static void rebind(const char *profile) { over_and_over(profile, false); }
static void unbind_and_bind(const char *profile) { over_and_over(profile, true); }

Test(efa_keys, rebind__in_each_profile_returns_a_new_context) { each_profile(rebind); }
Test(efa_keys, unbind_and_bind__in_each_profile_returns_a_new_context) { each_profile(unbind_and_bind); }

static const char *announced(void)
{
	const struct dap_caps *caps = &r.ia->caps;

	for (unsigned int i = 0; i < caps->nattr; i++)
		if (!strcmp(caps->attr[i].name, "efa_rmr_bind"))
			return caps->attr[i].value;
	return "nothing";
}

/* Checks that by the number of commands to the device. */
static void is_done_so(const char *profile)
{
	start(profile);
	bind_to(LEN);
	cr_assert(registered, "%s: the bind registered no memory", profile);
	cr_assert_str_eq(announced(), "reregister",
			 "%s: the IA attribute efa_rmr_bind is not \"reregister\"", profile);
	end();
}

Test(efa_keys, attribute__matches_the_commands) { each_profile(is_done_so); }

/* So many windows that several share a place in the table that emulated writes look up. */
static void writes_through_many(const char *profile)
{
	enum { MANY = 600 };
	static struct dap_rmr *windows[MANY];
	static uint32_t contexts[MANY];

	start(profile);
	for (unsigned int i = 0; i < MANY; i++) {
		windows[i] = rig_rmr(&r, &r.b);
		cr_assert_eq(rig_bind(windows[i], &r.b, LEN, &contexts[i]), 0, "bind %u: %s", i, fake.said);
		cr_assert_eq(rig_next(&r, r.b.req).number, DAP_EV_RMR_BIND);
	}
	for (unsigned int i = 0; i < MANY; i++)
		cr_assert_eq(try_it(contexts[i], true), DAP_DTO_SUCCESS, "%s, window %u: %s", profile, i,
			     fake.said);
	for (unsigned int i = 0; i < MANY; i++) {
		efa_hw.rmr_destroy(windows[i]);
		free(windows[i]);
	}
	end();
}

Test(efa_keys, write__through_each_of_many_windows_lands) { each_profile(writes_through_many); }
