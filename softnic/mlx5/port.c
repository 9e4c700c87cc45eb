/* SPDX-License-Identifier: BSD-2-Clause */
/* The ports: between the QPs of one device and the fabric. Addresses, ICRC, dispatch. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/port.h"
#include "softnic/mlx5/rc.h"
#include "softnic/mlx5/ud.h"

enum {
	POLL_BUDGET = 32,
	OPEN_TRIES = 8,
	UDP_SPORT = 0xc000,
};

/*
 * What a subnet manager would give out: a LID, and a GUID that is made of it, so that a path by LID
 * alone finds its way.
 */
static void gid_of_lid(uint16_t lid, uint8_t gid[16])
{
	memcpy(gid, (uint8_t[]){0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0xff, 0xfe, 0,
				(uint8_t)(lid >> 8), (uint8_t)lid}, 16);
}

/* IBTA 4.1.3: unicast LIDs end at 0xbfff. */
static int choose_lid(struct sn_port *port)
{
	uint16_t lid;

	if (getrandom(&lid, sizeof(lid), 0) != sizeof(lid))
		return -EAGAIN;
	port->lid = (uint16_t)(lid % 0xbfff + 1);
	port->gid[0] = (struct sn_gid){.valid = true, .v6 = true};
	gid_of_lid(port->lid, port->gid[0].gid);
	return 0;
}

/* The address that follows from the MAC. */
void sn_port_first_gid(const uint8_t m[6], uint8_t gid[16])
{
	memcpy(gid, (uint8_t[]){0xfe, 0x80, 0, 0, 0, 0, 0, 0, m[0] ^ 2, m[1], m[2], 0xff, 0xfe,
				m[3], m[4], m[5]}, 16);
}

/* A locally administered MAC, random but for the port's index on its host, and the GID made of it. */
static int choose_mac(struct sn_port *port)
{
	uint8_t *m = port->mac;

	if (getrandom(m, 6, 0) != 6)
		return -EAGAIN;
	m[0] = (uint8_t)((m[0] & 0xfc) | 0x02);
	m[5] = (uint8_t)(port->nic->config.index * SN_PORTS + port->number - 1u);
	port->gid[0] = (struct sn_gid){.version = 2, .valid = true, .v6 = true};
	memcpy(port->gid[0].mac, m, 6);
	sn_port_first_gid(m, port->gid[0].gid);
	return 0;
}

static int choose_address(struct sn_port *port)
{
	int err = port->nic->infiniband ? choose_lid(port) : choose_mac(port);

	if (!err)
		memcpy(port->address, port->gid[0].gid, sizeof(port->address));
	return err;
}

void sn_port_resolve(const struct sn_port *port, const struct sn_av *av, struct sn_addr *gid)
{
	if (av->force_loopback)
		memcpy(gid->raw, port->address, sizeof(gid->raw));
	else if (port->nic->infiniband && !av->grh)
		gid_of_lid(av->rlid, gid->raw);
	else
		memcpy(gid->raw, av->rgid, sizeof(gid->raw));
}

/* With force_loopback the packets never see a wire: no address is needed. */
const char *sn_path_fault(const struct sn_port *port, const struct sn_av *av)
{
	static const uint8_t zero[16];
	bool infiniband = port->nic->infiniband;

	if (av->force_loopback)
		return NULL;
	if (infiniband && !av->rlid)
		return "rlid is zero";
	if (infiniband && !av->grh)
		return NULL;
	if (av->gid_index >= SN_GIDS || !port->gid[av->gid_index].valid)
		return "the entry of src_addr_index is empty";
	if (!infiniband && !memcmp(av->rmac, zero, sizeof(av->rmac)))
		return "rmac is zero";
	return memcmp(av->rgid, zero, sizeof(av->rgid)) ? NULL : "rgid is zero";
}

static uint32_t icrc_of(const uint8_t src[16], const uint8_t dst[16], const struct iovec *iov,
			unsigned int n)
{
	struct sn_outer outer = {.sport = UDP_SPORT};

	memcpy(outer.src, src, sizeof(outer.src));
	memcpy(outer.dst, dst, sizeof(outer.dst));
	return sn_icrc(&outer, iov, n);
}

