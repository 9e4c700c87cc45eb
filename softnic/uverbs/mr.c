/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory regions and windows: both are mkeys at the device. */
#include <errno.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "softnic/uverbs/front.h"

enum {
	ACCESS_KNOWN = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND |
		IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE,
	PAGES_MAX = 1 << 16,
};

/* Returns the smallest page size that keeps the list short and divides both addresses alike. */
static unsigned int page_shift(uint64_t start, uint64_t iova, uint64_t len)
{
	unsigned int shift = 12;

	while (uv_pages(start, len, shift) > PAGES_MAX && shift < 31 &&
	       !((start ^ iova) & ((UINT64_C(2) << shift) - 1)))
		shift++;
	return shift;
}

static void set_rights(uint8_t *mkc, uint32_t access)
{
	sn_set(mkc, MKC_LR, 1);
	sn_set(mkc, MKC_LW, !!(access & IBV_ACCESS_LOCAL_WRITE));
	sn_set(mkc, MKC_RR, !!(access & IBV_ACCESS_REMOTE_READ));
	sn_set(mkc, MKC_RW, !!(access & IBV_ACCESS_REMOTE_WRITE));
	sn_set(mkc, MKC_A, !!(access & IBV_ACCESS_REMOTE_ATOMIC));
}

static int create_mr(struct uv_device *dev, const struct ib_uverbs_reg_mr *in, uint32_t pdn,
		     uint8_t key, uint32_t *index)
{
	unsigned int shift = page_shift(in->start, in->hca_va, in->length);
	uint32_t octowords = (uint32_t)((uv_pages(in->start, in->length, shift) + 1) / 2);
	uint64_t rights = uv_cap(dev, CAP_PG) ? MTT_READ | MTT_WRITE : 0;
	size_t len;
	uint8_t *cmd = uv_create_alloc(in->start, in->length, shift, rights, &len);
	uint8_t *mkc;

	if (!cmd)
		return -ENOMEM;
	mkc = cmd + PRM_CTX;
	sn_set(cmd, MKEY_PG_ACCESS, rights != 0);
	sn_set(cmd, MKEY_OCTOWORDS, octowords);
	sn_set(mkc, MKC_ACCESS_MODE, PRM_ACCESS_MTT);
	set_rights(mkc, in->access_flags);
	sn_set(mkc, MKC_QPN, PRM_ANY_QPN);
	sn_set(mkc, MKC_KEY, key);
	sn_set(mkc, MKC_PD, pdn);
	sn_set64(mkc, MKC_START, in->hca_va);
	sn_set64(mkc, MKC_LEN, in->length);
	sn_set(mkc, MKC_TRANSLATIONS, octowords);
	sn_set(mkc, MKC_LOG_PAGE_SIZE, shift);
	return uv_create_free(dev, PRM_CREATE_MKEY, cmd, len, index);
}

static int check_mr(const struct ib_uverbs_reg_mr *in)
{
	if (in->access_flags & IBV_ACCESS_ON_DEMAND)
		return -EOPNOTSUPP;
	if (in->hca_va + in->length < in->hca_va || (in->start ^ in->hca_va) & 4095 ||
	    in->access_flags & ~(uint32_t)ACCESS_KNOWN)
		return -EINVAL;
	return uv_pin(in->start, in->length, in->access_flags);
}

static uint32_t key_of(const struct uv_obj *mr)
{
	return mr->number << 8 | mr->key;
}

int uv_reg_mr(struct uv_req *req)
{
	struct ib_uverbs_reg_mr_resp resp = { 0 };
	struct uv_obj *mr = req->made;
	int err;

	uv_copy_in(&mr->mr, sizeof(mr->mr), req->in, req->in_len);
	err = check_mr(&mr->mr);
	if (err)
		return err;
	mr->key = req->dev->next_key++;
	err = create_mr(req->dev, &mr->mr, req->obj->number, mr->key, &mr->number);
	if (err)
		return err;
	resp.mr_handle = mr->handle;
	resp.lkey = resp.rkey = key_of(mr);
	return uv_answer(req, &resp, sizeof(resp), NULL, 0);
}

/* Merges the arguments: those that the program omits keep their old values. */
static int rereg_args(const struct ib_uverbs_rereg_mr *in, struct ib_uverbs_reg_mr *mr)
{
	const uint32_t known = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD |
		IBV_REREG_MR_CHANGE_ACCESS;

	if (!in->flags || in->flags & ~known)
		return -EINVAL;
	if (in->flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		mr->start = in->start;
		mr->length = in->length;
		mr->hca_va = in->hca_va;
	}
	if (in->flags & IBV_REREG_MR_CHANGE_ACCESS)
		mr->access_flags = in->access_flags;
	return check_mr(mr);
}

/* The new mkey is created before the old one is destroyed, so that a program keeps the old one if
 * either fails. */
