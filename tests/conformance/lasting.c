/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects that must last, and arguments that must be ignored. */
#include <string.h>

#include "tests/conformance/fixture.h"

#define ASKING 4

/* The private data stay valid when another request is answered, when that request's peer ends, and when
 * the service point is freed. */
STATEMENT(cr_query__private_data_stay_until_answered, dat_cr_query, DESCRIPTION)
{
	DAT_EP_HANDLE ep[ASKING];
	DAT_CR_PARAM p[ASKING];
	DAT_CR_HANDLE cr[ASKING];
	char data[ASKING][32];
	struct side a, b;

	two_open_apart(&a, &b);
	side_listen(&b);
	for (int i = 0; i < ASKING; i++) {
		memset(data[i], 'a' + i, sizeof(data[i]));
		ep[i] = side_ep(&a, NULL);
		must(dial_with(ep[i], &b, b.qual, data[i], sizeof(data[i])));
		cr[i] = side_request(&b);
		must(dat_cr_query(cr[i], DAT_CR_FIELD_ALL, &p[i]));
	}
	must(dat_cr_reject(cr[0]));
	took_conn(&a, ep[0], DAT_CONNECTION_EVENT_PEER_REJECTED);
	must(dat_ep_free(ep[1]));
	must(dat_psp_free(b.psp));
	for (int i = 1; i < ASKING; i++) {
		check(p[i].private_data_size >= (DAT_COUNT)sizeof(data[i]));
		same(memcmp(p[i].private_data, data[i], sizeof(data[i])), 0);
	}
	must(dat_cr_accept(cr[2], b.ep, 0, NULL));
	took_conn(&a, ep[2], DAT_CONNECTION_EVENT_ESTABLISHED);
	same(memcmp(p[3].private_data, data[3], sizeof(data[3])), 0);
	two_close(&a, &b);
}

/* The second LMR has the length of the first, whatever length the call passes. */
STATEMENT(lmr_create__of_an_lmr_passes_over_the_length, dat_lmr_create, PARAMETERS)
{
	static const DAT_VLEN lengths[] = { 1, MEM, MEM + 1, (DAT_VLEN)-1 };
	DAT_REGION_DESCRIPTION base;
	DAT_LMR_HANDLE lmr;
	DAT_VADDR at;
	DAT_VLEN size;
	struct side s;

	side_open(&s);
	base.for_lmr_handle = s.lmr;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		must(dat_lmr_create(s.ia, DAT_MEM_TYPE_LMR, base, lengths[i], s.pz, RIGHTS_LOCAL,
				    &lmr, NULL, NULL, &size, &at));
		check(at <= (uintptr_t)s.mem && at + size >= (uintptr_t)s.mem + MEM);
		must(dat_lmr_free(lmr));
	}
	side_close(&s);
}

/* The async EVD belongs to the IA that created it, even if an IA that shares it closes abruptly. */
STATEMENT(ia_close__leaves_an_async_evd_of_another, dat_ia_close, DESCRIPTION)
{
	DAT_EVD_HANDLE async, shared;
	DAT_IA_HANDLE first = ia_open(&async), second;
	DAT_EVD_PARAM param;

	shared = async;
	must(dat_ia_open((char *)(uintptr_t)conform_options.ia, 0, &shared, &second));
	must(dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG));
	must(dat_evd_query(async, DAT_EVD_FIELD_ALL, &param));
	check(param.ia_handle == first);
	nothing_on(async);
	must(dat_ia_close(first, DAT_CLOSE_GRACEFUL_FLAG));
}

STATEMENT(ep_post_recv__unsignalled_where_the_endpoint_is, dat_ep_post_recv, DESCRIPTION)
{
	DAT_EP_ATTR attr = side_attr();
	DAT_LMR_TRIPLET t;
	struct side s;

	side_open(&s);
	t = seg(&s, 0, 64);
	must_be(DAT_INVALID_PARAMETER, dat_ep_post_recv(s.ep, 1, &t, cookie(1), UNSIGNALLED));
	attr.recv_completion_flags = UNSIGNALLED;
	s.ep = side_ep_on(&s, &attr, side_evd(&s, 32, DAT_EVD_DTO_FLAG));
	must(dat_ep_post_recv(s.ep, 1, &t, cookie(1), UNSIGNALLED));
	must(dat_ep_post_recv(s.ep, 1, &t, cookie(2), DEFAULT));
	side_close(&s);
}
