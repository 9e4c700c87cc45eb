/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocol under one interleaving for each seed: requests of all kinds from both ends, in the order
 * of the device's packets, pieces and acknowledgements. It checks DAT's contract: completions in the
 * order of posting, every byte of every message, and writes that are there when the next message
 * arrives. EFA_SEED=N runs only that seed, EFA_PROFILE=name that device, and EFA_SEEDS=N that many;
 * DAPL_ALL=1 runs 100,000. A failure prints the command that repeats it.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/efa/rig.h"

struct dice { uint64_t state; };

static uint32_t roll(struct dice *d, uint32_t n)
{
	d->state = d->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(d->state >> 33) % n;
}

static const uint32_t sizes[] = { 0, 1, 8, 32, 33, 500, 4096, 8928, 8929, 20000, 32768, 33000, 60000 };

static uint8_t byte_of(uint64_t seed, uint32_t n, uint32_t i)
{
	return (uint8_t)(seed * 7 + n * 131 + i * 13 + (i >> 8));
}

static void fill(uint8_t *p, uint64_t seed, uint32_t n, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = byte_of(seed, n, i);
}

static bool filled(const uint8_t *p, uint64_t seed, uint32_t n, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if (p[i] != byte_of(seed, n, i))
			return false;
	return true;
}

/*
 * Memory of a side: source at 0, the peer's writes at 64 KiB, its own reads at 128 KiB, receives at 192
 * KiB. A round is a write, a send that announces it, and a read of it; all are posted before the first
 * completion is dequeued.
 */
enum { SOURCE = 0, TARGET = 65536, READS = 131072, RECEIVES = 196608 };

/* The command that repeats the current seed. It is printed if the test fails in that seed. */
static char replay[512];
static bool within;

static void tell(void)
{
	ssize_t n = within ? write(STDERR_FILENO, replay, strlen(replay)) : 0;

	(void)n;
}

static void tell_and_die(int sig)
{
	tell();
	signal(sig, SIG_DFL);
	raise(sig);
}

static void seed_begins(const char *profile, uint64_t seed)
{
	static const int deaths[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	const char *build = getenv("DAPL_BUILD_DIR");
	static bool ready;

	snprintf(replay, sizeof(replay),
		 "to repeat: EFA_SEED=%llu EFA_PROFILE=%s %s/tests/efa --filter 'efa_seeds/*'\n",
		 (unsigned long long)seed, profile, build ? build : "build");
	within = true;
	if (ready)
		return;
	ready = true;
	for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++)
		signal(deaths[i], tell_and_die);
	cr_assert_eq(atexit(tell), 0);
}

static void round_of(struct rig *r, struct side *s, struct side *peer, struct dice *d, uint64_t seed,
		     uint32_t n)
{
	uint32_t len = sizes[roll(d, sizeof(sizes) / sizeof(sizes[0]))], order = roll(d, 3);
	bool late = roll(d, 2);
	struct dap_event ev;

	fill(s->mem + SOURCE, seed, n, len);
	if (!late)
		cr_assert_eq(rig_recv(r, peer, n, RECEIVES, 60000), DAT_SUCCESS);
	cr_assert_eq(rig_write(r, s, 1, SOURCE, TARGET, len), DAT_SUCCESS);
	if (order == 0)
		cr_assert_eq(rig_write(r, s, 2, SOURCE, TARGET, len), DAT_SUCCESS);
	cr_assert_eq(rig_send(r, s, 3, SOURCE, len), DAT_SUCCESS);
	cr_assert_eq(rig_read(r, s, 4, READS, TARGET, len), DAT_SUCCESS);
	for (uint32_t i = roll(d, 8); i; i--)
		softnic_efa_pump(r->nic);
	if (late)
		cr_assert_eq(rig_recv(r, peer, n, RECEIVES, 60000), DAT_SUCCESS);
	ev = rig_next(r, peer->recv);
	cr_assert_eq(ev.dto.status, DAP_DTO_SUCCESS, "receive %u has status %u; last log line: %s",
		     n, ev.dto.status, fake.said);
	cr_assert(ev.dto.cookie == n && ev.dto.length == len);
	cr_assert(filled(peer->mem + RECEIVES, seed, n, len),
		  "message %u of %u bytes brought wrong data", n, len);
	cr_assert(filled(peer->mem + TARGET, seed, n, len),
		  "wrong data of the write before message %u", n);
	for (uint32_t want = 1; want <= 4; want++) {
		if (want == 2 && order)
			continue;
		ev = rig_next(r, s->req);
		cr_assert(ev.dto.status == DAP_DTO_SUCCESS && ev.dto.cookie == want,
			  "round %u: request %llu completed with status %u, but request %u was "
			  "expected; %s",
			  n, (unsigned long long)ev.dto.cookie, ev.dto.status, want, fake.said);
	}
	cr_assert(filled(s->mem + READS, seed, n, len), "read %u returned wrong data", n);
}

