/* SPDX-License-Identifier: BSD-2-Clause */
/* The command dispatcher: checks a flat command and calls its handler. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "softnic/mlx5/cold.h"
#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"

/* Kinds of objects that a command destroys as soon as no other object uses them. */
static const struct kind {
	uint16_t opcode;
	const char *name;
	size_t table, refs;	/* offsets in struct sn_nic and in the object; refs 0: has no users */
	void (*free)(struct sn_nic *nic, void *obj);
} kinds[] = {
	{ CMD_DEALLOC_PD, "PD", offsetof(struct sn_nic, pds), offsetof(struct sn_pd, refs), sn_pd_free },
	{ CMD_DEALLOC_UAR, "UAR", offsetof(struct sn_nic, uars), offsetof(struct sn_uar, refs), sn_uar_free },
	{ CMD_DEALLOC_XRCD, "XRC domain", offsetof(struct sn_nic, xrcds), offsetof(struct sn_xrcd, refs),
	  sn_xrcd_free },
	{ CMD_DESTROY_XRC_SRQ, "XRC SRQ", offsetof(struct sn_nic, xrc_srqs), 0, sn_xrc_srq_free },
	{ CMD_DESTROY_UMEM, "umem", offsetof(struct sn_nic, umems), offsetof(struct sn_umem, refs),
	  sn_umem_free },
	{ CMD_DESTROY_CQ, "CQ", offsetof(struct sn_nic, cqs), offsetof(struct sn_cq, refs), sn_cq_free },
	{ CMD_DESTROY_QP, "QP", offsetof(struct sn_nic, qps), 0, sn_qp_free },
	{ CMD_DESTROY_RMP, "RMP", offsetof(struct sn_nic, srqs), offsetof(struct sn_srq, refs), sn_srq_free },
};

