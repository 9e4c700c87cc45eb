/* SPDX-License-Identifier: BSD-2-Clause */
/* The port: between the QPs of one device and the fabric. Addresses, ICRC, dispatch. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "softnic/mlx5/rc.h"

enum {
	POLL_BUDGET = 32,
	LATER_POLLS = 64,	/* in vain, before ACKs that were put off go out */
	OPEN_TRIES = 8,
	UDP_SPORT = 0xc000,
};

struct sn_fabric {
	struct sn_fab *fab;
	uint32_t fault_generation;
	struct sn_timer chaos;		/* a fault script holds packets back until then */
	TAILQ_HEAD(, sn_rc) blocked;
	TAILQ_HEAD(, sn_rc) later;
	unsigned int idle;		/* polls in vain since the last of them */
	struct sn_rc_hand hand;
};

struct sn_rc_hand *sn_rc_hand(struct sn_nic *nic)
{
	return &nic->fabric->hand;
}

static void to_addr(const uint8_t gid[16], struct sn_addr *addr)
{
	memcpy(addr->raw, gid, sizeof(addr->raw));
}

/* The address that follows from the MAC. */
void sn_port_first_gid(const uint8_t m[6], uint8_t gid[16])
{
	memcpy(gid, (uint8_t[]){0xfe, 0x80, 0, 0, 0, 0, 0, 0, m[0] ^ 2, m[1], m[2], 0xff, 0xfe,
				m[3], m[4], m[5]}, 16);
}

/* A locally administered MAC, random but for the adapter's index, and the GID made from it. */
static int choose_address(struct sn_nic *nic)
{
	struct sn_gid *g = &nic->gid[0];
	uint8_t *m = nic->mac;

	if (getrandom(m, 6, 0) != 6)
		return -EAGAIN;
	m[0] = (uint8_t)((m[0] & 0xfc) | 0x02);
	m[5] = (uint8_t)nic->config.index;
	sn_port_first_gid(m, nic->port_gid);
	*g = (struct sn_gid){.version = 2, .valid = true, .v6 = true};
	memcpy(g->mac, m, 6);
	memcpy(g->gid, nic->port_gid, 16);
	return 0;
}

static uint32_t icrc_of(const uint8_t src[16], const uint8_t dst[16], const struct iovec *iov,
			unsigned int n)
{
	struct sn_outer outer = {.sport = UDP_SPORT};

	memcpy(outer.src, src, sizeof(outer.src));
	memcpy(outer.dst, dst, sizeof(outer.dst));
	return sn_icrc(&outer, iov, n);
}

static bool acceptable(const struct sn_nic *nic, const struct sn_addr *src, const void *bytes,
		       size_t len)
{
	struct iovec iov = {(void *)(uintptr_t)bytes, len - SN_ICRC};
	uint32_t icrc;

	if (len < sizeof(struct sn_bth) + SN_ICRC)
		return false;
	memcpy(&icrc, (const uint8_t *)bytes + iov.iov_len, sizeof(icrc));
	/* Shared memory does not flip bits: zero says that the sender saved itself the work. */
	return !icrc || icrc == icrc_of(src->raw, nic->port_gid, &iov, 1);
}

static struct sn_qp *receiver(struct sn_nic *nic, const struct sn_addr *src,
			      const struct sn_packet *pkt)
{
	struct sn_qp *qp = sn_qp_find(nic, pkt->dqpn);

	if (!qp || !qp->rc || !sn_addr_equal(src, &qp->rc->dest.gid))
		return NULL;
	if (qp->state == SN_QP_RTS || (qp->state == SN_QP_RTR && pkt->shape->class < SN_C_READ_RESP))
		return qp;
	return NULL;
}

static void dispatch(struct sn_qp *qp, const struct sn_packet *pkt)
{
	switch ((enum sn_bth_class)pkt->shape->class) {
	case SN_C_SEND:
	case SN_C_WRITE:
	case SN_C_READ:
	case SN_C_ATOMIC:
		sn_rc_request_in(qp, pkt);
		break;
	case SN_C_READ_RESP:
		sn_rc_read_in(qp, pkt);
		break;
	case SN_C_ACK:
		sn_rc_ack_in(qp, pkt);
		break;
	case SN_C_ATOMIC_ACK:
		sn_rc_atomic_in(qp, pkt);
		break;
	case SN_C_NONE:
		break;
	}
}

