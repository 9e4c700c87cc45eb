/* SPDX-License-Identifier: BSD-2-Clause */
#include <dat/dat_registry.h>
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/hot.h"
#include "core/front/slots.h"
#include "core/param.h"
#include "tests/core/fake_hw.h"

#define RING 256

struct fake fake;

struct fake_cq {
	pthread_mutex_t lock;
	struct dap_event *ring;
	uint32_t head, tail;
	int fd;
	bool armed, solicited;
};

static struct fake_cq *cq_of(struct dap_evd *evd)
{
	return (struct fake_cq *)(void *)evd->hw;
}

/* Each function that may fail calls this first. */
static int step(void)
{
	fake.calls++;
	return fake.fail_at && fake.calls == fake.fail_at ? fake.fail_with : 0;
}

static int made(enum fake_kind kind)
{
	int err = step();

	if (!err)
		fake.live[kind]++;
	return err;
}

static size_t hw_list(struct dapl_device *devs, size_t max)
{
	(void)devs;
	(void)max;
	return 0;
}

static void fill_caps(struct dap_caps *caps)
{
	*caps = (struct dap_caps){
		.vendor = "none", .max_eps = 1000, .max_dto_per_ep = 100, .max_rdma_read_in = 16,
		.max_rdma_read_out = 16, .max_evds = 1000, .max_evd_qlen = 200, .max_iov = 8,
		.max_rdma_read_iov = 4, .max_rdma_write_iov = 8, .max_lmrs = 1000, .max_pzs = 100,
		.max_rmrs = 1000, .max_lmr_size = 1 << 20, .max_message_size = 1 << 16,
		.max_rdma_size = 1 << 18, .optimal_alignment = 64, .attr = {{"access", "none"}},
		.nattr = 1, .max_srqs = 10, .max_recv_per_srq = 100, .max_ep_per_srq = 10,
		.qos = fake.qos,
	};
	caps->address = dap_addr_v4(INADDR_LOOPBACK);
}

static int hw_open(struct dap_ia *ia, const char *params, char *why, size_t whylen)
{
	int err;

	(void)params;
	if (strncmp(ia->name, "fake", 4) != 0)
		return -ENODEV;
	err = made(FAKE_IA);
	if (err && !fake.mute)
		snprintf(why, whylen, "the test injects this failure");
	if (err)
		return err;
	fill_caps(&ia->caps);
	return 0;
}

static void hw_close(struct dap_ia *ia)
{
	(void)ia;
	fake.live[FAKE_IA]--;
}

static int hw_async_fd(struct dap_ia *ia)
{
	(void)ia;
	return -1;
}

static void hw_async_handle(struct dap_ia *ia)
{
	(void)ia;
}

static int pz_create(struct dap_pz *pz)
{
	(void)pz;
	return made(FAKE_PZ);
}

static int pz_destroy(struct dap_pz *pz)
{
	(void)pz;
	fake.live[FAKE_PZ]--;
	return 0;
}

static int lmr_create(struct dap_lmr *lmr)
{
	static uint32_t next;

	lmr->lmr_context = (++next << 8) | 0x5a;
	lmr->rmr_context = lmr->lmr_context;
	lmr->reg_addr = lmr->addr;
	lmr->reg_size = lmr->length;
	return made(FAKE_LMR);
}

static int lmr_destroy(struct dap_lmr *lmr)
{
	(void)lmr;
	fake.live[FAKE_LMR]--;
	return fake.kept;
}

static int rmr_create(struct dap_rmr *rmr)
{
	(void)rmr;
	return made(FAKE_RMR);
}

static int rmr_destroy(struct dap_rmr *rmr)
{
	(void)rmr;
	fake.live[FAKE_RMR]--;
	return fake.kept;
}

static int cq_create(struct dap_evd *evd, unsigned int entries)
{
	struct fake_cq *cq = cq_of(evd);
	int err = made(FAKE_CQ);

	(void)entries;
	if (err)
		return err;
	*cq = (struct fake_cq){.lock = PTHREAD_MUTEX_INITIALIZER};
	cq->ring = calloc(RING, sizeof(*cq->ring));
	cq->fd = cq->ring ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
	if (cq->fd >= 0)
		return 0;
	free(cq->ring);
	fake.live[FAKE_CQ]--;
	return -ENOMEM;
}

