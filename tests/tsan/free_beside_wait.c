/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread that waits on an EVD again and again until another thread frees the EVD. The EVD triggers a CNO
 * whose agent is called once; then the CNO is freed, too.
 */
#include <string.h>

#include "tests/tsan/tsan.h"

enum { ROUNDS = 200 };

static DAT_IA_HANDLE ia;
static atomic_uint calls, waits;

static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)data;
	(void)evd;
	calls++;
}

static void *wait_until_freed(void *evd)
{
	DAT_RETURN type;
	DAT_EVENT event;
	DAT_COUNT more;

	do {
		type = DAT_GET_TYPE(dat_evd_wait(evd, 0, 1, &event, &more));
		waits++;
	} while (type == DAT_SUCCESS || type == DAT_TIMEOUT_EXPIRED);
	tsan_must(type == DAT_ABORT || type == DAT_INVALID_HANDLE, "dat_evd_wait failed");
	return NULL;
}

static void await(const atomic_uint *count, unsigned int n)
{
	while (*count < n)
		sched_yield();
}

static void create_and_free(unsigned int round)
{
	const DAT_OS_WAIT_PROXY_AGENT once = { NULL, agent };
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	pthread_t waiter;

	tsan_must(dat_cno_create(ia, once, &cno) == DAT_SUCCESS, "dat_cno_create failed");
	tsan_must(dat_evd_create(ia, 8, cno, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, &evd) == DAT_SUCCESS,
		  "dat_evd_create failed");
	tsan_must(dat_evd_post_se(evd, &event) == DAT_SUCCESS, "dat_evd_post_se failed");
	await(&calls, round + 1);
	waits = 0;
	tsan_must(!pthread_create(&waiter, NULL, wait_until_freed, evd), "pthread_create failed");
	await(&waits, 2);
	tsan_must(dat_evd_free(evd) == DAT_SUCCESS, "dat_evd_free failed");
	pthread_join(waiter, NULL);
	tsan_must(dat_cno_free(cno) == DAT_SUCCESS, "dat_cno_free failed");
}

int main(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[DAT_NAME_MAX_LENGTH];

	strcpy(name, tsan_ia());
	tsan_must(dat_ia_open(name, 8, &async, &ia) == DAT_SUCCESS, "dat_ia_open failed");
	for (unsigned int i = 0; i < ROUNDS; i++)
		create_and_free(i);
	tsan_must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) == DAT_SUCCESS, "dat_ia_close failed");
	return 0;
}
