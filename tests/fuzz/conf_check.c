/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_info --check reads the same file as libdat: it finds a problem where libdat ignores a line, and
 * nowhere else. No library is loaded: in its place is a provider that does not show its API level. Its check
 * refuses the last byte of ia_params.
 *
 * Judges: perf/dat_info/check.c
 */
#include <sys/mman.h>
#include <unistd.h>

#define dlopen fuzz_dlopen
#define dlsym fuzz_dlsym
#include "perf/dat_info/check.c"
#include "tests/fuzz/fuzz.h"

static bool complained;

static long last_byte(const char *name, const char *params, char *why, size_t whylen)
{
	FUZZ_ASSERT(*name);
	snprintf(why, whylen, "fuzz");
	complained |= *params;
	return (long)strlen(params) - 1;
}

void *fuzz_dlopen(const char *name, int flags)
{
	(void)flags;
	FUZZ_ASSERT(*name);
	return &complained;
}

void *fuzz_dlsym(void *library, const char *symbol)
{
	FUZZ_ASSERT((library == RTLD_DEFAULT || library == &complained) && *symbol);
	return library && strcmp(symbol, "dat_registry_add_provider") ? (void *)(uintptr_t)last_byte : NULL;
}

static unsigned int broken_lines(const uint8_t *data, size_t size)
{
	FILE *file = fmemopen((void *)(uintptr_t)data, size, "r");
	struct conf conf;
	unsigned int broken;

	FUZZ_ASSERT(file);
	conf_init(&conf);
	FUZZ_ASSERT(conf_read(file, "fuzz", false, &conf) == 0);
	fclose(file);
	broken = conf.broken;
	conf_free(&conf);
	return broken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	char path[32];
	bool sound;

	if (fd < 0) {
		fd = memfd_create("dat.conf", MFD_CLOEXEC);
		FUZZ_ASSERT(fd >= 0 && freopen("/dev/null", "w", stdout));
	}
	if (!size)
		return 0;
	FUZZ_ASSERT(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	complained = false;
	sound = info_check(path);
	FUZZ_ASSERT(sound == (!broken_lines(data, size) && !complained));
	return 0;
}
