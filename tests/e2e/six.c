/* SPDX-License-Identifier: BSD-2-Clause */
/* An adapter with an IPv6 address: what it reports, and connections to it. */
#include <arpa/inet.h>

#include "tests/e2e/ends.h"

static DAT_IA_ATTR attr;

static void needs_ipv6(void)
{
	if (th_no_ipv6())
		cr_skip_test("no IPv6 on this machine, ::1: %s", th_no_ipv6());
}

static void setup(void)
{
	needs_ipv6();
	rig_conf("strict=1;ip=::1");
	end_open(&a, RIG_MEM, NULL);
	end_open(&b, RIG_MEM, NULL);
	must(dat_ia_query(b.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
}

static bool is_loopback(DAT_IA_ADDRESS_PTR at)
{
	const struct sockaddr_in6 *six = (const void *)at;

	return six->sin6_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static DAT_RETURN dial(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR to)
{
	return dat_ep_connect(ep, to, b.qual, SOON_MS * 1000u, 0, NULL, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

static void join(void)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	end_listen(&b);
	must(dial(a.ep, attr.ia_address_ptr));
	cr = end_request(&b);
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	check(is_loopback(param.remote_ia_address_ptr));
	must(dat_cr_accept(cr, b.ep, 0, NULL));
	took_conn(&b, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

RIG_TEST(six, ia_query__returns_the_ipv6_address_of_ip)
{
	check(is_loopback(attr.ia_address_ptr));
}

/* A program that reads sizeof(DAT_SOCK_ADDR) bytes must get an IPv6 address only if ia_params ask
 * for it. */
Test(six, ia_query__returns_ipv4_without_ip)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	rig_conf("strict=1");
	must(rig_ia_open(&async, &ia));
	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	same(attr.ia_address_ptr->sa_family, AF_INET);
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

RIG_TEST(six, ep_connect__moves_data_and_shows_both_addresses)
{
	DAT_EP_PARAM pa, pb;

	join();
	must(dat_ep_query(a.ep, DAT_EP_FIELD_ALL, &pa));
	must(dat_ep_query(b.ep, DAT_EP_FIELD_ALL, &pb));
	check(is_loopback(pa.local_ia_address_ptr) && is_loopback(pa.remote_ia_address_ptr));
	check(is_loopback(pb.local_ia_address_ptr) && is_loopback(pb.remote_ia_address_ptr));
	fill(a.mem, 4096, 6);
	must(do_recv(&b, 1, 0, 4096));
	must(do_send(&a, 2, 0, 4096, 0));
	same(took(b.recv_evd, 1, DAT_DTO_SUCCESS), 4096);
	took(a.req_evd, 2, DAT_DTO_SUCCESS);
	check(filled(b.mem, 4096, 6));
}

RIG_TEST(six, ep_dup_connect__reaches_the_ipv6_address_again)
{
	DAT_EP_HANDLE more[2] = { end_ep(&a, NULL), end_ep(&b, NULL) };

	join();
	must(dat_ep_dup_connect(more[0], a.ep, SOON_MS * 1000u, 0, NULL, DAT_QOS_BEST_EFFORT));
	must(dat_cr_accept(end_request(&b), more[1], 0, NULL));
	took_conn(&b, more[1], DAT_CONNECTION_EVENT_ESTABLISHED);
	took_conn(&a, more[0], DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* RFC 4291: unspecified, multicast; RFC 4007: a link-local address without its link. */
RIG_TEST(six, ep_connect__refuses_addresses_that_no_host_has)
{
	static const char *const none[] = {
		"::", "ff02::1", "fe80::1", "::ffff:0.0.0.0", "::ffff:224.0.0.1",
	};
	struct sockaddr_in6 to = { .sin6_family = AF_INET6 };

	end_listen(&b);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		same(inet_pton(AF_INET6, none[i], &to.sin6_addr), 1);
		must_code(dial(a.ep, (DAT_IA_ADDRESS_PTR)&to), DAT_INVALID_ADDRESS,
			  DAT_INVALID_ADDRESS_MALFORMED);
	}
	same(end_state(a.ep), DAT_EP_STATE_UNCONNECTED);
}
