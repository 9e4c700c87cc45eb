/* SPDX-License-Identifier: BSD-2-Clause */
/* The parser of ia_params for core and all backends; strict, driven by tables. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dap.h"
#include "core/param.h"
#include "core/thread.h"
#include "core/variable.h"

#define SEPARATORS " \t;,"
#define SPIN_US 20		/* default of spin_us: how long a wait polls before it sleeps */

const struct dap_param dap_core_param_table[] = {
	{ .key = "validate", .most = 1, DAP_PARAM_AT(struct dap_core_params, validate),
	  .without = "0, or 1 if DAPL_VALIDATE is 1",
	  .meaning = "1: a post checks its segments against LMRs and zones, and returns the error" },
	{ .key = "spin_us", .most = 1000000, .otherwise = SPIN_US,
	  DAP_PARAM_AT(struct dap_core_params, spin_us), .unit = "microseconds",
	  .meaning = "dat_evd_wait polls this long before it sleeps" },
	{ .key = "device", .type = DAP_PARAM_TEXT, DAP_PARAM_AT(struct dap_core_params, device),
	  .without = "the IA name",
	  .meaning = "adapter of the line: its name, PCI address, network interface or IP address" },
	{ .key = "port", .most = UINT8_MAX, DAP_PARAM_AT(struct dap_core_params, port),
	  .without = "1, or the port of the network interface",
	  .meaning = "port of device; 0: not given" },
	{ .key = "cm_cpu", .most = CPU_SETSIZE - 1, .otherwise = DAP_ANY_CPU,
	  DAP_PARAM_AT(struct dap_core_params, cm_cpu), .without = "the scheduler chooses",
	  .meaning = "CPU of the library's own threads in this process, see \"Threads\"" },
	{ .key = NULL },
};

static const char *const qos_classes[DAP_QOS_CLASSES] = {
	"best_effort", "high_throughput", "low_latency", "economy", "premium",
};

struct word {
	char key[64], value[512];
	bool complete;			/* neither key nor value was truncated */
};

static const struct dap_param *find(const struct dap_param *table, const char *key)
{
	while (table->key && strcmp(table->key, key))
		table++;
	return table->key ? table : NULL;
}

static void store(const struct dap_param *p, void *out, uint64_t v)
{
	void *at = (char *)out + p->offset;

	switch (p->size) {
	case 1: *(uint8_t *)at = (uint8_t)v; break;
	case 2: *(uint16_t *)at = (uint16_t)v; break;
	case 4: *(uint32_t *)at = (uint32_t)v; break;
	case 8: *(uint64_t *)at = v; break;
	}
}

/* A leading zero means decimal, not octal. */
static int read_number(const struct dap_param *p, const char *s, void *out)
{
	int base = s[0] == '0' && (s[1] == 'x' || s[1] == 'X') ? 16 : 10;
	uint64_t v;
	char *end;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, base);
	if (*end || errno || v < p->least || v > p->most || (p->power_of_two && v & (v - 1)))
		return -EINVAL;
	store(p, out, v << p->shift);
	return 0;
}

/* Returns the index of the word, or -EINVAL. */
static int word_index(const char *const *words, const char *s)
{
	for (int i = 0; words[i]; i++) {
		if (!strcmp(words[i], s))
			return i;
	}
	return -EINVAL;
}

/* A number without a class applies to all classes. A later word overrides an earlier one. */
static int read_qos(const struct dap_param *p, const char *s, void *out)
{
	const char *colon = strchr(s, ':');
	size_t n = colon ? (size_t)(colon - s) : 0;
	int err = -EINVAL;

	for (size_t i = 0; i < DAP_QOS_CLASSES; i++) {
		struct dap_param one = *p;

		if (colon && (strlen(qos_classes[i]) != n || memcmp(qos_classes[i], s, n)))
			continue;
		one.offset += i;
		one.size = 1;
		err = read_number(&one, colon ? colon + 1 : s, out);
	}
	return err;
}

static int read_choice(const struct dap_param *p, const char *s, void *out)
{
	int i = word_index(p->words, s);

	if (i < 0)
		return i;
	store(p, out, p->least + (uint64_t)i);
	return 0;
}

static int read_text(const struct dap_param *p, const char *s, void *out)
{
	if (strlen(s) >= p->size || (p->words && word_index(p->words, s) < 0))
		return -EINVAL;
	strcpy((char *)out + p->offset, s);
	return 0;
}

