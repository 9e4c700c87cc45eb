/* SPDX-License-Identifier: BSD-2-Clause */
/* The command dispatcher: checks a flat command and calls its handler. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "softnic/mlx5/cold.h"
#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"

#define TABLE(name) offsetof(struct softnic, name)

/* Kinds of objects that a command destroys as soon as no other object uses them. */
static const struct kind {
	size_t table, refs;	/* offsets in struct softnic and in the object; refs 0: has no users */
	const char *name;
	void (*free)(struct softnic *nic, void *obj);
} kinds[] = {
	{ TABLE(pds), offsetof(struct sn_pd, refs), "PD", sn_pd_free },
	{ TABLE(uars), offsetof(struct sn_uar, refs), "UAR", sn_uar_free },
	{ TABLE(xrcds), offsetof(struct sn_xrcd, refs), "XRC domain", sn_xrcd_free },
	{ TABLE(xrc_srqs), 0, "XRC SRQ", sn_xrc_srq_free },
	{ TABLE(umems), offsetof(struct sn_umem, refs), "umem", sn_umem_free },
	{ TABLE(cqs), offsetof(struct sn_cq, refs), "CQ", sn_cq_free },
	{ TABLE(qps), 0, "QP", sn_qp_free },
	{ TABLE(srqs), offsetof(struct sn_srq, refs), "RMP", sn_srq_free },
};

static uint8_t destroy_object(struct sn_cmd *c)
{
	const struct kind *k = kinds;
	unsigned int refs = 0;
	uint8_t *obj;

	while (k->table != c->command->table)
		k++;
	obj = sn_table_find((void *)((uint8_t *)c->nic + k->table), sn_get(c->in, CMD_NUMBER));
	if (!obj)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no such %s: %#x", k->name,
				     sn_get(c->in, CMD_NUMBER));
	if (k->refs)
		memcpy(&refs, obj + k->refs, sizeof(refs));
	if (refs)
		return sn_cmd_refuse(c, STAT_RES_BUSY, "%s has %u users", k->name, refs);
	k->free(c->nic, obj);
	return STAT_OK;
}

