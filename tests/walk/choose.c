/* SPDX-License-Identifier: BSD-2-Clause */
/* Chooses the next call. Mostly it takes objects of the right type and state, sometimes a wrong one. */
#include "tests/walk/walk.h"

static uint64_t next_random(struct chooser *ch)
{
	ch->random ^= ch->random << 13;
	ch->random ^= ch->random >> 7;
	ch->random ^= ch->random << 17;
	return ch->random * 0x2545F4914F6CDD1DULL >> 16;
}

static int below(struct chooser *ch, int n)
{
	return (int)(next_random(ch) % (unsigned)n);
}

static bool one_in(struct chooser *ch, int n)
{
	return below(ch, n) == 0;
}

/* Returns a live object of that kind, newer ones more often; -1 if there is none. */
static int pick(struct chooser *ch, const struct model *m, int process, enum kind kind)
{
	int found = -1, n = 0;

	for (int i = 0; i < ch->next[process]; i++) {
		if (model_kind(m, process, i) == kind && model_live(m, process, i) && one_in(ch, ++n))
			found = i;
	}
	return found;
}

/* Returns an endpoint in one of these states. */
static int pick_ep(struct chooser *ch, const struct model *m, int process, unsigned states)
{
	int found = -1, n = 0, peer[2];

	for (int i = 0; i < ch->next[process]; i++) {
		if ((model_states(m, process, i, peer) & states) && one_in(ch, ++n))
			found = i;
	}
	return found;
}

static int pick_evd(struct chooser *ch, const struct model *m, int process, int flags, bool with_events)
{
	int found = -1, n = 0;

	for (int i = 0; i < ch->next[process]; i++) {
		if (model_kind(m, process, i) == EVD && model_live(m, process, i) &&
		    (model_evd_flags(m, process, i) & flags) == flags && !model_waiting(m, process, i) &&
		    (!with_events || model_events(m, process, i)) && one_in(ch, ++n))
			found = i;
	}
	return found;
}

/* Returns a length near one at which a message takes another path. */
static int length(struct chooser *ch)
{
	static const int edges[] = {0, 1, 32, 64, 188, 256, 1024, 4096, 8192};
	int n;

	if (one_in(ch, 3))
		return below(ch, 64);
	n = edges[below(ch, sizeof(edges) / sizeof(edges[0]))] + below(ch, 5) - 2;
	return n < 0 ? 0 : n;
}

static enum kind kind_of(char arg)
{
	static const char letters[] = "-izecCEzlrpsq";
	static const enum kind kinds[] = {NONE, IA, PZ, EVD, CNO, CNO, EVD, PZ, LMR, RMR, EP, PSP, CR};
	const char *p = strchr(letters, arg);

	return p ? kinds[p - letters] : NONE;
}

/* Chooses handles that fit the call or, once in a while, any others. */
static void choose_handles(struct chooser *ch, const struct model *m, struct call *c)
{
	for (int i = 0; op_args[c->op][i]; i++) {
		char arg = op_args[c->op][i];

		c->a[i] = 0;
		if (arg == 'n')
			continue;
		if (arg == '=')
			c->a[i] = ch->next[c->proc];
		else if (one_in(ch, 150) || arg == '*')
			c->a[i] = below(ch, ch->next[c->proc] + 1) - (arg != '*' || one_in(ch, 9));
		else if (arg == 'C' && !one_in(ch, 3))
			c->a[i] = -1;
		else
			c->a[i] = pick(ch, m, c->proc, kind_of(arg));
	}
}

static int flags_of_post(struct chooser *ch, bool recv)
{
	static const int wrong[] = {DAT_COMPLETION_UNSIGNALLED_FLAG, 0x40, 0x80};

	if (one_in(ch, 100))
		return wrong[below(ch, 3)];
	if (recv)
		return 0;
	return one_in(ch, 4)   ? DAT_COMPLETION_SUPPRESS_FLAG
	       : one_in(ch, 5) ? DAT_COMPLETION_BARRIER_FENCE_FLAG
			       : 0;
}

