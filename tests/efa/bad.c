/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers and devices that violate the protocol. Each case ends with a status and a message, and none
 * hangs. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "hw_efa/lock.h"
#include "hw_efa/rq.h"
#include "tests/efa/rig.h"

static struct rig r;

static void setup(void)
{
	rig_open_pair(&r, "seed=7 efa_window=4");
}

TestSuite(efa_bad, .init = setup, .timeout = 60);
TestSuite(efa_bad_own, .timeout = 60);	/* tests that open their own kind of adapter */

static void broken_with(struct dap_ep *ep, const char *word)
{
	cr_assert_eq(fake.broken, ep);
	cr_assert_not_null(strstr(fake.said, word), "the endpoint broke for another reason: %s",
			   fake.said);
}

static uint32_t other_id;	/* a request id other than that of the first buffer */

/* Delivers a packet from b to a, as if the peer's adapter had sent it. */
static void come(uint32_t imm, uint16_t src, uint16_t len, unsigned int flags)
{
	struct efa_ep *e = efa_ep(r.a.ep);
	struct efa_cqe cqe = {
		.req_id = cpu_to_le16((uint16_t)(e->rx.gen ^ other_id)), .imm = cpu_to_le32(imm),
		.flags = (uint8_t)(EFA_CQE_HAS_IMM | EFA_CQE_RQ << EFA_CQE_QUEUE_SHIFT | flags),
		.qp_num = cpu_to_le16(e->qpn), .length = cpu_to_le16(len),
		.ah = cpu_to_le16(e->ah), .src_qp = cpu_to_le16(src),
	};

	efa_enter(efa_ia(r.ia)->eng);
	efa_cqe_slow(efa_ia(r.ia)->eng, &cqe);
	efa_leave(efa_ia(r.ia)->eng);
}

static void packet(uint32_t imm, uint16_t src, uint16_t len)
{
	come(imm, src, len, 0);
}

/* Delivers the completion of the next write, which takes a receive buffer. The device has not taken one
 * here, so the counters that the driver has advanced are set back. */
static void written(void)
{
	struct efa_ep *e = efa_ep(r.a.ep);
	const uint32_t pi = e->rx.pi, rung = e->rx.rung;

	come(efa_imm(EFA_K_WRITE, false, e->rx.next, e->tx.seq), e->remote_qpn, 8,
	     EFA_OP_RDMA_WRITE << EFA_CQE_OP_SHIFT);
	e->rx.pi = pi;
	e->rx.rung = rung;
}

Test(efa_bad, sequence__outside_the_window_breaks_the_connection)
{
	struct efa_ep *e = efa_ep(r.a.ep);

	packet(efa_imm(EFA_K_MSG, false, e->rx.next + 4, 0), e->remote_qpn, 8);
	broken_with(r.a.ep, "are awaited");
}

Test(efa_bad, sequence__used_twice_breaks_the_connection)
{
	struct efa_ep *e = efa_ep(r.a.ep);

	packet(efa_imm(EFA_K_MSG, false, e->rx.next + 1, 0), e->remote_qpn, 8);
	cr_assert_null(fake.broken);
	packet(efa_imm(EFA_K_MSG, false, e->rx.next + 1, 0), e->remote_qpn, 8);
	broken_with(r.a.ep, "a second time");
}

/*
 * The peer only receives. So it sends its acks in control messages, and repeats them while its last
 * message stays the same. Without a receive posted there, this side may send only packets for which the
 * peer has room.
 */
