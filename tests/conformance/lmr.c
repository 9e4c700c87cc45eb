/* SPDX-License-Identifier: BSD-2-Clause */
/* Local Memory Regions. */
#include <string.h>
#include <sys/mman.h>

#include "tests/conformance/fixture.h"

struct made {
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN size;
	DAT_VADDR at;
};

static DAT_RETURN make(struct side *s, int type, DAT_REGION_DESCRIPTION what, DAT_VLEN len, int priv,
		       struct made *m)
{
	*m = (struct made){ .lmr = DAT_HANDLE_NULL };
	return tried(dat_lmr_create(s->ia, (DAT_MEM_TYPE)type, what, len, s->pz,
				    (DAT_MEM_PRIV_FLAGS)priv, &m->lmr, &m->lmr_context,
				    &m->rmr_context, &m->size, &m->at));
}

static DAT_RETURN make_at(struct side *s, void *at, DAT_VLEN len, int priv, struct made *m)
{
	return make(s, DAT_MEM_TYPE_VIRTUAL, (DAT_REGION_DESCRIPTION){ .for_va = at }, len, priv, m);
}

STATEMENT(lmr_create__covers_the_requested_range, dat_lmr_create, DESCRIPTION)
{
	struct made m;
	struct side s;

	side_open(&s);
	must(make_at(&s, s.mem + 100, 1000, DAT_MEM_PRIV_ALL_FLAG, &m));
	check(m.at <= (uintptr_t)s.mem + 100);
	check(m.at + m.size >= (uintptr_t)s.mem + 1100);
	must(dat_lmr_free(m.lmr));
	side_close(&s);
}

