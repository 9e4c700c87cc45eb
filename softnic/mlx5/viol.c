/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts violations of the driver by kind. A refused command has the manual's status. The syndrome is
 * defined by this model: the opcode in the upper half, a hash of the message in the lower.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"

void sn_violate(struct softnic *nic, enum sn_viol v, const char *fmt, ...)
{
	struct softnic_violation *e = &nic->viol[v];
	va_list ap;

	if (e->count++)
		return;
	va_start(ap, fmt);
	vsnprintf(e->detail, sizeof(e->detail), fmt, ap);
	va_end(ap);
}

/* The hash FNV-1a, so that the same refusal has the same syndrome in every build. */
static uint32_t text_hash(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 16777619u;
	return (h ^ h >> 16) & 0xffff;
}

static enum sn_viol kind_of_status(uint8_t status)
{
	switch (status) {
	case STAT_BAD_OP:
		return SN_V_CMD_OPCODE;
	case STAT_BAD_INP_LEN:
		return SN_V_CMD_LENGTH;
	case STAT_BAD_RES:
		return SN_V_CMD_RESOURCE;
	case STAT_RES_BUSY:
		return SN_V_CMD_BUSY;
	case STAT_BAD_QP_STATE:
	case STAT_BAD_RES_STATE:
	case STAT_BAD_SYS_STATE:
		return SN_V_CMD_STATE;
	default:
		return SN_V_CMD_FIELD;
	}
}

uint8_t sn_cmd_refuse(struct sn_cmd *c, uint8_t status, const char *fmt, ...)
{
	uint16_t opcode = (uint16_t)sn_get(c->in, CMD_OPCODE);
	char words[96];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	c->syndrome = (uint32_t)opcode << 16 | text_hash(fmt);
	sn_violate(c->nic, kind_of_status(status), "%s: %s", c->command->name, words);
	return status;
}

/*
 * Refuses a command with the status for an errno. If the model itself lacks a resource, the driver
 * has violated nothing.
 */
uint8_t sn_cmd_refuse_errno(struct sn_cmd *c, int err)
{
	if (err == -EINVAL)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "bad address in a page list");
	c->syndrome = (uint32_t)sn_get(c->in, CMD_OPCODE) << 16 | (err == -ENOSPC ? 2 : 1);
	return err == -ENOSPC ? STAT_LIM : STAT_NO_RES;
}
