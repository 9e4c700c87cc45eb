/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/pieces.h"

#define GAP_AFTER 16
#define BLANK 0xee

const size_t sizes[SIZES] = {
	1, 2, 3, 4, 7, 8, 9, 12, 15, 16, 27, 28, 29, 43, 44, 45, 60, 61, 187, 188, 189, 220, 221, 1023,
	1024, 4095, 4096, 4097, 8191, 8192, 8193, 65535, 65536, 65537, 1u << 20, (1u << 20) + 1,
};

void pieces_pair(struct end *a, struct end *b)
{
	DAT_EP_ATTR attr = rig_attr();

	attr.max_recv_iov = attr.max_request_iov = PIECES_MAX;
	attr.max_rdma_read_iov = attr.max_rdma_write_iov = PIECES_MAX;
	end_open(a, MEM, &attr);
	end_open(b, MEM, &attr);
	end_join(a, a->ep, b, b->ep);
}

static uint64_t next(uint64_t *x)
{
	*x = *x * 6364136223846793005u + 1442695040888963407u;
	return *x >> 33;
}

void pieces_cut(struct pieces *p, const struct end *e, size_t off, unsigned int n, size_t size,
		uint64_t seed)
{
	uint64_t x = seed * 2 + 1;
	size_t left = size;

	*p = (struct pieces){ .n = n, .total = size };
	for (unsigned int i = 0; i < n; i++) {
		unsigned int more = n - 1 - i;
		size_t len = more ? next(&x) % (2 * left / (more + 1) + 1) : left;

		if (more && i == seed % n)
			len = 0;
		p->gap[i] = 1 + next(&x) % 30;
		off += p->gap[i];
		p->seg[i] = seg(e, off, len);
		off += len;
		left -= len;
	}
	check(off + GAP_AFTER <= e->len);
}

static char *at(const struct pieces *p, unsigned int i)
{
	return (char *)(uintptr_t)p->seg[i].virtual_address;
}

void pieces_fill(const struct pieces *p, uint64_t seed)
{
	char *flat = malloc(p->total + 1), *from = flat;

	fill(flat, p->total, seed);
	for (unsigned int i = 0; i < p->n; i++) {
		memcpy(at(p, i), from, p->seg[i].segment_length);
		from += p->seg[i].segment_length;
	}
	free(flat);
}

void pieces_blank(const struct pieces *p)
{
	for (unsigned int i = 0; i < p->n; i++)
		memset(at(p, i) - p->gap[i], BLANK, p->gap[i] + p->seg[i].segment_length + GAP_AFTER);
}

bool pieces_filled(const struct pieces *p, uint64_t seed)
{
	char *flat = malloc(p->total + 1), *to = flat;
	bool ok = true;

	for (unsigned int i = 0; i < p->n; i++) {
		ok = ok && all_bytes(at(p, i) - p->gap[i], p->gap[i], BLANK);
		memcpy(to, at(p, i), p->seg[i].segment_length);
		to += p->seg[i].segment_length;
	}
	ok = ok && all_bytes(at(p, p->n - 1) + p->seg[p->n - 1].segment_length, GAP_AFTER, BLANK) &&
	     filled(flat, p->total, seed);
	free(flat);
	return ok;
}
