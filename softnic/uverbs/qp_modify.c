/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_modify_qp: the attributes of each transition (IBTA 11.2.5.2), and its PRM command. */
#include <errno.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "softnic/uverbs/front.h"

enum { ANY_STATE = 0xff, NOT_RESET = 0xfe, ACK_REQ_FREQ = 8 };

enum { RATE_MAX = 23 };		/* IB_RATE_800_GBPS, which older headers lack */

/* A port's counters are the set with this number plus that of the port. The device itself has no counters. */
enum { COUNTER_SETS = 0x40 };

enum { RC = 1 << 0, UD = 1 << 1, OPT_RIGHTS = PRM_OPT_RRE | PRM_OPT_RAE | PRM_OPT_RWE };

/* The table is searched from the top: the first entry that matches service type, old state and new
 * state is used. */
static const struct transition {
	uint8_t service, from, to;
	uint16_t opcode;		/* 0: the transition needs no command */
	uint32_t required, optional;
	uint32_t optpar;		/* required attributes that the command takes as optional ones */
} transitions[] = {
	{ RC | UD, IBV_QPS_RESET, IBV_QPS_RESET, 0, 0, 0, 0 },
	{ RC | UD, ANY_STATE, IBV_QPS_RESET, PRM_2RST_QP, 0, 0, 0 },
	{ RC | UD, NOT_RESET, IBV_QPS_ERR, PRM_2ERR_QP, 0, 0, 0 },
	{ RC, IBV_QPS_RESET, IBV_QPS_INIT, PRM_RST2INIT_QP,
	  IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0, 0 },
	{ RC, IBV_QPS_INIT, IBV_QPS_INIT, PRM_INIT2INIT_QP,
	  0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	  OPT_RIGHTS | PRM_OPT_PKEY_INDEX | PRM_OPT_PRI_PORT },
	{ RC, IBV_QPS_INIT, IBV_QPS_RTR, PRM_INIT2RTR_QP,
	  IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	  IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX, OPT_RIGHTS | PRM_OPT_PKEY_INDEX },
	{ RC, IBV_QPS_RTR, IBV_QPS_RTS, PRM_RTR2RTS_QP,
	  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	  IBV_QP_MAX_QP_RD_ATOMIC,
	  IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE,
	  OPT_RIGHTS | PRM_OPT_RNR_TIMEOUT },
	{ RC, IBV_QPS_RTS, IBV_QPS_RTS, PRM_RTS2RTS_QP, 0,
	  IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE,
	  OPT_RIGHTS | PRM_OPT_RNR_TIMEOUT },
	{ UD, IBV_QPS_RESET, IBV_QPS_INIT, PRM_RST2INIT_QP,
	  IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0, 0 },
	{ UD, IBV_QPS_INIT, IBV_QPS_INIT, PRM_INIT2INIT_QP,
	  0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
	  PRM_OPT_Q_KEY | PRM_OPT_PKEY_INDEX | PRM_OPT_PRI_PORT },
	{ UD, IBV_QPS_INIT, IBV_QPS_RTR, PRM_INIT2RTR_QP,
	  0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY, PRM_OPT_Q_KEY | PRM_OPT_PKEY_INDEX },
	{ UD, IBV_QPS_RTR, IBV_QPS_RTS, PRM_RTR2RTS_QP,
	  IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY, PRM_OPT_Q_KEY },
	{ UD, IBV_QPS_RTS, IBV_QPS_RTS, PRM_RTS2RTS_QP, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY, PRM_OPT_Q_KEY },
	{ UD, IBV_QPS_SQE, IBV_QPS_RTS, PRM_SQERR2RTS_QP, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY, PRM_OPT_Q_KEY },
};

static bool is_ud(const struct uv_obj *qp)
{
	return qp->cap.qp_type == IBV_QPT_UD;
}

