/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_query(3), and the calls that take a handle of any type. */
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "core/api.h"
#include "core/front/slots.h"
#include "core/ia.h"
#include "core/obj.h"
#include "core/sp/sp.h"

_Static_assert(sizeof(struct dap_named) == sizeof(DAT_NAMED_ATTR) &&
	       offsetof(struct dap_named, value) == offsetof(DAT_NAMED_ATTR, value),
	       "named attributes are shown in place");

static DAT_COUNT to_count(uint64_t n)
{
	return n > INT32_MAX ? INT32_MAX : (DAT_COUNT)n;
}

static void ia_attr(struct dap_ia *ia, DAT_IA_ATTR *attr)
{
	const struct dap_caps *caps = &ia->caps;

	*attr = (DAT_IA_ATTR){
		.hardware_version_major = caps->hw_major,
		.hardware_version_minor = caps->hw_minor,
		.firmware_version_major = caps->fw_major,
		.firmware_version_minor = caps->fw_minor,
		.ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ia->caps.address,
		.max_eps = to_count(caps->max_eps),
		.max_dto_per_ep = to_count(caps->max_dto_per_ep),
		.max_rdma_read_per_ep_in = to_count(caps->max_rdma_read_in),
		.max_rdma_read_per_ep_out = to_count(caps->max_rdma_read_out),
		.max_evds = to_count(caps->max_evds),
		.max_evd_qlen = to_count(caps->max_evd_qlen),
		.max_iov_segments_per_dto = to_count(caps->max_iov),
		.max_lmrs = to_count(caps->max_lmrs),
		.max_lmr_block_size = front_length(caps->max_lmr_size),
		.max_lmr_virtual_address = UINT64_MAX,
		.max_pzs = to_count(caps->max_pzs),
		.max_message_size = front_length(caps->max_message_size),
		.max_rdma_size = front_length(caps->max_rdma_size),
		.max_rmrs = to_count(caps->max_rmrs),
		.max_rmr_target_address = UINT64_MAX,
		.max_srqs = to_count(caps->max_srqs),
		.max_ep_per_srq = to_count(caps->max_ep_per_srq),
		.max_recv_per_srq = to_count(caps->max_recv_per_srq),
		.max_iov_segments_per_rdma_read = to_count(caps->max_rdma_read_iov),
		.max_iov_segments_per_rdma_write = to_count(caps->max_rdma_write_iov),
		.max_rdma_read_in = to_count((uint64_t)caps->max_eps * caps->max_rdma_read_in),
		.max_rdma_read_out = to_count((uint64_t)caps->max_eps * caps->max_rdma_read_out),
		.max_rdma_read_per_ep_in_guaranteed = DAT_TRUE,
		.max_rdma_read_per_ep_out_guaranteed = DAT_TRUE,
#ifdef DAP_DAT20
		.zb_supported = caps->zero_based ? DAT_TRUE : DAT_FALSE,
		.extension_supported = caps->no_extension ? DAT_EXTENSION_NONE :
							    DAT_EXTENSION_IB,
		.extension_version = FRONT_EXTENSION_VERSION,
#endif
	};
	snprintf(attr->adapter_name, sizeof(attr->adapter_name), "%s", ia->name);
	snprintf(attr->vendor_name, sizeof(attr->vendor_name), "%s", caps->vendor);
}

