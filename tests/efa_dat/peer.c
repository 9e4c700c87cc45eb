/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that sends wrong data, or is of a wrong kind: the DAT event and the message are checked.
 */
#include <string.h>

#include "tests/efa_dat/rig.h"

TestSuite(efa_peer, .timeout = 120);

/* ---- Wrong data in the peer's address ---- */

static void (*lie)(struct dap_path *p, struct efa_own *own);

static int lying_address(struct dap_ep *ep)
{
	int err = efa_hw.qp_address(ep);
	struct efa_own own;

	memcpy(&own, ep->local_path.own, sizeof(own));
	lie(&ep->local_path, &own);
	memcpy(ep->local_path.own, &own, sizeof(own));
	return err;
}

static void lies(struct end *e)
{
	static struct dap_hw liar;

	liar = efa_hw;
	liar.qp_address = lying_address;
	((struct dap_ia *)e->ia)->hw = &liar;
}

static void another_version(struct dap_path *p, struct efa_own *own)
{
	(void)own;
	p->proto++;
}

static void unknown_capability(struct dap_path *p, struct efa_own *own)
{
	(void)p;
	own->caps |= EFA_CAN_ALL + 1;
}

static void no_window(struct dap_path *p, struct efa_own *own)
{
	(void)p;
	own->window = cpu_to_be16(2);
}

static void window_beyond_the_ack(struct dap_path *p, struct efa_own *own)
{
	(void)p;
	own->window = cpu_to_be16(EFA_MAX_WINDOW + 1);
}

static void tiny_packets(struct dap_path *p, struct efa_own *own)
{
	(void)own;
	p->mtu = 512;
}

static void many_qps(struct dap_path *p, struct efa_own *own)
{
	(void)own;
	p->qpn = 0x10000;
}

/* Peers with our protocol but impossible attributes. */
static void (*const each_lie[])(struct dap_path *p, struct efa_own *own) = {
	unknown_capability, no_window, window_beyond_the_ack, tiny_packets, many_qps,
};
#define LIES (sizeof(each_lie) / sizeof(each_lie[0]))

static void ends_open(struct end *liar, void (*how)(struct dap_path *p, struct efa_own *own))
{
	end_open(&a, "soft-efa-0", "");
	end_open(&b, "soft-efa-1", "");
	lie = how;
	lies(liar);
}

static void refused(DAT_CR_HANDLE cr)
{
	cr_assert_eq(DAT_GET_TYPE(dat_cr_accept(cr, b.ep, 0, NULL)), DAT_INVALID_PARAMETER);
	ok(dat_cr_reject(cr));
	took_conn(&a, DAT_CONNECTION_EVENT_PEER_REJECTED);
	said("the peer uses protocol");
	said("need adapters of one kind and the same release");
	pair_close();
}

Test(efa_peer, cr_accept__refuses_a_peer_of_another_version)
{
	ends_open(&a, another_version);
	refused(end_request());
	said(" of soft-efa-1: the peer uses protocol");
}

