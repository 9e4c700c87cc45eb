/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints that are not connected: attributes, changes, receives, freeing. */
#include <string.h>

#include "tests/api/api.h"

TestSuite(ep, .init = api_setup, .fini = api_teardown, .timeout = 60);

static DAT_EP_PARAM query(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	assert_ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	return param;
}

Test(ep, ep_create__defaults_allow_traffic)
{
	DAT_EP_PARAM p = query(t.ep);

	cr_assert_eq(p.ia_handle, t.ia);
	cr_assert_eq(p.ep_state, DAT_EP_STATE_UNCONNECTED);
	cr_assert_eq(p.pz_handle, t.pz);
	cr_assert_eq(p.recv_evd_handle, t.evd);
	cr_assert_eq(p.request_evd_handle, t.evd);
	cr_assert_eq(p.connect_evd_handle, t.conn_evd);
	cr_assert_null(p.srq_handle);
	cr_assert_eq(p.ep_attr.service_type, DAT_SERVICE_TYPE_RC);
	cr_assert_eq(p.ep_attr.qos, DAT_QOS_BEST_EFFORT);
	cr_assert_geq(p.ep_attr.max_recv_dtos, 16);
	cr_assert_geq(p.ep_attr.max_request_dtos, 16);
	cr_assert_geq(p.ep_attr.max_recv_iov, 4);
	cr_assert_geq(p.ep_attr.max_request_iov, 4);
	cr_assert_gt(p.ep_attr.max_rdma_read_in, 0);
	cr_assert_gt(p.ep_attr.max_rdma_read_out, 0);
	cr_assert_geq(p.ep_attr.max_message_size, UINT64_C(1) << 20);
}

static DAT_EP_ATTR some_attr(void)
{
	return (DAT_EP_ATTR){.max_message_size = 65536, .max_rdma_size = 1 << 20,
			     .max_recv_dtos = 7, .max_request_dtos = 9, .max_recv_iov = 2,
			     .max_request_iov = 3, .max_rdma_read_in = 1, .max_rdma_read_out = 2,
			     .max_rdma_read_iov = 1, .max_rdma_write_iov = 2};
}

/* Compares member by member: the padding between them is undefined. */
static bool same_attr(const DAT_EP_ATTR *a, const DAT_EP_ATTR *b)
{
	return a->service_type == b->service_type && a->max_message_size == b->max_message_size &&
	       a->max_rdma_size == b->max_rdma_size && a->qos == b->qos &&
	       a->recv_completion_flags == b->recv_completion_flags &&
	       a->request_completion_flags == b->request_completion_flags &&
	       a->max_recv_dtos == b->max_recv_dtos && a->max_request_dtos == b->max_request_dtos &&
	       a->max_recv_iov == b->max_recv_iov && a->max_request_iov == b->max_request_iov &&
	       a->max_rdma_read_in == b->max_rdma_read_in &&
	       a->max_rdma_read_out == b->max_rdma_read_out &&
	       a->srq_soft_hw == b->srq_soft_hw && a->max_rdma_read_iov == b->max_rdma_read_iov &&
	       a->max_rdma_write_iov == b->max_rdma_write_iov &&
	       a->ep_transport_specific_count == b->ep_transport_specific_count &&
	       a->ep_transport_specific == b->ep_transport_specific &&
	       a->ep_provider_specific_count == b->ep_provider_specific_count &&
	       a->ep_provider_specific == b->ep_provider_specific;
}

/* dat_ep_query returns the attributes as the consumer set them. */
Test(ep, ep_create__keeps_attributes)
{
	DAT_EP_ATTR attr = some_attr();
	DAT_EP_HANDLE ep = api_ep(&t, &attr);
	DAT_EP_PARAM p = query(ep);

	cr_assert(same_attr(&p.ep_attr, &attr));
	assert_ok(dat_ep_free(ep));
}

Test(ep, ep_create__without_evds_succeeds)
{
	DAT_EP_HANDLE ep;
	DAT_EP_PARAM p;

	assert_ok(dat_ep_create(t.ia, t.pz, NULL, NULL, NULL, NULL, &ep));
	p = query(ep);
	cr_assert_null(p.recv_evd_handle);
	cr_assert_null(p.request_evd_handle);
	cr_assert_null(p.connect_evd_handle);
	assert_ok(dat_ep_free(ep));
}

