/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QP transitions. The required attributes of a transition are always taken; optional ones only with
 * their bit of opt_param_mask, as in firmware. PRM "QP state transitions". A bit that the transition does not
 * allow to the service is refused: Linux (opt_mask of mlx5_ib) never sets one, and a driver that does relies
 * on an attribute that is not taken.
 */
#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"

struct request {
	struct sn_cmd *c;
	struct sn_qp *qp;
	const uint8_t *ctx, *ads;
	uint32_t opt;
};

typedef uint8_t transition_fn(const struct request *r);

/* Stores a field that the device itself never changes, for QUERY_QP. */
static void keep_field(const struct request *r, struct sn_fld f)
{
	sn_set(r->qp->ctx, f, sn_get(r->ctx, f));
}

static void keep_path(const struct request *r, struct sn_fld f)
{
	sn_set(r->qp->ctx + AT_ADS, f, sn_get(r->ads, f));
}

static void take_access(const struct request *r, uint32_t which)
{
	if (which & OPT_RRE)
		r->qp->rre = sn_get(r->ctx, QPC_RRE);
	if (which & OPT_RWE)
		r->qp->rwe = sn_get(r->ctx, QPC_RWE);
	if (!(which & OPT_RAE))
		return;
	r->qp->rae = sn_get(r->ctx, QPC_RAE);
	r->qp->atomic_mode = (uint8_t)sn_get(r->ctx, QPC_ATOMIC_MODE);
}

static void take_optional(const struct request *r)
{
	take_access(r, r->opt);
	if (r->opt & OPT_Q_KEY)
		r->qp->qkey = sn_get(r->ctx, QPC_QKEY);
	if (r->opt & OPT_RNR_TIMEOUT)
		r->qp->min_rnr_nak = (uint8_t)sn_get(r->ctx, QPC_MIN_RNR);
}

/* which: OPT_PRI_PORT, OPT_PKEY_INDEX or both. Both are checked before one is taken. */
static uint8_t take_port(const struct request *r, uint32_t which)
{
	uint32_t port = sn_get(r->ads, ADS_PORT), index = sn_get(r->ads, ADS_PKEY_INDEX);
	uint16_t pkey = r->qp->pkey;

	if (which & OPT_PRI_PORT && (!port || port > r->c->nic->ports))
		return sn_cmd_refuse(r->c, STAT_BAD_PARAM, "vhca_port_num %u", port);
	if (which & OPT_PKEY_INDEX && !sn_port_pkey(r->c->nic, index, &pkey))
		return sn_cmd_refuse(r->c, STAT_BAD_PARAM, "pkey_index %u", index);
	r->qp->pkey = pkey;
	if (which & OPT_PKEY_INDEX)
		keep_path(r, ADS_PKEY_INDEX);
	if (which & OPT_PRI_PORT) {
		r->qp->port = &r->c->nic->port[port - 1];
		keep_path(r, ADS_PORT);
	}
	return STAT_OK;
}

/* The sets of a driver that has given each port one. The device has no counters, and allocates no sets. */
enum { COUNTER_SETS = 0x40 };

static uint8_t take_counter_set(const struct request *r)
{
	uint32_t set = sn_get(r->ctx, QPC_COUNTER_SET);

	if (set && (set <= COUNTER_SETS || set > COUNTER_SETS + r->c->nic->ports))
		return sn_cmd_refuse(r->c, STAT_BAD_PARAM, "counter_set_id %u", set);
	keep_field(r, QPC_COUNTER_SET);
	return STAT_OK;
}

/* IBTA, modify QP, reset to init: P_Key index, port, access flags or Q_Key are required. */
static uint8_t to_init(const struct request *r)
{
	uint8_t status = take_port(r, OPT_PRI_PORT | OPT_PKEY_INDEX);

	if (!status)
		status = take_counter_set(r);
	if (status)
		return status;
	r->qp->qkey = sn_get(r->ctx, QPC_QKEY);
	take_access(r, OPT_RRE | OPT_RWE | OPT_RAE);
	return STAT_OK;
}

/* IBTA, init to init: all of these attributes are optional. */
static uint8_t stay_init(const struct request *r)
{
	return take_port(r, r->opt);
}

