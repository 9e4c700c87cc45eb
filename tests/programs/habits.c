/* SPDX-License-Identifier: BSD-2-Clause */
/* Habits of published programs apart from transfers: open, queues, qualifiers, and the order of
 * frees. */
#include <string.h>
#include <unistd.h>

#include "tests/programs/programs.h"

TestSuite(habits, .timeout = 100);

/* pscom uses the first entry of the registry that it can open. */
Test(habits, registry_list_providers__third_entry_is_the_first_that_opens)
{
	static const char *const names[] = { NO_LIBRARY, NO_ADAPTER };
	DAT_PROVIDER_INFO info[8], *list[8];
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_IA_HANDLE ia;
	DAT_COUNT n, i;

	for (i = 0; i < 8; i++)
		list[i] = &info[i];
	ok(dat_registry_list_providers(8, &n, list));
	must(n >= 4);
	for (i = 0; i < n; i++) {
		must(!strcmp(info[i].ia_name, i < 2 ? names[i] : program_ia()));
		ret = dat_ia_open(info[i].ia_name, 8, &async, &ia);
		if (ret == DAT_SUCCESS)
			break;
	}
	ok(ret);
	must(i == 2);
	ok(dat_ia_close(ia, DAT_CLOSE_DEFAULT));
}

/* ---- NetPIPE asks for 20,000 DTOs of an endpoint ---- */

enum { DTOS = 20000, MOST_EPS = 16 };

static DAT_COUNT most_dtos(struct program *p)
{
	DAT_IA_ATTR attr;

	ok(dat_ia_query(p->c.ia, NULL, DAT_IA_ALL, &attr, 0, NULL));
	return attr.max_dto_per_ep;
}

Test(habits, ep_create__more_dtos_than_the_adapter_has_are_refused)
{
	struct program p;
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;

	program_open(&p, 4096, NULL);
	attr = program_attr(&p);
	must(most_dtos(&p) < DTOS);
	attr.max_recv_dtos = attr.max_request_dtos = DTOS;
	must(DAT_GET_TYPE(dat_ep_create(p.c.ia, p.c.pz, p.c.recv_evd, p.c.req_evd, p.c.conn_evd, &attr,
					&ep)) == DAT_INVALID_PARAMETER);
	attr.max_recv_dtos = attr.max_request_dtos = most_dtos(&p);
	ok(dat_ep_create(p.c.ia, p.c.pz, p.c.recv_evd, p.c.req_evd, p.c.conn_evd, &attr, &ep));
	program_close(&p);
}

/* A queue that is full of suppressed requests has room again without a dequeue. */
static bool has_room(DAT_RETURN ret)
{
	if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES)
		return false;
	ok(ret);
	return true;
}
#define POST(call) must(TH_WITHIN(SOON_MS, has_room(call)))

/* Sends a message that contains its number. The messages of an endpoint arrive in the order of its
 * receives. */
static DAT_RETURN send_number(struct program *p, uint64_t n)
{
	uint64_t *word = (uint64_t *)p->mem.buf + n;
	DAT_LMR_TRIPLET from = piece_of(p, n * sizeof(*word), sizeof(*word));

	*word = n;
	return dat_ep_post_send(p->c.ep, 1, &from, cookie_of(n), DAT_COMPLETION_SUPPRESS_FLAG);
}

/* Dequeues the messages that have arrived. Each endpoint has this number of receives. Returns the
 * number of all messages so far. */
static unsigned int take_numbers(struct program *p, uint64_t each)
{
	static uint64_t taken, of_ep[MOST_EPS];
	DAT_EVENT ev;

	while (dat_evd_dequeue(p->c.recv_evd, &ev) == DAT_SUCCESS) {
		const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev.event_data.dto_completion_event_data;
		uint64_t n = d->user_cookie.as_64;

		must(d->status == DAT_DTO_SUCCESS);
		must(n < DTOS && n % each == of_ep[n / each]++);
		must(((uint64_t *)p->mem.buf)[n] == n);
		taken++;
	}
	return (unsigned int)taken;
}

/*
 * Posts a share of the receives to another endpoint of p, which is connected to an endpoint of
 * peer.
 */
static void one_more(struct program *p, struct program *peer, const DAT_EP_ATTR *attr, uint64_t first,
		     uint64_t end)
{
	must(!consumer_make_ep(&p->c, attr));
	must(!consumer_make_ep(&peer->c, NULL));
	for (uint64_t n = first; n < end; n++) {
		DAT_LMR_TRIPLET into = piece_of(p, n * sizeof(n), sizeof(n));

		ok(dat_ep_post_recv(p->c.ep, 1, &into, cookie_of(n), DAT_COMPLETION_DEFAULT_FLAG));
	}
	program_join(peer, p, th_qual());
}

