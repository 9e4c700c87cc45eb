/* SPDX-License-Identifier: BSD-2-Clause */
/* How much memory and how many CQ entries an endpoint uses; and that requests allocate nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/efa_dat/rig.h"

TestSuite(efa_bounds, .timeout = 120);

static DAT_RETURN more(struct end *e, DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	return dat_ep_create(e->ia, e->pz, e->recv, e->req, e->conn, attr, ep);
}

static const DAT_EP_ATTR wanted = {
	.max_recv_dtos = 64, .max_request_dtos = 64, .max_recv_iov = 4, .max_request_iov = 4,
	.max_rdma_read_in = 4, .max_rdma_read_out = 4, .max_rdma_read_iov = 4,
	.max_rdma_write_iov = 4,
};

/* Every possible completion has an entry in the CQ. If there are no entries for another endpoint,
 * it is refused with the reason. */
Test(efa_bounds, cq__has_places_for_each_endpoint)
{
	DAT_EP_ATTR attr = wanted;
	DAT_EP_HANDLE ep[64];
	DAT_IA_ATTR ia;
	int n = 0;

	end_open(&a, "soft-efa-0", "efa_cq=1024");
	ok(dat_ia_query(a.ia, NULL, DAT_IA_FIELD_ALL, &ia, 0, NULL));
	while (n < 64 && more(&a, &attr, &ep[n]) == DAT_SUCCESS)
		n++;
	cr_assert_eq(n + 1, ia.max_eps, "%d endpoints could be created, but max_eps is %d", n + 1,
		     ia.max_eps);
	cr_assert(n > 0 && n < 64);
	cr_assert_eq(DAT_GET_TYPE(more(&a, &attr, &ep[n])), DAT_INSUFFICIENT_RESOURCES);
	said("cannot create an endpoint of soft-efa-0");
	said("efa_cq=");
	ok(dat_ep_free(ep[n - 1]));
	ok(more(&a, &attr, &ep[n - 1]));
	end_close(&a);
}

static bool overrun(const struct end *e)
{
	struct softnic_violation v[64];
	size_t n = softnic_efa_violations(device(e), v, 64);

	while (n--)
		if (!strcmp(v[n].name, "cq.overrun"))
			return true;
	return false;
}

static void both_ways(struct end *from, struct end *to)
{
	for (uint32_t i = 0; i < DTOS / 2; i++)
		ok(do_recv(to, i, 0, 8));
	for (uint32_t i = 0; i < DTOS; i++)
		ok(i % 2 ? do_send(from, i, 64, 8) : do_write(from, i, 64, 4096 + 64 * i, 8));
}

static void both_done(struct end *from, struct end *to)
{
	for (uint32_t i = 0; i < DTOS; i++)
		cr_assert_eq(took(from->req, i), DAT_DTO_SUCCESS);
	for (uint32_t i = 0; i < DTOS / 2; i++)
		cr_assert_eq(took(to->recv, i), DAT_DTO_SUCCESS);
}

/* The CQ is the smallest one that suffices for an endpoint, whose queues are filled again and
 * again. */
Test(efa_bounds, cq__is_never_overrun)
{
	pair_open("efa_cq=256", "efa_cq=256");
	for (int round = 0; round < 40; round++) {
		both_ways(&a, &b);
		both_ways(&b, &a);
		both_done(&a, &b);
		both_done(&b, &a);
	}
	cr_assert_not(overrun(&a) || overrun(&b));
	pair_close();
}

/* Returns 1 if a write of a has completed. */
static unsigned int write_more(uint32_t i)
{
	DAT_EVENT ev;

	do_write(&a, i, 64, 4096 + 64 * (i % DTOS), 8);
	return dat_evd_dequeue(a.req, &ev) == DAT_SUCCESS;
}