/* Chooses a range in an LMR or, once in a while, beyond it. */
static void choose_range(struct chooser *ch, const struct model *m, int process, int lmr, int *off,
			 int *len)
{
	int start, size;

	if (lmr < 0)
		return;
	model_range(m, process, lmr, &start, &size);
	*len = length(ch);
	if (*len > size)
		*len = size ? below(ch, size) + 1 : 0;
	*off = start + below(ch, size - *len + 1);
	if (one_in(ch, 80))
		*off += below(ch, 64) - 32;
}

static void choose_post(struct chooser *ch, const struct model *m, struct call *c)
{
	bool recv = c->op == EP_POST_RECV, rdma = c->op == EP_POST_RDMA_WRITE || c->op == EP_POST_RDMA_READ;
	int ep = pick_ep(ch, m, c->proc, 1u << DAT_EP_STATE_CONNECTED), peer[2];

	if (ep >= 0 && !one_in(ch, recv ? 3 : 15))
		c->a[0] = ep;
	choose_range(ch, m, c->proc, c->a[1], &c->a[3], &c->a[4]);
	if (recv && one_in(ch, 2))
		c->a[4] += c->a[4] < 4096 ? 64 : 0;
	c->a[2] = c->op == EP_POST_RDMA_READ ? 1 : 1 + below(ch, c->op == EP_POST_RDMA_WRITE ? 2 : IOV);
	if (one_in(ch, 60)) {
		c->a[2] = one_in(ch, 2) ? 0 : one_in(ch, 2) ? -1 : 1000;
		c->a[4] = 0;
	}
	c->a[5] = ++ch->cookie;
	c->a[6] = flags_of_post(ch, recv);
	if (!rdma)
		return;
	model_states(m, c->proc, c->a[0], peer);
	c->a[7] = peer[1] < 0 ? 1 - c->proc : peer[0];
	c->a[8] = pick(ch, m, c->a[7], one_in(ch, 2) ? RMR : LMR);
	if (one_in(ch, 60))
		c->a[8] = below(ch, ch->next[c->a[7]]);
	if (c->a[8] >= 0) {
		int start, size;

		model_range(m, c->a[7], c->a[8], &start, &size);
		c->a[9] = start + (size > c->a[4] ? below(ch, size - c->a[4] + 1) : 0);
		if (one_in(ch, 80))
			c->a[9] += below(ch, 64) - 32;
	}
}

static int private_size(struct chooser *ch)
{
	return one_in(ch, 2) ? below(ch, 65) : 0;
}

static void choose_evd(struct chooser *ch, const struct model *m, struct call *c)
{
	static const int evd_flags[] = {
		DAT_EVD_DEFAULT_FLAG,    DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
		DAT_EVD_CONNECTION_FLAG, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
		DAT_EVD_SOFTWARE_FLAG,   DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG};
	int found;

	switch ((enum op)c->op) {
	case EVD_CREATE:
		c->a[3] = one_in(ch, 40) ? -below(ch, 2) : one_in(ch, 3) ? 1 + below(ch, 8) : 64;
		c->a[4] = one_in(ch, 40) ? below(ch, 2) * 0x1000 : evd_flags[below(ch, 6)];
		break;
	case EVD_RESIZE:
		c->a[1] = one_in(ch, 3) ? below(ch, 8) : 8 + below(ch, 120);
		break;
	case EVD_POST_SE:
	case SET_CONSUMER_CONTEXT:
		found = pick_evd(ch, m, c->proc, DAT_EVD_SOFTWARE_FLAG, false);
		if (c->op == EVD_POST_SE && found >= 0 && !one_in(ch, 10))
			c->a[0] = found;
		c->a[1] = 1 + below(ch, 1000000);
		break;
	default:			/* EVD_DEQUEUE, EVD_WAIT */
		found = pick_evd(ch, m, c->proc, 0, true);
		if (found >= 0 && !one_in(ch, 8))
			c->a[0] = found;
		c->a[3] = one_in(ch, 10) ? below(ch, 5) : 1;
	}
}

