/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command queue: entries of 64 bytes; longer input and output are in chains of mailboxes. PRM
 * "Command interface". A malformed command is reported in the delivery status of its entry, not by a
 * command status, since there may be no mailbox to write one to.
 */
#include <stdlib.h>

#include "softnic/bytes.h"
#include "softnic/mlx5/cold.h"
#include "softnic/mlx5/prm.h"

enum { INLINE = 16, BLOCK_DATA = 512, IN_MAX = 4 << 20, OUT_MAX = 1 << 16, PCI_TRANSPORT = 7 };
enum { OWNER_HW = 1 };

struct entry {
	uint8_t type, rsvd0[3];
	be32_t in_len;
	be64_t in_ptr;
	uint8_t in[INLINE], out[INLINE];
	be64_t out_ptr;
	be32_t out_len;
	uint8_t token, signature, rsvd1, status_own;
};
SN_SIZE(struct entry, 64);
SN_AT(struct entry, out_len, 0x38);
SN_AT(struct entry, status_own, 0x3f);

struct block {
	uint8_t data[BLOCK_DATA];
	uint8_t rsvd0[48];
	be64_t next;
	be32_t number;
	uint8_t rsvd1, token, ctrl_signature, signature;
};
SN_SIZE(struct block, 576);
SN_AT(struct block, next, 0x230);
SN_AT(struct block, signature, 0x23f);

/* PRM "Command delivery status" */
enum delivery {
	DELIVERED = 0x0,
	BAD_SIGNATURE = 0x1,
	BAD_TOKEN = 0x2,
	BAD_BLOCK_NUMBER = 0x3,
	BAD_OUT_POINTER = 0x4,
	BAD_IN_POINTER = 0x5,
	FW_ERROR = 0x6,
	BAD_IN_LENGTH = 0x7,
	BAD_OUT_LENGTH = 0x8,
	BAD_RESERVED = 0x9,
	BAD_TYPE = 0x10,
};

struct walk {
	struct softnic *nic;
	const struct entry *e;
	unsigned int slot;
	bool out;
	uint32_t number;
	uint64_t ptr;
};

/* Returns the signature of the bytes, whose signature field must be zero. If that field already holds the
 * signature, returns 0. */
static uint8_t sign(const void *at, size_t len)
{
	const uint8_t *p = at;
	uint8_t x = 0xff;

	for (size_t i = 0; i < len; i++)
		x ^= p[i];
	return x;
}

/* PRM: the control signature covers the fields behind the data, the other signature the whole
 * block. */
static bool block_signed(const struct block *b)
{
	return !sign(b->rsvd0, offsetof(struct block, ctrl_signature) + 1 - offsetof(struct block, rsvd0)) &&
		!sign(b, sizeof(*b));
}

static enum delivery check_block(const struct walk *w, const struct block *b)
{
	struct softnic *nic = w->nic;
	const char *which = w->out ? "output" : "input";

	if (!sn_is_zero(b->rsvd0, sizeof(b->rsvd0)) || b->rsvd1) {
		sn_violate(nic, SN_V_CMDQ_RESERVED, "slot %u: reserved fields of %s mailbox %u", w->slot,
			   which, w->number);
		return BAD_RESERVED;
	}
	if (b->token != w->e->token) {
		sn_violate(nic, SN_V_CMDQ_TOKEN, "slot %u: token %#x, but %s mailbox %u has %#x", w->slot,
			   w->e->token, which, w->number, b->token);
		return BAD_TOKEN;
	}
	if (from_be32(b->number) != w->number) {
		sn_violate(nic, SN_V_CMDQ_BLOCK, "slot %u: %s mailbox %u has block number %u",
			   w->slot, which, w->number, from_be32(b->number));
		return BAD_BLOCK_NUMBER;
	}
	if (nic->dev->cold->checksum == 3 && !block_signed(b)) {
		sn_violate(nic, SN_V_CMDQ_SIGNATURE, "slot %u: signature of %s mailbox %u", w->slot,
			   which, w->number);
		return BAD_SIGNATURE;
	}
	return DELIVERED;
}

