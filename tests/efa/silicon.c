/* SPDX-License-Identifier: BSD-2-Clause */
/* Facts about the devices that AWS has published, and how the driver handles them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "hw_efa/lock.h"
#include "tests/efa/rig.h"
#include "tests/harness/harness.h"

static struct rig r;

TestSuite(efa_silicon, .timeout = 60);

/* ---- Devices that the driver refuses ---- */

Test(efa_silicon, ia_open__device_without_rdma_read_is_refused)
{
	static const char *const each[][2] = {
		{ "efa0", "(PCI id 0xefa0) has no RDMA read" },
		{ "efa1", "(PCI id 0xefa1) has no RDMA read" },
	};

	for (size_t i = 0; i < 2; i++) {
		struct dap_ia *ia = aligned_alloc(64, (sizeof(*ia) + 63) & ~(size_t)63);
		char why[256] = "";

		cr_assert_not_null(ia);
		memset(ia, 0, sizeof(*ia));
		strcpy(ia->name, "soft-efa-0");
		setenv("DAPL_EFA_PROFILE", each[i][0], 1);
		cr_assert_eq(efa_hw.open(ia, "", why, sizeof(why)), -EOPNOTSUPP);
		cr_assert_not_null(strstr(why, each[i][1]),
				   "the error does not name the device: %s", why);
		cr_assert_not_null(strstr(why, "use efa_profile=read or a later one"),
				   "the error does not name the cure: %s", why);
		free(ia);
	}
}

/* ---- Packets without the number of their sender's address handle ---- */

static void messages_without_ah(bool gids)
{
	rig_open_pair(&r, "seed=7");
	/* the CQEs have no GIDs; a GID would name another sender */
	if (!gids) {
		efa_ia(r.ia)->dev.cq_with_sgid = false;
		r.a.ep->remote_path.gid[15] ^= 1;
		r.b.ep->remote_path.gid[15] ^= 1;
	}
	cr_assert_eq(softnic_efa_fault(r.nic, "unnamed=1"), 0);
	for (uint64_t i = 0; i < 200; i++) {
		r.a.mem[0] = (uint8_t)i;
		cr_assert_eq(rig_recv(&r, &r.b, i, 0, 64), DAT_SUCCESS);
		cr_assert_eq(rig_send(&r, &r.a, i, 0, 8), DAT_SUCCESS);
		cr_assert_eq(rig_next(&r, r.b.recv).dto.status, DAP_DTO_SUCCESS,
			     "the receive failed: %s", fake.said);
		cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_SUCCESS,
			     "the send failed: %s", fake.said);
		cr_assert_eq(r.b.mem[0], (uint8_t)i);
		cr_assert_null(fake.broken, "the endpoint broke: %s", fake.said);
	}
	rig_close_pair(&r);
}

Test(efa_silicon, message__of_known_peer_without_ah_number_is_delivered)
{
	messages_without_ah(true);
}

Test(efa_silicon, message__without_ah_number_nor_gid_is_delivered)
{
	messages_without_ah(false);
}

/* A QP of another host has the same number. */
Test(efa_silicon, message__of_unknown_gid_is_dropped)
{
	struct efa_ep *e;
	struct efa_cqe cqe;
	uint32_t next;

	rig_open_pair(&r, "seed=7");
	e = efa_ep(r.a.ep);
	next = e->rx.next;
	cqe = (struct efa_cqe){
		.req_id = cpu_to_le16((uint16_t)e->rx.gen),
		.imm = cpu_to_le32(efa_imm(EFA_K_MSG, false, next, 0)),
		.flags = EFA_CQE_HAS_IMM | EFA_CQE_RQ << EFA_CQE_QUEUE_SHIFT,
		.qp_num = cpu_to_le16(e->qpn), .length = cpu_to_le16(8),
		.ah = cpu_to_le16(EFA_NO_AH), .src_qp = cpu_to_le16(e->remote_qpn),
	};
	memcpy(cqe.sgid, r.a.ep->remote_path.gid, sizeof(cqe.sgid));
	cqe.sgid[15] ^= 1;
	efa_enter(efa_ia(r.ia)->eng);
	efa_rx_packet(r.a.ep, &cqe);
	efa_leave(efa_ia(r.ia)->eng);
	cr_assert_eq(e->rx.next, next);
	cr_assert_null(fake.broken, "the endpoint broke: %s", fake.said);
	cr_assert_not_null(strstr(fake.said, "not from its peer"),
			   "the log does not report the foreign packet: %s", fake.said);
}