static bool acceptable(const struct sn_port *port, const struct sn_addr *src, const void *bytes,
		       size_t len)
{
	struct iovec iov = {(void *)(uintptr_t)bytes, len - SN_ICRC};
	uint32_t icrc;

	if (len < sizeof(struct sn_bth) + SN_ICRC)
		return false;
	memcpy(&icrc, (const uint8_t *)bytes + iov.iov_len, sizeof(icrc));
	/* Shared memory does not flip bits: zero says that the sender saved itself the work. */
	return !icrc || icrc == icrc_of(src->raw, port->address, &iov, 1);
}

bool sn_port_pkey(const struct sn_nic *nic, uint32_t index, uint16_t *pkey)
{
	static const uint16_t table[] = {SN_PKEY_DEFAULT, 0x8001};

	if (index >= (nic->infiniband ? sizeof(table) / sizeof(table[0]) : 1))
		return false;
	*pkey = table[index];
	return true;
}

/* IBTA 9.6.1.1: the partition of the QP, and of its membership bits one at least. */
bool sn_port_same_partition(const struct sn_qp *qp, const struct sn_packet *pkt)
{
	return !((qp->pkey ^ pkt->pkey) & 0x7fff) && (qp->pkey | pkt->pkey) & 0x8000;
}

static struct sn_qp *receiver(struct sn_port *port, const struct sn_addr *src,
			      const struct sn_packet *pkt)
{
	struct sn_qp *qp = sn_qp_find(port->nic, pkt->dqpn);

	if (!qp || !qp->rc || qp->port != port || !sn_addr_equal(src, &qp->rc->dest.gid) ||
	    !sn_port_same_partition(qp, pkt))
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
	case SN_C_DATAGRAM:
	case SN_C_NONE:
		break;
	}
}

