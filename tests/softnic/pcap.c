/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/softnic/pcap.h"

enum { ROOM = 1 << 20, IPV4 = 20, IPV6 = 40, UDP = 8, BTH = 12, CRC = 4 };

/* IBTA table 38; R, A, I, D and T are the headers RETH, AETH, immediate or IETH, DETH and AtomicETH. */
static const struct opcode {
	const char *name, *headers;
} opcodes[256] = {
	[0x00] = {"SEND_FIRST", ""}, [0x01] = {"SEND_MIDDLE", ""}, [0x02] = {"SEND_LAST", ""},
	[0x03] = {"SEND_LAST_IMM", "I"}, [0x04] = {"SEND_ONLY", ""}, [0x05] = {"SEND_ONLY_IMM", "I"},
	[0x06] = {"WRITE_FIRST", "R"}, [0x07] = {"WRITE_MIDDLE", ""}, [0x08] = {"WRITE_LAST", ""},
	[0x09] = {"WRITE_LAST_IMM", "I"}, [0x0a] = {"WRITE_ONLY", "R"}, [0x0b] = {"WRITE_ONLY_IMM", "RI"},
	[0x0c] = {"READ", "R"}, [0x0d] = {"RESPONSE_FIRST", "A"}, [0x0e] = {"RESPONSE_MIDDLE", ""},
	[0x0f] = {"RESPONSE_LAST", "A"}, [0x10] = {"RESPONSE_ONLY", "A"}, [0x11] = {"ACK", "A"},
	[0x12] = {"ATOMIC_ACK", "AO"}, [0x13] = {"CMP_SWAP", "T"}, [0x14] = {"FETCH_ADD", "T"},
	[0x16] = {"SEND_LAST_INV", "I"}, [0x17] = {"SEND_ONLY_INV", "I"},
	[0x64] = {"UD_SEND_ONLY", "D"}, [0x65] = {"UD_SEND_ONLY_IMM", "DI"},
};

struct text {
	char *at;
	size_t left;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(t->at, t->left, format, args);
	va_end(args);
	cr_assert(n >= 0 && (size_t)n < t->left);
	t->at += n;
	t->left -= (size_t)n;
}

static uint32_t get(const uint8_t *p, unsigned int bytes)
{
	uint32_t v = 0;

	while (bytes--)
		v = v << 8 | *p++;
	return v;
}

