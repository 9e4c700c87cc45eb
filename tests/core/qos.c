/* SPDX-License-Identifier: BSD-2-Clause */
/* DAT_QOS: which classes an adapter supports, and which one a connection gets. */
#include <netinet/in.h>

#include "tests/core/fake_hw.h"

#define SOON 20000000		/* in us: only guards against hangs */

static struct fake_objects o;

static void open_with(uint32_t supported)
{
	fake.qos = supported;
	fake_open_objects(&o, DAT_EVD_DEFAULT_FLAG & ~DAT_EVD_ASYNC_FLAG);
}

static DAT_RETURN create(DAT_QOS qos, DAT_EP_HANDLE *ep)
{
	const DAT_EP_ATTR attr = { .qos = qos, .max_recv_dtos = 4, .max_request_dtos = 4 };

	return dat_ep_create(o.ia, o.pz, o.evd, o.evd, o.evd, &attr, ep);
}

static DAT_RETURN connect_with(DAT_EP_HANDLE ep, DAT_CONN_QUAL to, DAT_QOS qos)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	return dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&here, to, SOON, 0, NULL, qos,
			      DAT_CONNECT_DEFAULT_FLAG);
}

static uint32_t class_of(DAT_EP_HANDLE ep)
{
	return ((const struct dap_ep *)ep)->qos;
}

Test(qos, ia_query__returns_the_classes_of_the_adapter)
{
	DAT_PROVIDER_ATTR attr;

	open_with(DAT_QOS_LOW_LATENCY | DAT_QOS_PREMIUM);
	assert_ok(dat_ia_query(o.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	cr_assert_eq((unsigned int)attr.dat_qos_supported, DAT_QOS_LOW_LATENCY | DAT_QOS_PREMIUM);
	fake_close(o.ia);
}

Test(qos, ep_create__class_that_the_adapter_lacks_is_refused)
{
	DAT_EP_HANDLE ep;

	open_with(DAT_QOS_LOW_LATENCY);
	assert_ok(create(DAT_QOS_BEST_EFFORT, &ep));
	assert_ok(create(DAT_QOS_LOW_LATENCY, &ep));
	assert_ret(create(DAT_QOS_PREMIUM, &ep), DAT_MODEL_NOT_SUPPORTED);
	assert_ret(create((DAT_QOS)3, &ep), DAT_INVALID_PARAMETER);
	assert_ret(create((DAT_QOS)16, &ep), DAT_INVALID_PARAMETER);
	fake_close(o.ia);
}

Test(qos, ep_connect__class_that_the_adapter_lacks_is_refused)
{
	open_with(DAT_QOS_LOW_LATENCY);
	assert_ret(connect_with(o.ep, 1, DAT_QOS_PREMIUM), DAT_MODEL_NOT_SUPPORTED);
	assert_code(connect_with(o.ep, 1, (DAT_QOS)3), DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	assert_ok(connect_with(o.ep, 1, DAT_QOS_LOW_LATENCY));
	fake_close(o.ia);
}

/* If the call says best effort, the endpoint's attributes decide the class. */
Test(qos, ep_connect__class_of_the_call_precedes_that_of_the_endpoint)
{
	static const struct { DAT_QOS attr, call; uint32_t used; } cases[] = {
		{ DAT_QOS_BEST_EFFORT, DAT_QOS_BEST_EFFORT, DAT_QOS_BEST_EFFORT },
		{ DAT_QOS_BEST_EFFORT, DAT_QOS_PREMIUM, DAT_QOS_PREMIUM },
		{ DAT_QOS_ECONOMY, DAT_QOS_BEST_EFFORT, DAT_QOS_ECONOMY },
		{ DAT_QOS_ECONOMY, DAT_QOS_HIGH_THROUGHPUT, DAT_QOS_HIGH_THROUGHPUT },
	};
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	open_with(DAP_QOS_ALL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_ok(create(cases[i].attr, &ep));
		assert_ok(connect_with(ep, 1, cases[i].call));
		cr_expect_eq(class_of(ep), cases[i].used,
			     "case %zu: the connection has the wrong class", i);
		assert_ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
		cr_expect_eq(param.ep_attr.qos, cases[i].attr,
			     "case %zu: the endpoint reports the wrong class", i);
	}
	fake_close(o.ia);
}

/* The request carries no class: each end of a connection has its own. */
Test(qos, cr_accept__uses_the_class_of_the_accepting_endpoint)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE mine;
	DAT_EVENT ev;
	DAT_COUNT more;

	open_with(DAP_QOS_ALL);
	assert_ok(create(DAT_QOS_LOW_LATENCY, &mine));
	assert_ok(dat_psp_create_any(o.ia, &qual, o.evd, DAT_PSP_CONSUMER_FLAG, &psp));
	assert_ok(connect_with(o.ep, qual, DAT_QOS_PREMIUM));
	assert_ok(dat_evd_wait(o.evd, SOON, 1, &ev, &more));
	cr_assert_eq(ev.event_number, DAT_CONNECTION_REQUEST_EVENT);
	assert_ok(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, mine, 0, NULL));
	cr_expect_eq(class_of(o.ep), DAT_QOS_PREMIUM);
	cr_expect_eq(class_of(mine), DAT_QOS_LOW_LATENCY);
	fake_close(o.ia);
}

Test(qos, ep_modify__changes_the_class_of_the_next_connection)
{
	DAT_EP_PARAM param = { .ep_attr.qos = DAT_QOS_LOW_LATENCY };

	open_with(DAT_QOS_LOW_LATENCY);
	assert_ok(dat_ep_modify(o.ep, DAT_EP_FIELD_EP_ATTR_QOS, &param));
	param.ep_attr.qos = DAT_QOS_PREMIUM;
	assert_ret(dat_ep_modify(o.ep, DAT_EP_FIELD_EP_ATTR_QOS, &param), DAT_INVALID_PARAMETER);
	assert_ok(connect_with(o.ep, 1, DAT_QOS_BEST_EFFORT));
	cr_expect_eq(class_of(o.ep), DAT_QOS_LOW_LATENCY);
	fake_close(o.ia);
}