static int cq_resize(struct dap_evd *evd, unsigned int entries)
{
	(void)evd;
	(void)entries;
	return step();
}

static int cq_destroy(struct dap_evd *evd)
{
	close(cq_of(evd)->fd);
	free(cq_of(evd)->ring);
	fake.live[FAKE_CQ]--;
	return 0;
}

static bool cq_poll(struct dap_evd *evd, struct dap_event *ev)
{
	struct fake_cq *cq = cq_of(evd);
	bool got;

	if (fake.on_poll)
		fake.on_poll(evd);
	fake.polls++;
	pthread_mutex_lock(&cq->lock);
	got = cq->head != cq->tail;
	if (got)
		*ev = cq->ring[cq->tail++ % RING];
	pthread_mutex_unlock(&cq->lock);
	return got;
}

static int cq_arm(struct dap_evd *evd, bool solicited_only)
{
	struct fake_cq *cq = cq_of(evd);
	int err = step();

	if (err)
		return err;
	pthread_mutex_lock(&cq->lock);
	cq->armed = true;
	cq->solicited = solicited_only;
	fake.arms++;
	pthread_mutex_unlock(&cq->lock);
	return 0;
}

static int cq_fd(struct dap_evd *evd)
{
	return cq_of(evd)->fd;
}

static bool cq_drain_fd(struct dap_evd *evd)
{
	uint64_t n;
	ssize_t got = read(cq_of(evd)->fd, &n, sizeof(n));

	(void)got;
	return false;
}

static int qp_create(struct dap_ep *ep)
{
	(void)ep;
	return made(FAKE_QP);
}

static int qp_address(struct dap_ep *ep)
{
	ep->local_path = (struct dap_path){ .link_layer = 1, .mtu = 1024, .qpn = 1 };
	return step();
}

static int qp_ok(struct dap_ep *ep)
{
	(void)ep;
	return step();
}

static int recv_count(struct dap_ep *ep, uint32_t *recvs)
{
	(void)ep;
	*recvs = fake.recvs;
	return step();
}

static void ep_total(struct dap_ep *ep, struct dap_ep_counts *counts)
{
	(void)ep;
	(void)counts;
}

static void cq_settle(struct dap_evd *evd)
{
	(void)evd;
}

static void qp_idle(struct dap_ep *ep, bool *recv_idle, bool *request_idle)
{
	(void)ep;
	*recv_idle = !fake.recv_busy;
	*request_idle = true;
}

static bool qp_drain_done(struct dap_ep *ep)
{
	return fake.drain_done ? fake.drain_done(ep) : true;
}

static int qp_destroy(struct dap_ep *ep)
{
	(void)ep;
	fake.live[FAKE_QP]--;
	return 0;
}

/* The hot calls: a posted request completes at once. */

static DAT_RETURN post(struct dap_ep *ep, struct dap_evd *evd, uint64_t cookie, uint32_t flags)
{
	fake.last_post = ep;
	fake.last_flags = flags;
	if (!fake.silent)
		fake_complete_dto(evd, ep, cookie, flags & DAP_COMP_UNSIGNALLED);
	return DAT_SUCCESS;
}

static DAT_RETURN post_send(DAT_EP_HANDLE h, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE c,
			    DAT_COMPLETION_FLAGS flags)
{
	struct dap_ep *ep = h;

	(void)n;
	(void)iov;
	return post(ep, ep->request_evd, c.as_64, flags);
}

static DAT_RETURN post_recv(DAT_EP_HANDLE h, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE c,
			    DAT_COMPLETION_FLAGS flags)
{
	struct dap_ep *ep = h;

	(void)n;
	(void)iov;
	return post(ep, ep->recv_evd, c.as_64, flags);
}

static DAT_RETURN rdma(DAT_EP_HANDLE h, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE c,
		       const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	(void)remote;
	return post_send(h, n, iov, c, flags);
}

