/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that runs DPDK's EAL, from Debian's library: queues come from its heap if it runs and
 * ia_params request that, and memory of its heap is registered. The library is loaded like a plugin.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/rig.h"

#define HEAP_MB "64"
#define CHUNK (2u << 20)

struct heap {				/* the layout of struct rte_malloc_socket_stats */
	size_t total, free, greatest;
	unsigned int frees, allocs;
	size_t used;
};

static struct {
	int (*init)(int argc, char **argv);
	void *(*malloc)(const char *type, size_t size, unsigned int align);
	void (*free)(void *p);
	int (*stats)(int socket, struct heap *heap);
} eal;

__attribute__((constructor)) static void start_again(int argc, char **argv)
{
	setenv("DAPL_TEST_IA", "mlx5_0-1", 1);
	th_again_under_softnic(argc, argv);
}

static void *library(void)
{
	void *l = dlopen("librte_eal.so.23", RTLD_NOW | RTLD_LOCAL);

	if (!l)
		cr_skip_test("librte-eal23 is not installed: scripts/deps.sh --all");
	eal.init = (int (*)(int, char **))dlsym(l, "rte_eal_init");
	eal.malloc = (void *(*)(const char *, size_t, unsigned int))dlsym(l, "rte_malloc");
	eal.free = (void (*)(void *))dlsym(l, "rte_free");
	eal.stats = (int (*)(int, struct heap *))dlsym(l, "rte_malloc_get_socket_stats");
	return l;
}

static void start(void)
{
	static const char *const args[] = { "test", "--no-huge", "-m", HEAP_MB, "--no-pci",
					    "--no-shconf", "--no-telemetry", "--log-level=1" };
	static char words[8][24];
	char *argv[9] = { NULL };

	for (int i = 0; i < 8; i++)
		argv[i] = strcpy(words[i], args[i]);
	cr_assert_geq(eal.init(8, argv), 0);
}

static size_t used(void)
{
	struct heap heap = { 0 };

	cr_assert_eq(eal.stats(0, &heap), 0);
	return heap.used;
}

static struct end a, b;

static void opened(const char *params)
{
	th_huge_pages(false);
	rig_conf(params);
	pair_open(&a, &b);
	pair_moves(&a, &b);
}

static void closed(void)
{
	end_free(&a);
	end_free(&b);
}

TestSuite(eal, .timeout = 100);

Test(eal, queues__with_eal_1_are_in_its_heap)
{
	size_t before;

	library();
	start();
	before = used();
	opened("eal=1");
	cr_assert_geq(used(), before + 2 * CHUNK,
		      "the queues of the two IAs are not in the DPDK heap");
	closed();
	cr_assert_eq(used(), before);
}

Test(eal, queues__with_eal_0_are_not_in_its_heap)
{
	size_t before;

	library();
	start();
	before = used();
	opened("eal=0");
	cr_assert_eq(used(), before);
	closed();
}

/* The EAL is loaded and not started, so none of its functions is called. */
Test(eal, queues__with_an_eal_not_started_move_data)
{
	library();
	opened("eal=1");
	closed();
}

Test(eal, queues__without_the_library_move_data)
{
	opened("eal=1");
	closed();
}

Test(eal, memory_of_its_heap__is_registered)
{
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_TRIPLET from;
	DAT_DTO_COOKIE cookie = { .as_64 = 7 };
	DAT_LMR_HANDLE lmr;
	char *mem;

	library();
	start();
	opened("eal=1");
	mem = eal.malloc("test", 10000, 64);
	cr_assert(mem);
	memset(mem, 0x5a, 10000);
	lmr = end_lmr(&a, mem, 10000, DAT_MEM_PRIV_LOCAL_READ_FLAG, &local, &remote);
	from = (DAT_LMR_TRIPLET){ .lmr_context = local,
				  .virtual_address = (DAT_VADDR)(uintptr_t)mem,
				  .segment_length = 10000 };
	memset(b.mem, 0, 10000);
	must(do_recv(&b, 9, 0, 10000));
	must(dat_ep_post_send(a.ep, 1, &from, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	same(took(b.recv_evd, 9, DAT_DTO_SUCCESS), 10000);
	took(a.req_evd, 7, DAT_DTO_SUCCESS);
	same(memcmp(b.mem, mem, 10000), 0);
	must(dat_lmr_free(lmr));
	eal.free(mem);
	closed();
}
