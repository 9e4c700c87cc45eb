/* SPDX-License-Identifier: BSD-2-Clause */
/* dat.conf(5): from the file to a list of entries. */
#ifndef LIBDAT_CONF_H
#define LIBDAT_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/libdat/libdat.h"

#define CONF_FIELDS 8

/* Bytes of one line without its newline; longer ones are broken, and hold no memory. */
#define CONF_LINE_MAX 8192

/* Added to the number of a line that is of no file. */
#define CONF_BUILTIN 0x80000000u

/* One line that this library can use: uDAPL 1.2 or a later 1.x, and `default`. */
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
	unsigned int usable, skipped, broken;	/* lines */
};

/* What a line turned out to be. */
enum conf_verdict {
	CONF_ENTRY,
	CONF_EMPTY,
	CONF_SKIP,			/* sound, but for another kind of consumer */
	CONF_BROKEN,
	CONF_NO_MEMORY,
};

/*
 * Judges one line of len bytes, which it overwrites; line[len] is its to use. With secure set the
 * library must be an absolute path. *out is malloc'ed for CONF_ENTRY; *why says what is wrong with
 * CONF_BROKEN, or why CONF_SKIP is skipped.
 */
enum conf_verdict conf_parse_line(char *line, size_t len, bool secure, struct conf_entry **out,
				  const char **why);

/* Adds one line of len bytes, which it overwrites: 0 or -ENOMEM. name and number are for messages. */
int conf_add_line(struct conf *conf, char *line, size_t len, unsigned int number, const char *name,
		  bool secure);
/* After the last line was added: 0 or -ENOMEM. */
int conf_mark_repeats(struct conf *conf);

/* Adds the software adapters of the provider beside libdat, if it is there. 0 or -ENOMEM. */
int conf_builtin(struct conf *conf);

/* Adds the lines of the file to conf; name is for messages. 0 or -errno. */
int conf_read(FILE *file, const char *name, bool secure, struct conf *conf);

/*
 * Finds the file and reads it. override: the value of DAT_OVERRIDE or NULL; if it is set no other
 * file is tried. secure: override is not looked at, and the file must be root's own and writable by
 * root only. *path: the file that was read or failed, the last one when there is none. 0, -ENOENT
 * when there is none, or another -errno.
 */
int conf_load(const char *override, const char *const *paths, bool secure, struct conf *conf,
	      const char **path);

/* Says why a file is not used: what conf_load() returned about it. */
void conf_explain(const char *path, int err);

void conf_init(struct conf *conf);
void conf_free(struct conf *conf);

/* The places to look at without DAT_OVERRIDE, NULL-terminated. The first is of this library alone. */
extern const char *const conf_paths[];

/* The same IA name, API version and thread safety. */
bool conf_same_key(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b);

#endif
