/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests of each kind, length and flag from both ends, in an order that depends on a seed. Receives are
 * posted late, so writes run out of credit. Some seeds end with requests outstanding. Each word that a
 * write fills is the number of the write. The test checks DAT's order: a message is delivered after the
 * writes before it, a read returns these writes and none behind a fence, and requests complete as posted.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/efa/rig.h"

TestSuite(efa_mix, .timeout = 300);

enum { WORDS = 2048, MOST_READ = 64, MOST_WRITE = 512, LONG = 10000, RECVS = 6, MESSAGES = 128 };
/* offsets in the memory of a side; RIG_DTOS blocks in the first two */
enum { SOURCE = 0, READS = 98304, TARGET = 131072, RECEIVES = 196608, BLOCK = 4096 };

static uint32_t roll(uint64_t *dice, uint32_t n)
{
	*dice = *dice * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*dice >> 33) % n;
}

struct request {
	enum efa_dto_op op;
	unsigned int flags;
	uint32_t at, words;		/* of a write or read: the words of the target */
	bool fenced;			/* a later request waits for this read */
	uint64_t least[MOST_READ], last[MOST_READ];	/* the writes whose words the read may return */
};

static struct half {
	struct side *from, *to;
	uint64_t next, oldest;		/* numbers of the next request, and of the oldest outstanding one */
	uint64_t last[WORDS];		/* the last write posted to each word */
	struct request q[RIG_DTOS];	/* by number */
	uint64_t before[MESSAGES][WORDS];	/* of each message: last[] when it was posted */
	uint32_t sent, received, recvs;
} half[2];

static struct rig r;
static char what[160];

static uint64_t word_at(const uint8_t *p, uint32_t i)
{
	uint64_t word;

	memcpy(&word, p + 8 * i, sizeof(word));
	return word;
}

static struct request *request(struct half *h, uint64_t number)
{
	return &h->q[number % RIG_DTOS];
}

/* ---- Posts ---- */

static DAT_LMR_TRIPLET near(const struct half *h, uint32_t offset, uint32_t len)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = h->from->lmr->lmr_context, .segment_length = len,
				  .virtual_address = (uintptr_t)h->from->mem + offset };
}

static DAT_RMR_TRIPLET far(const struct half *h, const struct request *q)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = h->to->lmr->rmr_context, .segment_length = 8 * q->words,
				  .target_address = (uintptr_t)h->to->mem + TARGET + 8 * q->at };
}

static DAT_RETURN post_send(struct half *h, const struct request *q, uint32_t block, uint32_t len)
{
	DAT_LMR_TRIPLET l = near(h, SOURCE + block * BLOCK, len);
	uint64_t number = h->sent;

	memcpy(h->from->mem + SOURCE + block * BLOCK, &number, sizeof(number));
	memcpy(h->before[h->sent++ % MESSAGES], h->last, sizeof(h->last));
	return r.hot->post_send(h->from->ep, 1, &l, (DAT_DTO_COOKIE){ .as_64 = h->next },
				(DAT_COMPLETION_FLAGS)q->flags);
}

static DAT_RETURN post_read(struct half *h, struct request *q, uint32_t block)
{
	DAT_LMR_TRIPLET l = near(h, READS + block * 8 * MOST_READ, 8 * q->words);
	DAT_RMR_TRIPLET m = far(h, q);

	memcpy(q->least, &h->last[q->at], 8 * q->words);
	return r.hot->rdma_read(h->from->ep, 1, &l, (DAT_DTO_COOKIE){ .as_64 = h->next }, &m,
				(DAT_COMPLETION_FLAGS)q->flags);
}

static DAT_RETURN post_write(struct half *h, const struct request *q, uint32_t block)
{
	DAT_LMR_TRIPLET l = near(h, SOURCE + block * BLOCK, 8 * q->words);
	DAT_RMR_TRIPLET m = far(h, q);

	for (uint32_t i = 0; i < q->words; i++) {
		memcpy(h->from->mem + SOURCE + block * BLOCK + 8 * i, &h->next, 8);
		h->last[q->at + i] = h->next;
	}
	return r.hot->rdma_write(h->from->ep, 1, &l, (DAT_DTO_COOKIE){ .as_64 = h->next }, &m,
				 (DAT_COMPLETION_FLAGS)q->flags);
}

