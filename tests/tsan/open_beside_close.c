/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that open and close instances of one adapter, and a thread that creates and frees an object.
 * The first instance of the other kind needs provider tables of its own.
 */
#include <string.h>

#include "tests/tsan/tsan.h"

enum { OPENERS = 3, ROUNDS = 40 };

static atomic_bool stop;

static DAT_IA_HANDLE open_ia(DAT_BOOLEAN threadsafe)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = NULL;
	char name[DAT_NAME_MAX_LENGTH];

	strcpy(name, tsan_ia());
	tsan_must(dat_ia_openv(name, 8, &async, &ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, threadsafe) ==
		  DAT_SUCCESS, "dat_ia_openv failed");
	return ia;
}

static void close_ia(DAT_IA_HANDLE ia)
{
	tsan_must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS, "dat_ia_close failed");
}

static void *open_and_close(void *arg)
{
	for (unsigned int i = 0; i < ROUNDS; i++)
		close_ia(open_ia(i & 1 ? DAT_TRUE : DAT_FALSE));
	return arg;
}

static void *create_and_free(void *ia)
{
	DAT_PZ_HANDLE pz;

	while (!stop) {
		tsan_must(dat_pz_create(ia, &pz) == DAT_SUCCESS, "dat_pz_create failed");
		tsan_must(dat_pz_free(pz) == DAT_SUCCESS, "dat_pz_free failed");
	}
	return NULL;
}

int main(void)
{
	DAT_IA_HANDLE ia = open_ia(DAT_FALSE);
	pthread_t maker, opener[OPENERS];

	tsan_must(!pthread_create(&maker, NULL, create_and_free, ia), "pthread_create failed");
	for (int i = 0; i < OPENERS; i++)
		tsan_must(!pthread_create(&opener[i], NULL, open_and_close, NULL), "pthread_create failed");
	for (int i = 0; i < OPENERS; i++)
		pthread_join(opener[i], NULL);
	stop = true;
	pthread_join(maker, NULL);
	close_ia(ia);
	return 0;
}
