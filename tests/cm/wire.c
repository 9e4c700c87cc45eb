/* SPDX-License-Identifier: BSD-2-Clause */
/* The parser of messages from untrusted peers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cm/node.h"

static struct cm_msg sample(enum cm_type type)
{
	struct cm_msg m = { .type = type, .id = 0x0123456789abcdef };

	if (type == CM_REQ || type == CM_REP)
		m.path = path_of(5);
	if (type == CM_REQ)
		m.conn_qual = 0xfedcba9876543210;
	if (type == CM_REJ)
		m.reason = CM_REASON_REFUSED;
	if (type == CM_REQ || type == CM_REP || type == CM_REJ || type == CM_BREAK) {
		m.pd_size = 100;
		pattern(m.pd, m.pd_size, 3);
	}
	return m;
}

static bool same_msg(const struct cm_msg *a, const struct cm_msg *b)
{
	return a->type == b->type && a->reason == b->reason && a->id == b->id &&
	       a->conn_qual == b->conn_qual && same_path(&a->path, &b->path) &&
	       a->pd_size == b->pd_size && !memcmp(a->pd, b->pd, sizeof(a->pd));
}

Test(cm, wire__every_type_is_decoded_as_encoded)
{
	for (enum cm_type t = CM_REQ; t < CM_TYPES; t++) {
		struct cm_msg in = sample(t), out;
		uint8_t w[CM_WIRE_SIZE];

		cm_wire_put(&in, w);
		cr_assert_eq(cm_wire_get(w, sizeof(w), &out), 1,
			     "an encoded %s message cannot be decoded", cm_type_name(t));
		cr_assert(same_msg(&in, &out), "a %s message changed by encoding and decoding",
			  cm_type_name(t));
	}
}

/* Checks the exact bytes of a request, so that a later version cannot change them unnoticed. */
Test(cm, wire__bytes_of_a_request_are_unchanged)
{
	static const uint8_t head[] = {
		'D', 'A', 'T', 'C', 0, 1, 1, 0,
		0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
		0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10,
		2, 4, 5, 1, 0x04, 0x00, 0x00, 0x07, 0x00, 0x03, 0, 0,
		0, 0, 0x10, 0x05, 0, 0xab, 0xc0, 0x05, 0, 5, 0, 1,
	};
	struct cm_msg m = sample(CM_REQ);
	uint8_t w[CM_WIRE_SIZE];

	cm_wire_put(&m, w);
	cr_assert_eq(memcmp(w, head, sizeof(head)), 0);
	cr_assert_eq(memcmp(w + 48, m.path.own, 8), 0);
	cr_assert_eq(memcmp(w + 56, m.path.gid, 16), 0);
	cr_assert_eq(w[72] << 8 | w[73], 100);
	cr_assert_eq(memcmp(w + 80, m.pd, 100), 0);
}

Test(cm, wire__part_of_a_message_needs_more_bytes)
{
	struct cm_msg in = sample(CM_REQ), out;
	uint8_t w[CM_WIRE_SIZE];

	cm_wire_put(&in, w);
	memset(&out, 0x5a, sizeof(out));
	for (size_t len = 0; len < sizeof(w); len++)
		cr_assert_eq(cm_wire_get(w, len, &out), 0,
			     "a message of only %zu bytes was taken as complete", len);
	for (size_t i = 0; i < sizeof(out); i++)
		cr_assert_eq(((uint8_t *)&out)[i], 0x5a);
}

static int get_changed(enum cm_type type, size_t at, uint8_t value)
{
	struct cm_msg m = sample(type);
	uint8_t w[CM_WIRE_SIZE];

	cm_wire_put(&m, w);
	w[at] = value;
	return cm_wire_get(w, sizeof(w), &m);
}

struct change {
	enum cm_type type;
	unsigned int at, value;
	int want;
};

