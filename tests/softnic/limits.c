/* SPDX-License-Identifier: BSD-2-Clause */
/* Each number of objects that the capabilities report as the maximum is enforced. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/harness/harness.h"
#include "tests/softnic/drv.h"

enum { LOG_MAX = 5, LIM_ERR = 0x08, ALLOC_XRCD = 0x80e, DEALLOC_XRCD = 0x80f,
       CREATE_XRC_SRQ = 0x705, DESTROY_XRC_SRQ = 0x706 };

static struct drv *d;
static struct drv_cq queue;
static struct drv_qp first_qp;
static struct drv_srq first_rmp;

/* The following functions leave a valid command in d->in, and return its length. */

static size_t pd(void)
{
	drv_begin(d, CMD_ALLOC_PD);
	return 16;
}

static size_t xrcd(void)
{
	drv_begin(d, ALLOC_XRCD);
	return 16;
}

static size_t umem(void)
{
	static uint8_t page[4096] __attribute__((aligned(4096)));

	drv_umem(d, page, sizeof(page));
	return AT_CTX + UMEM_MTT + 8;
}

static size_t mkey(void)
{
	drv_window(d, 1);
	return AT_PAS;
}

static size_t cq(void)
{
	drv_cq(d, &queue, 4, false);
	return AT_PAS;
}

static size_t qp(void)
{
	cq();
	drv_qp(d, &first_qp, &queue, &queue);
	return AT_PAS;
}

static size_t rmp(void)
{
	drv_srq(d, &first_rmp);
	return AT_PAS;
}

/* PRM "XRC SRQ context": xrcd at bit 0x28, cqn 0x48, pd 0xc8 */
static size_t xrc_srq(void)
{
	uint32_t domain;

	cq();
	cr_assert_eq(drv_simple(d, ALLOC_XRCD, 0), 0);
	domain = sn_get(d->out, CMD_NUMBER);
	drv_begin(d, CREATE_XRC_SRQ);
	sn_set(d->in + AT_CTX, SN_FLD(0x28, 24), domain);
	sn_set(d->in + AT_CTX, SN_FLD(0x48, 24), queue.cqn);
	sn_set(d->in + AT_CTX, SN_FLD(0xc8, 24), d->pd);
	return AT_PAS;
}

/* PRM "HCA capabilities": log_max_* */
static const struct kind {
	const char *name;
	struct sn_fld log_max;
	size_t (*begin)(void);
	uint16_t destroy;
	unsigned int has;	/* objects of this kind that exist after begin() */
} kinds[] = {
	{ "pd", SN_FLD(0x32b, 5), pd, CMD_DEALLOC_PD, 1 },
	{ "umem", SN_FLD(0x46b, 5), umem, CMD_DESTROY_UMEM, 1 },
	{ "mkey", SN_FLD(0xea, 6), mkey, CMD_DESTROY_MKEY, 2 },	/* the reserved lkey counts too */
	{ "cq", SN_FLD(0xdb, 5), cq, CMD_DESTROY_CQ, 1 },
	{ "qp", SN_FLD(0x9b, 5), qp, CMD_DESTROY_QP, 1 },
	{ "rmp", SN_FLD(0x383, 5), rmp, CMD_DESTROY_RMP, 1 },
	{ "xrcd", SN_FLD(0x33b, 5), xrcd, DEALLOC_XRCD, 0 },
	{ "xrc_srq", SN_FLD(0xab, 5), xrc_srq, DESTROY_XRC_SRQ, 0 },
};

static unsigned int reported_log(struct sn_fld field)
{
	drv_begin(d, CMD_QUERY_HCA_CAP);
	cr_assert_eq(drv_run(d, 16), 0);
	return sn_get(d->out + AT_CTX, field);
}

static void destroy(const struct kind *kind, uint32_t number)
{
	uint8_t command[AT_PAS + 8];

	memcpy(command, d->in, sizeof(command));
	cr_expect_eq(drv_simple(d, kind->destroy, number), 0, "%s: the object cannot be destroyed",
		     kind->name);
	memcpy(d->in, command, sizeof(command));
}