static uint32_t crc32_of(uint32_t crc, const uint8_t *p, size_t len)
{
	while (len--) {
		crc ^= *p++;
		for (unsigned int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/* IBTA A17.3.3. ip: the IP header; ip_len: its length; len: length of the packet without the ICRC. */
static bool icrc_is_good(const uint8_t *ip, size_t ip_len, size_t len)
{
	uint8_t masked[8 + IPV6 + UDP + BTH];
	size_t n = ip_len + UDP + BTH;
	uint8_t *m = masked + 8;
	uint32_t crc;

	memset(masked, 0xff, 8);
	memcpy(m, ip, n);
	if (ip_len == IPV4) {
		m[1] = m[8] = m[10] = m[11] = 0xff;
	} else {
		m[0] |= 0x0f;
		m[1] = m[2] = m[3] = m[7] = 0xff;
	}
	m[ip_len + 6] = m[ip_len + 7] = 0xff;
	m[ip_len + UDP + 4] = 0xff;
	crc = ~crc32_of(crc32_of(UINT32_MAX, masked, 8 + n), ip + n, len - n);
	return ip[len] == (uint8_t)crc && ip[len + 1] == (uint8_t)(crc >> 8) &&
	       ip[len + 2] == (uint8_t)(crc >> 16) && ip[len + 3] == (uint8_t)(crc >> 24);
}

/* RFC 1071: the sum over right data, with its checksum, is 0xffff. */
static bool sum_is_good(uint32_t sum, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i += 2)
		sum += i + 1 < len ? get(p + i, 2) : get(p + i, 1) << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

/* Checks IP and UDP; returns the length of the IP header. */
static size_t check_outer(const uint8_t *p, size_t len)
{
	size_t ip = p[0] == 0x45 ? IPV4 : IPV6;

	cr_assert_geq(len, ip + UDP + BTH + CRC);
	if (ip == IPV4) {
		cr_assert_eq(get(p + 2, 2), len);
		cr_assert_eq(get(p + 4, 4), 0x4000, "the packet has no DF, or an identification");
		cr_assert(sum_is_good(0, p, IPV4), "wrong checksum of IPv4");
		cr_assert_eq(get(p + ip + 6, 2), 0);
	} else {
		cr_assert_eq(p[0] >> 4, 6);
		cr_assert_eq(get(p + 4, 2), len - ip);
		cr_assert(sum_is_good((uint32_t)(len - ip) + 17, p + 8, len - 8), "wrong checksum of UDP");
		cr_assert_neq(get(p + ip + 6, 2), 0);
	}
	cr_assert_eq(ip == IPV4 ? p[9] : p[6], 17);
	cr_assert_eq(get(p + ip + 2, 2), 4791, "not the UDP port of RoCEv2");
	cr_assert_eq(get(p + ip + 4, 2), len - ip);
	return ip;
}

static void add_aeth(struct text *t, uint8_t opcode, const uint8_t *p)
{
	static const char *const naks[] = {"sequence", "invalid", "access", "operational"};

	if (opcode != 0x11)
		return;
	if (p[0] >> 5 == 1)
		add(t, " rnr");
	else if (p[0] >> 5 == 3)
		add(t, " nak %s", (p[0] & 31) < 4 ? naks[p[0] & 31] : "?");
	else
		cr_assert_eq(p[0] >> 5, 0);
	add(t, " msn %u", get(p + 1, 3));
}

/* The traffic class of IPv6, or the type of service of IPv4. */
static unsigned int class_of(const uint8_t *ip)
{
	return ip[0] == 0x45 ? ip[1] : get(ip, 2) >> 4 & 0xff;
}

static void describe(struct text *t, const struct pcap_conn *c, const uint8_t *p, size_t len)
{
	size_t ip = check_outer(p, len);
	const uint8_t *bth = p + ip + UDP, *end = p + len - CRC, *at = bth + BTH;
	const struct opcode *op = &opcodes[bth[0]];
	uint32_t qpn = get(bth + 5, 3);

	cr_assert(op->name, "opcode %#x", bth[0]);
	cr_assert_eq(bth[1] & 15, 0);
	cr_assert_eq(bth[8] & 0x7f, 0, "reserved bits are set");
	cr_assert(qpn == c->qpn_a || qpn == c->qpn_b);
	add(t, "%c %s %u%s", qpn == c->qpn_b ? '>' : '<', op->name, (get(bth + 9, 3) - c->psn) & 0xffffff,
	    bth[8] & 0x80 ? " A" : "");
	for (const char *h = op->headers; *h; h++) {
		if (*h == 'R')
			add(t, " at %lld of %u", (long long)(((uint64_t)get(at, 4) << 32 | get(at + 4, 4)) -
							     (uintptr_t)c->data_b), get(at + 12, 4));
		else if (*h == 'A')
			add_aeth(t, bth[0], at);
		at += *h == 'R' ? 16 : *h == 'T' ? 28 : *h == 'O' || *h == 'D' ? 8 : 4;
	}
	end -= bth[1] >> 4 & 3;
	cr_assert(at <= end);
	if (at < end)
		add(t, ": %u", (unsigned int)(end - at));
	if (class_of(p))
		add(t, " class %u", class_of(p));
	add(t, "%s\n", icrc_is_good(p, ip, len - CRC) ? "" : " bad");
}

/* A header of pcap is in the byte order of the host that wrote it. */
static uint32_t word(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

void pcap_describe(const char *path, const struct pcap_conn *conn, char *text, size_t room)
{
	uint8_t *file = malloc(ROOM), *p = file + 24;
	struct text t = {text, room};
	FILE *f = fopen(path, "r");
	size_t len = f ? fread(file, 1, ROOM, f) : 0;

	cr_assert(len >= 24 && len < ROOM);
	fclose(f);
	*text = '\0';
	cr_assert_eq(word(file), 0xa1b23c4d);
	cr_assert_eq(word(file + 4), 4 << 16 | 2);
	cr_assert_eq(word(file + 20), 101, "the packets do not begin with IP");
	while (p < file + len) {
		cr_assert(file + len - p >= 16);
		cr_assert(llabs((long long)word(p) - time(NULL)) < 3600 && word(p + 4) < 1000000000);
		cr_assert_eq(word(p + 8), word(p + 12));
		cr_assert_leq(word(p + 8), (size_t)(file + len - p) - 16);
		describe(&t, conn, p + 16, word(p + 8));
		p += 16 + word(p + 8);
	}
	free(file);
}