static void choose_lmr(struct chooser *ch, struct call *c)
{
	c->a[4] = one_in(ch, 40) ? 0 : one_in(ch, 3) ? 1 + below(ch, 512) : 8192 + below(ch, 8192);
	c->a[3] = below(ch, BYTES - c->a[4] + 1);
	c->a[5] = one_in(ch, 60)  ? 0x1000
		  : one_in(ch, 4) ? DAT_MEM_PRIV_LOCAL_READ_FLAG
				  : DAT_MEM_PRIV_ALL_FLAG;
	if (one_in(ch, 4))
		c->a[5] &= ~DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	if (one_in(ch, 6))
		c->a[5] &= ~DAT_MEM_PRIV_REMOTE_READ_FLAG;
}

static void choose_bind(struct chooser *ch, const struct model *m, struct call *c)
{
	int found;

	choose_range(ch, m, c->proc, c->a[1], &c->a[3], &c->a[4]);
	found = pick_ep(ch, m, c->proc, 1u << DAT_EP_STATE_CONNECTED);
	if (found >= 0 && !one_in(ch, 10))
		c->a[2] = found;
	c->a[5] = below(ch, 4) * 0x10 | below(ch, 4);
	c->a[6] = ++ch->cookie;
	c->a[7] = flags_of_post(ch, false);
	if (one_in(ch, 5))
		c->a[4] = 0;
}

static void choose_new_ep(struct chooser *ch, const struct model *m, struct call *c)
{
	int found;

	for (int i = 0; i < 3; i++) {
		found = pick_evd(ch, m, c->proc, i == 2 ? DAT_EVD_CONNECTION_FLAG : DAT_EVD_DTO_FLAG, false);
		if (found >= 0 && !one_in(ch, 40))
			c->a[3 + i] = found;
	}
	c->a[6] = one_in(ch, 50) ? -1 : 4 + below(ch, 12);
}

static void choose_connection(struct chooser *ch, const struct model *m, struct call *c)
{
	int found;

	switch ((enum op)c->op) {
	case EP_CONNECT:
		found = pick_ep(ch, m, c->proc, 1u << DAT_EP_STATE_UNCONNECTED);
		if (found >= 0 && !one_in(ch, 20))
			c->a[0] = found;
		c->a[1] = below(ch, 8);
		c->a[2] = private_size(ch);
		break;
	case CR_ACCEPT:
		found = pick_ep(ch, m, c->proc, 1u << DAT_EP_STATE_UNCONNECTED);
		if (found >= 0 && !one_in(ch, 20))
			c->a[1] = found;
		c->a[2] = private_size(ch);
		break;
	case EP_DISCONNECT:
		c->a[1] = one_in(ch, 30) ? 2 : below(ch, 2);
		break;
	case EP_RESET:
		found = pick_ep(ch, m, c->proc, 1u << DAT_EP_STATE_DISCONNECTED);
		if (found >= 0 && !one_in(ch, 6))
			c->a[0] = found;
		break;
	default:			/* PSP_CREATE */
		found = pick_evd(ch, m, c->proc, DAT_EVD_CR_FLAG, false);
		if (found >= 0 && !one_in(ch, 20))
			c->a[2] = found;
		c->a[3] = 4 * c->proc + below(ch, 4);
	}
}

static void choose_numbers(struct chooser *ch, const struct model *m, struct call *c)
{
	switch ((enum op)c->op) {
	case EVD_CREATE:
	case EVD_RESIZE:
	case EVD_POST_SE:
	case SET_CONSUMER_CONTEXT:
	case EVD_DEQUEUE:
	case EVD_WAIT:
		choose_evd(ch, m, c);
		break;
	case LMR_CREATE:
		choose_lmr(ch, c);
		break;
	case RMR_BIND:
		choose_bind(ch, m, c);
		break;
	case EP_CREATE:
		choose_new_ep(ch, m, c);
		break;
	case EP_CONNECT:
	case CR_ACCEPT:
	case EP_DISCONNECT:
	case EP_RESET:
	case PSP_CREATE:
		choose_connection(ch, m, c);
		break;
	case EP_POST_RECV:
	case EP_POST_SEND:
	case EP_POST_RDMA_WRITE:
	case EP_POST_RDMA_READ:
		choose_post(ch, m, c);
		break;
	default:
		break;
	}
}