static DAT_RETURN rmr_bind(DAT_RMR_HANDLE h, const DAT_LMR_TRIPLET *t, DAT_MEM_PRIV_FLAGS priv,
			   DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE cookie,
			   DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	struct dap_rmr *rmr = h;
	struct dap_ep *ep = dap_obj_get(ep_handle, DAP_EP, rmr->obj.ia);
	struct dap_event ev = {.number = DAP_EV_RMR_BIND,
			       .bind = {.rmr = rmr, .cookie = cookie.as_64, .ep = ep}};

	if (!ep)
		return front_bad_handle(DAP_SUB_HANDLE_EP);
	if (!dap_ep_may_request(ep))
		return front_return(DAP_ERR(DAP_INVALID_STATE,
					    DAP_SUB_STATE_EP + dap_ep_state(ep)));
	fake.last_post = ep;
	fake.last_flags = flags;
	rmr->lmr = dap_lmr_find(rmr->obj.ia, t->lmr_context);
	rmr->addr = t->virtual_address;
	rmr->length = t->segment_length;
	rmr->priv = priv;
	*context = ++rmr->rmr_context;
	fake_complete(ep->request_evd, &ev);
	return DAT_SUCCESS;
}

static DAT_RETURN evd_dequeue(DAT_EVD_HANDLE h, DAT_EVENT *event)
{
	struct dap_evd *evd = h;
	struct dap_event ev;

	if (__atomic_load_n(&evd->slow, __ATOMIC_ACQUIRE))
		return front_dequeue_cold(evd, event);
	if (!cq_poll(evd, &ev))
		return front_dequeue_cold(evd, event);
	front_event(&ev, evd, event);
	return DAT_SUCCESS;
}

static const struct dap_hot hot12 = {
	.post_send = post_send, .post_recv = post_recv, .rdma_read = rdma, .rdma_write = rdma,
	.rmr_bind = rmr_bind, .evd_dequeue = evd_dequeue,
};

static const void *hot(const struct dap_ia *ia, enum dap_api api)
{
	(void)ia;
	return api == DAP_API_12 ? &hot12 : NULL;
}

static int srq_create(struct dap_srq *srq)
{
	int err = made(FAKE_SRQ);

	srq->room = srq->max_recv_dtos;
	return err;
}

static int srq_destroy(struct dap_srq *srq)
{
	(void)srq;
	fake.live[FAKE_SRQ]--;
	return 0;
}

static int srq_count(struct dap_srq *srq, uint32_t *available, uint32_t *outstanding)
{
	(void)srq;
	(void)available;
	(void)outstanding;
	return -EAGAIN;
}

static const struct dap_param no_params[] = { { .key = NULL } };

static const struct dap_hw fake_hw = {
	.name = "fake", .params = no_params, .list = hw_list, .open = hw_open, .close = hw_close, .hot = hot,
	.async_fd = hw_async_fd, .async_handle = hw_async_handle, .pz_create = pz_create,
	.pz_destroy = pz_destroy, .lmr_create = lmr_create, .lmr_destroy = lmr_destroy,
	.rmr_create = rmr_create, .rmr_destroy = rmr_destroy, .cq_create = cq_create,
	.cq_resize = cq_resize, .cq_destroy = cq_destroy, .cq_poll = cq_poll, .cq_arm = cq_arm,
	.cq_fd = cq_fd, .cq_drain_fd = cq_drain_fd, .qp_create = qp_create, .qp_idle = qp_idle,
	.recv_count = recv_count, .ep_total = ep_total,
	.cq_settle = cq_settle,
	.qp_address = qp_address, .qp_connect = qp_ok, .qp_error = qp_ok,
	.qp_drain_done = qp_drain_done, .qp_destroy = qp_destroy, .srq_create = srq_create,
	.srq_destroy = srq_destroy, .srq_count = srq_count,
};

const struct dap_hw *const dap_backends[] = {&fake_hw, NULL};

/* Functions for tests */

