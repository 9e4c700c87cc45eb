/* SPDX-License-Identifier: BSD-2-Clause */
/* What Linux's mlx5_core and mlx5_ib ask of a device that they boot. */
#include <criterion/criterion.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/softnic/cold_rig.h"

TestSuite(cold_linux, .timeout = 60);

static uint32_t alloc_uar(struct cold *c)
{
	cr_assert_eq(cold_simple(c, CMD_ALLOC_UAR, 0), 0);
	return sn_get(c->out, CMD_NUMBER);
}

/* TEARDOWN_HCA, and the function is booted again. */
static void boot_again(struct cold *c)
{
	cr_assert_eq(cold_simple(c, CMD_TEARDOWN_HCA, 0), 0);
	cr_assert_eq(cold_simple(c, CMD_INIT_HCA, 0), 0);
}

Test(cold_linux, alloc_uar__first_after_each_boot_is_the_drivers)
{
	struct cold *c = cold_open();

	cold_boot(c);
	for (int i = 0; i < 3; i++) {
		cr_expect_eq(alloc_uar(c), SOFTNIC_UAR_DRIVER);
		cr_expect_neq(alloc_uar(c), SOFTNIC_UAR_DRIVER);
		boot_again(c);
	}
	cold_close(c);
}

/* A host that got the descriptor cannot take the pages from under the device. */
Test(cold_linux, bar_fd__size_cannot_be_changed)
{
	struct cold *c = cold_open();
	size_t size;
	int fd = softnic_bar_fd(c->nic, &size);

	cr_expect_lt(ftruncate(fd, 0), 0);
	cr_expect_lt(ftruncate(fd, (off_t)size * 2), 0);
	cold_boot(c);
	cold_close(c);
}