Test(ep, ep_create__attributes_beyond_the_limits_are_refused)
{
	const DAT_IA_ATTR *ia = &t.ia_attr;
	DAT_EP_ATTR attr = some_attr();
	DAT_EP_HANDLE ep = (DAT_EP_HANDLE)77;
	struct { DAT_COUNT *at, most; } limits[] = {
		{&attr.max_recv_dtos, ia->max_dto_per_ep},
		{&attr.max_request_dtos, ia->max_dto_per_ep},
		{&attr.max_recv_iov, ia->max_iov_segments_per_dto},
		{&attr.max_request_iov, ia->max_iov_segments_per_dto},
		{&attr.max_rdma_read_in, ia->max_rdma_read_per_ep_in},
		{&attr.max_rdma_read_out, ia->max_rdma_read_per_ep_out},
		{&attr.max_rdma_read_iov, ia->max_iov_segments_per_rdma_read},
		{&attr.max_rdma_write_iov, ia->max_iov_segments_per_rdma_write},
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		DAT_COUNT was = *limits[i].at;

		*limits[i].at = limits[i].most + 1;
		assert_ret(dat_ep_create(t.ia, t.pz, t.evd, t.evd, t.conn_evd, &attr, &ep),
			   DAT_INVALID_PARAMETER);
		*limits[i].at = -1;
		assert_ret(dat_ep_create(t.ia, t.pz, t.evd, t.evd, t.conn_evd, &attr, &ep),
			   DAT_INVALID_PARAMETER);
		*limits[i].at = was;
	}
	cr_assert_eq(ep, (DAT_EP_HANDLE)77);
	assert_ok(dat_ep_free(api_ep(&t, &attr)));
}

Test(ep, ep_create__invalid_attributes_are_refused)
{
	DAT_EP_ATTR attr = some_attr();
	DAT_EP_HANDLE ep = (DAT_EP_HANDLE)77;

	attr.service_type = 1;
	assert_ret(dat_ep_create(t.ia, t.pz, t.evd, t.evd, t.conn_evd, &attr, &ep),
		   DAT_INVALID_PARAMETER);
	attr = some_attr();
	attr.qos = DAT_QOS_LOW_LATENCY | DAT_QOS_HIGH_THROUGHPUT;
	assert_ret(dat_ep_create(t.ia, t.pz, t.evd, t.evd, t.conn_evd, &attr, &ep),
		   DAT_INVALID_PARAMETER);
	attr = some_attr();
	attr.recv_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
	assert_ret(dat_ep_create(t.ia, t.pz, t.evd, t.evd, t.conn_evd, &attr, &ep),
		   DAT_INVALID_PARAMETER);
	attr.recv_completion_flags = DAT_COMPLETION_BARRIER_FENCE_FLAG;
	assert_ret(dat_ep_create(t.ia, t.pz, t.evd, t.evd, t.conn_evd, &attr, &ep),
		   DAT_INVALID_PARAMETER);
	attr = some_attr();
	attr.request_completion_flags = 0x20;
	assert_ret(dat_ep_create(t.ia, t.pz, t.evd, t.evd, t.conn_evd, &attr, &ep),
		   DAT_INVALID_PARAMETER);
	cr_assert_eq(ep, (DAT_EP_HANDLE)77);
}

/*
 * A stream whose consumer controls the notification cannot feed an EVD for other events. The flag for
 * solicited completions must be the same in all streams of an EVD. That for unsignalled ones may
 * differ, as in MVAPICH2.
 */
