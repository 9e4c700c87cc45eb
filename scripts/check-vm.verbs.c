/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs [-d DEVICE] [-g GID_INDEX] [-m MTU] [-p PORT] [HOST]: a reliable connection between two programs by
 * verbs alone. The client, which has HOST, writes, reads, sends and does atomics of many lengths. Both ends
 * compare every byte. Ends with status 0 if all was right.
 */
#include <endian.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 1 << 20, WORDS = 64, SECONDS = 100 };
enum action { RECEIVE, COMPARE, WORD, DONE };

/* What the other end needs to know; gid first, since it has the strictest alignment. */
struct end {
	union ibv_gid gid;
	uint64_t va;
	uint32_t qpn, psn, rkey, reserved;
};

/* A request of the client to the server, on the TCP socket; the answer is one byte. */
struct request {
	uint32_t action, len, seed, imm;
	uint64_t word;
};

static const char *name;
static unsigned int gid_index = 1, mtu = 1024;
static int sock;
static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
/* ROOM bytes that the peer accesses, ROOM bytes of this end, then words for atomics */
static uint8_t *data;
static struct end peer;

static void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static void *need(void *p, const char *what)
{
	if (!p)
		die("%s failed", what);
	return p;
}

static void say(const void *p, size_t len)
{
	if (write(sock, p, len) != (ssize_t)len)
		die("the other end is gone");
}

static void hear(void *p, size_t len)
{
	if (recv(sock, p, len, MSG_WAITALL) != (ssize_t)len)
		die("the other end is gone");
}

static void meet(const char *host, const char *port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_INET, .ai_flags = AI_PASSIVE};
	struct addrinfo *at;
	int listener, on = 1;

	if (getaddrinfo(host, port, &hints, &at))
		die("no such host");
	sock = listener = socket(AF_INET, SOCK_STREAM, 0);
	if (host) {
		if (connect(sock, at->ai_addr, at->ai_addrlen))
			die("Couldn't connect");
		return;
	}
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener, at->ai_addr, at->ai_addrlen) || listen(listener, 1))
		die("cannot listen");
	sock = accept(listener, NULL, NULL);
}

static void open_device(void)
{
	struct ibv_device **list = need(ibv_get_device_list(NULL), "ibv_get_device_list");
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
	};
	unsigned int i = 0;

	while (list[i] && name && strcmp(ibv_get_device_name(list[i]), name))
		i++;
	ctx = need(ibv_open_device(need(list[i], "finding the device")), "ibv_open_device");
	pd = need(ibv_alloc_pd(ctx), "ibv_alloc_pd");
	cq = need(ibv_create_cq(ctx, 64, NULL, NULL, 0), "ibv_create_cq");
	data = need(aligned_alloc(4096, 2 * ROOM + 4096), "aligned_alloc");
	memset(data, 0, 2 * ROOM + 4096);
	mr = need(ibv_reg_mr(pd, data, 2 * ROOM + 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC), "ibv_reg_mr");
	init.send_cq = init.recv_cq = cq;
	qp = need(ibv_create_qp(pd, &init), "ibv_create_qp");
}

static void modify(struct ibv_qp_attr attr, int mask, const char *state)
{
	if (ibv_modify_qp(qp, &attr, mask | IBV_QP_STATE))
		die("the QP cannot be moved to %s", state);
}

static void connect_qp(void)
{
	struct end own = {.va = (uintptr_t)data, .qpn = qp->qp_num, .psn = 0xfffff0, .rkey = mr->rkey};
	int code = IBV_MTU_256;

	while (256u << (code - IBV_MTU_256) < mtu)
		code++;
	if (ibv_query_gid(ctx, 1, (int)gid_index, &own.gid))
		die("there is no GID %u", gid_index);
	say(&own, sizeof(own));
	hear(&peer, sizeof(peer));
	modify((struct ibv_qp_attr){.qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC},
	       IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
	modify((struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = (enum ibv_mtu)code,
				    .dest_qp_num = peer.qpn, .rq_psn = peer.psn, .max_dest_rd_atomic = 4,
				    .min_rnr_timer = 12,
				    .ah_attr = {.is_global = 1, .port_num = 1,
						.grh = {.dgid = peer.gid, .sgid_index = (uint8_t)gid_index,
							.hop_limit = 64}}},
	       IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
	       IBV_QP_MIN_RNR_TIMER, "RTR");
	modify((struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
				    .sq_psn = own.psn, .max_rd_atomic = 4},
	       IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	       IBV_QP_MAX_QP_RD_ATOMIC, "RTS");
	say("+", 1);
	hear(&code, 1);
}

static struct ibv_wc complete(void)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc))
		;
	if (wc.status)
		die("a request failed: %s", ibv_wc_status_str(wc.status));
	return wc;
}

static uint8_t pattern(uint32_t seed, uint32_t i)
{
	return (uint8_t)((i ^ seed * 2654435761u) * 167 + (i >> 8));
}

static void fill(uint8_t *at, uint32_t len, uint32_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		at[i] = pattern(seed, i);
}

static bool filled(const uint8_t *at, uint32_t len, uint32_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		if (at[i] != pattern(seed, i))
			return false;
	return true;
}

