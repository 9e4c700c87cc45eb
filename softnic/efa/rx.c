/* SPDX-License-Identifier: BSD-2-Clause */
/* Executes a packet at its target. Returns the status that its sender gets. */
#include <stdlib.h>

#include "softnic/efa/nic.h"

enum {
	GRH = 40,
	/* After this number of further packets from the peer, the rest of a write does not come: a QP
	 * repeats message numbers after 2^20 messages, and a peer has at most SNE_SEQS packet numbers
	 * outstanding. */
	FORGET_AFTER = (1 << 20) - SNE_SEQS,
	/* Most writes of a peer that have arrived in part: four SQs of maximum depth, if all wait for
	 * receives. The peer sends others again, and in the end they fail. */
	RMSGS_MAX = 4 * 4096,
	/* Most reads of a peer that wait for their data: the maximum depth of an SQ. It sends others again
	 * until there is room. */
	JOBS_MAX = 4096,
};

static bool is_ready(const struct sne_qp *qp)
{
	return qp->now.state == SOFTNIC_EFA_RTR || qp->now.state == SOFTNIC_EFA_RTS;
}

/* A fault script can make this packet, or every packet, find its QP destroyed. */
static bool is_dead(struct sne_nic *nic)
{
	struct sne_fault *f = &nic->fault;

	if (!f->dead_on || !f->dead_in)
		return f->dead_on;
	f->dead_on = --f->dead_in != 0;
	return !f->dead_on;
}

static struct sne_qp *qp_by_number(struct sne_nic *nic, uint16_t qpn)
{
	struct sne_qp *qp = nic->qps[qpn % SNE_QPS];

	return qp && qp->qpn == qpn ? qp : NULL;
}

/*
 * SRD.txt of amzn-drivers: a packet that fails a check of its QP is dropped, and its ACK says so. No document
 * names the status for a wrong qkey. libefa reports BAD_QPN as IBTA's Remote Invalid RD Request, which a
 * wrong Q_Key causes. The sender of a datagram gets no status.
 */
static uint8_t find_target(struct sne_nic *nic, const struct sne_hdr *h, struct sne_qp **out)
{
	struct sne_qp *qp = qp_by_number(nic, h->dst_qpn);

	if (!qp || !is_ready(qp) || is_dead(nic) ||
	    (h->kind == SNE_K_DATAGRAM) != !!(qp->attr.flags & SOFTNIC_EFA_QP_UD))
		return SNE_REMOTE_BAD_QPN;
	if (h->qkey != qp->now.qkey) {
		nic->ctr.qkey_drops++;
		sne_violate(nic, SNE_V_RX_QKEY, "QP %u has qkey %#x, the packet of QP %u has %#x",
			    qp->qpn, qp->now.qkey, h->src_qpn, h->qkey);
		return SNE_REMOTE_BAD_QPN;
	}
	*out = qp;
	return SNE_OK;
}

/* ---- Packets for a receive */

/* The CQE of a received send may lack the number of the sender's AH, most likely when the AH is
 * new. */
static bool is_unnamed(struct sne_nic *nic, struct sne_ah *ah, const struct sne_hdr *h)
{
	if (h->kind == SNE_K_WRITE || nic->window == 1)
		return false;
	if (ah->late) {
		ah->late--;
		return true;
	}
	return sne_chance(nic, nic->fault.unnamed);
}

static void put_cqe(struct sne_nic *nic, struct sne_qp *qp, const struct sne_flow *flow,
		    const struct sne_hdr *h, struct sne_cqe *cqe, uint32_t len)
{
	struct sne_ah *ah = sne_ah_of_flow(flow, qp->attr.pd);

	if (ah && is_unnamed(nic, ah, h))
		ah = NULL;
	cqe->flags |= SNE_RQ << SNE_CQE_QUEUE_SHIFT;
	if (nic->fault.rx_op && h->kind == SNE_K_SEND)
		cqe->flags |= SNE_CQE_OP_OTHER << SNE_CQE_OP_SHIFT;
	if (h->flags & SNE_F_IMM) {
		cqe->flags |= SNE_CQE_IMM;
		cqe->rx.imm_lo = to_le16((uint16_t)h->imm);
		cqe->rx.imm_hi = to_le16((uint16_t)(h->imm >> 16));
	}
	cqe->qpn = to_le16(qp->qpn);
	cqe->rx.length = to_le16((uint16_t)len);
	cqe->rx.ah = to_le16(ah ? ah->number : SNE_AH_UNKNOWN);
	cqe->rx.src_qpn = to_le16(h->src_qpn);
	if (h->kind == SNE_K_WRITE)
		cqe->length_hi = to_le16((uint16_t)(len >> 16));
	else if (!ah && qp->rcq->attr.flags & SOFTNIC_EFA_CQ_SGID)
		memcpy(cqe->sgid, flow->dest.gid.raw, sizeof(cqe->sgid));
	sne_cqe_put(nic, qp->rcq, qp->rsub, cqe);
}

