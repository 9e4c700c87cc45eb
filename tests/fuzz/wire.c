/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of the connection manager: any bytes are decoded or refused. What is decoded is encoded to
 * the same bytes, so no byte of a message is without a meaning. Each shorter part of it is incomplete.
 *
 * Judges: core/cm/wire.c
 */
#include <errno.h>

#include "core/cm/wire.h"
#include "tests/fuzz/fuzz.h"

static void encode_again(const uint8_t *data, const struct cm_msg *msg)
{
	uint8_t wire[CM_WIRE_SIZE];

	FUZZ_ASSERT(msg->type > 0 && msg->type < CM_TYPES && msg->reason < CM_REASONS);
	FUZZ_ASSERT(msg->pd_size <= DAP_MAX_PRIVATE_DATA);
	cm_wire_put(msg, wire);
	FUZZ_ASSERT(!memcmp(wire, data, sizeof(wire)));
}

static int decode(const uint8_t *data, size_t len, struct cm_msg *msg)
{
	/* an exact size, so that a sanitizer finds a read beyond it */
	uint8_t *exact = malloc(len ? len : 1);
	int ret;

	FUZZ_ASSERT(exact);
	memcpy(exact, data, len);
	ret = cm_wire_get(exact, len, msg);
	free(exact);
	FUZZ_ASSERT(ret == 0 || ret == 1 || ret == -EPROTO || ret == -EPROTONOSUPPORT);
	return ret;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cm_msg msg, part;
	int ret = decode(data, size, &msg);

	if (ret == 1)
		encode_again(data, &msg);
	if (ret != 1 || size < CM_WIRE_SIZE)
		return 0;
	for (size_t len = 0; len < CM_WIRE_SIZE; len += len < CM_PREFIX_SIZE ? 1 : 41)
		FUZZ_ASSERT(decode(data, len, &part) == 0);
	return 0;
}
