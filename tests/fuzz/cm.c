/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The whole connection manager, with virtual time and without a thread. The input is a script for core
 * and peers. Peers send whole, changed and truncated messages, with and without descriptors, over TCP,
 * muxes and handoff listeners. After the last call no connection and no descriptor is left.
 *
 * Judges: core/cm
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "core/cm/private.h"
#include "tests/fuzz/input.h"

int __real_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);
int __real_pthread_join(pthread_t t, void **ret);
int __wrap_pthread_join(pthread_t t, void **ret);
int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
ssize_t __wrap_getrandom(void *to, size_t len, unsigned int flags);

enum { CONNS = 16, PEERS = 8, LISTENERS = 4, QUALS = 6, IDS = 4, STEPS = 256 };
enum role { NONE, REQUESTED, CONNECTED };	/* CONNECTED: core expects a call of ended() */

static struct fuzz_input in;
static bool intercept;
static uint64_t now_us = 1000000000000000u, random_state;
static struct { struct dap_cm_conn *conn; enum role role; } conns[CONNS];
static int peers[PEERS];			/* sockets of peers, or -1 */
static struct dap_cm *cms[2];
static struct dap_cm_listener *listeners[LISTENERS];
static unsigned int depth;
static uint8_t pd[DAP_MAX_PRIVATE_DATA + 1];
/* Qualifiers. Core sometimes listens on the first three, and never on the others. */
static const uint64_t quals[QUALS] = { 45250, 45251, 45250 + (1ull << 14), 7, 77, 777 };
static uint64_t ids[IDS];			/* ids; the last one was chosen by the manager */

/* ---- Replacements for functions of the system ---- */

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg)
{
	if (!intercept)
		return __real_pthread_create(t, a, fn, arg);
	*t = pthread_self();
	return 0;
}

int __wrap_pthread_join(pthread_t t, void **ret)
{
	return intercept ? 0 : __real_pthread_join(t, ret);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (clock != CLOCK_MONOTONIC)
		return __real_clock_gettime(clock, ts);
	*ts = (struct timespec){ (time_t)(now_us / 1000000), (long)(now_us % 1000000) * 1000 };
	return 0;
}

ssize_t __wrap_getrandom(void *to, size_t len, unsigned int flags)
{
	uint8_t *b = to;

	(void)flags;
	for (size_t i = 0; i < len; i++) {
		random_state = random_state * 6364136223846793005u + 1442695040888963407u;
		b[i] = (uint8_t)(random_state >> 56);
	}
	return (ssize_t)len;
}

/* Runs one turn of the manager's thread. */
static void turn(void)
{
	struct epoll_event ev[64];
	int n = epoll_wait(cm_loop.epfd, ev, 64, 0);

	pthread_mutex_lock(&cm_loop.lock);
	FUZZ_ASSERT(cm_turn_begin(true));
	for (int i = 0; i < n; i++) {
		struct cm_item *item = ev[i].data.ptr;

		item->ready(item, ev[i].events);
	}
	cm_turn_end();
	while (cm_loop.free_later) {
		struct cm_item *item = cm_loop.free_later;

		cm_loop.free_later = item->next_dead;
		free(item);
	}
	pthread_mutex_unlock(&cm_loop.lock);
}

static void advance(uint64_t us)
{
	struct itimerspec at_once = { .it_value = { 0, 1 } };

	now_us += us;
	timerfd_settime(cm_loop.timerfd, 0, &at_once, NULL);
	cm_loop.wakes = 0;
	turn();
}

/* ---- Core ---- */

static struct dap_path some_path(void)
{
	return (struct dap_path){ .link_layer = 2, .rd_in = 4, .rd_out = 4, .mtu = 4096, .qpn = 5,
				  .psn = 6, .proto = 1 };
}

static int find(const struct dap_cm_conn *conn, enum role role)
{
	for (int i = 0; i < CONNS; i++) {
		if (conns[i].conn == conn && conns[i].role == role)
			return i;
	}
	return -1;
}

static void drop(int i)
{
	conns[i].conn = NULL;
	conns[i].role = NONE;
}

static bool add(struct dap_cm_conn *conn, enum role role)
{
	int i = find(NULL, NONE);

	if (i < 0)
		return false;
	conns[i].conn = conn;
	conns[i].role = role;
	return true;
}

static uint32_t some_pd_size(void)
{
	return fuzz_below(&in, 2) ? 0 : fuzz_u8(&in) + 1u;
}

