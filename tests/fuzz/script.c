/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fault scripts: any text is read, or refused with a reason. Rules that were read are within their limits.
 *
 * Judges: softnic/fabric/script.c
 */
#include <errno.h>

#include "softnic/fabric/script.h"
#include "tests/fuzz/fuzz.h"

static const char *const ops[] = { "send", "ack", NULL };
static const struct sn_script_terms terms = {
	.ops = ops, .actions = ~(1u << SN_CORRUPT), .max_qpn = 0xffffff, .max_psn = 0xffff,
};

static int parse_word(void *fault, char *word)
{
	(void)fault;
	return *word == 'w' ? 0 : -EINVAL;
}

static void check_rule(const struct sn_rule *r)
{
	FUZZ_ASSERT(r->action < SN_ACTIONS && r->action != SN_CORRUPT);
	FUZZ_ASSERT(r->op >= -1 && r->op < 2);
	FUZZ_ASSERT(r->qpn <= terms.max_qpn && r->psn <= terms.max_psn);
	FUZZ_ASSERT(r->times && r->us && r->us <= 1000000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), why[100] = "";
	struct sn_script script;
	int err;

	FUZZ_ASSERT(text);
	memcpy(text, data, size);
	text[size] = '\0';
	err = sn_script_parse(text, &terms, &script, parse_word, NULL, why, sizeof(why));
	FUZZ_ASSERT(err ? err == -EINVAL && *why : !*why);
	FUZZ_ASSERT(memchr(why, '\0', sizeof(why)));
	FUZZ_ASSERT(script.rules <= SN_RULES);
	for (unsigned int i = 0; !err && i < script.rules; i++)
		check_rule(&script.rule[i]);
	free(text);
	return 0;
}