Test(efa_bad, credit__of_a_peer_that_only_receives_comes_back)
{
	/* with this number of messages, credit runs out at each position between two acks */
	const unsigned int n = 7;
	struct dap_event ev;

	for (unsigned int round = 0; round < 7 * (EFA_ACK_MASK + 1) / n; round++) {
		for (unsigned int i = 0; i < n; i++)
			cr_assert_eq(rig_send(&r, &r.a, i, 0, 8), DAT_SUCCESS);
		while (softnic_efa_pump(r.nic))
			efa_tick(efa_ia(r.ia)->eng);
		cr_assert_null(fake.broken, "round %u: the endpoint broke: %s", round, fake.said);
		for (unsigned int i = 0; i < n; i++)
			cr_assert_eq(rig_recv(&r, &r.b, i, 0, 8), DAT_SUCCESS);
		for (unsigned int i = 0; i < n; i++) {
			ev = rig_next(&r, r.b.recv);
			cr_assert_eq(ev.dto.status, DAP_DTO_SUCCESS,
				     "round %u: a receive failed: %s", round, fake.said);
			cr_assert_eq(rig_next(&r, r.a.req).dto.status, DAP_DTO_SUCCESS);
		}
	}
}

/* Writes a packet from b into a's CQ, like its device: a message of 8 bytes with seq and ack. */
static void on_the_cq(unsigned int at, uint32_t seq, uint32_t ack)
{
	struct efa_cqring *ring = &efa_ia(r.ia)->eng->cq;
	struct efa_ep *e = efa_ep(r.a.ep);

	((struct efa_cqe *)(uintptr_t)ring->base)[(ring->ci + at) & ring->mask] = (struct efa_cqe){
		.req_id = cpu_to_le16((uint16_t)(e->rx.gen + at)),
		.imm = cpu_to_le32(efa_imm(EFA_K_MSG, false, e->rx.next + seq,
					   e->tx.acked + ack)),
		.flags = (uint8_t)(EFA_CQE_HAS_IMM | EFA_CQE_RQ << EFA_CQE_QUEUE_SHIFT |
				   !(ring->ci >> ring->log & 1)),
		.qp_num = cpu_to_le16(e->qpn), .length = cpu_to_le16(8),
		.ah = cpu_to_le16(e->ah), .src_qp = cpu_to_le16(e->remote_qpn),
	};
}

/* Makes an endpoint whose peer has to acknowledge this number of packets. */
static struct efa_ep *to_be_acknowledged(uint32_t n)
{
	rig_open_pair(&r, "seed=7");
	efa_ep(r.a.ep)->tx.seq += n;
	return efa_ep(r.a.ep);
}

/* The packet that arrives first was sent last. Its acknowledgement also counts for the packets
 * behind it. */
Test(efa_bad_own, ack__in_an_early_packet_gives_credit_once)
{
	struct efa_ep *e = to_be_acknowledged(40);
	const uint32_t limit = e->tx.limit;
	DAT_EVENT ev;

	for (uint32_t i = 0; i < 4; i++)
		cr_assert_eq(rig_recv(&r, &r.a, i, 64 * i, 64), DAT_SUCCESS);
	on_the_cq(0, 2, 20);
	on_the_cq(1, 3, 30);
	on_the_cq(2, 1, 10);
	on_the_cq(3, 0, 5);
	cr_assert_eq(r.hot->evd_dequeue(r.a.recv, &ev), DAT_SUCCESS);
	cr_assert_eq(e->tx.limit - limit, 30, "the sender has credit for %u packets instead of 30",
		     e->tx.limit - limit);
}

/* A credit arrives after the message, although it was sent before it. */
Test(efa_bad_own, ack__in_a_late_packet_takes_no_credit_back)
{
	struct efa_ep *e = to_be_acknowledged(40);
	const uint32_t limit = e->tx.limit, acked = e->tx.acked;
	struct efa_cqring *ring;
	DAT_EVENT ev;

	cr_assert_eq(rig_recv(&r, &r.a, 1, 0, 64), DAT_SUCCESS);
	on_the_cq(0, 0, 30);
	cr_assert_eq(r.hot->evd_dequeue(r.a.recv, &ev), DAT_SUCCESS);
	on_the_cq(0, 0, 5);
	ring = &efa_ia(r.ia)->eng->cq;
	((struct efa_cqe *)(uintptr_t)ring->base)[ring->ci & ring->mask].imm =
		cpu_to_le32(efa_imm(EFA_K_UNSEQ, false, 0, acked + 5));
	cr_assert_neq(r.hot->evd_dequeue(r.a.recv, &ev), DAT_SUCCESS);
	cr_assert_eq(e->tx.limit - limit, 30, "the sender has credit for %u packets instead of 30",
		     e->tx.limit - limit);
}

