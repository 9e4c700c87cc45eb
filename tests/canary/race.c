/* SPDX-License-Identifier: BSD-2-Clause */
/* A data race that happens in each run. The detector must end this program with its own exit
 * status. */
#include <pthread.h>

static int shared;

static void *add(void *arg)
{
	(void)arg;
	shared++;
	return NULL;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, add, NULL))
		return 1;
	shared++;
	return pthread_join(thread, NULL);
}
