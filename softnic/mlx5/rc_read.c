/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The responder's sending half. READs and atomics, whose rights are already checked, wait in a queue
 * for their responses, which are sent in order. An ACK or NAK is sent after all of them.
 */
#include <errno.h>

#include "softnic/mlx5/rc.h"

static struct sn_rc_read *read_slot(struct sn_rc_resp *s, uint32_t number)
{
	return &s->read[number % SN_RC_READS];
}

static uint32_t end_of(const struct sn_qp *qp, const struct sn_rc_read *read)
{
	return sn_psn_add(read->psn, read->atomic ? 1 : sn_rc_packets(qp, read->len));
}

static void queue(struct sn_qp *qp, const struct sn_rc_read *read)
{
	struct sn_rc_resp *s = &qp->rc->resp;

	*read_slot(s, s->read_tail++) = *read;
	/* The response acknowledges all earlier requests, so the pending ACK is not needed. */
	if (s->answer == SN_ANSWER_ACK)
		sn_rc_acknowledged(qp);
	sn_qp_kick(qp);
}

static unsigned int resources(const struct sn_qp *qp)
{
	return qp->max_dest_rd_atomic < SN_RC_READS ? qp->max_dest_rd_atomic : SN_RC_READS;
}

/*
 * Frees a resource by dropping the oldest repeated request. This is needed if a request arrives late,
 * after its repetition was answered: the peer then counts its resource as free.
 */
static bool drop_repeated(struct sn_rc_resp *s)
{
	uint32_t i = s->read_head;

	while (i != s->read_tail && !read_slot(s, i)->again)
		i++;
	if (i == s->read_tail)
		return false;
	for (; i + 1 != s->read_tail; i++)
		*read_slot(s, i) = *read_slot(s, i + 1);
	s->read_tail--;
	return true;
}

/* Takes a resource for a new request. False: the peer exceeds its limit. */
static bool take_resource(struct sn_qp *qp, uint32_t psns)
{
	struct sn_rc_resp *s = &qp->rc->resp;

	if (s->read_tail - s->read_head >= resources(qp) && !drop_repeated(s)) {
		sn_rc_fatal_nak(qp, s->psn, SN_NAK_INVALID_REQUEST, SN_EV_WQ_INVAL_REQ);
		return false;
	}
	s->psn = sn_psn_add(s->psn, psns);
	s->msn = sn_psn_add(s->msn, 1);
	return true;
}

/*
 * The requester went back and will repeat all later requests. The later ones in the queue are dropped,
 * so that none is answered twice.
 */
static bool requeue_read(struct sn_qp *qp, uint32_t psn)
{
	struct sn_rc_resp *s = &qp->rc->resp;

	while (s->read_tail != s->read_head &&
	       sn_psn_diff(end_of(qp, read_slot(s, s->read_tail - 1)), psn) > 0)
		s->read_tail--;
	return s->read_tail - s->read_head < SN_RC_READS;
}

static bool may_access(struct sn_qp *qp, const struct sn_access *a, uint32_t psn)
{
	enum sn_acc acc = a->len ? sn_mkey_check(qp->nic, a) : SN_ACC_OK;

	if (acc == SN_ACC_OK)
		return true;
	sn_rc_refuse(qp, psn, a, acc);
	return false;
}

void sn_rc_read_request_in(struct sn_qp *qp, const struct sn_packet *pkt, bool duplicate)
{
	struct sn_rc_read read = {.va = from_be64(pkt->reth.va),
				  .rkey = from_be32(pkt->reth.rkey),
				  .len = from_be32(pkt->reth.len), .psn = pkt->psn,
				  .again = duplicate};
	struct sn_access a = {read.rkey, qp->pd, qp->qpn, SN_RR, read.va, read.len};
	uint32_t psns = sn_rc_packets(qp, read.len);

	if (duplicate && sn_psn_diff(sn_psn_add(read.psn, psns), qp->rc->resp.psn) > 0)
		return;
	if (!qp->rre || read.len > SN_RC_LEN_MAX) {
		sn_rc_fatal_nak(qp, pkt->psn, SN_NAK_INVALID_REQUEST, SN_EV_WQ_INVAL_REQ);
		return;
	}
	if (!may_access(qp, &a, pkt->psn))
		return;
	if (duplicate ? requeue_read(qp, pkt->psn) : take_resource(qp, psns))
		queue(qp, &read);
}

