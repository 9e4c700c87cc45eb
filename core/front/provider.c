/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The provider as the registry sees it: names are added and removed, and IAs are opened under
 * them. Also the provider tables behind handles: one set for each IA name and thread safety,
 * created on first use and never freed, because a handle may use its table long after the IA is
 * closed.
 *
 * All slots of all tables are checked fronts, except the hot calls of live handles, which go to
 * the backend. A checked front detects dead objects, so the template also serves as the table of
 * freed handles.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/api.h"
#include "core/fork.h"
#include "core/front/slots.h"
#include "core/hot.h"
#include "core/hw.h"
#include "core/ia.h"
#include "core/obj.h"

#include <dat/dapl_direct.h>
#ifdef DAP_DAT20
#include <dat2/dat_registry.h>

/* dat_registry.h declares only their types. */
void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance_data);
void dat_provider_fini(const DAT_PROVIDER_INFO *info);
#else
#include <dat/dat_registry.h>
#endif

struct front_live {
	const struct dap_hot *hot;
	bool checked;
	DAT_PROVIDER ep, evd, rmr, srq;
	struct dapl_direct ep_direct, evd_direct;
	struct front_live *next;
};

struct front_provider {
	/* the table of the IA and of every checked handle, known to the registry */
	DAT_PROVIDER table;
	char name[DAT_NAME_MAX_LENGTH];
	bool threadsafe;
	char *params;			/* ia_params, or NULL */
	struct front_live *lives;
	struct front_provider *next;
};

static struct dapl_direct checked_direct = {
	.magic = DAPL_DIRECT_MAGIC, .size = sizeof(checked_direct),
	.evd_dequeue_n = front_evd_dequeue_n, .cno_fd = front_cno_fd,
	.ep_post_n = front_ep_post_n, .evd_dequeue_ts = front_evd_dequeue_ts,
};

#define SLOT(call) .call##_func = front_##call,

