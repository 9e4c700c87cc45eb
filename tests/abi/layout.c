/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sizes and offsets of uDAPL 1.2 on x86_64, as compiled into existing binaries. The numbers come from
 * the headers of other implementations, not from ours.
 */
#include <criterion/criterion.h>
#include <dat/udat.h>
#include <dat/dat_registry.h>

#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)
#define AT(type, member, offset) _Static_assert(offsetof(type, member) == (offset), #member)

SIZE(DAT_HANDLE, 8);
SIZE(DAT_CONTEXT, 8);
SIZE(DAT_LMR_CONTEXT, 4);
SIZE(DAT_RMR_CONTEXT, 4);
SIZE(DAT_VLEN, 8);
SIZE(DAT_VADDR, 8);
SIZE(DAT_COUNT, 4);
SIZE(DAT_TIMEOUT, 4);
SIZE(DAT_RETURN, 4);
SIZE(DAT_BOOLEAN, 4);
SIZE(DAT_CONN_QUAL, 8);
SIZE(DAT_PORT_QUAL, 8);
SIZE(DAT_IA_ATTR_MASK, 8);
SIZE(DAT_PROVIDER_ATTR_MASK, 8);
SIZE(DAT_EP_PARAM_MASK, 8);
SIZE(DAT_REGION_DESCRIPTION, 16);
SIZE(DAT_SHARED_MEMORY, 16);
SIZE(DAT_SOCK_ADDR, 16);
SIZE(DAT_LMR_COOKIE, 8);

SIZE(DAT_LMR_TRIPLET, 24);
AT(DAT_LMR_TRIPLET, lmr_context, 0);
AT(DAT_LMR_TRIPLET, pad, 4);
AT(DAT_LMR_TRIPLET, virtual_address, 8);
AT(DAT_LMR_TRIPLET, segment_length, 16);
SIZE(DAT_RMR_TRIPLET, 24);
AT(DAT_RMR_TRIPLET, rmr_context, 0);
AT(DAT_RMR_TRIPLET, pad, 4);
AT(DAT_RMR_TRIPLET, target_address, 8);
AT(DAT_RMR_TRIPLET, segment_length, 16);

SIZE(DAT_EVENT, 48);
AT(DAT_EVENT, event_number, 0);
AT(DAT_EVENT, evd_handle, 8);
AT(DAT_EVENT, event_data, 16);
SIZE(DAT_EVENT_DATA, 32);
SIZE(DAT_DTO_COMPLETION_EVENT_DATA, 32);
AT(DAT_DTO_COMPLETION_EVENT_DATA, ep_handle, 0);
AT(DAT_DTO_COMPLETION_EVENT_DATA, user_cookie, 8);
AT(DAT_DTO_COMPLETION_EVENT_DATA, status, 16);
AT(DAT_DTO_COMPLETION_EVENT_DATA, transfered_length, 24);
SIZE(DAT_CR_ARRIVAL_EVENT_DATA, 32);
SIZE(DAT_CONNECTION_EVENT_DATA, 24);
SIZE(DAT_RMR_BIND_COMPLETION_EVENT_DATA, 24);
SIZE(DAT_ASYNCH_ERROR_EVENT_DATA, 16);
SIZE(DAT_SOFTWARE_EVENT_DATA, 8);

SIZE(DAT_EP_ATTR, 104);
AT(DAT_EP_ATTR, service_type, 0);
AT(DAT_EP_ATTR, max_message_size, 8);
AT(DAT_EP_ATTR, max_rdma_size, 16);
AT(DAT_EP_ATTR, qos, 24);
AT(DAT_EP_ATTR, recv_completion_flags, 28);
AT(DAT_EP_ATTR, request_completion_flags, 32);
AT(DAT_EP_ATTR, max_recv_dtos, 36);
AT(DAT_EP_ATTR, max_request_dtos, 40);
AT(DAT_EP_ATTR, max_recv_iov, 44);
AT(DAT_EP_ATTR, max_request_iov, 48);
AT(DAT_EP_ATTR, max_rdma_read_in, 52);
AT(DAT_EP_ATTR, max_rdma_read_out, 56);
AT(DAT_EP_ATTR, srq_soft_hw, 60);
AT(DAT_EP_ATTR, max_rdma_read_iov, 64);
AT(DAT_EP_ATTR, max_rdma_write_iov, 68);
AT(DAT_EP_ATTR, ep_transport_specific_count, 72);
AT(DAT_EP_ATTR, ep_transport_specific, 80);
AT(DAT_EP_ATTR, ep_provider_specific_count, 88);
AT(DAT_EP_ATTR, ep_provider_specific, 96);

