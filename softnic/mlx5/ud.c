/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unreliable datagrams. A WQE is one packet with its own address, and completes when it has been sent. A
 * packet without a receive, or with a wrong Q_Key, is dropped silently.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/bytes.h"
#include "softnic/mlx5/dev_api.h"
#include "softnic/mlx5/prm.h"
#include "softnic/mlx5/ud.h"

enum { BURST = 32, UD_MTU = 4096, Q_KEY_OF_QP = 1u << 31, QP1 = 1 };

/* IBTA 3.9.4: the QP for management datagrams of a port has the number 1 on the wire. */
static bool is_qp1(const struct sn_qp *qp)
{
	return sn_get(qp->ctx, QPC_ST) == ST_QP1;
}

static void leave_qp1(struct sn_qp *qp)
{
	for (unsigned int i = 0; i < SN_PORTS; i++)
		if (qp->nic->port[i].qp1 == qp)
			qp->nic->port[i].qp1 = NULL;
}

int sn_ud_create(struct sn_qp *qp)
{
	qp->ud = calloc(1, sizeof(*qp->ud));
	if (!qp->ud)
		return -ENOMEM;
	qp->ud->waiter = (struct sn_waiter){.qp = qp, .dest = &qp->ud->dest};
	return 0;
}

void sn_ud_destroy(struct sn_qp *qp)
{
	if (!qp->ud)
		return;
	sn_ud_stop(qp);
	leave_qp1(qp);
	free(qp->ud);
	qp->ud = NULL;
}

void sn_ud_modified(struct sn_qp *qp, enum sn_qp_state from)
{
	if (!qp->ud)
		return;
	/* INIT2INIT may move a QP to another port. */
	leave_qp1(qp);
	if (is_qp1(qp) && qp->state != SN_QP_RST)
		qp->port->qp1 = qp;
	if (qp->state == from)
		return;
	if (qp->state == SN_QP_RST || qp->state == SN_QP_INIT)
		sn_ud_stop(qp);
	else if (qp->state == SN_QP_RTR)
		sn_port_use_udp(qp->port, &qp->ud->uses_udp, true);
	else if (from == SN_QP_RTR)
		qp->ud->psn = qp->sq_psn & SN_PSN_MASK;
}

/* Returns the Q_Key of a packet. IBTA 10.2.5: if the highest bit of the WQE's Q_Key is set, the QP's own
 * is used. */
static uint32_t q_key(const struct sn_qp *qp, const struct sn_wqe *wqe)
{
	return wqe->qkey & Q_KEY_OF_QP ? qp->qkey : wqe->qkey;
}

struct ud_head {
	struct sn_bth bth;
	struct sn_deth deth;
	struct sn_ip ip;
	be32_t imm;
};

/* Writes the headers of the WQE. Returns their length. Only within a host they have struct sn_ip. */
static uint32_t put_headers(const struct sn_qp *qp, struct ud_head *head)
{
	const struct sn_wqe *wqe = &qp->ud->wqe;
	bool imm = wqe->opcode == SN_OP_SEND_IMM;
	uint8_t *end = (uint8_t *)&head->ip;

	head->bth = (struct sn_bth){
		.opcode = imm ? SN_BTH_UD_SEND_ONLY_IMM : SN_BTH_UD_SEND_ONLY,
		.flags = (uint8_t)((wqe->solicited ? SN_BTH_SE : 0) | (-wqe->len & 3) << SN_BTH_PAD_SHIFT),
		.pkey = to_be16(qp->pkey),
		.dqpn = to_be32(wqe->dqpn),
		.psn = to_be32(qp->ud->psn),
	};
	head->deth = (struct sn_deth){to_be32(q_key(qp, wqe)), to_be32(is_qp1(qp) ? QP1 : qp->qpn)};
	if (!qp->ud->dest.udp_port) {
		head->ip = (struct sn_ip){
			to_be32(6u << 28 | (uint32_t)wqe->av.tclass << 20 | wqe->av.flow_label),
			.hop_limit = wqe->av.hop_limit,
		};
		end += sizeof(head->ip);
	}
	if (imm)
		memcpy(end, &wqe->imm, sizeof(wqe->imm));
	return (uint32_t)(end - (uint8_t *)head) + (imm ? (uint32_t)sizeof(wqe->imm) : 0);
}