STATEMENT(lmr_create__no_remote_right_no_rmr_context, dat_lmr_create, DESCRIPTION)
{
	struct made m;
	struct side s;

	side_open(&s);
	for (int priv = 0; priv <= DAT_MEM_PRIV_ALL_FLAG; priv++) {
		if (priv & ~DAT_MEM_PRIV_ALL_FLAG)
			continue;
		/* InfiniBand allows no remote write without local write. */
		if (priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG && !(priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
			continue;
		must(make_at(&s, s.mem, 4096, priv, &m));
		check(priv & RIGHTS_REMOTE ? m.rmr_context != 0 : m.rmr_context == 0);
		must(dat_lmr_free(m.lmr));
	}
	side_close(&s);
}

STATEMENT(lmr_create__of_an_lmr, dat_lmr_create, PARAMETERS)
{
	DAT_REGION_DESCRIPTION base;
	DAT_LMR_PARAM param;
	struct made m;
	struct side s;

	side_open(&s);
	base.for_lmr_handle = s.lmr;
	must(make(&s, DAT_MEM_TYPE_LMR, base, 0, RIGHTS_LOCAL, &m));
	must(dat_lmr_query(m.lmr, DAT_LMR_FIELD_ALL, &param));
	same(param.mem_type, DAT_MEM_TYPE_LMR);
	check(param.region_desc.for_lmr_handle == s.lmr);
	check(m.at <= (uintptr_t)s.mem && m.at + m.size >= (uintptr_t)s.mem + MEM);
	must(dat_lmr_free(m.lmr));
	side_close(&s);
}

/* ---- Arguments ---- */

STATEMENT(lmr_create__bad_arguments, dat_lmr_create, RETURNS)
{
	struct made m;
	struct side s;

	side_open(&s);
	must_be(DAT_INVALID_PARAMETER, make_at(&s, NULL, 64, RIGHTS_LOCAL, &m));
	must_be(DAT_INVALID_PARAMETER, make_at(&s, s.mem, 0, RIGHTS_LOCAL, &m));
	must_be(DAT_INVALID_PARAMETER, make_at(&s, s.mem, UINT64_MAX, RIGHTS_LOCAL, &m));
	must_be(DAT_INVALID_PARAMETER, make_at(&s, s.mem, 64, 0x40, &m));
	must_be(DAT_INVALID_PARAMETER, make_at(&s, s.mem, 64, -1, &m));
	must_be(DAT_INVALID_PARAMETER, make(&s, 3, (DAT_REGION_DESCRIPTION){ .for_va = s.mem }, 64,
					    RIGHTS_LOCAL, &m));
	side_close(&s);
}

STATEMENT(lmr_create__larger_than_the_adapter_can, dat_ia_query, DESCRIPTION)
{
	struct made m;
	struct side s;

	side_open(&s);
	if (s.ia_attr.max_lmr_block_size >= UINT64_MAX - (uintptr_t)s.mem)
		skip("max_lmr_block_size is larger than any memory");
	check(make_at(&s, s.mem, s.ia_attr.max_lmr_block_size + 1, RIGHTS_LOCAL, &m) != DAT_SUCCESS);
	side_close(&s);
}

STATEMENT(lmr_create__unmapped_memory, dat_lmr_create, RETURNS)
{
	struct made m;
	struct side s;
	char *hole;

	side_open(&s);
	hole = mmap(NULL, MEM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(hole != MAP_FAILED);
	same(munmap(hole, MEM), 0);
	check(make_at(&s, hole, MEM, DAT_MEM_PRIV_ALL_FLAG, &m) != DAT_SUCCESS);
	side_close(&s);
}

/* ---- Query and free ---- */

STATEMENT(lmr_query__as_it_was_made, dat_lmr_query, DESCRIPTION)
{
	DAT_LMR_PARAM p;
	struct made m;
	struct side s;

	side_open(&s);
	must(make_at(&s, s.mem + 64, 4096, DAT_MEM_PRIV_ALL_FLAG, &m));
	must(dat_lmr_query(m.lmr, DAT_LMR_FIELD_ALL, &p));
	check(p.ia_handle == s.ia && p.pz_handle == s.pz);
	same(p.mem_type, DAT_MEM_TYPE_VIRTUAL);
	check(p.region_desc.for_va == s.mem + 64);
	same(p.length, 4096);
	same(p.mem_priv, DAT_MEM_PRIV_ALL_FLAG);
	same(p.lmr_context, m.lmr_context);
	same(p.rmr_context, m.rmr_context);
	same(p.registered_size, m.size);
	same(p.registered_address, m.at);
	side_close(&s);
}

STATEMENT(lmr_query__mask_out_of_range, dat_lmr_query, RETURNS)
{
	DAT_LMR_PARAM p;
	struct side s;

	side_open(&s);
	must_be(DAT_INVALID_PARAMETER,
		dat_lmr_query(s.lmr, (DAT_LMR_PARAM_MASK)(DAT_LMR_FIELD_ALL + 1), &p));
	must_be(DAT_INVALID_PARAMETER, dat_lmr_query(s.lmr, DAT_LMR_FIELD_ALL, NULL));
	side_close(&s);
}

STATEMENT(lmr_free__in_use_by_an_rmr, dat_lmr_free, DESCRIPTION)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	struct side a, b;

	two_open(&a, &b);
	must(dat_rmr_create(a.pz, &rmr));
	must(do_bind(&a, rmr, 1, 0, 64, RIGHTS_REMOTE, &context));
	took_bind(a.req_evd, rmr, 1, DAT_DTO_SUCCESS);
	must_be(DAT_INVALID_STATE, dat_lmr_free(a.lmr));
	must(dat_rmr_free(rmr));
	must(dat_lmr_free(a.lmr));
	two_close(&a, &b);
}

STATEMENT(lmr_free__memory_stays, dat_lmr_free, DESCRIPTION)
{
	DAT_LMR_PARAM p;
	struct side s;

	side_open(&s);
	memset(s.mem, 0x5a, MEM);
	must(dat_lmr_free(s.lmr));
	check(s.mem[0] == 0x5a && s.mem[MEM - 1] == 0x5a);
	must_be(DAT_INVALID_HANDLE, dat_lmr_query(s.lmr, DAT_LMR_FIELD_ALL, &p));
	must_be(DAT_INVALID_HANDLE, dat_lmr_free(s.lmr));
	side_close(&s);
}

STATEMENT(lmr_free__later_posts_violate_protection, dat_lmr_free, DESCRIPTION)
{
	struct side a, b;
	DAT_RETURN ret;

	two_open(&a, &b);
	must(do_recv(&b, 1, 0, 64));
	must(dat_lmr_free(a.lmr));
	ret = do_send(&a, 2, 0, 64, DEFAULT);
	if (ret == DAT_SUCCESS)
		same(took_any(a.req_evd, 2).status, DAT_DTO_ERR_LOCAL_PROTECTION);
	else
		check(is(ret, DAT_PROTECTION_VIOLATION) || is(ret, DAT_PRIVILEGES_VIOLATION));
	two_close(&a, &b);
}

STATEMENT(lmr_free__its_rmr_context_breaks_connections, dat_lmr_free, DESCRIPTION)
{
	struct side a, b;

	two_open(&a, &b);
	must(dat_lmr_free(b.lmr));
	must(do_write(&a, 2, 0, far(&b, 0, 64), DEFAULT));
	same(took_any(a.req_evd, 2).status, DAT_DTO_ERR_REMOTE_ACCESS);
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_BROKEN);
	took_conn(&b, b.ep, DAT_CONNECTION_EVENT_BROKEN);
	two_close(&a, &b);
}

/* ---- Sync ---- */

STATEMENT(lmr_sync__whole_and_part, dat_lmr_sync_rdma_read, DESCRIPTION)
{
	DAT_LMR_TRIPLET t[2];
	struct side s;

	side_open(&s);
	t[0] = seg(&s, 0, MEM);
	t[1] = seg(&s, 100, 1);
	must(dat_lmr_sync_rdma_read(s.ia, t, 2));
	must(dat_lmr_sync_rdma_write(s.ia, t, 2));
	side_close(&s);
}

STATEMENT(lmr_sync__outside_the_lmr, dat_lmr_sync_rdma_read, RETURNS)
{
	DAT_LMR_TRIPLET t;
	struct side s;

	side_open(&s);
	t = seg(&s, 0, MEM);
	t.virtual_address += MEM;
	must_be(DAT_INVALID_PARAMETER, dat_lmr_sync_rdma_read(s.ia, &t, 1));
	must_be(DAT_INVALID_PARAMETER, dat_lmr_sync_rdma_write(s.ia, &t, 1));
	t = seg(&s, 0, 64);
	t.lmr_context ^= 0x5a5a00;
	must_be(DAT_INVALID_PARAMETER, dat_lmr_sync_rdma_read(s.ia, &t, 1));
	must_be(DAT_INVALID_PARAMETER, dat_lmr_sync_rdma_write(s.ia, NULL, 1));
	side_close(&s);
}
