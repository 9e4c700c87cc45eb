/* SPDX-License-Identifier: BSD-2-Clause */
/* Interface Adapters: opens one on the backend that knows its name, and closes it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/api.h"
#include "core/cm/cm.h"
#include "core/ep/conn.h"
#include "core/evd/evd.h"
#include "core/fork.h"
#include "core/hw.h"
#include "core/ia.h"
#include "core/obj.h"
#include "core/param.h"
#include "core/thread.h"

/* IAs may share an asynchronous EVD: this lock protects the pointer that each IA has to it. */
static pthread_mutex_t async_lock = PTHREAD_MUTEX_INITIALIZER;

void dap_ia_in_child(void)
{
	pthread_mutex_init(&async_lock, NULL);
}

static int try_backends(struct dap_ia *ia, const char *params, char *why, size_t whylen)
{
	int err = -ENODEV;

	for (const struct dap_hw *const *hw = dap_backends; *hw && err == -ENODEV; hw++) {
		ia->hw = *hw;
		err = ia->hw->open(ia, params ? params : "", why, whylen);
	}
	return err;
}

static int open_backend(struct dap_ia *ia, const char *params)
{
	char why[256] = "";
	int err = dap_params_device(params, ia->device, sizeof(ia->device), why, sizeof(why));

	if (!err)
		err = try_backends(ia, params, why, sizeof(why));
	if (!err) {
		dap_params_variables(ia->hw->params, ia->name);
		return 0;
	}
	ia->hw = NULL;
	if (!*why)
		snprintf(why, sizeof(why), "%s", err == -ENODEV ?
			 "no adapter has that name; dat_info(1) lists them" : strerror(-err));
	if (err == -EMFILE || err == -ENFILE)
		dap_log(DAP_LOG_ERR, "cannot open %s: %s: %s", ia->name, why, dap_reason(err));
	else
		dap_log(DAP_LOG_ERR, "cannot open %s: %s", ia->name, why);
	return err == -ENODEV ? DAP_ERR(DAP_PROVIDER_NOT_FOUND, DAP_SUB_NONE)
			      : dap_err_from_errno(err);
}

static int check_cpu(const struct dap_ia *ia, uint32_t cpu)
{
	int err = cpu == DAP_ANY_CPU ? 0 : dap_thread_may_use(cpu);

	if (!err)
		return 0;
	dap_log(DAP_LOG_ERR, "cannot open %s: cm_cpu=%u: %s: %s", ia->name, cpu, err == -EAGAIN ?
		"cannot start a thread" : "this process may not run on that CPU", dap_reason(err));
	return dap_err_from_errno(err);
}

/* Only an open that succeeds moves the threads, which other IAs use, too. */
static void choose_cpu(uint32_t cpu)
{
	if (cpu != DAP_ANY_CPU)
		dap_thread_own_cpu(cpu);
	dap_cm_pin();
}

static void on_failure(void *ia)
{
	dap_ia_fatal(ia);
}

static void configure(struct dap_ia *ia, const struct dap_ia_args *args,
		      const struct dap_core_params *params)
{
	struct core_ia *own = core_ia(ia);

	ia->obj.ia = ia;
	ia->obj.api = (uint16_t)args->api;
	strncpy(ia->name, args->name, sizeof(ia->name) - 1);
	ia->threadsafe = args->threadsafe;
	own->validate = params->validate;
	own->spin_us = params->spin_us;
	own->failure = (struct dap_timer){.fn = on_failure, .arg = ia};
	pthread_mutex_init(&own->lock, NULL);
	pthread_mutex_init(&own->totals.lock, NULL);
}

static void name_attributes(struct dap_ia *ia)
{
	struct core_ia *own = core_ia(ia);

	for (unsigned int i = 0; i < ia->caps.nattr; i++) {
		own->named[i].name = ia->caps.attr[i].name;
		own->named[i].value = ia->caps.attr[i].value;
	}
	own->nnamed = ia->caps.nattr;
}