static int replace_mkey(struct uv_obj *mr, const struct ib_uverbs_reg_mr *args, uint32_t pdn)
{
	struct uv_device *dev = mr->ctx->dev;
	uint8_t key = dev->next_key++;
	uint32_t number;
	int err = create_mr(dev, args, pdn, key, &number);

	if (err)
		return err;
	err = uv_cmd_number(dev, PRM_DESTROY_MKEY, mr->number, NULL, 0);
	if (err) {
		uv_cmd_number(dev, PRM_DESTROY_MKEY, number, NULL, 0);
		return err;
	}
	mr->key = key;
	mr->number = number;
	return 0;
}

/* Changes the rights of an mkey in place, as Linux's driver does by a UMR: the memory keeps its
 * keys. */
static int rewrite_mkey(struct uv_obj *mr, const struct ib_uverbs_reg_mr *args, uint32_t pdn)
{
	uint8_t mkc[PRM_MKC_LEN] = { 0 };

	set_rights(mkc, args->access_flags);
	sn_set(mkc, MKC_PD, pdn);
	return softnic_mkey_modify(mr->ctx->dev->nic, mr->number, mkc);
}

int uv_rereg_mr(struct uv_req *req)
{
	struct ib_uverbs_rereg_mr_resp resp = { 0 };
	struct ib_uverbs_rereg_mr in;
	struct ib_uverbs_reg_mr args;
	struct uv_obj *mr = req->obj, *pd = mr->held[0];
	int err = 0;

	uv_copy_in(&in, sizeof(in), req->in, req->in_len);
	if (in.flags & IBV_REREG_MR_CHANGE_PD)
		err = uv_obj_find(req->ctx, UV_PD, in.pd_handle, &pd);
	args = mr->mr;
	if (!err)
		err = rereg_args(&in, &args);
	if (err)
		return err;
	if (in.flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		err = replace_mkey(mr, &args, pd->number);
	else
		err = rewrite_mkey(mr, &args, pd->number);
	if (err)
		return err;
	mr->mr = args;
	mr->held[0]->users--;
	uv_obj_hold(mr, 0, pd);
	resp.lkey = resp.rkey = key_of(mr);
	return uv_answer(req, &resp, sizeof(resp), NULL, 0);
}

/* Creates a window. It is an mkey that a UMR fills: no translation yet, and room for one list of
 * KLMs. */
static int create_mw(struct uv_device *dev, uint32_t pdn, bool type2, uint8_t key, uint32_t *index)
{
	enum { KLMS = 4 };
	uint8_t cmd[PRM_OBJECT_IN] = { 0 };
	uint8_t *mkc = cmd + PRM_CTX;

	sn_set(mkc, MKC_FREE, 1);
	sn_set(mkc, MKC_UMR_EN, 1);
	sn_set(mkc, MKC_LR, 1);
	sn_set(mkc, MKC_ACCESS_MODE, PRM_ACCESS_KLM);
	sn_set(mkc, MKC_QPN, PRM_ANY_QPN);
	sn_set(mkc, MKC_KEY, key);
	sn_set(mkc, MKC_EN_RINVAL, type2);
	sn_set(mkc, MKC_PD, pdn);
	sn_set(mkc, MKC_TRANSLATIONS, KLMS);
	return uv_create(dev, PRM_CREATE_MKEY, cmd, sizeof(cmd), index);
}

int uv_alloc_mw(struct uv_req *req)
{
	struct ib_uverbs_alloc_mw_resp resp = { 0 };
	struct uv_obj *mw = req->made;
	struct ib_uverbs_alloc_mw in;
	uint8_t key;
	int err;

	uv_copy_in(&in, sizeof(in), req->in, req->in_len);
	if (in.mw_type != IBV_MW_TYPE_1 && in.mw_type != IBV_MW_TYPE_2)
		return -EINVAL;
	key = req->dev->next_key++;
	err = create_mw(req->dev, req->obj->number, in.mw_type == IBV_MW_TYPE_2, key, &mw->number);
	if (err)
		return err;
	resp.mw_handle = mw->handle;
	resp.rkey = mw->number << 8 | key;
	return uv_answer(req, &resp, sizeof(resp), NULL, 0);
}

int uv_query_mr(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct uv_obj *mr;
	uint64_t handle;
	uint32_t key;
	int err;

	if (!uv_attr_number(hdr, UVERBS_ATTR_QUERY_MR_HANDLE, &handle))
		return -EINVAL;
	err = uv_obj_find(ctx, UV_MR, (uint32_t)handle, &mr);
	if (err)
		return err;
	key = key_of(mr);
	err = uv_attr_put(hdr, UVERBS_ATTR_QUERY_MR_RESP_LKEY, &key, sizeof(key));
	if (!err)
		err = uv_attr_put(hdr, UVERBS_ATTR_QUERY_MR_RESP_RKEY, &key, sizeof(key));
	if (!err)
		err = uv_attr_put(hdr, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, &mr->mr.length,
				  sizeof(mr->mr.length));
	return err ? err : uv_attr_put(hdr, UVERBS_ATTR_QUERY_MR_RESP_IOVA, &mr->mr.hca_va,
				       sizeof(mr->mr.hca_va));
}