/* How often each call is chosen, relative to the others. */
static const uint8_t weights[OPS] = {
	[PZ_CREATE] = 2,
	[PZ_FREE] = 2,
	[PZ_QUERY] = 1,
	[EVD_CREATE] = 4,
	[EVD_FREE] = 2,
	[EVD_QUERY] = 2,
	[EVD_RESIZE] = 2,
	[EVD_ENABLE] = 2,
	[EVD_DISABLE] = 1,
	[EVD_SET_UNWAITABLE] = 1,
	[EVD_CLEAR_UNWAITABLE] = 2,
	[EVD_MODIFY_CNO] = 2,
	[EVD_POST_SE] = 6,
	[EVD_DEQUEUE] = 70,
	[EVD_WAIT] = 40,
	[CNO_CREATE] = 1,
	[CNO_FREE] = 1,
	[CNO_QUERY] = 1,
	[CNO_WAIT] = 3,
	[LMR_CREATE] = 4,
	[LMR_FREE] = 2,
	[LMR_QUERY] = 2,
	[RMR_CREATE] = 3,
	[RMR_FREE] = 1,
	[RMR_QUERY] = 2,
	[RMR_BIND] = 12,
	[EP_CREATE] = 6,
	[EP_FREE] = 1,
	[EP_QUERY] = 3,
	[EP_GET_STATUS] = 4,
	[EP_RESET] = 8,
	[EP_CONNECT] = 20,
	[EP_DISCONNECT] = 2,
	[EP_POST_RECV] = 40,
	[EP_POST_SEND] = 35,
	[EP_POST_RDMA_WRITE] = 25,
	[EP_POST_RDMA_READ] = 20,
	[PSP_CREATE] = 2,
	[PSP_FREE] = 1,
	[PSP_QUERY] = 1,
	[CR_QUERY] = 3,
	[CR_ACCEPT] = 25,
	[CR_REJECT] = 2,
	[GET_HANDLE_TYPE] = 2,
	[SET_CONSUMER_CONTEXT] = 2,
	[GET_CONSUMER_CONTEXT] = 2,
};

#define BOTH(...)                      \
	{.proc = 0, __VA_ARGS__},      \
	{                              \
		.proc = 1, __VA_ARGS__ \
	}
#define ALL_STREAMS (DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG)

/*
 * The calls at the start of every walk. They create in each process: zone 1, EVDs 2 and 3, regions 4 and
 * 5, RMR 6, PSP 7, and endpoints 8 to 10; 8 and 9 are connected to those of the other process.
 */
static const struct call world[] = {
	BOTH(.op = PZ_CREATE, .a = {0, 1}),
	BOTH(.op = EVD_CREATE, .a = {0, 2, -1, 64, ALL_STREAMS}),
	BOTH(.op = EVD_CREATE, .a = {0, 3, -1, 64, ALL_STREAMS}),
	BOTH(.op = LMR_CREATE, .a = {0, 4, 1, 0, BYTES / 2, DAT_MEM_PRIV_ALL_FLAG}),
	BOTH(.op = LMR_CREATE, .a = {0, 5, 1, BYTES / 4, BYTES / 2, DAT_MEM_PRIV_ALL_FLAG}),
	BOTH(.op = RMR_CREATE, .a = {1, 6}),
	{.op = PSP_CREATE, .proc = 0, .a = {0, 7, 2, 0}},
	{.op = PSP_CREATE, .proc = 1, .a = {0, 7, 2, 4}},
	BOTH(.op = EP_CREATE, .a = {0, 8, 1, 2, 2, 2, 12}),
	BOTH(.op = EP_CREATE, .a = {0, 9, 1, 2, 3, 3, 8}),
	BOTH(.op = EP_CREATE, .a = {0, 10, 1, 3, 3, 3, 8}),
	{.op = EP_CONNECT, .proc = 0, .a = {8, 4, 0}},
	{.op = EVD_DEQUEUE, .proc = 1, .a = {2, 11}},
	{.op = CR_ACCEPT, .proc = 1, .a = {11, 8, 16}},
	BOTH(.op = EVD_DEQUEUE, .a = {2, -1}),
	{.op = EP_CONNECT, .proc = 1, .a = {9, 0, 64}},
	{.op = EVD_DEQUEUE, .proc = 0, .a = {2, 11}},
	{.op = CR_ACCEPT, .proc = 0, .a = {11, 9, 0}},
	BOTH(.op = EVD_DEQUEUE, .a = {3, -1}),
};