/* The test does not know the DAT_COMM of 2.0, so it checks only that the attributes are the last
 * member. */
SIZE(DAT_EP_PARAM, 192);
AT(DAT_EP_PARAM, ia_handle, 0);
AT(DAT_EP_PARAM, ep_state, 8);
AT(DAT_EP_PARAM, local_ia_address_ptr, 16);
AT(DAT_EP_PARAM, srq_handle, 80);
AT(DAT_EP_PARAM, ep_attr, 88);

SIZE(DAT_IA_ATTR, 688);
AT(DAT_IA_ATTR, ia_address_ptr, 528);
AT(DAT_IA_ATTR, max_lmrs, 564);
AT(DAT_IA_ATTR, max_lmr_block_size, 568);
AT(DAT_IA_ATTR, max_lmr_virtual_address, 576);
AT(DAT_IA_ATTR, max_pzs, 584);
AT(DAT_IA_ATTR, max_message_size, 592);
AT(DAT_IA_ATTR, max_rdma_size, 600);
AT(DAT_IA_ATTR, max_rmrs, 608);
AT(DAT_IA_ATTR, max_rmr_target_address, 616);
AT(DAT_IA_ATTR, max_srqs, 624);

SIZE(DAT_PROVIDER_ATTR, 504);
AT(DAT_PROVIDER_ATTR, evd_stream_merging_supported, 312);
AT(DAT_PROVIDER_ATTR, rdma_write_for_rdma_read_req, 484);
AT(DAT_PROVIDER_ATTR, num_provider_specific_attr, 488);
AT(DAT_PROVIDER_ATTR, provider_specific_attr, 496);

SIZE(DAT_CNO_PARAM, 24);
SIZE(DAT_LMR_PARAM, 80);
SIZE(DAT_RMR_PARAM, 48);
SIZE(DAT_CR_PARAM, 40);
SIZE(DAT_EVD_PARAM, 32);
SIZE(DAT_PSP_PARAM, 32);
SIZE(DAT_RSP_PARAM, 32);
SIZE(DAT_PZ_PARAM, 8);
SIZE(DAT_SRQ_PARAM, 48);
SIZE(DAT_SRQ_ATTR, 12);
SIZE(DAT_PROVIDER_INFO, 268);
SIZE(struct dat_provider, 560);

/* The types of these members are compared, because a size cannot show that a member has another type
 * of the same size. */
Test(abi, event__members_share_the_union)
{
	DAT_EVENT event;

	cr_assert_eq((void *)&event.event_data.dto_completion_event_data, (void *)&event.event_data);
	cr_assert_eq((void *)&event.event_data.rmr_completion_event_data, (void *)&event.event_data);
	cr_assert_eq((void *)&event.event_data.cr_arrival_event_data, (void *)&event.event_data);
	cr_assert_eq((void *)&event.event_data.connect_event_data, (void *)&event.event_data);
	cr_assert_eq((void *)&event.event_data.asynch_error_event_data, (void *)&event.event_data);
	cr_assert_eq((void *)&event.event_data.software_event_data, (void *)&event.event_data);
}

Test(abi, async_evd__special_values_are_0_1_and_2)
{
	cr_assert_eq(DAT_EVD_ASYNC_EXISTS, (DAT_EVD_HANDLE)1);
	cr_assert_eq(DAT_EVD_OUT_OF_SCOPE, (DAT_EVD_HANDLE)2);
	cr_assert_eq(DAT_HANDLE_NULL, (DAT_HANDLE)0);
}