static uint8_t destroy_object(struct sn_cmd *c)
{
	const struct kind *k = kinds;
	unsigned int refs = 0;
	uint8_t *obj;

	while (k->opcode != sn_get(c->in, CMD_OPCODE))
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

struct entry {
	uint16_t opcode, inlen;
	const char *name;
	sn_cmd_fn *fn;
};

static const struct entry entries[] = {
	{ CMD_QUERY_HCA_VPORT_CONTEXT, 16, "QUERY_HCA_VPORT_CONTEXT", sn_cmd_query_hca_vport },
	{ CMD_QUERY_HCA_VPORT_GID, 16, "QUERY_HCA_VPORT_GID", sn_cmd_query_hca_gid },
	{ CMD_QUERY_HCA_VPORT_PKEY, 16, "QUERY_HCA_VPORT_PKEY", sn_cmd_query_pkey },
	{ CMD_QUERY_HCA_CAP, 16, "QUERY_HCA_CAP", sn_cmd_query_hca_cap },
	{ CMD_QUERY_ADAPTER, 16, "QUERY_ADAPTER", sn_cmd_query_adapter },
	{ CMD_INIT_HCA, 16, "INIT_HCA", sn_cmd_init_hca },
	{ CMD_TEARDOWN_HCA, 16, "TEARDOWN_HCA", sn_cmd_teardown_hca },
	{ CMD_ENABLE_HCA, 16, "ENABLE_HCA", sn_cmd_enable_hca },
	{ CMD_DISABLE_HCA, 16, "DISABLE_HCA", sn_cmd_disable_hca },
	{ CMD_QUERY_PAGES, 16, "QUERY_PAGES", sn_cmd_query_pages },
	{ CMD_MANAGE_PAGES, 16, "MANAGE_PAGES", sn_cmd_manage_pages },
	{ CMD_SET_HCA_CAP, 0x1010, "SET_HCA_CAP", sn_cmd_set_hca_cap },
	{ CMD_QUERY_ISSI, 16, "QUERY_ISSI", sn_cmd_query_issi },
	{ CMD_SET_ISSI, 16, "SET_ISSI", sn_cmd_set_issi },
	{ CMD_CREATE_MKEY, AT_PAS, "CREATE_MKEY", sn_cmd_create_mkey },
	{ CMD_QUERY_MKEY, 16, "QUERY_MKEY", sn_cmd_query_mkey },
	{ CMD_DESTROY_MKEY, 16, "DESTROY_MKEY", sn_cmd_destroy_mkey },
	{ CMD_QUERY_SPECIAL_CONTEXTS, 16, "QUERY_SPECIAL_CONTEXTS", sn_cmd_special },
	{ CMD_CREATE_EQ, AT_PAS, "CREATE_EQ", sn_cmd_create_eq },
	{ CMD_DESTROY_EQ, 16, "DESTROY_EQ", sn_cmd_destroy_eq },
	{ CMD_QUERY_EQ, 16, "QUERY_EQ", sn_cmd_query_eq },
	{ CMD_CREATE_CQ, AT_PAS, "CREATE_CQ", sn_cmd_create_cq },
	{ CMD_DESTROY_CQ, 16, "DESTROY_CQ", destroy_object },
	{ CMD_QUERY_CQ, 16, "QUERY_CQ", sn_cmd_query_cq },
	{ CMD_MODIFY_CQ, AT_PAS, "MODIFY_CQ", sn_cmd_modify_cq },
	{ CMD_CREATE_QP, AT_PAS, "CREATE_QP", sn_cmd_create_qp },
	{ CMD_DESTROY_QP, 16, "DESTROY_QP", destroy_object },
	{ CMD_RST2INIT_QP, 0x100, "RST2INIT_QP", sn_cmd_modify_qp },
	{ CMD_INIT2INIT_QP, 0x100, "INIT2INIT_QP", sn_cmd_modify_qp },
	{ CMD_INIT2RTR_QP, 0x100, "INIT2RTR_QP", sn_cmd_modify_qp },
	{ CMD_RTR2RTS_QP, 0x100, "RTR2RTS_QP", sn_cmd_modify_qp },
	{ CMD_RTS2RTS_QP, 0x100, "RTS2RTS_QP", sn_cmd_modify_qp },
	{ CMD_2ERR_QP, 16, "2ERR_QP", sn_cmd_modify_qp },
	{ CMD_2RST_QP, 16, "2RST_QP", sn_cmd_modify_qp },
	{ CMD_QUERY_QP, 16, "QUERY_QP", sn_cmd_query_qp },
	{ CMD_QUERY_VPORT_STATE, 16, "QUERY_VPORT_STATE", sn_cmd_query_vport_state },
	{ CMD_QUERY_NIC_VPORT_CONTEXT, 16, "QUERY_NIC_VPORT_CONTEXT", sn_cmd_query_vport },
	{ CMD_MODIFY_NIC_VPORT_CONTEXT, 0x200, "MODIFY_NIC_VPORT_CONTEXT", sn_cmd_modify_vport },
	{ CMD_QUERY_ROCE_ADDRESS, 16, "QUERY_ROCE_ADDRESS", sn_cmd_query_roce },
	{ CMD_SET_ROCE_ADDRESS, 0x30, "SET_ROCE_ADDRESS", sn_cmd_set_roce },
	{ CMD_MAD_IFC, 0x110, "MAD_IFC", sn_cmd_mad },
	{ CMD_ALLOC_PD, 16, "ALLOC_PD", sn_cmd_alloc_pd },
	{ CMD_DEALLOC_PD, 16, "DEALLOC_PD", destroy_object },
	{ CMD_ALLOC_UAR, 16, "ALLOC_UAR", sn_cmd_alloc_uar },
	{ CMD_DEALLOC_UAR, 16, "DEALLOC_UAR", destroy_object },
	{ CMD_ACCESS_REG, 16, "ACCESS_REG", sn_cmd_access_reg },
	{ CMD_ALLOC_XRCD, 16, "ALLOC_XRCD", sn_cmd_alloc_xrcd },
	{ CMD_DEALLOC_XRCD, 16, "DEALLOC_XRCD", destroy_object },
	{ CMD_CREATE_XRC_SRQ, AT_PAS, "CREATE_XRC_SRQ", sn_cmd_create_xrc_srq },
	{ CMD_DESTROY_XRC_SRQ, 16, "DESTROY_XRC_SRQ", destroy_object },
	{ CMD_CREATE_RMP, AT_PAS, "CREATE_RMP", sn_cmd_create_rmp },
	{ CMD_MODIFY_RMP, AT_PAS, "MODIFY_RMP", sn_cmd_modify_rmp },
	{ CMD_DESTROY_RMP, 16, "DESTROY_RMP", destroy_object },
	{ CMD_QUERY_RMP, 16, "QUERY_RMP", sn_cmd_query_rmp },
	{ CMD_CREATE_UCTX, 0x20, "CREATE_UCTX", sn_cmd_create_uctx },
	{ CMD_DESTROY_UCTX, 16, "DESTROY_UCTX", sn_cmd_destroy_uctx },
	{ CMD_CREATE_UMEM, 0x30, "CREATE_UMEM", sn_cmd_create_umem },
	{ CMD_DESTROY_UMEM, 16, "DESTROY_UMEM", destroy_object },
};

static const struct entry *find_command(uint16_t opcode)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (entries[i].opcode == opcode)
			return &entries[i];
	return NULL;
}