/* Copies the message to the receive's buffers. False: a key of the receive is invalid. */
static bool scatter(struct sne_nic *nic, struct sne_qp *qp, const struct sne_receive *r,
		    uint32_t off, const uint8_t *from, uint32_t len)
{
	enum sne_mr_error why;

	for (unsigned int i = 0; i < r->nsge && len; i++) {
		struct sne_sge part = r->sge[i];
		const struct sne_mr *mr;

		if (off >= part.len) {
			off -= part.len;
			continue;
		}
		part.addr += off;
		part.len = part.len - off < len ? part.len - off : len;
		off = 0;
		mr = sne_mr_local(nic, qp->attr.pd, &part, SOFTNIC_EFA_LOCAL_WRITE, &why);
		if (!mr || !sne_mr_write(nic, mr, part.addr, from, part.len))
			return false;
		from += part.len;
		len -= part.len;
	}
	return !len;
}

/* Writes the GRH in front of a datagram (IBTA 8.3). Only the addresses in it are set. */
static void make_grh(struct sne_nic *nic, const struct sne_flow *flow, uint32_t len,
		     uint8_t grh[GRH])
{
	memset(grh, 0, GRH);
	grh[0] = 0x60;
	grh[4] = (uint8_t)(len >> 8);
	grh[5] = (uint8_t)len;
	memcpy(grh + 8, flow->dest.gid.raw, 16);
	memcpy(grh + 24, nic->gid.raw, 16);
}

static uint8_t receive(struct sne_nic *nic, struct sne_qp *qp, struct sne_flow *flow,
		       const struct sne_hdr *h, const uint8_t *payload)
{
	uint32_t head = h->kind == SNE_K_DATAGRAM ? GRH : 0;
	struct sne_cqe cqe = { 0 };
	struct sne_receive r;
	uint8_t grh[GRH];

	if (sne_chance(nic, nic->fault.rnr) || !sne_rq_take(nic, qp, &r))
		return SNE_REMOTE_RNR;
	cqe.req_id = to_le16(r.req_id);
	if (r.room < head + h->len) {
		sne_violate(nic, SNE_V_RX_SHORT,
			    "QP %u: a message of %u bytes for a receive of %u", qp->qpn,
			    head + h->len, r.room);
		cqe.status = SNE_BAD_LENGTH;
		put_cqe(nic, qp, flow, h, &cqe, 0);
		return SNE_REMOTE_BAD_LENGTH;
	}
	if (head)
		make_grh(nic, flow, h->len, grh);
	if ((head && !scatter(nic, qp, &r, 0, grh, head)) ||
	    !scatter(nic, qp, &r, head, payload, h->len)) {
		cqe.status = SNE_INVALID_LKEY;
		put_cqe(nic, qp, flow, h, &cqe, 0);
		return SNE_REMOTE_BAD_STATUS;
	}
	put_cqe(nic, qp, flow, h, &cqe, head + h->len);
	return SNE_OK;
}

/* ---- RDMA requests */