static const struct transition *find_transition(const struct uv_obj *qp, uint8_t from, uint8_t to)
{
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		const struct transition *t = &transitions[i];

		if (t->service & (is_ud(qp) ? UD : RC) && t->to == to &&
		    (t->from == from || t->from == ANY_STATE ||
		     (t->from == NOT_RESET && from != IBV_QPS_RESET)))
			return t;
	}
	return NULL;
}

/* RoCEv2 switches select the path by the UDP source port. It is constant per connection, in IANA's
 * dynamic range. */
static uint32_t udp_sport(uint32_t flow_label, uint32_t lqpn, uint32_t rqpn)
{
	uint64_t v = flow_label ? flow_label : (uint64_t)lqpn * rqpn;

	v ^= v >> 20;
	v ^= v >> 14;
	return 0xc000u | (uint32_t)(v & 0x3fff);
}

static void set_grh(uint8_t *path, const struct ib_uverbs_qp_dest *d)
{
	sn_set(path, ADS_GRH, 1);
	sn_set(path, ADS_SRC_ADDR_INDEX, d->sgid_index);
	sn_set(path, ADS_HOP_LIMIT, d->hop_limit);
	sn_set(path, ADS_TCLASS, d->traffic_class);
	sn_set(path, ADS_FLOW_LABEL, d->flow_label);
	memcpy(path + ADS_RGID, d->dgid, sizeof(d->dgid));
}

/* Sets the path to a LID. A GRH is sent if the program asks for one; between subnets it must. */
static int set_lid_path(uint8_t *path, const struct ib_uverbs_qp_dest *d)
{
	if (d->sl > 15 || !d->dlid)
		return -EINVAL;
	sn_set(path, ADS_RLID, d->dlid);
	sn_set(path, ADS_SL, d->sl);
	if (d->is_global)
		set_grh(path, d);
	return 0;
}

static int set_roce_path(struct uv_obj *qp, unsigned int port, uint8_t *path,
			 const struct ib_uverbs_modify_qp *in)
{
	const struct ib_uverbs_qp_dest *d = &in->dest;
	struct uv_gid sgid;
	uint8_t mac[6];
	int err;

	if (!d->is_global)
		return -EINVAL;
	err = uv_query_gid(qp->ctx->dev, port, d->sgid_index, &sgid);
	if (err)
		return err;
	uv_rmac_of(d->dgid, mac);
	set_grh(path, d);
	sn_set(path, ADS_ETH_PRIO, d->sl & 7u);
	sn_set(path, ADS_RMAC_HIGH, (uint32_t)mac[0] << 8 | mac[1]);
	sn_set(path, ADS_RMAC_LOW, (uint32_t)mac[2] << 24 | (uint32_t)mac[3] << 16 |
	       (uint32_t)mac[4] << 8 | mac[5]);
	if (sgid.version == PRM_ROCE_V2) {
		sn_set(path, ADS_UDP_SPORT, udp_sport(d->flow_label, qp->number, in->dest_qp_num));
		sn_set(path, ADS_DSCP, d->traffic_class >> 2);
	}
	return 0;
}

static int set_path(struct uv_obj *qp, uint8_t *qpc, const struct ib_uverbs_modify_qp *in)
{
	struct uv_device *dev = qp->ctx->dev;

	/* Linux: the port of a path must be that of the QP. */
	if (in->dest.port_num != qp->port || (in->dest.is_global && in->dest.sgid_index >= dev->gids))
		return -EINVAL;
	/* The device supports no static rates, so a valid one means that of the port, as in Linux. */
	if (in->dest.static_rate && (in->dest.static_rate < IBV_RATE_2_5_GBPS ||
				     in->dest.static_rate > RATE_MAX))
		return -EINVAL;
	return dev->infiniband ? set_lid_path(qpc + QPC_PATH, &in->dest)
			       : set_roce_path(qp, qp->port, qpc + QPC_PATH, in);
}