static void deliver(void *ctx, const struct sn_addr *src, const void *bytes, size_t len)
{
	struct sn_port *port = ctx;
	struct sn_nic *nic = port->nic;
	struct sn_packet pkt;
	struct sn_qp *qp;

	if (!port->link_down && sn_rc_plain_in(port, src, bytes, len))
		return;
	if (port->link_down || !acceptable(port, src, bytes, len)) {
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
	if (pkt.shape->class == SN_C_DATAGRAM) {
		sn_ud_in(port, src, &pkt);
		return;
	}
	qp = receiver(port, src, &pkt);
	if (qp)
		dispatch(qp, &pkt);
	else
		nic->ctr.drops++;
}

/* Of all peers, or of one. */
static void lose_links(struct sn_port *port, const struct sn_addr *peer)
{
	struct sn_nic *nic = port->nic;
	uint32_t i;

	for (i = 0; nic->qps.slot && i <= nic->qps.mask; i++) {
		struct sn_qp *qp = nic->qps.slot[i] ? sn_qp_find(nic, nic->qps.number[i]) : NULL;

		if (qp && qp->rc && qp->port == port &&
		    (!peer || sn_addr_equal(peer, &qp->rc->dest.gid)))
			sn_rc_link_lost(qp);
	}
}

static void down(void *ctx, const struct sn_addr *peer)
{
	lose_links(ctx, peer);
}

static void chaos_due(struct sn_nic *nic, struct sn_timer *timer)
{
	(void)nic;
	(void)timer;	/* the poll that follows releases the packets */
}

static int open_fab(struct sn_port *port, const uint8_t gid[16], struct sn_fab **fab)
{
	struct sn_fab_config config = {.deliver = deliver, .down = down, .ctx = port};

	memcpy(config.gid.raw, gid, sizeof(config.gid.raw));
	if (port->nic->config.flags & SOFTNIC_LOOPBACK_ONLY)
		config.flags |= SN_FAB_ALONE;
	return sn_fab_open(&config, fab);
}

static int join(struct sn_port *port)
{
	int err = choose_address(port);

	return err ? err : open_fab(port, port->address, &port->fabric->fab);
}

static int open_port(struct sn_port *port)
{
	int i, err = -EADDRINUSE;

	port->fabric = calloc(1, sizeof(*port->fabric));
	if (!port->fabric)
		return -ENOMEM;
	port->fabric->chaos.fire = chaos_due;
	TAILQ_INIT(&port->fabric->blocked);
	TAILQ_INIT(&port->fabric->later);
	for (i = 0; err == -EADDRINUSE && i < OPEN_TRIES; i++)
		err = join(port);
	if (err) {
		free(port->fabric);
		port->fabric = NULL;
	}
	return err;
}

static void close_port(struct sn_port *port)
{
	if (!port->fabric)
		return;
	sn_timer_cancel(port->nic, &port->fabric->chaos);
	sn_fab_close(port->fabric->fab);
	free(port->fabric);
	port->fabric = NULL;
}

int sn_fabric_open(struct sn_nic *nic)
{
	int err = 0;

	for (unsigned int i = 0; i < nic->ports && !err; i++)
		err = open_port(&nic->port[i]);
	if (err)
		sn_fabric_close(nic);
	return err;
}

void sn_fabric_close(struct sn_nic *nic)
{
	for (unsigned int i = 0; i < nic->ports; i++)
		close_port(&nic->port[i]);
}

int sn_fabric_readdress(struct sn_port *port, const uint8_t gid[16])
{
	struct sn_fab *fab;
	int err = memcmp(port->address, gid, 16) ? open_fab(port, gid, &fab) : -EALREADY;

	if (err)
		return err == -EALREADY ? 0 : err;
	sn_fab_close(port->fabric->fab);
	port->fabric->fab = fab;
	port->fabric->fault_generation = ~port->nic->fault.generation;
	memcpy(port->address, gid, 16);
	lose_links(port, NULL);
	sn_thread_rewatch(port);
	return 0;
}

static void obey_script(struct sn_port *port)
{
	const struct sn_fault *fault = &port->nic->fault;
	struct sn_fab_faults faults;

	if (port->fabric->fault_generation == fault->generation)
		return;
	faults = (struct sn_fab_faults){fault->drop, fault->dup, fault->reorder, fault->corrupt,
					fault->delay, fault->seed};
	if (!sn_fab_set_faults(port->fabric->fab, &faults))
		port->fabric->fault_generation = fault->generation;
}

static bool unblock(struct sn_fabric *fabric)
{
	struct sn_waiter *w, *next;
	bool any = false;

	for (w = TAILQ_FIRST(&fabric->blocked); w; w = next) {
		next = TAILQ_NEXT(w, link);
		if (!sn_fab_has_room(fabric->fab, w->dest))
			continue;
		sn_port_unblock(w);
		sn_qp_kick(w->qp);
		any = true;
	}
	return any;
}

void sn_port_block(struct sn_waiter *w)
{
	if (w->blocked)
		return;
	w->blocked = true;
	TAILQ_INSERT_TAIL(&w->qp->port->fabric->blocked, w, link);
}

void sn_port_unblock(struct sn_waiter *w)
{
	if (!w->blocked)
		return;
	w->blocked = false;
	TAILQ_REMOVE(&w->qp->port->fabric->blocked, w, link);
}

static bool poll_port(struct sn_port *port)
{
	struct sn_fabric *fabric = port->fabric;
	bool any;
	uint64_t held;

	obey_script(port);
	any = !sn_fab_quiet(fabric->fab) && sn_fab_poll(fabric->fab, POLL_BUDGET) != 0;
	if (!TAILQ_EMPTY(&fabric->blocked))
		any |= unblock(fabric);
	if (!TAILQ_EMPTY(&fabric->later))
		any |= sn_rc_serve_later(port, any);
	held = sn_fab_deadline(fabric->fab);
	if (held && !fabric->chaos.slot)
		sn_timer_arm(port->nic, &fabric->chaos, held);
	return any;
}

/* A device that is being opened, or that could not be, has ports without a fabric. */
bool sn_fabric_poll(struct sn_nic *nic)
{
	bool any = false;

	for (unsigned int i = 0; i < nic->ports && nic->port[i].fabric; i++)
		any |= poll_port(&nic->port[i]);
	return any;
}

bool sn_fabric_owes(const struct sn_nic *nic)
{
	bool owes = false;

	for (unsigned int i = 0; i < nic->ports && nic->port[i].fabric; i++)
		owes |= !TAILQ_EMPTY(&nic->port[i].fabric->later);
	return owes;
}

static bool quiet(struct sn_port *port)
{
	struct sn_fabric *fabric = port->fabric;

	if (!TAILQ_EMPTY(&fabric->blocked) ||
	    fabric->fault_generation != port->nic->fault.generation ||
	    (!TAILQ_EMPTY(&fabric->later) && !sn_rc_may_wait(port)) || !sn_fab_quiet(fabric->fab))
		return false;
	fabric->idle++;
	fabric->vain++;
	return true;
}

bool sn_fabric_quiet(struct sn_nic *nic)
{
	for (unsigned int i = 0; i < nic->ports && nic->port[i].fabric; i++)
		if (!quiet(&nic->port[i]))
			return false;
	return true;
}

void sn_fabric_hold(struct sn_nic *nic)
{
	for (unsigned int i = 0; i < nic->ports && nic->port[i].fabric; i++)
		sn_fab_hold(nic->port[i].fabric->fab);
}

void sn_fabric_release(struct sn_nic *nic)
{
	for (unsigned int i = 0; i < nic->ports && nic->port[i].fabric; i++)
		sn_fab_release(nic->port[i].fabric->fab);
}

int sn_fabric_fd(struct sn_nic *nic, unsigned int port)
{
	return port < nic->ports && nic->port[port].fabric ? sn_fab_fd(nic->port[port].fabric->fab)
							   : -1;
}

bool sn_fabric_arm(struct sn_nic *nic)
{
	bool quiet = true;

	for (unsigned int i = 0; i < nic->ports && nic->port[i].fabric; i++)
		quiet &= sn_fab_sleep(nic->port[i].fabric->fab);
	return quiet;
}

void sn_fabric_disarm(struct sn_nic *nic)
{
	for (unsigned int i = 0; i < nic->ports && nic->port[i].fabric; i++) {
		sn_fab_awake(nic->port[i].fabric->fab);
		sn_fab_service(nic->port[i].fabric->fab);
	}
}

static uint32_t frame_bytes(const struct sn_frame *frame)
{
	return frame->head_len + frame->len + (-frame->len & 3) + SN_ICRC;
}

int sn_port_begin(struct sn_port *port, struct sn_fab_dest *dest, struct sn_frame *frame)
{
	void *pkt = NULL;
	int err = 0;

	uint32_t bytes = frame_bytes(frame), rider = frame->rider ? frame->rider + SN_ICRC : 0;

	obey_script(port);
	if (!port->link_down)
		err = sn_fab_reserve(port->fabric->fab, dest, bytes + rider, &pkt);
	frame->head = pkt;
	frame->payload = frame->head + (pkt ? frame->head_len : 0);
	frame->rider_head = frame->head + (pkt ? bytes : 0);
	return err;
}

bool sn_port_takes_riders(const struct sn_port *port)
{
	return !port->nic->fault.generation && sn_fab_takes_riders(port->fabric->fab);
}

/* No script is set, so both are without an ICRC. */
static void end_both(struct sn_port *port, struct sn_fab_dest *dest, const struct sn_frame *frame)
{
	memset(frame->head + frame_bytes(frame) - SN_ICRC, 0, SN_ICRC);
	memset(frame->rider_head + frame->rider, 0, SN_ICRC);
	sn_fab_commit_both(port->fabric->fab, dest, frame_bytes(frame), frame->rider + SN_ICRC);
	port->nic->ctr.tx_packets += frame->packets + 1;
}

/* IBTA 9.2: padded to words. The ICRC is computed while a script may flip bits. */
int sn_port_end(struct sn_port *port, struct sn_fab_dest *dest, const struct sn_frame *frame)
{
	uint32_t bytes = frame_bytes(frame), icrc = 0;
	struct iovec iov = {frame->head, bytes - SN_ICRC};
	int err;

	if (frame->len & 3)
		memset(frame->payload + frame->len, 0, -frame->len & 3);
	if (frame->rider) {
		end_both(port, dest, frame);
		return 0;
	}
	if (port->nic->fault.corrupt > 0)
		icrc = icrc_of(port->address, dest->gid.raw, &iov, 1);
	memcpy(frame->head + bytes - SN_ICRC, &icrc, sizeof(icrc));
	err = sn_fab_commit(port->fabric->fab, dest, bytes);
	if (!err)
		port->nic->ctr.tx_packets += frame->packets;
	return err;
}