static const struct sn_command commands[] = {
	{ CMD_QUERY_HCA_VPORT_CONTEXT, 16, "QUERY_HCA_VPORT_CONTEXT", sn_cmd_query_hca_vport, 0, 0 },
	{ CMD_QUERY_HCA_VPORT_GID, 16, "QUERY_HCA_VPORT_GID", sn_cmd_query_hca_gid, 0, 0 },
	{ CMD_QUERY_HCA_VPORT_PKEY, 16, "QUERY_HCA_VPORT_PKEY", sn_cmd_query_pkey, 0, 0 },
	{ CMD_QUERY_HCA_CAP, 16, "QUERY_HCA_CAP", sn_cmd_query_hca_cap, 0, SN_BOOTS },
	{ CMD_QUERY_ADAPTER, 16, "QUERY_ADAPTER", sn_cmd_query_adapter, 0, SN_BOOTS },
	{ CMD_INIT_HCA, 16, "INIT_HCA", sn_cmd_init_hca, 0, SN_BOOTS },
	{ CMD_TEARDOWN_HCA, 16, "TEARDOWN_HCA", sn_cmd_teardown_hca, 0, SN_STOPS },
	{ CMD_ENABLE_HCA, 16, "ENABLE_HCA", sn_cmd_enable_hca, 0, 0 },
	{ CMD_DISABLE_HCA, 16, "DISABLE_HCA", sn_cmd_disable_hca, 0, SN_BOOTS | SN_STOPS },
	{ CMD_QUERY_PAGES, 16, "QUERY_PAGES", sn_cmd_query_pages, 0, SN_BOOTS },
	{ CMD_MANAGE_PAGES, 16, "MANAGE_PAGES", sn_cmd_manage_pages, 0, SN_BOOTS },
	{ CMD_SET_HCA_CAP, 0x1010, "SET_HCA_CAP", sn_cmd_set_hca_cap, 0, SN_BOOTS },
	{ CMD_QUERY_ISSI, 16, "QUERY_ISSI", sn_cmd_query_issi, 0, SN_BOOTS },
	{ CMD_SET_ISSI, 16, "SET_ISSI", sn_cmd_set_issi, 0, SN_BOOTS },
	{ CMD_CREATE_MKEY, AT_PAS, "CREATE_MKEY", sn_cmd_create_mkey, TABLE(mkeys), SN_MAKES },
	{ CMD_QUERY_MKEY, 16, "QUERY_MKEY", sn_cmd_query_mkey, TABLE(mkeys), 0 },
	{ CMD_DESTROY_MKEY, 16, "DESTROY_MKEY", sn_cmd_destroy_mkey, TABLE(mkeys), SN_ENDS },
	{ CMD_QUERY_SPECIAL_CONTEXTS, 16, "QUERY_SPECIAL_CONTEXTS", sn_cmd_special, 0, 0 },
	{ CMD_CREATE_EQ, AT_PAS, "CREATE_EQ", sn_cmd_create_eq, 0, SN_MAKES },
	{ CMD_DESTROY_EQ, 16, "DESTROY_EQ", sn_cmd_destroy_eq, 0, SN_ENDS },
	{ CMD_QUERY_EQ, 16, "QUERY_EQ", sn_cmd_query_eq, 0, 0 },
	{ CMD_CREATE_CQ, AT_PAS, "CREATE_CQ", sn_cmd_create_cq, TABLE(cqs), SN_MAKES },
	{ CMD_DESTROY_CQ, 16, "DESTROY_CQ", destroy_object, TABLE(cqs), SN_ENDS },
	{ CMD_QUERY_CQ, 16, "QUERY_CQ", sn_cmd_query_cq, TABLE(cqs), 0 },
	{ CMD_MODIFY_CQ, AT_PAS, "MODIFY_CQ", sn_cmd_modify_cq, TABLE(cqs), 0 },
	{ CMD_CREATE_QP, AT_PAS, "CREATE_QP", sn_cmd_create_qp, TABLE(qps), SN_MAKES },
	{ CMD_DESTROY_QP, 16, "DESTROY_QP", destroy_object, TABLE(qps), SN_ENDS },
	{ CMD_RST2INIT_QP, 0x100, "RST2INIT_QP", sn_cmd_modify_qp, TABLE(qps), 0 },
	{ CMD_INIT2INIT_QP, 0x100, "INIT2INIT_QP", sn_cmd_modify_qp, TABLE(qps), 0 },
	{ CMD_INIT2RTR_QP, 0x100, "INIT2RTR_QP", sn_cmd_modify_qp, TABLE(qps), 0 },
	{ CMD_RTR2RTS_QP, 0x100, "RTR2RTS_QP", sn_cmd_modify_qp, TABLE(qps), 0 },
	{ CMD_RTS2RTS_QP, 0x100, "RTS2RTS_QP", sn_cmd_modify_qp, TABLE(qps), 0 },
	{ CMD_SQERR2RTS_QP, 0x100, "SQERR2RTS_QP", sn_cmd_modify_qp, TABLE(qps), 0 },
	{ CMD_2ERR_QP, 16, "2ERR_QP", sn_cmd_modify_qp, TABLE(qps), SN_STOPS },
	{ CMD_2RST_QP, 16, "2RST_QP", sn_cmd_modify_qp, TABLE(qps), SN_STOPS },
	{ CMD_QUERY_QP, 16, "QUERY_QP", sn_cmd_query_qp, TABLE(qps), 0 },
	{ CMD_QUERY_VPORT_STATE, 16, "QUERY_VPORT_STATE", sn_cmd_query_vport_state, 0, 0 },
	{ CMD_QUERY_NIC_VPORT_CONTEXT, 16, "QUERY_NIC_VPORT_CONTEXT", sn_cmd_query_vport, 0, 0 },
	{ CMD_MODIFY_NIC_VPORT_CONTEXT, 0x200, "MODIFY_NIC_VPORT_CONTEXT", sn_cmd_modify_vport, 0, 0 },
	{ CMD_QUERY_ROCE_ADDRESS, 16, "QUERY_ROCE_ADDRESS", sn_cmd_query_roce, 0, 0 },
	{ CMD_SET_ROCE_ADDRESS, 0x30, "SET_ROCE_ADDRESS", sn_cmd_set_roce, 0, 0 },
	{ CMD_MAD_IFC, 0x110, "MAD_IFC", sn_cmd_mad, 0, 0 },
	{ CMD_ALLOC_PD, 16, "ALLOC_PD", sn_cmd_alloc_pd, TABLE(pds), SN_MAKES },
	{ CMD_DEALLOC_PD, 16, "DEALLOC_PD", destroy_object, TABLE(pds), SN_ENDS },
	{ CMD_ALLOC_UAR, 16, "ALLOC_UAR", sn_cmd_alloc_uar, TABLE(uars), SN_MAKES },
	{ CMD_DEALLOC_UAR, 16, "DEALLOC_UAR", destroy_object, TABLE(uars), SN_ENDS },
	{ CMD_ACCESS_REG, 16, "ACCESS_REG", sn_cmd_access_reg, 0, SN_BOOTS },
	{ CMD_ALLOC_XRCD, 16, "ALLOC_XRCD", sn_cmd_alloc_xrcd, TABLE(xrcds), SN_MAKES },
	{ CMD_DEALLOC_XRCD, 16, "DEALLOC_XRCD", destroy_object, TABLE(xrcds), SN_ENDS },
	{ CMD_CREATE_XRC_SRQ, AT_PAS, "CREATE_XRC_SRQ", sn_cmd_create_xrc_srq, TABLE(xrc_srqs), SN_MAKES },
	{ CMD_DESTROY_XRC_SRQ, 16, "DESTROY_XRC_SRQ", destroy_object, TABLE(xrc_srqs), SN_ENDS },
	{ CMD_QUERY_LAG, 16, "QUERY_LAG", sn_cmd_query_lag, 0, 0 },
	{ CMD_CREATE_RMP, AT_PAS, "CREATE_RMP", sn_cmd_create_rmp, TABLE(srqs), SN_MAKES },
	{ CMD_MODIFY_RMP, AT_PAS, "MODIFY_RMP", sn_cmd_modify_rmp, TABLE(srqs), 0 },
	{ CMD_DESTROY_RMP, 16, "DESTROY_RMP", destroy_object, TABLE(srqs), SN_ENDS },
	{ CMD_QUERY_RMP, 16, "QUERY_RMP", sn_cmd_query_rmp, TABLE(srqs), 0 },
	{ CMD_CREATE_UCTX, 0x20, "CREATE_UCTX", sn_cmd_create_uctx, 0, 0 },
	{ CMD_DESTROY_UCTX, 16, "DESTROY_UCTX", sn_cmd_destroy_uctx, 0, SN_ENDS },
	{ CMD_CREATE_UMEM, 0x30, "CREATE_UMEM", sn_cmd_create_umem, TABLE(umems), SN_MAKES },
	{ CMD_DESTROY_UMEM, 16, "DESTROY_UMEM", destroy_object, TABLE(umems), SN_ENDS },
	{ 0, 0, "unknown opcode", NULL, 0, 0 },
};