static void answer(int i, unsigned int how)
{
	struct dap_cm_conn *c = conns[i].conn;
	struct dap_path path = some_path();
	int err;

	switch (how % 5) {
	case 0:
	case 1:
		err = dap_cm_accept(c, &path, pd, some_pd_size(), &conns);
		conns[i].role = err ? conns[i].role : CONNECTED;
		if (err == -ECONNRESET)
			drop(i);
		break;
	case 2:
		dap_cm_reject(c, pd, some_pd_size());
		drop(i);
		break;
	case 3:
		dap_cm_release(c);
		drop(i);
		break;
	case 4:
		if (!dap_cm_handoff(c, quals[fuzz_below(&in, QUALS)], &path, pd, some_pd_size()))
			drop(i);
		break;
	}
}

static void use(int i, unsigned int how)
{
	struct dap_cm_conn *c = conns[i].conn;

	switch (how % 6) {
	case 0: dap_cm_disconnect(c, false); return;
	case 1: dap_cm_disconnect(c, true); return;
	case 2: dap_cm_look(c); return;
	case 3: dap_cm_break(c, fuzz_below(&in, 2) ? "because" : NULL); break;
	case 4: dap_cm_disconnect(c, true); dap_cm_release(c); break;
	case 5: dap_cm_release(c); break;
	}
	drop(i);
}

static void call(int i, unsigned int how)
{
	if (conns[i].role == REQUESTED)
		answer(i, how);
	else if (conns[i].role == CONNECTED)
		use(i, how);
}

/* Called around each callback. Inside a callback, core may call the manager for any other connection. */
static void callback_begins(void)
{
	FUZZ_ASSERT(!depth++);
}

static void callback_ends(void)
{
	if (fuzz_below(&in, 8) == 7)
		call((int)fuzz_below(&in, CONNS), fuzz_u8(&in));
	depth--;
}

static void read_pd(const void *data, uint32_t size)
{
	uint8_t copy[DAP_MAX_PRIVATE_DATA];

	FUZZ_ASSERT(size <= sizeof(copy));
	if (size)
		memcpy(copy, data, size);
}

static int on_request(void *ctx, struct dap_cm_conn *conn, const struct dap_cm_request *r)
{
	unsigned int how = fuzz_below(&in, 8);

	(void)ctx;
	callback_begins();
	read_pd(r->private_data, r->private_data_size);
	callback_ends();
	if (!how || !add(conn, REQUESTED))
		return -ENOSPC;
	if (how < 6)
		answer(find(conn, REQUESTED), how - 1);
	return 0;
}

static void on_reply(void *ctx, struct dap_cm_conn *conn, const struct dap_path *path, const void *data,
		     uint32_t size)
{
	int i = find(conn, CONNECTED);
	unsigned int how = fuzz_below(&in, 6);

	(void)ctx;
	callback_begins();
	FUZZ_ASSERT(i >= 0 && path->mtu);
	read_pd(data, size);
	if (how < 2)
		use(i, how ? 3 : 5);
	else if (how > 2)
		dap_cm_rtu(conn);
	callback_ends();
}

static void on_ready(void *ctx, struct dap_cm_conn *conn)
{
	(void)ctx;
	callback_begins();
	FUZZ_ASSERT(find(conn, CONNECTED) >= 0);
	if (fuzz_below(&in, 5) < 4)
		dap_cm_go(conn);
	callback_ends();
}

static void on_event(void *ctx, struct dap_cm_conn *conn)
{
	(void)ctx;
	callback_begins();
	FUZZ_ASSERT(find(conn, CONNECTED) >= 0);
	callback_ends();
}

static void on_ended(void *ctx, struct dap_cm_conn *conn, enum dap_cm_end why, const void *data,
		     uint32_t size)
{
	int i = find(conn, CONNECTED);

	(void)ctx;
	callback_begins();
	FUZZ_ASSERT(i >= 0 && why <= DAP_CM_BROKEN);
	read_pd(data, size);
	drop(i);
	callback_ends();
}

static const struct dap_cm_ops ops = {
	.request = on_request, .reply = on_reply, .ready = on_ready, .established = on_event,
	.ended = on_ended, .look = on_event,
};