/* b does not poll, so only its device limits the completions: by the number of receive buffers. */
Test(efa_bounds, cq__is_not_overrun_by_a_peer_that_ignores_its_credits)
{
	enum { MANY = 600, TRIES = 20000 };
	unsigned int done = 0, bufs;
	uint32_t i = 0;

	pair_open("write_order=relaxed", "efa_cq=256 efa_look=60000");
	bufs = efa_ia((struct dap_ia *)b.ia)->shape.bufs;
	inner_efa(&a)->tx.limit += 0x7000;
	cr_assert(TH_WITHIN(SOON_MS, (done += write_more(i++)) >= bufs));
	for (uint32_t n = 0; n < TRIES && done < MANY; n++)
		done += write_more(i++);
	cr_assert_not(overrun(&b));
	pair_close();
}

static unsigned long told_memory(const struct end *e)
{
	DAT_PROVIDER_ATTR p;

	ok(dat_ia_query(e->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &p));
	for (int i = 0; i < p.num_provider_specific_attr; i++)
		if (!strcmp(p.provider_specific_attr[i].name, "efa_endpoint_memory"))
			return strtoul(p.provider_specific_attr[i].value, NULL, 10);
	return 0;
}

/*
 * Returns the bytes of private writable memory: proc(5), statm, sixth field. Another thread may reserve an
 * arena of malloc at any time, but that is not writable.
 */
static unsigned long writable(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	cr_assert(f && fscanf(f, "%*u %*u %*u %*u %*u %lu", &pages) == 1);
	fclose(f);
	return pages * 4096;
}

/* The rings of the queues are not counted, because they were mapped with the device. */
Test(efa_bounds, memory__of_an_endpoint_is_as_reported_and_below_a_mebibyte)
{
	enum { MANY = 32 };
	DAT_EP_ATTR attr = wanted;
	DAT_EP_HANDLE ep;
	unsigned long before, each, told;

	end_open(&a, "soft-efa-0", "");
	ok(more(&a, &attr, &ep));
	before = writable();
	for (int i = 0; i < MANY; i++)
		ok(more(&a, &attr, &ep));
	each = (writable() - before) / MANY;
	told = told_memory(&a);
	fprintf(stderr,
		"note: an endpoint of hw_efa takes %lu bytes, and reports %lu\n", each, told);
	cr_assert(told > 64 * 4096 && told < 1u << 20);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	cr_assert(each < 1u << 20, "an endpoint takes %lu bytes, more than 1 MiB", each);
	cr_assert(each > told - told / 50 && each < told + told / 50,
		  "an endpoint takes %lu bytes, and reports %lu", each, told);
#endif
	end_close(&a);
}

static const uint32_t sizes[] = { 8, 40, 4096 };

static void a_message(uint32_t len)
{
	ok(do_recv(&b, 1, 8192, len));
	ok(do_send(&a, 2, 0, len));
	cr_assert_eq(took(a.req, 2), DAT_DTO_SUCCESS);
	cr_assert_eq(took(b.recv, 1), DAT_DTO_SUCCESS);
}

/* Posts two writes to one address, of which the second has to wait, and a read. */
static void two_writes_and_a_read(uint32_t len)
{
	ok(do_write(&a, 3, 0, 16384, len));
	ok(do_write(&a, 4, 0, 16384, len));
	ok(do_read(&a, 5, 32768, 16384, len));
	for (uint64_t n = 3; n <= 5; n++)
		cr_assert_eq(took(a.req, n), DAT_DTO_SUCCESS);
}

/* Returns the smallest number of allocations in the three calls, over some tries: the model
 * allocates now and then, and keeps the memory. */
static unsigned long allocations(void (*some)(uint32_t len))
{
	unsigned long least = ~0ul, n;

	for (int i = 0; i < 50 && least; i++) {
		th_fail_start(TH_FAIL_HEAP | TH_FAIL_MMAP, 0);
		for (unsigned int k = 0; k < 3; k++)
			some(sizes[k]);
		n = th_fail_stop();
		least = n < least ? n : least;
	}
	return least;
}

Test(efa_bounds, requests__allocate_nothing)
{
	unsigned long n;

	pair_open("", "");
	n = allocations(a_message);
	cr_assert_eq(n, 0, "%lu allocations were made for messages", n);
	/* The model itself makes one allocation for each write and for each read. */
	n = allocations(two_writes_and_a_read);
	cr_assert_leq(n, 9, "%lu allocations were made for 6 writes and 3 reads", n);
	pair_close();
}
