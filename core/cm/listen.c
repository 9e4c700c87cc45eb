/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Listening. A software adapter listens on its own address only. A listener accepts connections on
 * every address of the host if no interface of this network namespace has that address. So do
 * listeners of other adapters, since peers may use any name of their host: one socket bound to ::
 * accepts IPv4 and IPv6. Both kinds may share a qualifier in one process; then the called address
 * decides.
 *
 * Each address and port also has a local stream socket for processes of the same host and user.
 * Its abstract name contains the user, the address and the port. Names belong to one network
 * namespace, as addresses do. Its connections are muxes (mux.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/cm/private.h"

/* ---- Listening TCP sockets ---- */

static void port_enter(struct cm_acceptor *acceptor, int fd)
{
	union dap_addr from, called;

	if (!cm_sock_ends(fd, &called, &from)) {
		close(fd);		/* the peer has already closed it */
		return;
	}
	cm_sock_options(fd);
	cm_sock_connected(fd);
	cm_passive_accepted(((struct cm_port *)acceptor)->port, fd, &from, &called);
}

/* :: is for both families; a kernel without IPv6 has only 0.0.0.0. */
static union dap_addr every_address(void)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 && errno == EAFNOSUPPORT)
		return dap_addr_v4(INADDR_ANY);
	if (fd >= 0)
		close(fd);
	return (union dap_addr){ .v6 = { .sin6_family = AF_INET6 } };
}

static union dap_addr listen_address(const struct dap_cm *cm, uint16_t number)
{
	union dap_addr at = cm->everywhere ? every_address() : cm->address;

	dap_addr_set_port(&at, number);
	return at;
}

/*
 * While some socket listens at one address of a port, Linux refuses another one at all addresses, unless both
 * have SO_REUSEPORT at that moment. They have it only then: the provider in another process is still refused.
 * Returns true if this process listens at the port.
 */