static void deliver(void *ctx, const struct sn_addr *src, const void *bytes, size_t len)
{
	struct sn_nic *nic = ctx;
	struct sn_packet pkt;
	struct sn_qp *qp;

	if (nic->link_down || !acceptable(nic, src, bytes, len)) {
		nic->ctr.rx_packets++;
		nic->ctr.drops++;
		return;
	}
	if (!sn_packet_parse(bytes, len, &pkt)) {
		nic->ctr.rx_packets++;
		nic->ctr.drops++;
		sn_violate(nic, SN_V_RX_MALFORMED, "a packet of %zu bytes", len);
		return;
	}
	nic->ctr.rx_packets += pkt.train;
	qp = receiver(nic, src, &pkt);
	if (qp)
		dispatch(qp, &pkt);
	else
		nic->ctr.drops++;
}

static void down(void *ctx, const struct sn_addr *peer)
{
	struct sn_nic *nic = ctx;
	uint32_t i;

	for (i = 0; nic->qps.slot && i <= nic->qps.mask; i++) {
		struct sn_qp *qp = nic->qps.slot[i] ? sn_qp_find(nic, nic->qps.number[i]) : NULL;

		if (qp && qp->rc && sn_addr_equal(peer, &qp->rc->dest.gid))
			sn_rc_link_lost(qp);
	}
}

static void chaos_due(struct sn_nic *nic, struct sn_timer *timer)
{
	(void)nic;
	(void)timer;	/* the poll that follows releases the packets */
}

static int open_fab(struct sn_nic *nic, const uint8_t gid[16], struct sn_fab **fab)
{
	struct sn_fab_config config = {.deliver = deliver, .down = down, .ctx = nic};

	to_addr(gid, &config.gid);
	if (nic->config.flags & SOFTNIC_LOOPBACK_ONLY)
		config.flags |= SN_FAB_ALONE;
	return sn_fab_open(&config, fab);
}

static int open_port(struct sn_nic *nic)
{
	int err = choose_address(nic);

	return err ? err : open_fab(nic, nic->port_gid, &nic->fabric->fab);
}

int sn_fabric_open(struct sn_nic *nic)
{
	int i, err = -EADDRINUSE;

	nic->fabric = calloc(1, sizeof(*nic->fabric));
	if (!nic->fabric)
		return -ENOMEM;
	nic->fabric->chaos.fire = chaos_due;
	TAILQ_INIT(&nic->fabric->blocked);
	TAILQ_INIT(&nic->fabric->later);
	for (i = 0; err == -EADDRINUSE && i < OPEN_TRIES; i++)
		err = open_port(nic);
	if (err) {
		free(nic->fabric);
		nic->fabric = NULL;
	}
	return err;
}

void sn_fabric_close(struct sn_nic *nic)
{
	if (!nic->fabric)
		return;
	sn_timer_cancel(nic, &nic->fabric->chaos);
	sn_fab_close(nic->fabric->fab);
	free(nic->fabric);
	nic->fabric = NULL;
}

static void lose_links(struct sn_nic *nic)
{
	uint32_t i;

	for (i = 0; nic->qps.slot && i <= nic->qps.mask; i++) {
		struct sn_qp *qp = nic->qps.slot[i] ? sn_qp_find(nic, nic->qps.number[i]) : NULL;

		if (qp && qp->rc)
			sn_rc_link_lost(qp);
	}
}

int sn_fabric_readdress(struct sn_nic *nic, const uint8_t gid[16])
{
	struct sn_fab *fab;
	int err = memcmp(nic->port_gid, gid, 16) ? open_fab(nic, gid, &fab) : -EALREADY;

	if (err)
		return err == -EALREADY ? 0 : err;
	sn_fab_close(nic->fabric->fab);
	nic->fabric->fab = fab;
	nic->fabric->fault_generation = ~nic->fault.generation;
	memcpy(nic->port_gid, gid, 16);
	lose_links(nic);
	sn_thread_rewatch(nic);
	return 0;
}

