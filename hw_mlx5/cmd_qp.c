/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Commands for queue pairs (PRM, "QP States and Transitions"). */
#include <errno.h>
#include <string.h>

#include "core/dap.h"
#include "hw_mlx5/cmd.h"

int m5_cmd_qp(struct m5_ctl *ctl, const struct m5_qp_param *p, struct m5_obj **obj, uint32_t *qpn)
{
	struct m5_qp_in in = {
		.hdr.opcode = cpu_to_be16(M5_CMD_CREATE_QP),
		.qpc = {
			.state = cpu_to_be32(M5_QPC_ST_RC << 16 | M5_QPC_PM_MIGRATED << 11),
			.pd = cpu_to_be32(p->pdn),
			.sizes = cpu_to_be32(p->log_rq << 19 | p->log_rq_stride << 16 |
					     p->log_sq << 11 | M5_QPC_TS_DEFAULT),
			.uar_page = cpu_to_be32(p->uar_page),
			.user_index = cpu_to_be32(p->uidx),
			.cqn_snd = cpu_to_be32(p->send_cqn),
			.cqn_rcv = cpu_to_be32(p->recv_cqn),
			.dbr_addr = cpu_to_be64(p->dbrec),
			.cs = cpu_to_be32((p->small_reads ? M5_QPC_CS_REQ32 : 0) |
					  (p->small_recvs ? M5_QPC_CS_RES32 : 0)),
			.rq_type = cpu_to_be32(p->rmpn ? M5_QPC_RQ_SRQ << 24 | p->rmpn : 0),
			.dbr_umem_valid = cpu_to_be32(1u << 28),
			.dbr_umem_id = cpu_to_be32(p->umem_id),
		},
		.wq_umem_offset = cpu_to_be64(p->offset),
		.wq_umem_id = cpu_to_be32(p->umem_id),
		.wq_umem_valid = cpu_to_be32(1u << 31),
	};

	return m5_cmd_create(ctl, &in, sizeof(in), obj, qpn);
}

static int transition(const struct m5_qp_ref *qp, enum m5_opcode opcode, struct m5_qp_in *in)
{
	struct m5_obj_out out = { 0 };

	in->hdr.opcode = cpu_to_be16((uint16_t)opcode);
	in->qpn = cpu_to_be32(qp->qpn);
	return m5_cmd_obj(qp->ctl, qp->obj, in, sizeof(*in), &out, sizeof(out));
}

/* Atomics use the responder resources of reads; mode 1 is IBTA's. */
static uint32_t remote_rights(bool read)
{
	return (read ? 1u << 16 | 1u << 15 | 1u << 13 : 0) | 1u << 14;
}

/* The kernel may have freed the counter set since it was read: see uverbs_count.c. */
int m5_cmd_qp_init(const struct m5_qp_ref *qp, uint8_t port, uint16_t pkey_index,
		   bool remote_read)
{
	uint8_t *set = &qp->ctl->counter_set, number = __atomic_load_n(set, __ATOMIC_RELAXED);
	struct m5_qp_in in = {
		.qpc.state = cpu_to_be32(M5_QPC_PM_MIGRATED << 11),
		.qpc.uar_page = cpu_to_be32((uint32_t)number << 24),
		.qpc.primary.pkey = cpu_to_be32(pkey_index),
		.qpc.primary.mac_hi = cpu_to_be32((uint32_t)port << 16),
		.qpc.responder = cpu_to_be32(remote_rights(remote_read)),
	};
	int err = transition(qp, M5_CMD_RST2INIT_QP, &in);

	if (err != -EIO || !number)
		return err;
	in.qpc.uar_page = cpu_to_be32(0);
	err = transition(qp, M5_CMD_RST2INIT_QP, &in);
	if (!err && __atomic_exchange_n(set, 0, __ATOMIC_RELAXED))
		dap_log(DAP_LOG_WARN, "%s: hw_counters do not count this instance: their set %u is gone",
			qp->ctl->device, number);
	return err;
}

/* IBTA 9.7.5: 256 is 1, 4096 is 5. */
static uint32_t mtu_code(uint16_t mtu)
{
	uint32_t code = 1;

	while (code < 5 && 256u << code <= mtu)
		code++;
	return code;
}

static uint32_t log2_down(unsigned int n)
{
	return n > 1 ? 31u - (uint32_t)__builtin_clz(n) : 0;
}