/*
 * Both sides post at once, with many small messages and writes in flight, so that many packets arrive
 * out of order. Completions are taken from any of the four EVDs, by a dequeue or a wait.
 */
enum { CROWD = 20, SMALL = 16 };

struct crowd {
	struct side *from, *to;
	uint32_t posted, got, reqs, dtos;
};

static void crowd_post(struct rig *r, struct crowd *c, uint64_t seed)
{
	uint32_t n = c->posted++, at = n * SMALL, len = n % 4 == 3 ? 12 : 8;

	fill(c->from->mem + SOURCE + at, seed, n, SMALL);
	cr_assert_eq(rig_recv(r, c->to, n, RECEIVES + at, SMALL), DAT_SUCCESS);
	if (n % 5 == 2) {
		cr_assert_eq(rig_write(r, c->from, 1000 + c->dtos++, SOURCE + at, TARGET + at, 8),
			     DAT_SUCCESS);
	}
	cr_assert_eq(rig_send(r, c->from, 1000 + c->dtos++, SOURCE + at, len), DAT_SUCCESS);
}

/* Dequeues a completion, which must be the next one. */
static void crowd_look(struct crowd *c, uint64_t seed, bool receives)
{
	struct dap_event ev;
	uint32_t n = c->got;

	if (!rig_poll(receives ? c->to->recv : c->from->req, &ev))
		return;
	cr_assert_eq(ev.dto.status, DAP_DTO_SUCCESS,
		     "the completion reports an error; last log line: %s", fake.said);
	if (!receives) {
		cr_assert_eq(ev.dto.cookie, 1000 + c->reqs++, "requests completed out of order");
		return;
	}
	cr_assert(ev.dto.cookie == n && ev.dto.length == (n % 4 == 3 ? 12 : 8),
		  "message %llu arrived instead of message %u, or has a wrong length",
		  (unsigned long long)ev.dto.cookie, n);
	cr_assert(filled(c->to->mem + RECEIVES + n * SMALL, seed, n, (uint32_t)ev.dto.length));
	if (n % 5 == 2)
		cr_assert(filled(c->to->mem + TARGET + n * SMALL, seed, n, 8),
			  "wrong data of the write before message %u", n);
	c->got++;
}

static void crowd(struct rig *r, struct dice *d, uint64_t seed)
{
	struct crowd c[2] = { { .from = &r->a, .to = &r->b }, { .from = &r->b, .to = &r->a } };

	for (uint32_t i = 0; c[0].got < CROWD || c[1].got < CROWD || c[0].reqs < c[0].dtos ||
	     c[1].reqs < c[1].dtos; i++) {
		uint32_t what = roll(d, 12);
		struct crowd *one = &c[what & 1];

		cr_assert(i < 100000, "no progress after 100000 steps; last log line: %s",
			  fake.said);
		if (what < 4 && one->posted < CROWD && one->dtos - one->reqs + 2 < RIG_DTOS)
			crowd_post(r, one, seed);
		else if (what < 6)
			softnic_efa_pump(r->nic);
		else
			crowd_look(one, seed, what < 10);
		if (i % 64 == 63)
			efa_tick(efa_ia(r->ia)->eng);
	}
}

static void nothing_is_held_against_us(struct rig *r)
{
	struct softnic_violation v[8];
	size_t n = softnic_efa_violations(r->nic, v, 8);

	cr_assert_eq(n, 0, "unexpected violation %s: %s", v[0].name, v[0].detail);
}

static void settle(struct rig *r)
{
	for (int i = 0; i < 10000 && softnic_efa_pump(r->nic); i++)
		efa_tick(efa_ia(r->ia)->eng);
}