/* PRM "Address Path": tclass belongs to a GRH. DSCP and ECN of an IP header have fields of their own. */
static uint8_t traffic_class(const struct request *r)
{
	if (r->c->nic->infiniband)
		return (uint8_t)sn_get(r->ads, ADS_TCLASS);
	return (uint8_t)(sn_get(r->ads, ADS_DSCP) << 2 | sn_get(r->ads, ADS_ECN));
}

static void take_path(const struct request *r, struct sn_av *av)
{
	*av = (struct sn_av){
		.gid_index = (uint8_t)sn_get(r->ads, ADS_SRC_INDEX),
		.hop_limit = (uint8_t)sn_get(r->ads, ADS_HOP_LIMIT),
		.tclass = traffic_class(r),
		.udp_sport = (uint16_t)sn_get(r->ads, ADS_UDP_SPORT),
		.rlid = (uint16_t)sn_get(r->ads, ADS_RLID),
		.flow_label = sn_get(r->ads, ADS_FLOW_LABEL),
		.grh = sn_get(r->ads, ADS_GRH),
		.force_loopback = sn_get(r->ads, ADS_FL),
	};
	memcpy(av->rgid, r->ads + ADS_RGID, sizeof(av->rgid));
	memcpy(av->rmac, r->ads + ADS_RMAC, sizeof(av->rmac));
}

/* PRM "Address Path": the fields of one link layer are reserved on the other. */
static const char *reserved_fault(const struct request *r)
{
	const uint8_t *ads = r->ads;

	if (!r->c->nic->infiniband && sn_get(ads, ADS_SL))
		return "sl: reserved on Ethernet, where eth_prio is the priority";
	if (!r->c->nic->infiniband)
		return NULL;
	if (sn_get(ads, ADS_ETH_PRIO))
		return "eth_prio: reserved on InfiniBand";
	if (sn_get(ads, ADS_DSCP) || sn_get(ads, ADS_ECN) || sn_get(ads, ADS_UDP_SPORT))
		return "dscp, ecn, udp_sport: reserved on InfiniBand";
	return NULL;
}

/*
 * The model has RoCE v2 only. Linux and UCX set the source port of each RC QP, so 0 does not mean a
 * default. No port can be above the maximum, since that is 65535.
 */
static bool wrong_sport(const struct request *r, const struct sn_av *av)
{
	return !r->c->nic->infiniband && !av->force_loopback && av->udp_sport < SN_SPORT_MIN;
}

/*
 * Linux, UCX and DPDK set the port of the QP in the path, too. While RoCE is off, no connection has a path,
 * not even one within the device: fl_rc_qp_when_roce_disabled is not among the capabilities (Linux,
 * dr_send_allow_fl() of mlx5_core).
 */
static uint8_t check_path(const struct request *r, const struct sn_av *av)
{
	uint32_t port = sn_get(r->ads, ADS_PORT), own = sn_get(r->qp->ctx + AT_ADS, ADS_PORT);
	const char *fault = sn_path_fault(r->qp->port, av);

	if (port != own)
		return sn_cmd_refuse(r->c, STAT_BAD_PARAM, "vhca_port_num %u: the QP has port %u", port, own);
	if (!r->c->nic->infiniband && !r->c->nic->dev->roce_en)
		fault = "roce_en of the vport is 0";
	if (!fault)
		fault = reserved_fault(r);
	if (!fault && wrong_sport(r, av))
		return sn_cmd_refuse(r->c, STAT_BAD_PARAM, "udp_sport %#x: below %#x", av->udp_sport,
				     SN_SPORT_MIN);
	return fault ? sn_cmd_refuse(r->c, STAT_BAD_PARAM, "%s", fault) : STAT_OK;
}

/* A ConnectX refuses a path MTU above that of its port. Linux sets that of a datagram QP to 4096 always. */
static bool is_mtu_too_large(const struct sn_qp *qp, unsigned int mtu)
{
	return !qp->ud && !qp->nic->infiniband && (128u << mtu) + SN_FRAME_HEADERS > sn_port_frame(qp->nic);
}

