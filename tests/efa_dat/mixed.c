/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers of different capabilities use those that both have, and DAT's contract is the same. */
#include <stdio.h>
#include <string.h>

#include "tests/efa_dat/rig.h"

TestSuite(efa_mixed, .timeout = 120);

static const char *const profiles[] = { "read", "write", "unsol", "wide", "reqid64" };
#define PROFILES (sizeof(profiles) / sizeof(profiles[0]))

enum { SOURCE = 0, TARGET = MEM / 2, READS = MEM / 4, RECEIVES = 3 * MEM / 4, MOST = MEM / 4 };

static void fill(char *p, uint32_t len, unsigned int seed)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = (char)(seed * 31 + i * 7 + (i >> 8));
}

static bool filled(const char *p, uint32_t len, unsigned int seed)
{
	for (uint32_t i = 0; i < len; i++) {
		if (p[i] != (char)(seed * 31 + i * 7 + (i >> 8)))
			return false;
	}
	return true;
}

/*
 * Posts a write, the message that announces it, and a read of it, all before the first completion.
 */
static void round_of(struct end *s, struct end *t, uint32_t len, unsigned int seed, const char *what)
{
	fill(s->mem + SOURCE, len, seed);
	ok(do_recv(t, 9, RECEIVES, MOST));
	ok(do_write(s, 1, SOURCE, TARGET, len));
	ok(do_send(s, 2, SOURCE, len));
	ok(do_read(s, 3, READS, TARGET, len));
	cr_assert_eq(took(t->recv, 9), DAT_DTO_SUCCESS, "%s: the receive failed", what);
	cr_assert(filled(t->mem + TARGET, len, seed),
		  "%s: the write has not arrived before its message, %u bytes", what, len);
	cr_assert(filled(t->mem + RECEIVES, len, seed),
		  "%s: a message of %u bytes brought wrong data", what, len);
	for (uint64_t i = 1; i <= 3; i++)
		cr_assert_eq(took(s->req, i), DAT_DTO_SUCCESS, "%s: request %d failed", what,
			     (int)i);
	cr_assert(filled(s->mem + READS, len, seed), "%s: a read of %u bytes returned wrong data",
		  what, len);
}

static void with_each(const char *first)
{
	static const uint32_t sizes[] = { 8, 4096, 8929, 20000, MOST };

	for (size_t i = 0; i < PROFILES; i++) {
		char of_a[80], of_b[80], what[64];

		snprintf(what, sizeof(what), "%s to %s", first, profiles[i]);
		snprintf(of_a, sizeof(of_a), "strict=1 efa_profile=%s efa_rendezvous=16384", first);
		snprintf(of_b, sizeof(of_b), "strict=1 efa_profile=%s efa_window=8", profiles[i]);
		pair_open(of_a, of_b);
		for (unsigned int n = 0; n < 20; n++) {
			round_of(&a, &b, sizes[n % 5], n, what);
			round_of(&b, &a, sizes[n % 5], n + 100, what);
		}
		pair_close();
	}
}

Test(efa_mixed, peers__of_read_exchange_data_with_each_profile) { with_each("read"); }
Test(efa_mixed, peers__of_write_exchange_data_with_each_profile) { with_each("write"); }
Test(efa_mixed, peers__of_unsol_exchange_data_with_each_profile) { with_each("unsol"); }
Test(efa_mixed, peers__of_wide_exchange_data_with_each_profile) { with_each("wide"); }
Test(efa_mixed, peers__of_reqid64_exchange_data_with_each_profile) { with_each("reqid64"); }