/* ---- Requests as AWS's own drivers make them ---- */

static void nothing_violated(void)
{
	struct softnic_violation v[1];

	cr_assert_eq(softnic_efa_violations(r.nic, v, 1), 0, "unexpected violation %s: %s",
		     v[0].name, v[0].detail);
}

Test(efa_silicon, send__of_no_bytes_is_inline)
{
	static const char *const profiles[] = { "seed=7", "seed=7 efa_inline=0", "seed=7 efa_profile=read" };

	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
		struct dap_event ev;

		rig_open_pair(&r, profiles[i]);
		cr_assert_eq(rig_recv(&r, &r.b, 1, 0, 64), DAT_SUCCESS);
		cr_assert_eq(rig_send(&r, &r.a, 2, 0, 0), DAT_SUCCESS);
		ev = rig_next(&r, r.b.recv);
		cr_assert_eq(ev.dto.status, DAP_DTO_SUCCESS, "the receive failed: %s", fake.said);
		cr_assert_eq(ev.dto.length, 0);
		cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_SUCCESS);
		nothing_violated();
		rig_close_pair(&r);
	}
}

/* A key for the peer would make the whole LMR accessible to it, until the LMR is freed. */
Test(efa_silicon, send__long_out_of_lmr_without_remote_read_registers_nothing)
{
	const uint32_t len = 100000;
	struct dap_event ev;
	size_t before;

	rig_open_pair(&r, "seed=7");
	before = softnic_efa_object_count(r.nic, "mr");
	r.a.lmr->priv &= ~(uint32_t)DAP_PRIV_REMOTE_READ;
	memset(r.a.mem, 0x5a, len);
	cr_assert_eq(rig_recv(&r, &r.b, 1, 0, len), DAT_SUCCESS);
	cr_assert_eq(rig_send(&r, &r.a, 2, 0, len), DAT_SUCCESS);
	ev = rig_next(&r, r.b.recv);
	cr_assert_eq(ev.dto.status, DAP_DTO_SUCCESS, "the completion reports an error: %s",
		     fake.said);
	cr_assert_eq(ev.dto.length, len);
	cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_SUCCESS);
	cr_assert_eq(r.b.mem[len - 1], 0x5a);
	cr_assert_eq(softnic_efa_object_count(r.nic, "mr"), before);
	rig_close_pair(&r);
}

/* The peer has no receive for the message, so it does not acknowledge it, however often this side
 * asks. */
Test(efa_silicon, drain__does_not_flood_a_silent_peer)
{
	struct softnic_efa_counters before, after;

	rig_open_pair(&r, "seed=7");
	cr_assert_eq(rig_send(&r, &r.a, 1, 0, 8), DAT_SUCCESS);
	cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_SUCCESS);
	softnic_efa_counters(r.nic, &before);
	for (int i = 0; i < 2000; i++)
		cr_assert(!efa_hw.qp_drain_done(r.a.ep));
	softnic_efa_counters(r.nic, &after);
	cr_assert_leq(after.wqes - before.wqes, 1,
		      "%u WQEs were sent in 2000 polls for the end of the drain; at most 1 is "
		      "allowed",
		      (unsigned int)(after.wqes - before.wqes));
	cr_assert_eq(rig_recv(&r, &r.b, 2, 0, 64), DAT_SUCCESS);
	for (int i = 0; i < 2000 && !efa_hw.qp_drain_done(r.a.ep); i++)
		efa_tick(efa_ia(r.ia)->eng);
	cr_assert(efa_hw.qp_drain_done(r.a.ep));
	cr_assert_eq(rig_next(&r, r.b.recv).dto.status, DAP_DTO_SUCCESS);
	rig_close_pair(&r);
}