/* Returns 0, -EAGAIN, or the syndrome of the WQE's completion. A lost packet counts as sent. */
static int send_packet(struct sn_qp *qp)
{
	const struct sn_wqe *wqe = &qp->ud->wqe;
	struct sn_frame frame = {.len = wqe->len, .packets = 1};
	struct ud_head head;
	int err;

	if (wqe->len > UD_MTU)
		return SN_SYND_LOCAL_LENGTH;
	sn_port_resolve(qp->port, &wqe->av, &qp->ud->dest);
	frame.head_len = put_headers(qp, &head);
	err = sn_port_begin(qp->port, &qp->ud->dest, &frame);
	if (!err && frame.head) {
		memcpy(frame.head, &head, frame.head_len);
		if (sn_gather(qp, wqe->sge, wqe->nsge, 0, frame.payload, wqe->len) != SN_ACC_OK)
			return SN_SYND_LOCAL_PROT;
		err = sn_port_end(qp->port, &qp->ud->dest, &frame);
	}
	if (err == -EAGAIN)
		return err;
	qp->ud->psn = sn_psn_add(qp->ud->psn, 1);
	return 0;
}

void sn_ud_run(struct sn_qp *qp)
{
	struct sn_ud *ud = qp->ud;
	int ret;

	for (unsigned int burst = 0; burst < BURST && !sn_is_spent(qp->nic); burst++) {
		if (qp->state != SN_QP_RTS || ud->waiter.blocked)
			return;
		if (!ud->loaded && sn_sq_next(qp, &ud->wqe) != SN_SQ_WQE)
			return;
		ud->loaded = true;
		ret = send_packet(qp);
		if (ret == -EAGAIN) {
			sn_port_block(&ud->waiter);
			return;
		}
		ud->loaded = false;
		sn_wr_done(qp, ud->wqe.wr, (uint8_t)ret, 0, 0);
	}
	sn_qp_kick(qp);
}

/* Finds the QP that receives a packet. IBTA 9.6.1: checks QP, state, partition and Q_Key. */
static struct sn_qp *receiver(struct sn_port *port, const struct sn_packet *pkt)
{
	struct sn_qp *qp = pkt->dqpn == QP1 ? port->qp1 : sn_qp_find(port->nic, pkt->dqpn);

	if (!qp || !qp->ud || qp->port != port || pkt->train != 1 || !sn_port_same_partition(qp, pkt) ||
	    from_be32(pkt->deth.qkey) != qp->qkey)
		return NULL;
	return qp->state == SN_QP_RTR || qp->state == SN_QP_RTS || qp->state == SN_QP_SQER ? qp : NULL;
}

static void put_infiniband(const struct sn_port *port, const struct sn_addr *src, const struct sn_packet *pkt,
			   uint8_t grh[SN_GRH_BYTES])
{
	memcpy(grh, &pkt->ip.tclass_flow, 4);
	grh[4] = (uint8_t)(pkt->len >> 8);
	grh[5] = (uint8_t)pkt->len;
	grh[6] = 0x1b;		/* next header: IBA */
	grh[7] = pkt->ip.hop_limit;
	memcpy(grh + 8, src->raw, 16);
	memcpy(grh + 24, port->address, 16);
}

/*
 * Annex A17: RoCE v2 delivers the IP header in place of a GRH; that of IPv4 is behind 20 bytes of zeros. The
 * socket to other hosts does not show the fields that a router may change.
 */