/* The outstanding reads return nothing that is written from now on. */
static void fence_reads(struct half *h)
{
	for (uint64_t n = h->oldest; n != h->next; n++) {
		struct request *q = request(h, n);

		if (q->op == EFA_READ && !q->fenced)
			memcpy(q->last, &h->last[q->at], 8 * q->words);
		q->fenced = true;
	}
}

static void post(struct half *h, uint64_t *dice)
{
	static const enum efa_dto_op ops[] = { EFA_SEND, EFA_READ, EFA_WRITE, EFA_WRITE };
	struct request *q = request(h, h->next);
	uint32_t block = (uint32_t)(h->next % RIG_DTOS), most;
	DAT_RETURN ret;

	if (h->next - h->oldest == RIG_DTOS || h->sent - h->received == MESSAGES)
		return;
	*q = (struct request){ .op = ops[roll(dice, 4)] };
	q->at = roll(dice, roll(dice, 2) ? 16 : WORDS - MOST_WRITE);
	q->flags = (roll(dice, 8) ? 0 : DAP_COMP_BARRIER) |
		   (h->next % 4 && roll(dice, 2) ? DAP_COMP_SUPPRESS : 0);
	most = q->op == EFA_READ ? MOST_READ : MOST_WRITE;
	q->words = roll(dice, 3) ? roll(dice, 9) : roll(dice, most + 1);
	if (q->flags & DAP_COMP_BARRIER)
		fence_reads(h);
	if (q->op == EFA_SEND)
		ret = post_send(h, q, block, roll(dice, 4) ? 8 : LONG);
	else
		ret = q->op == EFA_READ ? post_read(h, q, block) : post_write(h, q, block);
	cr_assert_eq(ret, DAT_SUCCESS, "%s: a post failed: %s", what, fake.said);
	h->next++;
}

static void post_recv(struct half *h)
{
	if (h->recvs - h->received < RECVS)
		cr_assert_eq(rig_recv(&r, h->to, h->recvs, RECEIVES + h->recvs % RECVS * (LONG + 240), LONG),
			     DAT_SUCCESS);
	h->recvs += h->recvs - h->received < RECVS;
}

/* ---- Completions ---- */

static void check_read(const struct half *h, const struct request *q, uint32_t block)
{
	for (uint32_t i = 0; i < q->words; i++) {
		uint64_t word = word_at(h->from->mem + READS + block * 8 * MOST_READ, i);

		cr_assert(word >= q->least[i] && word <= (q->fenced ? q->last[i] : h->last[q->at + i]),
			  "%s: a read returned write %llu after write %llu", what, (unsigned long long)word,
			  (unsigned long long)q->least[i]);
	}
}

/* Requests with a suppressed completion succeed without an event. */
static bool take_request(struct half *h, bool ended)
{
	struct dap_event ev;

	if (!rig_poll(h->from->req, &ev))
		return false;
	for (; h->oldest != ev.dto.cookie; h->oldest++)
		cr_assert(h->oldest != h->next && request(h, h->oldest)->flags & DAP_COMP_SUPPRESS,
			  "%s: request %llu has no completion", what, (unsigned long long)h->oldest);
	cr_assert(!ev.dto.status || ended, "%s: a request has status %u: %s", what, ev.dto.status,
		  fake.said);
	cr_assert(ev.dto.status || !(request(h, h->oldest)->flags & DAP_COMP_SUPPRESS),
		  "%s: request %llu has a completion", what, (unsigned long long)h->oldest);
	if (!ev.dto.status && request(h, h->oldest)->op == EFA_READ)
		check_read(h, request(h, h->oldest), (uint32_t)(h->oldest % RIG_DTOS));
	h->oldest++;
	return true;
}

static bool take_message(struct half *h, bool ended)
{
	struct dap_event ev;
	uint32_t n = h->received;

	if (!rig_poll(h->to->recv, &ev))
		return false;
	h->received++;
	cr_assert(!ev.dto.status || ended, "%s: a receive has status %u: %s", what, ev.dto.status,
		  fake.said);
	if (ev.dto.status)
		return true;
	cr_assert_eq(word_at(h->to->mem + RECEIVES + n % RECVS * (LONG + 240), 0), n,
		     "%s: message %u is lost", what, n);
	for (uint32_t i = 0; i < WORDS; i++)
		cr_assert_geq(word_at(h->to->mem + TARGET, i), h->before[n % MESSAGES][i],
			      "%s: a write before message %u has not arrived", what, n);
	return true;
}

