/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports as used by QPs: addresses, partitions, ICRC, sending packets. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "softnic/bytes.h"
#include "softnic/mlx5/port.h"
#include "softnic/mlx5/rc.h"

/*
 * Acts as a subnet manager: assigns a LID, and a GUID that is derived from the LID, so that the LID
 * alone identifies the port.
 */
static void gid_of_lid(uint16_t lid, uint8_t gid[16])
{
	memcpy(gid, (uint8_t[]){0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0xff, 0xfe, 0,
				(uint8_t)(lid >> 8), (uint8_t)lid}, 16);
}

/* Chooses a unicast LID. IBTA 4.1.3: these end at 0xbfff. */
static int choose_lid(struct sn_port *port)
{
	uint16_t lid;

	if (getrandom(&lid, sizeof(lid), 0) != sizeof(lid))
		return -EAGAIN;
	port->lid = (uint16_t)(lid % 0xbfff + 1);
	port->gid[0] = (struct sn_gid){.valid = true};
	gid_of_lid(port->lid, port->gid[0].gid);
	return 0;
}

/* Writes the GID that is derived from the MAC. */
void sn_port_first_gid(const uint8_t m[6], uint8_t gid[16])
{
	memcpy(gid, (uint8_t[]){0xfe, 0x80, 0, 0, 0, 0, 0, 0, m[0] ^ 2, m[1], m[2], 0xff, 0xfe,
				m[3], m[4], m[5]}, 16);
}

/* Chooses a locally administered MAC, which is random except for the port's index on its host, and
 * the GID derived from it. */
static int choose_mac(struct sn_port *port)
{
	uint8_t *m = port->mac;

	if (getrandom(m, 6, 0) != 6)
		return -EAGAIN;
	m[0] = (uint8_t)((m[0] & 0xfc) | 0x02);
	m[5] = (uint8_t)(port->nic->config.index * SN_PORTS + port->number - 1u);
	port->gid[0] = (struct sn_gid){.version = 2, .valid = true};
	memcpy(port->gid[0].mac, m, 6);
	sn_port_first_gid(m, port->gid[0].gid);
	return 0;
}

int sn_port_choose_address(struct sn_port *port)
{
	int err = port->nic->infiniband ? choose_lid(port) : choose_mac(port);

	if (!err)
		memcpy(port->address, port->gid[0].gid, sizeof(port->address));
	return err;
}

bool sn_port_is_foreign(const struct sn_port *port, const struct sn_av *av)
{
	const struct sn_gid *source = &port->gid[av->gid_index % SN_GIDS];

	return sn_fab_udp_port(port->fabric->fab) && !av->force_loopback && source->valid &&
		!memcmp(source->gid, port->nic->config.ip, sizeof(source->gid));
}

static void set_udp(struct sn_fab_dest *dest, uint16_t udp_port, bool foreign)
{
	if (udp_port || dest->slot == SN_FAB_NO_SLOT)
		dest->slot = udp_port ? SN_FAB_NO_SLOT : 0;
	dest->udp_port = udp_port;
	dest->foreign = foreign;
}

/*
 * Does the link layer take a packet to another port than that of the GID? A link-local GID is made of the
 * port's GUID (IBTA 4.1.1) or MAC (Linux, addrconf_ifid_eui48()), so the two addresses are of one port. The
 * model's subnet manager makes the GUID of the LID.
 */
static bool leads_elsewhere(const struct sn_port *port, const struct sn_av *av)
{
	static const uint8_t link_local[8] = {0xfe, 0x80};
	uint8_t gid[16];

	if (memcmp(av->rgid, link_local, sizeof(link_local)))
		return false;
	if (port->nic->infiniband)
		gid_of_lid(av->rlid, gid);
	else if (av->rgid[11] == 0xff && av->rgid[12] == 0xfe)
		sn_port_first_gid(av->rmac, gid);
	else
		return false;
	return memcmp(gid, av->rgid, sizeof(gid));
}