Test(efa_peer, address__of_the_connector_invalid_ends_the_attempt)
{
	for (size_t i = 0; i < LIES; i++) {
		ends_open(&a, each_lie[i]);
		ok(dat_cr_accept(end_request(), b.ep, 0, NULL));
		took_conn(&b, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		took_conn(&a, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		said("another kind or version");
		said("both ends have to run the same release");
		pair_close();
	}
}

Test(efa_peer, address__of_the_acceptor_invalid_ends_the_attempt)
{
	for (size_t i = 0; i < LIES; i++) {
		ends_open(&b, each_lie[i]);
		ok(dat_cr_accept(end_request(), b.ep, 0, NULL));
		took_conn(&a, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		took_conn(&b, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		said("another kind or version");
		said("the peer's endpoint broke the connection: the peer cannot connect");
		said("the error messages of its process say why");
		pair_close();
	}
}

/* The peer is an adapter of another kind. */
Test(efa_peer, cr_accept__refuses_an_adapter_of_another_kind)
{
	for (int i = 0; i < 2; i++) {
		end_open(&a, i ? "soft-mlx5-0" : "soft-efa-0", "");
		end_open(&b, i ? "soft-efa-0" : "soft-mlx5-0", "");
		refused(end_request());
	}
}

/* ---- Wrong data in the peer's packets ---- */

static void setup(void)
{
	pair_open("efa_window=8", "efa_window=8");
}

/* Sends a packet with this header from b to a. */
static void packet(enum efa_kind kind, uint32_t seq, const void *data, uint32_t len)
{
	struct efa_engine *eng = efa_ia((struct dap_ia *)b.ia)->eng;
	struct efa_wr wr = { .op = EFA_OP_SEND, .has_imm = true, .kind = EFA_S_ANSWER,
			     .imm = efa_imm(kind, false, seq, inner_efa(&b)->rx.acked_to) };

	efa_enter(eng);
	memcpy(efa_wr_stage(inner(&b), &wr, len), data, len);
	efa_wr_post(inner(&b), &wr);
	efa_wr_ring(inner(&b));
	efa_leave(eng);
}

static uint32_t next_seq(void)
{
	return inner_efa(&b)->tx.seq;
}

static const uint8_t some[64];

static void broken_for(const char *why)
{
	both_broken();
	said(why);
	said("the peer's endpoint broke the connection: protocol error: ");
	cr_assert_eq(took(a.recv, 1), DAT_DTO_ERR_FLUSHED);
	pair_close();
}

Test(efa_peer, sequence__outside_the_window_breaks_the_connection, .init = setup)
{
	ok(do_recv(&a, 1, 0, 64));
	packet(EFA_K_MSG, next_seq() + 8, some, 8);
	broken_for("are awaited");
}

Test(efa_peer, sequence__that_was_taken_before_breaks_the_connection, .init = setup)
{
	ok(do_recv(&a, 0, 0, 64));
	ok(do_recv(&a, 1, 0, 64));
	ok(do_send(&b, 2, 0, 8));
	cr_assert_eq(took(a.recv, 0), DAT_DTO_SUCCESS);
	packet(EFA_K_MSG, next_seq() - 1, some, 8);
	broken_for("are awaited");
}

Test(efa_peer, sequence__used_twice_breaks_the_connection, .init = setup)
{
	ok(do_recv(&a, 1, 0, 64));
	packet(EFA_K_MSG, next_seq() + 1, some, 8);
	packet(EFA_K_MSG, next_seq() + 1, some, 8);
	broken_for("a second time");
}

Test(efa_peer, packet__of_an_unknown_kind_breaks_the_connection, .init = setup)
{
	ok(do_recv(&a, 1, 0, 64));
	packet((enum efa_kind)7, next_seq(), some, 8);
	broken_for("no known kind");
}

/* A message with the number of a write would be counted but not delivered. */
Test(efa_peer, message__with_the_number_of_a_write_breaks_the_connection, .init = setup)
{
	ok(do_recv(&a, 1, 0, 64));
	packet(EFA_K_WRITE, next_seq(), some, 8);
	broken_for("no known kind");
}

Test(efa_peer, fragment__of_no_message_breaks_the_connection, .init = setup)
{
	ok(do_recv(&a, 1, 0, 64));
	packet(EFA_K_NEXT, next_seq(), some, 8);
	broken_for("a fragment of no message");
}

Test(efa_peer, recv__fragments_longer_than_announced_break_the_connection, .init = setup)
{
	static const struct { struct efa_first f; uint8_t more[8]; } m = { .f.total = { 4 } };

	ok(do_recv(&a, 1, 0, 64));
	packet(EFA_K_FIRST, next_seq(), &m, sizeof(m));
	broken_for("bytes than it announced");
}

Test(efa_peer, fragments__a_message_within_another_breaks_the_connection, .init = setup)
{
	static const struct { struct efa_first f; uint8_t more[8]; } m = { .f.total = { 40 } };

	ok(do_recv(&a, 1, 0, 64));
	packet(EFA_K_FIRST, next_seq(), &m, sizeof(m));
	packet(EFA_K_FIRST, next_seq() + 1, &m, sizeof(m));
	broken_for("protocol error: the peer started a message before its previous one");
}

Test(efa_peer, fragments__a_whole_message_within_another_breaks_the_connection, .init = setup)
{
	static const struct { struct efa_first f; uint8_t more[8]; } m = { .f.total = { 40 } };

	ok(do_recv(&a, 1, 0, 64));
	packet(EFA_K_FIRST, next_seq(), &m, sizeof(m));
	packet(EFA_K_MSG, next_seq() + 1, some, 8);
	broken_for("protocol error: the peer started a message before its previous one");
}

Test(efa_peer, fragments__an_offer_within_another_breaks_the_connection, .init = setup)
{
	static const struct { struct efa_first f; uint8_t more[8]; } m = { .f.total = { 40 } };
	static const struct efa_ctrl_msg rts = { .op = EFA_C_RTS, .nseg = { 1 }, .total_lo = { 8 } };
	static const struct efa_seg seg = { .len = { 8 } };
	uint8_t offer[sizeof(rts) + sizeof(seg)];

	memcpy(offer, &rts, sizeof(rts));
	memcpy(offer + sizeof(rts), &seg, sizeof(seg));
	ok(do_recv(&a, 1, 0, 64));
	packet(EFA_K_FIRST, next_seq(), &m, sizeof(m));
	packet(EFA_K_CTRL, next_seq() + 1, offer, sizeof(offer));
	broken_for("protocol error: the peer started a message before its previous one");
}

struct told {
	const char *name, *why;
	struct efa_seg seg[2];
	uint32_t len;
	struct efa_ctrl_msg m;		/* its own segments must follow, and no other data */
};

static void tell(const struct told *t)
{
	uint8_t flat[sizeof(t->m) + sizeof(t->seg)];

	setup();
	ok(do_recv(&a, 1, 0, 64));
	memcpy(flat, &t->m, sizeof(t->m));
	memcpy(flat + sizeof(t->m), t->seg, sizeof(t->seg));
	packet(EFA_K_CTRL, next_seq(), flat, t->len);
	both_broken();
	said(t->why);
	pair_close();
}

Test(efa_peer, control_message__each_invalid_one_breaks_the_connection)
{
	static const struct told all[] = {
		{ .name = "short", .why = "a control message of 8 bytes", .len = 8 },
		{ .name = "no op", .why = "control message 0", .len = 16 },
		{ .name = "unknown op", .why = "control message 77", .m.op = 77, .len = 16 },
		{ .name = "FIN of an unknown request", .why = "has not been made",
		  .m.op = EFA_C_FIN, .len = 16 },
		{ .name = "offer of no pieces", .why = "0 pieces", .m.op = EFA_C_RTS, .len = 32 },
		{ .name = "offer that announces more pieces than it has", .why = "2 pieces", .m = {
		  .op = EFA_C_RTS, .nseg = { 2 }, .total_lo = { 8 } }, .len = 32 },
		{ .name = "offer with a wrong sum", .why = "in pieces of", .m = { .op = EFA_C_RTS,
		  .nseg = { 1 }, .total_lo = { 8 } }, .seg[0].len = { 9 }, .len = 32 },
		{ .name = "offer of a sum that wraps", .why = "in pieces of 4294967304", .m = {
		  .op = EFA_C_RTS, .nseg = { 2 }, .total_lo = { 8 } },
		  .seg = { { .len = { 0x80000000 } }, { .len = { 0x80000008 } } }, .len = 48 },
		{ .name = "write of no data", .why = "control message 4", .m.op = EFA_C_RW,
		  .len = 32 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		tell(&all[i]);
}

/* The data is too long for the receive, so the receive and its sender get the error. */
Test(efa_peer, receive__too_short_gets_a_length_error, .init = setup)
{
	ok(do_recv(&a, 1, 0, 10));
	ok(do_send(&b, 2, 0, 11));
	both_broken();
	cr_assert_eq(took(a.recv, 1), DAT_DTO_ERR_LOCAL_LENGTH);
	said("broke the connection: a message of 11 bytes for a receive of 10");
	pair_close();
}

/* Changes the sender that a expects, so that b's packets seem to come from another sender. */
static void peer_is_another(int by)
{
	inner_efa(&a)->remote_qpn = (uint16_t)(inner_efa(&a)->remote_qpn + by);
	inner_efa(&a)->from += (uint32_t)by << 16;
}

/* A packet that is not from the peer is dropped, and the connection continues. */
Test(efa_peer, packet__of_an_unknown_sender_is_dropped, .init = setup)
{
	peer_is_another(1);
	ok(do_recv(&a, 1, 0, 64));
	packet(EFA_K_MSG, next_seq(), some, 8);
	cr_assert(TH_WITHIN(SOON_MS, (took_none(a.recv), was_said("not from its peer"))));
	peer_is_another(-1);
	ok(do_send(&b, 2, 0, 8));
	cr_assert_eq(took(a.recv, 1), DAT_DTO_SUCCESS);
	pair_close();
}
