/* SPDX-License-Identifier: BSD-2-Clause */
/* Peer of `make bench`: the transport API of UCX on its rc_mlx5, with two endpoints of one interface. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uct/api/uct.h>

#include "perf/peer/peer.h"

enum { ADDRESS_MAX = 256, RKEY_MAX = 256 };

static struct {
	ucs_async_context_t *async;
	uct_component_h component;
	uct_worker_h worker;
	uct_md_h md;
	uct_iface_h iface;
	uct_ep_h a, b;
	uct_mem_h mem;
	uct_rkey_bundle_t rkey;
	uct_completion_t done;
} u;

static char memory[2 * PEER_BIG] __attribute__((aligned(PEER_BIG)));
static uct_iov_t small_iov, big_iov;

/* Setup of the peer */

static bool ok(ucs_status_t status, const char *what)
{
	if (status == UCS_OK)
		return true;
	fprintf(stderr, "%s: %s\n", what, ucs_status_string(status));
	return false;
}

static bool open_iface(const char *device)
{
	uct_iface_params_t params = {
		.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE,
		.open_mode = UCT_IFACE_OPEN_MODE_DEVICE,
		.mode.device = { .tl_name = "rc_mlx5", .dev_name = device },
	};
	uct_iface_config_t *config;
	bool good;

	if (!ok(uct_md_iface_config_read(u.md, "rc_mlx5", NULL, NULL, &config),
		"uct_md_iface_config_read"))
		return false;
	good = ok(uct_iface_open(u.md, u.worker, &params, config, &u.iface), "uct_iface_open");
	uct_config_release(config);
	if (good)
		uct_iface_progress_enable(u.iface, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
	return good;
}

/* Opens rc_mlx5 on the device of that name. False: the device has no rc_mlx5. */
static bool open_on(uct_component_h component, const char *md_name)
{
	uct_tl_resource_desc_t *tls;
	uct_md_config_t *config;
	unsigned int i, n;
	bool found = false;

	if (uct_md_config_read(component, NULL, NULL, &config) != UCS_OK)
		return false;
	if (uct_md_open(component, md_name, config, &u.md) != UCS_OK) {
		uct_config_release(config);
		return false;
	}
	uct_config_release(config);
	if (uct_md_query_tl_resources(u.md, &tls, &n) != UCS_OK)
		return false;
	for (i = 0; !found && i < n; i++)
		found = !strcmp(tls[i].tl_name, "rc_mlx5") && open_iface(tls[i].dev_name);
	uct_release_tl_resource_list(tls);
	u.component = component;
	if (!found)
		uct_md_close(u.md);
	return found;
}

static bool open_component(uct_component_h component)
{
	uct_component_attr_t attr = { .field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT };
	uct_md_resource_desc_t *mds;
	bool found = false;
	unsigned int i;

	if (uct_component_query(component, &attr) != UCS_OK || !attr.md_resource_count)
		return false;
	mds = calloc(attr.md_resource_count, sizeof(*mds));
	attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
	attr.md_resources = mds;
	if (mds && uct_component_query(component, &attr) == UCS_OK)
		for (i = 0; !found && i < attr.md_resource_count; i++)
			found = open_on(component, mds[i].md_name);
	free(mds);
	return found;
}

static bool open_any(void)
{
	uct_component_h *list;
	unsigned int i, n;
	bool found = false;

	if (!ok(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &u.async), "async") ||
	    !ok(uct_worker_create(u.async, UCS_THREAD_MODE_SINGLE, &u.worker), "uct_worker_create") ||
	    !ok(uct_query_components(&list, &n), "uct_query_components"))
		return false;
	for (i = 0; !found && i < n; i++)
		found = open_component(list[i]);
	uct_release_component_list(list);
	if (!found)
		fprintf(stderr, "no device has rc_mlx5: run it under softnic-run\n");
	return found;
}

static bool make_ep(uct_ep_h *ep)
{
	uct_ep_params_t params = { .field_mask = UCT_EP_PARAM_FIELD_IFACE, .iface = u.iface };

	return ok(uct_ep_create(&params, ep), "uct_ep_create");
}

