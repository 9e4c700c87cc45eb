/* SPDX-License-Identifier: BSD-2-Clause */
/* Guarantees between two processes, on one host or on two. */
#include <string.h>

#include "tests/conformance/far.h"

static DAT_RETURN dial_far(struct side *s, struct far_end *f)
{
	return tried(dat_ep_connect(s->ep, &f->address, f->qual, SOON, 0, NULL, DAT_QOS_BEST_EFFORT,
				    DAT_CONNECT_DEFAULT_FLAG));
}

static void open_joined(struct side *s, struct far_end *f)
{
	far_open(f);
	side_open(s);
	must(dial_far(s, f));
	far_ask(f, FAR_ACCEPT, 0, 0, NULL);
	same(far_ask(f, FAR_EVENT, 0, 0, NULL), DAT_CONNECTION_EVENT_ESTABLISHED);
	took_conn(s, s->ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void close_both(struct side *s, struct far_end *f)
{
	side_close(s);
	far_close(f);
}

static DAT_RMR_TRIPLET there(const struct far_end *f, size_t off, size_t len)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = f->rmr_context, .target_address = f->mem + off,
				  .segment_length = len };
}

STATEMENT(two_processes__private_data_come_back, dat_cr_accept, DESCRIPTION)
{
	DAT_CONNECTION_EVENT_DATA d;
	struct far_end f;
	struct side s;

	far_open(&f);
	side_open(&s);
	must(dial_far(&s, &f));
	far_ask(&f, FAR_ACCEPT, 64, 0, NULL);
	d = took_conn(&s, s.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check(d.private_data_size >= 64);
	for (int i = 0; i < 64; i++)
		same(((unsigned char *)d.private_data)[i], 0x43);
	close_both(&s, &f);
}

STATEMENT(two_processes__rejected, dat_cr_reject, DESCRIPTION)
{
	struct far_end f;
	struct side s;

	far_open(&f);
	side_open(&s);
	must(dial_far(&s, &f));
	far_ask(&f, FAR_REJECT, 0, 0, NULL);
	took_conn(&s, s.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	close_both(&s, &f);
}

/* A request to one process is accepted by another process. They share only the host. */
STATEMENT(cr_handoff__to_another_process, dat_cr_handoff, DESCRIPTION)
{
	struct far_end first, second;
	struct side s;

	far_open(&first);
	far_open(&second);
	side_open(&s);
	memset(s.mem, 0x61, 64);
	must(dial_far(&s, &first));
	same(far_ask(&first, FAR_HANDOFF, second.qual, 0, NULL), DAT_SUCCESS);
	far_ask(&second, FAR_RECV, 128, 64, NULL);
	far_ask(&second, FAR_ACCEPT, 64, 0, NULL);
	same(far_ask(&second, FAR_EVENT, 0, 0, NULL), DAT_CONNECTION_EVENT_ESTABLISHED);
	took_conn(&s, s.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	far_close(&first);
	must(do_send(&s, 1, 0, 64, DEFAULT));
	took_dto(s.req_evd, 1, DAT_DTO_SUCCESS);
	same(far_ask(&second, FAR_RECEIVED, 0, 0, NULL), DAT_DTO_SUCCESS);
	same(far_ask(&second, FAR_BYTE, 128, 0, NULL), 0x61);
	close_both(&s, &second);
}

STATEMENT(cr_handoff__to_a_process_that_has_gone, dat_cr_handoff, RETURNS)
{
	struct far_end first, second;
	struct side s;

	far_open(&first);
	far_open(&second);
	side_open(&s);
	far_close(&second);
	must(dial_far(&s, &first));
	same(DAT_GET_TYPE((DAT_RETURN)far_ask(&first, FAR_HANDOFF, second.qual, 0, NULL)),
	     DAT_INVALID_PARAMETER);
	close_both(&s, &first);
}

STATEMENT(two_processes__messages_both_ways, dat_ep_post_send, DESCRIPTION)
{
	uint64_t len;
	struct far_end f;
	struct side s;

	open_joined(&s, &f);
	for (size_t n = 1; n <= 4096; n *= 4) {
		memset(s.mem, (int)(n % 251), 8192);
		far_ask(&f, FAR_RECV, 0, 8192, NULL);
		must(do_send(&s, 3, 0, n, DEFAULT));
		took_dto(s.req_evd, 3, DAT_DTO_SUCCESS);
		same(far_ask(&f, FAR_RECEIVED, 0, 0, &len), DAT_DTO_SUCCESS);
		same(len, n);
		same(far_ask(&f, FAR_BYTE, n - 1, 0, NULL), n % 251);
		must(do_recv(&s, 4, 8192, 8192));
		same(far_ask(&f, FAR_SEND, 0, n, NULL), DAT_DTO_SUCCESS);
		same(took_dto(s.recv_evd, 4, DAT_DTO_SUCCESS), n);
		same((unsigned char)s.mem[8192 + n - 1], n % 251);
	}
	close_both(&s, &f);
}

STATEMENT(two_processes__rdma_write, dat_ep_post_rdma_write, DESCRIPTION)
{
	struct far_end f;
	struct side s;

	open_joined(&s, &f);
	memset(s.mem, 0x77, 4096);
	must(do_write(&s, 1, 0, there(&f, 1000, 4096), DEFAULT));
	took_dto(s.req_evd, 1, DAT_DTO_SUCCESS);
	same(far_ask(&f, FAR_BYTE, 999, 0, NULL), 0);
	same(far_ask(&f, FAR_BYTE, 1000, 0, NULL), 0x77);
	same(far_ask(&f, FAR_BYTE, 5095, 0, NULL), 0x77);
	same(far_ask(&f, FAR_BYTE, 5096, 0, NULL), 0);
	close_both(&s, &f);
}

STATEMENT(two_processes__rdma_read, dat_ep_post_rdma_read, DESCRIPTION)
{
	struct far_end f;
	struct side s;

	open_joined(&s, &f);
	far_ask(&f, FAR_FILL, 0x5d, 0, NULL);
	must(do_read(&s, 1, 0, there(&f, 1000, 4096), DEFAULT));
	took_dto(s.req_evd, 1, DAT_DTO_SUCCESS);
	for (int i = 0; i < 4096; i++)
		same((unsigned char)s.mem[i], 0x5d);
	same((unsigned char)s.mem[4096], 0);
	close_both(&s, &f);
}

STATEMENT(two_processes__the_other_end_leaves, dat_ep_disconnect, DESCRIPTION)
{
	struct far_end f;
	struct side s;

	open_joined(&s, &f);
	must(do_recv(&s, 1, 0, 64));
	far_ask(&f, FAR_LEAVE, 0, 0, NULL);
	took_conn(&s, s.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	took_dto(s.recv_evd, 1, FLUSHED);
	close_both(&s, &f);
}

STATEMENT(two_processes__the_other_end_dies, dat_ep_connect, DESCRIPTION)
{
	struct far_end f;
	struct side s;
	DAT_EVENT ev;

	open_joined(&s, &f);
	must(do_recv(&s, 1, 0, 64));
	far_kill(&f);
	ev = took(s.conn_evd);
	check(ev.event_number == DAT_CONNECTION_EVENT_BROKEN ||
	      ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
	took_dto(s.recv_evd, 1, FLUSHED);
	side_close(&s);
}