static void run_seed(struct rig *r, uint64_t seed)
{
	struct dice d = { seed * 2654435761u + 1 };

	settle(r);
	cr_assert_eq(softnic_efa_reseed(r->nic, seed + 1), 0,
		     "requests are left after the last completion");
	for (uint32_t n = 1 + roll(&d, 3); n; n--) {
		round_of(r, &r->a, &r->b, &d, seed, n);
		if (roll(&d, 2))
			round_of(r, &r->b, &r->a, &d, seed, n + 100);
	}
	crowd(r, &d, seed);
	nothing_is_held_against_us(r);
}

enum { BLOCK = 50 };

/*
 * Faults for half of the blocks: packets are lost and retransmitted, and write their bytes twice.
 */
#define FAULTS "fault=drop=0.02,dup=0.05,reorder=0.2,twice=0.3,rnr=0.05"

/*
 * Creates the endpoints again now and then, so that their numbers begin and wrap at any value.
 * Everything else is created again with them, so that a seed does not depend on earlier blocks. Returns
 * a hash of the run.
 */
static uint64_t run_block(const char *profile, unsigned int window, uint64_t first, uint64_t last)
{
	char params[192];
	struct rig r;

	/* WQEs have 128 bytes if the device supports that. */
	snprintf(params, sizeof(params), "seed=%llu efa_profile=%s efa_window=%u efa_inline=80 "
		 "write_order=%s %s", (unsigned long long)first + 1, profile, window,
		 first / BLOCK / 2 % 2 ? "kept" : "relaxed",
		 first / BLOCK % 2 ? FAULTS : "");
	rig_draw(first);
	rig_open_pair(&r, params);
	for (uint64_t seed = first; seed <= last; seed++) {
		seed_begins(profile, seed);
		run_seed(&r, seed);
		within = false;
	}
	rig_close_pair(&r);
	return r.trace;
}

/* Runs the earlier seeds of its block too. */
static uint64_t run_one(const char *profile, unsigned int window, uint64_t seed)
{
	return run_block(profile, window, seed - seed % BLOCK, seed);
}

static void run_window(const char *profile, unsigned int window, uint64_t count)
{
	for (uint64_t at = 0; at < count; at += BLOCK)
		run_block(profile, window, at, at + BLOCK - 1);
}

/* A message of 60,000 bytes in fragments is seven packets: a window of four runs out of credit. */
static void run_profile(const char *profile, uint64_t count)
{
	run_window(profile, 4, (count + 1) / 2);
	run_window(profile, 64, (count + 1) / 2);
}

TestSuite(efa_seeds, .timeout = 900);

static void seeds(const char *profile, uint64_t share)
{
	const char *one = getenv("EFA_SEED"), *some = getenv("EFA_SEEDS");
	const char *only = getenv("EFA_PROFILE"), *all = getenv("DAPL_ALL");
	uint64_t total = some ? strtoull(some, NULL, 0) : all && *all == '1' ? 100000 : 5000;

	if (only && strcmp(only, profile))
		cr_skip_test("EFA_PROFILE selects another profile");
	if (one) {
		run_one(profile, 4, strtoull(one, NULL, 0));
		run_one(profile, 64, strtoull(one, NULL, 0));
	} else {
		run_profile(profile, (total * share + 99) / 100);
	}
}

Test(efa_seeds, profile__read_passes_each_seed) { seeds("read", 30); }
Test(efa_seeds, profile__write_passes_each_seed) { seeds("write", 20); }
Test(efa_seeds, profile__unsol_passes_each_seed) { seeds("unsol", 20); }
Test(efa_seeds, profile__wide_passes_each_seed) { seeds("wide", 20); }
Test(efa_seeds, profile__reqid64_passes_each_seed) { seeds("reqid64", 10); }

/* A seed gives the same result if it runs again, also if it runs alone. */
Test(efa_seeds, seed__again_is_the_same_run)
{
	uint64_t trace = run_one("wide", 4, 137);

	cr_assert_eq(run_one("wide", 4, 137), trace);
	cr_assert_neq(run_one("wide", 4, 138), trace);
	run_block("read", 64, 0, 20);
	cr_assert_eq(run_one("wide", 4, 137), trace);
}