/*
 * A control message arrives before the message that precedes it. The message alone does not fill a
 * batch of receive buffers. With a window of 4 both together are half the window, so the peer must get
 * credit for these two buffers.
 */
Test(efa_bad, credit__counts_a_control_message_out_of_order)
{
	const struct efa_ctrl_msg credit = { .op = EFA_C_CREDIT };
	struct efa_ep *e = efa_ep(r.a.ep);
	const uint32_t first = e->rx.next;
	DAT_EVENT ev;

	cr_assert_eq(rig_recv(&r, &r.a, 1, 0, 64), DAT_SUCCESS);
	other_id = 1;
	memcpy(efa_buf_at(&e->rx, e->rx.gen ^ other_id), &credit, sizeof(credit));
	packet(efa_imm(EFA_K_CTRL, false, first + 1, e->tx.seq), e->remote_qpn, sizeof(credit));
	on_the_cq(0, 0, 0);
	cr_assert_eq(r.hot->evd_dequeue(r.a.recv, &ev), DAT_SUCCESS);
	cr_assert_eq(e->rx.next - first, 2);
	cr_assert_eq(e->rx.advertised - first, 2,
		     "%u free buffers were advertised to the peer instead of 2",
		     e->rx.advertised - first);
}

/* A long message arrives before the message that precedes it. The dequeue of that one also posts the
 * read, for which no completion and no tick would come. */
Test(efa_bad, rts__out_of_order_is_read_at_once)
{
	const struct efa_ctrl_msg rts = { .op = EFA_C_RTS, .nseg = cpu_to_le16(1),
					  .total_lo = cpu_to_le32(64) };
	const struct efa_seg from = efa_seg_of((uintptr_t)r.b.mem, 64, r.b.lmr->rmr_context);
	struct efa_ep *e = efa_ep(r.a.ep);
	uint8_t *buf = efa_buf_at(&e->rx, e->rx.gen ^ 1);
	DAT_EVENT ev;

	for (uint32_t i = 0; i < 2; i++)
		cr_assert_eq(rig_recv(&r, &r.a, i, 64 * i, 64), DAT_SUCCESS);
	other_id = 1;
	memcpy(buf, &rts, sizeof(rts));
	memcpy(buf + sizeof(rts), &from, sizeof(from));
	packet(efa_imm(EFA_K_CTRL, false, e->rx.next + 1, e->tx.seq), e->remote_qpn,
	       sizeof(rts) + sizeof(from));
	on_the_cq(0, 0, 0);
	cr_assert_eq(r.hot->evd_dequeue(r.a.recv, &ev), DAT_SUCCESS);
	cr_assert_eq(e->rx.recv[1].left, 1, "the read of the long message has not been posted");
}

/*
 * While one packet is outstanding, packets behind it are acknowledged, but never so far ahead that the
 * receiver may still wait for its old ack.
 */
