/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors of the system as the consumer sees them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "core/err.h"

Test(core, err_from_errno__each_shortage_is_insufficient_resources)
{
	static const int shortages[] = {ENOMEM, ENOBUFS, ENOSPC, EMFILE, ENFILE, EAGAIN};

	for (size_t i = 0; i < sizeof(shortages) / sizeof(shortages[0]); i++)
		cr_expect_eq(DAP_ERR_TYPE(dap_err_from_errno(-shortages[i])), DAP_INSUFFICIENT_RESOURCES,
			     "%s has another code", strerror(shortages[i]));
}
