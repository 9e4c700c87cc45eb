/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMA_VERBS_IOCTL. Methods that also exist as write commands return EPROTONOSUPPORT: libibverbs then
 * uses INVOKE_WRITE, the form that this front serves.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "softnic/uverbs/front.h"

enum { MAX_ATTRS = 32 };

static int invoke_write(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *in = uv_attr(hdr, UVERBS_ATTR_CORE_IN);
	struct ib_uverbs_attr *out = uv_attr(hdr, UVERBS_ATTR_CORE_OUT);
	struct ib_uverbs_attr *uhw_in = uv_attr(hdr, UVERBS_ATTR_UHW_IN);
	struct uv_req req = uv_attr_req(ctx, hdr);
	uint64_t command;

	if (!uv_attr_number(hdr, UVERBS_ATTR_WRITE_CMD, &command))
		return -EINVAL;
	if (in) {
		req.in = uv_attr_in(in);
		req.in_len = in->len;
	}
	if (out) {
		req.out = (void *)(uintptr_t)out->data;
		req.out_len = out->data ? out->len : 0;
		out->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
	}
	if ((req.in_len && !req.in) || (uhw_in && uhw_in->len && !req.uhw_in))
		return -EFAULT;
	return uv_write(&req, (uint32_t)command);
}

static int gid_entry(struct uv_device *dev, unsigned int port, unsigned int index,
		     struct ib_uverbs_gid_entry *entry)
{
	struct uv_gid gid;
	int err = dev->kind->gid(dev, port, index, &gid);

	if (err)
		return err;
	memset(entry, 0, sizeof(*entry));
	memcpy(entry->gid, gid.raw, sizeof(entry->gid));
	entry->gid_index = index;
	entry->port_num = port;
	entry->gid_type = dev->infiniband ? IB_UVERBS_GID_TYPE_IB :
		gid.version == PRM_ROCE_V1 ? IB_UVERBS_GID_TYPE_ROCE_V1 : IB_UVERBS_GID_TYPE_ROCE_V2;
	return 0;
}

/* Linux knows no flag of these queries. */
static bool has_flags(struct ib_uverbs_ioctl_hdr *hdr, uint16_t id)
{
	uint64_t flags;

	return uv_attr_number(hdr, id, &flags) && flags;
}

static int query_gid_entry(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct uv_device *dev = ctx->dev;
	struct ib_uverbs_gid_entry entry;
	uint64_t port, index;
	int err;

	if (!uv_attr_number(hdr, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, &port) ||
	    !uv_attr_number(hdr, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, &index))
		return -EINVAL;
	if (!port || port > dev->ports || index >= dev->gids ||
	    has_flags(hdr, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS))
		return -EINVAL;
	err = gid_entry(dev, (unsigned int)port, (unsigned int)index, &entry);
	return err ? err : uv_attr_put(hdr, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, &entry, sizeof(entry));
}

static int query_gid_table(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct uv_device *dev = ctx->dev;
	struct ib_uverbs_attr *table = uv_attr(hdr, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES);
	uint64_t size, found = 0;

	if (!uv_attr_number(hdr, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, &size) || !table ||
	    size < sizeof(struct ib_uverbs_gid_entry) || !table->data ||
	    has_flags(hdr, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS))
		return -EINVAL;
	for (unsigned int i = 0; i < dev->gids * dev->ports; i++) {
		unsigned int port = i / dev->gids + 1;
		struct ib_uverbs_gid_entry entry;
		int err = gid_entry(dev, port, i % dev->gids, &entry);

		if (err == -ENODATA)
			continue;
		if (err || (found + 1) * size > table->len)
			return err ? err : -EINVAL;
		memcpy((uint8_t *)(uintptr_t)table->data + found * size, &entry, sizeof(entry));
		found++;
	}
	table->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
	return uv_attr_put(hdr, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, &found, sizeof(found));
}