static void provider_attr(struct dap_ia *ia, DAT_PROVIDER_ATTR *attr)
{
	bool srq = ia->caps.max_srqs != 0;

	const DAT_PROVIDER_ATTR all = {
		.provider_name = "dapl-direct",
		.provider_version_major = VERSION_MAJOR,
		.provider_version_minor = VERSION_MINOR,
		.dapl_version_major = DAT_VERSION_MAJOR,
		.dapl_version_minor = DAT_VERSION_MINOR,
		.lmr_mem_types_supported = DAT_MEM_TYPE_VIRTUAL | DAT_MEM_TYPE_LMR |
			DAT_MEM_TYPE_SHARED_VIRTUAL,
		.iov_ownership_on_return = DAT_IOV_CONSUMER,
		.dat_qos_supported = (DAT_QOS)ia->caps.qos,
		.completion_flags_supported = DAT_COMPLETION_SUPPRESS_FLAG |
			DAT_COMPLETION_SOLICITED_WAIT_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG |
			DAT_COMPLETION_BARRIER_FENCE_FLAG,
		.is_thread_safe = ia->threadsafe ? DAT_TRUE : DAT_FALSE,
		.max_private_data_size = DAP_MAX_PRIVATE_DATA,
		.supports_multipath = DAT_FALSE,
		.ep_creator = DAT_PSP_CREATES_EP_IFASKED,
		.pz_support = DAT_PZ_UNIQUE,
		.optimal_buffer_alignment = ia->caps.optimal_alignment,
		.evd_stream_merging_supported = { [0 ... 5] = { [0 ... 5] = DAT_TRUE } },
		.srq_supported = srq ? DAT_TRUE : DAT_FALSE,
		.srq_watermarks_supported = srq ? 0x111 : 0x110,
		.srq_ep_pz_difference_supported = srq ? DAT_TRUE : DAT_FALSE,
		.srq_info_supported = srq ? 0x11 : 0,
		.ep_recv_info_supported = 0x11,
		.lmr_sync_req = DAT_FALSE,
		.dto_async_return_guaranteed = DAT_TRUE,
		.rdma_write_for_rdma_read_req = DAT_FALSE,
		.num_provider_specific_attr = (DAT_COUNT)core_ia(ia)->nnamed,
		.provider_specific_attr = (DAT_NAMED_ATTR *)core_ia(ia)->named,
#ifdef DAP_DAT20
		.rdma_read_lmr_rmr_context_exposure = DAT_FALSE,
		.rmr_scope_supported = ia->caps.rmr_for_ep ? DAT_RMR_SCOPE_ANY : DAT_RMR_SCOPE_PZ,
		.is_signal_safe = DAT_FALSE,
		.ha_supported = DAT_FALSE,
		.ha_loadbalancing = DAT_HA_LB_NONE,
#endif
	};

	memcpy(attr, &all, sizeof(all));	/* some members are const in 2.0 */
}

DAT_RETURN front_ia_query(DAT_IA_HANDLE handle, DAT_EVD_HANDLE *async_evd,
			  DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_out,
			  DAT_PROVIDER_ATTR_MASK prov_mask, DAT_PROVIDER_ATTR *prov_out)
{
	struct dap_ia *ia = dap_obj_get(handle, DAP_IA, NULL);

	if (!ia)
		return front_bad_handle(DAP_SUB_HANDLE_IA);
	if (ia_mask & ~DAT_IA_FIELD_ALL)
		return front_bad_arg(3);
	if (ia_mask && !ia_out)
		return front_bad_arg(4);
	if (prov_mask & ~DAT_PROVIDER_FIELD_ALL)
		return front_bad_arg(5);
	if (prov_mask && !prov_out)
		return front_bad_arg(6);
	if (async_evd)
		*async_evd = core_ia(ia)->async_evd ?: DAT_EVD_OUT_OF_SCOPE;
	if (ia_mask)
		ia_attr(ia, ia_out);
	if (prov_mask)
		provider_attr(ia, prov_out);
	return DAT_SUCCESS;
}

DAT_RETURN front_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	struct dap_obj *obj = handle;

	if (dap_obj_type(handle) == DAP_NONE)
		return front_bad_handle(DAP_SUB_HANDLE1);
	obj->context = context.as_ptr;
	return DAT_SUCCESS;
}

DAT_RETURN front_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	const struct dap_obj *obj = handle;

	if (dap_obj_type(handle) == DAP_NONE)
		return front_bad_handle(DAP_SUB_HANDLE1);
	if (!context)
		return front_bad_arg(2);
	context->as_ptr = obj->context;
	return DAT_SUCCESS;
}

DAT_RETURN front_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	static const DAT_HANDLE_TYPE types[DAP_TYPES] = {
		[DAP_IA] = DAT_HANDLE_TYPE_IA,	 [DAP_PZ] = DAT_HANDLE_TYPE_PZ,
		[DAP_LMR] = DAT_HANDLE_TYPE_LMR, [DAP_RMR] = DAT_HANDLE_TYPE_RMR,
		[DAP_EVD] = DAT_HANDLE_TYPE_EVD, [DAP_EP] = DAT_HANDLE_TYPE_EP,
		[DAP_PSP] = DAT_HANDLE_TYPE_PSP, [DAP_RSP] = DAT_HANDLE_TYPE_RSP,
		[DAP_CR] = DAT_HANDLE_TYPE_CR,	 [DAP_CNO] = DAT_HANDLE_TYPE_CNO,
		[DAP_SRQ] = DAT_HANDLE_TYPE_SRQ,
	};
	enum dap_type t = dap_obj_type(handle);

	if (t == DAP_NONE)
		return front_bad_handle(DAP_SUB_HANDLE1);
	if (!type)
		return front_bad_arg(2);
	*type = types[t];
#ifdef DAP_DAT20
	if (t == DAP_PSP && ((const struct dap_psp *)handle)->psp_flags & DAP_PSP_COMMON)
		*type = DAT_HANDLE_TYPE_CSP;
#endif
	return DAT_SUCCESS;
}
