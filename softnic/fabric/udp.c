/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets to and from other hosts: one UDP socket of the device, and a datagram for each packet. There is
 * no link and no state of a peer, since UDP has no connection. A second socket receives at the port that
 * devices of others send to; its senders have any port.
 *
 * Datagrams leave with DF. Linux gives such a datagram of an unconnected socket the identification 0, so
 * the sender knows the IPv4 header that the ICRC covers. The receiving socket does not show that field.
 *
 * Sent datagrams are collected until the fabric is released, and received ones are read several at a
 * time, because a system call takes as long as several packets.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "softnic/fabric/link.h"

enum {
	BATCH = 32,
	ROOM = 4096 + 64,		/* an MTU of 4096, the longest headers of RoCE and the ICRC */
	BUFFER_BYTES = 4 << 20,		/* requested socket buffer; net.core.*mem_max limits it */
	UDP_HEADER = 8,
	/* the shortest packet of an MTU of 256 with all its headers must fit */
	LEAST = 256 + 64,
};

union address {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

/* Datagrams in one direction. Those from first to count are not sent, or not delivered yet. */
struct batch {
	unsigned int first, count;
	struct mmsghdr msg[BATCH];
	struct iovec iov[BATCH];
	union address peer[BATCH];
	uint8_t bytes[BATCH][ROOM];
};

struct sn_udp {
	int sock;
	int listener;			/* the socket of sn_fab_listen, or -1 */
	bool v6;
	bool watched;			/* the socket wakes the epoll set */
	int error;			/* the last error of sending that was logged */
	uint16_t port;
	size_t max;			/* longest packet that the interface carries */
	unsigned int users;
	bool foreign;			/* the datagrams in rx came through the listener */
	struct batch tx, rx;
	union control tclass[BATCH];	/* traffic classes of the datagrams in tx */
};

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

static bool is_v4(const struct sn_addr *ip)
{
	return !memcmp(ip->raw, mapped, sizeof(mapped));
}

static socklen_t to_address(const struct sn_addr *ip, uint16_t port, union address *to)
{
	if (is_v4(ip)) {
		to->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
		memcpy(&to->v4.sin_addr, ip->raw + sizeof(mapped), 4);
		return sizeof(to->v4);
	}
	to->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
	memcpy(&to->v6.sin6_addr, ip->raw, 16);
	return sizeof(to->v6);
}

static void from_address(const union address *from, struct sn_fab_dest *dest)
{
	*dest = (struct sn_fab_dest){.slot = SN_FAB_NO_SLOT};
	if (from->sa.sa_family == AF_INET) {
		memcpy(dest->gid.raw, mapped, sizeof(mapped));
		memcpy(dest->gid.raw + sizeof(mapped), &from->v4.sin_addr, 4);
		dest->udp_port = ntohs(from->v4.sin_port);
	} else {
		memcpy(dest->gid.raw, &from->v6.sin6_addr, 16);
		dest->udp_port = ntohs(from->v6.sin6_port);
	}
}

/* Does the interface have this address? The port does not count. */
static bool has_address(const struct ifaddrs *i, const union address *a)
{
	const union address *b = (const void *)i->ifa_addr;

	if (!b || b->sa.sa_family != a->sa.sa_family)
		return false;
	return b->sa.sa_family == AF_INET ? b->v4.sin_addr.s_addr == a->v4.sin_addr.s_addr
					  : !memcmp(&b->v6.sin6_addr, &a->v6.sin6_addr, 16);
}

static int mtu_of(int sock, const union address *a)
{
	enum { ETHERNET = 1500 };
	struct ifaddrs *all, *i;
	struct ifreq req = {.ifr_mtu = ETHERNET};

	if (getifaddrs(&all))
		return -errno;
	for (i = all; i && !has_address(i, a); i = i->ifa_next)
		;
	if (i) {
		snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", i->ifa_name);
		if (ioctl(sock, SIOCGIFMTU, &req))
			req.ifr_mtu = ETHERNET;
	}
	freeifaddrs(all);
	return req.ifr_mtu;
}

static int find_max(struct sn_udp *u, const union address *a)
{
	int headers = (u->v6 ? 40 : 20) + UDP_HEADER, mtu = mtu_of(u->sock, a);

	if (mtu < 0)
		return mtu;
	if (mtu - headers < LEAST)
		return -EMSGSIZE;
	u->max = (size_t)(mtu - headers);
	return 0;
}

static int set_options(int sock, bool is_v6)
{
	const int on = 1, bytes = BUFFER_BYTES, v4 = IP_PMTUDISC_DO, v6 = IPV6_PMTUDISC_DO;

	setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	setsockopt(sock, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	if (!is_v6)
		return setsockopt(sock, IPPROTO_IP, IP_MTU_DISCOVER, &v4, sizeof(v4)) ? -errno : 0;
	/* The ICRC does the work of the UDP checksum, which adapters omit (IBTA A17.3.1). */
	if (setsockopt(sock, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) ||
	    setsockopt(sock, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &v6, sizeof(v6)) ||
	    setsockopt(sock, IPPROTO_UDP, UDP_NO_CHECK6_RX, &on, sizeof(on)))
		return -errno;
	return 0;
}

/* Makes a socket that is bound to the port, 0: to a free one, and stores its address in a. Returns the
 * socket or -errno. */
static int bound_socket(const struct sn_addr *ip, uint16_t port, union address *a)
{
	socklen_t len = to_address(ip, port, a);
	int sock = socket(a->sa.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err;

	if (sock < 0)
		return -errno;
	err = set_options(sock, a->sa.sa_family == AF_INET6);
	if (!err && (bind(sock, &a->sa, len) || getsockname(sock, &a->sa, &len)))
		err = -errno;
	if (!err)
		return sock;
	close(sock);
	return err;
}

static int open_socket(struct sn_udp *u, const struct sn_addr *ip)
{
	union address a;
	struct sn_fab_dest own;

	u->sock = bound_socket(ip, 0, &a);
	if (u->sock < 0)
		return u->sock;
	from_address(&a, &own);
	u->port = own.udp_port;
	return find_max(u, &a);
}

static void init_batch(struct batch *b)
{
	for (unsigned int i = 0; i < BATCH; i++) {
		b->iov[i] = (struct iovec){b->bytes[i], ROOM};
		b->msg[i].msg_hdr = (struct msghdr){.msg_name = &b->peer[i], .msg_iov = &b->iov[i],
						    .msg_namelen = sizeof(b->peer[i]), .msg_iovlen = 1};
	}
}

static int watch_socket(struct sn_fab *f, const struct sn_udp *u, int sock)
{
	struct epoll_event ev = {.events = u->watched ? EPOLLIN : 0u, .data.u64 = SN_KEY_UDP};

	return epoll_ctl(f->epfd, EPOLL_CTL_ADD, sock, &ev) ? -errno : 0;
}

int sn_udp_open(struct sn_fab *f)
{
	struct sn_udp *u = calloc(1, sizeof(*u));
	int err;

	if (!u)
		return -ENOMEM;
	u->v6 = !is_v4(&f->config.ip);
	u->watched = true;
	u->listener = -1;
	err = open_socket(u, &f->config.ip);
	if (!err)
		err = watch_socket(f, u, u->sock);
	if (err) {
		if (u->sock >= 0)
			close(u->sock);
		free(u);
		return err;
	}
	init_batch(&u->tx);
	init_batch(&u->rx);
	f->udp = u;
	return 0;
}

int sn_udp_listen(struct sn_fab *f, uint16_t port)
{
	union address a;
	int sock, err;

	if (f->udp->listener >= 0)
		return 0;
	sock = bound_socket(&f->config.ip, port, &a);
	err = sock < 0 ? sock : watch_socket(f, f->udp, sock);
	if (!err)
		f->udp->listener = sock;
	else if (sock >= 0)
		close(sock);
	return err;
}

void sn_udp_close_sockets(const struct sn_udp *u)
{
	close(u->sock);
	if (u->listener >= 0)
		close(u->listener);
}

uint16_t sn_fab_udp_port(const struct sn_fab *f)
{
	return f->udp ? f->udp->port : 0;
}

size_t sn_fab_udp_max(const struct sn_fab *f)
{
	return f->udp ? f->udp->max : 0;
}

void sn_fab_udp_use(struct sn_fab *f, int change)
{
	f->udp->users += (unsigned int)change;
}

/*
 * Logs each error once in a row: the packet is lost like any other, and the QP retries. A thread of the host
 * that was cancelled in fprintf(3) would keep the device's lock.
 */
static void report_error(struct sn_udp *u, const union address *to, int error)
{
	char text[INET6_ADDRSTRLEN] = "?";
	int cancel;

	if (error == u->error)
		return;
	u->error = error;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	inet_ntop(to->sa.sa_family, to->sa.sa_family == AF_INET ? (const void *)&to->v4.sin_addr
								: &to->v6.sin6_addr, text, sizeof(text));
	if (error == EMSGSIZE)
		fprintf(stderr, "softnic: packets to %s are lost: they are longer than the MTU of the path; "
			"set that of the interface to it with ip link set mtu, and open the adapter again\n",
			text);
	else
		fprintf(stderr, "softnic: packets to %s are lost: %s\n", text, strerror(error));
	pthread_setcancelstate(cancel, NULL);
}

void sn_udp_flush(struct sn_fab *f)
{
	struct sn_udp *u = f->udp;
	struct batch *b = &u->tx;

	while (b->first < b->count) {
		/* Does not call sendmmsg(2), which is a cancellation point. */
		int n = (int)syscall(SYS_sendmmsg, u->sock, b->msg + b->first, b->count - b->first,
				     MSG_DONTWAIT);

		if (n > 0) {
			b->first += (unsigned int)n;
			u->error = 0;
		} else if (errno == EAGAIN) {
			return;
		} else if (errno != EINTR) {
			report_error(u, &b->peer[b->first++], errno);
			f->stats.unsent++;
		}
	}
	b->first = b->count = 0;
}

bool sn_udp_has_room(struct sn_fab *f)
{
	if (f->udp->tx.count == BATCH)
		sn_udp_flush(f);
	return f->udp->tx.count < BATCH;
}

int sn_udp_reserve(struct sn_fab *f, size_t len, void **pkt)
{
	struct sn_udp *u = f->udp;

	if (!u)
		return -EHOSTUNREACH;
	if (len > ROOM)
		return -EMSGSIZE;
	if (!sn_udp_has_room(f)) {
		f->stats.full++;
		return -EAGAIN;
	}
	*pkt = u->tx.bytes[u->tx.count];
	return 0;
}

static void set_tclass(struct sn_udp *u, unsigned int i, int tclass)
{
	struct msghdr *m = &u->tx.msg[i].msg_hdr;
	union control *c = &u->tclass[i];

	m->msg_controllen = tclass ? sizeof(*c) : 0;
	m->msg_control = c;
	c->head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(tclass)),
				   .cmsg_level = u->v6 ? IPPROTO_IPV6 : IPPROTO_IP,
				   .cmsg_type = u->v6 ? IPV6_TCLASS : IP_TOS};
	memcpy(CMSG_DATA(&c->head), &tclass, sizeof(tclass));
}

void sn_udp_commit(struct sn_fab *f, const struct sn_fab_dest *dest, size_t len)
{
	struct batch *b = &f->udp->tx;

	b->iov[b->count].iov_len = len;
	b->msg[b->count].msg_hdr.msg_namelen = to_address(&dest->gid, dest->udp_port, &b->peer[b->count]);
	set_tclass(f->udp, b->count, dest->tclass);
	b->count++;
	f->stats.sent++;
	if (!f->held || b->count == BATCH)
		sn_udp_flush(f);
}

static void read_socket(struct sn_udp *u, bool foreign)
{
	int n = (int)syscall(SYS_recvmmsg, foreign ? u->listener : u->sock, u->rx.msg, BATCH, MSG_DONTWAIT,
			     NULL);

	u->foreign = foreign;
	u->rx.first = 0;
	u->rx.count = n > 0 ? (unsigned int)n : 0;
}

/* Reads the sockets in turn, so that neither waits for the other. */
static void receive(struct sn_udp *u)
{
	bool foreign = !u->foreign && u->listener >= 0;

	read_socket(u, foreign);
	if (!u->rx.count && u->listener >= 0)
		read_socket(u, !foreign);
}

bool sn_udp_ready(struct sn_udp *u)
{
	if (u->rx.first == u->rx.count && u->users)
		receive(u);
	return u->rx.first < u->rx.count;
}

static void deliver(struct sn_fab *f, unsigned int i)
{
	struct batch *b = &f->udp->rx;
	struct msghdr *m = &b->msg[i].msg_hdr;
	struct sn_fab_dest src;

	f->stats.received++;
	from_address(&b->peer[i], &src);
	src.foreign = f->udp->foreign;
	if (m->msg_flags & MSG_TRUNC)
		f->stats.oversized++;
	else
		f->receiver.datagram(f->receiver.ctx, &src, b->bytes[i], b->msg[i].msg_len);
	m->msg_namelen = sizeof(b->peer[i]);
}

unsigned int sn_udp_poll(struct sn_fab *f, unsigned int budget, bool all)
{
	struct sn_udp *u = f->udp;
	unsigned int done;

	if (u->rx.first == u->rx.count && (all || u->users))
		receive(u);
	for (done = 0; done < budget && !f->stopped && u->rx.first < u->rx.count; done++)
		deliver(f, u->rx.first++);
	return done;
}

/* While a caller polls the fabric, an arriving packet need not wake its thread. */
bool sn_udp_watch(struct sn_fab *f, bool on)
{
	struct sn_udp *u = f->udp;
	bool pending = u->tx.count != 0;
	struct epoll_event ev = {.events = on ? EPOLLIN : 0u, .data.u64 = SN_KEY_UDP};

	if (on != u->watched && u->listener >= 0)
		epoll_ctl(f->epfd, EPOLL_CTL_MOD, u->listener, &ev);
	if (on && pending)
		ev.events |= EPOLLOUT;
	if (on != u->watched || pending)
		epoll_ctl(f->epfd, EPOLL_CTL_MOD, u->sock, &ev);
	u->watched = on;
	return u->rx.first == u->rx.count;
}