static uint64_t execute_atomic(uint64_t *word, const struct sn_packet *pkt)
{
	uint64_t operand = from_be64(pkt->atomic.swap_add);
	uint64_t compare = from_be64(pkt->atomic.compare);

	if (pkt->opcode == SN_BTH_FETCH_ADD)
		return __atomic_fetch_add(word, operand, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(word, &compare, operand, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return compare;
}

static void repeat_atomic(struct sn_qp *qp, const struct sn_packet *pkt)
{
	struct sn_rc_resp *s = &qp->rc->resp;
	unsigned int i;

	for (i = 0; i < SN_RC_READS; i++) {
		/* The newest first: after 2^24 packets a PSN comes again. */
		struct sn_rc_atomic *done = &s->atomic[(s->atomic_next - 1 - i) % SN_RC_READS];
		struct sn_rc_read read = {.atomic = true, .va = done->original, .psn = pkt->psn,
					  .again = true};

		if (done->valid && done->psn == pkt->psn && requeue_read(qp, pkt->psn)) {
			queue(qp, &read);
			return;
		}
	}
}

void sn_rc_atomic_request_in(struct sn_qp *qp, const struct sn_packet *pkt, bool duplicate)
{
	struct sn_rc_resp *s = &qp->rc->resp;
	struct sn_access a = {from_be32(pkt->atomic.rkey), qp->pd, qp->qpn, SN_ATOMIC,
			      from_be64(pkt->atomic.va), sizeof(uint64_t)};
	struct sn_rc_read read = {.atomic = true, .psn = pkt->psn};
	void *at;

	if (duplicate) {
		repeat_atomic(qp, pkt);
		return;
	}
	if (!qp->rae || !qp->atomic_mode || a.va % sizeof(uint64_t)) {
		sn_rc_fatal_nak(qp, pkt->psn, SN_NAK_INVALID_REQUEST, SN_EV_WQ_INVAL_REQ);
		return;
	}
	if (!may_access(qp, &a, pkt->psn))
		return;
	if (sn_mkey_map(qp->nic, &a, &at) != SN_ACC_OK || (uintptr_t)at % sizeof(uint64_t)) {
		sn_rc_fatal_nak(qp, pkt->psn, SN_NAK_REMOTE_OPERATIONAL, SN_EV_WQ_CATAS);
		return;
	}
	if (!take_resource(qp, 1))
		return;
	read.va = execute_atomic(at, pkt);
	s->atomic[s->atomic_next++ % SN_RC_READS] =
		(struct sn_rc_atomic){.psn = pkt->psn, .valid = true, .original = read.va};
	queue(qp, &read);
}

static int send_atomic(struct sn_qp *qp, struct sn_rc_read *read)
{
	struct sn_rc_out out = {.opcode = SN_BTH_ATOMIC_ACK, .psn = read->psn};
	be64_t original = to_be64(read->va);

	sn_rc_put_aeth(qp, &out, SN_AETH_ACK | SN_AETH_NO_CREDIT);
	sn_rc_put_ext(&out, &original, sizeof(original));
	read->sent = 1;
	return sn_rc_send(qp, &out);
}

static int send_read(struct sn_qp *qp, struct sn_rc_read *read)
{
	static const uint8_t opcodes[] = {SN_BTH_READ_RESP_MIDDLE, SN_BTH_READ_RESP_FIRST,
					  SN_BTH_READ_RESP_LAST, SN_BTH_READ_RESP_ONLY};
	uint32_t left = sn_rc_packets(qp, read->len) - read->sent;
	uint32_t train = sn_rc_train(qp, read->sent, left);
	bool last = train == left;
	uint32_t off = read->sent * qp->mtu;
	struct sn_access a = {read->rkey, qp->pd, qp->qpn, SN_RR, read->va + off,
			      last ? read->len - off : train * qp->mtu};
	struct sn_rc_out out = {.psn = sn_psn_add(read->psn, read->sent), .train = train,
				.len = (uint32_t)a.len, .memory = &a};
	int err;

	out.opcode = opcodes[(last ? 2 : 0) + (read->sent == 0)];
	if (sn_bth_shapes[out.opcode].parts & SN_P_AETH)
		sn_rc_put_aeth(qp, &out, SN_AETH_ACK | SN_AETH_NO_CREDIT);
	err = sn_rc_send(qp, &out);
	if (out.refused)
		sn_rc_refuse(qp, out.psn, &a, out.refused);
	else if (!err)
		read->sent += train;
	return err;
}

/* Sends one packet (or train) of the oldest response. */
static int send_answer(struct sn_qp *qp)
{
	struct sn_rc_resp *s = &qp->rc->resp;
	struct sn_rc_read *read = read_slot(s, s->read_head);
	int err = read->atomic ? send_atomic(qp, read) : send_read(qp, read);

	if (!err && sn_psn_add(read->psn, read->sent) == end_of(qp, read))
		s->read_head++;
	return err;
}

/* Moves the QP to the error state. Its NAK has been sent, or the peer is gone, so nothing is pending. */
static void fail_qp(struct sn_qp *qp)
{
	enum sn_event event = qp->rc->resp.event;

	if (event == SN_EV_COMPLETION)
		sn_qp_to_error(qp);
	else
		sn_qp_fatal(qp, event);
}

bool sn_rc_resp_run(struct sn_qp *qp)
{
	struct sn_rc_resp *s = &qp->rc->resp;
	int burst, err = 0;

	for (burst = 0; s->read_head != s->read_tail; burst++) {
		if (burst == SN_RC_BURST || sn_is_spent(qp->nic))
			return true;
		qp->nic->work += SN_WORK_WQE;
		err = send_answer(qp);
		if (err == -EAGAIN)
			return false;
		if (err)
			s->read_head = s->read_tail;
	}
	if (s->answer == SN_ANSWER_NONE || qp->rc->ack_delayed)
		return false;
	err = sn_rc_send_answer(qp);
	if (err == -EAGAIN)
		return false;
	if (s->answer == SN_ANSWER_FATAL_NAK)
		fail_qp(qp);
	s->answer = SN_ANSWER_NONE;
	s->delayed_requests = 0;
	return false;
}
