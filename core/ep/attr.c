/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes of an endpoint: defaults, and what the adapter supports. */
#include "core/api.h"

#define DEFAULT_DTOS 16
#define DEFAULT_IOV 4
#define DEFAULT_READS 4

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Defaults for a consumer that passes no attributes, as many test programs do. */
void dap_ep_attr_default(const struct dap_ia *ia, struct dap_ep_attr *attr)
{
	const struct dap_caps *caps = &ia->caps;

	*attr = (struct dap_ep_attr){
		.max_message_size = caps->max_message_size,
		.max_rdma_size = caps->max_rdma_size,
		.max_recv_dtos = min_u32(DEFAULT_DTOS, caps->max_dto_per_ep),
		.max_request_dtos = min_u32(DEFAULT_DTOS, caps->max_dto_per_ep),
		.max_recv_iov = min_u32(DEFAULT_IOV, caps->max_iov),
		.max_request_iov = min_u32(DEFAULT_IOV, caps->max_iov),
		.max_rdma_read_in = min_u32(DEFAULT_READS, caps->max_rdma_read_in),
		.max_rdma_read_out = min_u32(DEFAULT_READS, caps->max_rdma_read_out),
		.srq_soft_hw = DAP_NO_WATERMARK,
		.max_rdma_read_iov = min_u32(DEFAULT_IOV, caps->max_rdma_read_iov),
		.max_rdma_write_iov = min_u32(DEFAULT_IOV, caps->max_rdma_write_iov),
	};
}

static void fill_gaps(const struct dap_ia *ia, struct dap_ep_attr *attr)
{
	const struct dap_caps *caps = &ia->caps;
	uint32_t iov = attr->max_request_iov;

	if (!attr->max_message_size)
		attr->max_message_size = caps->max_message_size;
	if (!attr->max_rdma_size)
		attr->max_rdma_size = caps->max_rdma_size;
	if (!attr->max_recv_iov)
		attr->max_recv_iov = 1;
	if (!iov)
		attr->max_request_iov = iov = 1;
	if (!attr->max_rdma_read_iov)
		attr->max_rdma_read_iov = min_u32(iov, caps->max_rdma_read_iov);
	if (!attr->max_rdma_write_iov)
		attr->max_rdma_write_iov = min_u32(iov, caps->max_rdma_write_iov);
}

/* dat_ep_modify(3): SUPPRESS, SOLICITED and BARRIER of requests work even if the attributes do not
 * ask for them. */
static bool flags_are_valid(const struct dap_ep_attr *attr)
{
	const uint32_t recv = DAP_COMP_SOLICITED | DAP_COMP_UNSIGNALLED | DAP_COMP_THRESHOLD;
	const uint32_t request = recv | DAP_COMP_SUPPRESS | DAP_COMP_BARRIER;

	return !(attr->recv_completion_flags & ~recv) &&
	       !(attr->request_completion_flags & ~request);
}

static bool fits(const struct dap_ia *ia, const char *what, uint64_t asked, uint64_t most)
{
	if (asked <= most)
		return true;
	dap_log(DAP_LOG_WARN, "%s: endpoint attribute %s is %llu, the adapter supports at most %llu",
		ia->name, what, (unsigned long long)asked, (unsigned long long)most);
	return false;
}

#define FITS(member, most) fits(ia, #member, attr->member, ia->caps.most)

static bool sizes_are_possible(const struct dap_ia *ia, const struct dap_ep_attr *attr)
{
	return FITS(max_message_size, max_message_size) && FITS(max_rdma_size, max_rdma_size) &&
	       FITS(max_recv_dtos, max_dto_per_ep) && FITS(max_request_dtos, max_dto_per_ep) &&
	       FITS(max_recv_iov, max_iov) && FITS(max_request_iov, max_iov) &&
	       FITS(max_rdma_read_iov, max_rdma_read_iov) &&
	       FITS(max_rdma_write_iov, max_rdma_write_iov) &&
	       FITS(max_rdma_read_in, max_rdma_read_in) &&
	       FITS(max_rdma_read_out, max_rdma_read_out);
}

int dap_qos_check(const struct dap_ia *ia, uint32_t qos)
{
	if (qos & ~(uint32_t)DAP_QOS_ALL || qos & (qos - 1))
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_NONE);
	return qos & ~ia->caps.qos ? DAP_ERR(DAP_MODEL_NOT_SUPPORTED, DAP_SUB_NONE) : 0;
}

int dap_ep_attr_check(const struct dap_ia *ia, struct dap_ep_attr *attr)
{
	struct dap_ep_attr full = *attr;
	int err;

	fill_gaps(ia, &full);
	if (full.service_type != 0 || !flags_are_valid(&full) ||
	    !sizes_are_possible(ia, &full))
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_NONE);
	err = dap_qos_check(ia, full.qos);
	if (!err)
		*attr = full;
	return err;
}