/* Init to RTR: path, MTU, destination, receive PSN, responder resources, RNR timer. */
static uint8_t to_rtr(const struct request *r)
{
	struct sn_qp *qp = r->qp;
	unsigned int mtu = sn_get(r->ctx, QPC_MTU);
	unsigned int log_msg = sn_get(r->ctx, QPC_LOG_MSG_MAX);
	uint32_t pkey_index, port = sn_get(qp->ctx + AT_ADS, ADS_PORT);
	struct sn_av av;
	uint8_t status;

	if (mtu < 1 || mtu > 5 || is_mtu_too_large(qp, mtu))
		return sn_cmd_refuse(r->c, STAT_BAD_PARAM, "mtu %u", mtu);
	if (log_msg > SN_LOG_MSG_MAX)
		return sn_cmd_refuse(r->c, STAT_BAD_PARAM, "log_msg_max %u", log_msg);
	if (sn_get(r->ctx, QPC_LOG_RRA_MAX) > SN_LOG_READS)
		return sn_cmd_refuse(r->c, STAT_BAD_PARAM, "log_rra_max is above the capability");
	if (!qp->nic->infiniband && sn_get(r->ads, ADS_DEI_CFI))
		return sn_cmd_refuse(r->c, STAT_BAD_PARAM, "dei_cfi is not among the capabilities");
	take_path(r, &av);
	status = qp->ud ? STAT_OK : check_path(r, &av);
	if (!status)
		status = take_port(r, r->opt & OPT_PKEY_INDEX);
	if (status)
		return status;
	if (sn_fabric_listen(qp, &av))
		return STAT_NO_RES;
	qp->av = av;
	qp->mtu = (uint16_t)(128u << mtu);
	qp->log_msg_max = (uint8_t)log_msg;
	qp->remote_qpn = sn_get(r->ctx, QPC_REMOTE_QPN);
	qp->rq_psn = sn_get(r->ctx, QPC_RCV_PSN);
	qp->max_dest_rd_atomic = (uint8_t)(1u << sn_get(r->ctx, QPC_LOG_RRA_MAX));
	qp->min_rnr_nak = (uint8_t)sn_get(r->ctx, QPC_MIN_RNR);
	pkey_index = sn_get(qp->ctx + AT_ADS, ADS_PKEY_INDEX);
	memcpy(qp->ctx + AT_ADS, r->ads, ADS_BYTES);
	sn_set(qp->ctx + AT_ADS, ADS_PKEY_INDEX, pkey_index);
	sn_set(qp->ctx + AT_ADS, ADS_PORT, port);
	keep_field(r, QPC_MTU);
	keep_field(r, QPC_LOG_MSG_MAX);
	keep_field(r, QPC_LOG_RRA_MAX);
	return STAT_OK;
}

/* RTR to RTS: send PSN, timeout, the two retry counts, outstanding reads. */
static uint8_t to_rts(const struct request *r)
{
	struct sn_qp *qp = r->qp;

	if (sn_get(r->ctx, QPC_LOG_SRA_MAX) > SN_LOG_READS)
		return sn_cmd_refuse(r->c, STAT_BAD_PARAM, "log_sra_max is above the capability");
	qp->sq_psn = sn_get(r->ctx, QPC_SEND_PSN);
	qp->max_rd_atomic = (uint8_t)(1u << sn_get(r->ctx, QPC_LOG_SRA_MAX));
	qp->retry_count = (uint8_t)sn_get(r->ctx, QPC_RETRY);
	qp->rnr_retry = (uint8_t)sn_get(r->ctx, QPC_RNR_RETRY);
	qp->av.ack_timeout = (uint8_t)sn_get(r->ads, ADS_ACK_TIMEOUT);
	keep_path(r, ADS_ACK_TIMEOUT);
	keep_field(r, QPC_LOG_SRA_MAX);
	keep_field(r, QPC_RETRY);
	keep_field(r, QPC_RNR_RETRY);
	keep_field(r, QPC_ACK_FREQ);
	return STAT_OK;
}

enum { OPT_RIGHTS = OPT_RRE | OPT_RAE | OPT_RWE };
#define FROM(state) (1u << SN_QP_##state)
#define ANY (FROM(RST) | FROM(INIT) | FROM(RTR) | FROM(RTS) | FROM(SQER) | FROM(ERR))

