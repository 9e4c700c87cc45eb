/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packet rules of a fault script. Each rule names packets of queue pairs, and what happens to them:
 * "drop:op=write,psn=+17,times=1". dapl-direct(7) documents the syntax.
 */
#ifndef SOFTNIC_FABRIC_SCRIPT_H
#define SOFTNIC_FABRIC_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sn_action { SN_DROP, SN_CORRUPT, SN_DELAY, SN_REORDER, SN_DUP, SN_ACTIONS };

enum {
	SN_RULES = 16,			/* most rules of a script */
	/* most queue pairs whose packets it counts; anyone may send packets to others */
	SN_STREAMS = 4096,
};

struct sn_rule {
	enum sn_action action;
	int op;				/* index of the operation; -1: any */
	bool in;			/* true: packets that arrive; false: packets that leave */
	bool any_qpn, any_psn;
	uint32_t qpn, psn;		/* destination QPN and PSN, as in the packet */
	/* Of the packets of a queue pair that match, the rule skips the first `skip`. Then it acts on
	 * `times` packets: consecutive ones, or each `every`-th one. */
	uint32_t skip, times, every;
	uint32_t us;			/* time of a delay */
};

struct sn_script {
	unsigned int rules;
	struct sn_rule rule[SN_RULES];
};

/* What the rules for a model may contain. */
struct sn_script_terms {
	const char *const *ops;		/* names of operations, NULL-terminated */
	unsigned int actions;		/* bits, one for each enum sn_action */
	uint32_t max_qpn, max_psn;
};

/*
 * Parses a fault script: parts separated by semicolons, each a rule, or words separated by commas. word()
 * parses one word into fault and returns 0 or -errno. Returns 0, or -EINVAL with a reason in why, which
 * names the wrong part and what is allowed; -ENOMEM.
 */
int sn_script_parse(const char *text, const struct sn_script_terms *terms, struct sn_script *script,
		    int (*word)(void *fault, char *word), void *fault, char *why, size_t whylen);

#endif