static const struct sn_command *find_command(uint16_t opcode)
{
	const struct sn_command *k = commands;

	while (k->fn && k->opcode != opcode)
		k++;
	return k;
}

/*
 * Before these commands the device handles stored doorbells and arrived packets. A doorbell or arm that
 * was stored earlier then meets its object and not an unknown one. A NAK that broke a connection takes
 * effect before the command by which the driver reacts, as on a wire.
 */
static bool ends_traffic(uint16_t opcode)
{
	return opcode == CMD_DESTROY_CQ || opcode == CMD_DESTROY_QP || opcode == CMD_2ERR_QP;
}

/*
 * Serves the fabric first: a peer may have made a link and sent packets through it, and this device has
 * not noticed the link yet. Drives more than once, because an adversarial device may defer work to the
 * next drive.
 */
static void handle_traffic(struct softnic *nic)
{
	enum { DRIVES = 64 };

	sn_fabric_serve(nic);
	for (int i = 0; i < DRIVES && (sn_drive(nic) || !TAILQ_EMPTY(&nic->run)) && !sn_is_spent(nic); i++)
		;
}

/* Is this the n-th command with the opcode in the fault script? */
static bool is_injected(struct softnic *nic, uint16_t opcode)
{
	if (!nic->fault.cmd_nth || opcode != nic->fault.cmd_opcode)
		return false;
	return ++nic->dev->cmd_count == nic->fault.cmd_nth;
}

