/* SPDX-License-Identifier: BSD-2-Clause */
/* The requests of the target uverbs: which fields and attributes make each of them valid. */
#ifndef TEST_FUZZ_UVERBS_H
#define TEST_FUZZ_UVERBS_H

#include <infiniband/verbs.h>
#include <rdma/efa-abi.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "softnic/uverbs/efa/front.h"

enum { PAGE = 4096 };

/* Sources of a value: a constant, a constant or 0, a handle or a number at the device, an address, a
 * descriptor. */
enum what { CONST, CHOICE, HANDLE, NUMBER, ADDRESS, RECORD, FD, STATE, MASK, SERVICE };
/* DEVX objects have the opcode of their command as their type. */
enum { PD = UV_PD, MR, MW, CQ, QP, UAR, AH, SRQ, DEVX, UMEM };

/* ---- Write commands ---- */

enum part { CORE, M5, EFA };
#define W(name) IB_USER_VERBS_CMD_##name
#define EX(name) (IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_##name)
#define F(part, type, member, what, value) \
	part, offsetof(struct type, member), sizeof(((struct type *)0)->member), what, value

/* Rows that a command and its extended form share. Inputs of the corpus select rows by index. */
#define CQ_ROWS(command, type)                                                                     \
	{ command, F(CORE, type, cqe, CONST, 15) }, { command, F(CORE, type, comp_channel, FD, 0) }
#define QP_ROWS(command, type)                                                                     \
	{ command, F(CORE, type, pd_handle, HANDLE, PD) },                                         \
	{ command, F(CORE, type, send_cq_handle, HANDLE, CQ) },                                    \
	{ command, F(CORE, type, recv_cq_handle, HANDLE, CQ) }
#define QP_END(command, type)                                                                      \
	{ command, F(CORE, type, max_send_wr, CONST, 16) },                                        \
	{ command, F(CORE, type, qp_type, SERVICE, 0) }

