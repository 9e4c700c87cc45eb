/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Datagrams of any sender, which may be wrong in every byte, before the software ConnectX with an IP address:
 * a connection to a device that is not ours, and a datagram QP. All packets are captured, and rules of a
 * fault script apply to them. No packet changes memory without the right to, and the capture is a whole file.
 *
 * Judges: softnic/mlx5/fabric.c softnic/mlx5/port.c softnic/mlx5/rc_wire.c softnic/mlx5/ud.c
 * Judges: softnic/mlx5/capture.c softnic/fabric/chaos.c softnic/fabric/rules.c
 */
#include <unistd.h>

#include "softnic/fabric/link.h"
#include "softnic/mlx5/rc.h"
#include "softnic/mlx5/rc_wire.h"
#include "tests/fuzz/roce.h"

enum { LONGEST = 4160, PEER_PORT = 50000, PEER_QPN = 5 };

static uint8_t own_ip[16], peer_ip[16];
static char path[] = "/tmp/fuzz-far-XXXXXX";

static void remove_capture(void)
{
	unlink(path);
}

/* One process has UDP port 4791 of an address. */
static void choose_addresses(void)
{
	uint32_t n = (uint32_t)getpid();

	memcpy(own_ip, (uint8_t[16]){ [10] = 0xff, 0xff, 127, (uint8_t)(1 + (n >> 14) % 254),
				      (uint8_t)(n >> 6), (uint8_t)((n & 63) * 4 + 1) }, sizeof(own_ip));
	memcpy(peer_ip, own_ip, sizeof(peer_ip));
	peer_ip[15]++;
}

static void open_device(void)
{
	struct softnic_config config = { .flags = SOFTNIC_NO_THREAD | SOFTNIC_LOOPBACK_ONLY, .seed = 1 };
	uint8_t c[IN] = { 0 };

	memcpy(config.ip, own_ip, sizeof(config.ip));
	FUZZ_ASSERT(softnic_open(&config, &nic) == 0);
	FUZZ_ASSERT(softnic_capture(nic, path) == 0);
	sn_set(c, ROCE_INDEX, 1);
	memcpy(c + AT_CTX + ROCE_GID, own_ip, sizeof(own_ip));
	sn_set(c + AT_CTX, ROCE_VERSION, 2);
	command(CMD_SET_ROCE_ADDRESS, c);
}

static void connect_qp(unsigned int i)
{
	uint8_t c[IN] = { 0 }, *qpc = c + AT_QPC, *ads = qpc + AT_ADS;

	begin_connection(i, c);
	sn_set(qpc, QPC_LOG_SRA_MAX, 2);
	sn_set(qpc, QPC_REMOTE_QPN, PEER_QPN);
	sn_set(qpc, QPC_RCV_PSN, 0xfffffe);
	sn_set(ads, ADS_GRH, 1);
	sn_set(ads, ADS_SRC_INDEX, 1);
	sn_set(ads, ADS_UDP_SPORT, 0xc123);
	memcpy(ads + ADS_RGID, peer_ip, sizeof(peer_ip));
	memset(ads + ADS_RMAC, 2, 6);
	run_transitions(c, 3);
}

/* ---- Requests of the device's own driver ---- */

static void post_receive(unsigned int i)
{
	uint8_t *w = arena + AT_QP + i * PAGE + qps[i].rq_pi % (1u << LOG_RQ) * 64;

	if (qps[i].receives++ >= 1u << LOG_RQ)
		return;
	sn_set32(w, 0, 512);
	sn_set32(w, 4, keys[LOCAL]);
	sn_set64(w, 8, (uintptr_t)data_of(LOCAL));
	sn_set32(w, 16 + 4, 0x100);
	sn_set32(record_of(i), 0, ++qps[i].rq_pi);
}

/* A read or write of a few packets. */
static void post_request(struct fuzz_input *in)
{
	uint16_t index = qps[PLAIN].sq_pi;
	uint8_t *w = arena + AT_QP + PLAIN * PAGE + (64 << LOG_RQ) + index % (1u << LOG_SQ) * 64;

	if (index == 1u << LOG_SQ)
		return;
	qps[PLAIN].sq_pi++;
	sn_set32(w, 0, (uint32_t)index << 8 | (fuzz_below(in, 2) ? SN_OP_READ : SN_OP_WRITE));
	sn_set32(w, 4, qps[PLAIN].qpn << 8 | 3);
	w[11] = 2 << 2;
	sn_set64(w, 16, 0x1000);
	sn_set32(w, 24, 7);
	sn_set32(w, 32, 1 + fuzz_u8(in) * 4u);
	sn_set32(w, 36, keys[LOCAL]);
	sn_set64(w, 40, (uintptr_t)data_of(LOCAL));
	sn_set32(record_of(PLAIN), 4, qps[PLAIN].sq_pi);
	softnic_mmio_write(nic, uar, 0x800, w, 8);
}

/* ---- Packets ---- */

static size_t put_headers(struct fuzz_input *in, uint8_t *p)
{
	unsigned int i = fuzz_below(in, 4) ? PLAIN : DATAGRAM;
	const struct sn_qp *qp = sn_qp_find(nic, qps[i].qpn);
	uint8_t opcode = i == DATAGRAM ? (uint8_t)(0x64 + fuzz_below(in, 2)) : (uint8_t)fuzz_below(in, 0x18);
	bool answer = opcode >= 0x0d && opcode <= 0x12;
	uint32_t psn = !qp->rc ? 0 : answer ? qp->rc->req.psn_una : qp->rc->resp.psn;
	enum region r = rarely(in) ? (enum region)fuzz_below(in, REGIONS) : REMOTE;

	if (rarely(in))
		psn += (fuzz_u8(in) ^ 0x80u) - 0x80u;	/* a signed byte */
	sn_set32(p, 0, (uint32_t)opcode << 24 | fuzz_below(in, 4) << 20 | 0xffff);
	sn_set32(p, 4, qps[i].qpn);
	sn_set32(p, 8, SN_BTH_ACKREQ | (psn & 0xffffff));
	if (i == DATAGRAM) {
		sn_set32(p, 12, QKEY);
		return 20;
	}
	if (answer) {
		sn_set32(p, 12, (uint32_t)fuzz_u8(in) << 24);
		return 16;
	}
	sn_set64(p, 12, (uintptr_t)data_of(r) + fuzz_u8(in) * 8);
	sn_set32(p, 20, keys[r]);
	sn_set32(p, 24, fuzz_u16(in));
	return opcode < 0x13 ? 28 : 40;
}

