/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/cm/node.h"

const char *cm_type_name(enum cm_type type)
{
	static const char *const names[CM_TYPES] = {
		"?", "REQ", "REP", "RTU", "GO", "REJ", "DISC", "BREAK", "CUT", "MOVE", "LOOK",
	};

	return type < CM_TYPES ? names[type] : "?";
}

void pattern(uint8_t *to, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		to[i] = (uint8_t)(seed * 31 + i * 7 + 1);
}

struct dap_path path_of(unsigned int seed)
{
	struct dap_path p = {
		.link_layer = 2, .rd_in = 4, .rd_out = 5, .sl = 1, .mtu = 1024, .lid = 7,
		.pkey_index = 3, .qpn = 0x1000 + seed, .psn = 0xabc000 + seed, .proto = 0x50001,
	};

	pattern(p.own, sizeof(p.own), seed);
	pattern(p.gid, sizeof(p.gid), seed + 1);
	return p;
}

bool same_path(const struct dap_path *a, const struct dap_path *b)
{
	return a->link_layer == b->link_layer && a->rd_in == b->rd_in && a->rd_out == b->rd_out &&
	       a->sl == b->sl && a->mtu == b->mtu && a->lid == b->lid &&
	       a->pkey_index == b->pkey_index && a->qpn == b->qpn && a->psn == b->psn &&
	       a->proto == b->proto && !memcmp(a->own, b->own, sizeof(a->own)) &&
	       !memcmp(a->gid, b->gid, sizeof(a->gid));
}

static void note(struct node *n, const struct dap_path *path, const void *pd, uint32_t size)
{
	if (path)
		n->path = *path;
	n->got_size = size;
	if (size)
		memcpy(n->got, pd, size);
}

int node_accept(struct node *n)
{
	struct dap_cm_conn *conn = n->request;
	struct dap_path path = path_of(2);
	uint8_t pd[DAP_MAX_PRIVATE_DATA];

	pattern(pd, n->pd_size, 2);
	n->request = NULL;
	n->passive = conn;
	return dap_cm_accept(conn, &path, pd, n->pd_size, n);
}

static int on_request(void *ctx, struct dap_cm_conn *conn, const struct dap_cm_request *r)
{
	struct node *n = ctx;

	if (n->on_request)
		n->on_request(n);
	note(n, r->path, r->private_data, r->private_data_size);
	n->from = r->from;
	n->conn_qual = r->conn_qual;
	n->request = conn;
	if (n->answer == NODE_ACCEPT)
		node_accept(n);
	else if (n->answer == NODE_REJECT)
		dap_cm_reject(conn, NULL, 0);
	n->requests++;
	return n->answer == NODE_REFUSE ? -ENOSPC : 0;
}

static void on_reply(void *ctx, struct dap_cm_conn *conn, const struct dap_path *path,
		     const void *pd, uint32_t size)
{
	struct node *n = ctx;

	note(n, path, pd, size);
	if (!n->no_rtu)
		dap_cm_rtu(conn);
	n->replies++;
}

static void on_ready(void *ctx, struct dap_cm_conn *conn)
{
	struct node *n = ctx;

	if (!n->no_go)
		dap_cm_go(conn);
	n->readies++;
}

static void on_established(void *ctx, struct dap_cm_conn *conn)
{
	struct node *n = ctx;

	if (n->parts) {
		cr_expect_eq(dap_cm_disconnect(conn, false), 0);
		dap_cm_release(conn);
	}
	n->established++;
}

static void on_ended(void *ctx, struct dap_cm_conn *conn, enum dap_cm_end why, const void *pd,
		     uint32_t size)
{
	struct node *n = ctx;

	note(n, NULL, pd, size);
	if (n->on_end)
		n->on_end(n, conn);
	pthread_mutex_lock(&n->lock);
	if (n->passive == conn)
		n->passive = NULL;
	pthread_mutex_unlock(&n->lock);
	/* The order of these stores matters: a thread that sees the end must also see its
	 * reason. */
	n->why[why]++;
	n->ended++;
}

static void on_look(void *ctx, struct dap_cm_conn *conn)
{
	(void)conn;
	((struct node *)ctx)->looks++;
}

static const struct dap_cm_ops ops = {
	on_request, on_reply, on_ready, on_established, on_ended, on_look,
};

void node_open(struct node *n, const char *address)
{
	union dap_addr local = dap_addr_v4(INADDR_ANY);

	memset(n, 0, sizeof(*n));
	pthread_mutex_init(&n->lock, NULL);
	if (inet_pton(AF_INET, address, &local.v4.sin_addr) != 1) {
		local = (union dap_addr){ .v6 = { .sin6_family = AF_INET6 } };
		cr_assert_eq(inet_pton(AF_INET6, address, &local.v6.sin6_addr), 1);
	}
	n->calls.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(dap_cm_open(&ops, &local, false, &n->cm), 0);
}

void node_close(struct node *n)
{
	dap_cm_close(n->cm);
	n->cm = NULL;
}

void node_open_two(struct node *a, struct node *b)
{
	node_open(a, "127.0.0.1");
	node_open(b, "127.0.0.1");
}