/* No document says whether a device reads the counter in the doorbell of a CQ. */
static void laps(const char *params)
{
	rig_open_pair(&r, params);
	cr_assert_eq(softnic_efa_fault(r.nic, "consumer"), 0);
	/* each round has two completions, and a lap of the CQ has 512 */
	for (uint64_t i = 0; i < 1500; i++) {
		cr_assert_eq(rig_recv(&r, &r.b, i, 0, 64), DAT_SUCCESS);
		cr_assert_eq(rig_send(&r, &r.a, i, 0, 8), DAT_SUCCESS);
		cr_assert_eq(rig_next(&r, r.b.recv).dto.status, DAP_DTO_SUCCESS,
			     "the receive failed: %s", fake.said);
		cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_SUCCESS,
			     "the send failed: %s", fake.said);
	}
	nothing_violated();
	rig_close_pair(&r);
}

Test(efa_silicon, cq__without_arms_wraps)
{
	laps("seed=7 efa_cq=512 efa_window=4");
	laps("seed=7 efa_cq=512 efa_window=4 efa_reorder=1");
}

/* ---- The end of a QP ---- */

enum { OLD = 0x11, NEW = 0xee, LEN = 60000 };

/* Only the test drives the device, so the read is still outstanding when the driver gives up. */
Test(efa_silicon, end__by_device_that_never_flushes_ends_its_accesses)
{
	rig_open_pair(&r, "seed=7 variant=silicon");
	memset(r.a.mem, OLD, RIG_MEM);
	memset(r.b.mem, NEW, RIG_MEM);
	cr_assert_eq(softnic_efa_fault(r.nic, "flush=0"), 0);
	cr_assert_eq(rig_read(&r, &r.a, 1, 0, 0, LEN), DAT_SUCCESS);
	efa_hw.qp_error(r.a.ep);
	cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_FLUSHED);
	for (int i = 0; i < 20000; i++)
		softnic_efa_pump(r.nic);
	cr_assert_null(memchr(r.a.mem, NEW, LEN),
		       "the device wrote to memory after it had reported FLUSHED");
	cr_assert_eq(rig_recv(&r, &r.a, 2, 0, 64), DAT_SUCCESS);
	cr_assert_eq(rig_next(&r, r.a.recv).dto.status, DAP_DTO_FLUSHED);
	rig_close_pair(&r);
}

/* The driver polls for the flush before it gives up and destroys the QP. */
Test(efa_silicon, end__by_device_that_flushes_soon_keeps_its_qp)
{
	rig_open_pair(&r, "seed=7");
	cr_assert_eq(softnic_efa_fault(r.nic, "flush=300,drop=1"), 0);
	cr_assert_eq(rig_read(&r, &r.a, 1, 0, 0, LEN), DAT_SUCCESS);
	efa_hw.qp_error(r.a.ep);
	cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_FLUSHED);
	cr_assert_not(efa_ep(r.a.ep)->cold->destroyed, "the QP was destroyed before its flush");
	rig_close_pair(&r);
}

/* Completions that come after the driver has flushed the QP itself are no error. */
static void late_flush(const char *params)
{
	rig_open_pair(&r, params);
	cr_assert_eq(softnic_efa_fault(r.nic, "flush=300,drop=1"), 0);
	for (uint64_t i = 0; i < RIG_DTOS; i++) {
		cr_assert_eq(rig_recv(&r, &r.a, i, 0, 64), DAT_SUCCESS);
		cr_assert_eq(rig_write(&r, &r.a, i, 0, 4096 * (uint32_t)i, 8), DAT_SUCCESS);
	}
	efa_hw.qp_error(r.a.ep);
	for (uint64_t i = 0; i < RIG_DTOS; i++) {
		cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_FLUSHED);
		cr_assert_eq(rig_next(&r, r.a.recv).dto.status, DAP_DTO_FLUSHED);
	}
	while (softnic_efa_pump(r.nic))
		efa_tick(efa_ia(r.ia)->eng);
	cr_assert_str_eq(fake.said, "");
	rig_close_pair(&r);
}

Test(efa_silicon, end__by_device_that_flushes_late_logs_nothing)
{
	late_flush("seed=7");
	late_flush("seed=7 variant=silicon");
}

/* ---- Commands to the kernel ---- */

static const struct efa_ctl_ops *real;
static unsigned int commands;

