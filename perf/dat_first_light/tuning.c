/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes of parameters whose best value depends on the machine. They compare the times of one
 * transfer with different values. */
#include <stdio.h>
#include <string.h>

#include "perf/common/stats.h"
#include "perf/dat_first_light/probe.h"

#define CLEARLY 0.97			/* a smaller difference, of a few percent, is noise */

enum { SETTINGS = 3, TIMES = 3 };

/* For each setting, finds the shortest of several times. The settings take turns, because the
 * machine may be busy for a while. */
static void times_of(const struct light *l, round_fn *round, size_t len,
		     const char *const *settings, unsigned int n, double *us)
{
	for (unsigned int i = 0; i < TIMES * n; i++) {
		double t = median_us(l, settings[i % n], round, len);

		if (i < n || t < us[i % n])
			us[i % n] = t;
	}
}

/* Compares the default with one other setting. */
static void compare(const struct light *l, struct answer *a, round_fn *round, size_t len,
		    const char *other, const char *what)
{
	const char *const settings[] = { "", other };
	double us[SETTINGS], now, then;

	times_of(l, round, len, settings, 2, us);
	now = us[0];
	then = us[1];
	if (now <= 0 || then <= 0)
		bad(a, "nothing", "not measured: %s with %s fails; the error is on stderr", what,
		    now <= 0 ? "the default" : other);
	else if (then < now * CLEARLY)
		tune(a, other, "no: %s takes %.2f us, and %.2f us with %s", what, now, then, other);
	else
		good(a, "yes: %s takes %.2f us, and %.2f us with %s", what, now, then, other);
}

/* Compares two doorbells: BlueFlame copies a request to the adapter; after a doorbell of 8 bytes
 * the adapter fetches it. */
void probe_doorbell(const struct light *l, struct answer *a)
{
	static const char *const settings[SETTINGS] = { "", "mmio=combined", "bf_eps=0" };
	double us[SETTINGS];
	unsigned int best = 0;

	times_of(l, write_round, 8, settings, SETTINGS, us);
	for (unsigned int i = 1; i < SETTINGS; i++)
		if (us[i] > 0 && us[i] < us[best] * CLEARLY)
			best = i;
	if (us[0] <= 0)
		bad(a, "mmio=doorbell", "not measured: BlueFlame fails; the error is on stderr");
	else if (best)
		tune(a, settings[best], "no: 8-byte writes take %.2f us, combined %.2f, by 8 bytes %.2f",
		     us[0], us[1], us[2]);
	else
		good(a, "yes: 8-byte writes take %.2f us, combined %.2f, by 8 bytes %.2f", us[0], us[1],
		     us[2]);
}

/* Lets the driver try BlueFlame (mmio=measure), which writes blocks of zeros to an unused register.
 * An adapter may report an error, or stop. */
void probe_measure(const struct light *l, struct answer *a)
{
	enum { EVENT_MS = 100 };
	struct pair p = { .no_rmr = true };
	char by[96], doorbell[96];
	DAT_RMR_TRIPLET to;
	bool connected = light_pair(l, "mmio=measure", &p, a);

	if (p.a.async_evd != DAT_HANDLE_NULL && strcmp(completed(p.a.async_evd, EVENT_MS), "none")) {
		bad(a, "nothing: leave mmio as it is", "no: an asynchronous error follows");
		return;
	}
	if (!connected)
		return;
	light_attr(p.a.ia, "doorbell_by", by, sizeof(by));
	light_attr(p.a.ia, "doorbell", doorbell, sizeof(doorbell));
	to = region_target(&p.remote, 0, 8);
	if (!post_write(&p, &p.local, &to) || !succeeded(a, p.a.req_evd, "a write after the measurement"))
		return;
	good(a, "yes: chooses %s (%s)", doorbell, by);
}

void probe_inline(const struct light *l, struct answer *a)
{
	compare(l, a, write_round, 128, "inline=0", "a write of 128 bytes");
}

/*
 * Is the data in memory before its completion is dequeued? Data in a CQE is copied to memory by the
 * dequeue. An adapter that ignores the option writes the data to memory at once.
 */
static bool is_in_memory(struct pair *p, bool read, struct answer *a)
{
	enum { BYTES = 32, WAIT_MS = 1000 };
	const volatile uint8_t *to = read ? p->local.buf : p->remote.buf;
	uint64_t until;

	memset(read ? p->remote.buf : p->local.buf, 0x5a, BYTES);
	if (read ? !post_read(p, BYTES) : !post_recv(p, BYTES) || !post_send(p, BYTES))
		return false;
	until = now_ns() + WAIT_MS * 1000000ull;
	while (to[BYTES - 1] != 0x5a && now_ns() < until)
		;
	a->verdict = to[BYTES - 1] == 0x5a ? GOOD : NO_ANSWER;
	return succeeded(a, read ? p->a.req_evd : p->b.recv_evd, "a transfer") && to[BYTES - 1] == 0x5a;
}

static void scatter(const struct light *l, struct answer *a, const char *params, bool read)
{
	const char *const settings[] = { "", params };
	const char *what = read ? "a read of 32 bytes" : "a message of 32 bytes";
	struct pair p = { .no_rmr = true };
	double us[SETTINGS];
	bool ignored;

	times_of(l, read ? read_round : send_round, 32, settings, 2, us);
	if (!light_pair(l, params, &p, a) || !is_in_memory(&p, read, a)) {
		bad(a, "nothing: leave scatter_cqe at 0", "no: %s is wrong or fails with %s", what, params);
		return;
	}
	ignored = a->verdict == GOOD;
	if (us[0] <= 0 || us[1] <= 0)
		bad(a, "nothing: leave scatter_cqe at 0", "no: %s fails; stderr says how", what);
	else if (ignored)
		good(a, "no: the adapter ignores it");
	else if (us[1] < us[0] * CLEARLY)
		tune(a, params, "yes: %s takes %.2f us, and %.2f us without", what, us[1], us[0]);
	else
		good(a, "no: %s takes %.2f us, and %.2f us without", what, us[1], us[0]);
}

void probe_scatter_recv(const struct light *l, struct answer *a)
{
	scatter(l, a, "scatter_cqe=1", false);
}

void probe_scatter_read(const struct light *l, struct answer *a)
{
	scatter(l, a, "scatter_cqe=2", true);
}

/* ---- Probes of an EFA */

/* The measurements come before anything else: once this process has read a dat.conf, its children
 * would not read another. */
void probe_wide(const struct light *l, struct answer *a)
{
	char value[16] = "";
	struct pair p = { .no_rmr = true };

	compare(l, a, send_round, 64, "efa_inline=80", "a message of 64 bytes");
	light_conf(l, "efa_inline=80");
	p.a.idle_ns = 10000000000u;
	if (!consumer_open(&p.a, l->ia)) {
		light_attr(p.a.ia, "inline", value, sizeof(value));
		consumer_close(&p.a);
	}
	if (strcmp(value, "80"))
		skipped(a, "the adapter takes %s bytes at most, in WQEs of 64", *value ? value : "no");
}

void probe_rendezvous(const struct light *l, struct answer *a)
{
	compare(l, a, send_round, 256 << 10, "efa_rendezvous=1073741824", "a message of 256 KiB");
}

void probe_window(const struct light *l, struct answer *a)
{
	compare(l, a, burst_round, 32 << 10, "efa_window=256", "a burst of 24 messages of 32 KiB");
}
