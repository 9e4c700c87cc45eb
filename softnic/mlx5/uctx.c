/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * User contexts: a kernel creates one for each program that uses DEVX, and puts its number into the uid
 * of the program's commands. A uid of 0 means the driver. All ones, which the driver uses for EQs,
 * means all contexts. PRM "UCTX".
 */
#include <errno.h>
#include <stdlib.h>

#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"

struct uctx {
	uint32_t uid;
};

/* The capabilities of a user context exclude raw packets and internal resources. */
uint8_t sn_cmd_create_uctx(struct sn_cmd *c)
{
	struct uctx *u;
	uint8_t status;

	if (sn_get(c->in, UCTX_CAP))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "cap %#x is not among the capabilities",
				     sn_get(c->in, UCTX_CAP));
	u = calloc(1, sizeof(*u));
	status = u ? sn_cmd_add(c, &c->nic->uctxs, SN_UID_BITS, SN_LOG_MAX_UCTX, u, &u->uid) :
		     sn_cmd_refuse_errno(c, -ENOMEM);
	if (status)
		free(u);
	else
		sn_set(c->out, UCTX_UID, u->uid);
	return status;
}

void sn_uctx_free(struct softnic *nic, void *obj)
{
	struct uctx *u = obj;

	sn_table_remove(&nic->uctxs, u->uid);
	free(u);
}

static uint32_t object_key(const struct sn_cmd *c, const uint8_t *layout)
{
	return sn_kind(c->command->table) << 24 | sn_get(layout, CMD_NUMBER);
}

/* Allocates the record before the command creates the object, so that recording it cannot fail. */
static uint8_t reserve_record(struct sn_cmd *c)
{
	c->owned = sn_table_reserve(&c->nic->owned) ? NULL : malloc(sizeof(*c->owned));
	return c->owned ? STAT_OK : sn_cmd_refuse_errno(c, -ENOMEM);
}

/* Does the object of this command exist? */
static bool exists(const struct sn_cmd *c)
{
	return sn_table_find((const struct sn_table *)((const uint8_t *)c->nic + c->command->table),
			     sn_get(c->in, CMD_NUMBER));
}

uint8_t sn_uctx_check(struct sn_cmd *c)
{
	uint32_t uid = sn_get(c->in, CMD_UID);

	if (!uid || uid == SN_UID_SHARED)
		return STAT_OK;
	if (!sn_table_find(&c->nic->uctxs, uid))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "no user context %u", uid);
	c->user = uid;
	if (!c->command->table)
		return STAT_OK;
	if (c->command->role & SN_MAKES)
		return reserve_record(c);
	if (exists(c) && !sn_cmd_may_name(c, c->command->table, sn_get(c->in, CMD_NUMBER)))
		return sn_cmd_refuse(c, STAT_BAD_RES, "the object does not belong to user context %u", uid);
	return STAT_OK;
}

void sn_owned_free(struct softnic *nic, void *obj)
{
	struct sn_owned *o = obj;

	sn_table_remove(&nic->owned, o->kind_number);
	free(o);
}

/* Frees a UAR of the ending context whose free was deferred because a queue used it. Linux does not
 * free it again. */
static void free_uar(struct softnic *nic, void *obj)
{
	const struct sn_owned *o = obj;
	struct sn_uar *uar;

	if (o->kind_number >> 24 != sn_kind(offsetof(struct softnic, uars)) ||
	    sn_table_find(&nic->uctxs, o->uid))
		return;
	uar = sn_table_find(&nic->uars, o->kind_number & 0xffffff);
	if (!uar || uar->refs)
		return;
	sn_uar_free(nic, uar);
	sn_owned_free(nic, obj);
}

uint8_t sn_cmd_destroy_uctx(struct sn_cmd *c)
{
	struct uctx *u = sn_table_find(&c->nic->uctxs, sn_get(c->in, UCTX_UID));

	if (!u)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no such user context: %u",
				     sn_get(c->in, UCTX_UID));
	sn_uctx_free(c->nic, u);
	sn_table_each(c->nic, &c->nic->owned, free_uar);
	return STAT_OK;
}

void sn_uctx_record(struct sn_cmd *c, uint8_t status)
{
	struct sn_owned *o = c->owned;

	if (o && !status) {
		*o = (struct sn_owned){ object_key(c, c->out), (uint16_t)c->user };
		if (!sn_table_insert(&c->nic->owned, o->kind_number, o))
			return;
	}
	free(o);
	if (status || !c->command->table || !(c->command->role & SN_ENDS))
		return;
	o = sn_table_find(&c->nic->owned, object_key(c, c->in));
	if (o)
		sn_owned_free(c->nic, o);
}