static bool ports_share(uint16_t number, int on)
{
	const struct cm_port *p;
	bool found = false;

	LIST_FOREACH(p, &cm_loop.ports, link) {
		if (p->port != number)
			continue;
		setsockopt(p->acceptor.fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
		found = true;
	}
	return found;
}

static int port_bind(struct cm_port *p, struct dap_cm *cm)
{
	union dap_addr at = listen_address(cm, p->port);
	bool share = dap_addr_is_any(&at) && ports_share(p->port, 1);
	char ip[DAP_ADDR_TEXT];
	int err = cm_acceptor_open(&p->acceptor, &at.sa, dap_addr_len(&at), SOCK_STREAM, share);

	if (share)
		ports_share(p->port, 0);
	p->at = at;
	if (err == -EADDRNOTAVAIL && !cm->everywhere) {
		dap_log(DAP_LOG_WARN, "no interface has the adapter's address %s: listening on all "
			"addresses of this host", dap_addr_text(&at, ip));
		cm->everywhere = true;
		return port_bind(p, cm);
	}
	return err;
}

static struct cm_port *port_open(struct dap_cm *cm, uint16_t number, int *err)
{
	struct cm_port *p = calloc(1, sizeof(*p));

	*err = -ENOMEM;
	if (!p)
		return NULL;
	p->port = number;
	p->acceptor.enter = port_enter;
	*err = port_bind(p, cm);
	if (*err) {
		free(p);
		return NULL;
	}
	LIST_INSERT_HEAD(&cm_loop.ports, p, link);
	return p;
}

static void port_put(struct cm_port *p)
{
	if (!LIST_EMPTY(&p->listeners))
		return;
	LIST_REMOVE(p, link);
	cm_acceptor_close(&p->acceptor);
}

/* Returns this process's listening socket for the port that peers of the adapter reach, or NULL. */
static struct cm_port *port_find(const struct dap_cm *cm, uint16_t number)
{
	union dap_addr at = listen_address(cm, number);
	struct cm_port *p;

	LIST_FOREACH(p, &cm_loop.ports, link) {
		if (p->port == number && (dap_addr_same(&p->at, &at) || dap_addr_is_any(&p->at)))
			break;
	}
	return p;
}

/* ---- Local listening sockets ---- */

static void local_enter(struct cm_acceptor *acceptor, int fd)
{
	cm_mux_accepted(fd, &((const struct cm_local *)acceptor)->at, &cm_passive);
}

/* Without a local listening socket, local peers use TCP. */
static struct cm_local *local_get(const struct dap_cm *cm, uint16_t port)
{
	union dap_addr at = cm->address;
	struct cm_local *n;
	struct sockaddr_un name;
	socklen_t len;
	int err;

	dap_addr_set_port(&at, port);
	len = cm_local_name(&at, &name);
	err = cm_local_get(&cm_loop.locals, &name, len, SOCK_STREAM, local_enter, &n);

	if (err) {
		dap_log(DAP_LOG_WARN, "cannot listen on the local socket @%s: %s; peers of this host "
			"connect by TCP", name.sun_path + 1,
			err == -EADDRINUSE ? "another process has bound this name" : strerror(-err));
		return NULL;
	}
	n->at = at;
	return n;
}

/* ---- Listeners ---- */

/* Does this process listen on the qualifier at the same address? */
static bool is_taken(const struct dap_cm *cm, uint64_t conn_qual)
{
	const struct dap_cm_listener *l;
	const struct cm_port *p;

	LIST_FOREACH(p, &cm_loop.ports, link) {
		if (p->port != cm_port_of(conn_qual))
			continue;
		LIST_FOREACH(l, &p->listeners, link) {
			if (l->conn_qual == conn_qual && dap_addr_same(&l->cm->address, &cm->address))
				return true;
		}
	}
	return false;
}

/* If another user has bound the handoff name, the listener still accepts connections. */
static int open_handoff(struct dap_cm_listener *l, uint64_t conn_qual)
{
	int err = cm_handoff_listener_get(conn_qual, &l->handoff);

	if (err != -EADDRINUSE)
		return err;
	dap_log(DAP_LOG_WARN, "qualifier 0x%llx: another process has bound its handoff "
		"socket; no process can hand requests off to it",
		(unsigned long long)conn_qual);
	return 0;
}

static int listen_to(struct dap_cm *cm, struct dap_cm_listener *l, uint64_t conn_qual)
{
	uint16_t number = cm_port_of(conn_qual);
	struct cm_port *p = port_find(cm, number);
	int err;

	if (is_taken(cm, conn_qual))
		return -EADDRINUSE;
	if (!p)
		p = port_open(cm, number, &err);
	if (!p)
		return err;
	err = open_handoff(l, conn_qual);
	if (err) {
		port_put(p);
		return err;
	}
	l->cm = cm;
	l->port = p;
	l->local = local_get(cm, p->port);
	l->conn_qual = conn_qual;
	LIST_INSERT_HEAD(&p->listeners, l, link);
	LIST_INSERT_HEAD(&cm->listeners, l, link_cm);
	return 0;
}

/*
 * Without SO_REUSEADDR bind(2) refuses a port that another program has bound, even if it does not
 * listen yet, and one with connections in TIME_WAIT. Since any port will do here, skip those.
 */
static bool is_reserved(const struct dap_cm *cm, uint16_t number)
{
	const union dap_addr at = listen_address(cm, number);
	bool reserved;
	int fd;

	if (port_find(cm, number))
		return false;
	fd = socket(at.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;		/* listen_to() reports the error */
	reserved = bind(fd, &at.sa, dap_addr_len(&at)) && errno == EADDRINUSE;
	close(fd);
	return reserved;
}

/* Picks a random qualifier from 1024 to 65535: consumers pass them on in 16-bit fields. */
static int listen_any(struct dap_cm *cm, struct dap_cm_listener *l)
{
	const unsigned int first = 1024, count = 65536 - first;
	unsigned int at = 0;
	int err = -EADDRINUSE;

	if (getrandom(&at, sizeof(at), 0) < 0)
		at = 0;
	for (unsigned int i = 0; i < count && err == -EADDRINUSE; i++) {
		unsigned int conn_qual = first + (at + i) % count;

		if (!is_reserved(cm, cm_port_of(conn_qual)))
			err = listen_to(cm, l, conn_qual);
	}
	return err == -EADDRINUSE ? -EADDRNOTAVAIL : err;
}

/* The qualifier is free in this process, but another process has its TCP port. */
static void log_port_in_use(const struct dap_cm *cm, uint64_t conn_qual)
{
	uint16_t number = cm_port_of(conn_qual);
	union dap_addr at = listen_address(cm, number);
	char ip[DAP_ADDR_TEXT];

	if (!is_taken(cm, conn_qual))
		dap_log(DAP_LOG_ERR, "cannot listen on %s port %u, qualifier 0x%llx: %s",
			dap_addr_text(&at, ip), number, (unsigned long long)conn_qual,
			dap_reason(-EADDRINUSE));
}

int dap_cm_listen(struct dap_cm *cm, uint64_t *conn_qual, bool any, void *ctx,
		  struct dap_cm_listener **out)
{
	struct dap_cm_listener *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	l->ctx = ctx;
	if (!cm_enter(cm->generation)) {
		free(l);
		return -ECHILD;
	}
	err = any ? listen_any(cm, l) : listen_to(cm, l, *conn_qual);
	if (err == -EADDRINUSE)
		log_port_in_use(cm, *conn_qual);
	if (err) {
		free(l);
	} else {
		*conn_qual = l->conn_qual;
		*out = l;
	}
	cm_leave();
	return err;
}

void cm_listener_close(struct dap_cm_listener *l)
{
	LIST_REMOVE(l, link);
	LIST_REMOVE(l, link_cm);
	port_put(l->port);
	cm_local_put(l->local);
	cm_local_put(l->handoff);
	free(l);
}

void dap_cm_unlisten(struct dap_cm_listener *l)
{
	if (!cm_enter(l->cm->generation))
		return;
	cm_listener_close(l);
	cm_leave();
}