Test(ep, ep_create__flags_that_conflict_on_one_evd_are_refused)
{
	DAT_EVD_HANDLE merged = api_evd(&t, 64, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	DAT_EVD_HANDLE evd = api_evd(&t, 64, DAT_EVD_DTO_FLAG);
	DAT_EP_ATTR attr = some_attr();
	DAT_EP_HANDLE ep, plain;

	attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	assert_ret(dat_ep_create(t.ia, t.pz, merged, t.evd, t.conn_evd, &attr, &ep),
		   DAT_INVALID_PARAMETER);
	/* the receives of t.ep feed the EVD, signalled */
	assert_ok(dat_ep_create(t.ia, t.pz, t.evd, t.evd, t.conn_evd, &attr, &ep));
	assert_ok(dat_ep_free(ep));
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	assert_ret(dat_ep_create(t.ia, t.pz, t.evd, t.evd, t.conn_evd, &attr, &ep),
		   DAT_INVALID_PARAMETER);
	assert_ok(dat_ep_create(t.ia, t.pz, evd, t.evd, t.conn_evd, &attr, &ep));
	assert_ret(dat_ep_create(t.ia, t.pz, evd, t.evd, t.conn_evd, NULL, &plain),
		   DAT_INVALID_PARAMETER);
	assert_ok(dat_ep_free(ep));
	assert_ok(dat_ep_create(t.ia, t.pz, evd, t.evd, t.conn_evd, NULL, &plain));
}

Test(ep, ep_query__invalid_arguments_are_refused)
{
	DAT_EP_PARAM p;

	assert_code(dat_ep_query(t.ep, DAT_EP_FIELD_ALL + 1, &p), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG2);
	assert_code(dat_ep_query(t.ep, 1, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
}

Test(ep, ep_modify__each_attribute_is_changed)
{
	DAT_EP_PARAM p = query(t.ep), q;

	p.ep_attr = some_attr();
	assert_ok(dat_ep_modify(t.ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT, &p));
	q = query(t.ep);
	cr_assert_eq(q.ep_attr.max_rdma_read_out, p.ep_attr.max_rdma_read_out);
	cr_assert_neq(q.ep_attr.max_recv_dtos, p.ep_attr.max_recv_dtos);
	assert_ok(dat_ep_modify(t.ep, DAT_EP_FIELD_EP_ATTR_ALL &
				~(DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR |
				  DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR |
				  DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |
				  DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR), &p));
	q = query(t.ep);
	cr_assert(same_attr(&q.ep_attr, &p.ep_attr));
}

Test(ep, ep_modify__new_pz_and_evds_replace_the_old_ones)
{
	DAT_EP_PARAM p = {.ep_state = 0}, q;

	assert_ok(dat_pz_create(t.ia, &p.pz_handle));
	p.recv_evd_handle = api_evd(&t, 64, DAT_EVD_DTO_FLAG);
	p.request_evd_handle = NULL;
	p.connect_evd_handle = api_evd(&t, 8, DAT_EVD_CONNECTION_FLAG);
	assert_ok(dat_ep_modify(t.ep, DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
				DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE,
				&p));
	q = query(t.ep);
	cr_assert_eq(q.pz_handle, p.pz_handle);
	cr_assert_eq(q.recv_evd_handle, p.recv_evd_handle);
	cr_assert_null(q.request_evd_handle);
	cr_assert_eq(q.connect_evd_handle, p.connect_evd_handle);
	assert_ret(dat_pz_free(p.pz_handle), DAT_INVALID_STATE);
	assert_ret(dat_evd_free(p.recv_evd_handle), DAT_INVALID_STATE);
	/* the EVD that the endpoint used before can be freed */
	assert_ok(dat_evd_free(t.evd));
	assert_ok(dat_evd_free(t.conn_evd));
	assert_ok(dat_ep_free(t.ep));
	assert_ok(dat_pz_free(p.pz_handle));
}

Test(ep, ep_modify__invalid_values_are_refused)
{
	static const DAT_EP_PARAM_MASK fixed[] = {
		DAT_EP_FIELD_IA_HANDLE, DAT_EP_FIELD_EP_STATE, DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR,
		DAT_EP_FIELD_LOCAL_PORT_QUAL, DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR,
		DAT_EP_FIELD_REMOTE_PORT_QUAL, DAT_EP_FIELD_SRQ_HANDLE, DAT_EP_FIELD_ALL,
		UINT64_C(1) << 31, UINT64_C(1) << 63, 0x800};
	DAT_EP_PARAM p = query(t.ep), q;

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		assert_code(dat_ep_modify(t.ep, fixed[i], &p), DAT_INVALID_PARAMETER,
			    DAT_INVALID_ARG2);
	assert_code(dat_ep_modify(t.ep, DAT_EP_FIELD_PZ_HANDLE, NULL), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG3);
	p.pz_handle = t.ep;
	assert_ret(dat_ep_modify(t.ep, DAT_EP_FIELD_PZ_HANDLE, &p), DAT_INVALID_PARAMETER);
	p.recv_evd_handle = t.pz;
	assert_ret(dat_ep_modify(t.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &p), DAT_INVALID_PARAMETER);
	p.ep_attr.max_recv_dtos = t.ia_attr.max_dto_per_ep + 1;
	assert_ret(dat_ep_modify(t.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &p),
		   DAT_INVALID_PARAMETER);
	q = query(t.ep);
	cr_assert_eq(q.pz_handle, t.pz);
	cr_assert_eq(q.recv_evd_handle, t.evd);
}

static DAT_RETURN post_recv(DAT_EP_HANDLE ep, uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = {.lmr_context = t.lmr_context, .virtual_address = (uintptr_t)t.mem,
			       .segment_length = 64};

	return dat_ep_post_recv(ep, 1, &seg, (DAT_DTO_COOKIE){.as_64 = cookie}, 0);
}

Test(ep, post_recv__on_a_full_queue_returns_insufficient_resources)
{
	DAT_EP_ATTR attr = some_attr();
	DAT_EP_HANDLE ep = api_ep(&t, &attr);
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;
	DAT_EVENT ev;

	assert_ok(dat_ep_get_status(ep, &state, &recv_idle, &request_idle));
	cr_assert_eq(state, DAT_EP_STATE_UNCONNECTED);
	cr_assert_eq(recv_idle, DAT_TRUE);
	cr_assert_eq(request_idle, DAT_TRUE);
	for (uint64_t i = 0; i < 7; i++)
		assert_ok(post_recv(ep, i));
	assert_ret(post_recv(ep, 7), DAT_INSUFFICIENT_RESOURCES);
	assert_ok(dat_ep_get_status(ep, NULL, &recv_idle, &request_idle));
	cr_assert_eq(recv_idle, DAT_FALSE);
	cr_assert_eq(request_idle, DAT_TRUE);
	assert_ret(dat_evd_dequeue(t.evd, &ev), DAT_QUEUE_EMPTY);
	assert_ok(dat_ep_free(ep));
}

/* A change that needs another queue pair is refused with posted receives. */
Test(ep, ep_modify__of_queue_lengths_with_receives_posted_is_refused)
{
	DAT_EP_PARAM p = query(t.ep);

	assert_ok(post_recv(t.ep, 1));
	p.ep_attr.max_recv_dtos++;
	assert_ret(dat_ep_modify(t.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &p), DAT_INVALID_STATE);
	p.ep_attr.max_rdma_read_out = 1;
	assert_ok(dat_ep_modify(t.ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT, &p));
	cr_assert_eq(query(t.ep).ep_attr.max_recv_dtos, p.ep_attr.max_recv_dtos - 1);
}

Test(ep, post_recv__invalid_arguments_are_refused)
{
	DAT_LMR_TRIPLET seg[64] = {{0}};
	DAT_DTO_COOKIE cookie = {.as_64 = 1};
	DAT_COUNT iov = query(t.ep).ep_attr.max_recv_iov;

	cr_assert_lt(iov, 64);
	assert_ret(dat_ep_post_recv(t.ep, iov + 1, seg, cookie, 0), DAT_INVALID_PARAMETER);
	assert_ret(dat_ep_post_recv(t.ep, -1, seg, cookie, 0), DAT_INVALID_PARAMETER);
	assert_ret(dat_ep_post_recv(t.ep, 1, NULL, cookie, 0), DAT_INVALID_PARAMETER);
	assert_ret(dat_ep_post_recv(t.ep, 0, NULL, cookie, DAT_COMPLETION_SUPPRESS_FLAG),
		   DAT_INVALID_PARAMETER);
	assert_ret(dat_ep_post_recv(t.ep, 0, NULL, cookie, DAT_COMPLETION_BARRIER_FENCE_FLAG),
		   DAT_INVALID_PARAMETER);
	assert_ret(dat_ep_post_recv(t.ep, 0, NULL, cookie, DAT_COMPLETION_UNSIGNALLED_FLAG),
		   DAT_INVALID_PARAMETER);
	assert_ok(dat_ep_post_recv(t.ep, 0, NULL, cookie, 0));
}

Test(ep, request__unconnected_returns_invalid_state)
{
	DAT_DTO_COOKIE cookie = {.as_64 = 1};
	DAT_RMR_TRIPLET remote = {0};

	assert_code(dat_ep_post_send(t.ep, 0, NULL, cookie, 0), DAT_INVALID_STATE,
		    DAT_INVALID_STATE_EP_UNCONNECTED);
	assert_ret(dat_ep_post_rdma_read(t.ep, 0, NULL, cookie, &remote, 0), DAT_INVALID_STATE);
	assert_ret(dat_ep_post_rdma_write(t.ep, 0, NULL, cookie, &remote, 0), DAT_INVALID_STATE);
}

/* The EVD has room for the outstanding requests of all endpoints. */
Test(ep, ep_create__hundred_endpoints_on_one_evd_succeed)
{
	DAT_EVD_HANDLE evd = api_evd(&t, 100 * (7 + 9), DAT_EVD_DTO_FLAG);
	DAT_EP_ATTR attr = some_attr();
	DAT_EP_HANDLE ep[100];

	for (int i = 0; i < 100; i++)
		assert_ok(dat_ep_create(t.ia, t.pz, evd, evd, t.conn_evd, &attr, &ep[i]));
	for (int i = 0; i < 100; i++) {
		assert_ok(post_recv(ep[i], 1));
		assert_ok(dat_ep_free(ep[i]));
	}
}