static void obey_script(struct sn_nic *nic)
{
	const struct sn_fault *fault = &nic->fault;
	struct sn_fab_faults faults;

	if (nic->fabric->fault_generation == fault->generation)
		return;
	faults = (struct sn_fab_faults){fault->drop, fault->dup, fault->reorder, fault->corrupt,
					fault->delay, fault->seed};
	if (!sn_fab_set_faults(nic->fabric->fab, &faults))
		nic->fabric->fault_generation = fault->generation;
}

static bool unblock(struct sn_fabric *fabric)
{
	struct sn_rc *rc, *next;
	bool any = false;

	for (rc = TAILQ_FIRST(&fabric->blocked); rc; rc = next) {
		next = TAILQ_NEXT(rc, blocked_link);
		if (!sn_fab_has_room(fabric->fab, &rc->dest))
			continue;
		sn_rc_unblock(rc->qp);
		sn_qp_kick(rc->qp);
		any = true;
	}
	return any;
}

static bool may_wait(const struct sn_nic *nic)
{
	return !nic->hurried && !nic->cqs_armed && nic->fabric->idle < LATER_POLLS;
}

/* Always true: the device is not idle while somebody waits for an ACK. */
static bool serve_later(struct sn_nic *nic, bool any)
{
	struct sn_fabric *fabric = nic->fabric;
	struct sn_rc *rc;

	fabric->idle = any ? 0 : fabric->idle + 1;
	if (may_wait(nic))
		return true;
	while ((rc = TAILQ_FIRST(&fabric->later))) {
		sn_rc_not_later(rc->qp);
		sn_qp_kick(rc->qp);
	}
	return true;
}

bool sn_fabric_poll(struct sn_nic *nic)
{
	struct sn_fabric *fabric = nic->fabric;
	bool any;
	uint64_t held;

	if (!fabric)
		return false;
	obey_script(nic);
	any = !sn_fab_quiet(fabric->fab) && sn_fab_poll(fabric->fab, POLL_BUDGET) != 0;
	if (!TAILQ_EMPTY(&fabric->blocked))
		any |= unblock(fabric);
	if (!TAILQ_EMPTY(&fabric->later))
		any |= serve_later(nic, any);
	held = sn_fab_deadline(fabric->fab);
	if (held && !fabric->chaos.slot)
		sn_timer_arm(nic, &fabric->chaos, held);
	return any;
}

bool sn_fabric_owes(const struct sn_nic *nic)
{
	return nic->fabric && !TAILQ_EMPTY(&nic->fabric->later);
}

bool sn_fabric_quiet(struct sn_nic *nic)
{
	struct sn_fabric *fabric = nic->fabric;

	if (!fabric)
		return true;
	if (!TAILQ_EMPTY(&fabric->blocked) || fabric->fault_generation != nic->fault.generation ||
	    (sn_fabric_owes(nic) && !may_wait(nic)) || !sn_fab_quiet(fabric->fab))
		return false;
	fabric->idle++;
	return true;
}

void sn_fabric_hold(struct sn_nic *nic)
{
	if (nic->fabric)
		sn_fab_hold(nic->fabric->fab);
}

void sn_fabric_release(struct sn_nic *nic)
{
	if (nic->fabric)
		sn_fab_release(nic->fabric->fab);
}

int sn_fabric_fd(struct sn_nic *nic)
{
	return nic->fabric ? sn_fab_fd(nic->fabric->fab) : -1;
}

bool sn_fabric_arm(struct sn_nic *nic)
{
	return !nic->fabric || sn_fab_sleep(nic->fabric->fab);
}

void sn_fabric_disarm(struct sn_nic *nic)
{
	if (!nic->fabric)
		return;
	sn_fab_awake(nic->fabric->fab);
	sn_fab_service(nic->fabric->fab);
}

