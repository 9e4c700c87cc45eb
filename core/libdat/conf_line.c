/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses one line of dat.conf(5) into fields and an entry. */
#include <stdlib.h>
#include <string.h>

#include "core/libdat/conf.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Returns the first control character, or NULL. Text may contain any byte above ASCII (a path in UTF-8). */
static const char *find_control(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if ((c < ' ' && !is_blank(s[i])) || c == 0x7f)
			return s + i;
	}
	return NULL;
}

/* Some editors begin a file with the byte order mark of Unicode, in UTF-8. */
static char *skip_byte_order_mark(char *line)
{
	static const char mark[] = "\xef\xbb\xbf";

	return strncmp(line, mark, sizeof(mark) - 1) ? line : line + sizeof(mark) - 1;
}

static bool complain(struct conf_problem *problem, const char *at, const char *why, const char *cure)
{
	*problem = (struct conf_problem){ why, cure, at };
	return false;
}

/* Removes quotes and backslashes in place; returns what follows, or NULL. */
static char *unquote(char *s, struct conf_problem *problem)
{
	char *to = s, *start = s;

	for (s++; *s != '"'; s++) {
		if (*s == '\\')
			s++;
		if (!*s) {
			complain(problem, start, "a quoted field does not end on its line",
				 "write the closing quote");
			return NULL;
		}
		*to++ = *s;
	}
	if (s[1] && !is_blank(s[1])) {
		complain(problem, s + 1, "text directly after a closing quote",
			 "separate the two by a blank, or move the quote behind the text");
		return NULL;
	}
	/* The closing quote may be the last character: the null replaces it. */
	*to = '\0';
	return s + 1;
}

static char *skip_word(char *s, struct conf_problem *problem)
{
	for (; *s && !is_blank(*s); s++) {
		if (*s == '"') {
			complain(problem, s, "a quote within a field",
				 "begin the field with the quote, or put a blank before the quote");
			return NULL;
		}
	}
	return s;
}

/* Returns the number of fields, or -1 with *problem. */
static int split(char *s, char *field[CONF_FIELDS], struct conf_problem *problem)
{
	int n = 0;

	for (;;) {
		char *after;

		while (is_blank(*s))
			s++;
		problem->at = s;
		if (!*s || *s == '#')
			return n;
		if (n == CONF_FIELDS) {
			complain(problem, s, "more than eight fields",
				 "put ia_params and platform_params between quotes");
			return -1;
		}
		field[n++] = s;
		after = *s == '"' ? unquote(s, problem) : skip_word(s, problem);
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

/* Returns false with *problem. */
static bool check_fields(char *f[CONF_FIELDS], DAT_PROVIDER_INFO *info, bool *is_default,
			 struct conf_problem *problem)
{
	bool threadsafe;

	if (!*f[CONF_NAME] || strlen(f[CONF_NAME]) >= DAT_NAME_MAX_LENGTH)
		return complain(problem, f[CONF_NAME], "the IA name is empty or longer than 255 bytes",
				"write the name that programs open");
	if ((*f[CONF_API] != 'u' && *f[CONF_API] != 'k') ||
	    !parse_version(f[CONF_API] + 1, &info->dapl_version_major, &info->dapl_version_minor))
		return complain(problem, f[CONF_API], "field 2 is not an API version such as u1.2",
				"write u1.2 or u2.0");
	if (!parse_choice(f[CONF_THREADS], "threadsafe", "nonthreadsafe", &threadsafe))
		return complain(problem, f[CONF_THREADS],
				"field 3 is neither threadsafe nor nonthreadsafe",
				"most programs need nonthreadsafe");
	if (!parse_choice(f[CONF_DEFAULT], "default", "nondefault", is_default))
		return complain(problem, f[CONF_DEFAULT], "field 4 is neither default nor nondefault",
				"write default, or nondefault to disable the line");
	if (!*f[CONF_LIB])
		return complain(problem, f[CONF_LIB], "the library path is empty",
				"write the path of the provider library");
	if (!sound_provider_version(f[CONF_VERSION]))
		return complain(problem, f[CONF_VERSION],
				"field 6 is not a provider version such as dapl.1.2",
				"write a name, a major and a minor version with dots");
	info->is_thread_safe = threadsafe ? DAT_TRUE : DAT_FALSE;
	strcpy(info->ia_name, f[CONF_NAME]);
	return true;
}

enum conf_verdict conf_split_line(char *line, size_t len, char *field[CONF_FIELDS],
				  DAT_PROVIDER_INFO *info, bool *is_default,
				  struct conf_problem *problem)
{
	const char *control = find_control(line, len);
	int n;

	line[len] = '\0';
	if (control) {
		complain(problem, control, "it contains control characters", "remove them");
		return CONF_BROKEN;
	}
	n = split(skip_byte_order_mark(line), field, problem);
	if (n == 0)
		return CONF_EMPTY;
	if (n > 0 && n < CONF_FIELDS)
		complain(problem, problem->at, "fewer than eight fields",
			 "write \"\" for an empty ia_params or platform_params");
	return n == CONF_FIELDS && check_fields(field, info, is_default, problem) ? CONF_ENTRY :
	       CONF_BROKEN;
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
	struct conf_problem problem = { .why = NULL };
	char *field[CONF_FIELDS], *own;
	DAT_PROVIDER_INFO info = {0};
	bool is_default, kernel;
	enum conf_verdict verdict = conf_split_line(line, len, field, &info, &is_default, &problem);

	*why = verdict == CONF_BROKEN ? problem.why : NULL;
	if (verdict != CONF_ENTRY)
		return verdict;
	kernel = *field[CONF_API] == 'k';
	if (kernel || info.dapl_version_major != DAT_VERSION_MAJOR ||
	    info.dapl_version_minor < DAT_VERSION_MINOR || !is_default) {
		*why = kernel ? "for kernel consumers" : !is_default ? "nondefault" :
			"of another API version";
		return CONF_SKIP;
	}
	own = strchr(field[CONF_LIB], '/') ? NULL : conf_own_library(field[CONF_LIB]);
	if (secure && !own && *field[CONF_LIB] != '/') {
		*why = "the library path is not absolute, in a process with raised privileges";
		return CONF_BROKEN;
	}
	*out = entry_new(&info, own ? own : field[CONF_LIB], field[CONF_PARAMS]);
	free(own);
	return *out ? CONF_ENTRY : CONF_NO_MEMORY;
}