/* ---- Runs ---- */

static void step(uint64_t *dice)
{
	struct half *h = &half[roll(dice, 2)];
	uint32_t choice = roll(dice, 16);

	if (choice < 6)
		post(h, dice);
	else if (choice < 7)
		post_recv(h);
	else if (choice < 9)
		softnic_efa_pump(r.nic);
	else if (choice < 12)
		take_request(h, false);
	else if (choice < 15)
		take_message(h, false);
	else
		efa_tick(efa_ia(r.ia)->eng);
}

static bool is_done(const struct half *h)
{
	const struct efa_tx *tx = &efa_ep(h->from->ep)->tx;

	return tx->done == tx->posted && h->received == h->sent;
}

static void run_to_the_end(void)
{
	for (uint32_t i = 0; i < 400000; i++) {
		struct half *h = &half[i & 1];

		if (is_done(&half[0]) && is_done(&half[1]))
			return;
		post_recv(h);
		take_request(h, false);
		take_message(h, false);
		softnic_efa_pump(r.nic);
		if (i % 8 == 0)
			efa_tick(efa_ia(r.ia)->eng);
	}
	cr_assert_fail("%s: no progress", what);
}

static void disconnect(void)
{
	efa_hw.qp_error(half[0].from->ep);
	efa_hw.qp_settle(half[1].from->ep);
	efa_hw.qp_error(half[1].from->ep);
}

static void check_end(struct half *h, bool ended)
{
	const struct efa_ep *e = efa_ep(h->from->ep);

	while (take_request(h, ended) || (ended && take_message(h, ended)))
		;
	for (; h->oldest != h->next; h->oldest++)
		cr_assert(request(h, h->oldest)->flags & DAP_COMP_SUPPRESS,
			  "%s: request %llu has no completion", what, (unsigned long long)h->oldest);
	cr_assert(!ended || h->received == h->recvs, "%s: %u receives have no completion", what,
		  h->recvs - h->received);
	cr_assert_eq(e->free_at[EFA_REQUESTS] - e->tx.posted, RIG_DTOS, "%s: places are lost", what);
	cr_assert(!e->tx.plain && !e->tx.waiting && (ended || !e->tx.asks), "%s: a counter is not 0", what);
}

static const char *const profiles[] = { "read", "write", "unsol", "wide", "reqid64" };
static const char *const faults[] = {
	"", "fault=drop=0.02,dup=0.05,reorder=0.2,twice=0.3,rnr=0.05", "adversarial=1",
};

static void begin(unsigned int seed)
{
	snprintf(what, sizeof(what),
		 "seed=%u efa_profile=%s write_order=%s efa_window=%u efa_rendezvous=0 %s", seed,
		 profiles[seed % 5], seed / 5 % 3 ? "relaxed" : "kept", seed / 15 % 2 ? 4 : 64,
		 faults[seed / 30 % 3]);
	rig_draw(seed);
	rig_open_pair(&r, what);
	memset(half, 0, sizeof(half));
	half[0].from = half[1].to = &r.a;
	half[1].from = half[0].to = &r.b;
	half[0].next = half[0].oldest = half[1].next = half[1].oldest = 1;
}

static void run(unsigned int seed)
{
	uint64_t dice = seed * UINT64_C(2654435761) + 1;
	bool ends = seed % 4 == 3;

	begin(seed);
	for (uint32_t i = 200 + roll(&dice, 800); i; i--)
		step(&dice);
	if (ends)
		disconnect();
	else
		run_to_the_end();
	check_end(&half[0], ends);
	check_end(&half[1], ends);
	rig_close_pair(&r);
}

Test(efa_mix, requests__of_all_kinds_keep_the_order_of_dat)
{
	const char *all = getenv("DAPL_ALL");

	for (unsigned int seed = 0; seed < (all && *all == '1' ? 20000 : 400); seed++)
		run(seed);
}
