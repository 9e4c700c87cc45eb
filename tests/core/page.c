/* SPDX-License-Identifier: BSD-2-Clause */
/* Readers of a page of counters, whose content may change at any time. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/page.h"

TestSuite(page, .timeout = 60);

static void write_page(int fd, const struct dap_page *page)
{
	static char bytes[DAP_PAGE_SIZE];

	memcpy(bytes, page, sizeof(*page));
	cr_assert_eq(pwrite(fd, bytes, sizeof(bytes), 0), (ssize_t)sizeof(bytes));
}

Test(page, reread__text_that_has_lost_its_end_is_refused)
{
	struct dap_page page = { .magic = DAP_PAGE_MAGIC, .version = DAP_PAGE_VERSION,
				 .ncounters = DAP_PAGE_NCOUNTERS, .ia = "ia" }, seen;
	char path[] = "/tmp/page-XXXXXX", why[64];
	int written = mkstemp(path), fd;

	cr_assert_geq(written, 0);
	write_page(written, &page);
	fd = dap_page_read(AT_FDCWD, path, &seen, why, sizeof(why));
	cr_assert_geq(fd, 0, "%s", why);
	cr_expect(dap_page_reread(fd, &seen));
	memset(page.ia, 'x', sizeof(page.ia));
	write_page(written, &page);
	cr_expect_not(dap_page_reread(fd, &seen));
	unlink(path);
	close(fd);
	close(written);
}
