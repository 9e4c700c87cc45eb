/* SPDX-License-Identifier: BSD-2-Clause */
/* The fault script. It is parsed as a whole before any part takes effect. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/clock.h"
#include "softnic/efa/nic.h"

const char *softnic_efa_fault_words(void)
{
	return "drop dup reorder twice rnr unnamed silence deadqp flush status cmd_fail rkey_reuse consumer "
	       "unknown late_dereg shared_ah rx_op empty_sgl slow_sgl slow_small slow_read bad_order "
	       "arm_only";
}

bool sne_chance(struct sne_nic *nic, double p)
{
	return p > 0 && sn_hit(nic->fault.own_seed ? &nic->fault_rng : &nic->rng, p);
}

bool sne_refuses(struct sne_nic *nic, enum sne_cmd cmd)
{
	uint32_t *in = &nic->fault.refuse_in[cmd];

	return *in && !--*in;
}

/* The delay exceeds the duration of a transfer in the model, so that a comparison of times has a
 * clear result. */
void sne_slow(bool slow)
{
	enum { STEP_US = 50 };

	if (slow)
		sn_sleep_us(STEP_US);
}

enum { UNNAMED_EACH = 64 };

void sne_fault_default(struct sne_nic *nic, struct sne_fault *fault)
{
	*fault = (struct sne_fault){
		.twice = nic->config.flags & SOFTNIC_EFA_ADVERSARIAL ? 0.25 : 0,
		.unnamed = nic->config.flags & SOFTNIC_EFA_NAMED ? 0 : 1.0 / UNNAMED_EACH,
	};
}

static const struct sn_share shares[] = {
	{ "drop", offsetof(struct sne_fault, drop) },
	{ "dup", offsetof(struct sne_fault, dup) },
	{ "reorder", offsetof(struct sne_fault, reorder) },
	{ "twice", offsetof(struct sne_fault, twice) },
	{ "rnr", offsetof(struct sne_fault, rnr) },
	{ "unnamed", offsetof(struct sne_fault, unnamed) },
};

static int parse_number(const char *value, uint64_t max, uint64_t *v, const char **rest)
{
	char *end;

	errno = 0;
	*v = strtoull(value, &end, 0);
	if (end == value || errno || *v > max || (*end && (!rest || *end != ':')))
		return -EINVAL;
	if (rest)
		*rest = *end ? end + 1 : NULL;
	return 0;
}

static int parse_status(struct sne_fault *f, const char *value)
{
	const char *rest;
	uint64_t status, n = 1;
	int err = parse_number(value, SNE_FEATURE_MISMATCH, &status, &rest);

	if (!err && rest)
		err = parse_number(rest, UINT32_MAX, &n, NULL);
	if (err || !status || !n)
		return -EINVAL;
	f->status = (uint8_t)status;
	f->status_in = (uint32_t)n;
	return 0;
}

static int parse_refusal(struct sne_fault *f, char *value)
{
	static const char *const names[SNE_CMDS] = { "pd", "mr", "ah", "cq", "qp", "modify" };
	char *colon = strchr(value, ':');
	uint64_t n = 1;
	int err = 0;

	if (colon) {
		*colon = 0;
		err = parse_number(colon + 1, UINT32_MAX, &n, NULL);
	}
	if (err || !n)
		return -EINVAL;
	for (unsigned int i = 0; i < SNE_CMDS; i++) {
		if (strcmp(value, names[i]))
			continue;
		f->refuse_in[i] = (uint32_t)n;
		return 0;
	}
	return -EINVAL;
}

/* Words with one number, from least to most. */
static const struct number {
	const char *name;
	uint32_t least, most;
	size_t offset;
	size_t flag;			/* the place of the flag that the word sets, too; 0: none */
} numbers[] = {
	{ "deadqp", 0, UINT32_MAX, offsetof(struct sne_fault, dead_in), offsetof(struct sne_fault, dead_on) },
	{ "flush", 0, UINT32_MAX, offsetof(struct sne_fault, flush_us), offsetof(struct sne_fault, flush_late) },
	{ "unknown", 0, UINT32_MAX, offsetof(struct sne_fault, unknown), 0 },
	/* 127 is the most: the keys of one index differ in eight bits only, and each registration takes two
	 * keys. */
	{ "rkey_reuse", 1, 127, offsetof(struct sne_fault, rkey_turns), 0 },
	{ "window", 1, SNE_FLIGHT, offsetof(struct sne_fault, window), 0 },
};