static uint8_t check_rdma(struct sne_nic *nic, struct sne_qp *qp, const struct sne_flow *flow,
			  const struct sne_hdr *h, unsigned int access)
{
	static const enum sne_viol kinds[] = {
		[SNE_MR_KEY] = SNE_V_RX_ADDRESS,
		[SNE_MR_PD] = SNE_V_RX_ADDRESS,
		[SNE_MR_RIGHTS] = SNE_V_RX_RIGHTS,
	};
	bool has = h->kind == SNE_K_READ ? nic->caps.rdma_read : nic->caps.rdma_write;
	enum sne_mr_error why;

	if (!has) {
		sne_violate(nic, SNE_V_RX_OPCODE, "profile %s", nic->caps.profile);
		return SNE_FEATURE_MISMATCH;
	}
	if (!sne_ah_of_flow(flow, qp->attr.pd)) {
		sne_violate(nic, SNE_V_RX_UNKNOWN_PEER,
			    "QP %u: this device has no AH for the device of QP %u",
			    qp->qpn, h->src_qpn);
		return SNE_UNKNOWN_PEER;
	}
	if (h->flags & SNE_F_IMM &&
	    !(h->flags & SNE_F_UNSOLICITED) != !(qp->attr.flags & SOFTNIC_EFA_QP_UNSOLICITED)) {
		sne_violate(nic, SNE_V_RX_FEATURE,
			    "only one of QPs %u and %u has unsolicited writes",
			    h->src_qpn, qp->qpn);
		return SNE_FEATURE_MISMATCH;
	}
	if (h->msg_len &&
	    !sne_mr_remote(nic, qp->attr.pd, h->rkey, h->addr, h->msg_len, access, &why)) {
		sne_violate(nic, kinds[why], "QP %u: rkey %#x, address %#llx+%u", qp->qpn, h->rkey,
			    (unsigned long long)h->addr, h->msg_len);
		return SNE_REMOTE_BAD_ADDRESS;
	}
	return SNE_OK;
}

static void forget_rmsg(struct sne_rmsg *m)
{
	LIST_REMOVE(m, link);
	free(m);
}

static struct sne_rmsg *find_rmsg(struct sne_nic *nic, struct sne_qp *qp, struct sne_flow *flow,
				  const struct sne_hdr *h)
{
	struct sne_rmsg *m, *next;
	unsigned int n = 0;

	for (m = LIST_FIRST(&nic->rmsgs); m; m = next) {
		next = LIST_NEXT(m, link);
		if (m->flow != flow)
			continue;
		if ((int32_t)(h->seq - m->seq) > FORGET_AFTER) {
			forget_rmsg(m);
			continue;
		}
		n++;
		if (m->qp == qp && m->src_qpn == h->src_qpn && m->msg == h->msg) {
			m->seq = h->seq;
			return m;
		}
	}
	m = n < RMSGS_MAX ? calloc(1, sizeof(*m)) : NULL;
	if (!m)
		return NULL;
	m->flow = flow;
	m->qp = qp;
	m->src_qpn = h->src_qpn;
	m->msg = h->msg;
	m->seq = h->seq;
	LIST_INSERT_HEAD(&nic->rmsgs, m, link);
	return m;
}

/* The write is complete. Reports it once. This takes a receive, unless both QPs agreed on
 * unsolicited writes. */
static uint8_t report_write(struct sne_nic *nic, struct sne_qp *qp, struct sne_flow *flow,
			     const struct sne_hdr *h)
{
	struct sne_cqe cqe = { .flags = SNE_WRITE << SNE_CQE_OP_SHIFT };
	struct sne_receive r;

	if (qp->attr.flags & SOFTNIC_EFA_QP_UNSOLICITED) {
		cqe.flags |= SNE_CQE_UNSOLICITED;
	} else {
		if (sne_chance(nic, nic->fault.rnr) || !sne_rq_take(nic, qp, &r))
			return SNE_REMOTE_RNR;
		cqe.req_id = to_le16(r.req_id);
	}
	put_cqe(nic, qp, flow, h, &cqe, h->msg_len);
	return SNE_OK;
}

static uint8_t count_piece(struct sne_nic *nic, struct sne_qp *qp, struct sne_flow *flow,
			   const struct sne_hdr *h)
{
	struct sne_rmsg *m;
	uint8_t status;

	if (h->len == h->msg_len)
		return report_write(nic, qp, flow, h);
	m = find_rmsg(nic, qp, flow, h);
	if (!m)
		return SNE_SILENT;
	if (m->got + h->len < h->msg_len) {
		m->got += h->len;
		return SNE_OK;
	}
	status = report_write(nic, qp, flow, h);
	if (status == SNE_REMOTE_RNR)
		return status;
	forget_rmsg(m);
	return status;
}