void dap_param_range(const struct dap_param *p, char *text, size_t len)
{
	size_t n;

	if (p->type == DAP_PARAM_OWN) {
		snprintf(text, len, "%s", p->must);
	} else if (p->words) {
		n = (size_t)snprintf(text, len, "%s", p->words[1] ? "one of" : "");
		for (int i = 0; p->words[i] && n < len; i++)
			n += (size_t)snprintf(text + n, len - n, "%s%s%s", i ? ", " : "",
					      p->words[1] && !i ? " " : "", p->words[i]);
	} else if (p->type == DAP_PARAM_NUMBER) {
		snprintf(text, len, "a %s from %llu to %llu",
			 p->power_of_two ? "power of two" : "number",
			 (unsigned long long)p->least, (unsigned long long)p->most);
	} else if (p->type == DAP_PARAM_QOS) {
		snprintf(text, len, "a number from 0 to %llu, or one after a class and a colon, as in "
			 "low_latency:%llu", (unsigned long long)p->most, (unsigned long long)p->most);
	} else {
		snprintf(text, len, "at most %zu bytes", p->size - 1);
	}
}

void dap_param_default(const struct dap_param *p, char *text, size_t len)
{
	if (p->without)
		snprintf(text, len, "%s", p->without);
	else if (p->type == DAP_PARAM_CHOICE)
		snprintf(text, len, "%s", p->words[p->otherwise - p->least]);
	else
		snprintf(text, len, "%llu", (unsigned long long)p->otherwise);
}

static int read_value(const struct dap_param *p, const char *s, void *out, char *why,
		      size_t whylen)
{
	switch (p->type) {
	case DAP_PARAM_NUMBER: return read_number(p, s, out);
	case DAP_PARAM_CHOICE: return read_choice(p, s, out);
	case DAP_PARAM_QOS: return read_qos(p, s, out);
	case DAP_PARAM_OWN: return p->read(s, out, why, whylen);
	case DAP_PARAM_TEXT:
	case DAP_PARAM_SCRIPT: break;
	}
	return read_text(p, s, out);
}

/* The environment may set another default. */
static void apply_variable(const struct dap_param *p, const struct dap_variable *v, void *out)
{
	const char *value = dap_variable_value(v);
	char must[160], why[1];

	if (!value || !read_value(p, value, out, why, sizeof(why)) || !dap_variable_report(v))
		return;
	dap_param_range(p, must, sizeof(must));
	dap_log(DAP_LOG_ERR, "%s=%s is ignored: it sets the parameter %s, which must be %s", v->name,
		value, p->key, must);
}

static void set_defaults(const struct dap_param *table, void *out)
{
	for (; table->key; table++) {
		if (table->type == DAP_PARAM_NUMBER || table->type == DAP_PARAM_CHOICE)
			store(table, out, table->otherwise);
		for (const struct dap_variable *v = dap_variables; v->name; v++) {
			if (v->kind == DAP_VARIABLE_DEFAULT && !strcmp(v->text, table->key))
				apply_variable(table, v, out);
		}
	}
}

static int apply_word(const struct dap_param *p, const struct word *w, void *out, char *why,
		      size_t whylen)
{
	char must[160], own[256] = "";
	int err = *w->value && w->complete ? read_value(p, w->value, out, own, sizeof(own)) : -EINVAL;

	if (!err)
		return 0;
	dap_param_range(p, must, sizeof(must));
	if (*own)
		snprintf(why, whylen, "%s", own);
	else if (*w->value)
		snprintf(why, whylen, "ia_params: %s=%s: must be %s", p->key, w->value, must);
	else
		snprintf(why, whylen, "ia_params: %s has no value: must be %s", p->key, must);
	return err;
}

static void cut(char *to, size_t size, const char *from, size_t len, struct word *w)
{
	if (len >= size) {
		w->complete = false;
		len = size - 1;
	}
	memcpy(to, from, len);
	to[len] = '\0';
}

/* The length of a script. A semicolon belongs to it if a rule follows, which has a colon before any '='. */
static size_t script_len(const char *text)
{
	size_t len = strcspn(text, " \t;");

	while (text[len] == ';' && text[len + 1 + strcspn(text + len + 1, ":=" SEPARATORS)] == ':')
		len += 1 + strcspn(text + len + 1, " \t;");
	return len;
}

/* Parses the word at text, which is no separator; returns what follows it. */
static const char *next_word(const char *text, const struct dap_param *table, struct word *w)
{
	size_t len = strcspn(text, "=" SEPARATORS);
	const struct dap_param *p;

	*w = (struct word){ .complete = true };
	cut(w->key, sizeof(w->key), text, len, w);
	text += len;
	if (*text != '=')
		return text;
	p = find(table, w->key);
	text++;
	len = p && p->type == DAP_PARAM_SCRIPT ? script_len(text) : strcspn(text, SEPARATORS);
	cut(w->value, sizeof(w->value), text, len, w);
	return text + len;
}

/* Returns true if text begins with OpenFabrics' form: a word and a number. *rest is the text after
 * it. */
