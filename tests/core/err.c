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

Test(core, err_from_errno__other_errors_have_codes_of_their_own)
{
	static const struct {
		int err, code;
	} rows[] = {
		{ 0, 0 },
		{ ENOMEM, DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY) },
		{ EIO, DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_DEVICE) },
		{ EINVAL, DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_NONE) },
		{ EOPNOTSUPP, DAP_ERR(DAP_MODEL_NOT_SUPPORTED, DAP_SUB_NONE) },
		{ EADDRINUSE, DAP_ERR(DAP_CONN_QUAL_IN_USE, DAP_SUB_NONE) },
		{ EADDRNOTAVAIL, DAP_ERR(DAP_CONN_QUAL_UNAVAILABLE, DAP_SUB_NONE) },
		{ ENETUNREACH, DAP_ERR(DAP_INVALID_ADDRESS, DAP_SUB_ADDR_UNREACHABLE) },
		{ EAFNOSUPPORT, DAP_ERR(DAP_INVALID_ADDRESS, DAP_SUB_ADDR_MALFORMED) },
		{ ETIMEDOUT, DAP_ERR(DAP_TIMEOUT_EXPIRED, DAP_SUB_NONE) },
		{ EINTR, DAP_ERR(DAP_INTERRUPTED_CALL, DAP_SUB_NONE) },
		{ EPROTO, DAP_ERR(DAP_INTERNAL_ERROR, DAP_SUB_NONE) },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(dap_err_from_errno(-rows[i].err), rows[i].code, "%s has another code",
			     strerror(rows[i].err));
}
