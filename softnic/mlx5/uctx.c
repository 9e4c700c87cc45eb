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

enum { SHARED = 0xffff };

struct uctx {
	uint32_t uid;
};

/* The capabilities of a user context exclude raw packets and internal resources. */
uint8_t sn_cmd_create_uctx(struct sn_cmd *c)
{
	struct uctx *u;
	int err;

	if (sn_get(c->in, UCTX_CAP))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "cap %#x is not among the capabilities",
				     sn_get(c->in, UCTX_CAP));
	u = calloc(1, sizeof(*u));
	err = -ENOMEM;
	if (u)
		err = sn_table_add(c->nic, &c->nic->uctxs, SN_UID_BITS, SN_LOG_MAX_UCTX, u, &u->uid);
	if (err) {
		free(u);
		return sn_cmd_refuse_errno(c, err);
	}
	sn_set(c->out, UCTX_UID, u->uid);
	return STAT_OK;
}

void sn_uctx_free(struct sn_nic *nic, void *obj)
{
	struct uctx *u = obj;

	sn_table_remove(&nic->uctxs, u->uid);
	free(u);
}

/* A kind of object: the position of its table */
#define KIND(table) (offsetof(struct sn_nic, table) / sizeof(struct sn_table))
enum kind {
	QP = KIND(qps),
	CQ = KIND(cqs),
	MKEY = KIND(mkeys),
	PD = KIND(pds),
	UAR = KIND(uars),
	RMP = KIND(srqs),
	UMEM = KIND(umems),
	XRC_SRQ = KIND(xrc_srqs),
	XRCD = KIND(xrcds),
};
enum role { MAKES, ENDS, USES };

/* The commands whose object number is in the common field. */
static const struct rule {
	uint16_t opcode;
	uint8_t kind, role;
} rules[] = {
	{ CMD_CREATE_QP, QP, MAKES },		{ CMD_DESTROY_QP, QP, ENDS },
	{ CMD_RST2INIT_QP, QP, USES },		{ CMD_INIT2INIT_QP, QP, USES },
	{ CMD_INIT2RTR_QP, QP, USES },		{ CMD_RTR2RTS_QP, QP, USES },
	{ CMD_RTS2RTS_QP, QP, USES },		{ CMD_2ERR_QP, QP, USES },
	{ CMD_2RST_QP, QP, USES },		{ CMD_QUERY_QP, QP, USES },
	{ CMD_CREATE_CQ, CQ, MAKES },		{ CMD_DESTROY_CQ, CQ, ENDS },
	{ CMD_MODIFY_CQ, CQ, USES },		{ CMD_QUERY_CQ, CQ, USES },
	{ CMD_CREATE_MKEY, MKEY, MAKES },	{ CMD_DESTROY_MKEY, MKEY, ENDS },
	{ CMD_QUERY_MKEY, MKEY, USES },		{ CMD_ALLOC_PD, PD, MAKES },
	{ CMD_DEALLOC_PD, PD, ENDS },		{ CMD_ALLOC_UAR, UAR, MAKES },
	{ CMD_DEALLOC_UAR, UAR, ENDS },		{ CMD_CREATE_RMP, RMP, MAKES },
	{ CMD_DESTROY_RMP, RMP, ENDS },		{ CMD_MODIFY_RMP, RMP, USES },
	{ CMD_QUERY_RMP, RMP, USES },		{ CMD_CREATE_UMEM, UMEM, MAKES },
	{ CMD_DESTROY_UMEM, UMEM, ENDS },	{ CMD_CREATE_XRC_SRQ, XRC_SRQ, MAKES },
	{ CMD_DESTROY_XRC_SRQ, XRC_SRQ, ENDS },	{ CMD_ALLOC_XRCD, XRCD, MAKES },
	{ CMD_DEALLOC_XRCD, XRCD, ENDS },
};

static const struct rule *find_rule(const struct sn_cmd *c)
{
	uint32_t opcode = sn_get(c->in, CMD_OPCODE);

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].opcode == opcode)
			return &rules[i];
	return NULL;
}

static uint32_t object_key(const struct rule *rule, const uint8_t *layout)
{
	return (uint32_t)rule->kind << 24 | sn_get(layout, CMD_NUMBER);
}

/* Allocates the record before the command creates the object, so that recording it cannot fail. */
static uint8_t reserve_record(struct sn_cmd *c)
{
	c->owned = sn_table_reserve(&c->nic->owned) ? NULL : malloc(sizeof(*c->owned));
	return c->owned ? STAT_OK : sn_cmd_refuse_errno(c, -ENOMEM);
}

/* A program may name only its own objects; the driver may name all. */
uint8_t sn_uctx_check(struct sn_cmd *c)
{
	uint32_t uid = sn_get(c->in, CMD_UID);
	const struct rule *rule;
	const struct sn_owned *o;

	if (!uid || uid == SHARED)
		return STAT_OK;
	if (!sn_table_find(&c->nic->uctxs, uid))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "no user context %u", uid);
	c->user = uid;
	rule = find_rule(c);
	if (rule && rule->role == MAKES)
		return reserve_record(c);
	o = rule ? sn_table_find(&c->nic->owned, object_key(rule, c->in)) : NULL;
	if (o && o->uid != uid)
		return sn_cmd_refuse(c, STAT_BAD_RES, "the object belongs to user context %u",
				     o->uid);
	return STAT_OK;
}

void sn_owned_free(struct sn_nic *nic, void *obj)
{
	struct sn_owned *o = obj;

	sn_table_remove(&nic->owned, o->kind_number);
	free(o);
}

/* Frees a UAR of the ending context whose free was deferred because a queue used it. Linux does not
 * free it again. */
static void free_uar(struct sn_nic *nic, void *obj)
{
	const struct sn_owned *o = obj;
	struct sn_uar *uar;

	if (o->kind_number >> 24 != UAR || sn_table_find(&nic->uctxs, o->uid))
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
	const struct rule *rule = status ? NULL : find_rule(c);
	struct sn_owned *o = c->owned;

	if (o && rule) {
		*o = (struct sn_owned){ object_key(rule, c->out), (uint16_t)c->user };
		if (!sn_table_insert(&c->nic->owned, o->kind_number, o))
			return;
	}
	free(o);
	o = rule && rule->role == ENDS ? sn_table_find(&c->nic->owned, object_key(rule, c->in)) : NULL;
	if (o)
		sn_owned_free(c->nic, o);
}
