/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that two processes share and register under a common cookie. The other process is forked, and
 * has the memory already.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/conformance/fixture.h"

typedef char cookie_id[DAT_LMR_COOKIE_SIZE];

struct reg {
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
};

/* A cookie that both sides of a statement know. It is no text: it has 40 bytes, any of which may be
 * zero. */
static struct {
	cookie_id id, last_differs;
	int memory, other;		/* descriptors of the memory */
} both;

static void agree(void)
{
	pid_t pid = getpid();

	memset(both.id, 0, sizeof(both.id));
	memcpy(both.id + 20, &pid, sizeof(pid));
	memcpy(both.last_differs, both.id, sizeof(both.id));
	both.last_differs[39] = 1;
	both.memory = memfd_create("shared", MFD_CLOEXEC);
	both.other = memfd_create("other", MFD_CLOEXEC);
	same(ftruncate(both.memory, MEM) | ftruncate(both.other, MEM), 0);
}

static char *map(int fd, int flags)
{
	void *p = mmap(NULL, MEM, PROT_READ | PROT_WRITE, flags, fd, 0);

	check(p != MAP_FAILED);
	return p;
}

static DAT_RETURN share(struct side *s, char *at, cookie_id *id, struct reg *r)
{
	DAT_REGION_DESCRIPTION what = {
		.for_shared_memory = { .virtual_address = at, .shared_memory_id = id },
	};
	DAT_VLEN size;
	DAT_VADDR start;
	DAT_RETURN ret = tried(dat_lmr_create(s->ia, DAT_MEM_TYPE_SHARED_VIRTUAL, what, MEM, s->pz,
					      DAT_MEM_PRIV_ALL_FLAG, &r->lmr, &r->lmr_context,
					      &r->rmr_context, &size, &start));

	if (is(ret, DAT_MODEL_NOT_SUPPORTED) &&
	    !(s->attr.lmr_mem_types_supported & DAT_MEM_TYPE_SHARED_VIRTUAL))
		skip("lmr_mem_types_supported has no SHARED_VIRTUAL: dat_lmr_create answers "
		     "MODEL_NOT_SUPPORTED, which its page allows");
	return ret;
}

STATEMENT(lmr_create__shared_virtual, dat_lmr_create, DESCRIPTION)
{
	struct reg first, again;
	struct side s;
	char *at;

	agree();
	side_open(&s);
	at = map(both.memory, MAP_SHARED);
	must(share(&s, at, &both.id, &first));
	must(share(&s, at, &both.id, &again));
	must(dat_lmr_free(first.lmr));
	must(dat_lmr_free(again.lmr));
	side_close(&s);
}

STATEMENT(lmr_create__not_shared_by_the_platform, dat_lmr_create, RETURNS)
{
	struct side s;
	struct reg r;

	agree();
	side_open(&s);
	must_be(DAT_INVALID_STATE, share(&s, s.mem, &both.id, &r));
	must_be(DAT_INVALID_STATE, share(&s, map(both.memory, MAP_PRIVATE), &both.id, &r));
	side_close(&s);
}

/* ---- Two processes ---- */

struct hello {
	DAT_CONN_QUAL qual;
	DAT_RMR_CONTEXT context;
	DAT_VADDR at;
	DAT_SOCK_ADDR address;
	/* the provider cannot share memory; the statement is skipped, see above */
	bool refused;
};

/* Registers the memory under the cookie, and serves every client. */
static int holder(int sock, void *arg)
{
	char *at = map(both.memory, MAP_SHARED);
	struct hello hello = { .at = (uintptr_t)at };
	struct reg r = { .rmr_context = 0 };
	struct side s;

	(void)arg;
	side_open_peer(&s);
	hello.refused = !(s.attr.lmr_mem_types_supported & DAT_MEM_TYPE_SHARED_VIRTUAL);
	if (!hello.refused)
		must(share(&s, at, &both.id, &r));
	side_listen(&s);
	hello.context = r.rmr_context;
	hello.qual = s.qual;
	hello.address = *side_address(&s);
	if (th_send(sock, &hello, sizeof(hello)))
		return 1;
	if (!th_meet(sock)) {
		must(dat_cr_accept(side_request(&s), s.ep, 0, NULL));
		th_meet(sock);
	}
	side_close(&s);
	return 0;
}

static void open_beside(struct side *s, struct th_child *child, struct hello *hello)
{
	agree();
	spawn_end(child, holder, NULL);
	same(th_recv(child->sock, hello, sizeof(*hello)), 0);
	side_open(s);
	if (hello->refused)
		skip("lmr_mem_types_supported of the peer has no SHARED_VIRTUAL");
}

/* Writes 64 bytes of the memory of this context, from offset `from`, through the peer's context. */
static void write_through(struct side *s, DAT_LMR_CONTEXT context, char *from,
			  const struct hello *hello, size_t off)
{
	DAT_LMR_TRIPLET local = { .lmr_context = context, .virtual_address = (uintptr_t)from,
				  .segment_length = 64 };
	DAT_RMR_TRIPLET remote = { .rmr_context = hello->context, .segment_length = 64,
				   .target_address = hello->at + off };

	must(dat_ep_post_rdma_write(s->ep, 1, &local, cookie(5), &remote, DEFAULT));
	took_dto(s->req_evd, 5, DAT_DTO_SUCCESS);
}

static void all_are(const char *at, char byte)
{
	for (int i = 0; i < 64; i++)
		same(at[i], byte);
}

/*
 * A write through the context of one side changes memory of the other side, which can send the data
 * from there through its own context.
 */
STATEMENT(lmr_create__two_processes_share_by_cookie, dat_lmr_create, PARAMETERS)
{
	struct th_child child;
	struct hello hello;
	struct side s;
	struct reg r;
	char *at;

	open_beside(&s, &child, &hello);
	at = map(both.memory, MAP_SHARED);
	must(share(&s, at, &both.id, &r));
	same(th_meet(child.sock), 0);
	must(dat_ep_connect(s.ep, &hello.address, hello.qual, SOON, 0, NULL, DAT_QOS_BEST_EFFORT,
			    DAT_CONNECT_DEFAULT_FLAG));
	took_conn(&s, s.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	memset(s.mem, 0x42, 64);
	write_through(&s, s.lmr_context, s.mem, &hello, 100);
	all_are(at + 100, 0x42);
	write_through(&s, r.lmr_context, at + 100, &hello, 8192);
	all_are(at + 8192, 0x42);
	same(at[99] | at[164] | at[8191] | at[8256], 0);
	same(th_meet(child.sock), 0);
	side_close(&s);
	same(th_join(&child, SOON_MS), 0);
}

/*
 * All 40 bytes of a cookie count. Cookies that differ in the last byte name two memories, and a
 * process that registers one does not share the other.
 */
STATEMENT(lmr_create__cookie_that_differs_in_its_last_byte, dat_lmr_create, DESCRIPTION)
{
	struct th_child child;
	struct hello hello;
	struct side s;
	struct reg r;
	char *at, *other;

	open_beside(&s, &child, &hello);
	at = map(both.memory, MAP_SHARED);
	other = map(both.other, MAP_SHARED);
	must_be(DAT_INVALID_STATE, share(&s, at, &both.last_differs, &r));
	must_be(DAT_INVALID_STATE, share(&s, other, &both.id, &r));
	must_be(DAT_INVALID_STATE, share(&s, map(both.memory, MAP_PRIVATE), &both.id, &r));
	must(share(&s, other, &both.last_differs, &r));
	must(share(&s, at, &both.id, &r));
	th_kill(&child);
	side_close(&s);
}
