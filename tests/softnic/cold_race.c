/* SPDX-License-Identifier: BSD-2-Clause */
/* A driver that stores to the BAR of a cold device while the device reads there. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/harness.h"
#include "tests/softnic/cold_rig.h"

TestSuite(cold_race, .timeout = 60);

static bool over;

static void *device(void *arg)
{
	const struct cold *c = arg;

	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
		softnic_pump(c->nic);
	return NULL;
}

static void store32(uint8_t *bar, unsigned int at, uint32_t v)
{
	__atomic_store_n((uint32_t *)(void *)(bar + at), htobe32(v), __ATOMIC_RELEASE);
}

/* A driver that opens a device writes the address of its queue, then the first command's doorbell. */
Test(cold_race, doorbell__belongs_to_the_queue_whose_address_was_stored_before)
{
	/* If both threads share a processor, each turn takes milliseconds. */
	enum { TURNS = 20000, MOST_MS = 5000, PAGE = 4096, QUEUE_LOW = 0x14, DOORBELL = 0x18, OWNER = 0x3f };
	struct cold *c = cold_open();
	uint8_t *given = c->queue, *queue = aligned_alloc(2 * PAGE, 2 * PAGE);
	uint64_t end = th_now_ms() + MOST_MS;
	pthread_t thread;

	cr_assert_eq(cold_simple(c, CMD_ENABLE_HCA, 0), 0);
	cold_begin(c, CMD_QUERY_ISSI, 0);
	store32(c->bar, 0x10, (uint32_t)((uintptr_t)queue >> 32));
	memset(queue, 0, 2 * PAGE);
	cr_assert_eq(pthread_create(&thread, NULL, device, c), 0);
	for (int i = 0; i < TURNS && th_now_ms() < end; i++) {
		uint8_t *owner;

		c->queue = queue + (i & 1) * PAGE;
		owner = &c->queue[OWNER];
		cold_give(c, 0, 16, 16);
		store32(c->bar, QUEUE_LOW, (uint32_t)(uintptr_t)c->queue);
		store32(c->bar, DOORBELL, 1);
		cr_assert(TH_WITHIN(20000, !(__atomic_load_n(owner, __ATOMIC_ACQUIRE) & 1)),
			  "command %d is lost", i);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	cr_expect_eq(cold_count(c, "cmdq.ownership"), 0);
	c->queue = given;
	cold_close(c);
	free(queue);
}

/* The device executes a command in slot 3 because of another doorbell. The driver's own doorbell for it is
 * then stored before the next command. */
Test(cold_race, doorbell__that_comes_late_is_not_the_next_commands)
{
	struct cold *c = cold_open();

	cr_assert_eq(cold_simple(c, CMD_ENABLE_HCA, 0), 0);
	for (int i = 0; i < 3; i++) {
		cold_begin(c, CMD_QUERY_ISSI, 0);
		cold_give(c, 3, 16, 16);
		cr_assert_eq(cold_simple(c, CMD_QUERY_ISSI, 0), 0);
		cr_expect_eq(cold_wait(c, 3, 16), 0);
		cold_ring(c, 1 << 3);
		cold_give(c, 3, 16, 16);
		softnic_pump(c->nic);
		cold_ring(c, 1 << 3);
		cr_expect_eq(cold_wait(c, 3, 16), 0);
		softnic_pump(c->nic);
	}
	cr_expect_eq(cold_count(c, "cmdq.ownership"), 0,
		     "a late doorbell is reported as one without a command");
	cold_close(c);
}