static void put_ip(const struct sn_port *port, const struct sn_fab_dest *src,
		   const struct sn_packet *pkt, uint8_t grh[SN_GRH_BYTES])
{
	enum { UDP_HEADER = 8, HOP_LIMIT = 64 };
	struct sn_fab_dest own = sn_port_own(port, src->udp_port, src->foreign);
	struct sn_outer outer = sn_port_outer(src, &own);
	size_t len = pkt->shape->header + pkt->len + (-pkt->len & 3);
	uint8_t head[SN_OUTER_MAX];

	if (src->udp_port) {
		len = sn_outer_put(&outer, len, head) - UDP_HEADER;
		sn_ip_finish(head, 0, HOP_LIMIT);
	} else {
		len = sn_outer_put(&outer, len - sizeof(pkt->ip), head) - UDP_HEADER;
		sn_ip_finish(head, from_be32(pkt->ip.tclass_flow), pkt->ip.hop_limit);
	}
	memset(grh, 0, SN_GRH_BYTES - len);
	memcpy(grh + SN_GRH_BYTES - len, head, len);
}

/* PRM, CQE: the type of the header that put_ip() writes. */
static uint8_t l3_type(const struct sn_port *port, const struct sn_fab_dest *src)
{
	struct sn_fab_dest own = sn_port_own(port, src->udp_port, src->foreign);

	if (port->nic->infiniband)
		return 0;
	return sn_is_v4(src->gid.raw) && sn_is_v4(own.gid.raw) ? SN_L3_IPV4 : SN_L3_IPV6;
}

static uint16_t source_lid(const struct sn_port *port, const struct sn_addr *src)
{
	if (!port->nic->infiniband)
		return 0;
	return (uint16_t)(src->raw[14] << 8 | src->raw[15]);
}

static uint8_t store_packet(struct sn_qp *qp, const struct sn_rwqe *rwqe, const struct sn_fab_dest *src,
		     const struct sn_packet *pkt)
{
	uint8_t grh[SN_GRH_BYTES];

	if (qp->nic->infiniband && !src->udp_port)
		put_infiniband(qp->port, &src->gid, pkt, grh);
	else
		put_ip(qp->port, src, pkt, grh);
	if (sn_scatter_recv(qp, rwqe, 0, grh, sizeof(grh)) != SN_ACC_OK ||
	    (pkt->len && sn_scatter_recv(qp, rwqe, SN_GRH_BYTES, pkt->payload, pkt->len) != SN_ACC_OK))
		return SN_SYND_LOCAL_PROT;
	return SN_SYND_OK;
}

void sn_ud_in(struct sn_port *port, const struct sn_fab_dest *src, const struct sn_packet *pkt)
{
	struct sn_qp *qp = receiver(port, pkt);
	be32_t pkey = to_be32(qp && is_qp1(qp) ? pkt->pkey : 0);
	bool imm = pkt->shape->parts & SN_P_IMM;
	struct sn_rwqe rwqe;
	uint8_t syndrome;
	int taken = qp ? sn_rq_next(qp, &rwqe) : 0;

	if (taken < 0)
		sn_qp_fatal(qp, SN_EV_WQ_CATAS);
	/* IBTA 9.9.6.3, class D: a packet that does not fit is dropped, and the receive is put back. */
	if (taken > 0 && rwqe.len < pkt->len + SN_GRH_BYTES) {
		sn_rq_put_back(qp, &rwqe);
		taken = 0;
	}
	if (taken <= 0) {
		port->nic->ctr.drops++;
		return;
	}
	syndrome = store_packet(qp, &rwqe, src, pkt);
	if (syndrome) {
		sn_rq_fail(qp, &rwqe, syndrome);
		sn_qp_to_error(qp);
		return;
	}
	qp->datagram = (struct sn_datagram){
		.sqpn = from_be32(pkt->deth.sqpn) & 0xffffff,
		.slid = source_lid(port, &src->gid),
		.l3_type = l3_type(port, src),
	};
	sn_rq_done(qp, &rwqe, imm ? SN_CQE_RESP_SEND_IMM : SN_CQE_RESP_SEND,
		   pkt->len + SN_GRH_BYTES, imm ? pkt->imm : pkey, pkt->solicited, NULL);
}