/* Under the lock, because another thread may close an IA: see forget_async(). */
static void set_async(struct dap_ia *ia, struct dap_evd *evd, bool own)
{
	dap_evd_feed(evd);
	pthread_mutex_lock(&async_lock);
	core_ia(ia)->async_evd = evd;
	core_ia(ia)->async_evd_own = own;
	pthread_mutex_unlock(&async_lock);
}

static int open_async(struct dap_ia *ia, const struct dap_ia_args *args)
{
	struct dap_evd *evd;
	int err;

	if (args->no_async_evd)
		return 0;
	if (args->async_evd) {
		set_async(ia, args->async_evd, false);
		return 0;
	}
	if (args->async_qlen > ia->caps.max_evd_qlen)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	err = dap_evd_create(ia, args->async_qlen ? args->async_qlen : 1, DAP_EVD_ASYNC, NULL, &evd);
	if (!err)
		set_async(ia, evd, true);
	return err;
}

/* Another IA may post its events to an EVD that is destroyed here. */
static void forget_async(void *other, void *evd)
{
	struct dap_ia *ia = other;
	struct core_ia *own = core_ia(ia);

	if (own->async_evd == evd && !own->async_evd_own)
		own->async_evd = NULL;
}

static void forget(struct dap_evd *evd)
{
	pthread_mutex_lock(&async_lock);
	dap_obj_each(DAP_IA, NULL, forget_async, evd);
	pthread_mutex_unlock(&async_lock);
}

static void close_async(struct dap_ia *ia)
{
	struct core_ia *own = core_ia(ia);
	struct dap_evd *evd;

	/* Under the lock, because another thread may close the IA that owns the EVD. */
	pthread_mutex_lock(&async_lock);
	evd = own->async_evd;
	own->async_evd = NULL;
	if (evd)
		dap_evd_unfeed(evd);
	pthread_mutex_unlock(&async_lock);
	if (!evd || !own->async_evd_own)
		return;
	forget(evd);
	dap_evd_abort(evd);
	dap_evd_destroy(evd);
}

static void free_ia(struct dap_ia *ia)
{
	struct core_ia *own = core_ia(ia);
	struct dap_lmr_page *page;

	for (unsigned int i = 0; i < sizeof(ia->lmr_dir) / sizeof(ia->lmr_dir[0]); i++)
		free(ia->lmr_dir[i]);
	while ((page = own->lmr_spare)) {
		own->lmr_spare = page->next;
		free(page);
	}
	free(own->cleared);
	dap_obj_free(ia);
}

int dap_ia_open(const struct dap_ia_args *args, struct dap_ia **out)
{
	struct dap_ia *ia = dap_obj_alloc(DAP_IA, NULL);
	struct dap_core_params params;
	int err;

	if (!ia)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
	dap_params_core(args->params, &params);
	configure(ia, args, &params);
	err = check_cpu(ia, params.cm_cpu);
	if (!err)
		err = open_backend(ia, args->params);
	if (err)
		goto free_obj;
	name_attributes(ia);
	err = args->make_tables(ia);
	if (err)
		goto close_hw;
	err = open_async(ia, args);
	if (err)
		goto close_hw;
	err = dap_conn_open(ia);
	if (err) {
		dap_log(DAP_LOG_ERR, "cannot open %s: cannot start its connection manager: %s", ia->name,
			dap_reason(err));
		err = dap_err_from_errno(err);
		goto close_evd;
	}
	choose_cpu(params.cm_cpu);
	dap_page_open(ia);
	dap_obj_set_table(&ia->obj, DAP_TABLE_CHECKED);
	*out = ia;
	return 0;

close_evd:
	close_async(ia);
close_hw:
	ia->hw->close(ia);
free_obj:
	free_ia(ia);
	return err;
}

static bool in_use(struct dap_ia *ia)
{
	unsigned int idle[DAP_TYPES] = {
		[DAP_EVD] = core_ia(ia)->async_evd_own, [DAP_RSP] = dap_sp_used(ia)};

	for (unsigned int t = DAP_IA + 1; t < DAP_TYPES; t++) {
		if (dap_obj_count(t, ia) > idle[t])
			return true;
	}
	return false;
}

