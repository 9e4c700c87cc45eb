/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A software device between neighbours that may be wrong in every byte: the message that makes a link,
 * its descriptor, and the shared memory of its rings, which also changes while the device reads a packet.
 * The device stays inside the rings, each of its calls ends, and a link with an impossible word is
 * dropped. Time is virtual.
 *
 * Judges: softnic/fabric
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "softnic/fabric/link.h"
#include "tests/fuzz/input.h"

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);

enum {
	STEPS = 96,
	NEIGHBOURS = 4,
	LISTENER = NEIGHBOURS - 1,
	RING = SN_LINK_RING_MIN,
	BUDGET = 64,
	PROTOCOL = 7
};
enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, DEVICE = 0x80 };

static struct sn_fab *fab;
static uint64_t now_ns;
static struct fuzz_input in;
static unsigned int downs;
/* The last neighbour has a listener: the device makes the link to this neighbour, and may have an older
 * link to it. */
static struct neighbour {
	int sock;			/* -1: none */
	uint8_t *map;			/* NULL: none */
	bool calls;			/* the neighbour made the link, so it writes the first ring */
	struct sn_fab_dest dest;	/* the device's destination for this neighbour */
} neighbours[NEIGHBOURS];
static int listener;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (clock != CLOCK_MONOTONIC)
		return __real_clock_gettime(clock, ts);
	*ts = (struct timespec){ (time_t)(now_ns / 1000000000u), (long)(now_ns % 1000000000u) };
	return 0;
}

static bool rarely(void)
{
	return fuzz_below(&in, 8) == 7;
}

/* Several fuzzers may run on this host. */
static struct sn_addr address_of(unsigned int i)
{
	struct sn_addr a = { { 0xfe, 0xf0, [15] = (uint8_t)i } };
	pid_t pid = getpid();

	memcpy(a.raw + 4, &pid, sizeof(pid));
	return a;
}

/* The device's last link to a neighbour, or NULL; and how many it has. */
static struct sn_link *link_of(const struct neighbour *n, unsigned int *count)
{
	struct sn_link *link = NULL;

	*count = 0;
	for (uint32_t i = 0; i < fab->slots; i++) {
		if (!fab->links[i] || !sn_addr_equal(&fab->links[i]->peer, &n->dest.gid))
			continue;
		link = fab->links[i];
		++*count;
	}
	return link;
}

/* ---- Links ---- */

static void forget(struct neighbour *n)
{
	if (n->sock >= 0)
		close(n->sock);
	if (n->map)
		munmap(n->map, SN_LINK_CTL_BYTES + 2 * RING);
	n->sock = -1;
	n->map = NULL;
}

