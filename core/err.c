/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps an errno of a backend or the system to a DAT code. */
#include <errno.h>
#include <string.h>

#include "core/err.h"

int dap_err_from_errno(int err)
{
	switch (-err) {
	case 0:
		return 0;
	case ENOMEM:
	case ENOBUFS:		/* a socket has no buffer */
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
	case ENOSPC:
	case EAGAIN:
	case EBUSY:
	case EMFILE:
	case ENFILE:
	case EACCES:
	case EPERM:
	case ENODEV:
	case EIO:		/* a device error that the consumer did not cause */
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_DEVICE);
	case EINVAL:
	case EFAULT:
	case ERANGE:
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_NONE);
	case EOPNOTSUPP:
	case ENOSYS:
		return DAP_ERR(DAP_MODEL_NOT_SUPPORTED, DAP_SUB_NONE);
	case EADDRINUSE:
		return DAP_ERR(DAP_CONN_QUAL_IN_USE, DAP_SUB_NONE);
	case EADDRNOTAVAIL:
		return DAP_ERR(DAP_CONN_QUAL_UNAVAILABLE, DAP_SUB_NONE);
	case EHOSTUNREACH:
	case ENETUNREACH:
		return DAP_ERR(DAP_INVALID_ADDRESS, DAP_SUB_ADDR_UNREACHABLE);
	case EAFNOSUPPORT:
		return DAP_ERR(DAP_INVALID_ADDRESS, DAP_SUB_ADDR_MALFORMED);
	case ETIMEDOUT:
		return DAP_ERR(DAP_TIMEOUT_EXPIRED, DAP_SUB_NONE);
	case EINTR:
		return DAP_ERR(DAP_INTERRUPTED_CALL, DAP_SUB_NONE);
	default:
		return DAP_ERR(DAP_INTERNAL_ERROR, DAP_SUB_NONE);
	}
}

const char *dap_reason(int err)
{
	switch (-err) {
	case EMFILE:
		return "no descriptor is left to this process; raise its limit with ulimit -n";
	case ENFILE:
		return "no descriptor is left on this host; raise sysctl fs.file-max";
	case EADDRINUSE:
		return "another process, perhaps of another user, has the port; choose another "
		       "connection qualifier";
	default:
		return strerror(-err);
	}
}