/* Moves the position to the next mailbox of the chain. */
static enum delivery next_block(struct walk *w, struct block **b)
{
	enum delivery bad = w->out ? BAD_OUT_POINTER : BAD_IN_POINTER, d;
	struct block *at;

	if (w->ptr % BLOCK_DATA) {
		sn_violate(w->nic, SN_V_CMDQ_POINTER, "slot %u: mailbox at %#llx", w->slot,
			   (unsigned long long)w->ptr);
		return bad;
	}
	at = sn_dma(w->nic, w->ptr, sizeof(*at), w->out);
	if (!at)
		return bad;
	d = check_block(w, at);
	if (d)
		return d;
	w->ptr = from_be64(at->next);
	w->number++;
	*b = at;
	return DELIVERED;
}

static enum delivery gather_input(struct walk *w, uint8_t *in, uint32_t len)
{
	memcpy(in, w->e->in, len < INLINE ? len : INLINE);
	for (uint32_t at = INLINE; at < len; at += BLOCK_DATA) {
		struct block *b;
		enum delivery d = next_block(w, &b);

		if (d)
			return d;
		memcpy(in + at, b->data, len - at < BLOCK_DATA ? len - at : BLOCK_DATA);
	}
	return DELIVERED;
}

/* Checks the output mailboxes before execution: a command without room for its output is not executed. */
static enum delivery check_out(struct walk *w, uint32_t len)
{
	enum delivery d = DELIVERED;
	struct block *b;

	for (uint32_t at = INLINE; at < len && !d; at += BLOCK_DATA)
		d = next_block(w, &b);
	return d;
}

/* Copies output; if it is shorter than the mailbox, the rest is zeroed. */
static void fill_block(struct block *b, const uint8_t *out, uint32_t at, uint32_t len)
{
	uint32_t known = at < SN_CMD_OUT_MAX ? SN_CMD_OUT_MAX - at : 0;
	uint32_t n = len - at < BLOCK_DATA ? len - at : BLOCK_DATA;

	if (known > n)
		known = n;
	memcpy(b->data, out + at, known);
	memset(b->data + known, 0, n - known);
}

/* The driver may have changed the chain meanwhile: a mailbox that is no longer valid gets no output. */
static void scatter(struct walk *w, struct entry *e, const uint8_t *out, uint32_t len)
{
	bool checksum = w->nic->dev->cold->checksum == 3;

	memcpy(e->out, out, len < INLINE ? len : INLINE);
	for (uint32_t at = INLINE; at < len; at += BLOCK_DATA) {
		struct block *b;

		if (next_block(w, &b))
			return;
		fill_block(b, out, at, len);
		b->signature = 0;
		if (checksum)
			b->signature = sign(b, sizeof(*b));
	}
}

static enum delivery check_entry(struct softnic *nic, unsigned int slot, const struct entry *e)
{
	uint32_t in_len = from_be32(e->in_len), out_len = from_be32(e->out_len);

	if (e->type != PCI_TRANSPORT) {
		sn_violate(nic, SN_V_CMDQ_TYPE, "slot %u: type %u", slot, e->type);
		return BAD_TYPE;
	}
	if (!sn_is_zero(e->rsvd0, sizeof(e->rsvd0)) || e->rsvd1 || e->status_own >> 1) {
		sn_violate(nic, SN_V_CMDQ_RESERVED, "slot %u", slot);
		return BAD_RESERVED;
	}
	if (in_len < 8 || in_len > IN_MAX) {
		sn_violate(nic, SN_V_CMDQ_LENGTH, "slot %u: %u bytes of input", slot, in_len);
		return BAD_IN_LENGTH;
	}
	if (out_len < 8 || out_len > OUT_MAX) {
		sn_violate(nic, SN_V_CMDQ_LENGTH, "slot %u: %u bytes of output", slot, out_len);
		return BAD_OUT_LENGTH;
	}
	if (nic->dev->cold->checksum == 3 && sign(e, sizeof(*e))) {
		sn_violate(nic, SN_V_CMDQ_SIGNATURE, "slot %u", slot);
		return BAD_SIGNATURE;
	}
	return DELIVERED;
}