static const DAT_PROVIDER template = {
	.extension = &checked_direct,
	FRONT_SLOTS(SLOT) FRONT_SLOTS_20(SLOT)
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct front_provider *providers;

/* A live table is shared by all instances of one kind. After fork(), the child resets the parent's live
 * tables and makes its own. */
static void reset_live(struct front_live *live, const DAT_PROVIDER *checked)
{
	live->hot = NULL;
	live->ep = live->evd = live->rmr = live->srq = *checked;
}

/*
 * The fork handlers do not take this lock: the registry's lock is held over a fork, and the registry
 * calls this file under that lock. So the lists must be consistent at any time.
 */
static void provider_in_child(void)
{
	for (struct front_provider *p = providers; p; p = p->next) {
		for (struct front_live *live = p->lives; live; live = live->next)
			reset_live(live, &p->table);
	}
	pthread_mutex_init(&lock, NULL);
}

static DAT_RETURN open_threadsafe(const DAT_NAME_PTR name, DAT_COUNT qlen,
				  DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia);

static struct front_provider *make_provider(const char *name, bool threadsafe)
{
	struct front_provider *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	strncpy(p->name, name, sizeof(p->name) - 1);
	p->threadsafe = threadsafe;
	p->table = template;
	p->table.device_name = p->name;
	if (threadsafe)
		p->table.ia_open_func = open_threadsafe;
	p->next = providers;
	__atomic_store_n(&providers, p, __ATOMIC_RELEASE);
	/* The first provider sets it, and the others store the same address. */
	__atomic_store_n(&dap_dead_table[DAP_API], (const void *)&template, __ATOMIC_RELAXED);
	return p;
}

/* Finds or creates the provider of that name; NULL: out of memory. */
static struct front_provider *get_provider(const char *name, bool threadsafe)
{
	struct front_provider *p;

	if (dap_fork_init(DAP_API, provider_in_child))
		return NULL;
	pthread_mutex_lock(&lock);
	for (p = providers; p; p = p->next) {
		if (p->threadsafe == threadsafe && !strcmp(p->name, name))
			break;
	}
	if (!p)
		p = make_provider(name, threadsafe);
	pthread_mutex_unlock(&lock);
	return p;
}

static int set_params(struct front_provider *provider, const char *params)
{
	char *copy = strdup(params ? params : ""), *old;

	if (!copy)
		return -ENOMEM;
	pthread_mutex_lock(&lock);
	old = provider->params;
	__atomic_store_n(&provider->params, copy, __ATOMIC_RELEASE);
	free(old);
	pthread_mutex_unlock(&lock);
	return 0;
}

/* The calls of dapl_direct.h go to the backend, too, if the backend has them. */
static void live_direct(struct front_live *live, const struct dap_hot *hot)
{
	live->ep_direct = live->evd_direct = checked_direct;
	live->ep.extension = &live->ep_direct;
	live->evd.extension = &live->evd_direct;
	if (hot->ep_post_n)
		live->ep_direct.ep_post_n = hot->ep_post_n;
	if (hot->evd_dequeue_n)
		live->evd_direct.evd_dequeue_n = hot->evd_dequeue_n;
}

/* A validating instance has live handles, too, but all their calls are checked. */
static struct front_live *make_live(struct front_provider *p, const struct dap_hot *hot,
				    bool checked)
{
	struct front_live *live = calloc(1, sizeof(*live));

	if (!live)
		return NULL;
	live->hot = hot;
	live->checked = checked;
	live->ep = live->evd = live->rmr = live->srq = p->table;
	if (!checked) {
		live->ep.ep_post_send_func = hot->post_send;
		live->ep.ep_post_recv_func = hot->post_recv;
		live->ep.ep_post_rdma_read_func = hot->rdma_read;
		live->ep.ep_post_rdma_write_func = hot->rdma_write;
		live->evd.evd_dequeue_func = hot->evd_dequeue;
		live_direct(live, hot);
		live->rmr.rmr_bind_func = hot->rmr_bind;
		live->srq.srq_post_recv_func = hot->srq_post_recv;
	}
	live->next = p->lives;
	__atomic_store_n(&p->lives, live, __ATOMIC_RELEASE);
	return live;
}

static struct front_live *get_live(struct front_provider *p, const struct dap_hot *hot,
				   bool checked)
{
	struct front_live *live;

	pthread_mutex_lock(&lock);
	for (live = p->lives; live; live = live->next) {
		if (live->hot == hot && live->checked == checked)
			break;
	}
	if (!live)
		live = make_live(p, hot, checked);
	pthread_mutex_unlock(&lock);
	return live;
}

/* struct dap_ia_args.make_tables: fills ia->tables and hot. */
static int make_tables(struct dap_ia *ia)
{
	struct core_ia *own = core_ia(ia);
	struct front_provider *p = get_provider(ia->name, ia->threadsafe);
	const struct dap_hot *hot = ia->hw->hot(ia, DAP_API);
	struct front_live *live = p && hot ? get_live(p, hot, own->validate) : NULL;

	if (!live)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
	own->hot = hot;
	ia->tables[DAP_TABLE_CHECKED] = &p->table;
	ia->tables[DAP_TABLE_EP_LIVE] = &live->ep;
	ia->tables[DAP_TABLE_EVD_LIVE] = &live->evd;
	ia->tables[DAP_TABLE_RMR_LIVE] = &live->rmr;
	ia->tables[DAP_TABLE_SRQ_LIVE] = &live->srq;
#ifdef DAP_DAT20
	front_name_attributes(ia);
#endif
	return 0;
}

/* libdat calls these two; the version script exports nothing else. */
#define EXPORT __attribute__((visibility("default")))

EXPORT void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance_data)
{
	const char *type = "an unknown value", *detail = "";
	struct front_provider *p;
	DAT_RETURN ret;

	if (info->dapl_version_major != DAT_VERSION_MAJOR ||
	    info->dapl_version_minor != DAT_VERSION_MINOR) {
		dap_log(DAP_LOG_ERR, "%s: uDAPL %u.%u is not supported, only %u.%u", info->ia_name,
			info->dapl_version_major, info->dapl_version_minor, DAT_VERSION_MAJOR,
			DAT_VERSION_MINOR);
		return;
	}
	p = get_provider(info->ia_name, info->is_thread_safe);
	if (!p || set_params(p, instance_data)) {
		dap_log(DAP_LOG_ERR, "cannot register %s: out of memory", info->ia_name);
		return;
	}
	ret = dat_registry_add_provider(&p->table, info);
	if (ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_PROVIDER_ALREADY_REGISTERED)
		return;
	dat_strerror(ret, &type, &detail);
	dap_log(DAP_LOG_ERR, "cannot register %s: dat_registry_add_provider() returned %s %s", info->ia_name,
		type, detail);
}

