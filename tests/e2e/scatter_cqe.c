/* SPDX-License-Identifier: BSD-2-Clause */
/* With the ia_param scatter_cqe, the data of small receives and reads is in the CQE. */
#include "tests/e2e/ends.h"

static void setup(void)
{
	rig_conf("scatter_cqe=2");
	pair_open(&a, &b);
}

TestSuite(scatter_cqe, .timeout = 60);

static const size_t sizes[] = { 0, 1, 8, 31, 32, 33, 64, 65, 5000 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

RIG_TEST(scatter_cqe, receive__of_each_size_lands_unchanged)
{
	for (size_t i = 0; i < SIZES; i++) {
		memset(b.mem, 0, 6000);
		fill(a.mem, sizes[i], i + 1);
		must(do_recv(&b, i, 100, 5000));
		must(do_send(&a, i, 0, sizes[i], 0));
		same(took(b.recv_evd, i, DAT_DTO_SUCCESS), sizes[i]);
		took(a.req_evd, i, DAT_DTO_SUCCESS);
		check(filled(b.mem + 100, sizes[i], i + 1));
		check(all_bytes(b.mem, 100, 0));
		check(all_bytes(b.mem + 100 + sizes[i], 5900 - sizes[i], 0));
	}
}

RIG_TEST(scatter_cqe, read__of_each_size_lands_unchanged)
{
	for (size_t i = 0; i < SIZES; i++) {
		memset(a.mem, 0, 6000);
		fill(b.mem + 7, sizes[i], i + 1);
		must(do_read(&a, i, 100, far(&b, 7, sizes[i]), 0));
		took(a.req_evd, i, DAT_DTO_SUCCESS);
		check(filled(a.mem + 100, sizes[i], i + 1));
		check(all_bytes(a.mem, 100, 0));
		check(all_bytes(a.mem + 100 + sizes[i], 5900 - sizes[i], 0));
	}
}

/* Sends a message and then writes. When the write is in memory, the CQE of the message is there,
 * but the message's data is not in memory yet. */
RIG_TEST(scatter_cqe, receive__data_is_in_the_completion)
{
	volatile char *flag = b.mem + 1000;

	rig_skip_if("scatter_cqe", "");
	fill(a.mem, 32, 9);
	must(do_recv(&b, 1, 0, 64));
	must(do_send(&a, 2, 0, 32, 0));
	must(do_write(&a, 3, 0, far(&b, 1000, 32), 0));
	took(a.req_evd, 2, DAT_DTO_SUCCESS);
	took(a.req_evd, 3, DAT_DTO_SUCCESS);
	check(TH_WITHIN(SOON_MS, filled((const void *)(uintptr_t)flag, 32, 9)));
	check(all_bytes(b.mem, 64, 0));
	same(took(b.recv_evd, 1, DAT_DTO_SUCCESS), 32);
	check(filled(b.mem, 32, 9));
}

static DAT_DTO_COOKIE cookie(uint64_t c)
{
	return (DAT_DTO_COOKIE){ .as_64 = c };
}

/* The receive has three segments: one is empty, and the last is not filled. The segments cross the
 * end of the ring. */
RIG_TEST(scatter_cqe, receive_and_read__several_segments_are_each_filled)
{
	for (uint64_t i = 0; i < 300; i++) {
		DAT_LMR_TRIPLET to_b[] = { seg(&b, 100, 5), seg(&b, 200, 0), seg(&b, 300, 20),
					   seg(&b, 400, 100) };
		DAT_LMR_TRIPLET to_a[] = { seg(&a, 100, 1), seg(&a, 300, 30), seg(&a, 400, 1) };
		DAT_RMR_TRIPLET from = far(&b, 8000, 32);

		memset(b.mem, 0, 1000);
		memset(a.mem + 100, 0, 1000);
		fill(a.mem, 30, i);
		fill(b.mem + 8000, 32, i + 1);
		must(dat_ep_post_recv(b.ep, 4, to_b, cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
		must(do_send(&a, 2, 0, 30, SUPPRESS));
		same(took(b.recv_evd, 1, DAT_DTO_SUCCESS), 30);
		check(!memcmp(b.mem + 100, a.mem, 5) && !memcmp(b.mem + 300, a.mem + 5, 20) &&
		      !memcmp(b.mem + 400, a.mem + 25, 5));
		check(all_bytes(b.mem + 105, 195, 0) && all_bytes(b.mem + 405, 95, 0));
		must(dat_ep_post_rdma_read(a.ep, 3, to_a, cookie(3), &from,
					   DAT_COMPLETION_DEFAULT_FLAG));
		took(a.req_evd, 3, DAT_DTO_SUCCESS);
		check(a.mem[100] == b.mem[8000] && !memcmp(a.mem + 300, b.mem + 8001, 30) &&
		      a.mem[400] == b.mem[8031]);
	}
}

/* Some reads without an event have a completion nevertheless, which is reaped by other calls. */
RIG_TEST(scatter_cqe, read__suppressed_has_its_data)
{
	for (uint64_t lap = 0; lap < 20; lap++) {
		for (uint64_t i = 0; i < 100; i++) {
			fill(b.mem + i * 32, 32, lap * 100 + i);
			soon(do_read(&a, i, i * 32, far(&b, i * 32, 32), SUPPRESS));
		}
		soon(do_read(&a, 7, 8000, far(&b, 0, 8), 0));
		took(a.req_evd, 7, DAT_DTO_SUCCESS);
		for (uint64_t i = 0; i < 100; i++)
			check(filled(a.mem + i * 32, 32, lap * 100 + i));
	}
}

/* Checks that the sender gets the error of its message, unless it had a success event before. */
static void sender_hears(uint64_t of)
{
	if (!rig_sends_end_near())
		took_error(a.req_evd, of);
}

/* The device checks rights and lengths as usual. */
RIG_TEST(scatter_cqe, receive__of_a_longer_message_gets_local_length)
{
	must(do_recv(&b, 1, 0, 10));
	must(do_send(&a, 2, 0, 11, 0));
	took(b.recv_evd, 1, DAT_DTO_ERR_LOCAL_LENGTH);
	check(all_bytes(b.mem, 64, 0));
	sender_hears(2);
}

RIG_TEST(scatter_cqe, receive__into_read_only_memory_gets_local_protection)
{
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT none;
	DAT_LMR_TRIPLET t;
	char *mem = b.mem + 4096;

	end_lmr(&b, mem, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG, &context, &none);
	t = seg(&b, 4096, 32);
	t.lmr_context = context;
	fill(a.mem, 32, 1);
	must(dat_ep_post_recv(b.ep, 1, &t, cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	must(do_send(&a, 2, 0, 32, 0));
	took(b.recv_evd, 1, DAT_DTO_ERR_LOCAL_PROTECTION);
	check(all_bytes(mem, 32, 0));
	sender_hears(2);
}

RIG_TEST(scatter_cqe, read__without_a_remote_right_gets_remote_access)
{
	must(do_read(&a, 1, 0, through(12345, &b, 0, 8), 0));
	took(a.req_evd, 1, DAT_DTO_ERR_REMOTE_ACCESS);
	check(all_bytes(a.mem, 64, 0));
}

/* A window allows reads: their data arrives the same way. */
RIG_TEST(scatter_cqe, read__through_a_window_lands)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	must(dat_rmr_create(b.pz, &rmr));
	must(do_bind(&b, rmr, 1, 64, 16, DAT_MEM_PRIV_REMOTE_READ_FLAG, &context));
	took_bind(b.req_evd, rmr, 1, DAT_RMR_BIND_SUCCESS);
	fill(b.mem + 64, 16, 3);
	must(do_read(&a, 2, 0, through(context, &b, 64, 16), 0));
	took(a.req_evd, 2, DAT_DTO_SUCCESS);
	check(filled(a.mem, 16, 3));
	must(do_read(&a, 3, 32, through(context, &b, 64, 17), 0));
	took(a.req_evd, 3, DAT_DTO_ERR_REMOTE_ACCESS);
	check(all_bytes(a.mem + 32, 32, 0));
}

RIG_TEST(scatter_cqe, receive__with_a_waiter_lands)
{
	rig_sleeps = true;
	fill(a.mem, 20, 4);
	must(do_recv(&b, 1, 0, 64));
	must(do_send(&a, 2, 0, 20, 0));
	same(took(b.recv_evd, 1, DAT_DTO_SUCCESS), 20);
	check(filled(b.mem, 20, 4));
	rig_sleeps = false;
}

RIG_TEST(scatter_cqe, receive__through_an_srq_lands)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 32, .max_recv_iov = 3 };
	DAT_EP_ATTR ep_attr = rig_attr();
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;

	rig_needs_srq();
	must(dat_srq_create(b.ia, b.pz, &attr, &srq));
	must(dat_ep_create_with_srq(b.ia, b.pz, b.recv_evd, b.req_evd, b.conn_evd, srq, &ep_attr,
				    &ep));
	must(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	took_ends(&a, &b, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(dat_ep_reset(a.ep));
	end_join(&a, a.ep, &b, ep);
	for (uint64_t i = 0; i < 100; i++) {
		DAT_LMR_TRIPLET to[] = { seg(&b, 0, 10), seg(&b, 100, 0), seg(&b, 200, 22) };

		memset(b.mem, 0, 300);
		fill(a.mem, 32, i);
		must(dat_srq_post_recv(srq, i % 2 ? 3 : 1, to, cookie(i)));
		must(do_send(&a, i, 0, i % 2 ? 32 : 10, SUPPRESS));
		took(b.recv_evd, i, DAT_DTO_SUCCESS);
		check(!memcmp(b.mem, a.mem, 10));
		check(i % 2 ? !memcmp(b.mem + 200, a.mem + 10, 22) : all_bytes(b.mem + 200, 22, 0));
	}
}