static bool room_for(struct sn_cold *cold, size_t len)
{
	uint8_t *in = len > cold->in_size ? realloc(cold->in, len) : cold->in;

	if (!in)
		return false;
	if (len > cold->in_size)
		cold->in_size = len;
	cold->in = in;
	return true;
}

/* The driver may write to the entry at any time, so the device checks and executes one copy of it. */
static enum delivery execute_entry(struct softnic *nic, unsigned int slot, struct entry *e)
{
	const struct entry given = *e;
	struct walk in = { .nic = nic, .e = &given, .slot = slot, .ptr = from_be64(given.in_ptr) };
	struct walk out = { .nic = nic, .e = &given, .slot = slot, .out = true,
			    .ptr = from_be64(given.out_ptr) }, back = out;
	uint32_t in_len = from_be32(given.in_len), out_len = from_be32(given.out_len);
	struct sn_cold *cold = nic->dev->cold;
	enum delivery d = check_entry(nic, slot, &given);

	if (d)
		return d;
	if (!room_for(cold, in_len))
		return FW_ERROR;
	d = gather_input(&in, cold->in, in_len);
	if (!d)
		d = check_out(&out, out_len);
	if (d)
		return d;
	sn_cmd_run(nic, cold->in, in_len, cold->out, out_len);
	scatter(&back, e, cold->out, out_len);
	return DELIVERED;
}

/* PRM "Command completion event": the first word is a bit mask of the completed slots. */
static void send_completion_event(struct softnic *nic, unsigned int slot)
{
	uint8_t data[28] = { 0 };

	sn_set32(data, 0, UINT32_C(1) << slot);
	sn_async(nic, SN_EV_CMD, 0, data);
}

/* Executes the command in a slot. A command that creates the EQ of command events raises no event on that
 * EQ. */
static void run_slot(struct softnic *nic, unsigned int slot, struct entry *e)
{
	bool subscribed = sn_eq_subscribed(nic, SN_EV_CMD);
	enum delivery d = execute_entry(nic, slot, e);

	if (nic->dev->cold->checksum == 3) {
		e->signature = 0;
		e->status_own = (uint8_t)(d << 1);
		e->signature = sign(e, sizeof(*e));
	}
	__atomic_store_n(&e->status_own, (uint8_t)(d << 1), __ATOMIC_RELEASE);
	if (subscribed)
		send_completion_event(nic, slot);
	sn_pages_balance(nic);
}

/*
 * Without SOFTNIC_KEEPS_COMMANDS, a doorbell store can overwrite one that the device has not read. So the
 * device scans all slots. A slot that hardware owns but whose doorbell was not seen may be half written, so
 * the next pass runs it. A late doorbell of that command must not start the slot's next command. Linux
 * cannot take a completion before it rings, so its host must set the flag.
 */
void sn_cmdq_ring(struct softnic *nic, uint64_t queue, uint32_t vector)
{
	struct entry *entries = sn_dma(nic, queue, sizeof(*entries) * SN_CMDQ_SLOTS, true);
	struct sn_cold *cold = nic->dev->cold;
	bool kept = nic->config.flags & SOFTNIC_KEEPS_COMMANDS;

	for (unsigned int slot = 0; entries && slot < SN_CMDQ_SLOTS; slot++) {
		uint32_t bit = UINT32_C(1) << slot;
		struct entry *e = &entries[slot];
		bool given = __atomic_load_n(&e->status_own, __ATOMIC_ACQUIRE) & OWNER_HW;
		bool rung = vector & bit, seen = cold->seen & bit;

		cold->seen &= ~bit;
		if (rung && cold->early & bit) {	/* the late doorbell of an earlier command */
			cold->early &= ~bit;
			rung = false;
		}
		if (given && (rung || seen))
			run_slot(nic, slot, e);
		else if (given && !kept)
			cold->seen |= bit;
		else if (rung)
			sn_violate(nic, SN_V_CMDQ_OWNER, "doorbell of slot %u, which software owns", slot);
		if (seen && !rung)
			cold->early |= bit;
	}
}