static void connect_core(void)
{
	static const uint32_t timeouts[] = { UINT32_MAX, 500000, 1000000 };
	struct dap_cm *cm = cms[fuzz_below(&in, 2)];
	uint64_t qual = quals[fuzz_below(&in, QUALS)];
	uint32_t timeout = timeouts[fuzz_below(&in, 3)];
	union dap_addr to = dap_addr_v4(INADDR_LOOPBACK);
	struct dap_path path = some_path();
	struct dap_cm_conn *conn;

	if (find(NULL, NONE) >= 0 &&
	    !dap_cm_connect(cm, &to, qual, timeout, &path, pd, some_pd_size(), &conns, &conn))
		add(conn, CONNECTED);
}

static void listen_core(void)
{
	unsigned int i = fuzz_below(&in, LISTENERS);
	uint64_t qual = quals[i % 3];

	if (listeners[i]) {
		dap_cm_unlisten(listeners[i]);
		listeners[i] = NULL;
	} else if (dap_cm_listen(cms[i == 3], &qual, false, &conns, &listeners[i])) {
		listeners[i] = NULL;
	}
}

/* ---- Peers ---- */

static void add_peer(int fd)
{
	struct linger hard = { 1, 0 };

	for (int i = 0; fd >= 0 && i < PEERS; i++) {
		if (peers[i] >= 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		peers[i] = fd;
		return;
	}
	if (fd >= 0)
		close(fd);
}

static void close_peer(unsigned int i)
{
	if (peers[i] >= 0)
		close(peers[i]);
	peers[i] = -1;
}

static int open_socket(int family, int type, const void *name, socklen_t len)
{
	int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	FUZZ_ASSERT(fd >= 0);
	if (!connect(fd, name, len) || errno == EINPROGRESS)
		return fd;
	close(fd);
	return -1;
}

static union dap_addr address_of(uint64_t qual)
{
	union dap_addr at = dap_addr_v4(INADDR_LOOPBACK);

	dap_addr_set_port(&at, cm_port_of(qual));
	return at;
}

static int connect_tcp(void)
{
	union dap_addr at = address_of(quals[fuzz_below(&in, QUALS)]);

	return open_socket(AF_INET, SOCK_STREAM, &at, dap_addr_len(&at));
}

static int connect_local(void)
{
	union dap_addr at = address_of(quals[fuzz_below(&in, 3)]);
	struct sockaddr_un name;
	socklen_t len = cm_local_name(&at, &name);

	return open_socket(AF_UNIX, SOCK_STREAM, &name, len);
}

static int connect_handoff(void)
{
	struct sockaddr_un name;
	socklen_t len = cm_handoff_name(quals[fuzz_below(&in, 3)], &name);

	return open_socket(AF_UNIX, SOCK_SEQPACKET, &name, len);
}

/* Returns a descriptor to be sent with a message. */
static int some_fd(void)
{
	union dap_addr at = address_of(quals[0]);
	int pair[2];

	switch (fuzz_below(&in, 4)) {
	case 0:
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	case 1:
		if (cm_local_pair(&at, pair))
			return -1;
		break;
	case 2:
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair))
			return -1;
		break;
	default:
		return connect_tcp();
	}
	add_peer(pair[1]);
	return pair[0];
}

/* Makes a message, which is mostly whole, and returns its length. An empty one may carry a descriptor. */
static size_t some_message(uint8_t *wire)
{
	struct cm_msg m = {
		.type = (enum cm_type)(1 + fuzz_below(&in, CM_TYPES - 1)),
		.reason = (enum cm_reason)(1 + fuzz_below(&in, CM_REASONS - 1)),
		.id = ids[fuzz_below(&in, IDS)],
		.conn_qual = quals[fuzz_below(&in, QUALS)],
		.path = some_path(),
	};
	unsigned int how = fuzz_below(&in, 8);

	m.pd_size = some_pd_size();
	memset(m.pd, 'A', m.pd_size);
	cm_wire_put(&m, wire);
	if (how == 7)
		wire[fuzz_u16(&in) % CM_WIRE_SIZE] ^= fuzz_u8(&in);
	return how == 6 ? fuzz_u8(&in) : CM_WIRE_SIZE;
}

