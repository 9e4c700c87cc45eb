/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CNOs with a descriptor instead of an agent: the consumer polls it with poll(2), and asks for the
 * EVD once it is readable.
 */
#include "core/api.h"
#include "core/evd/cno.h"
#include "core/front/slots.h"

DAT_RETURN front_cno_fd_create(DAT_IA_HANDLE ia_handle, DAT_FD *fd, DAT_CNO_HANDLE *out)
{
	struct dap_ia *ia = dap_obj_get(ia_handle, DAP_IA, NULL);
	struct dap_cno *cno;
	int err;

	if (!ia)
		return front_bad_handle(DAP_SUB_HANDLE_IA);
	if (!fd)
		return front_bad_arg(2);
	if (!out)
		return front_bad_arg(3);
	err = dap_cno_create(ia, NULL, NULL, &cno);
	if (err)
		return front_return(err);
	err = dap_cno_fd(cno, fd);
	if (err) {
		dap_cno_free(cno);
		return front_return(err);
	}
	cno->fd_created = true;
	*out = cno;
	return DAT_SUCCESS;
}

/* QUEUE_EMPTY: another thread took the trigger, or no event that came notifies. */
DAT_RETURN front_cno_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE *evd)
{
	if (!dap_obj_get(cno, DAP_CNO, NULL))
		return front_bad_handle(DAP_SUB_HANDLE_CNO);
	if (!evd)
		return front_bad_arg(2);
	return front_cno_wait(cno, 0, evd);
}