Test(habits, ep_post_recv__20000_outstanding_all_complete)
{
	DAT_EP_HANDLE senders[MOST_EPS];
	struct program a, b;
	DAT_EP_ATTR attr;
	uint64_t each;

	program_open(&a, DTOS * sizeof(uint64_t), NULL);
	program_open(&b, DTOS * sizeof(uint64_t), NULL);
	attr = program_attr(&a);
	attr.max_recv_dtos = most_dtos(&a);
	each = (uint64_t)attr.max_recv_dtos;
	must(each * MOST_EPS >= DTOS);
	must(!consumer_listen(&a.c, th_qual()));
	ok(dat_evd_create(a.c.ia, DTOS, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &a.c.recv_evd));
	for (uint64_t n = 0; n < DTOS; n += each) {
		one_more(&a, &b, &attr, n, n + each < DTOS ? n + each : DTOS);
		senders[n / each] = b.c.ep;
	}
	for (uint64_t n = 0; n < DTOS; n++) {
		b.c.ep = senders[n / each];
		must(TH_WITHIN(SOON_MS, (take_numbers(&a, each), has_room(send_number(&b, n)))));
	}
	must(TH_WITHIN(SOON_MS, take_numbers(&a, each) == DTOS));
	program_close(&a);
	program_close(&b);
}

/* ---- Suppressed completions ---- */

static void write_number(struct program *p, struct program *to, uint64_t n, DAT_COMPLETION_FLAGS flags)
{
	struct card card = program_card(to, 0);
	DAT_LMR_TRIPLET from = piece_of(p, 0, sizeof(n));
	DAT_RMR_TRIPLET there = place_at(&card, 0, sizeof(n));

	*(uint64_t *)p->mem.buf = n;
	POST(dat_ep_post_rdma_write(p->c.ep, 1, &from, cookie_of(n), &there, flags));
	must(TH_WITHIN(SOON_MS, __atomic_load_n((uint64_t *)to->mem.buf, __ATOMIC_ACQUIRE) == n));
}

/*
 * NetPIPE requests suppression in the endpoint's attributes and in each post, polls memory, and
 * dequeues nothing. The flag of the post is the one that counts.
 */
Test(habits, ep_create__suppression_as_an_attribute_leaves_the_choice_to_each_post)
{
	struct program a, b;
	DAT_EP_ATTR attr;
	DAT_EVENT ev;

	program_open(&b, 4096, NULL);
	attr = program_attr(&b);
	attr.request_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
	program_open(&a, 4096, &attr);
	must(program_attr(&a).request_completion_flags == DAT_COMPLETION_SUPPRESS_FLAG);
	must(!consumer_listen(&b.c, th_qual()));
	program_join(&a, &b, th_qual());
	for (uint64_t n = 1; n <= 1000; n++)
		write_number(&a, &b, n, DAT_COMPLETION_SUPPRESS_FLAG);
	must(DAT_GET_TYPE(dat_evd_dequeue(a.c.req_evd, &ev)) == DAT_QUEUE_EMPTY);
	write_number(&a, &b, 1001, DAT_COMPLETION_DEFAULT_FLAG);
	program_completes(&a, a.c.req_evd, 1001);
	must(DAT_GET_TYPE(dat_evd_dequeue(a.c.req_evd, &ev)) == DAT_QUEUE_EMPTY);
	program_close(&a);
	program_close(&b);
}

/*
 * MVAPICH2 has one EVD for the receives, which are all signalled, and for the requests, of which it
 * posts some unsignalled.
 */
Test(habits, ep_create__signalled_receives_and_unsignalled_requests_share_an_evd)
{
	const DAT_COMPLETION_FLAGS quiet = DAT_COMPLETION_UNSIGNALLED_FLAG;
	struct program a, b;
	DAT_LMR_TRIPLET piece;
	DAT_EP_ATTR attr;
	DAT_EVENT ev;
	DAT_COUNT more;

	program_open(&b, 4096, NULL);
	attr = program_attr(&b);
	attr.request_completion_flags = quiet;
	program_open(&a, 4096, NULL);
	a.c.recv_evd = a.c.req_evd;
	must(!consumer_make_ep(&a.c, &attr));
	piece = piece_of(&a, 0, 64);
	ok(dat_ep_post_recv(a.c.ep, 1, &piece, cookie_of(1), DAT_COMPLETION_DEFAULT_FLAG));
	piece = piece_of(&b, 0, 64);
	ok(dat_ep_post_recv(b.c.ep, 1, &piece, cookie_of(2), DAT_COMPLETION_DEFAULT_FLAG));
	must(!consumer_listen(&b.c, th_qual()));
	program_join(&a, &b, th_qual());

	/* The unsignalled send is complete, and the wait ends only at its timeout. */
	piece = piece_of(&a, 64, 64);
	ok(dat_ep_post_send(a.c.ep, 1, &piece, cookie_of(3), quiet));
	program_completes(&b, b.c.recv_evd, 2);
	program_completes(&a, a.c.req_evd, 3);
	must(DAT_GET_TYPE(dat_evd_wait(a.c.req_evd, 0, 2, &ev, &more)) == DAT_INVALID_STATE);
	/* A receive wakes the waiter. */
	piece = piece_of(&b, 64, 64);
	ok(dat_ep_post_send(b.c.ep, 1, &piece, cookie_of(4), DAT_COMPLETION_DEFAULT_FLAG));
	ok(dat_evd_wait(a.c.req_evd, SOON_MS * 1000u, 1, &ev, &more));
	must(ev.event_data.dto_completion_event_data.user_cookie.as_64 == 1);
	program_close(&a);
	program_close(&b);
}

