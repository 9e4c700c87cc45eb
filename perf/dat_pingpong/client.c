/* SPDX-License-Identifier: BSD-2-Clause */
/* The client: drives the rounds, measures, verifies, and revokes a window at the end. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "perf/common/verify.h"
#include "perf/dat_pingpong/pingpong.h"

enum row { R_SEND, R_WRITE, R_READ, R_BIND, R_WINDOW, R_UNBIND, ROWS };

static const char *const row_name[ROWS] = {
	"send/recv, half round trip", "RDMA write", "RDMA read", "RMR bind",
	"peer's write through the window", "RMR unbind",
};

struct client {
	struct pp p;
	struct region data;	/* memory that the client writes to the server, and reads from it */
	struct region window;	/* memory that only an RMR makes accessible to the peer */
	DAT_RMR_HANDLE rmr;
	struct pp_memory server;
	struct samples row[ROWS];
	uint64_t done;		/* number of rounds so far */
};

/* Sends a request to the server and receives the answer. data: gets the payload of the answer. */
static int ask_server(struct client *k, struct pp_msg *m, uint32_t len, void **data, unsigned int *slot)
{
	struct pp_msg a;

	if (pp_send(&k->p, m, len) || pp_receive(&k->p, &a, data, slot))
		return -1;
	if (a.op != PP_ANSWER || a.round != m->round || !a.good) {
		fprintf(stderr, "the server found wrong data in round %" PRIu64 "\n", m->round);
		return -1;
	}
	return 0;
}

static int ask_only(struct client *k, struct pp_msg *m)
{
	unsigned int slot;
	void *data;

	return ask_server(k, m, 0, &data, &slot) || pp_release(&k->p, slot);
}

static int verify(const struct client *k, const char *what, const void *buf, uint64_t seed,
		  uint64_t round)
{
	size_t at = pattern_check(buf, k->p.len, seed, round);

	if (at == k->p.len)
		return 0;
	fprintf(stderr, "%s, round %" PRIu64 ": byte %zu of %u is wrong\n", what, round, at,
		k->p.len);
	return -1;
}

static int do_send(struct client *k, uint64_t round)
{
	struct pp_msg m = { .op = PP_ECHO, .round = round };
	unsigned int slot;
	uint64_t t;
	void *data;

	pattern_fill((char *)k->p.send.buf + sizeof(m), k->p.len, k->p.seed, round);
	t = now_ns();
	if (ask_server(k, &m, k->p.len, &data, &slot))
		return -1;
	samples_add(&k->row[R_SEND], (now_ns() - t) / 2);
	return verify(k, "received", data, ~k->p.seed, round) || pp_release(&k->p, slot);
}

static int do_write(struct client *k, uint64_t round)
{
	struct pp_msg m = { .op = PP_CHECK_WRITE, .round = round };
	DAT_DTO_COMPLETION_STATUS status;
	uint64_t t;

	pattern_fill(k->data.buf, k->p.len, k->p.seed, round);
	t = now_ns();
	if (pp_rdma(&k->p, false, &k->data, k->server.addr, k->server.rmr_context, &status))
		return -1;
	samples_add(&k->row[R_WRITE], now_ns() - t);
	if (status != DAT_DTO_SUCCESS) {
		fprintf(stderr, "an RDMA write completed with status %s\n", dat_status_name(status));
		return -1;
	}
	return ask_only(k, &m);
}

static int do_read(struct client *k, uint64_t round)
{
	struct pp_msg m = { .op = PP_FILL_READ, .round = round };
	DAT_DTO_COMPLETION_STATUS status;
	uint64_t t;

	memset(k->data.buf, 0, k->p.len);
	if (ask_only(k, &m))
		return -1;
	t = now_ns();
	if (pp_rdma(&k->p, true, &k->data, k->server.addr + k->p.len, k->server.rmr_context,
		    &status))
		return -1;
	samples_add(&k->row[R_READ], now_ns() - t);
	if (status != DAT_DTO_SUCCESS) {
		fprintf(stderr, "an RDMA read completed with status %s\n", dat_status_name(status));
		return -1;
	}
	return verify(k, "read", k->data.buf, k->p.seed, round);
}

