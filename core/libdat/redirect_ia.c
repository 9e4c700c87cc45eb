/* SPDX-License-Identifier: BSD-2-Clause */
/* Redirection: Interface Adapter, Protection Zone, and calls for any type of handle. */
#include "core/libdat/redirect.h"

DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attributes,
			DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			DAT_PROVIDER_ATTR *provider_attributes)
{
	if (unlikely(!ia_handle))
		return null_handle(DAT_INVALID_HANDLE_IA);
	return table_of(ia_handle)->ia_query_func(ia_handle, async_evd_handle, ia_attr_mask,
			ia_attributes, provider_attr_mask, provider_attributes);
}

DAT_RETURN dat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context)
{
	if (unlikely(!dat_handle))
		return null_handle(DAT_INVALID_HANDLE1);
	return table_of(dat_handle)->set_consumer_context_func(dat_handle, context);
}

DAT_RETURN dat_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context)
{
	if (unlikely(!dat_handle))
		return null_handle(DAT_INVALID_HANDLE1);
	return table_of(dat_handle)->get_consumer_context_func(dat_handle, context);
}

DAT_RETURN dat_get_handle_type(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE *handle_type)
{
	if (unlikely(!dat_handle))
		return null_handle(DAT_INVALID_HANDLE1);
	return table_of(dat_handle)->get_handle_type_func(dat_handle, handle_type);
}

DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	if (unlikely(!ia_handle))
		return null_handle(DAT_INVALID_HANDLE_IA);
	return table_of(ia_handle)->pz_create_func(ia_handle, pz_handle);
}

DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
			DAT_PZ_PARAM *pz_param)
{
	if (unlikely(!pz_handle))
		return null_handle(DAT_INVALID_HANDLE_PZ);
	return table_of(pz_handle)->pz_query_func(pz_handle, pz_param_mask, pz_param);
}

DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle)
{
	if (unlikely(!pz_handle))
		return null_handle(DAT_INVALID_HANDLE_PZ);
	return table_of(pz_handle)->pz_free_func(pz_handle);
}