/* Linux, set_qpc_atomic_flags: a responder without resources for reads allows only writes. */
static void set_access(uint8_t *qpc, const struct uv_obj *qp, const struct ib_uverbs_modify_qp *in)
{
	uint32_t access = in->attr_mask & IBV_QP_ACCESS_FLAGS ? in->qp_access_flags : qp->access;

	if (!(in->attr_mask & IBV_QP_MAX_DEST_RD_ATOMIC ? in->max_dest_rd_atomic : qp->responder))
		access &= IBV_ACCESS_REMOTE_WRITE;
	sn_set(qpc, QPC_RRE, !!(access & IBV_ACCESS_REMOTE_READ));
	sn_set(qpc, QPC_RWE, !!(access & IBV_ACCESS_REMOTE_WRITE));
	if (access & IBV_ACCESS_REMOTE_ATOMIC) {
		sn_set(qpc, QPC_RAE, 1);
		sn_set(qpc, QPC_ATOMIC_MODE, PRM_ATOMIC_MODE_IB);
	}
}

/* Returns the optional parameters in the program's mask. */
static uint32_t optpar_of(uint32_t mask)
{
	return (mask & IBV_QP_ACCESS_FLAGS ? PRM_OPT_RRE | PRM_OPT_RAE | PRM_OPT_RWE : 0u) |
		(mask & IBV_QP_MAX_DEST_RD_ATOMIC ? PRM_OPT_RRE | PRM_OPT_RAE : 0u) |
		(mask & IBV_QP_PKEY_INDEX ? PRM_OPT_PKEY_INDEX : 0u) |
		(mask & IBV_QP_PORT ? PRM_OPT_PRI_PORT : 0u) |
		(mask & IBV_QP_QKEY ? PRM_OPT_Q_KEY : 0u) |
		(mask & IBV_QP_MIN_RNR_TIMER ? PRM_OPT_RNR_TIMEOUT : 0u);
}

static int check_values(const struct uv_obj *qp, const struct ib_uverbs_modify_qp *in)
{
	const struct uv_device *dev = qp->ctx->dev;
	uint32_t mask = in->attr_mask;

	if (mask & IBV_QP_PKEY_INDEX && in->pkey_index >= (dev->infiniband ? 2 : 1))
		return -EINVAL;
	if (mask & IBV_QP_PATH_MTU && (in->path_mtu < IBV_MTU_256 || in->path_mtu > IBV_MTU_4096))
		return -EINVAL;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC &&
	    in->max_rd_atomic > 1u << (uv_cap(dev, CAP_LOG_MAX_RA_REQ_QP) & 7))
		return -EINVAL;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC &&
	    in->max_dest_rd_atomic > 1u << (uv_cap(dev, CAP_LOG_MAX_RA_RES_QP) & 7))
		return -EINVAL;
	return 0;
}

static int fill_qpc(struct uv_obj *qp, uint8_t *qpc, const struct ib_uverbs_modify_qp *in)
{
	struct uv_device *dev = qp->ctx->dev;
	uint32_t mask = in->attr_mask;
	int err;

	sn_set(qpc, QPC_ST, is_ud(qp) ? PRM_ST_UD : PRM_ST_RC);
	sn_set(qpc, QPC_PM_STATE, PRM_PM_MIGRATED);
	if (mask & IBV_QP_AV) {
		err = set_path(qp, qpc, in);
		if (err)
			return err;
	}
	sn_set(qpc + QPC_PATH, ADS_PORT, mask & IBV_QP_PORT ? in->port_num : qp->port);
	if (mask & IBV_QP_PKEY_INDEX)
		sn_set(qpc + QPC_PATH, ADS_PKEY_INDEX, in->pkey_index);
	if (mask & IBV_QP_QKEY)
		sn_set(qpc, QPC_Q_KEY, in->qkey);
	if (mask & (IBV_QP_ACCESS_FLAGS | IBV_QP_MAX_DEST_RD_ATOMIC))
		set_access(qpc, qp, in);
	if (mask & IBV_QP_PATH_MTU) {
		sn_set(qpc, QPC_MTU, in->path_mtu);
		sn_set(qpc, QPC_LOG_MSG_MAX, uv_cap(dev, CAP_LOG_MAX_MSG));
	}
	if (mask & IBV_QP_DEST_QPN)
		sn_set(qpc, QPC_REMOTE_QPN, in->dest_qp_num);
	if (mask & IBV_QP_RQ_PSN)
		sn_set(qpc, QPC_NEXT_RCV_PSN, in->rq_psn);
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		sn_set(qpc, QPC_LOG_RRA_MAX, uv_log2_above(in->max_dest_rd_atomic));
	if (mask & IBV_QP_MIN_RNR_TIMER)
		sn_set(qpc, QPC_MIN_RNR_NAK, in->min_rnr_timer);
	if (mask & IBV_QP_TIMEOUT)
		sn_set(qpc + QPC_PATH, ADS_ACK_TIMEOUT, in->timeout);
	if (mask & IBV_QP_RETRY_CNT)
		sn_set(qpc, QPC_RETRY_COUNT, in->retry_cnt);
	if (mask & IBV_QP_RNR_RETRY)
		sn_set(qpc, QPC_RNR_RETRY, in->rnr_retry);
	if (mask & IBV_QP_SQ_PSN)
		sn_set(qpc, QPC_NEXT_SEND_PSN, in->sq_psn);
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC) {
		sn_set(qpc, QPC_LOG_SRA_MAX, uv_log2_above(in->max_rd_atomic));
		sn_set(qpc, QPC_LOG_ACK_REQ_FREQ, ACK_REQ_FREQ);
	}
	return 0;
}

