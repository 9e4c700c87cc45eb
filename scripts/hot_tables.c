/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints, for scripts/hot-check, the functions that the fast path of a nonthreadsafe instance goes
 * through: what stands in the provider tables of a connected endpoint, its EVD and an RMR, as
 * offsets in the provider that libdat loaded. A plain consumer: it reads what a DAT call reads.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <dat/udat.h>
#include <dat/udat_redirection.h>

#include "perf/common/pair.h"

typedef void (*any_fn)(void);

static const char *library;

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
	printf("%s %s 0x%jx\n", table, slot, (uintmax_t)((uintptr_t)address - map->l_addr));
	return 0;
}

static int print_tables(struct pair *p)
{
	const DAT_PROVIDER *ep = DAT_HANDLE_TO_PROVIDER(p->a.ep);
	const DAT_PROVIDER *evd = DAT_HANDLE_TO_PROVIDER(p->a.req_evd);
	const DAT_PROVIDER *recv = DAT_HANDLE_TO_PROVIDER(p->a.recv_evd);
	const DAT_PROVIDER *rmr = DAT_HANDLE_TO_PROVIDER(p->rmr);

	return print_slot("ep", "ep_post_send", (any_fn)ep->ep_post_send_func) |
	       print_slot("ep", "ep_post_recv", (any_fn)ep->ep_post_recv_func) |
	       print_slot("ep", "ep_post_rdma_read", (any_fn)ep->ep_post_rdma_read_func) |
	       print_slot("ep", "ep_post_rdma_write", (any_fn)ep->ep_post_rdma_write_func) |
	       print_slot("rmr", "rmr_bind", (any_fn)rmr->rmr_bind_func) |
	       print_slot("evd", "evd_dequeue", (any_fn)evd->evd_dequeue_func) |
	       print_slot("recv_evd", "evd_dequeue", (any_fn)recv->evd_dequeue_func);
}

int main(void)
{
	static struct pair p;

	if (pair_open(&p, "soft-mlx5-0") || print_tables(&p))
		return 1;
	pair_close(&p);
	return 0;
}