/* A driver must be able to tear down after a fatal error, so these commands then succeed, as in
 * firmware. */
static bool is_destroy(uint16_t opcode)
{
	switch (opcode) {
	case CMD_DESTROY_MKEY:
	case CMD_DESTROY_EQ:
	case CMD_DESTROY_CQ:
	case CMD_DESTROY_QP:
	case CMD_DESTROY_RMP:
	case CMD_DESTROY_XRC_SRQ:
	case CMD_DEALLOC_XRCD:
	case CMD_2RST_QP:
	case CMD_2ERR_QP:
	case CMD_DEALLOC_PD:
	case CMD_DEALLOC_UAR:
	case CMD_DESTROY_UMEM:
	case CMD_DESTROY_UCTX:
	case CMD_TEARDOWN_HCA:
	case CMD_DISABLE_HCA:
		return true;
	default:
		return false;
	}
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
static void handle_traffic(struct sn_nic *nic)
{
	enum { DRIVES = 64 };

	sn_fabric_serve(nic);
	for (int i = 0; i < DRIVES && (sn_drive(nic) || !TAILQ_EMPTY(&nic->run)); i++)
		;
}

/* Is this the n-th command with the opcode in the fault script? */
static bool is_injected(struct sn_nic *nic, uint16_t opcode)
{
	if (!nic->fault.cmd_nth || opcode != nic->fault.cmd_opcode)
		return false;
	return ++nic->dev->cmd_count == nic->fault.cmd_nth;
}

static uint8_t execute_command(struct sn_cmd *c)
{
	uint16_t opcode = (uint16_t)sn_get(c->in, CMD_OPCODE);
	const struct entry *e = find_command(opcode);
	uint8_t status;

	c->name = e ? e->name : "unknown opcode";
	if (!e)
		return sn_cmd_refuse(c, STAT_BAD_OP, "opcode %#x", opcode);
	if (c->inlen < e->inlen)
		return sn_cmd_refuse(c, STAT_BAD_INP_LEN,
				     "input of %zu bytes, %u are needed", c->inlen, e->inlen);
	if (is_injected(c->nic, opcode)) {
		c->syndrome = UINT32_C(0xfa017000);
		return STAT_BAD_RES;
	}
	if (c->nic->fatal && !is_destroy(opcode)) {
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
	status = e->fn(c);
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
	fprintf(log, "%02x %s ", status, c->name);
	for (size_t i = 0; i < c->inlen && i < AT_PAS; i++)
		fprintf(log, "%02x", c->in[i]);
	fputc('\n', log);
	fclose(log);
}

void sn_cmd_run(struct sn_nic *nic, const uint8_t *in, size_t inlen, uint8_t *out, size_t outlen)
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
