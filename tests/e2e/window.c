/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/window.h"

void window_pair(struct end *a, struct end *b, DAT_RMR_HANDLE *rmr)
{
	pair_open(a, b);
	must(dat_rmr_create(b->pz, rmr));
}

void window_opens(struct end *a, struct end *b, DAT_RMR_CONTEXT context, size_t off, size_t len)
{
	static uint64_t seed;

	fill(a->mem, len, ++seed);
	must(do_write(a, 1, 0, through(context, b, off, len), 0));
	took(a->req_evd, 1, DAT_DTO_SUCCESS);
	check(filled(b->mem + off, len, seed));
	memset(a->mem, 0, len);
	must(do_read(a, 2, 0, through(context, b, off, len), 0));
	took(a->req_evd, 2, DAT_DTO_SUCCESS);
	check(filled(a->mem, len, seed));
}

static void refused(struct end *a, struct end *b)
{
	took(a->req_evd, 3, DAT_DTO_ERR_REMOTE_ACCESS);
	took_ends(a, b, DAT_CONNECTION_EVENT_BROKEN);
	rig_empty(a->req_evd);
	pair_again(a, b);
}

void window_refuses_write(struct end *a, struct end *b, DAT_RMR_CONTEXT context, size_t off,
			  size_t len)
{
	char *before = malloc(b->len);

	memcpy(before, b->mem, b->len);
	memset(a->mem, 0x5a, len);
	must(do_write(a, 3, 0, through(context, b, off, len), 0));
	refused(a, b);
	check(!memcmp(before, b->mem, b->len));
	free(before);
}

void window_refuses_read(struct end *a, struct end *b, DAT_RMR_CONTEXT context, size_t off,
			 size_t len)
{
	memset(a->mem, 0x5a, len);
	must(do_read(a, 3, 0, through(context, b, off, len), 0));
	refused(a, b);
	check(all_bytes(a->mem, len, 0x5a));
}

DAT_RMR_CONTEXT window_bind(struct end *b, DAT_RMR_HANDLE rmr, size_t off, size_t len,
			    DAT_MEM_PRIV_FLAGS priv)
{
	DAT_RMR_CONTEXT context = 0;

	must(do_bind(b, rmr, WINDOW_COOKIE, off, len, priv, &context));
	took_bind(b->req_evd, rmr, WINDOW_COOKIE, DAT_RMR_BIND_SUCCESS);
	return context;
}

DAT_RMR_CONTEXT window_query(DAT_RMR_HANDLE rmr)
{
	DAT_RMR_PARAM param;

	must(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	return param.rmr_context;
}
