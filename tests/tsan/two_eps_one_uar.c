/* SPDX-License-Identifier: BSD-2-Clause */
/* More endpoints than BlueFlame registers in one IA, two of them posting at once. */
#include "tests/tsan/tsan.h"

enum { EPS = 40 };

struct one {
	struct pair *p;
	DAT_EP_HANDLE ep;
};

static DAT_EP_HANDLE eps[EPS], peers[EPS];

static void *poster(void *arg)
{
	struct one *o = arg;
	struct pair view = *o->p;

	view.a.ep = o->ep;
	tsan_must(tsan_write_all(&view, TSAN_OPS / 2, DAT_COMPLETION_DEFAULT_FLAG),
		  "a post failed");
	return NULL;
}

static void connect_one(struct pair *p, int i)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	DAT_EP_HANDLE first = p->a.ep;
	DAT_PSP_PARAM psp;
	DAT_CR_HANDLE cr;

	tsan_must(consumer_make_ep(&p->a, NULL) == 0 && consumer_make_ep(&p->b, NULL) == 0,
		  "consumer_make_ep failed");
	eps[i] = p->a.ep;
	peers[i] = p->b.ep;
	p->a.ep = first;
	tsan_must(dat_ok(dat_psp_query(p->b.psp, DAT_PSP_FIELD_ALL, &psp), "dat_psp_query"),
		  "dat_psp_query failed");
	tsan_must(dat_ok(dat_ep_connect(eps[i], (DAT_IA_ADDRESS_PTR)&to, psp.conn_qual, 10000000, 0,
					NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
			 "dat_ep_connect"),
		  "dat_ep_connect failed");
	tsan_must(consumer_wait_request(&p->b, &cr, 10000000000u) == 0,
		  "consumer_wait_request failed");
	tsan_must(dat_ok(dat_cr_accept(cr, peers[i], 0, NULL), "dat_cr_accept"),
		  "dat_cr_accept failed");
	tsan_must(consumer_wait_established(&p->b, NULL, NULL) == 0 &&
			  consumer_wait_established(&p->a, NULL, NULL) == 0,
		  "consumer_wait_established failed");
}

int main(void)
{
	static struct pair p;
	struct one x, y;
	pthread_t t, u;
	int i;

	tsan_must(pair_open(&p, tsan_ia()) == 0, "pair_open failed");
	for (i = 0; i < EPS; i++)
		connect_one(&p, i);
	/* The last two endpoints share a UAR, because all registers are in use. */
	x = (struct one){ &p, eps[EPS - 2] };
	y = (struct one){ &p, eps[EPS - 1] };
	t = tsan_thread(poster, &x);
	u = tsan_thread(poster, &y);
	tsan_reap(p.a.req_evd, TSAN_OPS / 2 * 2);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	pair_close(&p);
	return 0;
}