static void send_to(int sock, bool with_fd)
{
	uint8_t wire[CM_WIRE_SIZE];
	struct iovec iov = { wire, some_message(wire) };
	int fd = with_fd ? some_fd() : -1;

	if (fd >= 0)
		cm_send_fd(sock, &iov, 1, fd);
	else
		send(sock, wire, iov.iov_len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (fd >= 0)
		close(fd);
}

static void send_noise(int sock)
{
	uint8_t noise[64];
	size_t n = fuzz_below(&in, sizeof(noise));

	for (size_t i = 0; i < n; i++)
		noise[i] = fuzz_u8(&in);
	send(sock, noise, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void receive(int sock)
{
	uint8_t wire[4 * CM_WIRE_SIZE];
	ssize_t n = recv(sock, wire, sizeof(wire), MSG_DONTWAIT);
	struct cm_msg m;

	for (size_t at = 0; n > 0 && at + CM_WIRE_SIZE <= (size_t)n; at += CM_WIRE_SIZE) {
		/* Messages of the manager are well-formed. The start of this one may have been read
		 * already. */
		if (cm_wire_get(wire + at, CM_WIRE_SIZE, &m) == 1)
			ids[IDS - 1] = m.id;
	}
}

/* ---- Scripts ---- */

static void step(void)
{
	unsigned int i = fuzz_below(&in, PEERS), what = fuzz_below(&in, 20);
	int handoff;

	switch (what) {
	case 0: add_peer(connect_tcp()); break;
	case 1: add_peer(connect_local()); break;
	case 2:
		/* Some handoff sockets get their request later, or never. */
		handoff = connect_handoff();
		if (handoff >= 0 && i < PEERS - 3)
			send_to(handoff, true);
		add_peer(handoff);
		break;
	case 3: case 4: case 5: case 6: send_to(peers[i], false); break;
	case 7: send_noise(peers[i]); break;
	case 8: close_peer(i); break;
	case 9: send_to(peers[i], true); break;
	case 10: connect_core(); break;
	case 11: case 12: call((int)fuzz_below(&in, CONNS), fuzz_u8(&in)); break;
	case 13: advance(fuzz_u8(&in) * (fuzz_below(&in, 2) ? 100u : 50000u)); break;
	case 14: case 15: receive(peers[i]); break;
	case 16: listen_core(); break;
	case 17: dap_cm_drive(cms[0]); break;
	case 18: shutdown(peers[i], (int)fuzz_below(&in, 3)); break;
	case 19: cm_limits.tcp = !cm_limits.tcp; break;
	}
}

static void begin(void)
{
	union dap_addr at = dap_addr_v4(INADDR_LOOPBACK), other = dap_addr_v4(INADDR_LOOPBACK + 1);
	uint64_t qual = quals[0];

	random_state = 5;
	now_us += 100000000;
	for (int i = 0; i < PEERS; i++)
		peers[i] = -1;
	for (int i = 0; i < IDS; i++)
		ids[i] = (uint64_t)i + 1;
	cm_limits.half_open = 4;
	cm_limits.half_open_source = 3;
	cm_limits.tcp = false;
	FUZZ_ASSERT(!dap_cm_open(&ops, &at, false, &cms[0]) && !dap_cm_open(&ops, &other, false, &cms[1]));
	FUZZ_ASSERT(!dap_cm_listen(cms[0], &qual, false, &conns, &listeners[0]));
}

static void release_all(enum role role)
{
	for (int i = 0; i < CONNS; i++) {
		if (conns[i].role != role)
			continue;
		dap_cm_release(conns[i].conn);
		drop(i);
	}
}

/* Core releases its requests before it closes. The close ends core's other connections. */
static void end(void)
{
	if (fuzz_below(&in, 2))
		release_all(CONNECTED);
	for (unsigned int i = 1; i < PEERS; i += 2)
		close_peer(i);
	advance(30000000);
	advance(30000000);
	release_all(REQUESTED);
	turn();
	dap_cm_close(cms[1]);
	dap_cm_close(cms[0]);
	memset(conns, 0, sizeof(conns));
	memset(listeners, 0, sizeof(listeners));
	for (unsigned int i = 0; i < PEERS; i++)
		close_peer(i);
	FUZZ_ASSERT(!cm_loop.users && !cm_loop.half_opens && !cm_loop.n_muxes && !cm_loop.n_pending);
}

/* Creates a network namespace, if that is allowed, because other processes use the same ports. */
static void own_network(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd;

	if (unshare(CLONE_NEWNET))
		return;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	FUZZ_ASSERT(fd >= 0 && !ioctl(fd, SIOCSIFFLAGS, &lo));
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool begun;
	int free_fd;

	if (!begun)
		own_network();
	begun = true;
	free_fd = lowest_free_fd();
	in = (struct fuzz_input){ data, size };
	intercept = true;
	begin();
	for (unsigned int i = 0; i < STEPS && in.left; i++) {
		step();
		if (fuzz_below(&in, 4))
			turn();
	}
	end();
	intercept = false;
	FUZZ_ASSERT(lowest_free_fd() == free_fd);
	return 0;
}
