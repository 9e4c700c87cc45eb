/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAT_TOP_H
#define DAT_TOP_H

#include <limits.h>

#include "core/page.h"

struct top_ia {
	char name[NAME_MAX + 1];	/* name of the page's file */
	int fd;
	pid_t pid;
	bool asked, fresh;		/* fresh: the process has just written the page */
	double age;			/* seconds since the process wrote the page */
	struct dap_page page;		/* its texts are printable ASCII */
};

struct top {
	struct top_ia *ia;		/* sorted by process ID and name */
	size_t n;
};

/* ---- pages.c ---- */
/* Reads the pages of this user after their processes have written current values, and removes those of
 * dead processes. refusals: reports on stderr why a page is refused. Returns 0 or -errno. */
int top_read(struct top *t, bool refusals);
void top_free(struct top *t);

/* ---- table.c ---- */
/* before: an earlier sample, for rates; NULL: totals. */
void top_table(const struct top *t, const struct top *before);

/* ---- prometheus.c ---- */
void top_prometheus(const struct top *t);

#endif
