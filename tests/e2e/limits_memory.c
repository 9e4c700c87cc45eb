/* SPDX-License-Identifier: BSD-2-Clause */
/* Shortages of memory, descriptors and locked memory, and failing commands of the device. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/e2e/ends.h"
#include "tests/e2e/life.h"

static void setup(void)
{
}

TestSuite(limits_memory, .timeout = 120);

static void warm_up(struct th_usage *usage)
{
	struct life l;

	rig_conf("strict=1");
	setenv("DAPL_DBG_TYPE", "0", 1);
	check(life_run(&l, SOON_MS));
	check(life_run(&l, SOON_MS));
	th_usage(usage);
}

static void explain(unsigned long n, const struct life *l)
{
	if (!life_ended_well(l))
		cr_assert_fail("allocation %lu failed, and then: %s", n, life_words(l));
}

/* Makes the n-th allocation fail, and returns the number of allocations. If the time was over before that
 * one, tries again with more time. */
static unsigned long run_failing(struct life *l, unsigned int kind, unsigned long n)
{
	unsigned long seen = 0;
	bool done = false;

	for (int i = 0; i < 2 && !done && seen < n; i++) {
		th_fail_start(kind, n);
		done = life_run(l, i ? SOON_MS : 200);
		seen = th_fail_stop();
	}
	return seen;
}

static void each_allocation(unsigned int kind, unsigned long at_least)
{
	struct th_usage before;
	unsigned long n = 0, seen;
	struct life l;

	warm_up(&before);
	do {
		seen = run_failing(&l, kind, ++n);
		explain(n, &l);
	} while (seen >= n && n < 3000);
	check(seen < n);
	check(!l.step);
	check(n > at_least);
	usage_is_back(&before, 8);
	check(life_run(&l, SOON_MS));
}

RIG_TEST(limits_memory, heap__each_failed_allocation_of_a_life_leaks_nothing)
{
	each_allocation(TH_FAIL_HEAP, 30);
}

RIG_TEST(limits_memory, mmap__each_failed_mapping_of_a_life_leaks_nothing)
{
	each_allocation(TH_FAIL_MMAP, 1);
}

RIG_TEST(limits_memory, descriptors__running_out_at_any_point_leaks_nothing)
{
	struct th_usage before;
	struct life l;
	bool well;

	warm_up(&before);
	for (unsigned int room = 0; room < 60; room++) {
		same(th_fds_limit(room), 0);
		well = life_run(&l, 200);
		th_fds_restore();
		explain(room, &l);
		if (well)
			break;
	}
	check(well);
	usage_is_back(&before, 8);
	check(life_run(&l, SOON_MS));
}

/* ---- Locked memory ---- */

enum { PLENTY = 4u << 20 };

static void memlock(size_t bytes)
{
	same(th_memlock(bytes), 0);
}

/* Skips the test if the limit cannot be raised. A container's limit may be 64 KB. */
static void memlock_is_ours(void)
{
	int err = th_memlock(PLENTY);

	if (err == -EPERM)
		cr_skip_test(TH_NO_MEMLOCK);
	same(err, 0);
}

static DAT_RETURN lmr_of(size_t len, DAT_LMR_HANDLE *lmr)
{
	static char memory[2u << 20];
	DAT_REGION_DESCRIPTION region = { .for_va = memory };

	return dat_lmr_create(a.ia, DAT_MEM_TYPE_VIRTUAL, region, len, a.pz, DAT_MEM_PRIV_ALL_FLAG,
			      lmr, NULL, NULL, NULL, NULL);
}

RIG_TEST(limits_memory, memlock__is_kept_and_given_back)
{
	DAT_LMR_HANDLE lmr, none = NULL;
	DAT_EVD_HANDLE evd = NULL;
	DAT_EP_ATTR attr = rig_attr();
	DAT_EP_HANDLE ep = NULL;

	memlock_is_ours();
	rig_conf("strict=1;memlock=strict");
	pair_open(&a, &b);
	must(lmr_of(2u << 20, &none));
	must(dat_lmr_free(none));
	for (int i = 0; i < 10; i++) {
		must(lmr_of(1u << 20, &lmr));
		memlock(1u << 20);
		none = NULL;
		must_code(lmr_of(1u << 20, &none), DAT_INSUFFICIENT_RESOURCES,
			  DAT_RESOURCE_MEMORY_REGION);
		same(none, 0);
		attr.max_recv_dtos = 2000;
		must_fail(dat_ep_create(a.ia, a.pz, a.recv_evd, a.req_evd, a.conn_evd, &attr, &ep),
			  DAT_INSUFFICIENT_RESOURCES);
		must_fail(dat_evd_create(a.ia, 2000, NULL, DAT_EVD_DTO_FLAG, &evd),
			  DAT_INSUFFICIENT_RESOURCES);
		memlock(PLENTY);
		must(dat_lmr_free(lmr));
	}
	/* The objects that were created before the failures still work. */
	must(do_write(&a, 1, 0, far(&b, 0, 4096), 0));
	took(a.req_evd, 1, DAT_DTO_SUCCESS);
}