static bool connect_to(uct_ep_h ep, uct_ep_h peer)
{
	uint64_t device[ADDRESS_MAX / 8], address[ADDRESS_MAX / 8];
	uct_iface_attr_t attr;

	return ok(uct_iface_query(u.iface, &attr), "uct_iface_query") &&
	       attr.device_addr_len <= sizeof(device) && attr.ep_addr_len <= sizeof(address) &&
	       ok(uct_iface_get_device_address(u.iface, (uct_device_addr_t *)device), "address") &&
	       ok(uct_ep_get_address(peer, (uct_ep_addr_t *)address), "uct_ep_get_address") &&
	       ok(uct_ep_connect_to_ep(ep, (uct_device_addr_t *)device, (uct_ep_addr_t *)address),
		  "uct_ep_connect_to_ep");
}

static bool open_memory(void)
{
	char key[RKEY_MAX];

	return ok(uct_md_mem_reg(u.md, memory, sizeof(memory), UCT_MD_MEM_ACCESS_ALL, &u.mem),
		  "uct_md_mem_reg") &&
	       ok(uct_md_mkey_pack(u.md, u.mem, key), "uct_md_mkey_pack") &&
	       ok(uct_rkey_unpack(u.component, key, &u.rkey), "uct_rkey_unpack");
}

static void completed(uct_completion_t *self)
{
	(void)self;
}

static bool open_all(void)
{
	if (!open_any() || !make_ep(&u.a) || !make_ep(&u.b) || !connect_to(u.a, u.b) ||
	    !connect_to(u.b, u.a) || !open_memory())
		return false;
	small_iov = (uct_iov_t){ .buffer = memory, .length = PEER_SMALL, .memh = u.mem, .count = 1 };
	big_iov = (uct_iov_t){ .buffer = memory, .length = PEER_BIG, .memh = u.mem, .count = 1 };
	u.done = (uct_completion_t){ .func = completed, .count = 1 << 30, .status = UCS_OK };
	return true;
}

/* Functions that run before and after batches */

static int flush(unsigned int n)
{
	ucs_status_t status;

	(void)n;
	do {
		uct_iface_progress(u.iface);
		status = uct_ep_flush(u.a, 0, NULL);
	} while (status == UCS_INPROGRESS || status == UCS_ERR_NO_RESOURCE);
	return status == UCS_OK ? 0 : -1;
}

static uint64_t target(void)
{
	return (uintptr_t)memory + PEER_BIG;
}

static int feed(unsigned int n)
{
	while (n--)
		if (uct_ep_put_zcopy(u.a, &small_iov, 1, target(), u.rkey.rkey, &u.done) < 0)
			return -1;
	peer_let_complete();
	return 0;
}

/* The measured calls */

PEER_CALL uct_write8(void)
{
	return uct_ep_put_short(u.a, memory, PEER_SMALL, target(), u.rkey.rkey);
}

PEER_CALL uct_write64(void)
{
	return uct_ep_put_short(u.a, memory, PEER_LINE, target(), u.rkey.rkey);
}

PEER_CALL uct_write4k(void)
{
	return uct_ep_put_zcopy(u.a, &big_iov, 1, target(), u.rkey.rkey, &u.done) < 0;
}

PEER_CALL uct_read4k(void)
{
	return uct_ep_get_zcopy(u.a, &big_iov, 1, target(), u.rkey.rkey, &u.done) < 0;
}

PEER_CALL uct_poll_one(void) { return (int)uct_iface_progress(u.iface); }
PEER_CALL uct_poll_none(void) { return (int)uct_iface_progress(u.iface); }

static const struct peer_op ops[] = {
	{ "post write 8 B inline", "uct_write8", uct_write8, NULL, flush, PEER_BATCH, 0 },
	{ "post write 64 B inline", "uct_write64", uct_write64, NULL, flush, PEER_BATCH, 0 },
	{ "post write 4 KB", "uct_write4k", uct_write4k, NULL, flush, PEER_BATCH, 0 },
	{ "post read 4 KB", "uct_read4k", uct_read4k, NULL, flush, PEER_BATCH, 0 },
	{ "dequeue one completion", "uct_poll_one", uct_poll_one, feed, flush, PEER_BATCH, 1 },
	{ "dequeue none", "uct_poll_none", uct_poll_none, NULL, NULL, PEER_BATCH, 0 },
	{ 0 },
};

int main(int argc, char **argv)
{
	return open_all() ? peer_run(argc, argv, ops) : 1;
}
