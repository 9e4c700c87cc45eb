/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * User contexts of a guest: Linux puts the number of a process's context into its commands. Only the
 * device keeps a process from the memory and objects of another one. It reports each refusal, and
 * continues.
 */
#include "tests/vfio_user/rig.h"

TestSuite(user, .timeout = 60);

/* Pages of the guest's memory: each user has a ring and a record. */
enum { RINGS = RIG_EQ_PAGE + 1, PAGES_OF_USER = 2, RECORD_AT = 4096 };
enum { OWN, OTHER, USERS };

struct users {
	struct rig *r;
	uint32_t uid[USERS], umem[USERS], uar[USERS], eqn;
};

static uint8_t run_as(struct rig *r, uint32_t uid, size_t inlen)
{
	sn_set(r->in, CMD_UID, uid);
	return rig_run(r, inlen, 16);
}

static uint32_t create_uctx(struct rig *r)
{
	rig_begin(r, CMD_CREATE_UCTX, 0);
	cr_assert_eq(rig_run(r, 0x40, 16), 0);
	return sn_get(r->out, UCTX_UID);
}

static uint32_t alloc_uar(struct rig *r, uint32_t uid)
{
	rig_begin(r, CMD_ALLOC_UAR, 0);
	cr_assert_eq(run_as(r, uid, 16), 0);
	return sn_get(r->out, CMD_NUMBER);
}

static uint32_t create_umem(struct rig *r, uint32_t uid, unsigned int page)
{
	uint8_t *ctx = r->in + AT_CTX;

	rig_begin(r, CMD_CREATE_UMEM, 0);
	sn_set64(ctx, UMEM_NUM_MTT, PAGES_OF_USER);
	for (unsigned int i = 0; i < PAGES_OF_USER; i++)
		sn_set64(ctx, UMEM_MTT + 8 * i, rig_page(r, page + i, NULL) | MTT_RD | MTT_WR);
	cr_assert_eq(run_as(r, uid, AT_CTX + UMEM_MTT + 8 * PAGES_OF_USER), 0);
	return sn_get(r->out, CMD_NUMBER);
}

static uint8_t create_cq(const struct users *u, uint32_t uid, uint32_t ring, uint32_t record)
{
	uint8_t *in = u->r->in, *ctx = in + AT_CTX;

	rig_begin(u->r, CMD_CREATE_CQ, 0);
	sn_set(ctx, CQC_LOG_SIZE, 4);
	sn_set(ctx, CQC_UAR, u->uar[OWN]);
	sn_set(ctx, CQC_EQN, u->eqn);
	sn_set(ctx, CQC_DBR_UMEM, 1);
	sn_set32(ctx, CQC_DBR_UMEM_ID, record);
	sn_set64(ctx, CQC_DBR_ADDR, RECORD_AT);
	sn_set(in, CQ_UMEM_VALID, 1);
	sn_set32(in, CQ_UMEM_ID, ring);
	return run_as(u->r, uid, AT_PAS);
}

static struct users make(void)
{
	struct users u = { .r = rig_open_with(&(struct vm_config){ .ports = 1, .verbose = true }) };

	rig_boot(u.r);
	u.eqn = rig_create_eq(u.r, rig_alloc_uar(u.r), 0, 0, 0);
	for (unsigned int i = 0; i < USERS; i++) {
		u.uid[i] = create_uctx(u.r);
		u.uar[i] = alloc_uar(u.r, u.uid[i]);
		u.umem[i] = create_umem(u.r, u.uid[i], RINGS + i * PAGES_OF_USER);
	}
	return u;
}

/* The server reports each kind of violation when its client leaves. */
static void expect_reports(struct rig *r, unsigned int n)
{
	unsigned int before = atomic_load(&rig_lines);

	rig_hang_up(r);
	cr_expect_eq(atomic_load(&rig_lines) - before, n);
}

Test(user, umem__of_another_process_is_refused_and_reported)
{
	struct rig *other = rig_open();
	struct users u = make();

	rig_boot(other);
	cr_expect_eq(create_cq(&u, u.uid[OWN], u.umem[OTHER], u.umem[OWN]), STAT_BAD_RES,
		     "a CQ ring in the umem of another user context was not refused");
	cr_expect_eq(create_cq(&u, u.uid[OWN], u.umem[OWN], u.umem[OTHER]), STAT_BAD_RES,
		     "a CQ record in the umem of another user context was not refused");
	cr_expect_eq(create_cq(&u, u.uid[OWN], 0xabcdef, u.umem[OWN]), STAT_BAD_RES,
		     "an unknown umem was not refused");
	cr_expect_eq(rig_violations(u.r, "cmd.resource"), 3);
	cr_expect_eq(softnic_object_count(u.r->dev->nic, "cq"), 0);
	cr_expect_eq(create_cq(&u, u.uid[OWN], u.umem[OWN], u.umem[OWN]), 0);
	expect_reports(u.r, 1);
	cr_expect(rig_works(other));
	rig_close(u.r);
	rig_close(other);
}

static uint8_t name_pd(struct rig *r, uint16_t opcode, uint32_t uid, uint32_t pdn)
{
	rig_begin(r, opcode, 0);
	sn_set(r->in, CMD_NUMBER, pdn);
	return run_as(r, uid, 16);
}

Test(user, uid__of_another_process_or_of_none_is_refused_and_reported)
{
	struct rig *other = rig_open();
	struct users u = make();
	uint32_t pdn;

	rig_boot(other);
	cr_assert_eq(name_pd(u.r, CMD_ALLOC_PD, u.uid[OWN], 0), 0);
	pdn = sn_get(u.r->out, CMD_NUMBER);
	cr_expect_eq(name_pd(u.r, CMD_DEALLOC_PD, u.uid[OTHER], pdn), STAT_BAD_RES,
		     "a user context freed an object of another one");
	cr_expect_eq(name_pd(u.r, CMD_ALLOC_PD, 0x777, 0), STAT_BAD_PARAM,
		     "an unknown user context was not refused");
	cr_expect_eq(rig_violations(u.r, "cmd.resource"), 1);
	cr_expect_eq(rig_violations(u.r, "cmd.field"), 1);
	cr_expect_eq(name_pd(u.r, CMD_DEALLOC_PD, u.uid[OWN], pdn), 0);
	cr_expect(rig_works(u.r));
	expect_reports(u.r, 2);
	cr_expect(rig_works(other));
	rig_close(u.r);
	rig_close(other);
}
