/* SPDX-License-Identifier: BSD-2-Clause */
#include <infiniband/efadv.h>
#include <string.h>

#include "hw_efa/ctl/efadv.h"
#include "tests/efadv/efa_calls.h"

struct efa_told efa_told;

/* Looks the function up by its version, because this file defines the same name. */
void *dlsym(void *restrict handle, const char *restrict name)
{
	static void *(*real)(void *, const char *);

	if (!real)
		real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	return efa_told.hidden && !strcmp(efa_told.hidden, name) ? NULL : real(handle, name);
}

/* ---- The device ---- */

int efadv_query_device(struct ibv_context *ctx, struct efadv_device_attr *attr, uint32_t inlen)
{
	int err = calls_fails(__func__);

	if (!err)
		err = CALLS_REAL(efadv_query_device)(ctx, attr, inlen);
	if (err)
		return err;
	attr->device_caps &= ~efa_told.lacks;
	if (efa_told.sq_wr)
		attr->max_sq_wr = efa_told.sq_wr;
	if (efa_told.rq_wr)
		attr->max_rq_wr = efa_told.rq_wr;
	if (efa_told.sq_sge)
		attr->max_sq_sge = efa_told.sq_sge;
	if (efa_told.inline_ex)
		((struct edv_device_attr *)attr)->inline_buf_size_ex = efa_told.inline_ex;
	return 0;
}

int ibv_query_gid(struct ibv_context *ctx, uint8_t port, int index, union ibv_gid *gid)
{
	return calls_fails(__func__) ? -1 : CALLS_REAL(ibv_query_gid)(ctx, port, index, gid);
}

/* ---- CQs and channels ---- */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ctx)
{
	struct ibv_comp_channel *made;

	if (calls_fails(__func__))
		return NULL;
	made = calls_made(CALLS_REAL(ibv_create_comp_channel)(ctx));
	if (made)
		calls_channel(made->fd);
	return made;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	return calls_channel_ended(channel->fd) ? -1 : CALLS_REAL(ibv_get_cq_event)(channel, cq, context);
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	return calls_ended(CALLS_REAL(ibv_destroy_comp_channel)(channel));
}

struct ibv_cq_ex *efadv_create_cq(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr,
				  struct efadv_cq_init_attr *efa, uint32_t inlen)
{
	return calls_fails(__func__) ? NULL :
	       calls_made(CALLS_REAL(efadv_create_cq)(ctx, attr, efa, inlen));
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	return calls_ended(CALLS_REAL(ibv_destroy_cq)(cq));
}

/* Defined only by its symbol, because efadv.h of 59.0 and newer declares it with another
 * structure. */
int query_cq(struct ibv_cq *cq, struct edv_cq_attr *attr, uint32_t inlen) __asm__("efadv_query_cq");
int query_cq(struct ibv_cq *cq, struct edv_cq_attr *attr, uint32_t inlen)
{
	static __typeof__(&query_cq) real;
	int err = calls_fails("efadv_query_cq");

	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "efadv_query_cq");
	if (!err)
		err = real(cq, attr, inlen);
	if (!err && efa_told.cqe_size)
		attr->entry_size = efa_told.cqe_size;
	if (!err && efa_told.cq_entries)
		attr->num_entries = efa_told.cq_entries;
	return err;
}

/* ---- QPs, address handles ---- */

struct ibv_qp *efadv_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
				  struct efadv_qp_init_attr *efa, uint32_t inlen)
{
	return calls_fails(__func__) ? NULL :
	       calls_made(CALLS_REAL(efadv_create_qp_ex)(ctx, attr, efa, inlen));
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	return calls_ended(CALLS_REAL(ibv_destroy_qp)(qp));
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int err = calls_fails(__func__);

	return err ? err : CALLS_REAL(ibv_modify_qp)(qp, attr, mask);
}

/* Defined like efadv_query_cq. */
int query_wqs(struct ibv_qp *qp, struct edv_wq_attr *sq, struct edv_wq_attr *rq, uint32_t inlen)
	__asm__("efadv_query_qp_wqs");
int query_wqs(struct ibv_qp *qp, struct edv_wq_attr *sq, struct edv_wq_attr *rq, uint32_t inlen)
{
	static __typeof__(&query_wqs) real;
	int err = calls_fails("efadv_query_qp_wqs");

	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "efadv_query_qp_wqs");
	if (!err)
		err = real(qp, sq, rq, inlen);
	if (!err && efa_told.wqe_size)
		sq->entry_size = efa_told.wqe_size;
	return err;
}

int efadv_query_ah(struct ibv_ah *ah, struct efadv_ah_attr *attr, uint32_t inlen)
{
	int err = calls_fails(__func__);

	return err ? err : CALLS_REAL(efadv_query_ah)(ah, attr, inlen);
}