static int some_memory(size_t size)
{
	unsigned int how = fuzz_below(&in, 16);
	int fd;

	if (how == 15)
		return open("/dev/zero", O_RDWR | O_CLOEXEC);
	fd = memfd_create("neighbour", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	FUZZ_ASSERT(fd >= 0 && !ftruncate(fd, (off_t)(how == 14 ? size - 4096 : size)));
	FUZZ_ASSERT(!fcntl(fd, F_ADD_SEALS, how == 13 ? SEALS & ~F_SEAL_SHRINK : SEALS));
	return fd;
}

static int call_device(void)
{
	struct sn_addr to = address_of(DEVICE);
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char *end = name.sun_path + 1;

	end += sprintf(end, "softnic-");
	for (size_t i = 0; i < sizeof(to.raw); i++)
		end += sprintf(end, "%02x", to.raw[i]);
	FUZZ_ASSERT(sock >= 0);
	if (!connect(sock, (struct sockaddr *)&name, (socklen_t)(end - (char *)&name)))
		return sock;
	close(sock);
	return -1;
}

/* Sends a hello, which is mostly a good one, with mostly one descriptor. */
static void send_hello(int sock, unsigned int i, int fd)
{
	struct sn_link_hello hello = { .version = SN_LINK_VERSION, .ring_bytes = RING, .self = address_of(i),
				       .protocol = PROTOCOL };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(3 * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { &hello, sizeof(hello) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control };
	size_t n = rarely() ? fuzz_below(&in, 4) : 1;

	memcpy(hello.magic, SN_LINK_MAGIC, sizeof(hello.magic));
	if (rarely())
		((uint8_t *)&hello)[fuzz_u8(&in) % sizeof(hello)] ^= fuzz_u8(&in);
	if (rarely())
		iov.iov_len = fuzz_below(&in, sizeof(hello));
	if (rarely())
		hello.self = address_of(DEVICE);
	msg.msg_controllen = n ? CMSG_SPACE(n * sizeof(int)) : 0;
	control.head = (struct cmsghdr){ CMSG_LEN(n * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	for (size_t k = 0; k < n; k++)
		memcpy(CMSG_DATA(&control.head) + k * sizeof(fd), &fd, sizeof(fd));
	sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void call(unsigned int i)
{
	const size_t size = SN_LINK_CTL_BYTES + 2 * (size_t)RING;
	struct neighbour *n = &neighbours[i];
	struct stat st;
	int fd;

	forget(n);
	n->sock = call_device();
	if (n->sock < 0 || rarely())
		return;
	fd = some_memory(size);
	if (!fstat(fd, &st) && st.st_size == (off_t)size)
		n->map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	FUZZ_ASSERT(n->map != MAP_FAILED);
	n->calls = true;
	send_hello(n->sock, i, fd);
	close(fd);
}

/* Accepts the link that the device made, by the code of the fabric. */
static void accept_device(struct neighbour *n)
{
	int sock = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct sn_link *link;

	if (sock < 0)
		return;
	forget(n);
	n->sock = sock;
	n->calls = false;
	if (sn_link_accept(sock, PROTOCOL, &link))
		return;
	FUZZ_ASSERT(link->map_bytes == SN_LINK_CTL_BYTES + 2 * RING);
	n->map = link->map;
	free(link);
}

/* ---- Shared memory ---- */

static void put32(uint8_t *at, uint32_t v)
{
	memcpy(at, &v, sizeof(v));
}

static uint32_t some_word(void)
{
	switch (fuzz_below(&in, 6)) {
	case 0: return SN_RING_SKIP;
	case 1: return (uint32_t)fuzz_u16(&in) << 16 | fuzz_u16(&in);
	case 2: return (uint32_t)fuzz_u8(&in) << 16 | fuzz_u8(&in);
	case 3: return SN_FAB_MAX - 2 + fuzz_below(&in, 4);
	default: return 1 + fuzz_u8(&in);
	}
}

/* The ring that the device reads, and its position there if it has the link. */
static uint8_t *ring_of(const struct neighbour *n, uint64_t *pos)
{
	unsigned int count;
	const struct sn_link *link = link_of(n, &count);

	*pos = link ? link->rx.pos : 0;
	return n->map + SN_LINK_CTL_BYTES + (n->calls ? 0 : RING);
}

static void write_record(const struct neighbour *n)
{
	uint64_t pos;
	uint8_t *ring = ring_of(n, &pos);

	pos += rarely() ? fuzz_u8(&in) * 64u : 0;
	put32(ring + pos % RING, some_word());
}

/* Writes a run of records, so that the device comes to the end of the ring. */
static void write_run(const struct neighbour *n)
{
	uint32_t len = 1 + fuzz_u16(&in) % 4096, bytes = (len + 4 + 63) & ~63u;
	uint64_t pos;
	uint8_t *ring = ring_of(n, &pos);

	for (unsigned int k = 1 + fuzz_below(&in, 32); k && pos % RING + bytes <= RING; k--, pos += bytes) {
		put32(ring + pos % RING, len);
		put32(ring + (pos + bytes) % RING, 0);
	}
	if (fuzz_below(&in, 2))
		put32(ring + pos % RING, SN_RING_SKIP);
}

static void scribble(const struct neighbour *n)
{
	for (unsigned int k = fuzz_below(&in, 8); k--;) {
		uint32_t at = fuzz_below(&in, 2) ? fuzz_u16(&in) % SN_LINK_CTL_BYTES
						 : SN_LINK_CTL_BYTES + (uint32_t)fuzz_u16(&in) * 2;

		n->map[at] = fuzz_u8(&in);
	}
}

/* Writes the shared words of the ring that the device fills. */
static void write_head(const struct neighbour *n)
{
	struct sn_ring_ctl *ctl = (struct sn_ring_ctl *)(void *)n->map + (n->calls ? 1 : 0);
	unsigned int count;
	const struct sn_link *link = link_of(n, &count);
	uint64_t head = link ? link->tx.pos : 0;

	head = fuzz_below(&in, 2) ? head : (uint64_t)((int64_t)head + (int8_t)fuzz_u8(&in) * 64);
	atomic_store(&ctl->head, rarely() ? (uint64_t)fuzz_u16(&in) << 48 : head);
	atomic_store(&ctl->asleep, fuzz_below(&in, 2));
	atomic_store(&ctl[n->calls ? -1 : 1].starved, fuzz_below(&in, 2));
}

static void change_memory(const struct neighbour *n)
{
	if (!n->map)
		return;
	switch (fuzz_below(&in, 6)) {
	case 0: case 1: write_record(n); break;
	case 2: write_run(n); break;
	case 3: scribble(n); break;
	default: write_head(n); break;
	}
}

/* ---- The device ---- */

static void check_inside(const struct sn_ring *ring, const void *at, size_t len)
{
	uint64_t off = (uint64_t)((const uint8_t *)at - ring->data);

	FUZZ_ASSERT(off < ring->size && len <= ring->size - off);
}

static void send_to(const struct neighbour *n)
{
	size_t len = rarely() ? fuzz_u16(&in) : 1 + fuzz_u8(&in) * 8u;
	struct sn_fab_dest dest = n->dest;
	void *pkt;
	int err = sn_fab_reserve(fab, &dest, len, &pkt);

	FUZZ_ASSERT(err <= 0 && (len && len <= SN_FAB_MAX ? err != -EMSGSIZE : err == -EMSGSIZE));
	if (err)
		return;
	if (!fab->chaos)
		check_inside(&fab->links[dest.slot]->tx, pkt, len);
	memset(pkt, 0x5a, len);
	sn_fab_commit(fab, &dest, len);
}

/* A second packet travels in the record of the first one. */
static void send_two(struct neighbour *n)
{
	size_t len = 1 + fuzz_u8(&in), second = 1 + fuzz_u8(&in);
	uint8_t *pkt = sn_fab_can_piggyback(fab)
			       ? sn_fab_room(fab, &n->dest, sn_ring_behind(len) + second)
			       : NULL;

	if (!pkt)
		return;
	check_inside(&fab->links[n->dest.slot]->tx, pkt, sn_ring_behind(len) + second);
	memset(pkt, 0x5a, sn_ring_behind(len) + second);
	sn_fab_commit_both(fab, &n->dest, len, second);
}

/* While the device reads a packet, its neighbour changes the memory. The device may answer. */
static void deliver(void *ctx, const struct sn_addr *src, const void *pkt, size_t len)
{
	static uint8_t copy[SN_FAB_MAX];
	const uint8_t *bytes = pkt;
	unsigned int i = src->raw[15] % NEIGHBOURS, count;
	bool found = false;

	(void)ctx;
	FUZZ_ASSERT(len && len <= SN_FAB_MAX);
	for (uint32_t k = 0; k < fab->slots && !found; k++) {
		const struct sn_link *link = fab->links[k];

		found = link && bytes >= link->rx.data && bytes < link->rx.data + link->rx.size;
		if (found)
			check_inside(&link->rx, pkt, len);
	}
	FUZZ_ASSERT(found || fab->chaos);	/* faults apply to a copy of the packet */
	memcpy(copy, pkt, len);
	link_of(&neighbours[i], &count);
	if (rarely() && count == 1 && neighbours[i].map)
		write_record(&neighbours[i]);
	if (rarely())
		send_to(&neighbours[i]);
}

static void down(void *ctx, const struct sn_addr *peer)
{
	(void)ctx;
	(void)peer;
	downs++;
}

/* Is the next record impossible? This reads the words as the comments of ring.h have them. */
static bool is_broken(const struct sn_link *link)
{
	uint64_t at = link->rx.pos % link->rx.size;
	uint32_t word, len, second, all;

	memcpy(&word, link->rx.data + at, sizeof(word));
	if (word == SN_RING_SKIP && at) {
		at = 0;
		memcpy(&word, link->rx.data, sizeof(word));
	}
	len = word & 0xffff;
	second = word >> 16;
	all = second ? (len + 3) / 4 * 4 + second : len;
	return word && (!len || all > SN_FAB_MAX || at + 4 + all > link->rx.size);
}

static bool exists(const struct sn_link *link)
{
	for (uint32_t i = 0; i < fab->slots; i++)
		if (fab->links[i] == link)
			return true;
	return false;
}

static void poll_device(void)
{
	enum { MANY = 64 };
	const struct sn_link *broken[MANY];
	unsigned int n = 0, done;

	for (uint32_t i = 0; i < fab->slots && n < MANY; i++)
		if (fab->links[i] && is_broken(fab->links[i]))
			broken[n++] = fab->links[i];
	done = sn_fab_poll(fab, BUDGET);
	FUZZ_ASSERT(done <= BUDGET + 1);
	sn_fab_service(fab);
	/* The sanitizer does not use freed memory again soon, so another link has another address. */
	while (done < BUDGET && n)
		FUZZ_ASSERT(!exists(broken[--n]));
}

static void sleep_and_wake(void)
{
	bool idle = sn_fab_sleep(fab);

	for (unsigned int i = 0; i < NEIGHBOURS; i++)
		sn_fab_has_room(fab, &neighbours[i].dest);
	sn_fab_quiet(fab);
	if (!idle || fuzz_below(&in, 2))
		sn_fab_awake(fab);
	if (fuzz_below(&in, 2))
		sn_fab_hold(fab);
	else
		sn_fab_release(fab);
}

static void set_faults(void)
{
	struct sn_fab_faults f = { .seed = 1 };

	if (fuzz_below(&in, 2)) {
		f.drop = f.dup = 0.2;
		f.reorder = f.delay = f.corrupt = 0.3;
	}
	FUZZ_ASSERT(!sn_fab_set_faults(fab, &f));
}

/* ---- Scripts ---- */

static void step(void)
{
	unsigned int i = fuzz_below(&in, NEIGHBOURS);
	struct neighbour *n = &neighbours[i];

	switch (fuzz_below(&in, 16)) {
	case 0: call(i); break;
	case 1: accept_device(&neighbours[LISTENER]); break;
	case 2: send_to(n); break;
	case 3: send_two(n); break;
	case 4: sleep_and_wake(); break;
	case 5: send(n->sock, "wake", fuzz_below(&in, 5), MSG_NOSIGNAL | MSG_DONTWAIT); break;
	case 6: shutdown(n->sock, (int)fuzz_below(&in, 3)); break;
	case 7:
		if (rarely())
			forget(n);
		break;
	case 8: now_ns += (uint64_t)fuzz_u8(&in) << 20; break;
	case 9:
		if (rarely())
			set_faults();
		break;
	case 10: case 11: poll_device(); break;
	default: change_memory(n); break;
	}
}

/* The neighbours are gone, so the device has no link left but that to itself. */
static void end(void)
{
	for (unsigned int i = 0; i < NEIGHBOURS; i++)
		forget(&neighbours[i]);
	close(listener);
	for (unsigned int i = 0; i < 8; i++)
		sn_fab_service(fab);
	for (uint32_t i = 0; i < fab->slots; i++)
		FUZZ_ASSERT(!fab->links[i] || fab->links[i]->sock < 0);
	FUZZ_ASSERT(downs == fab->stats.links_lost);
	sn_fab_close(fab);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sn_fab_config config = { .gid = address_of(DEVICE), .protocol = PROTOCOL, .ring_bytes = RING,
					.deliver = deliver, .down = down };
	struct sn_addr listens = address_of(LISTENER);
	int free_fd = lowest_free_fd();

	in = (struct fuzz_input){ data, size };
	now_ns = 1000000000u;
	downs = 0;
	FUZZ_ASSERT(!sn_fab_open(&config, &fab));
	listener = sn_link_listen(&listens);
	FUZZ_ASSERT(listener >= 0);
	for (unsigned int i = 0; i < NEIGHBOURS; i++)
		neighbours[i] = (struct neighbour){ .sock = -1, .dest.gid = address_of(i) };
	for (unsigned int i = 0; i < STEPS && in.left; i++)
		step();
	end();
	FUZZ_ASSERT(lowest_free_fd() == free_fd);
	return 0;
}