/* ---- Qualifiers ---- */

/*
 * Listens like pscom: begins with its process id as qualifier, and takes the next one that is not
 * in use.
 */
static uint64_t listen_from(struct program *p, uint64_t qual)
{
	for (unsigned int i = 0; i < 100; i++, qual++) {
		DAT_RETURN ret = dat_psp_create(p->c.ia, qual, p->c.cr_evd, DAT_PSP_CONSUMER_FLAG,
						&p->c.psp);

		if (ret == DAT_SUCCESS)
			return qual;
		must(DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE);
	}
	must(false);			/* none of 100 qualifiers is free */
	return 0;
}

/* Another process that uses some qualifiers from here on, and waits for a request at the last. */
static int listener(int sock, void *arg)
{
	uint64_t qual[3], from = *(uint64_t *)arg;
	struct program p;

	program_open(&p, 4096, NULL);
	for (int i = 0; i < 3; i++)
		qual[i] = listen_from(&p, from);
	must(qual[0] != qual[1] && qual[1] != qual[2] && qual[2] != qual[0]);
	must(!th_send(sock, &qual[2], sizeof(qual[2])));
	program_accept(&p);
	must(!th_meet(sock));
	program_close(&p);
	return 0;
}

Test(habits, psp_create__from_the_process_id_finds_the_next_free_qualifier)
{
	/* With this bit set, the qualifier's port differs from all ports of th_qual(). */
	uint64_t pid = (uint64_t)getpid() | 0x2000, other, own;
	struct program p, to_own, to_other;
	struct th_child child;

	must(!th_spawn(&child, listener, &pid));
	must(!th_recv(child.sock, &other, sizeof(other)));
	program_open(&p, 4096, NULL);
	program_open(&to_own, 4096, NULL);
	program_open(&to_other, 4096, NULL);
	own = listen_from(&p, pid);
	must(own != other);
	program_dial(&to_other, other);
	program_join(&to_own, &p, own);
	must(!th_meet(child.sock));
	must(!th_join(&child, SOON_MS));
	program_close(&to_other);
	program_close(&to_own);
	program_close(&p);
}

/* ---- The order of frees ---- */

/* HTX frees the PZ first, ignores the error, and then frees the LMRs. */
Test(habits, pz_free__before_its_lmrs_fails_and_changes_nothing)
{
	struct program a, b;
	struct card to;
	DAT_RETURN ret;

	program_open(&a, 4096, NULL);
	program_open(&b, 4096, NULL);
	must(!consumer_listen(&b.c, th_qual()));
	program_join(&a, &b, th_qual());
	to = program_card(&b, 0);
	for (int i = 0; i < 2; i++) {
		DAT_LMR_TRIPLET from = piece_of(&a, 0, 64);
		DAT_RMR_TRIPLET there = place_at(&to, 0, 64);

		ret = dat_pz_free(i ? a.c.pz : b.c.pz);
		must(DAT_GET_TYPE(ret) == DAT_INVALID_STATE);
		must(DAT_GET_SUBTYPE(ret) == DAT_INVALID_STATE_PZ_IN_USE);
		memset(a.mem.buf, i + 1, 64);
		ok(dat_ep_post_rdma_write(a.c.ep, 1, &from, cookie_of(7), &there,
					  DAT_COMPLETION_DEFAULT_FLAG));
		program_completes(&a, a.c.req_evd, 7);
		must(!memcmp(a.mem.buf, b.mem.buf, 64));
	}
	ok(dat_ep_free(a.c.ep));
	ret = dat_pz_free(a.c.pz);
	must(DAT_GET_TYPE(ret) == DAT_INVALID_STATE);
	ok(dat_lmr_free(a.mem.lmr));
	ok(dat_pz_free(a.c.pz));
	program_close(&a);
	program_close(&b);
}
