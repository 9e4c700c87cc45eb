/* SPDX-License-Identifier: BSD-2-Clause */
/* Networks that lose packets, adapters that do not answer, and receivers that are not ready. */
#include <string.h>

#include "tests/e2e/ends.h"

static void open_with(const char *params)
{
	rig_conf(params);
	pair_open(&a, &b);
}

static void setup(void)
{
}

TestSuite(error_wire, .timeout = 60);

RIG_TEST(error_wire, receive__never_posted_ends_with_receiver_not_ready)
{
	open_with("rnr_retry=2;min_rnr=1");
	rig_needs_end_to_end();
	must(do_recv(&a, 1, 0, 64));
	must(do_send(&a, 3, 0, 100, 0));
	must(do_send(&a, 4, 0, 100, SUPPRESS));
	took(a.req_evd, 3, DAT_DTO_ERR_RECEIVER_NOT_READY);
	took(a.req_evd, 4, FLUSHED);
	took(a.recv_evd, 1, FLUSHED);
	took_ends(&a, &b, DAT_CONNECTION_EVENT_BROKEN);
	pair_again(&a, &b);
	pair_moves(&a, &b);
}

RIG_TEST(error_wire, peer__that_does_not_answer_ends_with_a_transport_error)
{
	open_with("ack_timeout=8;retry_cnt=2;fault=drop=1");
	must(do_recv(&b, 1, 0, 64));
	must(do_write(&a, 3, 0, far(&b, 0, 64), SUPPRESS));
	must(do_send(&a, 4, 0, 64, 0));
	took(a.req_evd, 3, DAT_DTO_ERR_TRANSPORT);
	took(a.req_evd, 4, FLUSHED);
	took(b.recv_evd, 1, FLUSHED);
	took_ends(&a, &b, DAT_CONNECTION_EVENT_BROKEN);
	rig_empty(a.req_evd);
	rig_empty(b.recv_evd);
}

/* Every message arrives once and in order, whatever happens to the packets. */
static void move_all(uint64_t laps)
{
	for (uint64_t i = 0; i < laps; i++) {
		size_t size = i * 977 % 20000 + 1;

		fill(a.mem, size, i);
		must(do_recv(&b, i, 20000, 20000));
		must(do_write(&a, i, 0, far(&b, 40000, size), 0));
		must(do_send(&a, i + 1, 0, size, 0));
		must(do_read(&a, i + 2, 20000, far(&b, 40000, size), 0));
		same(took(b.recv_evd, i, DAT_DTO_SUCCESS), size);
		took_range(a.req_evd, i, i + 2, DAT_DTO_SUCCESS);
		check(filled(b.mem + 20000, size, i) && filled(a.mem + 20000, size, i));
	}
	rig_empty(a.req_evd);
	rig_empty(b.recv_evd);
	same(end_state(a.ep), DAT_EP_STATE_CONNECTED);
}

RIG_TEST(error_wire, packets__lost_doubled_or_reordered_arrive_once_in_order)
{
	open_with("strict=1;ack_timeout=9;seed=5;fault=drop=0.02,dup=0.02,reorder=0.05");
	move_all(150);
}

RIG_TEST(error_wire, packets__damaged_change_no_data)
{
	open_with("ack_timeout=9;seed=6;fault=corrupt=0.03");
	move_all(100);
}

RIG_TEST(error_wire, packets__late_or_without_a_receive_still_arrive)
{
	open_with("strict=1;ack_timeout=12;min_rnr=1;seed=7;fault=delay=0.05,rnr=0.2");
	move_all(60);
}
