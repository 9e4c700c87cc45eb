/* SPDX-License-Identifier: BSD-2-Clause */
/* Each field of the attributes of an adapter and of its provider, in 2.0's layout. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "tests/dat2/dat2.h"

TestSuite(attributes, .init = sides_open, .fini = sides_close, .timeout = 60);

static DAT_IA_ATTR ia;
static DAT_PROVIDER_ATTR provider;

/* Queries the attributes. Every field has another value before. */
static void ask(void)
{
	memset(&ia, 0xa5, sizeof(ia));
	memset(&provider, 0xa5, sizeof(provider));
	assert_ok(dat_ia_query(a.ia, NULL, DAT_IA_ALL, &ia, DAT_PROVIDER_FIELD_ALL, &provider));
}

/* Asserts that a number was set: it is small, unlike the value before the query. */
#define cr_assert_some(n)                                                                          \
	cr_assert((n) > 0 && (uint64_t)(n) != (uint64_t)(int32_t)0xa5a5a5a5,                       \
		  #n " was not set by the query")

Test(attributes, ia__returns_its_identity)
{
	const struct sockaddr_in *address;

	ask();
	cr_assert_str_eq(ia.adapter_name, side_ia_name());
	cr_assert(memchr(ia.vendor_name, '\0', sizeof(ia.vendor_name)) && ia.vendor_name[0]);
	cr_assert_neq(ia.hardware_version_major, 0xa5a5a5a5);
	cr_assert_neq(ia.hardware_version_minor, 0xa5a5a5a5);
	cr_assert_neq(ia.firmware_version_major, 0xa5a5a5a5);
	cr_assert_neq(ia.firmware_version_minor, 0xa5a5a5a5);
	address = (const void *)ia.ia_address_ptr;
	cr_assert(address->sin_family == AF_INET || address->sin_family == AF_INET6);
	cr_assert_eq(ia.num_transport_attr, 0);
	cr_assert_null(ia.transport_attr);
	cr_assert_eq(ia.num_vendor_attr, 0);
	cr_assert_null(ia.vendor_attr);
}

Test(attributes, ia__returns_numbers)
{
	ask();
	cr_assert_some(ia.max_eps);
	cr_assert_some(ia.max_dto_per_ep);
	cr_assert_some(ia.max_evds);
	cr_assert_geq(ia.max_evd_qlen, ia.max_dto_per_ep);
	cr_assert_some(ia.max_lmrs);
	cr_assert_some(ia.max_pzs);
	cr_assert_some(ia.max_rmrs);
	cr_assert_geq(ia.max_iov_segments_per_dto, 4);
	cr_assert_eq(ia.max_iov_segments_per_rdma_write, ia.max_iov_segments_per_dto);
	cr_assert(ia.max_iov_segments_per_rdma_read > 0 &&
		  ia.max_iov_segments_per_rdma_read <= ia.max_iov_segments_per_dto);
	cr_assert_some(ia.max_rdma_read_per_ep_in);
	cr_assert_some(ia.max_rdma_read_per_ep_out);
	cr_assert_geq(ia.max_rdma_read_in, ia.max_rdma_read_per_ep_in);
	cr_assert_geq(ia.max_rdma_read_out, ia.max_rdma_read_per_ep_out);
	cr_assert_eq(ia.max_rdma_read_per_ep_in_guaranteed, DAT_TRUE);
	cr_assert_eq(ia.max_rdma_read_per_ep_out_guaranteed, DAT_TRUE);
	cr_assert_eq(provider.srq_supported, ia.max_srqs > 0);
	cr_assert(!ia.max_srqs || (ia.max_ep_per_srq > 0 && ia.max_recv_per_srq > 0));
}

/* Lengths have 32 bits here: larger limits of the adapter become the maximum and do not wrap. */
Test(attributes, ia__returns_lengths)
{
	ask();
	cr_assert_geq(ia.max_message_size, 1u << 12);
	cr_assert_geq(ia.max_rdma_size, ia.max_message_size);
	cr_assert_geq(ia.max_lmr_block_size, ia.max_rdma_size);
	cr_assert_geq(ia.max_lmr_virtual_address, (DAT_VADDR)(uintptr_t)a.mem);
	cr_assert_geq(ia.max_rmr_target_address, (DAT_VADDR)(uintptr_t)a.mem);
}

Test(attributes, provider__returns_its_identity)
{
	unsigned int major, minor;

	ask();
	cr_assert_str_eq(provider.provider_name, "dapl-direct");
	cr_assert_eq(sscanf(PACKAGE_VERSION, "%u.%u", &major, &minor), 2);
	cr_assert_eq(provider.provider_version_major, major);
	cr_assert_eq(provider.provider_version_minor, minor);
	cr_assert_eq(provider.dapl_version_major, 2);
	cr_assert_eq(provider.dapl_version_minor, 0);
	cr_assert_eq(provider.lmr_mem_types_supported, DAT_MEM_TYPE_VIRTUAL | DAT_MEM_TYPE_LMR |
		     DAT_MEM_TYPE_SHARED_VIRTUAL);
	cr_assert_eq(provider.iov_ownership_on_return, DAT_IOV_CONSUMER);
	cr_assert_eq((unsigned int)provider.dat_qos_supported & ~0xfu, 0);
	cr_assert_eq(provider.completion_flags_supported, DAT_COMPLETION_SUPPRESS_FLAG |
		     DAT_COMPLETION_SOLICITED_WAIT_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG |
		     DAT_COMPLETION_BARRIER_FENCE_FLAG);
	cr_assert_eq(provider.is_thread_safe, DAT_FALSE);
	cr_assert(provider.max_private_data_size >= 64 && provider.max_private_data_size < 4096);
	cr_assert_eq(provider.supports_multipath, DAT_FALSE);
	cr_assert_eq(provider.ep_creator, DAT_PSP_CREATES_EP_IFASKED);
	cr_assert_eq(provider.pz_support, DAT_PZ_UNIQUE);
	cr_assert(provider.optimal_buffer_alignment > 0 &&
		  provider.optimal_buffer_alignment <= DAT_OPTIMAL_ALIGNMENT);
	for (int i = 0; i < 6; i++)
		for (int j = 0; j < 6; j++)
			cr_assert_eq(provider.evd_stream_merging_supported[i][j], DAT_TRUE);
}

Test(attributes, provider__returns_its_features)
{
	ask();
	cr_assert_eq(provider.srq_watermarks_supported, provider.srq_supported ? 0x111 : 0x110);
	cr_assert_eq(provider.srq_ep_pz_difference_supported, provider.srq_supported);
	cr_assert_eq(provider.srq_info_supported, provider.srq_supported ? 0x11 : 0);
	cr_assert_eq(provider.ep_recv_info_supported, 0x11);
	cr_assert_eq(provider.lmr_sync_req, DAT_FALSE);
	cr_assert_eq(provider.dto_async_return_guaranteed, DAT_TRUE);
	cr_assert_eq(provider.rdma_write_for_rdma_read_req, DAT_FALSE);
	cr_assert_eq(provider.rdma_read_lmr_rmr_context_exposure, DAT_FALSE);
	cr_assert(provider.rmr_scope_supported == DAT_RMR_SCOPE_ANY ||
		  provider.rmr_scope_supported == DAT_RMR_SCOPE_PZ);
	cr_assert_eq(provider.is_signal_safe, DAT_FALSE);
	cr_assert_eq(provider.ha_supported, DAT_FALSE);
	cr_assert_eq(provider.ha_loadbalancing, DAT_HA_LB_NONE);
}

/* Names and values are text, and names are unique. */
Test(attributes, named__each_attribute_has_a_value_and_a_unique_name)
{
	const DAT_NAMED_ATTR *of;

	ask();
	of = provider.provider_specific_attr;
	cr_assert_some(provider.num_provider_specific_attr);
	for (DAT_COUNT i = 0; i < provider.num_provider_specific_attr; i++) {
		cr_assert(of[i].name && of[i].name[0] && of[i].value,
			  "attribute %d has no name or no value", i);
		for (DAT_COUNT j = 0; j < i; j++)
			cr_assert_str_neq(of[i].name, of[j].name);
	}
	cr_assert(side_says(DAT_IB_ATTR_COUNTERS, "TRUE"));
	cr_assert(side_says(DAT_IB_ATTR_UD, "FALSE"));
	cr_assert_eq(side_says(DAT_IB_ATTR_IMMED_DATA, "TRUE"),
		     ia.extension_supported == DAT_EXTENSION_IB);
	cr_assert_eq(side_says(DAT_IB_ATTR_CMP_AND_SWAP, "TRUE"),
		     side_says(DAT_IB_ATTR_FETCH_AND_ADD, "TRUE"));
}