static const struct transition {
	uint16_t opcode;
	unsigned int from;
	enum sn_qp_state to;
	transition_fn *take;		/* takes the attributes; NULL: there are only optional ones */
	uint32_t rc, ud;		/* the bits of opt_param_mask that it allows each service */
} transitions[] = {
	{ CMD_RST2INIT_QP, FROM(RST), SN_QP_INIT, to_init, 0, 0 },
	{ CMD_INIT2INIT_QP, FROM(INIT), SN_QP_INIT, stay_init,
	  OPT_RIGHTS | OPT_PKEY_INDEX | OPT_PRI_PORT, OPT_Q_KEY | OPT_PKEY_INDEX | OPT_PRI_PORT },
	{ CMD_INIT2RTR_QP, FROM(INIT), SN_QP_RTR, to_rtr,
	  OPT_RIGHTS | OPT_PKEY_INDEX, OPT_Q_KEY | OPT_PKEY_INDEX },
	{ CMD_RTR2RTS_QP, FROM(RTR), SN_QP_RTS, to_rts, OPT_RIGHTS | OPT_RNR_TIMEOUT, OPT_Q_KEY },
	{ CMD_RTS2RTS_QP, FROM(RTS), SN_QP_RTS, NULL, OPT_RIGHTS | OPT_RNR_TIMEOUT, OPT_Q_KEY },
	{ CMD_SQERR2RTS_QP, FROM(SQER), SN_QP_RTS, NULL, 0, OPT_Q_KEY },
	{ CMD_2ERR_QP, ANY, SN_QP_ERR, NULL, 0, 0 },
	{ CMD_2RST_QP, ANY, SN_QP_RST, NULL, 0, 0 },
};

static const struct transition *find_transition(uint16_t opcode)
{
	const struct transition *t = transitions;

	while (t->opcode != opcode)
		t++;
	return t;
}

static void enter_state(struct sn_qp *qp, enum sn_qp_state to)
{
	enum sn_qp_state from = qp->state;

	if (to == SN_QP_ERR) {
		sn_qp_to_error(qp);
		return;
	}
	if (to == SN_QP_RST)
		sn_qp_reset_queues(qp);
	if (from == SN_QP_SQER)
		qp->sq_stopped = false;
	qp->state = to;
	sn_rc_modified(qp, from);
	sn_ud_modified(qp, from);
}

/* Each bit of this second mask belongs to a capability that the model lacks. */
static bool has_second_mask(const struct sn_cmd *c, const struct transition *t)
{
	return (t->opcode == CMD_INIT2INIT_QP || t->opcode == CMD_RTS2RTS_QP) && c->inlen >= AT_PAS &&
		sn_get64(c->in, QP_OPT_MASK_95_32);
}

/* The ranges are checked first, so a bad context leaves the QP unchanged. */
uint8_t sn_cmd_modify_qp(struct sn_cmd *c)
{
	const struct transition *t = find_transition((uint16_t)sn_get(c->in, CMD_OPCODE));
	struct request r = {
		.c = c,
		.qp = sn_qp_find(c->nic, sn_get(c->in, CMD_NUMBER)),
		.ctx = c->in + AT_QPC,
		.ads = c->in + AT_QPC + AT_ADS,
	};
	uint32_t allowed;
	uint8_t status;

	if (!r.qp)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no such QP: %#x", sn_get(c->in, CMD_NUMBER));
	if (!(t->from >> r.qp->state & 1))
		return sn_cmd_refuse(c, STAT_BAD_QP_STATE, "QP %#x is in state %u", r.qp->qpn,
				     r.qp->state);
	/* 2ERR and 2RST have no mask. */
	if (t->from != ANY)
		r.opt = sn_get32(c->in, QP_OPT_MASK);
	allowed = r.qp->ud ? t->ud : t->rc;
	if (r.opt & ~allowed)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "opt_param_mask %#x: only %#x is allowed", r.opt,
				     allowed);
	if (has_second_mask(c, t))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "opt_param_mask_95_32 is not among the capabilities");
	status = t->take ? t->take(&r) : STAT_OK;
	if (status)
		return status;
	take_optional(&r);
	enter_state(r.qp, t->to);
	return STAT_OK;
}
