/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/dat2/dat2.h"

struct side a, b;

/* libdat2 has read its dat.conf before main, so the process executes itself again with the dat.conf
 * of 2.0. */
__attribute__((constructor)) static void choose_file(int argc, char **argv)
{
	const char *dir = getenv("DAPL_BUILD_DIR"), *now = getenv("DAT_OVERRIDE");
	char file[512];

	(void)argc;
	snprintf(file, sizeof(file), "%s/etc/dat2.conf", dir ? dir : "build");
	if (now && !strcmp(now, file))
		return;
	setenv("DAT_OVERRIDE", file, 1);
	execv("/proc/self/exe", argv);
}

const char *side_ia_name(void)
{
	const char *name = getenv("DAPL_TEST_IA");

	return name ? name : "soft-mlx5-0";
}

bool side_says(const char *name, const char *value)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR ia;

	assert_ok(dat_ia_query(a.ia, NULL, DAT_IA_ALL, &ia, DAT_PROVIDER_FIELD_ALL, &provider));
	for (DAT_COUNT i = 0; i < provider.num_provider_specific_attr; i++)
		if (!strcmp(provider.provider_specific_attr[i].name, name))
			return !strcmp(provider.provider_specific_attr[i].value, value);
	for (DAT_COUNT i = 0; i < ia.num_transport_attr; i++)
		if (!strcmp(ia.transport_attr[i].name, name))
			return !strcmp(ia.transport_attr[i].value, value);
	for (DAT_COUNT i = 0; i < ia.num_vendor_attr; i++)
		if (!strcmp(ia.vendor_attr[i].name, name))
			return !strcmp(ia.vendor_attr[i].value, value);
	cr_assert_fail("the IA has no attribute %s", name);
	return false;
}

void side_needs(const char *name)
{
	if (side_says(name, "FALSE"))
		side_skip("the adapter says %s = FALSE", name);
}

void side_needs_windows(void)
{
	DAT_PROVIDER_ATTR provider;

	assert_ok(dat_ia_query(a.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &provider));
	if (provider.rmr_scope_supported != DAT_RMR_SCOPE_ANY)
		side_skip("the adapter says rmr_scope_supported = DAT_RMR_SCOPE_PZ");
}

void side_needs_zero_based(void)
{
	DAT_IA_ATTR ia;

	assert_ok(dat_ia_query(a.ia, NULL, DAT_IA_ALL, &ia, 0, NULL));
	if (!ia.zb_supported)
		side_skip("the adapter says zb_supported = FALSE");
}

void side_needs_srq(void)
{
	DAT_PROVIDER_ATTR provider;

	assert_ok(dat_ia_query(a.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &provider));
	if (!provider.srq_supported)
		side_skip("the adapter says srq_supported = FALSE");
}

/* Returns the right for atomics, if the adapter supports them. */
static DAT_MEM_PRIV_FLAGS rights(DAT_IA_HANDLE ia)
{
	DAT_IA_ATTR attr;

	assert_ok(dat_ia_query(ia, NULL, DAT_IA_ALL, &attr, 0, NULL));
	return DAT_MEM_PRIV_ALL_FLAG | (attr.extension_supported != DAT_EXTENSION_IB ? 0 :
		(DAT_MEM_PRIV_FLAGS)DAT_IB_MEM_PRIV_REMOTE_ATOMIC);
}

static void side_open(struct side *s)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN size;
	DAT_VADDR at;

	*s = (struct side){ .async = DAT_HANDLE_NULL };
	assert_ok(dat_ia_open((DAT_NAME_PTR)(unsigned long)side_ia_name(), 8, &s->async, &s->ia));
	assert_ok(dat_pz_create(s->ia, &s->pz));
	assert_ok(dat_evd_create(s->ia, 32, NULL, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &s->dto));
	assert_ok(dat_evd_create(s->ia, 8, NULL, DAT_EVD_CONNECTION_FLAG, &s->conn));
	assert_ok(dat_evd_create(s->ia, 8, NULL, DAT_EVD_CR_FLAG, &s->cr));
	assert_ok(dat_ep_create(s->ia, s->pz, s->dto, s->dto, s->conn, NULL, &s->ep));
	s->mem = calloc(1, MEM);
	region.for_va = s->mem;
	assert_ok(dat_lmr_create(s->ia, DAT_MEM_TYPE_VIRTUAL, region, MEM, s->pz,
				 rights(s->ia), DAT_VA_TYPE_VA, &s->lmr, &s->lmr_context,
				 &s->rmr_context, &size, &at));
}

DAT_IA_HANDLE side_own_handle(const struct side *s)
{
	extern DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE, DAT_IA_HANDLE *);
	DAT_IA_HANDLE own;

	assert_ok(dats_get_ia_handle(s->ia, &own));
	return own;
}

void sides_open(void)
{
	side_open(&a);
	side_open(&b);
}

void sides_close(void)
{
	dat_ia_close(a.ia, DAT_CLOSE_ABRUPT_FLAG);
	dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
	free(a.mem);
	free(b.mem);
}

DAT_EVENT side_wait(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	assert_ok(dat_evd_wait(evd, SOON, 1, &ev, &more));
	cr_assert_eq(ev.event_number, number, "the wrong event 0x%x came", ev.event_number);
	return ev;
}

DAT_IA_ADDRESS_PTR side_address(in_port_t port)
{
	static union { struct sockaddr_in v4; struct sockaddr_in6 v6; } address;
	DAT_IA_ATTR ia;

	address.v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port),
					   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_ok(dat_ia_query(b.ia, NULL, DAT_IA_ALL, &ia, 0, NULL));
	if (ia.ia_address_ptr->sa_family == AF_INET6) {
		memcpy(&address.v6, ia.ia_address_ptr, sizeof(address.v6));
		address.v6.sin6_port = htons(port);
	}
	return (DAT_IA_ADDRESS_PTR)&address;
}

DAT_CR_HANDLE side_request(DAT_EP_HANDLE from)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EVENT ev;

	assert_ok(dat_psp_create_any(b.ia, &qual, b.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	assert_ok(dat_ep_connect(from, side_address(0), qual, SOON, 0, NULL, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
	ev = side_wait(b.cr, DAT_CONNECTION_REQUEST_EVENT);
	return ev.event_data.cr_arrival_event_data.cr_handle;
}

static void connect_to(DAT_EP_HANDLE from, DAT_EP_HANDLE to)
{
	assert_ok(dat_cr_accept(side_request(from), to, 0, NULL));
	side_wait(b.conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	side_wait(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED);
}

void sides_connect(void)
{
	connect_to(a.ep, b.ep);
}

void sides_connect_more(DAT_EP_HANDLE *of_a, DAT_EP_HANDLE *of_b)
{
	assert_ok(dat_ep_create(a.ia, a.pz, a.dto, a.dto, a.conn, NULL, of_a));
	assert_ok(dat_ep_create(b.ia, b.pz, b.dto, b.dto, b.conn, NULL, of_b));
	connect_to(*of_a, *of_b);
}

DAT_LMR_TRIPLET side_segment(const struct side *s, DAT_VADDR offset, DAT_SEG_LENGTH length)
{
	return (DAT_LMR_TRIPLET){ (DAT_VADDR)(unsigned long)s->mem + offset, length, s->lmr_context };
}

DAT_RMR_TRIPLET side_remote(const struct side *s, DAT_VADDR offset, DAT_SEG_LENGTH length)
{
	return (DAT_RMR_TRIPLET){ (DAT_VADDR)(unsigned long)s->mem + offset, length, s->rmr_context };
}
