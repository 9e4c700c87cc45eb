/* SPDX-License-Identifier: BSD-2-Clause */
/* The parser of fault scripts. A model parses the words of a script, and this file its rules. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/fabric/script.h"

enum { DELAY_US = 2000, DELAY_MAX_US = 1000000 };

static const char *const action_names[] = {"drop", "corrupt", "delay", "reorder", "dup", NULL};

struct parser {
	const struct sn_script_terms *terms;
	struct sn_script *script;
	char *why;
	size_t whylen;
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct parser *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(p->why, p->whylen, format, args);
	va_end(args);
	return -EINVAL;
}

/* Returns the index of the name, or -1. */
static int index_of(const char *const *names, const char *name)
{
	for (int i = 0; names[i]; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

/* Lists the names whose bit is set in mask. */
static const char *list(const char *const *names, unsigned int mask, char *text, size_t len)
{
	size_t n = 0;

	*text = '\0';
	for (unsigned int i = 0; names[i] && n < len; i++)
		if (mask >> i & 1)
			n += (size_t)snprintf(text + n, len - n, "%s%s", n ? ", " : "", names[i]);
	return text;
}

static bool read_number(const char *s, uint32_t least, uint32_t most, uint32_t *out)
{
	int base = s[0] == '0' && (s[1] == 'x' || s[1] == 'X') ? 16 : 10;
	unsigned long long v;
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	v = strtoull(s, &end, base);
	*out = (uint32_t)v;
	return !*end && !errno && v >= least && v <= most;
}

/* Reads "N", or "+n" for the n-th packet. */
static bool read_psn(const struct sn_script_terms *terms, struct sn_rule *rule, const char *value)
{
	rule->any_psn = *value == '+';
	if (!rule->any_psn)
		return read_number(value, 0, terms->max_psn, &rule->psn);
	return read_number(value + 1, 1, UINT32_MAX, &rule->skip) && rule->skip--;
}

enum item { OP, QPN, PSN, DIR, TIMES, EVERY, US };
static const char *const item_names[] = {"op", "qpn", "psn", "dir", "times", "every", "us", NULL};
static const char *const item_must[] = {
	[OP] = NULL,			/* the operations of the model */
	[QPN] = "a queue pair number, or all",
	[PSN] = "a packet number, or +n, n >= 1, for the n-th packet",
	[DIR] = "in or out",
	[TIMES] = "a number from 1 to 4294967295",
	[EVERY] = "a number from 1 to 4294967295",
	[US] = "a number from 1 to 1000000, and only in a delay",
};

static bool read_item(const struct sn_script_terms *terms, struct sn_rule *rule, enum item item,
		      const char *value)
{
	switch (item) {
	case OP:
		rule->op = index_of(terms->ops, value);
		return rule->op >= 0;
	case QPN:
		rule->any_qpn = !strcmp(value, "all");
		return rule->any_qpn || read_number(value, 0, terms->max_qpn, &rule->qpn);
	case PSN:
		return read_psn(terms, rule, value);
	case DIR:
		rule->in = !strcmp(value, "in");
		return rule->in || !strcmp(value, "out");
	case TIMES:
		return read_number(value, 1, UINT32_MAX, &rule->times);
	case EVERY:
		return read_number(value, 1, UINT32_MAX, &rule->every);
	case US:
		break;
	}
	return rule->action == SN_DELAY && read_number(value, 1, DELAY_MAX_US, &rule->us);
}

static int parse_item(const struct parser *p, struct sn_rule *rule, char *text)
{
	const char *action = action_names[rule->action], *must;
	char *value = strchr(text, '='), ops[128];
	int item;

	if (value)
		*value++ = '\0';
	item = value ? index_of(item_names, text) : -1;
	if (item < 0)
		return refuse(p, "%s:%.40s: must be one of op=, qpn=, psn=, dir=, times=, every= and us=",
			      action, text);
	if (read_item(p->terms, rule, (enum item)item, value))
		return 0;
	must = item == OP ? list(p->terms->ops, ~0u, ops, sizeof(ops)) : item_must[item];
	return refuse(p, "%s:%s=%.40s: must be %s", action, text, value, must);
}

static int parse_rule(const struct parser *p, char *text)
{
	struct sn_rule *rule = &p->script->rule[p->script->rules];
	char *rest = strchr(text, ':'), *save = NULL, names[64];
	int action, err = 0;

	if (p->script->rules == SN_RULES)
		return refuse(p, "%.60s: a script has at most %d rules", text, SN_RULES);
	*rest++ = '\0';
	action = index_of(action_names, text);
	if (action < 0 || !(p->terms->actions >> action & 1))
		return refuse(p, "%.40s: a rule of this adapter begins with one of %s", text,
			      list(action_names, p->terms->actions, names, sizeof(names)));
	*rule = (struct sn_rule){.action = (enum sn_action)action, .op = -1, .any_qpn = true,
				 .any_psn = true, .us = DELAY_US};
	for (char *i = strtok_r(rest, ",", &save); i && !err; i = strtok_r(NULL, ",", &save))
		err = parse_item(p, rule, i);
	/* A rule that acts on every n-th packet has no end by default. */
	if (!rule->times)
		rule->times = rule->every ? UINT32_MAX : 1;
	if (!rule->every)
		rule->every = 1;
	p->script->rules++;
	return err;
}

static int parse_words(const struct parser *p, char *text, int (*word)(void *fault, char *word), void *fault)
{
	char *save = NULL, whole[60];
	int err;

	for (char *w = strtok_r(text, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		snprintf(whole, sizeof(whole), "%s", w);
		err = word(fault, w);
		if (err)
			return refuse(p, "%s: unknown word or wrong value; softnic-run(1) lists the words, "
				      "and a rule is an action, a colon and items", whole);
	}
	return 0;
}

/* A word may contain a colon only in its value. */
static bool is_rule(const char *part)
{
	return part[strcspn(part, ":=,")] == ':';
}

int sn_script_parse(const char *text, const struct sn_script_terms *terms, struct sn_script *script,
		    int (*word)(void *fault, char *word), void *fault, char *why, size_t whylen)
{
	struct parser p = {terms, script, why, whylen};
	char *copy = strdup(text), *save = NULL;
	int err = copy ? 0 : -ENOMEM;

	script->rules = 0;
	for (char *part = copy ? strtok_r(copy, ";", &save) : NULL; part && !err;
	     part = strtok_r(NULL, ";", &save))
		err = is_rule(part) ? parse_rule(&p, part) : parse_words(&p, part, word, fault);
	free(copy);
	return err;
}