Test(efa_bad, ack__of_a_delayed_packet_is_no_new_one)
{
	struct efa_ep *e = efa_ep(r.a.ep);
	const uint32_t first = e->rx.acked_to;

	cr_assert_eq(rig_send(&r, &r.a, 1, 0, 8), DAT_SUCCESS);
	for (uint32_t i = 0; i < EFA_ACK_MASK + 1; i++) {
		written();
		cr_assert_null(fake.broken, "the endpoint broke: %s", fake.said);
		if (e->rx.acked_to != first)
			cr_assert_gt((first - e->rx.acked_to) & EFA_ACK_MASK, EFA_MAX_WINDOW,
				     "%u packets are acknowledged, so far ahead that the ack looks "
				     "like an old one",
				     e->rx.acked_to - first);
	}
	cr_assert_lt(e->rx.acked_to - first, EFA_ACK_MASK);
	for (int i = 0; i < 20000 && e->rx.acked_to != e->rx.next; i++)
		efa_tick(efa_ia(r.ia)->eng);
	cr_assert_eq(e->rx.acked_to, e->rx.next,
		     "packets in the reorder buffer are not acknowledged");
}

Test(efa_bad, packet__of_an_unknown_sender_is_dropped)
{
	struct efa_ep *e = efa_ep(r.a.ep);

	packet(efa_imm(EFA_K_MSG, false, e->rx.next, 0), (uint16_t)(e->remote_qpn + 1), 8);
	cr_assert_null(fake.broken);
	cr_assert_not_null(strstr(fake.said, "not from its peer"));
}

/* QP numbers are reused: late packets for the previous QP have other request ids. */
Test(efa_bad, packet__for_the_previous_qp_of_that_number_is_dropped)
{
	struct efa_ep *e = efa_ep(r.a.ep);
	uint32_t next = e->rx.next;

	other_id = e->rx.mask + 1;
	packet(efa_imm(EFA_K_MSG, false, next, 0), e->remote_qpn, 8);
	cr_assert_null(fake.broken);
	cr_assert_eq(e->rx.next, next);
	cr_assert_not_null(strstr(fake.said, "had this number before"),
			   "the log does not report a packet number that was used before: %s",
			   fake.said);
}

/* Lets a receive of a fail with this status. */
static void receive_fails(unsigned int status)
{
	struct efa_ep *e = efa_ep(r.a.ep);
	const struct efa_cqe cqe = {
		.req_id = cpu_to_le16((uint16_t)(e->rx.gen ^ other_id)), .status = (uint8_t)status,
		.flags = EFA_CQE_RQ << EFA_CQE_QUEUE_SHIFT, .qp_num = cpu_to_le16(e->qpn),
	};

	efa_enter(efa_ia(r.ia)->eng);
	efa_cqe_slow(efa_ia(r.ia)->eng, &cqe);
	efa_leave(efa_ia(r.ia)->eng);
}

/* The device flushes that QP late. */
Test(efa_bad, receive__flushed_of_the_previous_qp_of_that_number_is_dropped)
{
	other_id = efa_ep(r.a.ep)->rx.mask + 1;
	receive_fails(EFA_ST_FLUSHED);
	cr_assert_null(fake.broken, "the endpoint broke: %s", fake.said);
}

/* A device that resets a connection fails what it is receiving on it. The peer's disconnect message may
 * be on its way. */
Test(efa_bad, receive__aborted_by_the_peer_waits_for_its_message)
{
	receive_fails(EFA_ST_REMOTE_ABORT);
	for (int i = 0; i < 50; i++)
		efa_tick(efa_ia(r.ia)->eng);
	cr_assert_null(fake.broken, "the endpoint broke at once: %s", fake.said);
	for (int i = 0; i < 100; i++)
		efa_tick(efa_ia(r.ia)->eng);
	broken_with(r.a.ep, "the remote side aborted");
}

static DAT_RETURN request(enum efa_dto_op op)
{
	DAT_RMR_CONTEXT context;

	switch (op) {
	case EFA_SEND:
		return rig_send(&r, &r.a, 1, 0, 8);
	case EFA_READ:
		return rig_read(&r, &r.a, 1, 0, 0, 8);
	case EFA_WRITE:
		return rig_write(&r, &r.a, 1, 0, 0, 8);
	default:			/* a bind, which is outstanding because it waits for the read */
		cr_assert_eq(request(EFA_READ), DAT_SUCCESS);
		return (DAT_RETURN)rig_bind(rig_rmr(&r, &r.a), &r.a, 8, &context);
	}
}

