/* SPDX-License-Identifier: BSD-2-Clause */
/* Redirection: Service Points and Connection Request. */
#include "core/libdat/redirect.h"

DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			DAT_PSP_HANDLE *psp_handle)
{
	if (unlikely(!ia_handle))
		return null_handle(DAT_INVALID_HANDLE_IA);
	return table_of(ia_handle)->psp_create_func(ia_handle, conn_qual, evd_handle, psp_flags,
			psp_handle);
}

DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			DAT_PSP_HANDLE *psp_handle)
{
	if (unlikely(!ia_handle))
		return null_handle(DAT_INVALID_HANDLE_IA);
	return table_of(ia_handle)->psp_create_any_func(ia_handle, conn_qual, evd_handle,
			psp_flags, psp_handle);
}

DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask,
			DAT_PSP_PARAM *psp_param)
{
	if (unlikely(!psp_handle))
		return null_handle(DAT_INVALID_HANDLE_PSP);
	return table_of(psp_handle)->psp_query_func(psp_handle, psp_param_mask, psp_param);
}

DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle)
{
	if (unlikely(!psp_handle))
		return null_handle(DAT_INVALID_HANDLE_PSP);
	return table_of(psp_handle)->psp_free_func(psp_handle);
}

DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			DAT_RSP_HANDLE *rsp_handle)
{
	if (unlikely(!ia_handle))
		return null_handle(DAT_INVALID_HANDLE_IA);
	return table_of(ia_handle)->rsp_create_func(ia_handle, conn_qual, ep_handle, evd_handle,
			rsp_handle);
}

DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
			DAT_RSP_PARAM *rsp_param)
{
	if (unlikely(!rsp_handle))
		return null_handle(DAT_INVALID_HANDLE_RSP);
	return table_of(rsp_handle)->rsp_query_func(rsp_handle, rsp_param_mask, rsp_param);
}

DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	if (unlikely(!rsp_handle))
		return null_handle(DAT_INVALID_HANDLE_RSP);
	return table_of(rsp_handle)->rsp_free_func(rsp_handle);
}

DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
			DAT_CR_PARAM *cr_param)
{
	if (unlikely(!cr_handle))
		return null_handle(DAT_INVALID_HANDLE_CR);
	return table_of(cr_handle)->cr_query_func(cr_handle, cr_param_mask, cr_param);
}

DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			DAT_COUNT private_data_size, const DAT_PVOID private_data)
{
	if (unlikely(!cr_handle))
		return null_handle(DAT_INVALID_HANDLE_CR);
	return table_of(cr_handle)->cr_accept_func(cr_handle, ep_handle, private_data_size,
			private_data);
}

DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle)
{
	if (unlikely(!cr_handle))
		return null_handle(DAT_INVALID_HANDLE_CR);
	return table_of(cr_handle)->cr_reject_func(cr_handle);
}

DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff)
{
	if (unlikely(!cr_handle))
		return null_handle(DAT_INVALID_HANDLE_CR);
	return table_of(cr_handle)->cr_handoff_func(cr_handle, handoff);
}