/* A port receives no packet for another port's addresses. A GID of zeros is that of no port. */
void sn_port_resolve(const struct sn_port *port, const struct sn_av *av, struct sn_fab_dest *dest)
{
	bool foreign = sn_port_is_foreign(port, av);

	dest->tclass = av->tclass;
	if (av->force_loopback)
		memcpy(dest->gid.raw, port->address, sizeof(dest->gid.raw));
	else if (port->nic->infiniband && !av->grh)
		gid_of_lid(av->rlid, dest->gid.raw);
	else if (!foreign && leads_elsewhere(port, av))
		memset(dest->gid.raw, 0, sizeof(dest->gid.raw));
	else
		memcpy(dest->gid.raw, av->rgid, sizeof(dest->gid.raw));
	set_udp(dest, foreign ? SN_UDP_PORT : 0, foreign);
}

void sn_port_resolve_conn(const struct sn_port *port, const struct sn_av *av, struct sn_fab_dest *dest)
{
	sn_port_resolve(port, av, dest);
	if (!sn_fab_udp_port(port->fabric->fab) || !av->rlid || av->force_loopback)
		return;
	memcpy(dest->gid.raw, av->rgid, sizeof(dest->gid.raw));
	set_udp(dest, av->rlid, false);
}

/* Does the path lead to a UDP port of our device on another host? Then the source is not in the table. */
static bool is_own_udp(const struct sn_port *port, const struct sn_av *av)
{
	return sn_fab_udp_port(port->fabric->fab) && av->rlid;
}

/*
 * A path with force_loopback needs no addresses, because its packets never reach a wire. Both addresses of an
 * IP header are of one family (Linux, rdma_resolve_ip()).
 */
const char *sn_path_fault(const struct sn_port *port, const struct sn_av *av)
{
	bool infiniband = port->nic->infiniband;

	if (av->force_loopback)
		return NULL;
	if (infiniband && !av->rlid)
		return "rlid is zero";
	if (infiniband && !av->grh)
		return NULL;
	if (av->gid_index >= SN_GIDS || !port->gid[av->gid_index].valid)
		return "the entry of src_addr_index is empty";
	if (!infiniband && sn_is_zero(av->rmac, sizeof(av->rmac)))
		return "rmac is zero";
	if (!infiniband && !is_own_udp(port, av) &&
	    sn_is_v4(port->gid[av->gid_index].gid) != sn_is_v4(av->rgid))
		return "rgid is of another IP version than the entry of src_addr_index";
	return sn_is_zero(av->rgid, sizeof(av->rgid)) ? "rgid is zero" : NULL;
}

void sn_port_use_udp(struct sn_port *port, bool *in_use, bool use)
{
	use = use && sn_fab_udp_port(port->fabric->fab);
	if (use != *in_use)
		sn_fab_udp_use(port->fabric->fab, use ? 1 : -1);
	*in_use = use;
}

struct sn_fab_dest sn_port_own(const struct sn_port *port, bool udp, bool foreign)
{
	uint16_t udp_port = foreign ? SN_UDP_PORT : sn_fab_udp_port(port->fabric->fab);
	struct sn_fab_dest own = {.udp_port = udp ? udp_port : 0};

	memcpy(own.gid.raw, udp ? port->nic->config.ip : port->address, sizeof(own.gid.raw));
	return own;
}

struct sn_outer sn_port_outer(const struct sn_fab_dest *src, const struct sn_fab_dest *dst)
{
	struct sn_outer outer = {.sport = src->udp_port ? src->udp_port : SN_UDP_SPORT,
				 .dport = dst->udp_port};

	memcpy(outer.src, src->gid.raw, sizeof(outer.src));
	memcpy(outer.dst, dst->gid.raw, sizeof(outer.dst));
	return outer;
}

static uint32_t icrc_of(const struct sn_fab_dest *src, const struct sn_fab_dest *dst, const void *bytes,
			size_t len)
{
	struct sn_outer outer = sn_port_outer(src, dst);

	return sn_icrc(&outer, bytes, len);
}

bool sn_port_icrc_fits(const struct sn_port *port, const struct sn_fab_dest *src, const void *bytes,
		       size_t len)
{
	struct sn_fab_dest own;
	uint32_t icrc, computed;

	if (len < sizeof(struct sn_bth) + SN_ICRC)
		return false;
	len -= SN_ICRC;
	memcpy(&icrc, (const uint8_t *)bytes + len, sizeof(icrc));
	/* Shared memory flips no bits: an ICRC of zero means that the sender did not compute it. */
	if (!icrc && !src->udp_port)
		return true;
	own = sn_port_own(port, src->udp_port, src->foreign);
	computed = icrc_of(src, &own, bytes, len);
	return icrc == computed ||
		(src->foreign && sn_is_v4(src->gid.raw) && sn_icrc_fits_ident(icrc, computed, len));
}