/* Delivers b's answer to a's request. */
static void answered(uint32_t id, uint8_t status)
{
	const struct efa_ctrl_msg fin = { .op = EFA_C_FIN, .flags = status, .id = cpu_to_le32(id) };
	struct efa_rx *rx = &efa_ep(r.a.ep)->rx;

	memcpy(efa_buf_at(rx, rx->gen), &fin, sizeof(fin));
	packet(efa_imm(EFA_K_UNSEQ, false, 0, 0), efa_ep(r.a.ep)->remote_qpn, sizeof(fin));
}

/* The peer answers a request that it must not answer: one that its device executes without the driver, or
 * a bind. */
static void answer_to(enum efa_dto_op op, uint8_t status)
{
	rig_open_pair(&r, "seed=7 efa_profile=wide efa_window=4");
	cr_assert_eq(request(op), DAT_SUCCESS);
	answered(efa_ep(r.a.ep)->tx.posted - 1, status);
	broken_with(r.a.ep, "which has not been made");
}

/* The device refuses one packet of the write, then the peer refuses another one. */
Test(efa_bad_own, write__emulated_keeps_its_first_error)
{
	const struct efa_dto *d;
	struct dap_event ev;

	rig_open_pair(&r, "seed=7 efa_profile=read");
	d = efa_ep(r.a.ep)->tx.dto;
	cr_assert_eq(softnic_efa_fault(r.nic, "status=2:2"), 0);
	cr_assert_eq(rig_write(&r, &r.a, 1, 0, 0, 100000), DAT_SUCCESS);
	for (int i = 0; i < 1000 && !d->status; i++) {
		softnic_efa_pump(r.nic);
		efa_tick(efa_ia(r.ia)->eng);
	}
	cr_assert_eq(d->status, DAP_DTO_LOCAL_EP);
	cr_assert(d->left, "the write has no outstanding packet");
	answered(0, DAP_DTO_REMOTE_ACCESS);
	ev = rig_next(&r, r.a.req);
	cr_assert_eq(ev.dto.status, DAP_DTO_LOCAL_EP, "the write has status %u", ev.dto.status);
}

/* A write of which the device has taken a part is one that awaits the peer's answer. */
Test(efa_bad_own, write__emulated_that_is_refused_twice_is_counted_once)
{
	rig_open_pair(&r, "seed=7 efa_profile=read");
	cr_assert_eq(rig_write(&r, &r.a, 1, 0, 0, 100000), DAT_SUCCESS);
	cr_assert_eq(efa_ep(r.a.ep)->tx.asks, 1);
	answered(0, DAP_DTO_REMOTE_ACCESS);
	answered(0, DAP_DTO_REMOTE_ACCESS);
	cr_expect_eq(efa_ep(r.a.ep)->tx.asks, 0);
}

/* The peer has carried out the write and then refuses it. The write stays a success. */
Test(efa_bad_own, write__emulated_that_is_refused_after_its_answer_breaks_the_connection)
{
	struct dap_event ev;

	rig_open_pair(&r, "seed=7 efa_profile=read");
	cr_assert_eq(rig_write(&r, &r.a, 1, 0, 0, 8), DAT_SUCCESS);
	answered(0, DAP_DTO_SUCCESS);
	cr_assert_null(fake.broken);
	answered(0, DAP_DTO_REMOTE_ACCESS);
	broken_with(r.a.ep, "which has not been made");
	cr_expect_eq(efa_ep(r.a.ep)->tx.asks, 0, "%u writes await an answer", efa_ep(r.a.ep)->tx.asks);
	ev = rig_next(&r, r.a.req);
	cr_expect_eq(ev.dto.status, DAP_DTO_SUCCESS, "the write has status %u", ev.dto.status);
}

