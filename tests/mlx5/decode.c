/* SPDX-License-Identifier: BSD-2-Clause */
/* Each WQE and CQE becomes one line of text, whatever its bytes. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "hw_mlx5/obj.h"
#include "tests/mlx5/captured/captured.h"

static struct captured_wqe captured[] = {
#include "tests/mlx5/captured/wqes.inc"
};

static uint8_t hex_byte(const char *s)
{
	char two[3] = { s[0], s[1], 0 };

	return s[0] == '.' ? 0 : (uint8_t)strtoul(two, NULL, 16);
}

static const char *text_of(const char *name)
{
	static uint8_t ring[128 * 64];
	static char text[256];

	for (size_t i = 0; i < sizeof(captured) / sizeof(captured[0]); i++) {
		const struct captured_wqe *c = &captured[i];

		if (strcmp(c->name, name))
			continue;
		if (c->op == CAPTURED_RECV) {
			for (size_t k = 0; c->bytes[2 * k]; k++)
				ring[k] = hex_byte(c->bytes + 2 * k);
			return m5_decode_recv(ring, c->stride / 16, text, sizeof(text));
		}
		for (size_t k = 0; c->bytes[2 * k]; k++)
			ring[(c->index * 64 + k) % (c->ring * 64)] = hex_byte(c->bytes + 2 * k);
		return m5_decode_wqe(ring, c->ring - 1, c->index, text, sizeof(text));
	}
	return "no such capture";
}

Test(decode, wqe__of_libmlx5_is_decoded)
{
	static const struct {
		const char *name, *text;
	} cases[] = {
		{ "write_inline_8", "RDMA_WRITE idx 1 qpn 0xa130d4 ds 3 to 0x5a0012348000 rkey 0x6311e900 inline 8" },
		{ "write_unsignalled", "RDMA_WRITE idx 8 qpn 0xa130d4 ds 3 ce=error to 0x5a0012348000 rkey 0x6311e900 [0x5a0012340000+100 key 0x6311e900]" },
		{ "send_solicited", "SEND idx 6 qpn 0xa130d4 ds 2 solicited [0x5a0012340000+100 key 0x6311e900]" },
		{ "write_fence", "RDMA_WRITE idx 7 qpn 0xa130d4 ds 3 fence=small+read to 0x5a0012348000 rkey 0x6311e900 [0x5a0012340000+100 key 0x6311e900]" },
		{ "send_imm", "SEND_IMM idx 2 qpn 0xa130d4 ds 2 imm 0x9abcdef0 [0x5a0012340000+100 key 0x6311e900]" },
		{ "bind_1", "UMR idx 3 qpn 0xa130d4 ds 12 mkey 0x781b1d05 -> variant 0x06 rr rw start 0x5a0012340040 len 4096 [0x5a0012340040+4096 key 0x6311e900]" },
		{ "bind_1_wrap_1", "UMR idx 127 qpn 0xa130d4 ds 12 mkey 0x781b1d11 -> variant 0x12 rr rw start 0x5a0012340040 len 4096 [0x5a0012340040+4096 key 0x6311e900]" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_str_eq(text_of(cases[i].name), cases[i].text);
	cr_expect(strstr(text_of("unbind_1"), "UMR") && strstr(text_of("unbind_1"), " free"));
	cr_expect(!strncmp(text_of("recv_2"), "RECV [0x5a", 10), "the WQE is decoded wrongly: %s",
		  text_of("recv_2"));
	cr_expect(!strncmp(text_of("read_3"), "RDMA_READ idx 9", 15),
		  "the WQE is decoded wrongly: %s", text_of("read_3"));
}

Test(decode, cqe__of_error_and_success_is_decoded)
{
	struct m5_cqe cqe = { .uidx = cpu_to_be32(7), .opcode_qpn = cpu_to_be32(0x08001234),
			      .wqe_counter = cpu_to_be16(513), .op_own = 0xd0 };
	char text[160];

	((uint8_t *)&cqe)[M5_CQE_AT_VENDOR] = 0x88;
	((uint8_t *)&cqe)[M5_CQE_AT_SYNDROME] = 0x13;
	cr_assert_str_eq(m5_decode_cqe(&cqe, text, sizeof(text)),
			 "CQE REQ_ERR qpn 0x1234 uidx 7 wqe 513 of RDMA_WRITE: remote access "
			 "(syndrome 0x13, vendor 0x88)");
	cqe = (struct m5_cqe){ .byte_cnt = cpu_to_be32(99), .op_own = 0x23 };
	cr_assert_str_eq(m5_decode_cqe(&cqe, text, sizeof(text)),
			 "CQE RESP_SEND qpn 0x0 uidx 0 wqe 0 bytes 99 solicited");
}

/* Any bytes and any buffer size: the text is terminated, and no access is outside of either. */
Test(decode, anything__stays_within_bounds)
{
	uint8_t *ring = malloc(64);
	char text[300];

	srand(5);
	for (int i = 0; i < 100000; i++) {
		size_t len = 1 + (size_t)rand() % sizeof(text);

		for (int k = 0; k < 64; k++)
			ring[k] = (uint8_t)rand();
		if (i & 1)
			ring[3] = (uint8_t[]){ 0x08, 0x0a, 0x10, 0x12, 0x25, 0 }[i / 2 % 6];
		text[len - 1] = 'x';
		m5_decode_wqe(ring, 0, (uint32_t)rand(), text, len);
		cr_assert(memchr(text, 0, len));
		m5_decode_recv(ring, 4, text, len);
		cr_assert(memchr(text, 0, len));
		m5_decode_cqe((struct m5_cqe *)(void *)ring, text, len);
		cr_assert(memchr(text, 0, len));
	}
	free(ring);
}