/* IBTA 9.2: padded to words. The ICRC is computed while a script may flip bits. */
static void make_tail(const struct sn_qp *qp, struct iovec *iov, unsigned int n, uint32_t pad,
		      uint8_t tail[8])
{
	const struct sn_nic *nic = qp->nic;
	uint32_t icrc = 0;

	memset(tail, 0, 8);
	iov[n] = (struct iovec){tail, pad};
	if (nic->fault.corrupt > 0)
		icrc = icrc_of(nic->port_gid, qp->rc->dest.gid.raw, iov, n + 1);
	memcpy(tail + pad, &icrc, sizeof(icrc));
	iov[n].iov_len = pad + sizeof(icrc);
}

/* A fault meets single packets. */
uint32_t sn_rc_train(const struct sn_qp *qp, uint32_t at, uint32_t left)
{
	uint32_t max = SN_RC_TRAIN / qp->mtu;

	if (qp->nic->fault.generation || max <= 1)
		return 1;
	max -= at % max;
	return max < left ? max : left;
}

int sn_rc_send(struct sn_qp *qp, const struct sn_rc_out *out)
{
	struct sn_nic *nic = qp->nic;
	struct {
		struct sn_bth bth;
		uint8_t ext[sizeof(out->ext)];
	} head;
	struct iovec iov[SN_IOV_MAX + 2];
	uint8_t tail[8];
	uint32_t pad = -out->len & 3, train = out->train ? out->train : 1;
	unsigned int i;
	int err;

	obey_script(nic);
	head.bth = (struct sn_bth){
		.opcode = out->opcode,
		.flags = (uint8_t)((out->solicited ? SN_BTH_SE : 0) | pad << SN_BTH_PAD_SHIFT),
		.pkey = to_be16(SN_PKEY_DEFAULT),
		.dqpn = to_be32(qp->remote_qpn & 0xffffff),
		.psn = to_be32((out->psn & SN_PSN_MASK) | (out->ackreq ? SN_BTH_ACKREQ : 0) |
			       (train - 1) << SN_BTH_TRAIN_SHIFT),
	};
	memcpy(head.ext, out->ext, sizeof(head.ext));
	iov[0] = (struct iovec){&head, sizeof(head.bth) + out->ext_len};
	for (i = 0; i < out->n; i++)
		iov[i + 1] = out->payload[i];
	make_tail(qp, iov, out->n + 1, pad, tail);
	if (nic->link_down)
		return 0;
	err = sn_fab_send(nic->fabric->fab, &qp->rc->dest, iov, out->n + 2);
	if (!err)
		nic->ctr.tx_packets += train;
	if (err == -EAGAIN && !qp->rc->blocked) {
		qp->rc->blocked = true;
		TAILQ_INSERT_TAIL(&nic->fabric->blocked, qp->rc, blocked_link);
	}
	return err;
}

bool sn_rc_rnr_injected(struct sn_nic *nic)
{
	return nic->fault.rnr > 0 && (double)(sn_random(nic) >> 11) * 0x1p-53 < nic->fault.rnr;
}

void sn_rc_unblock(struct sn_qp *qp)
{
	if (!qp->rc->blocked)
		return;
	qp->rc->blocked = false;
	TAILQ_REMOVE(&qp->nic->fabric->blocked, qp->rc, blocked_link);
}

void sn_rc_later(struct sn_qp *qp)
{
	struct sn_rc *rc = qp->rc;

	if (rc->later)
		return;
	rc->later = true;
	TAILQ_INSERT_TAIL(&qp->nic->fabric->later, rc, later_link);
	qp->nic->fabric->idle = 0;
}

void sn_rc_not_later(struct sn_qp *qp)
{
	struct sn_rc *rc = qp->rc;

	if (!rc->later)
		return;
	rc->later = false;
	TAILQ_REMOVE(&qp->nic->fabric->later, rc, later_link);
}

bool sn_rc_peer_stalled(struct sn_qp *qp)
{
	return !qp->nic->link_down && sn_fab_unread(qp->nic->fabric->fab, &qp->rc->dest);
}
