/* SPDX-License-Identifier: BSD-2-Clause */
#include <endian.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/conformance/far.h"

struct hello {
	uint64_t qual, rmr_context, mem;
	DAT_SOCK_ADDR address;
};

/* ---- Executing an order ---- */

static uint64_t accept_one(struct side *s, uint64_t len)
{
	static char data[64];

	memset(data, 0x43, sizeof(data));
	check(len <= sizeof(data));
	must(dat_cr_accept(side_request(s), s->ep, (DAT_COUNT)len, len ? data : NULL));
	return 0;
}

static uint64_t obey(struct side *s, enum far_order order, uint64_t a, uint64_t b, uint64_t *second)
{
	DAT_DTO_COMPLETION_EVENT_DATA d;

	switch (order) {
	case FAR_ACCEPT: return accept_one(s, a);
	case FAR_REJECT: return must(dat_cr_reject(side_request(s)));
	case FAR_HANDOFF: return tried(dat_cr_handoff(side_request(s), a));
	case FAR_EVENT: return took(s->conn_evd).event_number;
	case FAR_RECV: return must(do_recv(s, 1, a, b));
	case FAR_RECEIVED:
		d = took_any(s->recv_evd, 1);
		*second = d.transfered_length;
		return d.status;
	case FAR_SEND:
		must(do_send(s, 2, a, b, DEFAULT));
		return took_any(s->req_evd, 2).status;
	case FAR_FILL: memset(s->mem, (int)a, MEM); return 0;
	case FAR_BYTE: return (unsigned char)s->mem[a % MEM];
	default: return must(dat_ep_disconnect(s->ep, DAT_CLOSE_ABRUPT_FLAG));
	}
}

static int far_side(int sock, void *arg)
{
	uint64_t order[3], answer[2];
	struct hello hello;
	struct side s;

	(void)arg;
	side_open_peer(&s);
	side_listen(&s);
	hello.qual = htobe64(s.qual);
	hello.rmr_context = htobe64(s.rmr_context);
	hello.mem = htobe64((uintptr_t)s.mem);
	hello.address = *side_address(&s);
	if (th_send(sock, &hello, sizeof(hello)))
		return 1;
	while (!th_recv(sock, order, sizeof(order))) {
		answer[1] = 0;
		answer[0] = htobe64(obey(&s, (enum far_order)be64toh(order[0]), be64toh(order[1]),
					 be64toh(order[2]), &answer[1]));
		answer[1] = htobe64(answer[1]);
		if (th_send(sock, answer, sizeof(answer)))
			break;
	}
	side_close(&s);
	return 0;
}

/* ---- Sending an order ---- */

static int dial_host(const char *host)
{
	struct addrinfo hint = { .ai_socktype = SOCK_STREAM }, *list;
	char port[8];
	int sock = -1;

	snprintf(port, sizeof(port), "%u", conform_options.port);
	if (getaddrinfo(host, port, &hint, &list))
		return -1;
	for (const struct addrinfo *a = list; a && sock < 0; a = a->ai_next) {
		sock = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (sock >= 0 && connect(sock, a->ai_addr, a->ai_addrlen)) {
			close(sock);
			sock = -1;
		}
	}
	freeaddrinfo(list);
	return sock;
}

/* Receives from the other side, whose output has the reason if it ends before it answers. */
static void hear(const struct far_end *f, void *data, size_t len)
{
	int err = th_recv(f->sock, data, len);

	if (err)
		conform_fail(__FILE__, __LINE__, "no answer from the other process: %s%s", strerror(-err),
			     conform_options.host ? "; dat_conform --serve says there why" : "");
}

void far_open(struct far_end *f)
{
	struct hello hello;

	memset(f, 0, sizeof(*f));
	if (conform_options.host) {
		f->sock = dial_host(conform_options.host);
		if (f->sock < 0)
			conform_fail(__FILE__, __LINE__,
				     "cannot connect to %s, port %u: does dat_conform --serve run "
				     "there?",
				     conform_options.host, conform_options.port);
	} else {
		spawn_end(&f->child, far_side, NULL);
		f->sock = f->child.sock;
	}
	hear(f, &hello, sizeof(hello));
	f->qual = be64toh(hello.qual);
	f->rmr_context = (DAT_RMR_CONTEXT)be64toh(hello.rmr_context);
	f->mem = be64toh(hello.mem);
	f->address = hello.address;
}

void far_close(struct far_end *f)
{
	shutdown(f->sock, SHUT_RDWR);
	if (f->child.pid > 0)
		same(th_join(&f->child, SOON_MS), 0);
	else
		close(f->sock);
}

void far_kill(struct far_end *f)
{
	if (f->child.pid <= 0)
		skip("the test cannot kill its peer, which is on another host (-r)");
	th_kill(&f->child);
}

uint64_t far_ask(struct far_end *f, enum far_order order, uint64_t a, uint64_t b, uint64_t *second)
{
	uint64_t out[3] = { htobe64(order), htobe64(a), htobe64(b) }, in[2];

	same(th_send(f->sock, out, sizeof(out)), 0);
	hear(f, in, sizeof(in));
	if (second)
		*second = be64toh(in[1]);
	return be64toh(in[0]);
}

/* Opens a socket for connections by IPv6 and IPv4; by IPv4 alone if this host has no IPv6. */
static int listen_to_all(void)
{
	in_port_t port = htons((uint16_t)conform_options.port);
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = port };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = port };
	int one = 1, zero = 0, sock = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool is_six = sock >= 0;

	if (!is_six)
		sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(sock, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (is_six ? bind(sock, (struct sockaddr *)&six, sizeof(six))
		   : bind(sock, (struct sockaddr *)&four, sizeof(four)))
		return -1;
	return listen(sock, 16) ? -1 : sock;
}

int far_serve(void)
{
	int sock = listen_to_all(), peer;
	struct sockaddr_in6 at;		/* the port has the same place in an IPv4 address */
	socklen_t len = sizeof(at);

	signal(SIGCHLD, SIG_IGN);
	if (sock < 0 || getsockname(sock, (struct sockaddr *)&at, &len)) {
		fprintf(stderr, "dat_conform: cannot serve at TCP port %u: %m; --port chooses another\n",
			conform_options.port);
		return 1;
	}
	printf("%s: serving at TCP port %u\n", conform_options.ia, ntohs(at.sin6_port));
	fflush(stdout);
	conform_outside();
	while ((peer = accept(sock, NULL, NULL)) >= 0) {
		if (!th_fork())
			_exit(far_side(peer, NULL));
		close(peer);
	}
	perror("dat_conform --serve: accept");
	return 1;
}