/* A field that makes a command valid. The provider's part differs between adapters. */
static const struct {
	uint32_t command;
	uint8_t part, at, size, what;
	uint32_t value;
} fields[] = {
	{ W(GET_CONTEXT), F(M5, mlx5_ib_alloc_ucontext_req_v2, flags, CONST, MLX5_IB_ALLOC_UCTX_DEVX) },
	{ W(GET_CONTEXT), F(M5, mlx5_ib_alloc_ucontext_req_v2, max_cqe_version, CONST, 1) },
	{ W(GET_CONTEXT), F(M5, mlx5_ib_alloc_ucontext_req_v2, lib_caps, CONST,
			    MLX5_LIB_CAP_4K_UAR | MLX5_LIB_CAP_DYN_UAR) },
	{ W(GET_CONTEXT), EFA, 0, 4, CONST, 3 },
	{ W(QUERY_DEVICE), CORE, 0, 0, CONST, 0 }, { EX(QUERY_DEVICE), CORE, 0, 0, CONST, 0 },
	{ W(QUERY_PORT), F(CORE, ib_uverbs_query_port, port_num, CONST, 1) },
	{ W(ALLOC_PD), CORE, 0, 0, CONST, 0 },
	{ W(DEALLOC_PD), F(CORE, ib_uverbs_dealloc_pd, pd_handle, HANDLE, PD) },
	{ W(CREATE_AH), F(CORE, ib_uverbs_create_ah, pd_handle, HANDLE, PD) },
	{ W(CREATE_AH), F(CORE, ib_uverbs_create_ah, attr.is_global, CONST, 1) },
	{ W(CREATE_AH), F(CORE, ib_uverbs_create_ah, attr.port_num, CONST, 1) },
	{ W(DESTROY_AH), F(CORE, ib_uverbs_destroy_ah, ah_handle, HANDLE, AH) },
	{ W(REG_MR), F(CORE, ib_uverbs_reg_mr, pd_handle, HANDLE, PD) },
	{ W(REG_MR), F(CORE, ib_uverbs_reg_mr, start, ADDRESS, 0) },
	{ W(REG_MR), F(CORE, ib_uverbs_reg_mr, length, CONST, PAGE) },
	{ W(REG_MR), F(CORE, ib_uverbs_reg_mr, access_flags, CONST, 7) },
	{ W(DEREG_MR), F(CORE, ib_uverbs_dereg_mr, mr_handle, HANDLE, MR) },
	{ W(REREG_MR), F(CORE, ib_uverbs_rereg_mr, mr_handle, HANDLE, MR) },
	{ W(REREG_MR), F(CORE, ib_uverbs_rereg_mr, flags, STATE, 0) },
	{ W(REREG_MR), F(CORE, ib_uverbs_rereg_mr, start, ADDRESS, 0) },
	{ W(REREG_MR), F(CORE, ib_uverbs_rereg_mr, length, CONST, PAGE) },
	{ W(REREG_MR), F(CORE, ib_uverbs_rereg_mr, pd_handle, HANDLE, PD) },
	{ W(REREG_MR), F(CORE, ib_uverbs_rereg_mr, access_flags, CONST, 7) },
	{ W(ALLOC_MW), F(CORE, ib_uverbs_alloc_mw, pd_handle, HANDLE, PD) },
	{ W(ALLOC_MW), F(CORE, ib_uverbs_alloc_mw, mw_type, CONST, IBV_MW_TYPE_1) },
	{ W(DEALLOC_MW), F(CORE, ib_uverbs_dealloc_mw, mw_handle, HANDLE, MW) },
	{ W(CREATE_COMP_CHANNEL), CORE, 0, 0, CONST, 0 },
	CQ_ROWS(W(CREATE_CQ), ib_uverbs_create_cq), CQ_ROWS(EX(CREATE_CQ), ib_uverbs_ex_create_cq),
	{ W(CREATE_CQ), F(M5, mlx5_ib_create_cq, buf_addr, ADDRESS, 0) },
	{ W(CREATE_CQ), F(M5, mlx5_ib_create_cq, db_addr, RECORD, 0) },
	{ W(CREATE_CQ), F(M5, mlx5_ib_create_cq, cqe_size, CONST, 64) },
	{ W(CREATE_CQ), F(M5, mlx5_ib_create_cq, flags, CONST, MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX) },
	{ W(CREATE_CQ), F(M5, mlx5_ib_create_cq, uar_page_index, NUMBER, UAR) },
	{ W(CREATE_CQ), F(EFA, efa_ibv_create_cq, cq_entry_size, CONST, 32) },
	{ W(CREATE_CQ), F(EFA, efa_ibv_create_cq, num_sub_cqs, CONST, 1) },
	{ W(CREATE_CQ), F(EFA, efa_ibv_create_cq, flags, STATE, 0) },
	{ W(DESTROY_CQ), F(CORE, ib_uverbs_destroy_cq, cq_handle, HANDLE, CQ) },
	{ W(RESIZE_CQ), F(CORE, ib_uverbs_resize_cq, cq_handle, HANDLE, CQ) },
	{ W(RESIZE_CQ), F(CORE, ib_uverbs_resize_cq, cqe, CONST, 31) },
	{ W(RESIZE_CQ), F(M5, mlx5_ib_resize_cq, buf_addr, ADDRESS, 0) },
	{ W(RESIZE_CQ), F(M5, mlx5_ib_resize_cq, cqe_size, CONST, 64) },
	{ EX(MODIFY_CQ), F(CORE, ib_uverbs_ex_modify_cq, cq_handle, HANDLE, CQ) },
	{ EX(MODIFY_CQ), F(CORE, ib_uverbs_ex_modify_cq, attr_mask, CONST, IBV_CQ_ATTR_MODERATE) },
	{ W(CREATE_SRQ), F(CORE, ib_uverbs_create_srq, pd_handle, HANDLE, PD) },
	{ W(CREATE_SRQ), F(CORE, ib_uverbs_create_srq, max_wr, CONST, 15) },
	{ W(CREATE_SRQ), F(CORE, ib_uverbs_create_srq, max_sge, CONST, 1) },
	{ W(CREATE_SRQ), F(M5, mlx5_ib_create_srq, buf_addr, ADDRESS, 0) },
	{ W(CREATE_SRQ), F(M5, mlx5_ib_create_srq, db_addr, RECORD, 0) },
	{ W(MODIFY_SRQ), F(CORE, ib_uverbs_modify_srq, srq_handle, HANDLE, SRQ) },
	{ W(MODIFY_SRQ), F(CORE, ib_uverbs_modify_srq, attr_mask, CONST, IBV_SRQ_LIMIT) },
	{ W(MODIFY_SRQ), F(CORE, ib_uverbs_modify_srq, srq_limit, STATE, 0) },
	{ W(QUERY_SRQ), F(CORE, ib_uverbs_query_srq, srq_handle, HANDLE, SRQ) },
	{ W(DESTROY_SRQ), F(CORE, ib_uverbs_destroy_srq, srq_handle, HANDLE, SRQ) },
	QP_ROWS(W(CREATE_QP), ib_uverbs_create_qp), QP_END(W(CREATE_QP), ib_uverbs_create_qp),
	QP_ROWS(EX(CREATE_QP), ib_uverbs_ex_create_qp),
	{ EX(CREATE_QP), F(CORE, ib_uverbs_ex_create_qp, srq_handle, HANDLE, SRQ) },
	{ EX(CREATE_QP), F(CORE, ib_uverbs_ex_create_qp, is_srq, CHOICE, 1) },
	QP_END(EX(CREATE_QP), ib_uverbs_ex_create_qp),
	{ W(CREATE_QP), F(M5, mlx5_ib_create_qp, buf_addr, ADDRESS, 0) },
	{ W(CREATE_QP), F(M5, mlx5_ib_create_qp, db_addr, RECORD, 0) },
	{ W(CREATE_QP), F(M5, mlx5_ib_create_qp, sq_wqe_count, CONST, 16) },
	{ W(CREATE_QP), F(M5, mlx5_ib_create_qp, rq_wqe_count, CHOICE, 16) },
	{ W(CREATE_QP), F(M5, mlx5_ib_create_qp, rq_wqe_shift, CONST, 6) },
	{ W(CREATE_QP), F(M5, mlx5_ib_create_qp, flags, CONST, MLX5_QP_FLAG_UAR_PAGE_INDEX) },
	{ W(CREATE_QP), F(M5, mlx5_ib_create_qp, bfreg_index, NUMBER, UAR) },
	{ W(CREATE_QP), F(EFA, efa_ibv_create_qp, rq_ring_size, CONST, 16 * 16) },
	{ W(CREATE_QP), F(EFA, efa_ibv_create_qp, sq_ring_size, CONST, 16 * 64) },
	{ W(MODIFY_QP), F(CORE, ib_uverbs_modify_qp, qp_handle, HANDLE, QP) },
	{ W(MODIFY_QP), F(CORE, ib_uverbs_modify_qp, attr_mask, MASK, 0) },
	{ W(MODIFY_QP), F(CORE, ib_uverbs_modify_qp, qp_state, STATE, 0) },
	{ W(MODIFY_QP), F(CORE, ib_uverbs_modify_qp, path_mtu, CONST, IBV_MTU_1024) },
	{ W(MODIFY_QP), F(CORE, ib_uverbs_modify_qp, port_num, CONST, 1) },
	{ W(MODIFY_QP), F(CORE, ib_uverbs_modify_qp, dest.is_global, CONST, 1) },
	{ W(MODIFY_QP), F(CORE, ib_uverbs_modify_qp, dest.port_num, CONST, 1) },
	{ W(MODIFY_QP), CORE, offsetof(struct ib_uverbs_modify_qp, dest.dgid), 1, CONST, 0xfe },
	{ W(MODIFY_QP), F(CORE, ib_uverbs_modify_qp, dest_qp_num, NUMBER, QP) },
	{ W(QUERY_QP), F(CORE, ib_uverbs_query_qp, qp_handle, HANDLE, QP) },
	{ W(DESTROY_QP), F(CORE, ib_uverbs_destroy_qp, qp_handle, HANDLE, QP) },
};

