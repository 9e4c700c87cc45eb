/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that processes share, registered by each under one name: DAT_MEM_TYPE_SHARED_VIRTUAL. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/api/conn.h"

#define SIZE 8192
#define RIGHTS DAT_MEM_PRIV_ALL_FLAG

typedef char cookie_t[DAT_LMR_COOKIE_SIZE];

static struct side s;
static struct th_child peer;
static int memory, other_memory;	/* both are memfds */
static cookie_t cookie;

/* A name that only this run uses. It contains zeros, because it is not a string. */
static void setup(void)
{
	pid_t pid = getpid();

	conn_qual();
	memory = memfd_create("one", MFD_CLOEXEC);
	other_memory = memfd_create("two", MFD_CLOEXEC);
	cr_assert_eq(ftruncate(memory, SIZE) | ftruncate(other_memory, SIZE), 0);
	memset(cookie, 0, sizeof(cookie));
	memcpy(cookie + 20, &pid, sizeof(pid));
	cookie[39] = 'x';
}

static void teardown(void)
{
	th_kill(&peer);
	side_close(&s);
}

TestSuite(shared, .init = setup, .fini = teardown, .timeout = 60);

static char *map(int fd, int flags)
{
	void *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, fd, 0);

	cr_assert_neq(p, MAP_FAILED);
	return p;
}

struct reg {
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context;
};

static DAT_RETURN try_len(struct side *p, cookie_t *name, void *mem, DAT_VLEN len, struct reg *r)
{
	DAT_REGION_DESCRIPTION d = {.for_shared_memory = {.virtual_address = mem,
							  .shared_memory_id = name}};

	return dat_lmr_create(p->ia, DAT_MEM_TYPE_SHARED_VIRTUAL, d, len, p->pz, RIGHTS, &r->lmr,
			      &r->context, &r->rmr_context, NULL, NULL);
}

static DAT_RETURN try(struct side *p, cookie_t *name, void *mem, struct reg *r)
{
	return try_len(p, name, mem, SIZE, r);
}

struct target {
	DAT_RMR_CONTEXT context;
	DAT_VADDR address;
};

static void rdma_write(struct side *p, DAT_LMR_CONTEXT context, void *from, const struct target *to,
		       DAT_VADDR offset)
{
	DAT_LMR_TRIPLET seg = {.lmr_context = context, .virtual_address = (uintptr_t)from,
			       .segment_length = 16};
	DAT_RMR_TRIPLET remote = {.rmr_context = to->context, .segment_length = 16,
				  .target_address = to->address + offset};
	DAT_DTO_COOKIE c = {.as_64 = 7};

	assert_ok(dat_ep_post_rdma_write(p->ep, 1, &seg, c, &remote, DAT_COMPLETION_DEFAULT_FLAG));
	cr_assert_eq(side_dto(p, 7), DAT_DTO_SUCCESS);
}

/*
 * Writes data by RDMA, through the other process's context, and finds it in the shared memory. Then
 * writes it from the shared memory, through this process's own context, to another offset.
 */