/* Shared memory flips no bits. So packets within a host get an ICRC only if a fault script may flip some. */
static uint32_t icrc_for(const struct sn_port *port, const struct sn_fab_dest *dest, const void *bytes,
			 size_t len)
{
	struct sn_fab_dest own;

	if (!dest->udp_port && !(port->nic->fault.corrupt > 0))
		return 0;
	own = sn_port_own(port, dest->udp_port, false);
	return icrc_of(&own, dest, bytes, len);
}

bool sn_port_pkey(const struct softnic *nic, uint32_t index, uint16_t *pkey)
{
	static const uint16_t table[] = {SN_PKEY_DEFAULT, 0x8001};

	if (index >= (nic->infiniband ? sizeof(table) / sizeof(table[0]) : 1))
		return false;
	*pkey = table[index];
	return true;
}

/* IBTA 9.6.1.1: the packet and the QP share a partition, and at least one is a full member. */
bool sn_port_same_partition(const struct sn_qp *qp, const struct sn_packet *pkt)
{
	return !((qp->pkey ^ pkt->pkey) & 0x7fff) && (qp->pkey | pkt->pkey) & 0x8000;
}

void sn_port_apply_faults(struct sn_port *port)
{
	const struct sn_fault *fault = &port->nic->fault;
	struct sn_fab_faults faults;

	if (port->fabric->fault_generation == fault->generation)
		return;
	faults = (struct sn_fab_faults){fault->drop, fault->dup, fault->reorder, fault->corrupt,
					fault->delay, fault->seed, fault->script, port->nic->capture};
	if (!sn_fab_set_faults(port->fabric->fab, &faults))
		port->fabric->fault_generation = fault->generation;
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

static uint32_t frame_bytes(const struct sn_frame *frame)
{
	return frame->head_len + frame->len + (-frame->len & 3) + SN_ICRC;
}

int sn_port_begin(struct sn_port *port, struct sn_fab_dest *dest, struct sn_frame *frame)
{
	void *pkt = NULL;
	int err = 0;

	uint32_t bytes = frame_bytes(frame), piggyback = frame->piggyback ? frame->piggyback + SN_ICRC : 0;

	if (!port->link_down)
		err = sn_fab_reserve(port->fabric->fab, dest, bytes + piggyback, &pkt);
	frame->head = pkt;
	if (!pkt)
		return err;
	frame->payload = frame->head + frame->head_len;
	frame->piggyback_head = frame->head + bytes;
	return err;
}

bool sn_port_can_piggyback(const struct sn_port *port)
{
	return !port->nic->fault.generation && sn_fab_can_piggyback(port->fabric->fab);
}

/* While no fault script is set, both packets have an ICRC of zero. */
static void end_both(struct sn_port *port, struct sn_fab_dest *dest, const struct sn_frame *frame)
{
	memset(frame->head + frame_bytes(frame) - SN_ICRC, 0, SN_ICRC);
	memset(frame->piggyback_head + frame->piggyback, 0, SN_ICRC);
	sn_fab_commit_both(port->fabric->fab, dest, frame_bytes(frame), frame->piggyback + SN_ICRC);
	port->nic->ctr.tx_packets += frame->packets + 1;
}

/* Sends the packet, padded to words (IBTA 9.2). */
int sn_port_end(struct sn_port *port, struct sn_fab_dest *dest, const struct sn_frame *frame)
{
	uint32_t bytes = frame_bytes(frame), icrc;
	int err;

	if (frame->len & 3)
		memset(frame->payload + frame->len, 0, -frame->len & 3);
	if (frame->piggyback) {
		end_both(port, dest, frame);
		return 0;
	}
	icrc = icrc_for(port, dest, frame->head, bytes - SN_ICRC);
	memcpy(frame->head + bytes - SN_ICRC, &icrc, sizeof(icrc));
	err = sn_fab_commit(port->fabric->fab, dest, bytes);
	if (!err)
		port->nic->ctr.tx_packets += frame->packets;
	return err;
}