/* ---- Commands of DEVX ---- */

#define WORD(byte) SN_FLD((byte) * 8, 32)
enum { UMEM_RECORDS = 0x3000 };

static const struct {
	uint16_t opcode, base;
	struct sn_fld field;		/* position in the bytes from base on */
	uint8_t what;
	uint32_t value;
} prm_fields[] = {
	{PRM_CREATE_MKEY, PRM_CTX, MKC_PD, NUMBER, PD},
	{PRM_CREATE_MKEY, PRM_CTX, MKC_LR, CONST, 1},
	{PRM_CREATE_MKEY, PRM_CTX, MKC_LW, CONST, 1},
	{PRM_CREATE_MKEY, PRM_CTX, MKC_QPN, CONST, PRM_ANY_QPN},
	{PRM_CREATE_MKEY, PRM_CTX, MKC_ACCESS_MODE, CONST, PRM_ACCESS_MTT},
	{PRM_CREATE_MKEY, PRM_CTX, MKC_LOG_PAGE_SIZE, CONST, 12},
	{PRM_CREATE_MKEY, PRM_CTX, WORD(MKC_LEN + 4), CONST, PAGE},
	{PRM_CREATE_MKEY, PRM_CTX, MKC_TRANSLATIONS, CONST, 1},
	{PRM_CREATE_MKEY, 0, WORD(0x64), NUMBER, UMEM},
	{PRM_CREATE_CQ, PRM_CTX, CQC_LOG_SIZE, CONST, 4},
	{PRM_CREATE_CQ, PRM_CTX, CQC_UAR_PAGE, NUMBER, UAR},
	{PRM_CREATE_CQ, PRM_CTX, CQC_EQN, CONST, 0},
	{PRM_CREATE_CQ, 0, WORD(0x58), NUMBER, UMEM},
	{PRM_CREATE_CQ, PRM_CTX, WORD(4), NUMBER, UMEM},
	{PRM_CREATE_CQ, PRM_CTX, WORD(CQC_DBR + 4), CONST, UMEM_RECORDS},
	{PRM_CREATE_QP, PRM_QPC, QPC_PD, NUMBER, PD},
	{PRM_CREATE_QP, PRM_QPC, QPC_UAR_PAGE, NUMBER, UAR},
	{PRM_CREATE_QP, PRM_QPC, QPC_CQN_SND, NUMBER, CQ},
	{PRM_CREATE_QP, PRM_QPC, QPC_CQN_RCV, NUMBER, CQ},
	{PRM_CREATE_QP, PRM_QPC, QPC_LOG_SQ_SIZE, CONST, 4},
	{PRM_CREATE_QP, PRM_QPC, QPC_LOG_RQ_SIZE, CONST, 4},
	{PRM_CREATE_QP, PRM_QPC, QPC_TS_FORMAT, CONST, 1},
	{PRM_CREATE_QP, 0, WORD(0x108), NUMBER, UMEM},
	{PRM_CREATE_QP, PRM_QPC, WORD(0xe4), NUMBER, UMEM},
	{PRM_CREATE_QP, PRM_QPC, WORD(QPC_DBR + 4), CONST, UMEM_RECORDS + 64},
	{PRM_CREATE_RMP, PRM_RMPC, RMPC_STATE, CONST, PRM_RMP_READY},
	{PRM_CREATE_RMP, PRM_WQ, WQ_PD, NUMBER, PD},
	{PRM_CREATE_RMP, PRM_WQ, WQ_LOG_STRIDE, CONST, 6},
	{PRM_CREATE_RMP, PRM_WQ, WQ_LOG_SIZE, CONST, 4},
	{PRM_CREATE_RMP, PRM_WQ, WORD(0x28), NUMBER, UMEM},
	{PRM_CREATE_RMP, PRM_WQ, WORD(0x2c), NUMBER, UMEM},
	{PRM_CREATE_RMP, PRM_WQ, WORD(WQ_DBR + 4), CONST, UMEM_RECORDS + 128},
	{PRM_RST2INIT_QP, PRM_QPC + QPC_PATH, ADS_PORT, CONST, 1},
	{PRM_RST2INIT_QP, 0, PRM_NUMBER, NUMBER, QP},
	{PRM_MODIFY_CQ, 0, PRM_NUMBER, NUMBER, CQ},
	{PRM_MODIFY_CQ, 0, CQ_SELECT, CONST, 3},
	{PRM_MODIFY_RMP, 0, PRM_NUMBER, NUMBER, SRQ},
	{PRM_MODIFY_RMP, 0, RMP_STATE, CONST, PRM_RMP_READY},
	{PRM_2ERR_QP, 0, PRM_NUMBER, NUMBER, QP},
	{PRM_2RST_QP, 0, PRM_NUMBER, NUMBER, QP},
	{PRM_QUERY_QP, 0, PRM_NUMBER, NUMBER, QP},
	{PRM_QUERY_CQ, 0, PRM_NUMBER, NUMBER, CQ},
	{PRM_QUERY_RMP, 0, PRM_NUMBER, NUMBER, SRQ},
	{PRM_QUERY_HCA_CAP, 0, PRM_OP_MOD, CONST, 1},
};