void node_close_two(struct node *a, struct node *b)
{
	node_close(a);
	node_close(b);
}

struct dap_cm_listener *node_listen(struct node *n, uint64_t conn_qual)
{
	struct dap_cm_listener *l;
	int err;

	err = dap_cm_listen(n->cm, &conn_qual, false, n, &l);
	cr_assert_eq(err, 0, "listening on port %u failed: %s", cm_port_of(conn_qual),
		     strerror(-err));
	return l;
}

int node_connect_pd(struct node *n, uint64_t conn_qual, uint32_t timeout_us, const void *pd,
		    uint32_t size, struct dap_cm_conn **c)
{
	union dap_addr to = { .v4 = { .sin_family = AF_INET, .sin_addr = n->calls } };
	struct dap_path path = path_of(1);

	return dap_cm_connect(n->cm, &to, conn_qual, timeout_us, &path, pd, size, n, c);
}

int node_connect(struct node *n, uint64_t conn_qual, uint32_t timeout_us, struct dap_cm_conn **c)
{
	return node_connect_pd(n, conn_qual, timeout_us, NULL, 0, c);
}

void node_pair(struct node *a, struct node *b, uint64_t conn_qual, struct dap_cm_conn **c)
{
	unsigned int before = a->established;

	cr_assert_eq(node_connect(a, conn_qual, FOR_EVER, c), 0);
	SOON(a->established == before + 1);
	SOON(b->passive);
}

void node_disconnect(struct node *n, bool abrupt)
{
	pthread_mutex_lock(&n->lock);
	if (n->passive)
		dap_cm_disconnect(n->passive, abrupt);
	pthread_mutex_unlock(&n->lock);
}

uint64_t node_retries(struct node *n)
{
	struct dap_cm_counts counts;

	dap_cm_count(n->cm, &counts);
	return counts.retries;
}

/* ---- Time ---- */

static _Atomic uint64_t stopped_ns;	/* 0: the clock is not stopped */

static uint64_t real_ns(void)
{
	struct timespec ts;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ts)
{
	uint64_t ns = stopped_ns;

	if (id != CLOCK_MONOTONIC || !ns)
		return (int)syscall(SYS_clock_gettime, id, ts);
	*ts = (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	return 0;
}

void clock_stop(void)
{
	stopped_ns = real_ns();
}

/* Waits until that much time has really passed. Otherwise clock_go_on() would turn the clock back. */
void clock_pass(uint64_t us)
{
	uint64_t ns = stopped_ns + us * 1000;

	while (real_ns() < ns)
		th_yield();
	stopped_ns = ns;
}

void clock_go_on(void)
{
	stopped_ns = 0;
}

/* ---- Sockets of the test ---- */

static struct sockaddr_in raw_address(uint64_t conn_qual)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(cm_port_of(conn_qual)) };

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

void raw_raise_limit(void)
{
	struct rlimit limit;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

socklen_t listener_name(struct sockaddr_un *name)
{
	union dap_addr at = dap_addr_v4(INADDR_LOOPBACK);

	dap_addr_set_port(&at, cm_port_of(QUAL));
	return cm_local_name(&at, name);
}

int raw_connect(uint64_t conn_qual)
{
	struct sockaddr_in to = raw_address(conn_qual);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert(fd >= 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0, "connect failed: %s",
		     strerror(errno));
	return fd;
}

int raw_listen(uint64_t conn_qual)
{
	struct sockaddr_in at = raw_address(conn_qual);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	cr_assert_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	cr_assert_eq(listen(fd, 16), 0);
	return fd;
}

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, SOON_MS) == 1;
}

int raw_accept(int listener)
{
	int fd = -1;

	if (readable(listener))
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	cr_assert(fd >= 0);
	return fd;
}

void raw_send(int fd, const void *buf, size_t len)
{
	cr_assert_eq(th_send(fd, buf, len), 0);
}

void raw_message(struct cm_wire *w, enum cm_type type, uint64_t id, uint64_t conn_qual)
{
	struct cm_msg m = { .type = type, .id = id, .conn_qual = conn_qual, .path = path_of(9) };

	if (type == CM_REJ)
		m.reason = CM_REASON_CONSUMER;
	cm_wire_put(&m, w);
}

void raw_say(int fd, enum cm_type type, uint64_t id, uint64_t conn_qual)
{
	struct cm_wire w;

	raw_message(&w, type, id, conn_qual);
	raw_send(fd, &w, sizeof(w));
}

int raw_hear(int fd, struct cm_msg *msg)
{
	uint8_t buf[CM_WIRE_SIZE];
	size_t len = 0;

	while (len < sizeof(buf)) {
		ssize_t n;

		if (!readable(fd))
			return -1;
		n = recv(fd, buf + len, sizeof(buf) - len, 0);
		if (n <= 0)
			return (int)n;
		len += (size_t)n;
	}
	return cm_wire_get(buf, len, msg);
}

bool raw_is_cut(int fd)
{
	struct cm_msg m;

	return raw_hear(fd, &m) <= 0 && readable(fd);
}

void raw_reset(int fd)
{
	struct linger hard = { 1, 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	close(fd);
}
