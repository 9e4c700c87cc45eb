/* SPDX-License-Identifier: BSD-2-Clause */
/* Features that a driver queries or sets, and statistics. */
#include <errno.h>
#include <string.h>

#include "softnic/vfio_user/efa/efa.h"

enum { AENQ_GROUPS = 0x1e };		/* fatal error, warning, notification, keep alive */

static uint64_t features(const struct softnic_efa_caps *c)
{
	uint64_t all = 1 << VE_DEVICE_ATTR | 1 << VE_AENQ_CONFIG | 1 << VE_NETWORK_ATTR | 1 << VE_QUEUE_ATTR |
		1 << VE_HW_HINTS | 1 << VE_HOST_INFO;

	return c->cq_doorbell ? all | 1 << VE_EQ_ATTR : all;
}

static void device_attr(const struct softnic_efa_caps *c, struct ve_device_attr *out)
{
	*out = (struct ve_device_attr){
		.features = features(c),
		.page_sizes = c->page_size_cap,
		.firmware = 1,
		.api = 1,
		.device = c->device_id,
		.db_bar = VE_DB_BAR,
		.phys_bits = 64,
		.virt_bits = 64,
		.caps = (c->rdma_read ? VE_CAP_READ : 0) | (c->rnr_retry ? VE_CAP_RNR : 0) |
			(c->rdma_write ? VE_CAP_WRITE : 0) |
			(c->unsolicited_write_recv ? VE_CAP_UNSOLICITED : 0),
		.max_rdma = c->max_rdma_size,
		.guid = c->guid,
	};
}

static void queue_attr(const struct softnic_efa_caps *c, struct ve_queue_attr *out)
{
	*out = (struct ve_queue_attr){
		.max_qp = c->max_qp,
		.max_sq = c->max_sq_wr,
		.inline_max = c->inline_max,
		.max_rq = c->max_rq_wr,
		.max_cq = c->max_cq,
		.max_cqe = c->max_cqe,
		.sub_cqs = c->sub_cqs,
		.min_sq = c->min_sq_wr,
		.send_sge = c->max_send_sge,
		.recv_sge = c->max_recv_sge,
		.max_mr = c->max_mr,
		.max_mr_pages = c->max_mr_pages,
		.max_pd = c->max_pd,
		.max_ah = c->max_ah,
		.max_llq = c->max_llq_size,
		.rdma_sge = c->max_rdma_sge,
		.tx_batch = c->max_tx_batch,
	};
}

int ve_get_feature(struct vm_device *dev, const union ve_command *in, union ve_response *out)
{
	const struct softnic_efa_caps *c = &dev->efa->caps;
	unsigned int feature = in->feature.feature;

	if (feature > VE_EQ_ATTR || !(features(c) >> feature & 1))
		return -EOPNOTSUPP;
	if (feature == VE_DEVICE_ATTR)
		device_attr(c, &out->feature.device);
	if (feature == VE_QUEUE_ATTR)
		queue_attr(c, &out->feature.queue);
	if (feature == VE_AENQ_CONFIG) {
		out->feature.aenq.supported = AENQ_GROUPS;
		out->feature.aenq.enabled = dev->efa->aenq_groups;
	}
	if (feature == VE_NETWORK_ATTR) {
		memcpy(out->feature.network.gid, c->gid, sizeof(c->gid));
		out->feature.network.mtu = c->mtu;
	}
	if (feature == VE_EQ_ATTR) {
		out->feature.eq.max_eq = VE_EQS;
		out->feature.eq.max_depth = VE_MAX_EQE;
		out->feature.eq.events = VE_EVENT_COMPLETION;
	}
	return 0;			/* all hints are 0, so the driver uses its own values */
}

/* Sets a feature, without effect: this device has no asynchronous events, and ignores information
 * about its host. */
int ve_set_feature(struct vm_device *dev, const union ve_command *in, union ve_response *out)
{
	(void)out;
	switch (in->feature.feature) {
	case VE_AENQ_CONFIG:
		if (in->feature.enabled_groups & ~(uint32_t)AENQ_GROUPS)
			return -EINVAL;
		dev->efa->aenq_groups = in->feature.enabled_groups;
		return 0;
	case VE_HOST_INFO:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/* The model counts packets; all other values are 0. */
int ve_get_stats(struct vm_device *dev, const union ve_command *in, union ve_response *out)
{
	enum { TX_PACKETS = 1, RX_PACKETS = 3, DROPS = 4 };
	struct softnic_efa_counters c;

	if (in->stats.type > VE_STATS_WRITE)
		return -EOPNOTSUPP;
	if (in->stats.type != VE_STATS_BASIC)
		return 0;
	softnic_efa_counters(dev->efa->nic, &c);
	out->stats.value[TX_PACKETS] = c.tx_packets;
	out->stats.value[RX_PACKETS] = c.rx_packets;
	out->stats.value[DROPS] = c.drops + c.qkey_drops;
	return 0;
}