void fake_complete(DAT_EVD_HANDLE handle, const struct dap_event *ev)
{
	struct fake_cq *cq = cq_of(handle);
	const uint64_t one = 1;

	pthread_mutex_lock(&cq->lock);
	cq->ring[cq->head++ % RING] = *ev;
	if (cq->armed && !(cq->solicited && (ev->unsignalled || fake.unsolicited))) {
		cq->armed = false;
		cr_assert_eq(write(cq->fd, &one, sizeof(one)), (ssize_t)sizeof(one));
	}
	pthread_mutex_unlock(&cq->lock);
}

void fake_complete_dto(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie, bool unsignalled)
{
	struct dap_event ev = {.number = DAP_EV_DTO, .unsignalled = unsignalled,
			       .dto = {.ep = ep, .cookie = cookie}};

	fake_complete(evd, &ev);
}

static DAT_PROVIDER_INFO info_of(const char *name, bool safe)
{
	DAT_PROVIDER_INFO info = {.dapl_version_major = 1, .dapl_version_minor = 2,
				  .is_thread_safe = safe ? DAT_TRUE : DAT_FALSE};

	strncpy(info.ia_name, name, sizeof(info.ia_name) - 1);
	return info;
}

void fake_params(const char *name, const char *params)
{
	DAT_PROVIDER_INFO info = info_of(name, false);

	dat_provider_init(&info, params);
}

static DAT_IA_HANDLE open_as(const char *name, bool safe)
{
	DAT_PROVIDER_INFO info = info_of(name, safe);
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = NULL;
	DAT_RETURN ret = dat_ia_openv(info.ia_name, 4, &async, &ia, 1, 2, info.is_thread_safe);

	if (DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND) {
		dat_provider_init(&info, "spin_us=0");
		ret = dat_ia_openv(info.ia_name, 4, &async, &ia, 1, 2, info.is_thread_safe);
	}
	cr_assert_eq(ret, DAT_SUCCESS, "dat_ia_openv returned 0x%08x", ret);
	return ia;
}

DAT_IA_HANDLE fake_open(const char *name)
{
	return open_as(name, false);
}

DAT_IA_HANDLE fake_open_safe(const char *name)
{
	return open_as(name, true);
}

bool fake_is_clean(void)
{
	for (int i = 0; i < FAKE_KINDS; i++) {
		if (fake.live[i])
			return false;
	}
	return true;
}

void fake_close(DAT_IA_HANDLE ia)
{
	cr_assert_eq(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	cr_assert(fake_is_clean());
}

void fake_post_se(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};

	cr_assert_eq(dat_evd_post_se(evd, &ev), DAT_SUCCESS);
}

DAT_EVD_HANDLE fake_evd(DAT_IA_HANDLE ia, int qlen, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd = NULL;

	cr_assert_eq(dat_evd_create(ia, qlen, DAT_HANDLE_NULL, flags, &evd), DAT_SUCCESS);
	return evd;
}

DAT_PZ_HANDLE fake_pz(DAT_IA_HANDLE ia)
{
	DAT_PZ_HANDLE pz = NULL;

	cr_assert_eq(dat_pz_create(ia, &pz), DAT_SUCCESS);
	return pz;
}

DAT_EP_HANDLE fake_ep(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE evd)
{
	DAT_EP_HANDLE ep = NULL;

	cr_assert_eq(dat_ep_create(ia, pz, evd, evd, evd, NULL, &ep), DAT_SUCCESS);
	return ep;
}

void fake_open_objects(struct fake_objects *o, DAT_EVD_FLAGS flags)
{
	o->ia = fake_open("fake0");
	o->pz = fake_pz(o->ia);
	o->evd = fake_evd(o->ia, 8, flags);
	o->ep = fake_ep(o->ia, o->pz, o->evd);
}

DAT_LMR_HANDLE fake_lmr(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void *mem, size_t len,
			DAT_MEM_PRIV_FLAGS priv, DAT_LMR_CONTEXT *context)
{
	DAT_REGION_DESCRIPTION region = {.for_va = mem};
	DAT_RMR_CONTEXT rmr_context;
	DAT_LMR_HANDLE lmr = NULL;

	cr_assert_eq(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, len, pz, priv, &lmr, context,
				    &rmr_context, NULL, NULL), DAT_SUCCESS);
	return lmr;
}
