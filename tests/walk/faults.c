/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that are lost, repeated or reordered: parameters of the adapter, in a dat.conf of its own. */
#include <ctype.h>

#include "tests/walk/walk.h"

static FILE *open_usual_conf(void)
{
	static char usual[4096];
	const char *path = getenv("DAT_OVERRIDE");
	FILE *f;

	if (!usual[0])
		snprintf(usual, sizeof(usual), "%s", path ? path : "/etc/dat.conf");
	f = fopen(usual, "r");
	if (!f) {
		perror(usual);
		exit(2);
	}
	return f;
}

/* The file is in memory, so it ends with the processes that have its descriptor. */
static FILE *open_own_conf(void)
{
	static int fd = -1;
	char path[64];

	if (fd < 0)
		fd = memfd_create("dat.conf", 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	setenv("DAT_OVERRIDE", path, 1);
	return fopen(path, "w");
}

/* Copies a line. In those of the adapter the parameters begin with more. */
static void copy_line(FILE *to, const char *line, const char *ia, const char *more)
{
	const char *params = strchr(line, '"');
	size_t len = strlen(ia);

	if (!params || strncmp(line, ia, len) != 0 || !isspace((unsigned char)line[len]))
		fputs(line, to);
	else
		fprintf(to, "%.*s\"%s %s", (int)(params - line), line, more, params + 1);
}

const char *faults_begin(const char *ia, uint64_t seed)
{
	static char more[200];
	FILE *from = open_usual_conf(), *to = open_own_conf();
	char line[4096];

	if (!to) {
		perror("dat_walk: memfd_create");
		exit(2);
	}
	/* A lost packet is repeated soon: IBTA 9.7.6.1.3, 17 ms. With one loss in 20, all 8 attempts of a
	 * request are lost once in 10^8. */
	snprintf(more, sizeof(more), "%sfault=drop=0.05,dup=0.1,reorder=0.2,seed=%llu",
		 strstr(ia, "mlx5") ? "ack_timeout=12 " : "", (unsigned long long)seed);
	while (fgets(line, sizeof(line), from))
		copy_line(to, line, ia, more);
	fclose(from);
	fclose(to);
	return more;
}