static void fill_table(const struct kind *kind)
{
	unsigned int log = reported_log(kind->log_max), n;
	size_t len = kind->begin();
	uint32_t last = 0;

	cr_assert_eq(log, LOG_MAX, "%s: the reported limit, 1 << %u objects, is wrong", kind->name,
		     log);
	for (n = kind->has; drv_run(d, len) == 0 && n <= 1u << log; n++)
		last = sn_get(d->out, CMD_NUMBER);
	cr_expect_eq(n, 1u << log, "%s: %u objects could be created, not as many as reported",
		     kind->name, n);
	cr_expect_eq(d->out[0], LIM_ERR, "%s: one object too many failed with the wrong status %#x",
		     kind->name, d->out[0]);
	destroy(kind, last);
	cr_expect_eq(drv_run(d, len), 0, "%s: no object can be created after one was destroyed",
		     kind->name);
	cr_expect_eq(drv_run(d, len), LIM_ERR, "%s: an object was created in a full table",
		     kind->name);
}

/* The device frees the objects. This frees the memory of their queues. */
static void close_all(void)
{
	softnic_close(d->nic);
	free(d->eq.ring);
	free(queue.ring);
	free(first_qp.mem);
	free(first_rmp.mem);
	free(d);
	queue = (struct drv_cq){ 0 };
	first_qp = (struct drv_qp){ 0 };
	first_rmp = (struct drv_srq){ 0 };
}

/* The size of an XRC SRQ has four bits (log_xrc_srq_size), so no size can exceed the reported
 * maximum. */
Test(limits, create_xrc_srq__accepts_the_reported_maximum_of_wqes, .timeout = 60)
{
	size_t len;

	d = drv_open_limited(0);
	cr_assert_eq(reported_log(SN_FLD(0x80, 8)), 15, "the reported log_max_srq_sz is not 15");
	len = xrc_srq();
	sn_set(d->in + AT_CTX, SN_FLD(0x04, 4), 15);
	cr_expect_eq(drv_run(d, len), 0);
	close_all();
}

/* A ConnectX-4 reports these sizes: Snabb publishes a trace of its commands. */
Test(limits, wqe_size__is_that_of_a_connectx, .timeout = 60)
{
	size_t len;

	d = drv_open_limited(0);
	cr_expect_eq(reported_log(SN_FLD(0x290, 16)), 1024, "max_wqe_sz_sq is not 1024");
	cr_expect_eq(reported_log(SN_FLD(0x2b0, 16)), 512, "max_wqe_sz_rq is not 512");
	cr_expect_eq(reported_log(SN_FLD(0x3a3, 5)), 9, "log_max_stride_sz_rq is not 9");
	len = qp();
	sn_set(d->in + AT_QPC, QPC_LOG_RQ_SIZE, 0);
	sn_set(d->in + AT_QPC, QPC_LOG_RQ_STRIDE, 10 - 4);
	cr_expect_eq(drv_run(d, len), 0x03, "a QP with receives of 1024 bytes is not refused");
	sn_set(d->in + AT_QPC, QPC_LOG_RQ_STRIDE, 9 - 4);
	cr_expect_eq(drv_run(d, len), 0);
	len = rmp();
	sn_set(d->in + AT_WQ, WQ_LOG_SIZE, 0);
	sn_set(d->in + AT_WQ, WQ_LOG_STRIDE, 10);
	cr_expect_eq(drv_run(d, len), 0x03, "an RMP with receives of 1024 bytes is not refused");
	sn_set(d->in + AT_WQ, WQ_LOG_STRIDE, 9);
	cr_expect_eq(drv_run(d, len), 0);
	close_all();
}

Test(limits, create__is_refused_beyond_the_reported_maximum, .timeout = 60)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		d = drv_open_limited(LOG_MAX);
		fill_table(&kinds[i]);
		close_all();
	}
}

/*
 * A program announces the longest lists, and fills none. Linux merges maps that are neighbours, so each
 * second key is destroyed.
 */
Test(limits, create_mkey__with_room_for_a_list_takes_no_map, .timeout = 60)
{
	enum { KEYS = 1000, SLOTS = 1 << 16 };
	struct th_usage before, after;
	static uint32_t keys[KEYS];

	d = drv_open(0);
	th_usage(&before);
	for (unsigned int i = 0; i < KEYS; i++)
		keys[i] = drv_window(d, SLOTS);
	for (unsigned int i = 0; i < KEYS; i += 2)
		cr_assert_eq(drv_simple(d, CMD_DESTROY_MKEY, keys[i] >> 8), 0);
	th_usage(&after);
	cr_expect_leq(after.maps, before.maps + 20, "%u maps, before %u", after.maps, before.maps);
	close_all();
}