static void outside(const char *command)
{
	commands++;
	cr_assert(!__atomic_load_n(&efa_ia(r.ia)->eng->lock, __ATOMIC_RELAXED),
		  "the driver issued %s with the engine locked", command);
}

static int spy_mr_reg(struct efa_ctl *ctl, void *pd, uint64_t addr, uint64_t len,
		      unsigned int access, struct efa_mr *mr)
{
	outside(__func__);
	return real->mr_reg(ctl, pd, addr, len, access, mr);
}

static int spy_mr_dereg(struct efa_ctl *ctl, struct efa_mr *mr)
{
	outside(__func__);
	return real->mr_dereg(ctl, mr);
}

static int spy_ah_create(struct efa_ctl *ctl, struct efa_ah *ah)
{
	outside(__func__);
	return real->ah_create(ctl, ah);
}

static void spy_ah_destroy(struct efa_ctl *ctl, struct efa_ah *ah)
{
	outside(__func__);
	real->ah_destroy(ctl, ah);
}

static int spy_qp_create(struct efa_ctl *ctl, const struct efa_qp_param *p, uint32_t qkey,
			 struct efa_qp_res *qp)
{
	outside(__func__);
	return real->qp_create(ctl, p, qkey, qp);
}

static int spy_qp_ready(struct efa_ctl *ctl, struct efa_qp_res *qp)
{
	outside(__func__);
	return real->qp_ready(ctl, qp);
}

static int spy_qp_error(struct efa_ctl *ctl, struct efa_qp_res *qp)
{
	outside(__func__);
	return real->qp_error(ctl, qp);
}

static int spy_qp_destroy(struct efa_ctl *ctl, struct efa_qp_res *qp)
{
	outside(__func__);
	return real->qp_destroy(ctl, qp);
}

static void spy(void)
{
	static struct efa_ctl_ops ops;

	real = efa_ia(r.ia)->ctl->ops;
	ops = *real;
	ops.mr_reg = spy_mr_reg;
	ops.mr_dereg = spy_mr_dereg;
	ops.ah_create = spy_ah_create;
	ops.ah_destroy = spy_ah_destroy;
	ops.qp_create = spy_qp_create;
	ops.qp_ready = spy_qp_ready;
	ops.qp_error = spy_qp_error;
	ops.qp_destroy = spy_qp_destroy;
	efa_ia(r.ia)->ctl->ops = &ops;
}

/* A command can take milliseconds in the kernel. Other endpoints and their pollers do not wait for
 * it. */
Test(efa_silicon, commands__run_outside_the_engine)
{
	struct dap_rmr *rmr;
	uint32_t context;

	rig_open(&r, "seed=7");
	spy();
	rig_endpoints(&r);
	rmr = rig_rmr(&r, &r.b);
	for (uint32_t len = 4096; len <= 8192; len += 4096) {
		cr_assert_eq(rig_bind(rmr, &r.b, len, &context), 0);
		cr_assert_eq(rig_next(&r, r.b.req).bind.status, DAP_DTO_SUCCESS);
	}
	cr_assert_eq(rig_bind(rmr, &r.b, 0, &context), 0);
	cr_assert_eq(rig_next(&r, r.b.req).bind.status, DAP_DTO_SUCCESS);
	cr_assert_eq(rig_bind(rmr, &r.b, 4096, &context), 0);
	efa_hw.rmr_destroy(rmr);
	free(rmr);
	efa_hw.qp_error(r.a.ep);
	rig_close_pair(&r);
	cr_assert_gt(commands, 16);
}

static int other_zone(struct efa_ctl *ctl, struct efa_ah *ah)
{
	(void)ctl;
	(void)ah;
	return -EINVAL;
}

/* A device refuses a GID of another availability zone with this error, because it has no route to it. */
Test(efa_silicon, connect__refused_address_handle_logs_both_gids)
{
	static struct efa_ctl_ops ops;

	rig_open_pair(&r, "seed=7");
	ops = *efa_ia(r.ia)->ctl->ops;
	ops.ah_create = other_zone;
	efa_ia(r.ia)->ctl->ops = &ops;
	r.a.ep->remote_path.gid[15] ^= 1;
	cr_assert_eq(efa_hw.qp_connect(r.a.ep), -EINVAL);
	cr_assert_not_null(strstr(fake.said, "another availability zone?"),
			   "the log does not ask about the availability zone: %s", fake.said);
	cr_assert_not_null(strstr(fake.said, "fe80:"),
			   "the log does not name the peer's address: %s", fake.said);
	cr_assert_eq(fake.said_kind, DAP_LOG_ERR);
}