static bool place_piece(struct sne_nic *nic, const struct sne_qp *qp, const struct sne_hdr *h,
			const uint8_t *payload)
{
	enum sne_mr_error why;
	const struct sne_mr *mr = sne_mr_remote(nic, qp->attr.pd, h->rkey, h->addr + h->off, h->len,
						SOFTNIC_EFA_REMOTE_WRITE, &why);

	return mr && sne_mr_place(nic, mr, h->addr + h->off, payload, h->len);
}

static uint8_t write(struct sne_nic *nic, struct sne_qp *qp, struct sne_flow *flow,
		     const struct sne_hdr *h, const uint8_t *payload)
{
	uint8_t status = check_rdma(nic, qp, flow, h, SOFTNIC_EFA_REMOTE_WRITE);

	if (status)
		return status;
	if (h->len && !place_piece(nic, qp, h, payload))
		return SNE_REMOTE_BAD_ADDRESS;
	return h->flags & SNE_F_IMM ? count_piece(nic, qp, flow, h) : SNE_OK;
}

static uint8_t read_request(struct sne_nic *nic, struct sne_qp *qp, struct sne_flow *flow,
			    const struct sne_hdr *h)
{
	uint8_t status = check_rdma(nic, qp, flow, h, SOFTNIC_EFA_REMOTE_READ);
	struct sne_job *job;

	if (status || !h->msg_len)
		return status;
	job = flow->njobs < JOBS_MAX ? calloc(1, sizeof(*job)) : NULL;
	if (!job)
		return SNE_SILENT;
	*job = (struct sne_job){
		.flow = flow,
		.qp = qp,
		.pd = qp->attr.pd,
		.src_qpn = qp->qpn,
		.dst_qpn = h->src_qpn,
		.msg = h->msg,
		.len = h->msg_len,
		.rkey = h->rkey,
		.addr = h->addr,
	};
	TAILQ_INSERT_TAIL(&flow->jobs, job, link);
	flow->njobs++;
	sne_update_sender(nic, flow);
	return SNE_OK;
}

/* Sends one piece of the read's data, or the status of its failure. False: there is no room for it
 * now. */
static bool answer(struct sne_nic *nic, struct sne_job *job)
{
	uint32_t left = job->len - job->next, len = left < SNE_MTU ? left : SNE_MTU;
	enum sne_mr_error why;
	const struct sne_mr *mr = !job->qp ? NULL :
		sne_mr_remote(nic, job->pd, job->rkey, job->addr + job->next, len,
			      SOFTNIC_EFA_REMOTE_READ, &why);
	struct sne_pkt *pkt;
	bool has;

	if (!sne_flow_has_room(nic, job->flow))
		return false;
	pkt = sne_pkt_new(nic, mr ? len : 0);
	if (!pkt)
		return false;
	has = mr && sne_mr_read(nic, mr, job->addr + job->next, pkt->payload, len);
	pkt->flow = job->flow;
	pkt->hdr.kind = SNE_K_DATA;
	pkt->hdr.src_qpn = job->src_qpn;
	pkt->hdr.dst_qpn = job->dst_qpn;
	pkt->hdr.msg = job->msg;
	pkt->hdr.msg_len = job->len;
	pkt->hdr.off = job->next;
	pkt->hdr.len = has ? len : 0;
	if (!has)
		pkt->hdr.status = job->qp ? SNE_REMOTE_BAD_ADDRESS : SNE_REMOTE_ABORT;
	job->next = has ? job->next + len : job->len;
	sne_flow_number(job->flow, pkt);
	sne_hold(nic, pkt);
	return true;
}

static void free_job(struct sne_nic *nic, struct sne_job *job)
{
	TAILQ_REMOVE(&job->flow->jobs, job, link);
	job->flow->njobs--;
	sne_update_sender(nic, job->flow);
	free(job);
}

