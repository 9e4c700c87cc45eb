/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two endpoints share their receives with a nonthreadsafe IA: one thread posts to the SRQ, and one
 * thread per endpoint dequeues its completions.
 */
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "tests/tsan/tsan.h"

enum { EPS = 2, RECVS = 16, QUAL = 46290 };

static struct consumer a, b;
static DAT_EP_HANDLE from[EPS], to[EPS];
static DAT_EVD_HANDLE evd[EPS];
static DAT_SRQ_HANDLE srq;

static void join(DAT_EP_HANDLE active, DAT_EP_HANDLE passive, uint64_t qual)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	DAT_CR_HANDLE cr;

	tsan_must(dat_ep_connect(active, (DAT_IA_ADDRESS_PTR)&addr, qual, 10000000, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG) == DAT_SUCCESS &&
		  consumer_wait_request(&b, &cr, 10000000000u) == 0 &&
		  dat_cr_accept(cr, passive, 0, NULL) == DAT_SUCCESS &&
		  consumer_wait_established(&b, NULL, NULL) == 0 &&
		  consumer_wait_established(&a, NULL, NULL) == 0, "dat_ep_connect failed");
}

static void open_all(void)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = RECVS, .max_request_dtos = RECVS };
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = RECVS, .max_recv_iov = 1 };
	uint64_t qual = QUAL + (uint64_t)getpid() % 1000;
	DAT_RETURN ret;

	tsan_must(!consumer_open(&a, tsan_ia()) && !consumer_open(&b, tsan_ia()),
		  "consumer_open failed");
	tsan_must(!consumer_listen(&b, qual), "consumer_listen failed");
	ret = dat_srq_create(b.ia, b.pz, &srq_attr, &srq);
	if (DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED) {
		puts("the adapter says srq_supported = FALSE");
		exit(77);
	}
	tsan_must(ret == DAT_SUCCESS, "dat_srq_create failed");
	for (int i = 0; i < EPS; i++) {
		tsan_must(dat_evd_create(b.ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
					 &evd[i]) == DAT_SUCCESS &&
			  dat_ep_create_with_srq(b.ia, b.pz, evd[i], b.req_evd, b.conn_evd, srq,
						 &attr, &to[i]) == DAT_SUCCESS &&
			  dat_ep_create(a.ia, a.pz, a.recv_evd, a.req_evd, a.conn_evd, &attr,
					&from[i]) == DAT_SUCCESS, "dat_evd_create failed");
		join(from[i], to[i], qual);
	}
}

static void *poster(void *arg)
{
	uint64_t until = now_ns() + TSAN_LIMIT_S * 1000000000ull;
	DAT_DTO_COOKIE c = { .as_64 = 0 };

	(void)arg;
	while (c.as_64 < EPS * TSAN_OPS) {
		DAT_RETURN ret = dat_srq_post_recv(srq, 0, NULL, c);

		if (ret == DAT_SUCCESS) {
			c.as_64++;
			continue;
		}
		tsan_must(DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES,
			  "dat_srq_post_recv failed");
		tsan_must(now_ns() < until, "the queue stays full");
		sched_yield();
	}
	return NULL;
}

static void *poller(void *arg)
{
	tsan_reap(*(DAT_EVD_HANDLE *)arg, TSAN_OPS);
	return NULL;
}

int main(void)
{
	DAT_DTO_COOKIE c = { .as_64 = 1 };
	pthread_t thread[EPS + 1];

	open_all();
	thread[EPS] = tsan_thread(poster, NULL);
	for (int i = 0; i < EPS; i++)
		thread[i] = tsan_thread(poller, &evd[i]);
	for (unsigned int n = 0; n < TSAN_OPS; n++) {
		for (int i = 0; i < EPS; i++)
			tsan_must(dat_ep_post_send(from[i], 0, NULL, c, 0) == DAT_SUCCESS,
				  "dat_ep_post_send failed");
		tsan_reap(a.req_evd, EPS);
	}
	for (int i = 0; i <= EPS; i++)
		pthread_join(thread[i], NULL);
	consumer_close(&a);
	consumer_close(&b);
	return 0;
}
