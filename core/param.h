/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ia_params of a dat.conf line: words "key=value" separated by blanks, commas or semicolons. Each
 * backend has a table of its keys. Core's own keys are valid with every table. The words may begin
 * with OpenFabrics' form of device= and port=: a name and a number, as in "ib0 1".
 */
#ifndef DAP_PARAM_H
#define DAP_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dap_param_type {
	DAP_PARAM_NUMBER,		/* from least to most; decimal, or hexadecimal after 0x */
	/* numbers from least to most, one for each class of DAT_QOS: an array of uint8_t by
	 * dap_qos_index(). "N" sets all of them, "class:N" one. Stores N << shift. */
	DAP_PARAM_QOS,
	DAP_PARAM_CHOICE,		/* one of words; stores its index + least */
	DAP_PARAM_TEXT,			/* an array of char; one of words, if words is set */
	/* an array of char; commas are part of the value, and so is a semicolon before a word with a
	 * colon */
	DAP_PARAM_SCRIPT,
	DAP_PARAM_OWN,			/* any value that read() accepts */
};

struct dap_param {
	const char *key;
	enum dap_param_type type;
	bool power_of_two;
	uint8_t shift;			/* of a DAP_PARAM_QOS value */
	uint64_t least, most, otherwise;	/* otherwise: the default */
	const char *const *words;	/* NULL-terminated */
	/* Stores the value in the target struct. Returns 0, or -errno with the reason in why, which
	 * may stay unchanged. */
	int (*read)(const char *value, void *out, char *why, size_t whylen);
	const char *must;		/* DAP_PARAM_OWN: describes the valid values */
	size_t offset, size;
	/* For dat_info(1): unit of the value or NULL, one line of meaning, and a description of the
	 * default if no value of the key stands for it. */
	const char *unit, *meaning, *without;
};

/* The target of a key: a field of the target struct. */
#define DAP_PARAM_AT(type, field) .offset = offsetof(type, field), .size = sizeof(((type *)NULL)->field)

/*
 * Fills *out from text. The table ends with a NULL key. If a key is given twice, the last value
 * counts. Returns 0, or -EINVAL for an unknown key, a missing value or an invalid one: why names
 * key, value and what is allowed. Other -errno values come from read(). text may be NULL.
 */
int dap_params_parse(const char *text, const struct dap_param *table, void *out, char *why,
		     size_t whylen);

/* Like dap_params_parse(), but without defaults: a field of *out whose key is not in text keeps its
 * value. */
int dap_params_words(const char *text, const struct dap_param *table, void *out, const char **at,
		     char *why, size_t whylen);

/* Like dap_params_parse(). *at is the last word that was read; after an error it is the wrong word. */
int dap_params_check(const char *text, const struct dap_param *table, void *out, const char **at,
		     char *why, size_t whylen);

/* Describe the allowed values in words, and the value that applies without the key. */
void dap_param_range(const struct dap_param *p, char *text, size_t len);
void dap_param_default(const struct dap_param *p, char *text, size_t len);

/* The keys that every backend knows, ends with a NULL key. */
extern const struct dap_param dap_core_param_table[];

struct dap_core_params {
	bool validate;
	uint32_t spin_us;
	char device[64];		/* "": the IA name */
	uint32_t port;			/* 0: not given */
	uint32_t cm_cpu;		/* DAP_ANY_CPU: not given */
};

/* Reads core's keys. Ignores invalid values: dap_params_parse() reports them. */
void dap_params_core(const char *text, struct dap_core_params *out);

/*
 * Writes the device that ia_params select as "name port" to out, or "" if they select none. Port 0
 * stands for a port that was not given. Returns 0, or -EINVAL with the reason in why.
 */
int dap_params_device(const char *text, char *out, size_t len, char *why, size_t whylen);

/* Logs each environment variable that is set and has no effect on an adapter with this table: once in
 * a process (core/variable.h). */
void dap_params_variables(const struct dap_param *table, const char *ia_name);

#endif