/* Writes the ICRC of a packet from this sender, whose IP header has any identification. */
static void put_icrc(struct fuzz_input *in, const struct sn_fab_dest *src, uint8_t *p, size_t len)
{
	struct sn_outer outer = { .ident = fuzz_u16(in), .sport = src->udp_port };
	uint32_t icrc;

	if (len < sizeof(struct sn_bth) + SN_ICRC || rarely(in))
		return;
	memcpy(outer.src, src->gid.raw, sizeof(outer.src));
	memcpy(outer.dst, own_ip, sizeof(outer.dst));
	icrc = sn_icrc(&outer, p, len - SN_ICRC);
	memcpy(p + len - SN_ICRC, &icrc, sizeof(icrc));
}

static void packet(struct fuzz_input *in)
{
	struct sn_fab *fab = nic->port[0].fabric->fab;
	struct sn_fab_dest src = { .slot = SN_FAB_NO_SLOT, .udp_port = PEER_PORT, .foreign = !rarely(in) };
	uint8_t *p = calloc(1, LONGEST);
	size_t len;

	FUZZ_ASSERT(p);
	memcpy(src.gid.raw, rarely(in) ? own_ip : peer_ip, sizeof(src.gid.raw));
	len = put_headers(in, p) + SN_ICRC;
	len += fuzz_below(in, 4) ? fuzz_below(in, 65) * 4 : fuzz_u16(in) % 4112;
	for (unsigned int n = rarely(in) ? fuzz_below(in, 6) : 0; n--;)
		p[fuzz_below(in, 64)] = fuzz_u8(in);
	if (rarely(in))
		len = fuzz_below(in, 80);
	put_icrc(in, &src, p, len);
	/* an exact size, so that a sanitizer finds a read beyond it */
	p = realloc(p, len ? len : 1);
	FUZZ_ASSERT(p);
	sn_enter(nic);
	fab->receiver.datagram(fab->receiver.ctx, &src, p, len);
	sn_leave(nic);
	free(p);
}

static void set_fault(struct fuzz_input *in)
{
	static const char *const scripts[] = {
		"", "drop:dir=in,psn=+2", "dup:dir=in,times=9;reorder:dir=in,op=write,times=9",
		"delay:dir=in,us=1,times=99", "corrupt:dir=in,times=9", "far",
		"drop:;delay:op=ack,us=1;dup:op=nak", "reorder:op=datagram,dir=in,times=9",
	};

	FUZZ_ASSERT(!softnic_fault(nic, scripts[fuzz_below(in, 8)]));
}

static void reconnect(void)
{
	uint8_t c[IN] = { 0 };

	sn_set(c, CMD_NUMBER, qps[PLAIN].qpn);
	command(CMD_2RST_QP, c);
	qps[PLAIN].sq_pi = qps[PLAIN].rq_pi = 0;
	qps[PLAIN].receives = 0;
	sn_set64(record_of(PLAIN), 0, 0);
	connect_qp(PLAIN);
}

static void step(struct fuzz_input *in)
{
	switch (fuzz_below(in, 16)) {
	default: packet(in); break;
	case 10: case 11: softnic_pump(nic); break;
	case 12: post_request(in); break;
	case 13: post_receive(fuzz_below(in, 2) ? PLAIN : DATAGRAM); break;
	case 14: set_fault(in); break;
	case 15: reconnect(); break;
	}
}

/* Each record has its length, and the last one ends with the file. */
static void check_capture(void)
{
	uint8_t head[16];
	FILE *f = fopen(path, "r");
	long at = 24;

	FUZZ_ASSERT(f);
	while (!fseek(f, at, SEEK_SET) && fread(head, sizeof(head), 1, f)) {
		uint32_t len;

		memcpy(&len, head + 8, sizeof(len));
		FUZZ_ASSERT(len >= 20 + 8 + 16 && len <= 48 + SN_FAB_MAX);
		at += 16 + (long)len;
	}
	FUZZ_ASSERT(!fseek(f, 0, SEEK_END) && ftell(f) == at);
	fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t zero[PAGE];
	struct fuzz_input in = { data, size };

	if (!own_ip[15]) {
		choose_addresses();
		FUZZ_ASSERT(close(mkstemp(path)) == 0 && !atexit(remove_capture));
	}
	memset(qps, 0, sizeof(qps));
	arena = aligned_alloc(PAGE, ARENA);
	FUZZ_ASSERT(arena);
	memset(arena, 0, ARENA);
	open_device();
	make_objects();
	keys[SECRET] = make_key(SECRET, 0);
	connect_qp(PLAIN);
	connect_qp(DATAGRAM);
	for (unsigned int i = 0; i < STEPS && in.left; i++)
		step(&in);
	FUZZ_ASSERT(!memcmp(data_of(SECRET), zero, PAGE) && !memcmp(data_of(READABLE), zero, PAGE));
	softnic_close(nic);
	check_capture();
	free(arena);
	return 0;
}