#define METHOD(object, method) (uint32_t)(object) << 16 | (method)
#define CORE(object, method) METHOD(UVERBS_OBJECT_##object, UVERBS_METHOD_##method)
#define MLX5(object, method, last) \
	METHOD(MLX5_IB_OBJECT_##object, MLX5_IB_METHOD_##method), 0, UP_TO(MLX5_IB_ATTR_##last)
#define UP_TO(last) (last) % DRIVER_IDS + 1

enum { DRIVER_IDS = 1 << UVERBS_ID_NS_SHIFT };	/* the first id of a driver's attributes */

static const struct method {
	uint32_t id;
	uint16_t core, driver;		/* number of the core's attributes, and of those of the driver */
	uv_method *run[UV_ADAPTERS];	/* NULL: this adapter does not have the method */
} methods[] = {
	{ CORE(DEVICE, INVOKE_WRITE), UP_TO(UVERBS_ATTR_WRITE_CMD), UP_TO(UVERBS_ATTR_UHW_OUT),
	  { invoke_write, invoke_write } },
	{ CORE(DEVICE, QUERY_CONTEXT), UP_TO(UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT),
	  UP_TO(MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX), { uv_query_context } },
	{ CORE(DEVICE, QUERY_GID_TABLE), UP_TO(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES), 0,
	  { query_gid_table, query_gid_table } },
	{ CORE(DEVICE, QUERY_GID_ENTRY), UP_TO(UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY), 0,
	  { query_gid_entry, query_gid_entry } },
	{ CORE(CQ, CQ_CREATE), UP_TO(UVERBS_ATTR_CREATE_CQ_EVENT_FD), UP_TO(UVERBS_ATTR_UHW_OUT),
	  { uv_create_cq_ioctl } },
	{ CORE(QP, QP_CREATE), UP_TO(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM), UP_TO(UVERBS_ATTR_UHW_OUT),
	  { uv_create_qp_ioctl } },
	{ CORE(SRQ, SRQ_CREATE), UP_TO(UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM), UP_TO(UVERBS_ATTR_UHW_OUT),
	  { uv_create_srq_ioctl } },
	{ CORE(MR, QUERY_MR), UP_TO(UVERBS_ATTR_QUERY_MR_RESP_IOVA), 0, { uv_query_mr } },
	{ CORE(ASYNC_EVENT, ASYNC_EVENT_ALLOC), UP_TO(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE), 0,
	  { uv_alloc_async_fd } },
	{ METHOD(UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY), 0, UP_TO(MLX5_IB_ATTR_QUERY_PD_RESP_PDN),
	  { uv_query_pd } },
	{ MLX5(DEVX, DEVX_OTHER, DEVX_OTHER_CMD_OUT), { uv_devx_general } },
	{ MLX5(DEVX, DEVX_QUERY_UAR, DEVX_QUERY_UAR_DEV_IDX), { uv_devx_query_uar } },
	{ MLX5(DEVX, DEVX_QUERY_EQN, DEVX_QUERY_EQN_DEV_EQN), { uv_devx_query_eqn } },
	{ MLX5(DEVX, DEVX_SUBSCRIBE_EVENT, DEVX_SUBSCRIBE_EVENT_COOKIE), { uv_devx_subscribe } },
	{ MLX5(DEVX_OBJ, DEVX_OBJ_CREATE, DEVX_OBJ_CREATE_CMD_OUT), { uv_devx_obj_create } },
	{ MLX5(DEVX_OBJ, DEVX_OBJ_DESTROY, DEVX_OBJ_DESTROY_HANDLE), { uv_devx_obj_destroy } },
	{ MLX5(DEVX_OBJ, DEVX_OBJ_MODIFY, DEVX_OBJ_MODIFY_CMD_OUT), { uv_devx_obj_modify } },
	{ MLX5(DEVX_OBJ, DEVX_OBJ_QUERY, DEVX_OBJ_QUERY_CMD_OUT), { uv_devx_obj_query } },
	{ MLX5(DEVX_OBJ, DEVX_OBJ_ASYNC_QUERY, DEVX_OBJ_QUERY_ASYNC_OUT_LEN), { uv_devx_query_async } },
	{ MLX5(DEVX_UMEM, DEVX_UMEM_REG, DEVX_UMEM_REG_DMABUF_FD), { uv_umem_reg } },
	{ MLX5(DEVX_UMEM, DEVX_UMEM_DEREG, DEVX_UMEM_DEREG_HANDLE), { uv_umem_dereg } },
	{ MLX5(DEVX_ASYNC_CMD_FD, DEVX_ASYNC_CMD_FD_ALLOC, DEVX_ASYNC_CMD_FD_ALLOC_HANDLE),
	  { uv_alloc_cmd_fd } },
	{ MLX5(DEVX_ASYNC_EVENT_FD, DEVX_ASYNC_EVENT_FD_ALLOC, DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS),
	  { uv_alloc_event_fd } },
	{ MLX5(UAR, UAR_OBJ_ALLOC, UAR_OBJ_ALLOC_PAGE_ID), { uv_alloc_uar } },
	{ MLX5(UAR, UAR_OBJ_DESTROY, UAR_OBJ_DESTROY_HANDLE), { uv_free_uar } },
};

static const struct method *find_method(uint32_t id)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (methods[i].id == id)
			return &methods[i];
	return NULL;
}

