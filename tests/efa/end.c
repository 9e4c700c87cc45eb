/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of the peer's QP while requests are outstanding, and the end of an endpoint's own QP. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/efa/rig.h"

enum { LEN = 60000 };

static struct rig r;

TestSuite(efa_end, .timeout = 60);

/* ---- A request of several WQEs, of which one finds that the peer's QP is gone ---- */

static void fails_in_part(void)
{
	struct dap_event ev = rig_next(&r, r.a.req);

	cr_assert_eq(ev.dto.cookie, 2);
	cr_assert_eq(ev.dto.status, DAP_DTO_TRANSPORT, "the request completed with status %u",
		     ev.dto.status);
	cr_assert_eq(fake.broken, r.a.ep);
	rig_close_pair(&r);
}

Test(efa_end, send__one_packet_of_which_finds_no_qp_fails)
{
	rig_open_pair(&r, "seed=7");
	cr_assert_eq(rig_recv(&r, &r.b, 1, 0, LEN), DAT_SUCCESS);
	cr_assert_eq(softnic_efa_fault(r.nic, "status=9:1"), 0);
	cr_assert_eq(rig_send(&r, &r.a, 2, 0, 20000), DAT_SUCCESS);
	fails_in_part();
}

static DAT_RETURN read_in_two(uint64_t cookie)
{
	const DAT_RMR_TRIPLET from = { .rmr_context = r.b.lmr->rmr_context, .segment_length = 128,
				       .target_address = (uintptr_t)r.b.mem };
	DAT_LMR_TRIPLET to[2];

	for (uint32_t i = 0; i < 2; i++)
		to[i] = (DAT_LMR_TRIPLET){ .lmr_context = r.a.lmr->lmr_context, .segment_length = 64,
					   .virtual_address = (uintptr_t)r.a.mem + 4096 * i };
	return r.hot->rdma_read(r.a.ep, 2, to, (DAT_DTO_COOKIE){ .as_64 = cookie }, &from, 0);
}

Test(efa_end, read__one_segment_of_which_finds_no_qp_fails)
{
	rig_open_pair(&r, "seed=7");
	cr_assert_eq(read_in_two(1), DAT_SUCCESS);
	cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_SUCCESS);
	cr_assert_eq(softnic_efa_fault(r.nic, "status=9:1"), 0);
	cr_assert_eq(read_in_two(2), DAT_SUCCESS);
	fails_in_part();
}

/* The peer was killed. Each send finds its QP gone, and their completions come in any order. */
static void all_find_no_qp(unsigned int seed)
{
	enum { SENDS = 8 };
	struct dap_event ev;
	char params[32];

	snprintf(params, sizeof(params), "seed=%u", seed);
	rig_open_pair(&r, params);
	cr_assert_eq(softnic_efa_fault(r.nic, "deadqp=0"), 0);
	for (uint32_t i = 0; i < SENDS; i++)
		cr_assert_eq(rig_send(&r, &r.a, i, 0, 8), DAT_SUCCESS);
	for (uint32_t i = 0; i < SENDS; i++) {
		ev = rig_next(&r, r.a.req);
		cr_assert_eq(ev.dto.cookie, i);
		cr_assert_eq(ev.dto.status, i ? DAP_DTO_FLUSHED : DAP_DTO_TRANSPORT,
			     "seed %u: send %u has status %u", seed, i, ev.dto.status);
		if (!i)
			efa_hw.qp_error(r.a.ep);
	}
	cr_assert_eq(fake.broken, r.a.ep);
	rig_close_pair(&r);
}

Test(efa_end, sends__all_of_which_find_no_qp_fail_with_the_first)
{
	for (unsigned int seed = 1; seed <= 20; seed++)
		all_find_no_qp(seed);
}