Test(efa_bad_own, answer__to_a_read_breaks_the_connection) { answer_to(EFA_READ, 0); }
Test(efa_bad_own, refusal__of_a_read_breaks_the_connection) { answer_to(EFA_READ, DAP_DTO_REMOTE_ACCESS); }
Test(efa_bad_own, refusal__of_a_send_that_it_does_not_read_breaks_the_connection)
{
	answer_to(EFA_SEND, DAP_DTO_REMOTE_ACCESS);
}

Test(efa_bad_own, refusal__of_a_native_write_breaks_the_connection)
{
	answer_to(EFA_WRITE, DAP_DTO_REMOTE_ACCESS);
}

Test(efa_bad_own, refusal__of_a_bind_breaks_the_connection) { answer_to(EFA_BIND, DAP_DTO_REMOTE_ACCESS); }

/* Puts an emulated write of eight bytes to a's memory into a's first receive buffer. */
static uint16_t buffered_write(void)
{
	const struct efa_ctrl_msg m = { .op = EFA_C_RW, .nseg = cpu_to_le16(1) };
	const struct efa_seg to = efa_seg_of((uintptr_t)r.a.mem, 8, efa_lmr(r.a.lmr)->mr.rkey);
	struct efa_rx *rx = &efa_ep(r.a.ep)->rx;
	uint8_t *buf = efa_buf_at(rx, rx->gen);

	memcpy(buf, &m, sizeof(m));
	memcpy(buf + sizeof(m), &to, sizeof(to));
	memset(buf + sizeof(m) + sizeof(to), 0xee, 8);
	return sizeof(m) + sizeof(to) + 8;
}

static void nothing_written(void)
{
	cr_assert_eq(r.a.mem[0], 0, "the memory of the endpoint's consumer has changed");
}

/* An RDMA write takes a buffer, but leaves in it what an earlier packet has brought. */
Test(efa_bad, write__with_the_immediate_of_a_control_message_breaks_the_connection)
{
	struct efa_ep *e = efa_ep(r.a.ep);

	come(efa_imm(EFA_K_UNSEQ, false, 0, 0), e->remote_qpn, buffered_write(),
	     EFA_OP_RDMA_WRITE << EFA_CQE_OP_SHIFT);
	nothing_written();
	broken_with(r.a.ep, "no known kind");
}

Test(efa_bad, write__emulated_of_another_length_breaks_the_connection)
{
	const uint16_t len = buffered_write();

	packet(efa_imm(EFA_K_UNSEQ, false, 0, 0), efa_ep(r.a.ep)->remote_qpn, (uint16_t)(len - 1));
	nothing_written();
	broken_with(r.a.ep, "announces a write of 8 bytes");
}

/* The device takes none of a's answers here. The peer may have EFA_ASKS writes outstanding. */
Test(efa_bad, write__emulated_without_room_for_its_answer_breaks_the_connection)
{
	for (unsigned int i = 0; i < 1000 && !fake.broken; i++) {
		const uint16_t len = buffered_write();
		uint8_t *buf = efa_buf_at(&efa_ep(r.a.ep)->rx, efa_ep(r.a.ep)->rx.gen);

		((struct efa_ctrl_msg *)(void *)buf)->flags = EFA_CTRL_LAST;
		packet(efa_imm(EFA_K_UNSEQ, false, 0, 0), efa_ep(r.a.ep)->remote_qpn, len);
	}
	broken_with(r.a.ep, "requests without an answer");
}

Test(efa_bad, write__emulated_after_the_end_changes_no_byte)
{
	struct efa_ep *e = efa_ep(r.a.ep);

	efa_hw.qp_error(r.a.ep);
	packet(efa_imm(EFA_K_CTRL, false, e->rx.next, 0), e->remote_qpn, buffered_write());
	nothing_written();
}

