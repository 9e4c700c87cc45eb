/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mixed requests of one endpoint, and a device that fails one WQE of either side with a status, drawn
 * from a seed. Whatever fails, each request completes once, in the order of the posts: with success, then
 * with the failure, then flushed. A success has its effect. Suppressed successes are silent.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/efa/rig.h"

enum { REQUESTS = 10, SLOT = 12288, INTO = 131072, SEEDS = 150, IDLE_TICKS = 2000 };
_Static_assert(REQUESTS * SLOT <= INTO && INTO + REQUESTS * SLOT <= (int)RIG_MEM, "all slots fit");

TestSuite(efa_statuses, .timeout = 300);

static const uint32_t lengths[] = { 8, 600, 9000, 12000 };

struct request {
	enum efa_dto_op op;
	uint32_t len;
	bool silent;			/* no completion if it succeeds */
};

static struct rig r;
static struct dap_rmr *rmr;
static struct request want[REQUESTS];
static uint32_t message[REQUESTS];	/* requests that are sends */
static uint32_t done, received, sends;	/* requests completed, messages received and sent */
static bool failed, recv_failed;
static uint64_t dice;
static char run[96];			/* description of the run, for messages */

static uint32_t roll(uint32_t n)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(dice >> 33) % n;
}

/* Request i moves this byte of its slot from side a; reads move it from side b. */
static uint8_t byte_of(uint32_t i, uint32_t at, bool of_b)
{
	return (uint8_t)(1 + i * 31 + at * 7 + (at >> 8) + (of_b ? 101 : 0));
}

static void open_with(const char *profile, uint32_t seed)
{
	char params[128];

	dice = seed * 2654435761u + 1;
	snprintf(params, sizeof(params), "seed=%u efa_profile=%s efa_window=%u efa_rendezvous=10000 "
		 "write_order=%s", seed, profile, roll(2) ? 4 : 64, roll(2) ? "kept" : "relaxed");
	snprintf(run, sizeof(run), "profile %s, seed %u", profile, seed);
	rig_draw(seed);
	rig_open_pair(&r, params);
	r.a.ep->state = DAP_EP_CONNECTED;
	rmr = rig_rmr(&r, &r.a);
	for (uint32_t i = 0; i < REQUESTS; i++) {
		for (uint32_t at = 0; at < SLOT; at++) {
			r.a.mem[i * SLOT + at] = byte_of(i, at, false);
			r.b.mem[i * SLOT + at] = byte_of(i, at, true);
		}
	}
	done = received = sends = 0;
	failed = recv_failed = false;
}

static DAT_LMR_TRIPLET own(uint32_t at, uint32_t len)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = r.a.lmr->lmr_context, .segment_length = len,
				  .virtual_address = (uintptr_t)r.a.mem + at };
}

static DAT_RETURN post(uint32_t i, const struct request *q)
{
	const DAT_RMR_TRIPLET far = { .rmr_context = r.b.lmr->rmr_context, .segment_length = q->len,
				      .target_address = (uintptr_t)r.b.mem + i * SLOT };
	DAT_LMR_TRIPLET from = own(i * SLOT, q->len), into = own(INTO + i * SLOT, q->len);
	DAT_COMPLETION_FLAGS flags = q->silent ? DAT_COMPLETION_SUPPRESS_FLAG : 0;
	DAT_DTO_COOKIE cookie = { .as_64 = i };
	DAT_RMR_CONTEXT context;

	switch (q->op) {
	case EFA_SEND:
		cr_assert_eq(rig_recv(&r, &r.b, sends, INTO + sends * SLOT, SLOT), DAT_SUCCESS);
		message[sends++] = i;
		return r.hot->post_send(r.a.ep, 1, &from, cookie, flags);
	case EFA_READ:
		return r.hot->rdma_read(r.a.ep, 1, &into, cookie, &far, flags);
	case EFA_WRITE:
		return r.hot->rdma_write(r.a.ep, 1, &from, cookie, &far, flags);
	default:
		return r.hot->rmr_bind(rmr, &from, DAT_MEM_PRIV_REMOTE_READ_FLAG, r.a.ep, cookie, flags,
				       &context);
	}
}

static void has_bytes(const uint8_t *p, uint32_t i, bool of_b)
{
	uint32_t at = 0;

	while (at < want[i].len && p[at] == byte_of(i, at, of_b))
		at++;
	cr_assert_eq(at, want[i].len, "%s: byte %u of request %u is wrong", run, at, i);
}