/* Sets fields of a UD QP. A datagram is one packet of at most the port's MTU. */
static void set_datagram(uint8_t *qpc)
{
	sn_set(qpc, QPC_MTU, IBV_MTU_4096);
	sn_set(qpc, QPC_LOG_MSG_MAX, 12);
}

static int execute_transition(struct uv_obj *qp, const struct transition *t,
		   const struct ib_uverbs_modify_qp *in)
{
	uint8_t cmd[PRM_OBJECT_IN] = { 0 }, out[PRM_SHORT];
	int err;

	if (!t->opcode)
		return 0;
	if (t->opcode == PRM_2ERR_QP || t->opcode == PRM_2RST_QP)
		return uv_cmd_number(qp->ctx->dev, t->opcode, qp->number, NULL, 0);
	sn_set(cmd, PRM_OPCODE, t->opcode);
	sn_set(cmd, PRM_NUMBER, qp->number);
	if (is_ud(qp) && t->opcode == PRM_INIT2RTR_QP)
		set_datagram(cmd + PRM_QPC);
	sn_set(cmd, QP_OPT_PARAM, optpar_of(in->attr_mask) & t->optpar);
	err = fill_qpc(qp, cmd + PRM_QPC, in);
	/* Linux, __mlx5_ib_modify_qp: from here on the counters of the port in sysfs count the QP. */
	if (t->opcode == PRM_RST2INIT_QP)
		sn_set(cmd + PRM_QPC, QPC_COUNTER_SET, COUNTER_SETS + in->port_num);
	return err ? err : uv_cmd(qp->ctx->dev, cmd, sizeof(cmd), out, sizeof(out));
}

int uv_modify_qp(struct uv_req *req)
{
	struct uv_obj *qp = req->obj;
	const struct transition *t;
	struct ib_uverbs_modify_qp in;
	int err = uv_modify_qp_args(req, &in);

	if (err)
		return err;
	t = find_transition(qp, in.cur_qp_state, in.qp_state);
	if (!t || (in.attr_mask & t->required) != t->required ||
	    in.attr_mask & ~(t->required | t->optional | IBV_QP_STATE))
		return -EINVAL;
	err = check_values(qp, &in);
	if (!err)
		err = execute_transition(qp, t, &in);
	if (err)
		return err;
	if (in.attr_mask & IBV_QP_PORT)
		qp->port = in.port_num;
	if (in.attr_mask & IBV_QP_ACCESS_FLAGS)
		qp->access = in.qp_access_flags;
	if (in.attr_mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		qp->responder = in.max_dest_rd_atomic;
	return uv_qp_modified(req, in.qp_state);
}
