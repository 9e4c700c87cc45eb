/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses one line of dat.conf(5) into fields and an entry. */
#include <stdlib.h>
#include <string.h>

#include "core/libdat/conf.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Text may contain any byte above ASCII (a path in UTF-8), but no control character. */
static bool is_text(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if ((c < ' ' && !is_blank(s[i])) || c == 0x7f)
			return false;
	}
	return true;
}

/* Removes quotes and backslashes in place; returns what follows, or NULL. */
static char *unquote(char *s, const char **why)
{
	char *to = s;

	for (s++; *s != '"'; s++) {
		if (*s == '\\')
			s++;
		if (!*s) {
			*why = "a quoted field does not end on its line";
			return NULL;
		}
		*to++ = *s;
	}
	if (s[1] && !is_blank(s[1])) {
		*why = "text directly after a closing quote";
		return NULL;
	}
	/* The closing quote may be the last character: the null replaces it. */
	*to = '\0';
	return s + 1;
}

static char *skip_word(char *s, const char **why)
{
	for (; *s && !is_blank(*s); s++) {
		if (*s == '"') {
			*why = "a quote within a field";
			return NULL;
		}
	}
	return s;
}

/* Returns the number of fields, or -1 with *why. */
static int split(char *s, char *field[CONF_FIELDS], const char **why)
{
	int n = 0;

	for (;;) {
		char *after;

		while (is_blank(*s))
			s++;
		if (!*s || *s == '#')
			return n;
		if (n == CONF_FIELDS) {
			*why = "more than eight fields";
			return -1;
		}
		field[n++] = s;
		after = *s == '"' ? unquote(s, why) : skip_word(s, why);
		if (!after)
			return -1;
		s = after;
		if (*s)
			*s++ = '\0';
	}
}

/* Parses a decimal number below 65536 that ends at stop; returns what follows it, or NULL. */
static const char *parse_number(const char *s, char stop, DAT_UINT32 *out)
{
	DAT_UINT32 n = 0;
	const char *start = s;

	for (; *s >= '0' && *s <= '9'; s++) {
		n = n * 10 + (DAT_UINT32)(*s - '0');
		if (n > 0xffff)
			return NULL;
	}
	if (s == start || *s != stop)
		return NULL;
	*out = n;
	return s + 1;
}

/* major.minor */
static bool parse_version(const char *s, DAT_UINT32 *major, DAT_UINT32 *minor)
{
	s = parse_number(s, '.', major);
	return s && parse_number(s, '\0', minor);
}

/* id.major.minor; the id may contain dots */
static bool sound_provider_version(char *s)
{
	DAT_UINT32 number;
	char *minor = strrchr(s, '.'), *major;

	if (!minor || !parse_number(minor + 1, '\0', &number))
		return false;
	*minor = '\0';
	major = strrchr(s, '.');
	return major && major > s && parse_number(major + 1, '\0', &number);
}

static bool parse_choice(const char *s, const char *yes, const char *no, bool *out)
{
	*out = strcmp(s, yes) == 0;
	return *out || strcmp(s, no) == 0;
}

enum { F_NAME, F_API, F_THREADS, F_DEFAULT, F_LIB, F_VERSION, F_PARAMS, F_PLATFORM };

/* Returns NULL, or what is wrong. */
static const char *check_fields(char *f[CONF_FIELDS], DAT_PROVIDER_INFO *info, bool *is_default)
{
	bool threadsafe;

	if (!*f[F_NAME] || strlen(f[F_NAME]) >= DAT_NAME_MAX_LENGTH)
		return "the IA name is empty or longer than 255 bytes";
	if ((*f[F_API] != 'u' && *f[F_API] != 'k') ||
	    !parse_version(f[F_API] + 1, &info->dapl_version_major, &info->dapl_version_minor))
		return "field 2 is not an API version such as u1.2";
	if (!parse_choice(f[F_THREADS], "threadsafe", "nonthreadsafe", &threadsafe))
		return "field 3 is neither threadsafe nor nonthreadsafe";
	if (!parse_choice(f[F_DEFAULT], "default", "nondefault", is_default))
		return "field 4 is neither default nor nondefault";
	if (!*f[F_LIB])
		return "the library path is empty";
	if (!sound_provider_version(f[F_VERSION]))
		return "field 6 is not a provider version such as dapl.1.2";
	info->is_thread_safe = threadsafe ? DAT_TRUE : DAT_FALSE;
	strcpy(info->ia_name, f[F_NAME]);
	return NULL;
}

static struct conf_entry *entry_new(const DAT_PROVIDER_INFO *info, const char *lib,
				    const char *params)
{
	size_t lib_size = strlen(lib) + 1, params_size = strlen(params) + 1;
	struct conf_entry *entry = calloc(1, sizeof(*entry) + lib_size + params_size);

	if (!entry)
		return NULL;
	entry->info = *info;
	memcpy(entry->lib_path, lib, lib_size);
	entry->ia_params = entry->lib_path + lib_size;
	memcpy(entry->ia_params, params, params_size);
	return entry;
}

enum conf_verdict conf_parse_line(char *line, size_t len, bool secure, struct conf_entry **out,
				  const char **why)
{
	char *field[CONF_FIELDS];
	DAT_PROVIDER_INFO info = {0};
	bool is_default, kernel;
	int n;

	line[len] = '\0';
	*why = NULL;
	if (!is_text(line, len)) {
		*why = "it contains control characters";
		return CONF_BROKEN;
	}
	n = split(line, field, why);
	if (n == 0)
		return CONF_EMPTY;
	if (n > 0 && n < CONF_FIELDS)
		*why = "fewer than eight fields";
	if (!*why)
		*why = check_fields(field, &info, &is_default);
	if (*why)
		return CONF_BROKEN;

	kernel = *field[F_API] == 'k';
	if (kernel || info.dapl_version_major != DAT_VERSION_MAJOR ||
	    info.dapl_version_minor < DAT_VERSION_MINOR || !is_default) {
		*why = kernel ? "for kernel consumers" : !is_default ? "nondefault" :
			"of another API version";
		return CONF_SKIP;
	}
	if (secure && *field[F_LIB] != '/') {
		*why = "the library path is not absolute, in a process with raised privileges";
		return CONF_BROKEN;
	}
	*out = entry_new(&info, field[F_LIB], field[F_PARAMS]);
	return *out ? CONF_ENTRY : CONF_NO_MEMORY;
}
