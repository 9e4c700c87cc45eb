/* SPDX-License-Identifier: BSD-2-Clause */
/* Contexts that end while a peer writes through them by messages, which software executes: after the call
 * no byte is written. */
#include <criterion/criterion.h>
#include <string.h>

#include "hw_efa/hot/poll.inl"
#include "tests/efa/rig.h"

enum { LEN = 60000, OLD = 0x11, NEW = 0xee };

static struct rig r;
static struct dap_rmr *rmr;

/* The window has four packets. LEN bytes are seven packets, so the rest waits for credit. */
static void setup(void)
{
	rig_open_pair(&r, "seed=7 efa_profile=read efa_window=4");
	rmr = rig_rmr(&r, &r.b);
}

TestSuite(efa_revoke, .init = setup, .timeout = 60);

/* Binds the window to len bytes, which ends the previous bind. */
static void bind_to(uint32_t len)
{
	uint32_t context;

	cr_assert_eq(rig_bind(rmr, &r.b, len, &context), 0);
	if (len)
		r.b.lmr->rmr_context = context;	/* requests of side a use this context */
}

static void opened(void)
{
	bind_to(LEN);
	cr_assert_eq(rig_next(&r, r.b.req).number, DAP_EV_RMR_BIND);
}

static void unbind(void)
{
	bind_to(0);
}

static void rebind(void)
{
	bind_to(LEN);
}

static void give_back(void)
{
	efa_hw.rmr_destroy(rmr);
}

static void a_step(void)
{
	struct efa_engine *eng = efa_ia(r.ia)->eng;

	softnic_efa_pump(r.nic);
	efa_enter(eng);
	efa_poll_one(eng, &(struct efa_poller){ 0 });
	efa_leave(eng);
}

/* Replaces core's handling of a broken connection. */
static void is_refused(const char *what)
{
	struct dap_event ev;

	for (int i = 0; i < 20000 && !fake.broken; i++)
		efa_tick(efa_ia(r.ia)->eng);
	cr_assert_eq(fake.broken, r.a.ep);
	cr_assert_not_null(strstr(efa_hw.qp_why(r.a.ep), what),
			   "the endpoint broke for another reason: %s", fake.said);
	efa_hw.qp_error(r.a.ep);
	ev = rig_next(&r, r.a.req);
	cr_assert_eq(ev.dto.status, DAP_DTO_REMOTE_ACCESS,
		     "the write completed with the wrong status %u", ev.dto.status);
}

/* The first packets have arrived and are written. Later packets are refused. */
static void write_ends_with(void (*end)(void))
{
	memset(r.a.mem, NEW, RIG_MEM);
	opened();
	cr_assert_eq(rig_write(&r, &r.a, 1, 0, 0, LEN), DAT_SUCCESS);
	for (int i = 0; i < 1000 && r.b.mem[0] != NEW; i++)
		a_step();
	cr_assert(r.b.mem[0] == NEW && r.b.mem[LEN - 1] != NEW);
	end();
	memset(r.b.mem, OLD, RIG_MEM);
	is_refused("refuses an RDMA write");
	cr_assert_null(memchr(r.b.mem, NEW, LEN), "bytes were written after the context had ended");
}

Test(efa_revoke, write__during_an_unbind_fails_and_changes_no_byte_later) { write_ends_with(unbind); }
Test(efa_revoke, write__during_a_rebind_fails_and_changes_no_byte_later) { write_ends_with(rebind); }
Test(efa_revoke, write__during_an_rmr_free_fails_and_changes_no_byte_later) { write_ends_with(give_back); }