/* Returns a source port of the dynamic range, the same for all packets of a connection (IBTA annex
 * A17). */
static uint32_t udp_sport(uint32_t a, uint32_t b)
{
	uint32_t hash = a * 0x9e3779b1u ^ b * 0x85ebca6bu;

	return 0xc000u | (hash >> 16 & 0x3fff);
}

static void address_path(struct m5_ads *ads, uint32_t qpn, const struct m5_qp_conn *c)
{
	uint32_t index = c->port->gid_index;

	if (!c->ethernet) {
		ads->pkey = cpu_to_be32(c->port->pkey_index);
		ads->lid = cpu_to_be32((c->grh ? M5_ADS_GRH : 0) | c->rlid);
		ads->mac_hi = cpu_to_be32((uint32_t)c->sl << 24 | (uint32_t)c->port->port_num << 16);
		if (c->grh) {
			ads->gid = cpu_to_be32(64);
			ads->flow = cpu_to_be32((uint32_t)c->tclass << 20);
			memcpy(ads->rgid, c->rgid, sizeof(ads->rgid));
		}
		return;
	}
	ads->gid = cpu_to_be32(index << 16 | 64);
	/* rlid is reserved on Ethernet; the software adapter takes the UDP port there. */
	ads->lid = cpu_to_be32(c->udp_port);
	memcpy(ads->rgid, c->rgid, sizeof(ads->rgid));
	/* RoCE v2 uses dscp, and sets the ECN bits itself; mlx5_ib sets both fields. */
	ads->flow = cpu_to_be32((uint32_t)c->tclass << 20);
	ads->udp = cpu_to_be32((uint32_t)c->tclass >> 2 << 16 | udp_sport(qpn, c->remote_qpn));
	ads->mac_hi = cpu_to_be32((uint32_t)c->sl << 28 | (uint32_t)c->port->port_num << 16 |
				  (uint32_t)c->rmac[0] << 8 | c->rmac[1]);
	ads->mac_lo = cpu_to_be32((uint32_t)c->rmac[2] << 24 | (uint32_t)c->rmac[3] << 16 |
				  (uint32_t)c->rmac[4] << 8 | c->rmac[5]);
}

/* A subnet manager may have moved the partition in the table since the QP was created. */
int m5_cmd_qp_rtr(const struct m5_qp_ref *qp, const struct m5_qp_conn *c)
{
	struct m5_qp_in in = {
		.opt_param_mask = cpu_to_be32(M5_OPT_RRE | M5_OPT_RAE | M5_OPT_RWE |
					      (c->ethernet ? 0 : M5_OPT_PKEY_INDEX)),
		.qpc.pd = cpu_to_be32(c->force_order ? M5_QPC_FORCE_ORDER : 0),
		.qpc.sizes = cpu_to_be32(mtu_code(c->mtu) << 29 | c->log_msg_max << 24),
		.qpc.remote_qpn = cpu_to_be32(c->remote_qpn),
		.qpc.responder = cpu_to_be32(m5_log2_up(c->rd_in) << 21 | remote_rights(c->rd_in)),
		.qpc.next_rcv_psn = cpu_to_be32((uint32_t)c->min_rnr << 24 | c->recv_psn),
	};

	address_path(&in.qpc.primary, qp->qpn, c);
	return transition(qp, M5_CMD_INIT2RTR_QP, &in);
}

int m5_cmd_qp_rts(const struct m5_qp_ref *qp, const struct m5_qp_conn *c)
{
	/* Requests an acknowledgement every 2^8 packets of a long message. */
	struct m5_qp_in in = {
		.qpc.retry = cpu_to_be32(8u << 28 | log2_down(c->rd_out) << 21 |
					 (uint32_t)c->retry_count << 16 |
					 (uint32_t)c->rnr_retry << 13),
		.qpc.next_send_psn = cpu_to_be32(c->send_psn),
		.qpc.primary.gid = cpu_to_be32((uint32_t)c->ack_timeout << 27),
	};

	return transition(qp, M5_CMD_RTR2RTS_QP, &in);
}

int m5_cmd_qp_error(const struct m5_qp_ref *qp)
{
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(M5_CMD_2ERR_QP),
				.number = cpu_to_be32(qp->qpn) };
	struct m5_obj_out out = { 0 };

	return m5_cmd_obj(qp->ctl, qp->obj, &in, sizeof(in), &out, sizeof(out));
}