RIG_TEST(limits_memory, memlock__of_nothing_refuses_each_evd)
{
	DAT_EVD_HANDLE async = NULL, evd = NULL;
	DAT_IA_HANDLE ia = NULL;

	memlock_is_ours();
	rig_conf("memlock=strict");
	memlock(0);
	must(rig_ia_open(&async, &ia));
	must_fail(dat_evd_create(ia, 16, NULL, DAT_EVD_DTO_FLAG, &evd), DAT_INSUFFICIENT_RESOURCES);
	check(!evd);
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	memlock(PLENTY);
	end_open(&a, RIG_MEM, NULL);
}

/* ---- Commands of the device ---- */

struct command {
	const char *name, *word;	/* name of the command, and the word of the fault script */
};

static const struct command of_connectx[] = {
	{ "ALLOC_PD", "0x800" },	{ "ALLOC_UAR", "0x802" },	{ "CREATE_UMEM", "0xa08" },
	{ "CREATE_MKEY", "0x200" },	{ "CREATE_EQ", "0x301" },	{ "CREATE_CQ", "0x400" },
	{ "MODIFY_CQ", "0x403" },	{ "CREATE_QP", "0x500" },	{ "RST2INIT_QP", "0x502" },
	{ "INIT2RTR_QP", "0x503" },	{ "RTR2RTS_QP", "0x504" },	{ "CREATE_RMP", "0x90c" },
	{ "MODIFY_RMP", "0x90d" },	{ "QUERY_RMP", "0x90f" },	{ "QUERY_HCA_CAP", "0x100" },
	{ "QUERY_VPORT_STATE", "0x750" }, { "QUERY_NIC_VPORT_CONTEXT", "0x754" },
	{ "QUERY_ROCE_ADDRESS", "0x760" }, { NULL, NULL },
};

static const struct command of_efa[] = {
	{ "a protection domain", "pd" }, { "a registration", "mr" }, { "an address handle", "ah" },
	{ "a CQ", "cq" }, { "a QP", "qp" }, { "a QP's state", "modify" }, { NULL, NULL },
};

struct trial {
	const struct command *c;
	unsigned int nth;
};

enum { WENT_WELL = 0, FAILED_WELL = 10 };

/* Each IA counts its own commands, so both fail at the same one. */
static int live_with_a_failure(int sock, void *arg)
{
	const struct trial *t = arg;
	struct th_usage before;
	struct life l;
	/* Uses the smallest CQ, because hw_efa tries smaller ones if a larger one fails. */
	const char *cq = rig_model() ? "" : " efa_cq=1024";
	char conf[64];
	bool well;

	(void)sock;
	snprintf(conf, sizeof(conf), "fault=cmd_fail=%s:%u%s", t->c->word, t->nth, cq);
	rig_conf(conf);
	setenv("DAPL_DBG_TYPE", "0", 1);
	life_run(&l, 200);
	th_usage(&before);
	well = life_run(&l, 200);
	usage_is_back(&before, 4);
	if (well)
		return WENT_WELL;
	if (life_ended_well(&l))
		return FAILED_WELL;
	fprintf(stderr, "%s, failed command %u of this kind: %s\n", t->c->name, t->nth,
		life_words(&l));
	return 1;
}

static void each_fails(const struct command *c)
{
	struct trial t = { c, 0 };
	struct th_child child;
	int status;

	do {
		t.nth++;
		peer_spawn(&child, live_with_a_failure, &t);
		status = th_join(&child, SOON_MS);
		cr_assert(status == WENT_WELL || status == FAILED_WELL,
			  "%s: after failed command %u the child exited with status %d", c->name,
			  t.nth, status);
	} while (status == FAILED_WELL && t.nth < 100);
	cr_assert_eq(status, WENT_WELL, "%s: the run failed although no command failed", c->name);
	cr_assert(t.nth > 1, "%s: the driver never issued this command", c->name);
}

RIG_TEST(limits_memory, command__each_failed_one_of_a_life_is_reported)
{
	rig_conf("fault=cmd_fail=0:1");		/* a device may lack this command */
	for (const struct command *c = rig_model() ? of_connectx : of_efa; c->name; c++)
		each_fails(c);
}

/* A QP that the adapter does not stop would still serve the peer. */
RIG_TEST(limits_memory, command__that_does_not_stop_a_qp_ends_the_ia)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	rig_conf("fault=cmd_fail=0x507:1");	/* 2ERR_QP; a device may lack this command */
	if (!rig_model())
		cr_skip_test("only the software ConnectX in process has that command");
	pair_open(&a, &b);
	must(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	must(dat_evd_wait(a.async, SOON_MS * 1000u, 1, &ev, &more));
	same(ev.event_number, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	must(dat_evd_wait(b.async, SOON_MS * 1000u, 1, &ev, &more));
	same(ev.event_number, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
}