static bool split_positional(const char *text, struct word *device, struct word *port,
			     const char **rest)
{
	struct dap_param none = { .key = NULL };

	*rest = text + strspn(text, SEPARATORS);
	if (!**rest || (*rest)[strcspn(*rest, "=" SEPARATORS)] == '=')
		return false;
	*rest = next_word(*rest, &none, device);
	*rest += strspn(*rest, SEPARATORS);
	if (**rest < '0' || **rest > '9' || (*rest)[strcspn(*rest, "=" SEPARATORS)] == '=')
		return false;
	*rest = next_word(*rest, &none, port);
	return true;
}

/* Parses ia_params without OpenFabrics' form. */
static const char *skip_positional(const char *text)
{
	struct word device, port;
	const char *rest;

	text = text ? text : "";
	return split_positional(text, &device, &port, &rest) ? rest : text;
}

int dap_params_words(const char *text, const struct dap_param *table, void *out, const char **at,
		     char *why, size_t whylen)
{
	struct dap_core_params core;
	const struct dap_param *p;
	struct word w;
	int err = 0;

	for (text = skip_positional(text); !err && *(text += strspn(text, SEPARATORS));) {
		*at = text;
		text = next_word(text, table, &w);
		p = find(table, w.key);
		if (p) {
			err = apply_word(p, &w, out, why, whylen);
		} else if ((p = find(dap_core_param_table, w.key))) {
			err = apply_word(p, &w, &core, why, whylen);
		} else {
			snprintf(why, whylen, "ia_params: %s%s%s: this adapter has no such key; "
				 "dapl-direct(7) lists them", w.key, *w.value ? "=" : "", w.value);
			err = -EINVAL;
		}
	}
	return err;
}

int dap_params_check(const char *text, const struct dap_param *table, void *out, const char **at,
		     char *why, size_t whylen)
{
	set_defaults(table, out);
	return dap_params_words(text, table, out, at, why, whylen);
}

int dap_params_parse(const char *text, const struct dap_param *table, void *out, char *why,
		     size_t whylen)
{
	const char *at;

	return dap_params_check(text, table, out, &at, why, whylen);
}

/* Returns 0, or the first error. */
static int read_core(const char *text, struct dap_core_params *out, char *why, size_t whylen)
{
	const struct dap_param *p;
	struct word w;
	int err = 0;

	set_defaults(dap_core_param_table, out);
	*out->device = '\0';
	for (text = skip_positional(text); *(text += strspn(text, SEPARATORS));) {
		text = next_word(text, dap_core_param_table, &w);
		p = find(dap_core_param_table, w.key);
		if (p && !err)
			err = apply_word(p, &w, out, why, whylen);
	}
	return err;
}

void dap_params_core(const char *text, struct dap_core_params *out)
{
	char why[1];

	(void)read_core(text, out, why, sizeof(why));
}

/* Converts OpenFabrics' form to values of the keys device and port. */
static int read_positional(const struct word *device, const struct word *port,
			   struct dap_core_params *out, char *why, size_t whylen)
{
	if (*out->device || out->port) {
		snprintf(why, whylen, "ia_params: \"%s %s\" and device= or port= both select the device: "
			 "remove one of them", device->key, port->key);
		return -EINVAL;
	}
	if (!device->complete || read_text(find(dap_core_param_table, "device"), device->key, out) ||
	    !port->complete || read_number(find(dap_core_param_table, "port"), port->key, out)) {
		snprintf(why, whylen, "ia_params: \"%s %s\" must be a device of at most 63 bytes and a "
			 "port from 0 to 255", device->key, port->key);
		return -EINVAL;
	}
	return 0;
}

int dap_params_device(const char *text, char *out, size_t len, char *why, size_t whylen)
{
	struct dap_core_params core;
	struct word device, port;
	const char *rest;
	int err;

	err = read_core(text, &core, why, whylen);
	if (!err && text && split_positional(text, &device, &port, &rest))
		err = read_positional(&device, &port, &core, why, whylen);
	if (!err && core.port && !*core.device) {
		snprintf(why, whylen, "ia_params: port=%u needs device=, the name of the adapter", core.port);
		err = -EINVAL;
	}
	if (!err && *core.device)
		snprintf(out, len, "%s %u", core.device, core.port);
	else
		*out = '\0';
	return err;
}

void dap_params_variables(const struct dap_param *table, const char *ia_name)
{
	for (const struct dap_variable *v = dap_variables; v->name; v++) {
		bool no_key = v->kind == DAP_VARIABLE_DEFAULT && !find(table, v->text) &&
			      !find(dap_core_param_table, v->text);

		if ((v->kind != DAP_VARIABLE_NONE && !no_key) || !dap_variable_value(v) ||
		    !dap_variable_report(v))
			continue;
		if (no_key)
			dap_log(DAP_LOG_WARN, "%s has no effect on %s: the adapter has no parameter %s",
				v->name, ia_name, v->text);
		else
			dap_log(DAP_LOG_WARN, "%s has no effect: %s", v->name, v->text);
	}
}