EXPORT void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	struct front_provider *p = get_provider(info->ia_name, info->is_thread_safe);

	if (p)
		dat_registry_remove_provider(&p->table, info);
}

/* dat_ia_open(3): a given asynchronous EVD belongs to another IA of the same name. */
static int read_async_evd(DAT_EVD_HANDLE handle, struct dap_ia_args *args)
{
	struct dap_evd *evd;

	if (handle == DAT_HANDLE_NULL)
		return 0;
	if (handle == DAT_EVD_ASYNC_EXISTS) {
		args->no_async_evd = true;
		return 0;
	}
	evd = dap_obj_get(handle, DAP_EVD, NULL);
	if (!evd || !(evd->flags & DAP_EVD_ASYNC) || strcmp(evd->obj.ia->name, args->name))
		return DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_EVD_ASYNC);
	args->async_evd = evd;
	return 0;
}

static DAT_RETURN open_ia(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			  DAT_IA_HANDLE *out, bool threadsafe)
{
	struct dap_ia_args args = {.name = name, .api = DAP_API, .threadsafe = threadsafe,
				   .make_tables = make_tables};
	struct front_provider *p;
	struct dap_ia *ia;
	int err, cancel;

	if (!name || strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return front_bad_arg(1);
	if (!async_evd)
		return front_bad_arg(3);
	/* dat_ia_open(3) ignores the length if it gets an EVD. */
	if (*async_evd == DAT_HANDLE_NULL && qlen < 0)
		return front_bad_arg(2);
	if (!out)
		return front_bad_arg(4);
	args.async_qlen = (uint32_t)qlen;
	err = read_async_evd(*async_evd, &args);
	if (err)
		return front_return(err);
	p = get_provider(name, threadsafe);
	if (!p)
		return front_return(DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY));
	args.params = p->params;
	/* A thread that is cancelled in here would leave a half-opened IA. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	err = dap_ia_open(&args, &ia);
	pthread_setcancelstate(cancel, NULL);
	if (err)
		return front_return(err);
	*async_evd = core_ia(ia)->async_evd ?: DAT_EVD_OUT_OF_SCOPE;
	*out = ia;
	return DAT_SUCCESS;
}

DAT_RETURN front_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			 DAT_IA_HANDLE *ia)
{
	return open_ia(name, qlen, async_evd, ia, false);
}

static DAT_RETURN open_threadsafe(const DAT_NAME_PTR name, DAT_COUNT qlen,
				  DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia)
{
	return open_ia(name, qlen, async_evd, ia, true);
}

DAT_RETURN front_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct dap_ia *ia = dap_obj_get(handle, DAP_IA, NULL);
	int err, cancel;

	if (!ia)
		return front_bad_handle(DAP_SUB_HANDLE_IA);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return front_bad_arg(2);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	err = dap_ia_close(ia, flags == DAT_CLOSE_GRACEFUL_FLAG);
	pthread_setcancelstate(cancel, NULL);
	return front_return(err);
}