/* Asks the server to do something, and waits until it is done. */
static void ask(struct request r)
{
	char answer;

	say(&r, sizeof(r));
	hear(&answer, 1);
	if (answer != 'y')
		die("the server found something else: action %u, %u bytes, seed %u", r.action, r.len, r.seed);
}

static struct ibv_wc post(struct ibv_send_wr wr, uint8_t *at, uint32_t len)
{
	struct ibv_sge sge = {(uintptr_t)at, len, mr->lkey};
	struct ibv_send_wr *bad;

	wr.sg_list = &sge;
	wr.num_sge = len != 0;
	wr.send_flags = IBV_SEND_SIGNALED;
	if (wr.opcode == IBV_WR_RDMA_WRITE || wr.opcode == IBV_WR_RDMA_READ ||
	    wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
		wr.wr.rdma.remote_addr = peer.va;
		wr.wr.rdma.rkey = peer.rkey;
	}
	if (ibv_post_send(qp, &wr, &bad))
		die("ibv_post_send failed");
	return complete();
}

static void transfer(uint32_t len, uint32_t seed)
{
	uint8_t *own = data + ROOM;

	fill(own, len, seed);
	post((struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE}, own, len);
	ask((struct request){COMPARE, len, seed, 0, 0});
	memset(own, 0, len);
	post((struct ibv_send_wr){.opcode = IBV_WR_RDMA_READ}, own, len);
	if (!filled(own, len, seed))
		die("a read of %u bytes has other data", len);
	fill(own, len, seed + 1);
	ask((struct request){RECEIVE, len, 0, 0, 0});
	post((struct ibv_send_wr){.opcode = IBV_WR_SEND}, own, len);
	ask((struct request){COMPARE, len, seed + 1, 1, 0});
	fill(own, len, seed + 2);
	ask((struct request){RECEIVE, len, 0, 0, 0});
	post((struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = htobe32(seed)}, own, len);
	ask((struct request){COMPARE, len, seed + 2, seed, 0});
}

static uint64_t atomic(enum ibv_wr_opcode opcode, uint64_t compare_add, uint64_t swap)
{
	uint64_t *old = (uint64_t *)(void *)(data + 2 * ROOM + 8 * WORDS);

	post((struct ibv_send_wr){.opcode = opcode, .wr.atomic = {peer.va + 2 * ROOM, compare_add, swap,
								  peer.rkey}},
	     (uint8_t *)old, sizeof(*old));
	return *old;
}

static void atomics(void)
{
	const uint64_t big = UINT64_C(0x123456789abcdef0);

	for (uint64_t i = 0; i < 100; i++)
		if (atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, big, 0) != big * i)
			die("fetch and add number %u returns another value", (unsigned int)i);
	if (atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 1, 2) != big * 100)
		die("a compare that fails returns another value");
	ask((struct request){WORD, 0, 0, 0, big * 100});
	if (atomic(IBV_WR_ATOMIC_CMP_AND_SWP, big * 100, 77) != big * 100)
		die("a compare that succeeds returns another value");
	ask((struct request){WORD, 0, 0, 0, 77});
}

static void run_client(void)
{
	static const uint32_t lens[] = {1, 7, 256, 1023, 1024, 1025, 4095, 4096, 4097, 65536, 100003, ROOM};

	for (uint32_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		transfer(lens[i], 100 * i + 7);
	for (uint32_t i = 0; i < 50; i++)
		transfer(5000 + i * 97, 10 * i + 3);
	transfer(0, 1);
	atomics();
	say(&(struct request){DONE, 0, 0, 0, 0}, sizeof(struct request));
	puts("client: all data was right");
}

static void post_receive(uint32_t len)
{
	struct ibv_sge sge = {(uintptr_t)data, len, mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	if (ibv_post_recv(qp, &wr, &bad))
		die("ibv_post_recv failed");
}

/* imm: 0: no completion; 1: the completion of a send; else a completion with this immediate. */
static bool compare(const struct request *r)
{
	struct ibv_wc wc = r->imm ? complete() : (struct ibv_wc){0};

	return (!r->imm || wc.byte_len == r->len) && (r->imm < 2 || be32toh(wc.imm_data) == r->imm) &&
		filled(data, r->len, r->seed);
}

static void run_server(void)
{
	struct request r;
	bool right = true;

	for (hear(&r, sizeof(r)); r.action != DONE; hear(&r, sizeof(r))) {
		if (r.action == RECEIVE)
			post_receive(ROOM);
		else if (r.action == COMPARE)
			right = compare(&r);
		else
			right = !memcmp(data + 2 * ROOM, &r.word, sizeof(r.word));
		say(right ? "y" : "n", 1);
		if (!right)
			die("the data is wrong: action %u, %u bytes, seed %u", r.action, r.len, r.seed);
	}
	puts("server: all data was right");
}

int main(int argc, char **argv)
{
	const char *port = "18515";
	int option;

	while ((option = getopt(argc, argv, "d:g:m:p:")) != -1) {
		if (option == 'd')
			name = optarg;
		else if (option == 'g')
			gid_index = (unsigned int)atoi(optarg);
		else if (option == 'm')
			mtu = (unsigned int)atoi(optarg);
		else if (option == 'p')
			port = optarg;
		else
			return 2;
	}
	alarm(SECONDS);
	meet(argv[optind], port);
	open_device();
	connect_qp();
	if (argv[optind])
		run_client();
	else
		run_server();
	return 0;
}