static void succeeded(uint32_t i)
{
	if (want[i].op == EFA_WRITE)
		has_bytes(r.b.mem + i * SLOT, i, false);
	else if (want[i].op == EFA_READ)
		has_bytes(r.a.mem + INTO + i * SLOT, i, true);
}

/* Requests before index n that have had no completion have succeeded without one. */
static void silent_until(uint64_t n)
{
	for (; done < n && !failed && want[done].silent; done++)
		succeeded(done);
}

static void completed(const struct dap_event *ev)
{
	const bool bind = ev->number == DAP_EV_RMR_BIND;
	const uint64_t cookie = bind ? ev->bind.cookie : ev->dto.cookie;
	const uint32_t status = bind ? ev->bind.status : ev->dto.status;

	silent_until(cookie);
	cr_assert_eq(cookie, done, "%s: request %u completed instead of %u", run, (unsigned int)cookie, done);
	cr_assert_eq(bind, want[done].op == EFA_BIND);
	cr_assert(!failed || status == DAP_DTO_FLUSHED, "%s: request %u has status %u after a failure", run,
		  done, status);
	cr_assert(status || !want[done].silent, "%s: suppressed request %u completed", run, done);
	if (!status)
		succeeded(done);
	failed |= status != 0;
	done++;
}

static void arrived(const struct dap_event *ev)
{
	const uint32_t n = received++;

	cr_assert_eq(ev->dto.cookie, n, "%s: receive %u completed instead of %u", run,
		     (unsigned int)ev->dto.cookie, n);
	cr_assert(!recv_failed || ev->dto.status == DAP_DTO_FLUSHED);
	recv_failed |= ev->dto.status != 0;
	if (ev->dto.status)
		return;
	cr_assert_eq(ev->dto.length, want[message[n]].len, "%s: message %u has another length", run, n);
	has_bytes(r.b.mem + INTO + n * SLOT, message[n], false);
}

static bool take_completions(void)
{
	struct dap_event ev;

	if (rig_poll(r.a.req, &ev))
		completed(&ev);
	else if (rig_poll(r.b.recv, &ev))
		arrived(&ev);
	else
		return false;
	return true;
}

/* Ends both endpoints, as core does when one of them has reported that it is broken. */
static void end_both(void)
{
	struct dap_ep *first = fake.broken, *second = first == r.a.ep ? r.b.ep : r.a.ep;

	efa_hw.qp_settle(first);
	cr_assert_eq(efa_hw.qp_error(first), 0);
	efa_hw.qp_settle(second);
	cr_assert_eq(efa_hw.qp_error(second), 0);
}

static void drive(void)
{
	for (unsigned int idle = 0; idle < IDLE_TICKS && !fake.broken; idle++) {
		while (take_completions())
			idle = 0;
		efa_tick(efa_ia(r.ia)->eng);
	}
	if (fake.broken)
		end_both();
	while (take_completions())
		;
	silent_until(REQUESTS);
	cr_assert_eq(done, REQUESTS, "%s: request %u has no completion; last log line: %s", run, done,
		     fake.said);
	cr_assert_eq(received, sends, "%s: receive %u has no completion", run, received);
	cr_assert(fake.broken || !(failed || recv_failed));
}

static void run_seed(const char *profile, uint32_t seed)
{
	char script[32];

	open_with(profile, seed);
	snprintf(script, sizeof(script), "status=%u:%u", 1 + roll(15), 1 + roll(24));
	cr_assert_eq(softnic_efa_fault(r.nic, script), 0);
	for (uint32_t i = 0; i < REQUESTS; i++) {
		want[i] = (struct request){ (enum efa_dto_op)roll(4), lengths[roll(4)], roll(3) == 0 };
		cr_assert_eq(post(i, &want[i]), DAT_SUCCESS, "%s: post %u failed", run, i);
		for (uint32_t n = roll(4); n; n--)
			softnic_efa_pump(r.nic);
	}
	drive();
	efa_hw.rmr_destroy(rmr);
	free(rmr);
	rig_close_pair(&r);
}

static void seeds(const char *profile)
{
	for (uint32_t seed = 1; seed <= SEEDS; seed++)
		run_seed(profile, seed);
}

Test(efa_statuses, requests__of_profile_read_end_once_whatever_status_comes) { seeds("read"); }
Test(efa_statuses, requests__of_profile_write_end_once_whatever_status_comes) { seeds("write"); }
Test(efa_statuses, requests__of_profile_wide_end_once_whatever_status_comes) { seeds("wide"); }
