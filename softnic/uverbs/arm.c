/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replaces ibv_req_notify_cq, so that the device sees each arm before the next one. Both are stores
 * to one word of the doorbell record and of the UAR page, so a scan alone finds only the last. A
 * provider gives its functions to libibverbs by verbs_set_ops. Arms of a program that does not use
 * libibverbs are not seen here.
 */
#include <dlfcn.h>

#include <infiniband/verbs.h>

#include "softnic/uverbs/front.h"

struct verbs_context_ops;		/* a private type of libibverbs */

EXPORT void verbs_set_ops(struct verbs_context *ctx, const struct verbs_context_ops *ops);

static int (*provider_arm)(struct ibv_cq *cq, int solicited_only);

static int arm(struct ibv_cq *cq, int solicited_only)
{
	int err = provider_arm(cq, solicited_only);
	struct uv_device *dev;
	struct stat st;

	if (pre_real()->fstat(cq->context->cmd_fd, &st))
		return err;
	dev = uv_device_of(&st);
	if (dev && !uv_detached(dev) && dev->kind->adapter == UV_CONNECTX)
		softnic_scan(dev->nic);
	return err;
}

/* Calls libibverbs's own function, which may be outside of the global scope. */
static void set_ops(struct verbs_context *ctx, const struct verbs_context_ops *ops)
{
	void *lib = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
	__typeof__(&set_ops) real = (__typeof__(real))dlsym(lib ?: RTLD_NEXT, "verbs_set_ops");

	real(ctx, ops);
	if (lib)
		dlclose(lib);
}

/* libibverbs first sets functions that fail; then the provider sets its own, in several calls. */
void verbs_set_ops(struct verbs_context *ctx, const struct verbs_context_ops *ops)
{
	struct ibv_context_ops *now = &ctx->context.ops;
	bool first = !now->req_notify_cq;

	set_ops(ctx, ops);
	if (first || now->req_notify_cq == arm || (provider_arm && provider_arm != now->req_notify_cq))
		return;
	provider_arm = now->req_notify_cq;
	now->req_notify_cq = arm;
}