static uint8_t execute_command(struct sn_cmd *c)
{
	uint16_t opcode = (uint16_t)sn_get(c->in, CMD_OPCODE);
	const struct sn_command *k = find_command(opcode);
	uint8_t status;

	c->command = k;
	if (!k->fn)
		return sn_cmd_refuse(c, STAT_BAD_OP, "opcode %#x", opcode);
	if (c->inlen < k->inlen)
		return sn_cmd_refuse(c, STAT_BAD_INP_LEN,
				     "input of %zu bytes, %u are needed", c->inlen, k->inlen);
	if (is_injected(c->nic, opcode)) {
		c->syndrome = UINT32_C(0xfa017000);
		return STAT_BAD_RES;
	}
	if (c->nic->fatal && !(k->role & (SN_ENDS | SN_STOPS))) {
		c->syndrome = UINT32_C(0xfa7a1000);
		return STAT_INT_ERR;
	}
	status = sn_boot_check(c);
	if (!status)
		status = sn_uctx_check(c);
	if (status)
		return status;
	if (ends_traffic(opcode))
		handle_traffic(c->nic);
	status = k->fn(c);
	sn_uctx_record(c, status);
	return status;
}

/* Writes a line to the file SOFTNIC_COMMANDS: status, name and bytes of the command. A list at the end of
 * the command is left out. */
static void log_command(const struct sn_cmd *c, uint8_t status)
{
	const char *path = secure_getenv("SOFTNIC_COMMANDS");
	FILE *log = path ? fopen(path, "ae") : NULL;

	if (!log)
		return;
	fprintf(log, "%02x %s ", status, c->command->name);
	for (size_t i = 0; i < c->inlen && i < AT_PAS; i++)
		fprintf(log, "%02x", c->in[i]);
	fputc('\n', log);
	fclose(log);
}

void sn_cmd_run(struct softnic *nic, const uint8_t *in, size_t inlen, uint8_t *out, size_t outlen)
{
	struct sn_cmd c = { .nic = nic, .in = in, .inlen = inlen, .out = out, .outlen = outlen };
	uint8_t status;
	int cancel;

	/* Doorbells that the driver stored before the command take effect before it. */
	if (nic->config.flags & SOFTNIC_SCAN_UARS && !nic->forked)
		sn_uar_scan(nic);
	memset(out, 0, SN_CMD_OUT_MAX);
	/* A thread that was cancelled in a system call would keep the device's lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	status = execute_command(&c);
	log_command(&c, status);
	pthread_setcancelstate(cancel, NULL);
	/*
	 * Any command may change an object that a cached mapping depends on. Commands are rare, so all
	 * mappings are dropped.
	 */
	sn_mappings_forget(nic);
	if (!status)
		return;
	memset(out, 0, 16);
	out[0] = status;
	sn_set32(out, 4, c.syndrome);
}