/* Binds the window; len 0 unbinds. */
static int bind_window(struct client *k, uint64_t len, uint64_t round, struct samples *s,
		       DAT_RMR_CONTEXT *context)
{
	DAT_LMR_TRIPLET where = region_segment(&k->window, 0, len);
	DAT_RMR_COOKIE cookie = { .as_64 = round };
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *d;
	uint64_t t = now_ns();
	DAT_EVENT ev;

	if (!dat_ok(consumer_bind(k->rmr, k->window.lmr, &where, len ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG :
				  DAT_MEM_PRIV_NONE_FLAG, k->p.c.ep, cookie,
				  DAT_COMPLETION_DEFAULT_FLAG, context), "dat_rmr_bind") ||
	    consumer_completion(&k->p.c, k->p.c.req_evd, &ev))
		return -1;
	samples_add(s, now_ns() - t);
	d = &ev.event_data.rmr_completion_event_data;
	if (ev.event_number != DAT_RMR_BIND_COMPLETION_EVENT || d->status != DAT_DTO_SUCCESS ||
	    d->rmr_handle != k->rmr || d->user_cookie.as_64 != round) {
		fprintf(stderr, "the bind of round %" PRIu64 " ended with event %s, status %s\n", round,
			dat_event_name(ev.event_number), dat_status_name(d->status));
		return -1;
	}
	return 0;
}

static int do_window(struct client *k, uint64_t round, DAT_RMR_CONTEXT *context)
{
	struct pp_msg m = { .op = PP_WRITE_WINDOW, .round = round, .len = k->p.len,
			    .addr = (uintptr_t)k->window.buf };
	DAT_RMR_CONTEXT none;
	uint64_t t;

	memset(k->window.buf, 0, k->p.len);
	if (bind_window(k, k->p.len, round, &k->row[R_BIND], context))
		return -1;
	m.rmr_context = *context;
	t = now_ns();
	if (ask_only(k, &m))
		return -1;
	samples_add(&k->row[R_WINDOW], now_ns() - t);
	if (verify(k, "written through the window", k->window.buf, k->p.seed, round))
		return -1;
	return bind_window(k, 0, round, &k->row[R_UNBIND], &none);
}

/* Checks that the context of the last bind is invalid: the server's write must fail and change
 * nothing. */
static int do_revoked(struct client *k, uint64_t round, DAT_RMR_CONTEXT context)
{
	struct pp_msg m = { .op = PP_WRITE_REVOKED, .round = round, .len = k->p.len,
			    .addr = (uintptr_t)k->window.buf, .rmr_context = context };

	if (pp_send(&k->p, &m, 0))
		return -1;
	if (consumer_wait_end(&k->p.c, 5000000000u)) {
		fprintf(stderr, "the write through a revoked context did not break the connection\n");
		return -1;
	}
	/* The window's memory must still have the data of the last permitted round. */
	if (verify(k, "revoked window", k->window.buf, k->p.seed, round - 1))
		return -1;
	printf("write through the revoked window: refused, connection ended with %s\n",
	       dat_event_name(k->p.c.end));
	return 0;
}

static void print_table(struct client *k, const char *title)
{
	size_t kept = samples_kept(&k->row[0]), all = k->row[0].n;
	unsigned int i;

	if (kept < all)
		printf("\nthe last %zu of %zu rounds, %u bytes, every byte verified\n", kept, all, k->p.len);
	else
		printf("\n%s, %u bytes, every byte verified\n", title, k->p.len);
	printf("  %-34s %10s %12s %12s\n", "operation", "samples", "median [us]", "p99 [us]");
	for (i = 0; i < ROWS; i++)
		printf("  %-34s %10zu %12.2f %12.2f\n", row_name[i],
		       samples_kept(&k->row[i]),
		       (double)samples_quantile(&k->row[i], 0.5) / 1e3,
		       (double)samples_quantile(&k->row[i], 0.99) / 1e3);
	fflush(stdout);
}

