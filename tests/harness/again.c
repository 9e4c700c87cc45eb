/* SPDX-License-Identifier: BSD-2-Clause */
/* Restarts a suite under softnic-run, whose front has a call for tests. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/harness.h"

/*
 * Sets options of the sanitizer. If an instrumented library is preloaded, the sanitizer's runtime
 * is not the program's first library, which must be allowed. If libmlx5 makes a too large
 * allocation, it must fail as in malloc.
 */
static void tell_sanitizer(void)
{
	const char *old = getenv("ASAN_OPTIONS");
	char *options;

	if (asprintf(&options, "%s%sverify_asan_link_order=0:allocator_may_return_null=1",
		     old ? old : "", old ? ":" : "") < 0 ||
	    setenv("ASAN_OPTIONS", options, 1))
		abort();
	free(options);
}

void th_again_under_softnic(int argc, char **argv)
{
	static const char *const none[] = { NULL };

	th_again_with(none, argc, argv);
}

void th_again_with(const char *const options[], int argc, char **argv)
{
	size_t n_options = 0;
	char self[PATH_MAX], run[PATH_MAX + 32];
	char **args;
	ssize_t n;

	if (getenv("SYSFS_PATH"))
		return;
	tell_sanitizer();
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	while (options[n_options])
		n_options++;
	args = calloc(n_options + (size_t)argc + 2, sizeof(*args));
	if (n < 0 || !args)
		abort();
	self[n] = '\0';
	snprintf(run, sizeof(run), "%.*s/../bin/softnic-run", (int)(strrchr(self, '/') - self), self);
	args[0] = run;
	memcpy(args + 1, options, n_options * sizeof(*args));
	args[1 + n_options] = self;
	memcpy(args + 2 + n_options, argv + 1, (size_t)argc * sizeof(*args));
	execv(run, args);
	perror(run);
	_exit(1);
}

int th_front_fault(unsigned int index, const char *script)
{
	int (*fault)(unsigned int, const char *) =
		(int (*)(unsigned int, const char *))dlsym(RTLD_DEFAULT, "softnic_front_fault");

	return fault ? fault(index, script) : -ENOSYS;
}