/* The peer has taken all sends but the last, which arrived after its disconnection. */
static void settles(unsigned int seed)
{
	enum { SENDS = 8 };
	char params[32];

	snprintf(params, sizeof(params), "seed=%u", seed);
	rig_open_pair(&r, params);
	cr_assert_eq(softnic_efa_fault(r.nic, "status=9:8"), 0);
	for (uint32_t i = 0; i < SENDS; i++) {
		cr_assert_eq(rig_recv(&r, &r.b, i, 64 * i, 64), DAT_SUCCESS);
		cr_assert_eq(rig_send(&r, &r.a, i, 0, 8), DAT_SUCCESS);
	}
	efa_hw.qp_settle(r.a.ep);
	efa_hw.qp_error(r.a.ep);
	for (uint32_t i = 0; i < SENDS; i++)
		cr_assert_eq(rig_next(&r, r.a.req).dto.status,
			     i < SENDS - 1 ? DAP_DTO_SUCCESS : DAP_DTO_FLUSHED,
			     "seed %u: send %u has the wrong status", seed, i);
	rig_close_pair(&r);
}

Test(efa_end, settle__completes_sends_before_one_that_finds_no_qp)
{
	for (unsigned int seed = 1; seed <= 20; seed++)
		settles(seed);
}

/* ---- A request that the peer answers after a later one has failed ---- */

static void answered_late(const char *params, DAT_RETURN (*post)(void))
{
	struct dap_event ev;

	rig_open_pair(&r, params);
	cr_assert_eq(rig_recv(&r, &r.b, 1, 0, LEN), DAT_SUCCESS);
	cr_assert_eq(post(), DAT_SUCCESS);
	cr_assert_eq(rig_read(&r, &r.a, 3, RIG_MEM, 0, 8), DAT_SUCCESS);
	cr_assert_eq(fake.broken, r.a.ep);
	efa_hw.qp_settle(r.a.ep);
	efa_hw.qp_error(r.a.ep);
	ev = rig_next(&r, r.a.req);
	cr_assert_eq(ev.dto.cookie, 2);
	cr_assert_eq(ev.dto.status, DAP_DTO_SUCCESS, "%s: the earlier request has status %u", params,
		     ev.dto.status);
	cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_LOCAL_PROTECTION);
	rig_close_pair(&r);
}

static DAT_RETURN a_long_send(void) { return rig_send(&r, &r.a, 2, 0, LEN); }
static DAT_RETURN a_write(void) { return rig_write(&r, &r.a, 2, 0, 0, 8); }

Test(efa_end, send__that_the_peer_reads_succeeds_before_a_failed_request)
{
	answered_late("seed=7", a_long_send);
}

Test(efa_end, write__emulated_succeeds_before_a_failed_request)
{
	answered_late("seed=7 efa_profile=read", a_write);
}

/* ---- A receive that is posted while the device destroys the QP ---- */

static struct efa_ctl_ops ops;
static int (*really_destroy)(struct efa_ctl *ctl, struct efa_qp_res *qp);

/* libefa unmaps the queues first. During its command to the kernel, another thread posts a receive. */
static int destroy_beside_a_post(struct efa_ctl *ctl, struct efa_qp_res *qp)
{
	struct efa_ep *e = efa_ep(r.b.ep);
	void *unmapped = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(unmapped, MAP_FAILED);
	e->rx.ring = unmapped;
	e->sq.ring = e->sq.next = unmapped;
	cr_assert_eq(rig_recv(&r, &r.b, 3, 0, 64), DAT_SUCCESS);
	return really_destroy(ctl, qp);
}

static void a_message_without_receive(void)
{
	const struct efa_rx *rx = &efa_ep(r.b.ep)->rx;

	cr_assert_eq(rig_send(&r, &r.a, 1, 0, 8), DAT_SUCCESS);
	for (int i = 0; i < 1000 && !rx->stalled; i++) {
		softnic_efa_pump(r.nic);
		efa_tick(efa_ia(r.ia)->eng);
	}
	cr_assert(rx->stalled);
}

