/* SPDX-License-Identifier: BSD-2-Clause */
/* Features of 2.0 beyond 1.2, most of them through the provider table, because libdat2 exports no call. */
#include <poll.h>
#include <string.h>

#include "tests/dat2/dat2.h"
#include "tests/harness/harness.h"

TestSuite(dat2, .init = sides_open, .fini = sides_close, .timeout = 60);

Test(dat2, table__has_no_hole)
{
	const DAT_PROVIDER *p = PROVIDER(a.ep);

	cr_assert_eq(sizeof(*p), 648);
	for (size_t at = 16; at < sizeof(*p); at += 8) {
		void *slot;

		memcpy(&slot, (const char *)p + at, sizeof(slot));
		cr_assert_not_null(slot, "the function pointer at offset %zu is NULL", at);
	}
	cr_assert_str_eq(p->device_name, side_ia_name());
}

/* Calls any function of the table, with a handle as its only argument. */
typedef DAT_RETURN slot_fn(void *, long, long, long, long, long, long, long, long, long, long, long);

Test(dat2, table__each_call_knows_a_wrong_handle)
{
	/* For each slot, true if the handle of a PZ is valid there. Slot 0 opens an IA. */
	static const char good[79] = {
		[0] = 1, [3] = 1, [4] = 1, [5] = 1,	/* ia_open, contexts, handle_type */
		[40] = 1, [51] = 1, [52] = 1, [72] = 1,	/* rmr_create, pz_query, pz_free, for_ep */
	};
	const char *p;
	DAT_IA_HANDLE raw;
	slot_fn *call;

	raw = side_own_handle(&a);
	p = (const char *)PROVIDER(raw) + 16;
	for (int i = 0; i < 79; i++) {
		memcpy(&call, p + 8 * i, sizeof(call));
		if (!good[i])
			cr_assert_eq(DAT_GET_TYPE(call(a.pz, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
				     DAT_INVALID_HANDLE, "function %d accepted the handle of a PZ",
				     i);
		else if (i >= 40)
			cr_assert_eq(DAT_GET_TYPE(call(a.ep, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
				     DAT_INVALID_HANDLE,
				     "function %d accepted the handle of an endpoint", i);
	}
}

Test(dat2, ia__is_the_registrys_number_in_all_queries)
{
	DAT_EVD_PARAM evd;
	DAT_EP_PARAM ep;
	DAT_LMR_PARAM lmr;
	DAT_PZ_PARAM pz;
	DAT_IA_ATTR ia;

	assert_ok(dat_evd_query(a.dto, DAT_EVD_FIELD_ALL, &evd));
	assert_ok(dat_ep_query(a.ep, DAT_EP_FIELD_ALL, &ep));
	assert_ok(dat_lmr_query(a.lmr, DAT_LMR_FIELD_ALL, &lmr));
	assert_ok(dat_pz_query(a.pz, DAT_PZ_FIELD_ALL, &pz));
	cr_assert_eq(evd.ia_handle, a.ia);
	cr_assert_eq(ep.ia_handle, a.ia);
	cr_assert_eq(lmr.ia_handle, a.ia);
	cr_assert_eq(pz.ia_handle, a.ia);
	cr_assert_eq(ep.comm.domain, AF_INET);
	assert_ok(dat_ia_query(a.ia, NULL, DAT_IA_ALL, &ia, 0, NULL));
	cr_assert_eq(ep.ep_attr.max_rdma_size, ia.max_rdma_size);
	cr_assert_gt(ia.max_rdma_size, 0);
}

Test(dat2, attributes__report_the_features)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR ia;

	assert_ok(dat_ia_query(a.ia, NULL, DAT_IA_ALL, &ia, DAT_PROVIDER_FIELD_ALL, &provider));
	cr_assert_eq(provider.dapl_version_major, 2);
	cr_assert_eq(provider.dapl_version_minor, 0);
	cr_assert_eq(provider.is_thread_safe, DAT_FALSE);
	cr_assert_eq(provider.rdma_read_lmr_rmr_context_exposure, DAT_FALSE);
	cr_assert_eq(provider.evd_stream_merging_supported[2][4], DAT_TRUE);
}

/* The test efa__reports_missing_features checks the opposite. */
Test(dat2, attributes__of_a_connectx_report_its_features)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR ia;

	side_needs(DAT_IB_ATTR_IMMED_DATA);
	side_needs(DAT_IB_ATTR_FETCH_AND_ADD);
	assert_ok(dat_ia_query(a.ia, NULL, DAT_IA_ALL, &ia, DAT_PROVIDER_FIELD_ALL, &provider));
	cr_assert_eq(provider.rmr_scope_supported, DAT_RMR_SCOPE_ANY);
	cr_assert_eq(ia.zb_supported, DAT_TRUE);
	cr_assert_eq(ia.max_rdma_size, 1u << 30);
	cr_assert_eq(ia.extension_supported, DAT_EXTENSION_IB);
	cr_assert_eq(ia.extension_version, DAT_IB_EXTENSION_VERSION);
}

Test(dat2, threadsafe__has_a_line_of_its_own)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR attr;
	DAT_IA_HANDLE ia;

	assert_ok(dat_ia_openv((DAT_NAME_PTR)(unsigned long)side_ia_name(), 8, &async, &ia, 2, 0,
			       DAT_TRUE));
	assert_ok(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	cr_assert_eq(attr.is_thread_safe, DAT_TRUE);
	assert_ok(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

Test(dat2, ia_close__graceful_with_objects_alive_is_refused)
{
	assert_ret(dat_ia_close(a.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
}

Test(dat2, not_supported__is_returned)
{
	DAT_RMR_TRIPLET remote = side_remote(&b, 0, 8);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	const DAT_PROVIDER *p = PROVIDER(a.ep);

	assert_ret(p->ep_post_rdma_read_to_rmr_func(a.ep, &remote, cookie, &remote, 0),
		   DAT_MODEL_NOT_SUPPORTED);
	assert_ret(dat_extension_op(a.ia, (DAT_EXTENDED_OP)DAT_IB_START_COUNTERS_OP, 0),
		   DAT_NOT_IMPLEMENTED);
}

Test(dat2, send_with_invalidate__without_is_a_send)
{
	DAT_LMR_TRIPLET from = side_segment(&a, 0, 5), to = side_segment(&b, 0, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_EVENT ev;

	sides_connect();
	strcpy(a.mem, "word");
	assert_ok(dat_ep_post_recv(b.ep, 1, &to, cookie, 0));
	assert_ok(PROVIDER(a.ep)->ep_post_send_with_invalidate_func(a.ep, 1, &from, cookie, 0,
								     DAT_FALSE, 0));
	ev = side_wait(b.dto, DAT_DTO_COMPLETION_EVENT);
	cr_assert_eq(ev.event_data.dto_completion_event_data.operation, DAT_DTO_RECEIVE);
	cr_assert_eq(ev.event_data.dto_completion_event_data.transfered_length, 5);
	ev = side_wait(a.dto, DAT_DTO_COMPLETION_EVENT);
	cr_assert_eq(ev.event_data.dto_completion_event_data.operation, DAT_DTO_SEND);
	cr_assert_str_eq(b.mem, "word");
}

Test(dat2, ha_related__each_stands_alone)
{
	DAT_NAME_PTR name = (DAT_NAME_PTR)(unsigned long)side_ia_name();
	DAT_BOOLEAN answer = DAT_TRUE;
	DAT_IA_HANDLE raw;

	raw = side_own_handle(&a);
	assert_ok(PROVIDER(a.ep)->ia_ha_related_func(raw, name, &answer));
	cr_assert_eq(answer, DAT_FALSE);
}

Test(dat2, cr_reject__carries_private_data)
{
	DAT_CR_HANDLE cr = side_request(a.ep);
	char word[] = "no";
	DAT_EVENT ev;

	assert_ret(dat_cr_reject(cr, 300, word), DAT_INVALID_PARAMETER);
	assert_ok(dat_cr_reject(cr, sizeof(word), word));
	ev = side_wait(a.conn, DAT_CONNECTION_EVENT_PEER_REJECTED);
	cr_assert_eq(ev.event_data.connect_event_data.private_data_size, (DAT_COUNT)sizeof(word));
	cr_assert_str_eq(ev.event_data.connect_event_data.private_data, "no");
}

/* Returns a port of this process, as a qualifier. */
static in_port_t own_port(void)
{
	return (in_port_t)(16384 + 16 * th_number());
}

Test(dat2, csp__is_reached_by_its_port)
{
	const in_port_t port = own_port();
	const int family = ((struct sockaddr *)side_address(port))->sa_family;
	DAT_COMM comm = { family, SOCK_STREAM, 0 }, odd = { AF_INET6, SOCK_DGRAM, 0 };
	const DAT_PROVIDER *p = PROVIDER(b.ep);
	DAT_CSP_HANDLE csp, other;
	DAT_HANDLE_TYPE type;
	DAT_CSP_PARAM param;
	DAT_IA_HANDLE raw;
	DAT_EVENT ev;

	raw = side_own_handle(&b);
	assert_ret(p->csp_create_func(raw, &odd, side_address(port), b.cr, &csp),
		   DAT_COMM_NOT_SUPPORTED);
	assert_ok(p->csp_create_func(raw, &comm, side_address(port), b.cr, &csp));
	assert_ret(p->csp_create_func(raw, &comm, side_address(port), b.cr, &other),
		   DAT_PORT_IN_USE);
	assert_ok(p->csp_query_func(csp, DAT_CSP_FIELD_ALL, &param));
	cr_assert_eq(param.ia_handle, b.ia);
	cr_assert_eq(param.comm->domain, family);
	cr_assert_eq(((struct sockaddr *)param.address_ptr)->sa_family, family);
	cr_assert_eq(ntohs(((struct sockaddr_in *)param.address_ptr)->sin_port), port);
	assert_ok(dat_get_handle_type(csp, &type));
	cr_assert_eq(type, DAT_HANDLE_TYPE_CSP);
	assert_ret(dat_psp_free(csp), DAT_INVALID_HANDLE);
	assert_ok(p->ep_common_connect_func(a.ep, side_address(port), SOON, 0, NULL));
	ev = side_wait(b.cr, DAT_CONNECTION_REQUEST_EVENT);
	cr_assert_eq(ev.event_data.cr_arrival_event_data.sp_handle.csp_handle, csp);
	assert_ok(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, b.ep, 0, NULL));
	side_wait(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	assert_ok(p->csp_free_func(csp));
	assert_ret(p->csp_free_func(csp), DAT_INVALID_HANDLE);
}

Test(dat2, csp__invalid_arguments_are_refused)
{
	DAT_COMM comm = { AF_INET, SOCK_STREAM, IPPROTO_TCP }, udp = { AF_INET, SOCK_DGRAM, 0 };
	const in_port_t port = own_port();
	DAT_CSP_HANDLE csp = (DAT_CSP_HANDLE)&comm;
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	const DAT_PROVIDER *p = PROVIDER(b.ep);
	DAT_PSP_HANDLE psp;
	DAT_CSP_PARAM param;
	DAT_CONN_QUAL qual;
	DAT_IA_HANDLE raw;

	raw = side_own_handle(&b);
	assert_ret(p->csp_create_func(b.pz, &comm, side_address(port), b.cr, &csp),
		   DAT_INVALID_HANDLE);
	assert_ret(p->csp_create_func(raw, NULL, side_address(port), b.cr, &csp),
		   DAT_INVALID_PARAMETER);
	assert_ret(p->csp_create_func(raw, &udp, side_address(port), b.cr, &csp),
		   DAT_COMM_NOT_SUPPORTED);
	assert_ret(p->csp_create_func(raw, &comm, NULL, b.cr, &csp), DAT_INVALID_PARAMETER);
	assert_ret(p->csp_create_func(raw, &comm, (DAT_IA_ADDRESS_PTR)&six, b.cr, &csp), DAT_INVALID_ADDRESS);
	assert_ret(p->csp_create_func(raw, &comm, side_address(0), b.cr, &csp),
		   DAT_INVALID_ADDRESS);
	assert_ret(p->csp_create_func(raw, &comm, side_address(port), b.dto, &csp),
		   DAT_INVALID_HANDLE);
	assert_ret(p->csp_create_func(raw, &comm, side_address(port), b.cr, NULL),
		   DAT_INVALID_PARAMETER);
	cr_assert_eq(csp, (DAT_CSP_HANDLE)&comm);
	/* A PSP is no valid handle for the functions of CSPs. */
	assert_ok(dat_psp_create_any(b.ia, &qual, b.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	assert_ret(p->csp_query_func(psp, DAT_CSP_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	assert_ret(p->csp_free_func(psp), DAT_INVALID_HANDLE);
	assert_ok(p->csp_create_func(raw, &comm, side_address(port), b.cr, &csp));
	assert_ret(p->csp_query_func(csp, (DAT_CSP_PARAM_MASK)0x100, &param),
		   DAT_INVALID_PARAMETER);
	assert_ret(p->csp_query_func(csp, DAT_CSP_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	assert_ret(dat_ia_close(b.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
	assert_ok(p->csp_free_func(csp));
}

Test(dat2, common_connect__invalid_arguments_are_refused)
{
	const DAT_PROVIDER *p = PROVIDER(a.ep);
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	char data[4] = "abc";

	assert_ret(p->ep_common_connect_func(a.pz, side_address(9), SOON, 0, NULL),
		   DAT_INVALID_HANDLE);
	assert_ret(p->ep_common_connect_func(a.ep, NULL, SOON, 0, NULL), DAT_INVALID_PARAMETER);
	assert_ret(p->ep_common_connect_func(a.ep, (DAT_IA_ADDRESS_PTR)&six, SOON, 0, NULL),
		   DAT_INVALID_ADDRESS);
	assert_ret(p->ep_common_connect_func(a.ep, side_address(0), SOON, 0, NULL),
		   DAT_INVALID_ADDRESS);
	assert_ret(p->ep_common_connect_func(a.ep, side_address(9), 0, 0, NULL),
		   DAT_INVALID_PARAMETER);
	assert_ret(p->ep_common_connect_func(a.ep, side_address(9), SOON, 257, data),
		   DAT_INVALID_PARAMETER);
	assert_ret(p->ep_common_connect_func(a.ep, side_address(9), SOON, 4, NULL),
		   DAT_INVALID_PARAMETER);
	sides_connect();
	assert_ret(PROVIDER(a.ep)->ep_common_connect_func(a.ep, side_address(9), SOON, 0, NULL),
		   DAT_INVALID_STATE);
}

Test(dat2, calls_of_the_table__number_their_own_arguments)
{
	const DAT_PROVIDER *p = PROVIDER(a.ep);
	DAT_RMR_TRIPLET remote = side_remote(&b, 0, 8);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_BOOLEAN answer;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE raw;
	DAT_FD fd;

	raw = side_own_handle(&a);
	assert_ret(p->cno_fd_create_func(a.ep, &fd, &cno), DAT_INVALID_HANDLE);
	assert_code(p->cno_fd_create_func(raw, NULL, &cno), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	assert_code(p->cno_fd_create_func(raw, &fd, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_ok(p->cno_fd_create_func(raw, &fd, &cno));
	assert_ret(p->cno_trigger_func(a.ep, &evd), DAT_INVALID_HANDLE);
	assert_code(p->cno_trigger_func(cno, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	assert_ok(dat_cno_free(cno));
	assert_code(p->ia_ha_related_func(raw, NULL, &answer), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	assert_code(p->ia_ha_related_func(raw, (DAT_NAME_PTR)(unsigned long)"any", NULL),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_code(p->ep_post_rdma_read_to_rmr_func(a.ep, NULL, cookie, &remote, 0), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG2);
	assert_code(p->ep_post_rdma_read_to_rmr_func(a.ep, &remote, cookie, NULL, 0), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG4);
}

static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)data, (void)evd;
}

Test(dat2, cno_query__returns_the_agent)
{
	DAT_OS_WAIT_PROXY_AGENT with = { .instance_data = &a, .proxy_agent_func = agent };
	DAT_CNO_PARAM param;
	DAT_CNO_HANDLE cno;

	assert_ok(dat_cno_create(a.ia, with, &cno));
	assert_ok(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	cr_expect_eq(param.proxy_type, DAT_PROXY_TYPE_AGENT);
	cr_expect_eq(param.proxy.agent.proxy_agent_func, agent);
	cr_expect_eq(param.proxy.agent.instance_data, (void *)&a);
	assert_ok(dat_cno_free(cno));
	assert_ok(dat_cno_create(a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	assert_ok(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	cr_expect_eq(param.proxy_type, DAT_PROXY_TYPE_NONE);
	assert_ok(dat_cno_free(cno));
}

Test(dat2, cno_fd__is_readable_after_an_event)
{
	struct pollfd fd = { .events = POLLIN };
	DAT_EVD_HANDLE evd, told = NULL;
	DAT_EVENT se = { .event_number = DAT_SOFTWARE_EVENT }, ev;
	DAT_CNO_HANDLE cno;
	DAT_CNO_PARAM param;
	DAT_IA_HANDLE raw;

	raw = side_own_handle(&a);
	assert_ok(PROVIDER(a.ep)->cno_fd_create_func(raw, &fd.fd, &cno));
	assert_ok(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	cr_assert_eq(param.proxy_type, DAT_PROXY_TYPE_FD);
	cr_assert_eq(param.proxy.fd, fd.fd);
	assert_ok(dat_evd_create(a.ia, 4, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	cr_assert_eq(poll(&fd, 1, 0), 0);
	assert_ret(PROVIDER(cno)->cno_trigger_func(cno, &told), DAT_QUEUE_EMPTY);
	assert_ok(dat_evd_post_se(evd, &se));
	cr_assert_eq(poll(&fd, 1, SOON / 1000), 1);
	assert_ok(PROVIDER(cno)->cno_trigger_func(cno, &told));
	cr_assert_eq(told, evd);
	assert_ok(dat_evd_dequeue(evd, &ev));
	cr_assert_eq(poll(&fd, 1, 0), 0);
	assert_ok(dat_evd_free(evd));
	assert_ok(dat_cno_free(cno));
	cr_assert_eq(poll(&fd, 1, 0), 1);
	cr_assert(fd.revents & POLLNVAL);
}

Test(dat2, rmr_bind__names_its_lmr)
{
	DAT_LMR_TRIPLET part = side_segment(&b, 0, 64), from = side_segment(&a, 0, 8);
	DAT_RMR_COOKIE cookie = { .as_64 = 3 };
	DAT_RMR_TRIPLET to;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_PARAM param;
	DAT_RMR_CONTEXT context;

	sides_connect();
	strcpy(a.mem, "through");
	assert_ok(dat_rmr_create(b.pz, &rmr));
	assert_ret(dat_rmr_bind(rmr, a.lmr, &part, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_VA,
				b.ep, cookie, 0, &context), DAT_INVALID_HANDLE);
	assert_ok(dat_rmr_bind(rmr, b.lmr, &part, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_VA,
			       b.ep, cookie, 0, &context));
	side_wait(b.dto, DAT_RMR_BIND_COMPLETION_EVENT);
	assert_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	cr_assert_eq(param.ia_handle, b.ia);
	cr_assert_eq(param.lmr_triplet.segment_length, 64);
	to = (DAT_RMR_TRIPLET){ part.virtual_address, 64, context };
	assert_ok(dat_ep_post_rdma_write(a.ep, 1, &from, cookie, &to, 0));
	cr_assert_eq(side_wait(a.dto, DAT_DTO_COMPLETION_EVENT)
		     .event_data.dto_completion_event_data.operation, DAT_DTO_RDMA_WRITE);
	cr_assert_str_eq(b.mem, "through");
}

Test(dat2, rmr_bind__endpoint_of_another_zone_is_its_sixth_argument)
{
	DAT_LMR_TRIPLET nothing = side_segment(&b, 0, 0);
	DAT_RMR_COOKIE cookie = { .as_64 = 3 };
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE pz;

	sides_connect();
	assert_ok(dat_pz_create(b.ia, &pz));
	assert_ok(dat_rmr_create(pz, &rmr));
	assert_code(dat_rmr_bind(rmr, b.lmr, &nothing, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_VA, b.ep,
				 cookie, 0, &context), DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
}

static DAT_IB_EXTENSION_EVENT_DATA extension(DAT_EVENT *ev)
{
	DAT_IB_EXTENSION_EVENT_DATA data;

	memcpy(&data, ev->event_extension_data, sizeof(data));
	return data;
}

Test(dat2, write_immed__is_reported_at_both_ends)
{
	DAT_LMR_TRIPLET from = side_segment(&a, 0, 6), recv = side_segment(&b, 4096, 64);
	DAT_RMR_TRIPLET to = side_remote(&b, 0, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = 5 };
	DAT_EVENT ev;

	side_needs(DAT_IB_ATTR_IMMED_DATA);
	sides_connect();
	strcpy(a.mem, "hello");
	assert_ok(dat_ep_post_recv(b.ep, 1, &recv, cookie, 0));
	assert_ok(dat_ib_post_rdma_write_immed(a.ep, 1, &from, cookie, &to, 0x12345678, 0));
	ev = side_wait(b.dto, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	cr_assert_eq(extension(&ev).type, DAT_IB_RDMA_WRITE_IMMED_DATA);
	cr_assert_eq(extension(&ev).val.immed.data, 0x12345678);
	cr_assert_eq(ev.event_data.dto_completion_event_data.transfered_length, 6);
	ev = side_wait(a.dto, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	cr_assert_eq(extension(&ev).type, DAT_IB_RDMA_WRITE_IMMED);
	cr_assert_str_eq(b.mem, "hello");
}

/* Gives b a receive with solicited notification; returns the CNO that its EVD triggers. */
static DAT_CNO_HANDLE solicited_at_b(DAT_EVD_HANDLE *evd)
{
	const DAT_EP_PARAM_MASK mask = DAT_EP_FIELD_RECV_EVD_HANDLE |
				       DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS;
	DAT_EP_PARAM param = { .ep_attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG };
	DAT_LMR_TRIPLET recv = side_segment(&b, 4096, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = 5 };
	DAT_CNO_HANDLE cno;

	assert_ok(dat_cno_create(b.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	assert_ok(dat_evd_create(b.ia, 8, cno, DAT_EVD_DTO_FLAG, evd));
	param.recv_evd_handle = *evd;
	assert_ok(dat_ep_modify(b.ep, mask, &param));
	assert_ok(dat_ep_post_recv(b.ep, 1, &recv, cookie, 0));
	return cno;
}

Test(dat2, write_immed__that_is_solicited_notifies_the_peer)
{
	DAT_LMR_TRIPLET from = side_segment(&a, 0, 6);
	DAT_RMR_TRIPLET to = side_remote(&b, 0, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = 5 };
	DAT_EVD_HANDLE evd, got = NULL;
	DAT_CNO_HANDLE cno;

	side_needs(DAT_IB_ATTR_IMMED_DATA);
	cno = solicited_at_b(&evd);
	sides_connect();
	assert_ok(dat_ib_post_rdma_write_immed(a.ep, 1, &from, cookie, &to, 7,
					       DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	assert_ok(dat_cno_wait(cno, SOON, &got));
	cr_assert_eq(got, evd);
	side_wait(evd, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
}

/* The attributes of both atomics tell what the calls return. */
Test(dat2, atomics__are_refused_if_not_announced)
{
	DAT_LMR_TRIPLET result = side_segment(&a, 8, 8);
	DAT_RMR_TRIPLET at = side_remote(&b, 16, 8);
	DAT_RETURN want = side_says(DAT_IB_ATTR_FETCH_AND_ADD, "TRUE") ? DAT_SUCCESS :
			  side_says("DAT_EXTENSION_INTERFACE", "TRUE") ? DAT_MODEL_NOT_SUPPORTED :
									 DAT_NOT_IMPLEMENTED;
	DAT_DTO_COOKIE cookie = { .as_64 = 6 };

	cr_assert(side_says(DAT_IB_ATTR_CMP_AND_SWAP, want == DAT_SUCCESS ? "TRUE" : "FALSE"));
	sides_connect();
	assert_ret(dat_ib_post_fetch_and_add(a.ep, 2, &result, cookie, &at, 0), want);
	assert_ret(dat_ib_post_cmp_and_swap(a.ep, 41, 7, &result, cookie, &at, 0), want);
}

Test(dat2, atomics__return_the_old_value)
{
	DAT_LMR_TRIPLET result = side_segment(&a, 8, 8);
	DAT_RMR_TRIPLET at = side_remote(&b, 16, 8), odd = side_remote(&b, 17, 8);
	DAT_UINT64 *was = (DAT_UINT64 *)(void *)(a.mem + 8), *now = (DAT_UINT64 *)(void *)(b.mem + 16);
	DAT_DTO_COOKIE cookie = { .as_64 = 6 };
	DAT_EVENT ev;

	side_needs(DAT_IB_ATTR_FETCH_AND_ADD);
	sides_connect();
	*now = 40;
	assert_ret(dat_ib_post_fetch_and_add(a.ep, 2, &result, cookie, &odd, 0),
		   DAT_INVALID_PARAMETER);
	assert_ok(dat_ib_post_fetch_and_add(a.ep, 2, &result, cookie, &at, 0));
	ev = side_wait(a.dto, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	cr_assert_eq(extension(&ev).type, DAT_IB_FETCH_AND_ADD);
	cr_assert_eq(*was, 40);
	cr_assert_eq(*now, 42);
	assert_ok(dat_ib_post_cmp_and_swap(a.ep, 41, 7, &result, cookie, &at, 0));
	side_wait(a.dto, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	cr_assert_eq(*was, 42);
	cr_assert_eq(*now, 42);
	assert_ok(dat_ib_post_cmp_and_swap(a.ep, 42, 7, &result, cookie, &at, 0));
	side_wait(a.dto, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	cr_assert_eq(*now, 7);
}

Test(dat2, atomics__reach_an_lmr_that_grants_nothing_else)
{
	DAT_LMR_TRIPLET result = side_segment(&a, 8, 8);
	DAT_UINT64 *now = (DAT_UINT64 *)(void *)b.mem;
	DAT_REGION_DESCRIPTION region = { .for_va = b.mem };
	DAT_RMR_TRIPLET at = side_remote(&b, 0, 8);
	DAT_DTO_COOKIE cookie = { .as_64 = 6 };
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	DAT_VADDR base;
	DAT_VLEN size;

	side_needs(DAT_IB_ATTR_FETCH_AND_ADD);
	sides_connect();
	assert_ok(dat_lmr_create(b.ia, DAT_MEM_TYPE_VIRTUAL, region, 64, b.pz, DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
				 (DAT_MEM_PRIV_FLAGS)DAT_IB_MEM_PRIV_REMOTE_ATOMIC, DAT_VA_TYPE_VA,
				 &lmr, &context, &at.rmr_context, &size, &base));
	cr_assert_neq(at.rmr_context, 0);
	*now = 40;
	assert_ok(dat_ib_post_fetch_and_add(a.ep, 2, &result, cookie, &at, 0));
	side_wait(a.dto, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	cr_assert_eq(*now, 42);
}