/* ---- Attributes ---- */

/* Forms of an attribute: a number of eight bytes; room for an answer; a body; a handle or descriptor that
 * the request creates. */
enum form { VALUE, OUT, COMMAND, CORE_IN, DRV_IN, PRM_IN, EVENTS, CAP, MADE, MADE_FD };
#define DEVICE(name) ((uint32_t)UVERBS_OBJECT_DEVICE << 16 | UVERBS_METHOD_##name)
#define METHOD(object, name) ((uint32_t)UVERBS_OBJECT_##object << 16 | UVERBS_METHOD_##name)
#define M5_METHOD(object, name) ((uint32_t)MLX5_IB_OBJECT_##object << 16 | MLX5_IB_METHOD_##name)

static const struct {
	uint32_t method;
	uint16_t id;
	uint8_t form, what;
	uint32_t value;			/* if the form is an answer, its length */
} attributes[] = {
	{DEVICE(INVOKE_WRITE), UVERBS_ATTR_WRITE_CMD, COMMAND, 0, 0},
	{DEVICE(INVOKE_WRITE), UVERBS_ATTR_CORE_IN, CORE_IN, 0, 0},
	{DEVICE(INVOKE_WRITE), UVERBS_ATTR_CORE_OUT, OUT, 0, 256},
	{DEVICE(INVOKE_WRITE), UVERBS_ATTR_UHW_IN, DRV_IN, 0, 0},
	{DEVICE(INVOKE_WRITE), UVERBS_ATTR_UHW_OUT, OUT, 0, 128},
	{DEVICE(QUERY_GID_ENTRY), UVERBS_ATTR_QUERY_GID_ENTRY_PORT, VALUE, CONST, 1},
	{DEVICE(QUERY_GID_ENTRY), UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, VALUE, STATE, 0},
	{DEVICE(QUERY_GID_ENTRY), UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, OUT, 0, 32},
	{DEVICE(QUERY_GID_TABLE), UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, VALUE, CONST, 32},
	{DEVICE(QUERY_GID_TABLE), UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, OUT, 0, 1024},
	{DEVICE(QUERY_GID_TABLE), UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, OUT, 0, 8},
	{DEVICE(QUERY_CONTEXT), UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, OUT, 0, 4},
	{DEVICE(QUERY_CONTEXT), UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, OUT, 0, 8},
	{DEVICE(QUERY_CONTEXT), MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, OUT, 0, 128},
	{METHOD(MR, QUERY_MR), UVERBS_ATTR_QUERY_MR_HANDLE, VALUE, HANDLE, MR},
	{METHOD(MR, QUERY_MR), UVERBS_ATTR_QUERY_MR_RESP_LKEY, OUT, 0, 4},
	{METHOD(MR, QUERY_MR), UVERBS_ATTR_QUERY_MR_RESP_LENGTH, OUT, 0, 8},
	{METHOD(ASYNC_EVENT, ASYNC_EVENT_ALLOC), UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, MADE_FD,
	 0, 0},
	{METHOD(CQ, CQ_CREATE), UVERBS_ATTR_CREATE_CQ_HANDLE, MADE, 0, 0},
	{METHOD(CQ, CQ_CREATE), UVERBS_ATTR_CREATE_CQ_CQE, VALUE, CONST, 15},
	{METHOD(CQ, CQ_CREATE), UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, VALUE, FD, 0},
	{METHOD(CQ, CQ_CREATE), UVERBS_ATTR_CREATE_CQ_EVENT_FD, VALUE, FD, 0},
	{METHOD(CQ, CQ_CREATE), UVERBS_ATTR_CREATE_CQ_RESP_CQE, OUT, 0, 4},
	{METHOD(CQ, CQ_CREATE), UVERBS_ATTR_UHW_IN, DRV_IN, 0, W(CREATE_CQ)},
	{METHOD(CQ, CQ_CREATE), UVERBS_ATTR_UHW_OUT, OUT, 0, 64},
	{METHOD(QP, QP_CREATE), UVERBS_ATTR_CREATE_QP_HANDLE, MADE, 0, 0},
	{METHOD(QP, QP_CREATE), UVERBS_ATTR_CREATE_QP_PD_HANDLE, VALUE, HANDLE, PD},
	{METHOD(QP, QP_CREATE), UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, VALUE, HANDLE, CQ},
	{METHOD(QP, QP_CREATE), UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, VALUE, HANDLE, CQ},
	{METHOD(QP, QP_CREATE), UVERBS_ATTR_CREATE_QP_TYPE, VALUE, CONST, IBV_QPT_RC},
	{METHOD(QP, QP_CREATE), UVERBS_ATTR_CREATE_QP_CAP, CAP, 0, 0},
	{METHOD(QP, QP_CREATE), UVERBS_ATTR_CREATE_QP_EVENT_FD, VALUE, FD, 0},
	{METHOD(QP, QP_CREATE), UVERBS_ATTR_CREATE_QP_RESP_CAP, OUT, 0, 24},
	{METHOD(QP, QP_CREATE), UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, OUT, 0, 4},
	{METHOD(QP, QP_CREATE), UVERBS_ATTR_UHW_IN, DRV_IN, 0, W(CREATE_QP)},
	{METHOD(SRQ, SRQ_CREATE), UVERBS_ATTR_CREATE_SRQ_HANDLE, MADE, 0, 0},
	{METHOD(SRQ, SRQ_CREATE), UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, VALUE, HANDLE, PD},
	{METHOD(SRQ, SRQ_CREATE), UVERBS_ATTR_CREATE_SRQ_MAX_WR, VALUE, CONST, 15},
	{METHOD(SRQ, SRQ_CREATE), UVERBS_ATTR_CREATE_SRQ_MAX_SGE, VALUE, CONST, 1},
	{METHOD(SRQ, SRQ_CREATE), UVERBS_ATTR_CREATE_SRQ_EVENT_FD, VALUE, FD, 0},
	{METHOD(SRQ, SRQ_CREATE), UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, OUT, 0, 4},
	{METHOD(SRQ, SRQ_CREATE), UVERBS_ATTR_UHW_IN, DRV_IN, 0, W(CREATE_SRQ)},
	{(uint32_t)UVERBS_OBJECT_PD << 16 | MLX5_IB_METHOD_PD_QUERY, MLX5_IB_ATTR_QUERY_PD_HANDLE,
	 VALUE, HANDLE, PD},
	{(uint32_t)UVERBS_OBJECT_PD << 16 | MLX5_IB_METHOD_PD_QUERY, MLX5_IB_ATTR_QUERY_PD_RESP_PDN,
	 OUT, 0, 4},
	{M5_METHOD(UAR, UAR_OBJ_ALLOC), MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, MADE, 0, 0},
	{M5_METHOD(UAR, UAR_OBJ_ALLOC), MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, VALUE, CONST, 0},
	{M5_METHOD(UAR, UAR_OBJ_ALLOC), MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, OUT, 0, 8},
	{M5_METHOD(UAR, UAR_OBJ_ALLOC), MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, OUT, 0, 4},
	{M5_METHOD(UAR, UAR_OBJ_ALLOC), MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, OUT, 0, 4},
	{M5_METHOD(UAR, UAR_OBJ_DESTROY), MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, VALUE, HANDLE, UAR},
	{M5_METHOD(DEVX_UMEM, DEVX_UMEM_REG), MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, MADE, 0, 0},
	{M5_METHOD(DEVX_UMEM, DEVX_UMEM_REG), MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, VALUE, ADDRESS, 0},
	{M5_METHOD(DEVX_UMEM, DEVX_UMEM_REG), MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, VALUE, CONST,
	 4 * PAGE},
	{M5_METHOD(DEVX_UMEM, DEVX_UMEM_REG), MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, VALUE, CONST, 1},
	{M5_METHOD(DEVX_UMEM, DEVX_UMEM_REG), MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, OUT, 0, 4},
	{M5_METHOD(DEVX_UMEM, DEVX_UMEM_DEREG), MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, VALUE, HANDLE,
	 UMEM},
	{M5_METHOD(DEVX_OBJ, DEVX_OBJ_CREATE), MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, MADE, 0, 0},
	{M5_METHOD(DEVX_OBJ, DEVX_OBJ_CREATE), MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, PRM_IN, 0, 0},
	{M5_METHOD(DEVX_OBJ, DEVX_OBJ_CREATE), MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, OUT, 0, 16},
	{M5_METHOD(DEVX_OBJ, DEVX_OBJ_DESTROY), MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, VALUE, HANDLE,
	 DEVX},
	{M5_METHOD(DEVX_OBJ, DEVX_OBJ_MODIFY), MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, VALUE, HANDLE,
	 QP},
	{M5_METHOD(DEVX_OBJ, DEVX_OBJ_MODIFY), MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, PRM_IN, 0, 0},
	{M5_METHOD(DEVX_OBJ, DEVX_OBJ_MODIFY), MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, OUT, 0, 16},
	{M5_METHOD(DEVX_OBJ, DEVX_OBJ_QUERY), MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, VALUE, HANDLE,
	 CQ},
	{M5_METHOD(DEVX_OBJ, DEVX_OBJ_QUERY), MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, PRM_IN, 0, 0},
	{M5_METHOD(DEVX_OBJ, DEVX_OBJ_QUERY), MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, OUT, 0, 0x110},
	{M5_METHOD(DEVX_OBJ, DEVX_OBJ_ASYNC_QUERY), MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE, VALUE,
	 HANDLE, QP},
	{M5_METHOD(DEVX_OBJ, DEVX_OBJ_ASYNC_QUERY), MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN,
	 PRM_IN, 0, 0},
	{M5_METHOD(DEVX_OBJ, DEVX_OBJ_ASYNC_QUERY), MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD, VALUE, FD,
	 0},
	{M5_METHOD(DEVX_OBJ, DEVX_OBJ_ASYNC_QUERY), MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, VALUE,
	 CONST, 5},
	{M5_METHOD(DEVX_OBJ, DEVX_OBJ_ASYNC_QUERY), MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN,
	 VALUE, CONST, 0x110},
	{M5_METHOD(DEVX, DEVX_OTHER), MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, PRM_IN, 0, 0},
	{M5_METHOD(DEVX, DEVX_OTHER), MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, OUT, 0, 0x1010},
	{M5_METHOD(DEVX, DEVX_QUERY_EQN), MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, VALUE, CONST, 0},
	{M5_METHOD(DEVX, DEVX_QUERY_EQN), MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, OUT, 0, 4},
	{M5_METHOD(DEVX, DEVX_SUBSCRIBE_EVENT), MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, VALUE,
	 FD, 0},
	{M5_METHOD(DEVX, DEVX_SUBSCRIBE_EVENT), MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, VALUE,
	 HANDLE, DEVX},
	{M5_METHOD(DEVX, DEVX_SUBSCRIBE_EVENT), MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST,
	 EVENTS, 0, 0},
	{M5_METHOD(DEVX, DEVX_SUBSCRIBE_EVENT), MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM, VALUE, FD,
	 0},
	{M5_METHOD(DEVX, DEVX_SUBSCRIBE_EVENT), MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, VALUE,
	 CONST, 9},
	{M5_METHOD(DEVX_ASYNC_EVENT_FD, DEVX_ASYNC_EVENT_FD_ALLOC),
	 MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE, MADE_FD, 0, 0},
	{M5_METHOD(DEVX_ASYNC_EVENT_FD, DEVX_ASYNC_EVENT_FD_ALLOC),
	 MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, VALUE, STATE, 0},
	{M5_METHOD(DEVX_ASYNC_CMD_FD, DEVX_ASYNC_CMD_FD_ALLOC),
	 MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE, MADE_FD, 0, 0},
};
enum { ATTRIBUTES = sizeof(attributes) / sizeof(attributes[0]), MAX_ATTRS = 16 };

#endif