/* The kernel needs contiguous pages for a CQ, which a host with a long uptime may not have. */
Test(efa_silicon, cq__without_memory_for_it_is_made_smaller)
{
	rig_open_pair(&r, "seed=7 efa_cq=4096 fault=cmd_fail=cq");
	cr_assert_eq(efa_ia(r.ia)->eng->cq_entries, 2048);
	cr_assert_eq(rig_recv(&r, &r.b, 1, 0, 64), DAT_SUCCESS);
	cr_assert_eq(rig_send(&r, &r.a, 2, 0, 8), DAT_SUCCESS);
	cr_assert_eq(rig_next(&r, r.b.recv).dto.status, DAP_DTO_SUCCESS);
	cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_SUCCESS);
	rig_close_pair(&r);
}

/* A peer that disconnects frees its QP and its address handle in any order. Its last message arrives
 * later. */
Test(efa_silicon, status__of_a_disconnecting_peer_waits_for_its_message)
{
	static const unsigned int statuses[] = { 8, 9, 13, 14 };

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		char script[32];

		rig_open_pair(&r, "seed=7");
		snprintf(script, sizeof(script), "status=%u:1", statuses[i]);
		cr_assert_eq(softnic_efa_fault(r.nic, script), 0);
		cr_assert_eq(rig_recv(&r, &r.b, 1, 0, 64), DAT_SUCCESS);
		cr_assert_eq(rig_send(&r, &r.a, 2, 0, 8), DAT_SUCCESS);
		for (int look = 0; look < 50; look++)
			efa_tick(efa_ia(r.ia)->eng);
		cr_assert_null(fake.broken, "status %u broke the endpoint at once: %s", statuses[i],
			       fake.said);
		cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_TRANSPORT);
		cr_assert_eq(fake.broken, r.a.ep);
		rig_close_pair(&r);
	}
}

/* ---- RDMA that a peer refuses because it does not have the address handle yet ---- */

/* Posts two RDMAs of several packets each, and a message behind a write. */
static void refused_first(const char *params, DAT_RETURN (*rdma)(void))
{
	struct dap_event ev;

	rig_open_pair(&r, params);
	memset(r.a.mem, OLD, LEN);
	memset(r.b.mem, NEW, LEN);
	cr_assert_eq(softnic_efa_fault(r.nic, "unknown=5"), 0);
	cr_assert_eq(rig_recv(&r, &r.b, 7, LEN, LEN), DAT_SUCCESS);
	cr_assert_eq(rdma(), DAT_SUCCESS);
	cr_assert_eq(rdma(), DAT_SUCCESS);
	cr_assert_eq(rig_send(&r, &r.a, 3, 0, 8), DAT_SUCCESS);
	for (uint64_t i = 0; i < 2; i++) {
		ev = rig_next(&r, r.a.req);
		cr_assert_eq(ev.dto.status, DAP_DTO_SUCCESS,
			     "with \"%s\" the completion reports an error: %s", params, fake.said);
		cr_assert_eq(memcmp(r.a.mem, r.b.mem, LEN), 0);
	}
	cr_assert_eq(rig_next(&r, r.b.recv).dto.status, DAP_DTO_SUCCESS);
	ev = rig_next(&r, r.a.req);
	cr_assert_eq(ev.dto.cookie, 3);
	cr_assert_eq(ev.dto.status, DAP_DTO_SUCCESS);
	cr_assert_null(fake.broken, "the endpoint broke: %s", fake.said);
	for (int i = 0; i < 8; i++) {
		cr_assert_eq(rdma(), DAT_SUCCESS);
		cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_SUCCESS);
	}
	nothing_violated();
	rig_close_pair(&r);
}

static DAT_RETURN a_write(void) { return rig_write(&r, &r.a, 1, 0, 0, LEN); }
static DAT_RETURN a_read(void) { return rig_read(&r, &r.a, 1, 0, 0, LEN); }