Test(efa_bad, packet__of_an_unknown_kind_breaks_the_connection)
{
	struct efa_ep *e = efa_ep(r.a.ep);

	packet(7u << 29 | (e->rx.next & 0xffff) << 12, e->remote_qpn, 8);
	broken_with(r.a.ep, "no known kind");
}

Test(efa_bad, completion__of_a_destroyed_qp_is_logged)
{
	struct efa_cqe cqe = { .qp_num = cpu_to_le16(efa_ep(r.a.ep)->qpn),
			       .flags = EFA_CQE_SQ << EFA_CQE_QUEUE_SHIFT };

	rig_endpoints_free(&r);
	efa_cqe_slow(efa_ia(r.ia)->eng, &cqe);
	cr_assert_not_null(strstr(fake.said, "no endpoint"));
}

/* What the log shows of an object if an invariant does not hold. */
static void described(const struct dap_obj *obj, const char *words)
{
	char text[512] = "";

	efa_hw.describe(obj, text, sizeof(text));
	cr_expect(strstr(text, words), "\"%s\" lacks \"%s\"", text, words);
}

Test(efa_bad, describe__of_a_broken_endpoint_has_the_reason)
{
	char qp[32];

	snprintf(qp, sizeof(qp), "peer's QP %u ", efa_ep(r.a.ep)->remote_qpn);
	described(&r.a.ep->obj, qp);
	r.a.recv->has_cq = true;
	described(&r.a.recv->obj, "0 completions, not armed");
	packet(7u << 29, efa_ep(r.a.ep)->remote_qpn, 8);
	described(&r.a.ep->obj, "no known kind");
}

Test(efa_bad, qp_connect__refuses_a_peer_of_another_version)
{
	r.a.ep->remote_path.proto++;
	cr_assert_eq(efa_hw.qp_connect(r.a.ep), -EPROTO);
	cr_assert_not_null(strstr(fake.said, "another kind or version"));
}

Test(efa_bad, receive__too_short_gets_a_length_error)
{
	struct dap_event ev;

	cr_assert_eq(rig_recv(&r, &r.b, 1, 0, 10), DAT_SUCCESS);
	cr_assert_eq(rig_send(&r, &r.a, 2, 0, 11), DAT_SUCCESS);
	ev = rig_next(&r, r.b.recv);
	cr_assert_eq(ev.dto.status, DAP_DTO_LOCAL_LENGTH);
	broken_with(r.b.ep, "11 bytes for a receive of 10");
}

Test(efa_bad, peer__silent_breaks_the_connection)
{
	struct dap_event ev;

	cr_assert_eq(softnic_efa_fault(r.nic, "silence"), 0);
	cr_assert_eq(rig_write(&r, &r.a, 1, 0, 0, 8), DAT_SUCCESS);
	ev = rig_next(&r, r.a.req);
	cr_assert_eq(ev.dto.status, DAP_DTO_TRANSPORT);
	broken_with(r.a.ep, "answer");
}

Test(efa_bad, key__revoked_in_flight_refuses_the_write)
{
	struct dap_event ev;

	cr_assert_eq(rig_write(&r, &r.a, 1, 0, 0, 60000), DAT_SUCCESS);
	efa_hw.lmr_destroy(r.b.lmr);
	ev = rig_next(&r, r.a.req);
	cr_assert_eq(ev.dto.status, DAP_DTO_REMOTE_ACCESS);
	broken_with(r.a.ep, "remote address or key");
}

/* Every endpoint has its entries in the CQ; if there are too few, the endpoint is refused. */
Test(efa_bad, qp_create__without_room_in_the_cq_is_refused)
{
	efa_ia(r.ia)->eng->cq_entries = efa_ia(r.ia)->eng->cq_used;
	r.a.ep->has_qp = false;
	cr_assert_eq(efa_hw.qp_create(r.a.ep), -ENOSPC);
	cr_assert_not_null(strstr(fake.said, "efa_cq="));
}
