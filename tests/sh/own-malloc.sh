#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs with a malloc of their own, as in MVAPICH2: it replaces malloc and free, but not aligned_alloc. Such a free
# must get only memory of such a malloc.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/perf-server.sh
[ -z "${SAN-}" ] || { echo "a library cannot be preloaded under a sanitizer"; exit 77; }
cat >"$tmp/own.c" <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Memory is never used again. Each block has its size and a mark before it. */
enum { ARENA = 1 << 30, UNIT = 16, MARK = 0x4d4f4e45 };
struct head { size_t size, mark; };

static char *arena;
static size_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *memalign(size_t align, size_t size)
{
	struct head *h = NULL;
	size_t at;

	if (align < UNIT)
		align = UNIT;
	pthread_mutex_lock(&lock);
	if (!arena)
		arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	at = (used + sizeof(*h) + align - 1) / align * align;
	if (size < ARENA && at + size <= ARENA) {
		used = at + size;
		h = (struct head *)(arena + at);
		h[-1] = (struct head){ size, MARK };
	}
	pthread_mutex_unlock(&lock);
	if (!h)
		errno = ENOMEM;
	return h;
}

int posix_memalign(void **out, size_t align, size_t size)
{
	return (*out = memalign(align, size)) ? 0 : ENOMEM;
}

void *malloc(size_t size) { return memalign(UNIT, size); }

void *calloc(size_t n, size_t size) { return memalign(UNIT, n * size); }

void free(void *p)
{
	static const char why[] = "free() got memory that is not from malloc()\n";
	char *c = p;

	if (!p || (c > arena && c < arena + ARENA && ((struct head *)p)[-1].mark == MARK))
		return;
	(void)!write(2, why, sizeof(why) - 1);
	_exit(99);
}

void *realloc(void *old, size_t size)
{
	size_t had = old ? ((struct head *)old)[-1].size : 0;
	void *p = malloc(size);

	if (p && old)
		memcpy(p, old, had < size ? had : size);
	return p;
}
END
cc -O1 -shared -fPIC -o "$tmp/own.so" "$tmp/own.c" || exit 1
for ia in soft-mlx5-0 soft-efa-0; do
	for try in 1 2 3 4 5; do
		port=$((port + 7 * try))
		timeout -k 1 60 env LD_PRELOAD="$tmp/own.so" "$bin/dat_pingpong" -i $ia -q -n 20 -p $port >"$tmp/out" 2>&1
		status=$?
		grep -q CONN_QUAL_IN_USE "$tmp/out" || break
	done
	[ $status = 0 ] && grep -q 'all verified' "$tmp/out" && continue
	cat "$tmp/out"
	echo "dat_pingpong -i $ia with its own malloc: the status is $status instead of 0"
	exit 1
done
for lib in "$DAPL_BUILD_DIR"/lib/*.so*; do
	! nm -D --undefined-only "$lib" | grep -w aligned_alloc || { echo "$lib calls aligned_alloc"; exit 1; }
done