static int one_round(struct client *k, DAT_RMR_CONTEXT *context)
{
	uint64_t round = k->done + 1;

	if (do_send(k, round) || do_write(k, round) || do_read(k, round) ||
	    do_window(k, round, context))
		return -1;
	k->done = round;
	return 0;
}

static int rounds(struct client *k, const struct pp_options *o)
{
	uint64_t told = now_ns();
	DAT_RMR_CONTEXT context = 0;
	unsigned int i;

	while (!o->rounds || k->done < o->rounds) {
		if (one_round(k, &context))
			return pp_lost(&k->p, "client: a round");
		if (now_ns() - told < 2000000000u)
			continue;
		told = now_ns();
		printf("%" PRIu64 " rounds\n", k->done);
		if (!o->rounds) {
			print_table(k, "since the last table");
			for (i = 0; i < ROWS; i++)
				samples_clear(&k->row[i]);
		}
		/* Without an end, only this tells that nothing can be printed. */
		if (fflush(stdout) || ferror(stdout))
			return -1;
	}
	print_table(k, "all rounds");
	return do_revoked(k, k->done + 1, context) ? pp_lost(&k->p, "client: revocation") : 0;
}

static int set_up(struct client *k, const struct pp_options *o)
{
	struct pp_hello hello = { .version = PP_VERSION, .len = o->len, .seed = o->seed };
	int got = sizeof(k->server);
	size_t keep = o->rounds && o->rounds < 1000000 ? (size_t)o->rounds : 1000000;
	const char *host = o->host;
	char own[INET6_ADDRSTRLEN];
	unsigned int i;

	for (i = 0; i < ROWS; i++)
		if (samples_init(&k->row[i], keep))
			return -1;
	k->p.seed = o->seed;
	if (pp_open(&k->p, o->ia, o->len, o->blocking) || pp_post_recvs(&k->p))
		return -1;
	if (!o->quiet)
		pp_print_attributes(&k->p);
	if (region_create(&k->p.c, &k->data, o->len, DAT_MEM_PRIV_LOCAL_READ_FLAG |
			  DAT_MEM_PRIV_LOCAL_WRITE_FLAG) ||
	    region_create(&k->p.c, &k->window, o->len, DAT_MEM_PRIV_LOCAL_READ_FLAG |
			  DAT_MEM_PRIV_LOCAL_WRITE_FLAG) ||
	    !dat_ok(dat_rmr_create(k->p.c.pz, &k->rmr), "dat_rmr_create"))
		return -1;
	if (!host)
		host = consumer_own_host(&k->p.c, own, sizeof(own));
	if (consumer_connect(&k->p.c, host, o->port, 10000000, &hello, sizeof(hello),
			     &k->server, &got))
		return -1;
	if (got != sizeof(k->server) || k->server.version != PP_VERSION) {
		fprintf(stderr, "%s: the server runs another version: install the same release "
			"on both hosts\n", host);
		return -1;
	}
	return 0;
}

int pp_client(const struct pp_options *o)
{
	struct client k = { .rmr = DAT_HANDLE_NULL };
	int status = 1;
	unsigned int i;

	if (set_up(&k, o) == 0)
		status = rounds(&k, o);
	if (k.rmr != DAT_HANDLE_NULL)
		dat_ok(dat_rmr_free(k.rmr), "dat_rmr_free");
	region_free(&k.data);
	region_free(&k.window);
	pp_close(&k.p);
	for (i = 0; i < ROWS; i++)
		samples_free(&k.row[i]);
	printf("client: %s\n", status ? "FAILED" : "all verified");
	return status;
}