static bool has_attr(const struct method *m, uint16_t id)
{
	return id < DRIVER_IDS ? id < m->core : id - DRIVER_IDS < m->driver;
}

/*
 * Linux does the same in uverbs_set_attr. -EPROTONOSUPPORT: the method lacks an attribute that the program
 * requires. -EINVAL: an attribute is there twice. An attribute that it lacks and may ignore is no error.
 */
static int check_attrs(const struct method *m, struct ib_uverbs_ioctl_hdr *hdr)
{
	for (unsigned int i = 0; i < hdr->num_attrs; i++) {
		const struct ib_uverbs_attr *a = &hdr->attrs[i];

		if (has_attr(m, a->attr_id) && uv_attr(hdr, a->attr_id) != a)
			return -EINVAL;
		if (!has_attr(m, a->attr_id) && a->flags & UVERBS_ATTR_F_MANDATORY)
			return -EPROTONOSUPPORT;
	}
	return 0;
}

static bool is_devx(const struct ib_uverbs_ioctl_hdr *hdr)
{
	return hdr->object_id >= MLX5_IB_OBJECT_DEVX && hdr->object_id != MLX5_IB_OBJECT_UAR;
}

int uv_ioctl(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct uv_kind *kind = ctx->dev->kind;
	const struct method *m;
	uv_method *run;
	int err;

	if (!hdr)
		return -EFAULT;
	if (hdr->num_attrs > MAX_ATTRS ||
	    hdr->length != sizeof(*hdr) + hdr->num_attrs * sizeof(hdr->attrs[0]))
		return -EINVAL;
	if (hdr->reserved1 || hdr->reserved2)
		return -EPROTONOSUPPORT;
	if (hdr->driver_id != kind->driver)
		return -EINVAL;
	m = find_method((uint32_t)hdr->object_id << 16 | hdr->method_id);
	err = m ? check_attrs(m, hdr) : -EPROTONOSUPPORT;
	if (err)
		return err;
	run = m->run[kind->adapter];
	if (!run || (!ctx->async && run != invoke_write))
		return -EPROTONOSUPPORT;
	err = run(ctx, hdr);
	if (is_devx(hdr) && pre_asked("SOFTNIC_TRACE"))
		fprintf(stderr, "softnic: object %#x method %#x: %s\n", hdr->object_id,
			hdr->method_id, err ? strerror(-err) : "done");
	return err;
}