void sne_answer_ended(struct sne_nic *nic, struct sne_flow *flow, const struct sne_hdr *data)
{
	struct sne_job *job;

	TAILQ_FOREACH(job, &flow->jobs, link) {
		if (job->dst_qpn == data->dst_qpn && job->msg == data->msg) {
			free_job(nic, job);
			return;
		}
	}
}

bool sne_answer_reads(struct sne_nic *nic)
{
	struct sne_flow *flow, *next;
	struct sne_job *job;
	bool did = false;

	for (flow = TAILQ_FIRST(&nic->senders); flow; flow = next) {
		next = TAILQ_NEXT(flow, by_work);
		while ((job = TAILQ_FIRST(&flow->jobs)) && answer(nic, job)) {
			did = true;
			if (job->next == job->len)
				free_job(nic, job);
		}
	}
	return did;
}

static uint8_t read_data(struct sne_nic *nic, struct sne_flow *flow, const struct sne_hdr *h,
			 const uint8_t *payload)
{
	struct sne_qp *qp = qp_by_number(nic, h->dst_qpn);
	struct sne_wr *wr = qp ? sne_wr_of_msg(qp, h->msg) : NULL;

	if (!wr || wr->flow != flow)
		return SNE_REMOTE_ABORT;
	sne_wr_data(nic, wr, h, payload);
	return SNE_OK;
}

/* ---- Payload that is placed twice: before its packet counts as received, and again afterwards */

static void place_early(struct sne_nic *nic, struct sne_qp *qp, const struct sne_hdr *h,
			const uint8_t *payload)
{
	struct sne_receive r;

	if (h->kind == SNE_K_WRITE)
		place_piece(nic, qp, h, payload);
	else if (sne_rq_peek(nic, qp, &r) && r.room >= h->len)
		scatter(nic, qp, &r, 0, payload, h->len);
}

static bool comes_again(struct sne_nic *nic, struct sne_qp *qp, struct sne_flow *flow,
			const struct sne_hdr *h, const uint8_t *payload)
{
	struct sne_pkt *copy;

	if ((h->kind != SNE_K_SEND && h->kind != SNE_K_WRITE) || !h->len ||
	    !sne_chance(nic, nic->fault.twice))
		return false;
	copy = sne_pkt_new(nic, h->len);
	if (!copy)
		return false;
	place_early(nic, qp, h, payload);
	copy->flow = flow;
	copy->hdr = *h;
	memcpy(copy->payload, payload, h->len);
	TAILQ_INSERT_TAIL(&nic->inbox, copy, by_time);
	return true;
}

/* Fault word `unknown`: the first RDMA packets from the device of an AH are refused. */
static bool is_unknown(struct sne_nic *nic, const struct sne_qp *qp, const struct sne_flow *flow,
		       const struct sne_hdr *h)
{
	struct sne_ah *ah = sne_ah_of_flow(flow, qp->attr.pd);

	if ((h->kind != SNE_K_WRITE && h->kind != SNE_K_READ) || !ah ||
	    ah->refused >= nic->fault.unknown)
		return false;
	ah->refused++;
	return true;
}

uint8_t sne_rx(struct sne_nic *nic, struct sne_flow *flow, const struct sne_hdr *h,
	       const uint8_t *payload)
{
	struct sne_qp *qp;
	uint8_t status;

	if (h->kind == SNE_K_DATA)
		return read_data(nic, flow, h, payload);
	status = find_target(nic, h, &qp);
	if (status)
		return status;
	if (is_unknown(nic, qp, flow, h))
		return SNE_UNKNOWN_PEER;
	if (comes_again(nic, qp, flow, h, payload))
		return SNE_SILENT;
	if (h->kind == SNE_K_WRITE)
		return write(nic, qp, flow, h, payload);
	if (h->kind == SNE_K_READ)
		return read_request(nic, qp, flow, h);
	return receive(nic, qp, flow, h, payload);
}

void sne_rx_forget(struct sne_nic *nic, struct sne_qp *qp)
{
	struct sne_flow *flow;
	struct sne_job *job;

	sne_rmsgs_forget(nic, qp, NULL);
	TAILQ_FOREACH(flow, &nic->senders, by_work)
		TAILQ_FOREACH(job, &flow->jobs, link)
			if (job->qp == qp)
				job->qp = NULL;
}
