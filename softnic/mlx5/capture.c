/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A capture: a file in the format of pcap with each packet of the device, as RoCEv2 has it on a network.
 * Within a host a packet has no outer headers, and over UDP the kernel makes them. Here they are made
 * again, with the UDP port of RoCEv2, by which readers know the protocol. The ICRC is right for them,
 * unless it was wrong in the packet.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/port.h"
#include "softnic/mlx5/rc_wire.h"

struct sn_capture {
	int fd;
	bool failed;
	off_t end;			/* size of the file without an incomplete packet */
	struct {
		uint32_t s, ns, len, original_len;
		uint8_t bytes[SN_OUTER_MAX + SN_FAB_MAX];
	} record;
};

static const struct {
	uint32_t magic;			/* the times have nanoseconds */
	uint16_t major, minor;
	uint32_t zone, accuracy, longest;
	uint32_t link_type;		/* packets begin with their IP header */
} file_header = {0xa1b23c4d, 2, 4, 0, 0, 65535, 101};

enum {
	RECORD_HEADER = 16,
	IPV4 = 20,
	IPV6 = 40,
	UDP_SUM = 6,			/* position of the checksum in the header of UDP */
	PROTOCOL_UDP = 17,
	HOP_LIMIT = 64,
	/* position and length of the struct sn_ip of a datagram, which only this fabric has */
	UD_IP_AT = sizeof(struct sn_bth) + sizeof(struct sn_deth), UD_IP = sizeof(struct sn_ip),
};

static void write_record(struct sn_capture *c)
{
	size_t len = RECORD_HEADER + c->record.len;
	ssize_t written = write(c->fd, &c->record, len);

	if (written == (ssize_t)len) {
		c->end += written;
		return;
	}
	fprintf(stderr, "softnic: the capture ends: %s\n",
		written < 0 ? strerror(errno) : "the disk is full");
	c->failed = true;
	(void)!ftruncate(c->fd, c->end);
}

/* Finishes the outer headers of a packet of len bytes. IPv4 may leave out the checksum of UDP. */
static void finish_outer(uint8_t *head, size_t len, uint32_t traffic)
{
	bool v6 = head[0] >> 4 == 6;
	uint8_t *at = head + (v6 ? IPV6 : IPV4) + UDP_SUM;
	be16_t sum;

	sn_ip_finish(head, traffic, HOP_LIMIT);
	memset(at, 0, sizeof(sum));
	if (!v6)
		return;
	/* The pseudo-header is the addresses, the length of UDP and its protocol number. */
	sum = sn_checksum((uint32_t)(len - IPV6) + PROTOCOL_UDP, head + 8, len - 8);
	memcpy(at, sum.be ? &sum : &(be16_t){UINT16_MAX}, sizeof(sum));
}

struct seen {
	struct sn_outer outer;
	uint32_t traffic;
	size_t skip;			/* length of the struct sn_ip to leave out, or 0 */
	bool udp;			/* a single datagram, not a train of several packets */
	bool good;			/* the ICRC was right, or not computed */
};

/* Puts headers, packet and ICRC into the record. len: length of the packet without its ICRC. */
static void put_record(struct sn_capture *c, const struct seen *s, const uint8_t *bytes, size_t len)
{
	size_t kept = len - s->skip, outer_len = sn_outer_put(&s->outer, kept, c->record.bytes);
	uint8_t *packet = c->record.bytes + outer_len;
	struct timespec now;
	uint32_t icrc;

	memcpy(packet, bytes, len);
	if (s->skip)
		memmove(packet + UD_IP_AT, packet + UD_IP_AT + s->skip, kept - UD_IP_AT);
	if (!s->udp)
		packet[offsetof(struct sn_bth, psn)] &= SN_BTH_ACKREQ >> 24;
	icrc = sn_icrc(&s->outer, packet, kept) ^ (s->good ? 0 : UINT32_MAX);
	memcpy(packet + kept, &icrc, sizeof(icrc));
	c->record.len = c->record.original_len = (uint32_t)(outer_len + kept + SN_ICRC);
	finish_outer(c->record.bytes, c->record.len, s->traffic);
	clock_gettime(CLOCK_REALTIME, &now);
	c->record.s = (uint32_t)now.tv_sec;
	c->record.ns = (uint32_t)now.tv_nsec;
}

/* A packet from the device to itself is captured when it is sent. */
void sn_capture_packet(void *ctx, bool in, const struct sn_fab_dest *peer, const void *bytes, size_t len)
{
	struct sn_port *port = ctx;
	struct sn_capture *c = port->nic->capture;
	struct sn_fab_dest own = sn_port_own(port, peer->udp_port, false);
	bool ud = len >= UD_IP_AT + UD_IP + SN_ICRC && *(const uint8_t *)bytes >= SN_BTH_UD_SEND_ONLY;
	struct seen s = {.traffic = (uint32_t)peer->tclass << 20, .udp = peer->udp_port,
			 .skip = ud && !peer->udp_port ? UD_IP : 0};
	struct sn_ip ip;
	int cancel;

	if (c->failed || len < sizeof(struct sn_bth) + SN_ICRC ||
	    (in && own.udp_port == peer->udp_port && sn_addr_equal(&own.gid, &peer->gid)))
		return;
	s.good = !in || sn_port_icrc_fits(port, peer, bytes, len);
	if (s.skip) {
		memcpy(&ip, (const uint8_t *)bytes + UD_IP_AT, sizeof(ip));
		s.traffic = from_be32(ip.tclass_flow);
	}
	s.outer = in ? sn_port_outer(peer, &own) : sn_port_outer(&own, peer);
	s.outer.dport = 0;
	put_record(c, &s, bytes, len - SN_ICRC);
	/* A thread that was cancelled in write(2) would keep the device's lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	write_record(c);
	pthread_setcancelstate(cancel, NULL);
}

/* Two devices must not write to one file. Its owner alone may read it, as it has the data of the packets. */
static int open_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600), err = 0;

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB))
		err = errno == EWOULDBLOCK ? -EBUSY : -errno;
	else if (fchmod(fd, 0600) || ftruncate(fd, 0))
		err = -errno;
	else if (write(fd, &file_header, sizeof(file_header)) != sizeof(file_header))
		err = -ENOSPC;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int sn_capture_open(const char *path, struct sn_capture **out)
{
	int fd = open_file(path);
	struct sn_capture *c;

	if (fd < 0)
		return fd;
	c = malloc(sizeof(*c));
	if (!c) {
		close(fd);
		return -ENOMEM;
	}
	c->fd = fd;
	c->failed = false;
	c->end = sizeof(file_header);
	*out = c;
	return 0;
}

/* A forked child has a copy of the descriptor; the lock is the parent's. */
void sn_capture_close(struct sn_capture *c, bool in_child)
{
	if (!c)
		return;
	if (!in_child)
		flock(c->fd, LOCK_UN);
	close(c->fd);
	free(c);
}
