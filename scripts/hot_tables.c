/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the functions of the fast path for scripts/hot-check: the entries in the provider tables of a
 * connected endpoint, its EVDs, an RMR and an SRQ, as offsets in the provider. The IA is the argument
 * (soft-mlx5-0). It does so first for a nonthreadsafe IA, then for a threadsafe one, which may lock, as
 * an EFA always does. It is a plain consumer of either API level, and reads what a DAT call reads.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "perf/common/pair.h"

#include <dat/dapl_direct.h>

#ifdef DAP_DAT20
#include <dat2/udat_redirection.h>
#else
#include <dat/udat_redirection.h>
#endif

typedef void (*any_fn)(void);

static const char *library, *locks = "";

static int print_slot(const char *table, const char *slot, any_fn fn)
{
	struct link_map *map = NULL;
	Dl_info info;
	void *address;

	memcpy(&address, &fn, sizeof(address));
	if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) {
		fprintf(stderr, "hot-tables: %s of %s is nowhere\n", slot, table);
		return -1;
	}
	if (!library)
		library = map->l_name;
	if (strcmp(library, map->l_name)) {
		fprintf(stderr, "hot-tables: %s of %s is in %s\n", slot, table, map->l_name);
		return -1;
	}
	printf("%s %s 0x%jx%s\n", table, slot, (uintmax_t)((uintptr_t)address - map->l_addr), locks);
	return 0;
}

/* Prints the function only if the backend has its own in place of core's loop. */
static int print_direct(const char *table, const char *slot, any_fn own, any_fn core)
{
	return own == core ? 0 : print_slot(table, slot, own);
}

static int print_directs(const struct pair *p)
{
	const struct dapl_direct *core = dapl_direct_of(p->a.pz);

	return print_direct("evd", "evd_dequeue_n",
			    (any_fn)dapl_direct_of(p->a.req_evd)->evd_dequeue_n,
			    (any_fn)core->evd_dequeue_n) |
	       print_direct("ep", "ep_post_n", (any_fn)dapl_direct_of(p->a.ep)->ep_post_n,
			    (any_fn)core->ep_post_n);
}

static int print_tables(struct pair *p, DAT_SRQ_HANDLE shared)
{
	const DAT_PROVIDER *ep = DAT_HANDLE_TO_PROVIDER(p->a.ep);
	const DAT_PROVIDER *evd = DAT_HANDLE_TO_PROVIDER(p->a.req_evd);
	const DAT_PROVIDER *recv = DAT_HANDLE_TO_PROVIDER(p->a.recv_evd);
	const DAT_PROVIDER *rmr = DAT_HANDLE_TO_PROVIDER(p->rmr);

	if (shared && print_slot("srq", "srq_post_recv",
				 (any_fn)DAT_HANDLE_TO_PROVIDER(shared)->srq_post_recv_func))
		return -1;

	return print_slot("ep", "ep_post_send", (any_fn)ep->ep_post_send_func) |
	       print_slot("ep", "ep_post_recv", (any_fn)ep->ep_post_recv_func) |
	       print_slot("ep", "ep_post_rdma_read", (any_fn)ep->ep_post_rdma_read_func) |
	       print_slot("ep", "ep_post_rdma_write", (any_fn)ep->ep_post_rdma_write_func) |
	       print_slot("rmr", "rmr_bind", (any_fn)rmr->rmr_bind_func) |
	       print_slot("evd", "evd_dequeue", (any_fn)evd->evd_dequeue_func) |
	       print_directs(p) |
	       print_slot("recv_evd", "evd_dequeue", (any_fn)recv->evd_dequeue_func);
}

static int print_instance(struct pair *p, const char *ia)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	DAT_PROVIDER_ATTR provider;
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

	if (pair_open(p, ia) || !dat_ok(dat_ia_query(p->a.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL,
						     &provider), "dat_ia_query"))
		return -1;
	if (provider.srq_supported &&
	    !dat_ok(dat_srq_create(p->a.ia, p->a.pz, &attr, &srq), "dat_srq_create"))
		return -1;
	if (print_tables(p, srq))
		return -1;
	pair_close(p);
	return 0;
}

int main(int argc, char **argv)
{
	const char *ia = argc > 1 ? argv[1] : "soft-mlx5-0";
	static struct pair single, threadsafe;

	if (strstr(ia, "efa"))
		locks = " locks";
	if (print_instance(&single, ia))
		return 1;
	threadsafe.a.threadsafe = threadsafe.b.threadsafe = true;
	locks = " locks";
	return print_instance(&threadsafe, ia) ? 1 : 0;
}
