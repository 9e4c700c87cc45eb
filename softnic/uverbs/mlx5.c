/* SPDX-License-Identifier: BSD-2-Clause */
/* The ConnectX behind the front: opening it, and its own methods. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "softnic/bytes.h"
#include "softnic/uverbs/front.h"

/* Reads SOFTNIC_PORTS and SOFTNIC_LINK, which softnic-run sets. */
static void choose_ports(struct softnic_config *config)
{
	const char *ports = getenv("SOFTNIC_PORTS"), *link = getenv("SOFTNIC_LINK");

	config->ports = ports ? (unsigned int)atoi(ports) : 1;
	if (link && !strcmp(link, "infiniband"))
		config->flags |= SOFTNIC_INFINIBAND;
}

/* Reads SOFTNIC_IP, an address in softnic-run's form. */
static void choose_ip(struct softnic_config *config)
{
	const char *ip = getenv("SOFTNIC_IP");

	if (!ip || inet_pton(AF_INET6, ip, config->ip) == 1)
		return;
	memset(config->ip + 10, 0xff, 2);
	inet_pton(AF_INET, ip, config->ip + 12);
}

/* Linux makes a GID of each address of the port's interface. Index 0 has the one of the MAC here. */
static int set_ip_gid(struct uv_device *dev, const struct softnic_config *config)
{
	uint8_t in[PRM_ROCE_OUT] = { 0 }, out[PRM_ROCE_OUT];
	uint16_t mtu;
	int err;

	if (!softnic_udp(dev->nic, &mtu))
		return 0;
	sn_set(in, PRM_OPCODE, PRM_QUERY_ROCE_ADDRESS);
	sn_set(in, PRM_ROCE_PORT, 1);
	err = uv_cmd(dev, in, sizeof(in), out, sizeof(out));
	if (err)
		return err;
	sn_set(in, PRM_OPCODE, PRM_SET_ROCE_ADDRESS);
	sn_set(in, PRM_ROCE_INDEX, 1);
	memcpy(in + ROCE_ADDRESS, out + ROCE_ADDRESS, sizeof(in) - ROCE_ADDRESS);
	memcpy(in + ROCE_GID, config->ip, sizeof(config->ip));
	sn_set(in + ROCE_ADDRESS, ROCE_L3_TYPE, !sn_is_v4(config->ip));
	return uv_cmd(dev, in, sizeof(in), out, sizeof(out));
}

/*
 * libmlx5 maps these pages by its descriptor, which is the file of the BAR. The high byte of the page
 * number is the mmap command.
 */
enum { TIMER_PAGE = MLX5_IB_MMAP_CORE_CLOCK << 8, INFO_PAGE = MLX5_IB_MMAP_CLOCK_INFO << 8 };

/* The internal timer counts ns (CAP_FREQUENCY_KHZ), so a cycle is one ns, and the conversion cannot
 * overflow. */
static void fill_clock_info(struct uv_device *dev)
{
	struct mlx5_ib_clock_info *info = softnic_uar(dev->nic, INFO_PAGE);
	const be64_t *timer = softnic_uar(dev->nic, TIMER_PAGE);
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*info = (struct mlx5_ib_clock_info){
		.nsec = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
		.cycles = from_be64(*timer),
		.mult = 1,
		.mask = INT64_MAX,
		.overflow_period = INT64_MAX,
	};
}

static int setup(struct uv_device *dev)
{
	size_t size;
	int err;

	dev->bar_fd = softnic_bar_fd(dev->nic, &size);
	fill_clock_info(dev);
	err = uv_query_caps(dev);
	return err ? err : uv_eq_create(dev);
}

static void close_model(struct uv_device *dev)
{
	softnic_close(dev->nic);
	free(dev->eq.buf);
}

static int open_model(struct uv_device *dev)
{
	struct softnic_config config = {
		.flags = SOFTNIC_SCAN_UARS | SOFTNIC_THREAD_BACKOFF | SOFTNIC_FREE_RUNNING,
		.index = dev->index,
		.timer_page = TIMER_PAGE,
		.host = { .irq = uv_irq, .ctx = dev },
	};
	int err;

	choose_ports(&config);
	choose_ip(&config);
	err = softnic_open(&config, &dev->nic);
	if (err)
		return err;
	err = setup(dev);
	if (!err)
		err = set_ip_gid(dev, &config);
	if (err)
		close_model(dev);
	return err;
}

static bool pump(struct uv_device *dev)
{
	return softnic_pump(dev->nic);
}

static int fault(struct uv_device *dev, const char *script)
{
	return softnic_fault(dev->nic, script);
}

static size_t violations(struct uv_device *dev, struct softnic_violation *v, size_t max)
{
	return softnic_violations(dev->nic, v, max);
}

static int destroy(struct uv_obj *obj)
{
	struct uv_device *dev = obj->ctx->dev;

	switch (obj->type) {
	case UV_PD: return uv_cmd_number(dev, PRM_DEALLOC_PD, obj->number, NULL, 0);
	case UV_MR:
	case UV_MW: return uv_cmd_number(dev, PRM_DESTROY_MKEY, obj->number, NULL, 0);
	case UV_CQ: return uv_cmd_number(dev, PRM_DESTROY_CQ, obj->number, NULL, 0);
	case UV_QP: return uv_cmd_number(dev, PRM_DESTROY_QP, obj->number, NULL, 0);
	case UV_SRQ: return uv_cmd_number(dev, PRM_DESTROY_RMP, obj->number, NULL, 0);
	case UV_UAR: return uv_cmd_number(dev, PRM_DEALLOC_UAR, obj->number, NULL, 0);
	case UV_DEVX: return uv_devx_destroy(obj);
	case UV_UMEM: return uv_cmd_number(dev, PRM_DESTROY_UMEM, obj->number, NULL, 0);
	case UV_AH: return 0;
	}
	return -EINVAL;
}

/* Allocates a doorbell page; its offset in the descriptor is its offset in the BAR. */
int uv_alloc_uar(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *handle = uv_attr(hdr, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);
	uint32_t length = UAR_PAGE;
	struct uv_obj *uar;
	uint64_t offset, type;
	int err;

	if (!handle || !uv_attr_number(hdr, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, &type) ||
	    (type != MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF && type != MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC))
		return -EINVAL;
	uar = uv_obj_new(ctx, UV_UAR);
	if (!uar)
		return -ENOMEM;
	err = uv_alloc(ctx->dev, ctx->uid, PRM_ALLOC_UAR, &uar->number);
	if (err) {
		uv_obj_free(uar);
		return err;
	}
	offset = (uint64_t)uar->number * UAR_PAGE;
	err = uv_attr_put(hdr, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));
	if (!err)
		err = uv_attr_put(hdr, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &length,
				  sizeof(length));
	if (!err)
		err = uv_attr_put(hdr, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &uar->number,
				  sizeof(uar->number));
	return uv_obj_hand_over(uar, handle, err);
}

int uv_free_uar(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	return uv_obj_end(ctx, UV_UAR, hdr, MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE);
}

const struct uv_kind uv_mlx5 = {
	.adapter = UV_CONNECTX,
	.driver = RDMA_DRIVER_MLX5,
	.open = open_model,
	.close = close_model,
	.pump = pump,
	.fault = fault,
	.violations = violations,
	.gid = uv_query_gid,
	.destroy = destroy,
};
