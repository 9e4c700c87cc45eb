/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that a child starts does not inherit the VFIO group, which would keep the device busy. */
#include <criterion/criterion.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/harness.h"
#include "tests/uverbs/opened.h"
#include "tests/vfio_ctl/vfio_ctl.h"

Test(exec, child__that_starts_another_program_passes_on_no_vfio_group, .timeout = 100)
{
	struct m5_ctl *ctl = opened(VFIO_IA, "gid=auto");
	pid_t child = th_fork();
	int status = 0;

	if (!child) {
		execlp("sh", "sh", "-c", "has_group() { ls -l /proc/$1/fd | grep -q /dev/vfio/1; }; "
					 "has_group $PPID || exit 3; ! has_group self",
		       NULL);
		_exit(2);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status));
	cr_expect_neq(WEXITSTATUS(status), 3, "this process has no group open");
	cr_expect_eq(WEXITSTATUS(status), 0);
	ctl->ops->close(ctl);
}