static void destroy_evd(struct dap_evd *evd)
{
	if (evd == core_ia(evd->obj.ia)->async_evd && core_ia(evd->obj.ia)->async_evd_own)
		return;
	forget(evd);
	if (__atomic_load_n(&core_evd(evd)->feeders, __ATOMIC_ACQUIRE))
		dap_obj_each(DAP_EP, NULL, dap_ep_forget_evd, evd);
	dap_evd_destroy(evd);
}

static void abort_evd(void *evd, void *arg)
{
	(void)arg;
	dap_evd_abort(evd);
}

static void abort_cno(void *cno, void *arg)
{
	(void)arg;
	dap_cno_abort(cno);
}

static void destroy_object(void *obj, void *type)
{
	switch (*(enum dap_type *)type) {
	case DAP_PSP:
	case DAP_RSP: dap_sp_destroy(obj); break;
	case DAP_CR: dap_cr_destroy(obj); break;
	case DAP_EP: dap_ep_destroy(obj); break;
	case DAP_SRQ: dap_srq_destroy(obj); break;
	case DAP_RMR: dap_rmr_free(obj); break;
	case DAP_LMR: dap_lmr_destroy(obj); break;
	case DAP_EVD: destroy_evd(obj); break;
	case DAP_CNO: dap_cno_destroy(obj); break;
	case DAP_PZ: dap_pz_free(obj); break;
	default: break;
	}
}

/* Ends waits first, then frees what can create objects, then each object before those it depends
 * on. */
static void destroy_all(struct dap_ia *ia)
{
	static const enum dap_type order[] = {DAP_PSP, DAP_RSP, DAP_CR, DAP_EP, DAP_SRQ, DAP_RMR, DAP_LMR,
					      DAP_EVD, DAP_CNO, DAP_PZ};

	dap_obj_each(DAP_EVD, ia, abort_evd, NULL);
	dap_obj_each(DAP_CNO, ia, abort_cno, NULL);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		enum dap_type type = order[i];

		dap_obj_each(type, ia, destroy_object, &type);
	}
}

int dap_ia_close(struct dap_ia *ia, bool graceful)
{
	if (graceful && in_use(ia))
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_IA_IN_USE);
	if (__atomic_exchange_n(&core_ia(ia)->closing, true, __ATOMIC_RELAXED))
		return DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_IA);
	destroy_all(ia);
	dap_invariant(&ia->obj, !in_use(ia));
	dap_cm_timer_close(ia->cm, &core_ia(ia)->failure);
	dap_conn_close(ia);
	dap_page_close(ia);
	close_async(ia);
	ia->hw->close(ia);
	free_ia(ia);
	return 0;
}

void dap_async_post(struct dap_ia *ia, uint32_t number, struct dap_obj *obj, int reason)
{
	struct core_ia *own = core_ia(ia);
	struct dap_event ev = {.number = number, .async = {.obj = obj, .reason = reason}};

	__atomic_add_fetch(&own->asyncs[number - DAP_EV_ASYNC_EVD_OVERFLOW], 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&async_lock);
	if (own->async_evd)
		dap_evd_post(own->async_evd, &ev);
	pthread_mutex_unlock(&async_lock);
}

static void break_ep(void *ep, void *arg)
{
	(void)arg;
	dap_ep_broken(ep);
}

/* A program may connect again although the IA has failed: each failure breaks the connections. */
void dap_ia_fatal(struct dap_ia *ia)
{
	if (!__atomic_exchange_n(&core_ia(ia)->failed, true, __ATOMIC_ACQ_REL)) {
		dap_log(DAP_LOG_ERR, "%s: the device has failed and its connections are broken; close the IA",
			ia->name);
		dap_async_post(ia, DAP_EV_ASYNC_CATASTROPHIC, &ia->obj, 0);
	}
	dap_obj_each(DAP_EP, ia, break_ep, NULL);
}
