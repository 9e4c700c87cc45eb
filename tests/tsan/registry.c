/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several threads open, close, list and register at once. One thread changes the table of a handle
 * while others call through it: they see everything that was written before the new table.
 */
#include <dat/dat_registry.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 500 };

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "FAILED: %s\n", what);
	_Exit(1);
}

struct object {
	const DAT_PROVIDER *table;
	/* written before `ready` becomes the handle's table, and read by functions of that table */
	DAT_RETURN answer;
};

static DAT_RETURN not_ready(DAT_EP_HANDLE ep)
{
	(void)ep;
	return DAT_CLASS_ERROR | DAT_INVALID_STATE;
}

static DAT_RETURN answer(DAT_EP_HANDLE ep)
{
	return ((struct object *)ep)->answer;
}

static DAT_RETURN ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			  DAT_IA_HANDLE *out);

static DAT_RETURN ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	(void)flags;
	free(ia);
	return DAT_SUCCESS;
}

static const DAT_PROVIDER unready = {.ep_reset_func = not_ready};
static const DAT_PROVIDER ready = {.ep_reset_func = answer, .ia_open_func = ia_open,
				   .ia_close_func = ia_close};

static DAT_RETURN ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			  DAT_IA_HANDLE *out)
{
	struct object *ia = malloc(sizeof(*ia));

	(void)name;
	(void)qlen;
	(void)evd;
	must(ia != NULL, "out of memory");
	ia->table = &ready;
	*out = ia;
	return DAT_SUCCESS;
}

static void *use_registry(void *arg)
{
	DAT_PROVIDER_INFO info = {"", 1, 2, DAT_FALSE}, listed[8], *to[8];
	char name[] = "shared", own[] = "own-0";
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_COUNT n;

	own[4] = (char)('0' + *(int *)arg);
	strcpy(info.ia_name, own);
	for (int i = 0; i < 8; i++)
		to[i] = &listed[i];
	for (int i = 0; i < ROUNDS; i++) {
		must(!dat_registry_add_provider(&ready, &info), "dat_registry_add_provider failed");
		must(!dat_ia_open(i & 1 ? name : own, 8, &evd, &ia), "dat_ia_open failed");
		(void)dat_registry_list_providers(8, &n, to);
		must(!dat_ia_close(ia, DAT_CLOSE_DEFAULT), "dat_ia_close failed");
		must(!dat_registry_remove_provider(&ready, &info),
		     "dat_registry_remove_provider failed");
	}
	return NULL;
}

static void *call_until_ready(void *arg)
{
	DAT_RETURN ret;

	do {
		ret = dat_ep_reset(arg);
	} while (DAT_GET_TYPE(ret) == DAT_INVALID_STATE);
	must(ret == 42, "the new table's function does not see earlier writes of its publisher");
	return NULL;
}

int main(void)
{
	static const DAT_PROVIDER_INFO shared = {"shared", 1, 2, DAT_FALSE};
	struct object object = {&unready, 0};
	int number[THREADS];
	pthread_t t[THREADS];

	must(!dat_registry_add_provider(&ready, &shared), "dat_registry_add_provider failed");
	for (int i = 0; i < THREADS; i++) {
		number[i] = i;
		must(!pthread_create(&t[i], NULL, use_registry, &number[i]),
		     "pthread_create failed");
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);

	for (int i = 0; i < THREADS; i++)
		must(!pthread_create(&t[i], NULL, call_until_ready, &object),
		     "pthread_create failed");
	object.answer = 42;
	__atomic_store_n(&object.table, &ready, __ATOMIC_RELEASE);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	must(!dat_registry_remove_provider(&ready, &shared), "dat_registry_remove_provider failed");
	return 0;
}