static const char *const ways[] = {
	"seed=7", "seed=7 write_order=relaxed", "seed=7 efa_window=4",
};

Test(efa_silicon, write__refused_by_peer_that_does_not_know_us_yet_is_done)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		refused_first(ways[i], a_write);
}

Test(efa_silicon, read__refused_by_peer_that_does_not_know_us_yet_is_done)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		refused_first(ways[i], a_read);
}

/* The receiver fetches a long message by an RDMA read, which is the first RDMA of the connection. */
Test(efa_silicon, send__long_whose_read_is_refused_at_first_arrives)
{
	rig_open_pair(&r, "seed=7");
	memset(r.a.mem, NEW, LEN);
	cr_assert_eq(softnic_efa_fault(r.nic, "unknown=5"), 0);
	cr_assert_eq(rig_recv(&r, &r.b, 1, 0, LEN), DAT_SUCCESS);
	cr_assert_eq(rig_send(&r, &r.a, 2, 0, LEN), DAT_SUCCESS);
	cr_assert_eq(rig_next(&r, r.b.recv).dto.status, DAP_DTO_SUCCESS, "the receive failed: %s",
		     fake.said);
	cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_SUCCESS, "the send failed: %s",
		     fake.said);
	cr_assert_eq(memcmp(r.a.mem, r.b.mem, LEN), 0);
	rig_close_pair(&r);
}

/* A peer has no address handle for us any more. */
Test(efa_silicon, read__refused_always_breaks_the_connection)
{
	rig_open_pair(&r, "seed=7");
	cr_assert_eq(softnic_efa_fault(r.nic, "unknown=4000000000"), 0);
	cr_assert_eq(a_read(), DAT_SUCCESS);
	cr_assert_eq(a_read(), DAT_SUCCESS);
	cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_TRANSPORT);
	cr_assert_eq(fake.broken, r.a.ep);
	efa_hw.qp_error(r.a.ep);
	cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_FLUSHED);
	rig_close_pair(&r);
}

/* ---- The engine's lock ---- */

static unsigned int mutexes;		/* number of mutexes that the poller has locked */

static void count_lock(void *arg)
{
	(void)arg;
	__atomic_add_fetch(&mutexes, 1, __ATOMIC_SEQ_CST);
}

/* inside: the other thread is in the engine; polls: the poller is about to enter */
static bool inside, polls;

/* The other thread stays in the engine, like the library's thread, while the poller arrives. */
static void *stays_a_while(void *arg)
{
	const unsigned int before = __atomic_load_n(&mutexes, __ATOMIC_SEQ_CST);

	efa_enter(arg);
	__atomic_store_n(&inside, true, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&polls, __ATOMIC_SEQ_CST))
		sched_yield();
	for (int i = 0; i < 100 && __atomic_load_n(&mutexes, __ATOMIC_SEQ_CST) == before; i++)
		usleep(100);
	efa_leave(arg);
	return NULL;
}

static void poll_beside_another(struct efa_engine *eng)
{
	pthread_t other;
	DAT_EVENT ev;

	inside = polls = false;
	cr_assert_eq(pthread_create(&other, NULL, stays_a_while, eng), 0);
	while (!__atomic_load_n(&inside, __ATOMIC_SEQ_CST))
		sched_yield();
	__atomic_store_n(&polls, true, __ATOMIC_SEQ_CST);
	cr_assert_neq(r.hot->evd_dequeue(r.a.recv, &ev), DAT_SUCCESS);
	pthread_join(other, NULL);
}

/* On hardware a poll does not drive the model, so every mutex that it locks is the driver's. */
Test(efa_silicon, dequeue__after_ticks_during_polls_takes_no_mutex)
{
	DAT_EVENT ev;

	rig_open_pair(&r, "seed=7 variant=silicon");
	th_at_locks(count_lock, NULL);
	for (int i = 0; i < 8; i++)
		poll_beside_another(efa_ia(r.ia)->eng);
	mutexes = 0;
	for (int i = 0; i < 100; i++)
		cr_assert_neq(r.hot->evd_dequeue(r.a.recv, &ev), DAT_SUCCESS);
	th_at_locks(NULL, NULL);
	cr_assert_eq(mutexes, 0, "%u mutexes were locked in 100 polls", mutexes);
}
