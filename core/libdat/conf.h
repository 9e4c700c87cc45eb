/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading dat.conf(5) into a list of entries. */
#ifndef LIBDAT_CONF_H
#define LIBDAT_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/libdat/libdat.h"

#define CONF_FIELDS 8

/* Longest line in bytes, without its newline; longer ones are broken, and are not stored. */
#define CONF_LINE_MAX 8192

/* Added to the line number of a built-in entry. */
#define CONF_BUILTIN 0x80000000u

/* A line that this library can use: uDAPL 1.2 or a later 1.x, and `default`. */
struct conf_entry {
	struct conf_entry *next;	/* in the order of the file */
	DAT_PROVIDER_INFO info;
	unsigned int line;
	bool repeats;			/* an earlier line has the same info */
	char *ia_params;
	char lib_path[];		/* ia_params follows it in memory */
};

struct conf {
	struct conf_entry *first, **end;
	unsigned int usable, skipped, broken;	/* numbers of lines */
};

/* How a line was parsed. */
enum conf_verdict {
	CONF_ENTRY,
	CONF_EMPTY,
	CONF_SKIP,			/* valid, but for another kind of consumer */
	CONF_BROKEN,
	CONF_NO_MEMORY,
};

/* Why a line is broken, what to write instead, and where. */
struct conf_problem {
	const char *why, *cure, *at;
};

/* The fields of a line by number. */
enum conf_field { CONF_NAME, CONF_API, CONF_THREADS, CONF_DEFAULT, CONF_LIB, CONF_VERSION, CONF_PARAMS,
		  CONF_PLATFORM };

/*
 * Splits one line of len bytes and overwrites it; line[len] must be writable. Each field begins where
 * it begins in the line, with its quote if it has one. Returns CONF_ENTRY, CONF_EMPTY, or CONF_BROKEN
 * with *problem.
 */
enum conf_verdict conf_split_line(char *line, size_t len, char *field[CONF_FIELDS],
				  DAT_PROVIDER_INFO *info, bool *is_default,
				  struct conf_problem *problem);

/*
 * Parses one line of len bytes and overwrites it; line[len] must be writable. secure: the library
 * must be an absolute path, or in libdat's own directory. *out is malloc'ed for CONF_ENTRY; *why
 * explains CONF_BROKEN or CONF_SKIP.
 */
enum conf_verdict conf_parse_line(char *line, size_t len, bool secure, struct conf_entry **out,
				  const char **why);

/* Adds one line of len bytes; overwrites it. Returns 0 or -ENOMEM. name and number are for
 * messages. */
int conf_add_line(struct conf *conf, char *line, size_t len, unsigned int number, const char *name,
		  bool secure);
/* To be called after the last line. Returns 0 or -ENOMEM. */
int conf_mark_repeats(struct conf *conf);

/* The absolute path of a library in libdat's own directory or in dapl-direct below it; NULL if there
 * is none. The caller frees it. */
char *conf_own_library(const char *name);
/* Returns the absolute path of a library in the directory of the library that contains address, or in
 * dapl-direct below it; NULL if there is none. */
char *conf_library_beside(const void *address, const char *name);

/* Adds built-in entries for the software adapters if the provider is beside libdat. Returns 0 or
 * -ENOMEM. */
int conf_builtin(struct conf *conf);

/* Adds the lines of the file to conf; name is for messages. Returns 0 or -errno. */
int conf_read(FILE *file, const char *name, bool secure, struct conf *conf);

/*
 * Finds and reads the file. override: the value of DAT_OVERRIDE or NULL; if set, no other file is
 * tried. secure: ignores override, and the file must be owned by root and writable by root only.
 * *path: the file that was read or failed, or the last one tried. Returns 0, -ENOENT if there is
 * no file, or another -errno.
 */
int conf_load(const char *override, const char *const *paths, bool secure, struct conf *conf,
	      const char **path);

/* Logs why a file is not used; err is from conf_load(). */
void conf_explain(const char *path, int err);

void conf_init(struct conf *conf);
void conf_free(struct conf *conf);

/* The files tried without DAT_OVERRIDE, NULL-terminated. Only this library uses the first one. */
extern const char *const conf_paths[];

/* Returns true if IA name, API version and thread safety are equal. */
bool conf_same_key(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b);

#endif