Test(cm, wire__each_wrong_field_is_refused)
{
	static const struct change changes[] = {
		{ CM_REQ, 0, 'X', -EPROTO }, { CM_REQ, 3, 'X', -EPROTO },
		{ CM_REQ, 5, 2, -EPROTONOSUPPORT }, { CM_REQ, 4, 1, -EPROTONOSUPPORT },
		{ CM_REQ, 6, 0, -EPROTO }, { CM_REQ, 6, CM_TYPES, -EPROTO },
		{ CM_REQ, 7, 1, -EPROTO },
		{ CM_REQ, 24, 0, -EPROTO }, { CM_REQ, 24, 3, -EPROTO },	/* unknown link layer */
		{ CM_REQ, 27, 16, -EPROTO },				/* service level above 15 */
		{ CM_REQ, 28, 0, -EPROTO },				/* MTU of 0x0400 */
		{ CM_REQ, 35, 1, -EPROTO },	/* reserved byte */
		{ CM_REQ, 36, 1, -EPROTO }, { CM_REQ, 40, 1, -EPROTO },	/* numbers of 25 bits */
		/* 356 bytes of private data */
		{ CM_REQ, 72, 1, -EPROTO },
		/* wrong size of the 100 bytes */
		{ CM_REQ, 73, 99, -EPROTO },
		{ CM_REQ, 74, 1, -EPROTO }, { CM_REQ, 79, 1, -EPROTO }, { CM_REQ, 335, 1, -EPROTO },
		{ CM_REP, 16, 1, -EPROTO },				/* qualifier in a REP */
		{ CM_RTU, 24, 2, -EPROTO }, { CM_RTU, 71, 1, -EPROTO }, { CM_RTU, 73, 1, -EPROTO },
		{ CM_GO, 80, 1, -EPROTO }, { CM_DISC, 74, 1, -EPROTO },
		{ CM_REJ, 74, 0, -EPROTO }, { CM_REJ, 74, CM_REASONS, -EPROTO },
		{ CM_REJ, 40, 1, -EPROTO },
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const struct change *c = &changes[i];

		cr_assert_eq(get_changed(c->type, c->at, (uint8_t)c->value), c->want,
			     "wrong decoding result of message %s with byte %u = %u",
			     cm_type_name(c->type), c->at, c->value);
	}
}

Test(cm, wire__private_data_of_any_length_is_decoded_as_encoded)
{
	static const uint32_t sizes[] = { 0, 1, 255, 256 };

	for (size_t i = 0; i < 4; i++) {
		struct cm_msg in = sample(CM_REP), out;
		uint8_t w[CM_WIRE_SIZE];

		memset(in.pd, 0, sizeof(in.pd));
		in.pd_size = sizes[i];
		pattern(in.pd, in.pd_size, 4);
		cm_wire_put(&in, w);
		cr_assert_eq(cm_wire_get(w, sizeof(w), &out), 1);
		cr_assert(same_msg(&in, &out));
	}
}

/* A message that is accepted has no other encoding: it is encoded to the same bytes. */
Test(cm, wire__accepted_messages_are_canonical)
{
	unsigned int seed = 20260401, accepted = 0;

	for (int round = 0; round < 300000; round++) {
		struct cm_msg m = sample((enum cm_type)(1 + rand_r(&seed) % (CM_TYPES - 1))), out;
		uint8_t w[CM_WIRE_SIZE], again[CM_WIRE_SIZE];
		size_t len = sizeof(w);

		cm_wire_put(&m, w);
		for (int n = rand_r(&seed) % 4; n > 0; n--)
			w[(size_t)rand_r(&seed) % (n > 1 ? 80 : sizeof(w))] =
				(uint8_t)rand_r(&seed);
		if (rand_r(&seed) % 8 == 0)
			len = (size_t)rand_r(&seed) % sizeof(w);
		if (cm_wire_get(w, len, &out) != 1)
			continue;
		cr_assert_leq(out.pd_size, DAP_MAX_PRIVATE_DATA);
		cm_wire_put(&out, again);
		cr_assert_eq(memcmp(w, again, sizeof(w)), 0);
		accepted++;
	}
	cr_assert_gt(accepted, 1000);
}

Test(cm, wire__noise_is_refused)
{
	unsigned int seed = 7;

	for (int round = 0; round < 50000; round++) {
		uint8_t w[CM_WIRE_SIZE];
		struct cm_msg out;

		for (size_t i = 0; i < sizeof(w); i++)
			w[i] = (uint8_t)rand_r(&seed);
		cr_assert_lt(cm_wire_get(w, sizeof(w), &out), 0);
	}
}
