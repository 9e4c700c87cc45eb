/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Boot and teardown of the function: ENABLE_HCA, capabilities, INIT_HCA, and back. A device that is not
 * cold counts as booted: it accepts these commands without effect. PRM "Initialization".
 */
#include "softnic/mlx5/cold.h"
#include "softnic/mlx5/prm.h"

static void free_mkey(struct softnic *nic, void *mkey)
{
	if (((struct sn_mkey *)mkey)->pd)
		sn_mkey_free(nic, mkey);
}

/* Frees all objects, users before the objects that they use. */
void sn_objects_free(struct softnic *nic)
{
	sn_table_each(nic, &nic->qps, sn_qp_free);
	sn_table_each(nic, &nic->srqs, sn_srq_free);
	sn_table_each(nic, &nic->xrc_srqs, sn_xrc_srq_free);
	sn_table_each(nic, &nic->xrcds, sn_xrcd_free);
	sn_table_each(nic, &nic->mkeys, free_mkey);
	sn_table_each(nic, &nic->cqs, sn_cq_free);
	sn_table_each(nic, &nic->eqs, sn_eq_free);
	sn_table_each(nic, &nic->umems, sn_umem_free);
	sn_table_each(nic, &nic->uars, sn_uar_free);
	sn_table_each(nic, &nic->pds, sn_pd_free);
	sn_table_each(nic, &nic->uctxs, sn_uctx_free);
	sn_table_each(nic, &nic->owned, sn_owned_free);
}

/* Resets the device as at power-on, except the fields of the initialization segment. */
void sn_boot_reset(struct softnic *nic)
{
	struct sn_cold *cold = nic->dev->cold;

	sn_objects_free(nic);
	sn_port_reset(nic);
	cold->state = SN_BOOT_OFF;
	cold->asked = 0;
	cold->checksum = 1;
	cold->roce_sport = cold->link_kept_down = cold->atomic_host_order = false;
	nic->dev->roce_en = false;
	nic->dev->issi = 0;
}

uint8_t sn_boot_check(struct sn_cmd *c)
{
	struct sn_cold *cold = c->nic->dev->cold;
	uint16_t opcode = c->command->opcode;

	if (!cold)
		return STAT_OK;
	if (cold->state == SN_BOOT_OFF)
		return opcode == CMD_ENABLE_HCA ? STAT_OK :
			sn_cmd_refuse(c, STAT_BAD_SYS_STATE, "the function is not enabled");
	if (cold->state == SN_BOOT_ENABLED)
		return c->command->role & SN_BOOTS ? STAT_OK :
			sn_cmd_refuse(c, STAT_BAD_SYS_STATE, "the function is not initialized");
	if (opcode == CMD_ENABLE_HCA || opcode == CMD_INIT_HCA || opcode == CMD_SET_HCA_CAP ||
	    opcode == CMD_SET_ISSI)
		return sn_cmd_refuse(c, STAT_BAD_SYS_STATE, "the function is already initialized");
	if (c->command->role & SN_MAKES && !sn_pages_left(c->nic))
		return sn_cmd_refuse(c, STAT_NO_RES, "the driver did not give the requested pages");
	return STAT_OK;
}

uint8_t sn_cmd_enable_hca(struct sn_cmd *c)
{
	if (c->nic->dev->cold)
		c->nic->dev->cold->state = SN_BOOT_ENABLED;
	return STAT_OK;
}

uint8_t sn_cmd_disable_hca(struct sn_cmd *c)
{
	if (c->nic->dev->cold)
		sn_boot_reset(c->nic);
	return STAT_OK;
}

uint8_t sn_cmd_init_hca(struct sn_cmd *c)
{
	struct sn_cold *cold = c->nic->dev->cold;

	if (!cold)
		return STAT_OK;
	if (c->nic->dev->issi != 1)
		return sn_cmd_refuse(c, STAT_BAD_SYS_STATE, "ISSI %u", c->nic->dev->issi);
	if (sn_pages_wanted(c->nic, SN_PAGES_INIT) > 0)
		return sn_cmd_refuse(c, STAT_BAD_SYS_STATE, "the driver must give %d more pages",
				     sn_pages_wanted(c->nic, SN_PAGES_INIT));
	/* Brings up the links, which must train first, unless an administrator has set them down. */
	for (unsigned int i = 0; i < c->nic->ports; i++)
		sn_link_admin(&c->nic->port[i],
			      !cold->link_kept_down && !c->nic->fault.admin_down);
	cold->state = SN_BOOT_READY;
	c->nic->dev->uar_hint = 0;
	return STAT_OK;
}

/* Frees the remaining objects. The pages stay until the driver takes them back. */
uint8_t sn_cmd_teardown_hca(struct sn_cmd *c)
{
	struct sn_cold *cold = c->nic->dev->cold;

	if (sn_get(c->in, SN_FLD(0x50, 16)) > 2)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "profile %u", sn_get(c->in, SN_FLD(0x50, 16)));
	if (!cold)
		return STAT_OK;
	sn_objects_free(c->nic);
	sn_port_reset(c->nic);
	cold->state = SN_BOOT_ENABLED;
	cold->asked = 0;
	return STAT_OK;
}
