/* SPDX-License-Identifier: BSD-2-Clause */
/* The server: owns the memory that the client writes and reads, and writes into the client's windows. */
#include <stdio.h>
#include <string.h>

#include "perf/common/verify.h"
#include "perf/dat_pingpong/pingpong.h"

struct server {
	struct pp p;
	struct region target;	/* len bytes that the client writes, then len bytes that it reads */
	bool revoked_seen;
};

static int accept_client(struct server *s, const struct pp_options *o)
{
	struct pp_memory mem = { .version = PP_VERSION };
	struct pp_hello hello;
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;

	if (consumer_wait_request(&s->p.c, &cr, o->both ? s->p.c.idle_ns : 0) ||
	    !dat_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), "dat_cr_query"))
		return -1;
	if (param.private_data_size >= (DAT_COUNT)sizeof(hello))
		memcpy(&hello, param.private_data, sizeof(hello));
	if (param.private_data_size < (DAT_COUNT)sizeof(hello) || hello.version != PP_VERSION ||
	    hello.len == 0 || hello.len > PP_MAX_DATA) {
		fprintf(stderr, "refused a client that runs another version: install the same release "
			"on both hosts\n");
		dat_ok(consumer_reject(cr), "dat_cr_reject");
		return -1;
	}
	s->p.len = hello.len;
	s->p.seed = hello.seed;
	if (region_create(&s->p.c, &s->target, 2 * (size_t)hello.len, DAT_MEM_PRIV_ALL_FLAG))
		return -1;
	mem.addr = (uintptr_t)s->target.buf;
	mem.rmr_context = s->target.rmr_context;
	if (!dat_ok(dat_cr_accept(cr, s->p.c.ep, sizeof(mem), &mem), "dat_cr_accept"))
		return -1;
	return consumer_wait_established(&s->p.c, NULL, NULL);
}

static uint32_t verify(const char *what, const void *buf, const struct pp *p, uint64_t round)
{
	size_t at = pattern_check(buf, p->len, p->seed, round);

	if (at == p->len)
		return 1;
	fprintf(stderr, "%s, round %llu: byte %zu of %u is wrong\n", what,
		(unsigned long long)round, at, p->len);
	return 0;
}

/* Writes to the revoked window, which must fail and break the connection. */
static int write_revoked(struct server *s, const struct pp_msg *m)
{
	DAT_DTO_COMPLETION_STATUS status;

	pattern_fill(s->target.buf, s->p.len, s->p.seed, m->round);
	if (pp_rdma(&s->p, false, &s->target, m->addr, m->rmr_context, &status))
		return -1;
	/* If the NAK was lost, the end of the connection flushes the write. The client checks its memory. */
	s->revoked_seen = status == DAT_DTO_ERR_REMOTE_ACCESS || status == DAT_DTO_ERR_FLUSHED;
	if (!s->revoked_seen)
		fprintf(stderr, "a write through a revoked context completed with status %s\n",
			dat_status_name(status));
	if (consumer_wait_end(&s->p.c, 30000000000u)) {
		fprintf(stderr, "the write through a revoked context did not break the connection\n");
		s->revoked_seen = false;
	}
	return 0;
}

static int answer_request(struct server *s, const struct pp_msg *m, const void *data, uint32_t *good,
		  uint32_t *len)
{
	DAT_DTO_COMPLETION_STATUS status;
	char *payload = (char *)s->p.send.buf + sizeof(struct pp_msg);

	*good = 1;
	*len = 0;
	switch (m->op) {
	case PP_ECHO:
		*good = verify("received", data, &s->p, m->round);
		pattern_fill(payload, s->p.len, ~s->p.seed, m->round);
		*len = s->p.len;
		return 0;
	case PP_CHECK_WRITE:
		*good = verify("written by the client", s->target.buf, &s->p, m->round);
		memset(s->target.buf, 0, s->p.len);
		return 0;
	case PP_FILL_READ:
		pattern_fill((char *)s->target.buf + s->p.len, s->p.len, s->p.seed, m->round);
		return 0;
	case PP_WRITE_WINDOW:
		pattern_fill(s->target.buf, s->p.len, s->p.seed, m->round);
		if (pp_rdma(&s->p, false, &s->target, m->addr, m->rmr_context, &status))
			return -1;
		*good = status == DAT_DTO_SUCCESS;
		return 0;
	default:
		fprintf(stderr, "protocol error: unknown message %u from the client; run the same release on "
			"both hosts\n", m->op);
		return -1;
	}
}

/*
 * Serves the client. Returns 0 if the client disconnected, or ended with the revoked write; 1
 * otherwise.
 */
static int serve(struct server *s)
{
	struct pp_msg m, a = { .op = PP_ANSWER };
	unsigned int slot;
	uint32_t len;
	void *data;

	for (;;) {
		if (pp_receive(&s->p, &m, &data, &slot))
			return pp_lost(&s->p, "server: waiting for the client");
		if (m.op == PP_WRITE_REVOKED)
			return write_revoked(s, &m) ? pp_lost(&s->p, "server: the revoked write") :
						      !s->revoked_seen;
		if (answer_request(s, &m, data, &a.good, &len) || pp_release(&s->p, slot))
			return pp_lost(&s->p, "server: answering the client");
		a.round = m.round;
		if (pp_send(&s->p, &a, len))
			return pp_lost(&s->p, "server: sending the answer");
	}
}

static int one_client(const struct pp_options *o)
{
	struct server s = { .p = { .seed = 0 } };
	int status = 1;

	/* The client chooses the length of transfers later. Receives are posted before that, so they have
	 * room for the largest. */
	if (pp_open(&s.p, o->ia, PP_MAX_DATA, o->blocking) == 0 && pp_post_recvs(&s.p) == 0) {
		if (!o->quiet)
			pp_print_attributes(&s.p);
		if (consumer_listen(&s.p.c, o->port) == 0) {
			if (!o->quiet)
				printf("serving conn_qual %llu\n", (unsigned long long)o->port);
			fflush(stdout);
			if (accept_client(&s, o) == 0)
				status = serve(&s);
		}
	}
	/* Closing the IA ends its registrations, so the memory is freed after that. */
	region_free(&s.target);
	pp_close(&s.p);
	return status;
}

int pp_server(const struct pp_options *o)
{
	int status = one_client(o);

	if (!o->quiet)
		printf("server: %s\n", status ? "FAILED" : "all verified");
	return status;
}