Test(efa_end, post_recv__while_the_qp_is_destroyed_is_flushed)
{
	struct dap_event ev;

	rig_open_pair(&r, "seed=7 variant=silicon");
	a_message_without_receive();
	cr_assert_eq(softnic_efa_fault(r.nic, "flush=0"), 0);
	cr_assert_eq(rig_read(&r, &r.b, 2, 0, 0, LEN), DAT_SUCCESS);
	ops = *efa_ia(r.ia)->ctl->ops;
	really_destroy = ops.qp_destroy;
	ops.qp_destroy = destroy_beside_a_post;
	efa_ia(r.ia)->ctl->ops = &ops;
	efa_hw.qp_error(r.b.ep);
	ops.qp_destroy = really_destroy;
	ev = rig_next(&r, r.b.recv);
	cr_assert_eq(ev.dto.cookie, 3);
	cr_assert_eq(ev.dto.status, DAP_DTO_FLUSHED);
	cr_assert_eq(rig_next(&r, r.b.req).dto.status, DAP_DTO_FLUSHED);
	rig_close_pair(&r);
}

/* ---- A tick while the device destroys the QP, whose queues are unmapped ---- */

Test(efa_end, tick__while_the_qp_is_destroyed_posts_no_refused_rdma)
{
	struct efa_engine *eng;
	uint32_t pi;

	rig_open_pair(&r, "seed=7");
	eng = efa_ia(r.ia)->eng;
	cr_assert_eq(softnic_efa_fault(r.nic, "unknown=1"), 0);
	cr_assert_eq(rig_read(&r, &r.a, 1, 0, 0, 8), DAT_SUCCESS);
	while (softnic_efa_pump(r.nic))
		;
	efa_drain(eng);
	cr_assert_eq(efa_ep(r.a.ep)->cold->rdma, EFA_RDMA_REFUSED);
	pi = efa_ep(r.a.ep)->sq.pi;
	efa_qp_end(r.a.ep);
	efa_tick(eng);
	cr_assert_eq(efa_ep(r.a.ep)->sq.pi, pi, "the tick posts to the unmapped queue");
	rig_close_pair(&r);
}

/* ---- A QP that the device refuses to destroy, and which therefore goes on ---- */

static int refuses(struct efa_ctl *ctl, struct efa_qp_res *qp)
{
	(void)ctl;
	(void)qp;
	return -EIO;
}

static void refuses_to_destroy(void)
{
	ops = *efa_ia(r.ia)->ctl->ops;
	ops.qp_destroy = refuses;
	efa_ia(r.ia)->ctl->ops = &ops;
}

/* It may still complete its receives, and must not take the entries of other QPs. */
Test(efa_end, qp_destroy__that_the_device_refuses_keeps_the_entries_of_the_cq)
{
	const struct efa_engine *eng;
	uint32_t used;

	rig_open_pair(&r, "seed=7");
	eng = efa_ia(r.ia)->eng;
	used = eng->cq_used;
	refuses_to_destroy();
	cr_assert_eq(efa_hw.qp_destroy(r.a.ep), -EIO);
	cr_assert_eq(eng->cq_used, used, "%u entries of the CQ were freed", used - eng->cq_used);
	cr_assert_not_null(strstr(fake.said, "close the IA"), "the log does not report it: %s", fake.said);
}

/* FLUSHED would promise that the device accesses no memory any more. */
Test(efa_end, qp_error__of_a_qp_that_cannot_be_ended_fails_the_ia)
{
	rig_open_pair(&r, "seed=7 variant=silicon");
	cr_assert_eq(softnic_efa_fault(r.nic, "flush=0"), 0);
	refuses_to_destroy();
	cr_assert_eq(rig_read(&r, &r.a, 1, 0, 0, LEN), DAT_SUCCESS);
	efa_hw.qp_error(r.a.ep);
	cr_assert_not_null(strstr(fake.said, "close the IA"), "the log does not report it: %s", fake.said);
	cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_FLUSHED);
}
