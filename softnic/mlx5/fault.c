/* SPDX-License-Identifier: BSD-2-Clause */
/* The fault script, which is parsed as a whole before any part takes effect; and the capture. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/mlx5/cold.h"
#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/port.h"
#include "softnic/mlx5/quirk.h"
#include "softnic/mlx5/rc_wire.h"

const char *softnic_fault_words(void)
{
	return "drop dup reorder corrupt delay rnr cmd_fail fatal link_down quirk";
}

static const struct sn_share shares[] = {
	{ "drop", offsetof(struct sn_fault, drop) },
	{ "dup", offsetof(struct sn_fault, dup) },
	{ "reorder", offsetof(struct sn_fault, reorder) },
	{ "corrupt", offsetof(struct sn_fault, corrupt) },
	{ "delay", offsetof(struct sn_fault, delay) },
	{ "rnr", offsetof(struct sn_fault, rnr) },
};

static int parse_cmd_fail(struct sn_fault *f, const char *value)
{
	char *end;
	unsigned long opcode = strtoul(value, &end, 0);
	unsigned long nth = 1;

	if (end == value || opcode > UINT16_MAX)
		return -EINVAL;
	if (*end == ':') {
		value = end + 1;
		nth = strtoul(value, &end, 0);
		if (end == value || !nth || nth > UINT32_MAX)
			return -EINVAL;
	}
	if (*end)
		return -EINVAL;
	f->cmd_opcode = (uint16_t)opcode;
	f->cmd_nth = (uint32_t)nth;
	return 0;
}

struct parsed {
	struct sn_fault fault;
	/* actions that the script triggers at once */
	bool fatal;
	unsigned int links_down;	/* one bit for each port */
};

static int parse_link(struct parsed *parsed, const char *value)
{
	char *end;
	unsigned long port = value ? strtoul(value, &end, 0) : 1;

	if (port < 1 || port > SN_PORTS || (value && (end == value || *end)))
		return -EINVAL;
	parsed->links_down |= 1u << port;
	return 0;
}

static int parse_word(void *to, char *word)
{
	struct parsed *parsed = to;
	struct sn_fault *f = &parsed->fault;
	char *value = strchr(word, '='), *end;

	if (!strcmp(word, "fatal")) {
		parsed->fatal = true;
		return 0;
	}
	if (!strcmp(word, "admin_down")) {
		f->admin_down = true;
		return 0;
	}
	if (!strcmp(word, "far")) {
		f->far = true;
		return 0;
	}
	if (value)
		*value++ = 0;
	if (!strcmp(word, "link_down"))
		return parse_link(parsed, value);
	if (!value)
		return -EINVAL;
	if (!strcmp(word, "quirk"))
		return sn_quirk_parse(f, value);
	if (!strcmp(word, "cmd_fail"))
		return parse_cmd_fail(f, value);
	if (strcmp(word, "seed"))
		return sn_share_parse(shares, sizeof(shares) / sizeof(shares[0]), f, word, value);
	f->seed = strtoull(value, &end, 0);
	return end == value || *end ? -EINVAL : 0;
}

/* Causes a fatal error: the device sends one event and then executes only destroy commands. */
static void fail_device(struct softnic *nic)
{
	static const uint8_t none[28];

	if (nic->fatal)
		return;
	nic->fatal = true;
	if (nic->dev->cold)
		sn_iseg_fatal(nic);
	sn_async(nic, SN_EV_INTERNAL, 0, none);
}

/* Must not be called while a packet is being delivered, because the packet may be in memory of the old
 * faults. If there is not enough memory, the next poll tries again. */
static void apply_faults(struct softnic *nic)
{
	for (unsigned int i = 0; i < nic->ports; i++)
		sn_port_apply_faults(&nic->port[i]);
}

static const struct sn_script_terms terms = {
	.ops = sn_packet_ops, .actions = ~0u, .max_qpn = 0xffffff, .max_psn = SN_PSN_MASK,
};

int softnic_fault_why(struct softnic *nic, const char *script, char *why, size_t whylen)
{
	struct parsed p = { .fault.seed = nic->config.seed };
	int err = sn_script_parse(script, &terms, &p.fault.script, parse_word, &p, why, whylen);

	if (err)
		return err;
	sn_enter(nic);
	p.fault.generation = nic->fault.generation + 1;
	nic->fault = p.fault;
	nic->dev->cmd_count = 0;
	for (unsigned int i = 0; i < nic->ports; i++) {
		nic->port[i].unplugged = p.links_down >> nic->port[i].number & 1;
		sn_link_update(&nic->port[i]);
	}
	apply_faults(nic);
	if (p.fatal)
		fail_device(nic);
	sn_mappings_forget(nic);
	sn_leave(nic);
	return 0;
}

int softnic_fault(struct softnic *nic, const char *script)
{
	char why[256] = "";
	int err = softnic_fault_why(nic, script, why, sizeof(why));

	if (err)
		fprintf(stderr, "softnic: fault script: %s\n", *why ? why : strerror(-err));
	return err;
}

/* A capture shows single packets, as a fault script does: both turn off the fast paths. */
int softnic_capture(struct softnic *nic, const char *path)
{
	struct sn_capture *capture;
	int err = nic->capture ? -EBUSY : sn_capture_open(path, &capture);

	if (err)
		return err;
	sn_enter(nic);
	nic->capture = capture;
	nic->fault.generation++;
	apply_faults(nic);
	sn_mappings_forget(nic);
	sn_leave(nic);
	return 0;
}
