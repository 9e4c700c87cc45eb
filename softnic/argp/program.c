/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "softnic/argp/program.h"

__attribute__((visibility("default"))) const char *argp_program_version =
	"dapl-direct " PACKAGE_VERSION;

/* If the caller ignores SIGCHLD, this program inherits that, and the kernel keeps no exit status of its
 * children. So this restores the default. */
__attribute__((constructor)) static void keep_statuses(void)
{
	signal(SIGCHLD, SIG_DFL);
}

/*
 * A caller may have closed a standard stream. The next descriptor, perhaps of an adapter, would get its
 * number, and output would go there. A write to this one fails, as to a closed one.
 */
__attribute__((constructor)) static void keep_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != 'h')
		return ARGP_ERR_UNKNOWN;
	argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
	return 0;
}

static const struct argp_option options[] = {
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};
static const struct argp argp = { options, parse, NULL, NULL, NULL, NULL, NULL };
const struct argp_child program_options[] = { { &argp, 0, NULL, 0 }, { 0 } };

uint64_t program_number(struct argp_state *state, const char *option, const char *arg, uint64_t min,
			uint64_t max)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(arg, &end, 0);
	if (errno || *end || end == arg || strchr(arg, '-') || n < min || n > max)
		argp_error(state, "%s '%s' is not a number from %llu to %llu", option, arg,
			   (unsigned long long)min, (unsigned long long)max);
	return n;
}

static bool is_writable(const char *path)
{
	char folder[4096];
	struct stat st;

	if (stat(path, &st) == 0) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : 0;
		return !errno && access(path, W_OK) == 0;
	}
	return errno == ENOENT && *path && strlen(path) < sizeof(folder) &&
	       access(dirname(strcpy(folder, path)), W_OK | X_OK) == 0;
}

bool program_can_write(const char *path)
{
	if (!path || is_writable(path))
		return true;
	fprintf(stderr, "%s cannot be written: %m\n", path);
	return false;
}

/* exit() does not report that output could not be written. argp calls it after --help and --version. */
__attribute__((destructor)) static void check_output(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return;
	fprintf(stderr, "%s: cannot write its output: is the disk full, or the reader of the pipe gone?\n",
		program_invocation_short_name);
	_exit(EXIT_FAILURE);
}