static int set_number(struct sne_fault *f, const struct number *word, const char *value)
{
	uint64_t n;

	if (parse_number(value, word->most, &n, NULL) || n < word->least)
		return -EINVAL;
	*(uint32_t *)(void *)((char *)f + word->offset) = (uint32_t)n;
	if (word->flag)
		*(bool *)((char *)f + word->flag) = true;
	return 0;
}

static const struct flag {
	const char *name;
	size_t offset;
} flags[] = {
	{ "silence", offsetof(struct sne_fault, silence) },
	{ "consumer", offsetof(struct sne_fault, consumer) },
	{ "late_dereg", offsetof(struct sne_fault, late_dereg) },
	{ "shared_ah", offsetof(struct sne_fault, shared_ah) },
	{ "rx_op", offsetof(struct sne_fault, rx_op) },
	{ "empty_sgl", offsetof(struct sne_fault, empty_sgl) },
	{ "slow_sgl", offsetof(struct sne_fault, slow_sgl) },
	{ "slow_small", offsetof(struct sne_fault, slow_small) },
	{ "slow_read", offsetof(struct sne_fault, slow_read) },
	{ "bad_order", offsetof(struct sne_fault, bad_order) },
	{ "arm_only", offsetof(struct sne_fault, arm_only) },
};

static int parse_word(void *fault, char *word)
{
	struct sne_fault *f = fault;
	char *value = strchr(word, '=');

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (strcmp(word, flags[i].name))
			continue;
		*(bool *)((char *)f + flags[i].offset) = true;
		return 0;
	}
	if (!strcmp(word, "rkey_reuse")) {
		f->rkey_turns = 1;
		return 0;
	}
	if (!value)
		return -EINVAL;
	*value++ = 0;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!strcmp(word, numbers[i].name))
			return set_number(f, &numbers[i], value);
	if (!strcmp(word, "status"))
		return parse_status(f, value);
	if (!strcmp(word, "cmd_fail"))
		return parse_refusal(f, value);
	if (strcmp(word, "seed") != 0)
		return sn_share_parse(shares, sizeof(shares) / sizeof(shares[0]), f, word, value);
	f->own_seed = true;
	return parse_number(value, UINT64_MAX, &f->seed, NULL);
}

/* names of packets in the order of enum sne_kind */
static const char *const packet_ops[] = { "ack", "datagram", "send", "write", "read", "read_response", NULL };

/* The packets of this model have no checksum, so a corrupted one would be taken for a right one. */
static const struct sn_script_terms terms = {
	.ops = packet_ops, .actions = ~(1u << SN_CORRUPT), .max_qpn = UINT16_MAX, .max_psn = UINT32_MAX,
};

int softnic_efa_fault_why(struct softnic_efa *handle, const char *script, char *why, size_t whylen)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	struct sn_fab_faults rules = { 0 };
	struct sne_fault f;
	int err;

	sne_fault_default(nic, &f);
	err = sn_script_parse(script, &terms, &f.script, parse_word, &f, why, whylen);
	if (err)
		return err;
	if (!sne_enter(nic))
		return -ENODEV;
	rules.script = f.script;
	err = sn_fab_set_faults(nic->fab, &rules);
	if (!err) {
		nic->fault = f;
		nic->fault_rng = f.seed;
		nic->window = f.window ?: nic->config.window ?: SNE_WINDOW;
	}
	sne_thread_hand_over(nic);
	sne_leave(nic);
	return err;
}

int softnic_efa_fault(struct softnic_efa *handle, const char *script)
{
	char why[256] = "";
	int err = softnic_efa_fault_why(handle, script, why, sizeof(why));

	if (err)
		fprintf(stderr, "softnic: fault script: %s\n", *why ? why : strerror(-err));
	return err;
}
