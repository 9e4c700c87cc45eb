/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/libdat/util.h"

static char dir[64];
/* the process that made the directory, because a forked child must not remove it */
static pid_t owner;

static void remove_dir(void)
{
	char command[128];

	if (getpid() != owner)
		return;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command))
		perror(command);
}

static const char *temp_dir(void)
{
	if (!*dir) {
		strcpy(dir, "/tmp/libdat-test-XXXXXX");
		cr_assert_not_null(mkdtemp(dir));
		cr_assert_eq(chmod(dir, 0755), 0);
		owner = getpid();
		atexit(remove_dir);
	}
	return dir;
}

const char *temp_path(const char *name)
{
	static char paths[8][256];
	static unsigned int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", temp_dir(), name);
	return path;
}

static const char *vwrite_file(const char *name, const char *format, va_list ap)
{
	const char *path = temp_path(name);
	FILE *file = fopen(path, "w");

	cr_assert_not_null(file);
	vfprintf(file, format, ap);
	/* The mode must not depend on the umask, because a file that others may write is not
	 * trusted. */
	cr_assert_eq(fchmod(fileno(file), 0644), 0);
	cr_assert_eq(fclose(file), 0);
	return path;
}

const char *write_file(const char *name, const char *format, ...)
{
	const char *path;
	va_list ap;

	va_start(ap, format);
	path = vwrite_file(name, format, ap);
	va_end(ap);
	return path;
}

void use_conf(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	cr_assert_eq(setenv("DAT_OVERRIDE", vwrite_file("dat.conf", format, ap), 1), 0);
	va_end(ap);
}

const char *plugin_path(const char *name)
{
	static char paths[4][512];
	static unsigned int next;
	char *path = paths[next++ % 4];
	const char *build = getenv("DAPL_BUILD_DIR");

	snprintf(path, sizeof(paths[0]), "%s/lib/test-provider-%s.so", build ? build : "build", name);
	return path;
}

struct plugin_log *plugin_log_of(const char *name)
{
	void *dl = dlopen(plugin_path(name), RTLD_NOW | RTLD_NOLOAD);
	struct plugin_log *log = dl ? dlsym(dl, "plugin_log") : NULL;

	if (dl)
		dlclose(dl);
	return log;
}

DAT_RETURN open_ia(const char *name, DAT_BOOLEAN threadsafe, DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;

	return dat_ia_openv((DAT_NAME_PTR)(size_t)name, 8, &async_evd, ia, 1, 2, threadsafe);
}