bool world_call(int i, struct call *c)
{
	if (i >= (int)(sizeof(world) / sizeof(world[0])))
		return false;
	*c = world[i];
	if (c->op == EVD_DEQUEUE)
		c->a[2] = PATIENCE_MS;
	return true;
}

/* calls in which an allocation may fail: they leave everything as it was */
static const bool may_fail[OPS] = {
	[PZ_CREATE] = true,  [EVD_CREATE] = true,     [EVD_RESIZE] = true, [EVD_MODIFY_CNO] = true,
	[CNO_CREATE] = true, [LMR_CREATE] = true,     [RMR_CREATE] = true, [EP_CREATE] = true,
	[EP_CONNECT] = true, [PSP_CREATE] = true,     [CR_ACCEPT] = true,
};

static void choose_faults(struct chooser *ch, struct call *c)
{
	if (ch->pauses && one_in(ch, 8))
		c->pause = one_in(ch, 2) ? OTHER_STOPS : TURNS;
	if (ch->faults && may_fail[c->op] && one_in(ch, 4))
		c->fail = (uint8_t)(1 + below(ch, 12));
}

static enum op choose_op(struct chooser *ch)
{
	int total = 0, n, op;

	for (op = 0; op < OPS; op++)
		total += weights[op];
	n = below(ch, total);
	for (op = 0; n >= weights[op]; op++)
		n -= weights[op];
	return (enum op)op;
}

static void choose_once(struct chooser *ch, const struct model *m, struct call *c)
{
	memset(c, 0, sizeof(*c));
	c->proc = (uint8_t)below(ch, PROCS);
	c->thread = (uint8_t)below(ch, THREADS);
	c->op = (uint8_t)choose_op(ch);
	choose_handles(ch, m, c);
	choose_numbers(ch, m, c);
	c->background = c->op == EVD_WAIT && one_in(ch, 4);
	if (c->background)
		c->a[1] = -1;
	choose_faults(ch, c);
}

static bool choose_death(struct chooser *ch, const struct model *m, struct call *c)
{
	*c = (struct call){.op = DIE, .proc = (uint8_t)below(ch, PROCS)};
	return model_may(m, c);
}

static bool accepts(const struct model *m, const struct call *c)
{
	int peer[2];

	return c->op == CR_ACCEPT && model_kind(m, c->proc, c->a[0]) == CR &&
	       model_live(m, c->proc, c->a[0]) &&
	       model_states(m, c->proc, c->a[1], peer) == 1u << DAT_EP_STATE_UNCONNECTED;
}

void choose(struct chooser *ch, const struct model *m, struct call *c)
{
	for (int p = 0; p < PROCS; p++) {
		while (model_kind(m, p, ch->next[p]) != NONE)
			ch->next[p]++;
	}
	if (!ch->death-- && choose_death(ch, m, c))
		return;
	for (int tries = 0; tries < 200; tries++) {
		choose_once(ch, m, c);
		if (model_may(m, c))
			break;
	}
	if (!model_may(m, c)) {
		*c = (struct call){.op = PZ_QUERY};
		choose_handles(ch, m, c);
	}
	/* A request to a process that is stopped for long fails. */
	if (ch->slow && accepts(m, c) && !model_requests_out(m)) {
		c->pause = LONG_STOP;
		c->fail = 0;
		ch->slow = false;
	}
}
