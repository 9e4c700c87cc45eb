/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Commands for receive memory pools (PRM, "Receive Memory Pool"). */
#include "hw_mlx5/cmd.h"

int m5_cmd_rmp(struct m5_ctl *ctl, const struct m5_rmp_param *p, struct m5_obj **obj,
	       uint32_t *rmpn)
{
	struct m5_rmp_in in = {
		.hdr.opcode = cpu_to_be16(M5_CMD_CREATE_RMP),
		.state = cpu_to_be32(M5_RMPS_RDY << 20),
		.wq = {
			.pd = cpu_to_be32(p->pdn),
			.dbr_addr = cpu_to_be64(p->dbrec),
			.sizes = cpu_to_be32(p->log_stride << 16 | p->log_size),
			.umem_valid = cpu_to_be32(1u << 31 | 1u << 30),
			.dbr_umem_id = cpu_to_be32(p->umem_id),
			.wq_umem_id = cpu_to_be32(p->umem_id),
			.wq_umem_offset = cpu_to_be64(p->offset),
		},
	};

	return m5_cmd_create(ctl, &in, sizeof(in), obj, rmpn);
}

int m5_cmd_rmp_arm(const struct m5_rmp_ref *rmp, uint32_t limit)
{
	struct m5_rmp_in in = {
		.hdr.opcode = cpu_to_be16(M5_CMD_MODIFY_RMP),
		.rmp = cpu_to_be32((uint32_t)M5_RMPS_RDY << 28 | rmp->rmpn),
		.select = cpu_to_be64(1),
		.state = cpu_to_be32(M5_RMPS_RDY << 20),
		.wq.lwm = cpu_to_be32(limit),
	};
	struct m5_obj_out out = { 0 };

	return m5_cmd_obj(rmp->ctl, rmp->obj, &in, sizeof(in), &out, sizeof(out));
}

int m5_cmd_rmp_taken(const struct m5_rmp_ref *rmp, uint16_t *taken)
{
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(M5_CMD_QUERY_RMP),
				.number = cpu_to_be32(rmp->rmpn) };
	struct m5_query_rmp_out out = { 0 };
	int err = m5_cmd_obj(rmp->ctl, rmp->obj, &in, sizeof(in), &out, sizeof(out));

	if (!err)
		*taken = (uint16_t)be32_to_cpu(out.wq.hw_counter);
	return err;
}
