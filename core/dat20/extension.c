/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_extension_op(): attribute extension_supported says that there is none. */
#include "core/dat12/slots.h"

DAT_RETURN dap20_handle_extendedop(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	(void)op;
	(void)args;
	if (dap_obj_type(handle) == DAP_NONE)
		return dap12_bad_handle(DAP_SUB_HANDLE1);
	return dap12_return(DAP_ERR(DAP_NOT_IMPLEMENTED, DAP_SUB_NONE));
}