static int play_writer(int sock, void *arg)
{
	char *mem = map(memory, MAP_SHARED);
	struct target to;
	struct reg r;
	struct side p;

	(void)arg;
	side_open(&p);
	assert_ok(try(&p, &cookie, mem, &r));
	th_meet(sock);
	side_connect(&p);
	side_event(&p, p.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	if (th_recv(sock, &to, sizeof(to)))
		return 1;
	memcpy(p.mem, "written through", 16);
	rdma_write(&p, p.context, p.mem, &to, 32);
	if (memcmp(mem + 32, "written through", 16) != 0)
		return 2;
	rdma_write(&p, r.context, mem + 32, &to, 4096);
	th_meet(sock);
	side_close(&p);
	return 0;
}

Test(shared, lmr_create__in_two_processes_registers_one_memory)
{
	struct target to;
	char *mem;
	struct reg r;

	cr_assert_eq(th_spawn(&peer, play_writer, NULL), 0);
	side_open(&s);
	side_listen(&s);
	mem = map(memory, MAP_SHARED);
	assert_ok(try(&s, &cookie, mem, &r));
	cr_assert_eq(th_meet(peer.sock), 0);
	assert_ok(dat_cr_accept(side_request(&s), s.ep, 0, NULL));
	side_event(&s, s.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	to = (struct target){.context = r.rmr_context, .address = (uintptr_t)mem};
	cr_assert_eq(th_send(peer.sock, &to, sizeof(to)), 0);
	cr_assert_eq(th_meet(peer.sock), 0);
	cr_assert_eq(memcmp(mem + 32, "written through", 16), 0);
	cr_assert_eq(memcmp(mem + 4096, "written through", 16), 0);
	cr_assert_eq(th_join(&peer, 20000), 0);
}

static int play_holder(int sock, void *arg)
{
	struct side p;
	struct reg r;

	(void)arg;
	side_open(&p);
	assert_ok(try(&p, &cookie, map(memory, MAP_SHARED), &r));
	th_meet(sock);
	th_meet(sock);
	return 0;
}

Test(shared, lmr_create__only_cookie_or_memory_of_another_process_is_refused)
{
	struct reg r = {.context = 0x77};
	char *mem, *other;
	cookie_t last;

	cr_assert_eq(th_spawn(&peer, play_holder, NULL), 0);
	side_open(&s);
	cr_assert_eq(th_meet(peer.sock), 0);
	mem = map(memory, MAP_SHARED);
	other = map(other_memory, MAP_SHARED);
	memcpy(last, cookie, sizeof(last));
	last[39] ^= 1;
	assert_ret(try(&s, &last, mem, &r), DAT_INVALID_STATE);
	assert_ret(try(&s, &cookie, other, &r), DAT_INVALID_STATE);
	assert_ret(try(&s, &cookie, map(memory, MAP_PRIVATE), &r), DAT_INVALID_STATE);
	assert_ret(try_len(&s, &cookie, mem, SIZE / 2, &r), DAT_INVALID_STATE);
	cr_assert_eq(r.context, 0x77);
	cr_assert_null(r.lmr);
	assert_ok(try(&s, &last, other, &r));
	assert_ok(dat_lmr_free(r.lmr));
	th_kill(&peer);
	assert_ok(try(&s, &last, mem, &r));	/* no part of the memory is registered any more */
}

static int play_bystander(int sock, void *arg)
{
	(void)arg;
	th_meet(sock);
	th_meet(sock);
	return 0;
}

/* The child inherits the memory but has no LMR, so it does not keep its parent's names in use. */
Test(shared, lmr_create__takes_a_name_that_only_a_child_inherited)
{
	struct reg r;

	side_open(&s);
	assert_ok(try(&s, &cookie, map(memory, MAP_SHARED), &r));
	cr_assert_eq(th_spawn(&peer, play_bystander, NULL), 0);
	cr_assert_eq(th_meet(peer.sock), 0);
	assert_ok(dat_lmr_free(r.lmr));
	assert_ok(try(&s, &cookie, map(other_memory, MAP_SHARED), &r));
}

Test(shared, lmr_create__same_cookie_twice_in_one_process_succeeds)
{
	struct reg first, second;
	cookie_t last;
	char *mem;

	side_open(&s);
	mem = map(memory, MAP_SHARED);
	memcpy(last, cookie, sizeof(last));
	last[39] ^= 1;
	assert_ok(try(&s, &cookie, mem, &first));
	assert_ok(try(&s, &cookie, map(memory, MAP_SHARED), &second));
	cr_assert_neq(first.context, second.context);
	assert_ret(try(&s, &last, mem, &second), DAT_INVALID_STATE);
	assert_ok(dat_lmr_free(first.lmr));
	assert_ok(dat_lmr_free(second.lmr));
	assert_ok(try(&s, &last, mem, &second));
}

Test(shared, lmr_create__private_or_missing_memory_is_refused)
{
	struct reg r;
	char *mem;

	side_open(&s);
	assert_ret(try(&s, &cookie, map(-1, MAP_PRIVATE | MAP_ANONYMOUS), &r), DAT_INVALID_STATE);
	assert_ret(try_len(&s, &cookie, s.mem, 64, &r), DAT_INVALID_STATE);
	mem = map(-1, MAP_SHARED | MAP_ANONYMOUS);
	assert_code(try(&s, NULL, mem, &r), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_ret(try_len(&s, &cookie, mem, 0, &r), DAT_INVALID_PARAMETER);
	assert_ok(try_len(&s, &cookie, mem + 100, 200, &r));
	assert_ok(dat_lmr_free(r.lmr));
	/* Two contiguous mappings count as one memory; with a hole between them they do not. */
	cr_assert_eq(madvise(mem, SIZE / 2, MADV_DONTFORK), 0);
	assert_ok(try(&s, &cookie, mem, &r));
	assert_ok(dat_lmr_free(r.lmr));
	cr_assert_eq(munmap(mem + SIZE / 2, SIZE / 2), 0);
	cr_assert_neq(mmap(mem + SIZE / 2, SIZE / 2, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0), MAP_FAILED);
	assert_ret(try(&s, &cookie, mem, &r), DAT_INVALID_STATE);
	cr_assert_eq(munmap(mem + SIZE / 2, SIZE / 2), 0);
	cr_assert_neq(DAT_GET_TYPE(try(&s, &cookie, mem, &r)), DAT_SUCCESS);
}

Test(shared, lmr_query__returns_cookie_and_address)
{
	struct th_usage before, after;
	DAT_LMR_PARAM param;
	struct reg r;
	char *mem;

	side_open(&s);
	mem = map(memory, MAP_SHARED);
	th_usage(&before);
	assert_ok(try(&s, &cookie, mem, &r));
	assert_ok(dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL, &param));
	cr_assert_eq(param.mem_type, DAT_MEM_TYPE_SHARED_VIRTUAL);
	cr_assert_eq(param.region_desc.for_shared_memory.virtual_address, mem);
	cr_assert_eq(memcmp(param.region_desc.for_shared_memory.shared_memory_id, cookie,
			    sizeof(cookie)), 0);
	cr_assert_eq(param.length, SIZE);
	assert_ok(dat_lmr_free(r.lmr));
	th_usage(&after);
	cr_assert_eq(before.fds, after.fds);
}

Test(shared, lmr_create__without_descriptors_returns_insufficient_resources)
{
	struct reg r = {.lmr = NULL};
	char *mem;

	side_open(&s);
	mem = map(memory, MAP_SHARED);
	for (unsigned int left = 0; left < 2; left++) {
		cr_assert_eq(th_fds_limit(left), 0);
		assert_ret(try(&s, &cookie, mem, &r), DAT_INSUFFICIENT_RESOURCES);
		th_fds_restore();
	}
	assert_ok(try(&s, &cookie, mem, &r));
}

Test(shared, provider_attr__reports_shared_memory)
{
	DAT_PROVIDER_ATTR attr;

	side_open(&s);
	assert_ok(dat_ia_query(s.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	cr_assert(attr.lmr_mem_types_supported & DAT_MEM_TYPE_SHARED_VIRTUAL);
}
