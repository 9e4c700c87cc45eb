/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects of each type, and changes of their attributes. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/shortage/shortage.h"

TestSuite(shortage, .timeout = 120);

static void *shared;		/* MEM bytes that other processes could share */
static char cookie[DAT_LMR_COOKIE_SIZE] = "shortage";

static void open_all(void)
{
	int fd = memfd_create("shortage", MFD_CLOEXEC);
	pid_t pid = getpid();

	cr_assert_eq(ftruncate(fd, MEM), 0);
	shared = mmap(NULL, MEM, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(shared, MAP_FAILED);
	close(fd);
	memcpy(cookie + 20, &pid, sizeof(pid));
	bench_open();
}

static bool make_lmr(DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, DAT_PZ_HANDLE pz)
{
	DAT_LMR_HANDLE *out = keep();

	return MAKE(dat_lmr_create(b.ia, type, region, MEM, pz, DAT_MEM_PRIV_ALL_FLAG, out, NULL, NULL,
				   NULL, NULL));
}

static bool make_evd(DAT_COUNT qlen, DAT_CNO_HANDLE cno, int flags, DAT_EVD_HANDLE *evd)
{
	DAT_EVD_HANDLE *out = keep();

	if (!MAKE(dat_evd_create(b.ia, qlen, cno, (DAT_EVD_FLAGS)flags, out)))
		return false;
	*evd = *out;
	return true;
}

static bool make_memory(DAT_PZ_HANDLE pz)
{
	const DAT_REGION_DESCRIPTION virtual = { .for_va = b.mem };
	const DAT_REGION_DESCRIPTION base = { .for_lmr_handle = b.lmr };
	const DAT_REGION_DESCRIPTION other = {
		.for_shared_memory = { .virtual_address = shared, .shared_memory_id = &cookie } };
	DAT_RMR_HANDLE *rmr;

	if (!make_lmr(DAT_MEM_TYPE_VIRTUAL, virtual, pz) || !make_lmr(DAT_MEM_TYPE_LMR, base, b.pz) ||
	    !make_lmr(DAT_MEM_TYPE_SHARED_VIRTUAL, other, pz) ||
	    !make_lmr(DAT_MEM_TYPE_SHARED_VIRTUAL, other, pz))
		return false;
	rmr = keep();
	return MAKE(dat_rmr_create(pz, rmr));
}

static bool make_endpoints(DAT_PZ_HANDLE pz, DAT_EVD_HANDLE evd)
{
	DAT_SRQ_ATTR srq_attr = { 8, 1, 2 };
	DAT_EP_ATTR attr = small();
	DAT_HANDLE *ep = keep(), *srq;
	DAT_SRQ_HANDLE at;

	if (!MAKE(dat_ep_create(b.ia, pz, NULL, evd, b.conn_evd, &attr, ep)))
		return false;
	if (!b.has_srq)
		return true;
	srq = keep();
	if (!MAKE(dat_srq_create(b.ia, pz, &srq_attr, srq)))
		return false;
	at = *srq;
	ep = keep();
	return MAKE(dat_ep_create_with_srq(b.ia, pz, evd, evd, b.conn_evd, at, &attr, ep));
}

static bool make_service_points(DAT_PZ_HANDLE pz, DAT_EVD_HANDLE evd)
{
	DAT_EP_ATTR attr = small();
	DAT_HANDLE *ep = keep(), *sp;
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE mine;

	if (!MAKE(dat_ep_create(b.ia, pz, evd, evd, b.conn_evd, &attr, ep)))
		return false;
	mine = *ep;
	sp = keep();
	if (!MAKE(dat_psp_create_any(b.ia, &qual, b.cr_evd, DAT_PSP_CONSUMER_FLAG, sp)))
		return false;
	sp = keep();
	return MAKE(dat_rsp_create(b.ia, b.qual, mine, b.cr_evd, sp));
}

static bool make_everything(void)
{
	DAT_HANDLE *pz = keep(), *cno;
	DAT_EVD_HANDLE evd, soft;
	DAT_PZ_HANDLE in;
	DAT_CNO_HANDLE told;

	if (!MAKE(dat_pz_create(b.ia, pz)))
		return false;
	in = *pz;
	cno = keep();
	if (!MAKE(dat_cno_create(b.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, cno)))
		return false;
	told = *cno;
	return make_evd(16, told, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &evd) &&
	       make_evd(16, told, DAT_EVD_SOFTWARE_FLAG, &soft) && make_memory(in) &&
	       make_endpoints(in, evd) && make_service_points(in, evd);
}

Test(shortage, create__each_shortage_is_reported_and_leaks_nothing)
{
	open_all();
	each_failure(make_everything);
	bench_close();
}

/* ---- Changes ---- */

static void called(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)evd;
	__atomic_fetch_add((int *)data, 1, __ATOMIC_RELAXED);
}

/* Moves an EVD between CNOs with an agent and CNOs without. */
static bool change_cnos(void)
{
	static int calls;
	DAT_OS_WAIT_PROXY_AGENT agent = { &calls, called };
	DAT_HANDLE *one = keep(), *two;
	DAT_CNO_HANDLE a, c;
	DAT_EVD_HANDLE evd;

	if (!MAKE(dat_cno_create(b.ia, agent, one)))
		return false;
	a = *one;
	two = keep();
	if (!MAKE(dat_cno_create(b.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, two)))
		return false;
	c = *two;
	return make_evd(16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd) &&
	       STEP(dat_evd_modify_cno(evd, a)) && STEP(dat_evd_modify_cno(evd, c)) &&
	       STEP(dat_cno_modify_agent(c, agent)) &&
	       STEP(dat_cno_modify_agent(a, DAT_OS_WAIT_PROXY_AGENT_NULL)) &&
	       STEP(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
}

Test(shortage, cno_modify__each_shortage_is_reported_and_leaks_nothing)
{
	open_all();
	each_failure(change_cnos);
	bench_close();
}

/* Queued events are still there afterwards, whether the queue has grown or not. */
static bool resize_evd(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev = { .event_number = DAT_SOFTWARE_EVENT };
	bool done;

	for (uintptr_t i = 1; i <= 3; i++) {
		ev.event_data.software_event_data.pointer = (DAT_PVOID)i;
		STEP(dat_evd_post_se(evd, &ev));
	}
	done = STEP(dat_evd_resize(evd, 200)) && STEP(dat_evd_resize(evd, 3000));
	for (uintptr_t i = 1; i <= 3; i++) {
		if (!next(evd, &ev) || ev.event_data.software_event_data.pointer != (DAT_PVOID)i)
			odd("a resize lost an event");
	}
	return done;
}

/* Returns the number of outstanding receives, or that it is unknown because the device does not
 * report it. */
static DAT_COUNT outstanding(DAT_SRQ_HANDLE srq)
{
	DAT_SRQ_PARAM p = { .max_recv_dtos = 0 };

	STEP(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &p));
	return p.outstanding_dto_count;
}

static bool resize_srq(DAT_SRQ_HANDLE srq)
{
	DAT_DTO_COOKIE cookie_ = { .as_64 = 1 };
	DAT_LMR_TRIPLET t = piece(0, 64);
	DAT_COUNT left;
	bool done;

	if (!STEP(dat_srq_post_recv(srq, 1, &t, cookie_)) || !STEP(dat_srq_post_recv(srq, 1, &t, cookie_)))
		return false;
	done = STEP(dat_srq_resize(srq, 16)) && STEP(dat_srq_resize(srq, 4));
	left = outstanding(srq);
	if (left != 2 && left != DAT_VALUE_UNKNOWN)
		odd("a resize lost a buffer");
	return done;
}

/* The SRQ has two receives, so that the watermark is not reached. */
static bool change_watermark(DAT_SRQ_HANDLE srq)
{
	bool done = STEP(dat_srq_set_lw(srq, 1));
	DAT_SRQ_PARAM p = { .low_watermark = 77 };

	STEP(dat_srq_query(srq, DAT_SRQ_FIELD_LOW_WATERMARK, &p));
	if (p.low_watermark != done)
		odd("a refused change of the watermark took effect, or a successful one did not");
	return done;
}

static bool change_queues(void)
{
	DAT_SRQ_ATTR attr = { 8, 1, DAT_SRQ_LW_DEFAULT };
	DAT_EVD_HANDLE mixed, soft;
	DAT_HANDLE *srq;

	if (!make_evd(8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &soft) || !resize_evd(soft) ||
	    !make_evd(8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG, &mixed) ||
	    !resize_evd(mixed))
		return false;
	if (!b.has_srq)
		return true;
	srq = keep();
	return MAKE(dat_srq_create(b.ia, b.pz, &attr, srq)) && resize_srq(*srq) && change_watermark(*srq);
}

Test(shortage, resize__each_shortage_is_reported_and_leaks_nothing)
{
	open_all();
	each_failure(change_queues);
	bench_close();
}

/* Modifies attributes that require a new queue pair. If it cannot be created, the endpoint stays as
 * before. */
static bool modify_ep(void)
{
	DAT_EP_ATTR attr = small();
	DAT_HANDLE *out = keep();
	DAT_EP_PARAM before, p;
	DAT_LMR_TRIPLET t = piece(0, 64);
	DAT_DTO_COOKIE c = { .as_64 = 1 };
	DAT_EP_HANDLE ep;
	bool done;

	if (!MAKE(dat_ep_create(b.ia, b.pz, b.dto_evd, b.dto_evd, b.conn_evd, &attr, out)))
		return false;
	ep = *out;
	STEP(dat_ep_query(ep, DAT_EP_FIELD_ALL, &before));
	p = before;
	p.ep_attr.max_recv_dtos = 64;
	p.ep_attr.max_request_dtos = 64;
	done = STEP(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
				  DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &p));
	STEP(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	if (!done && p.ep_attr.max_recv_dtos != before.ep_attr.max_recv_dtos)
		odd("a refused change took effect");
	/* If neither the new queue pair nor the old one can be created, the endpoint has none. */
	done &= STEP(dat_ep_post_recv(ep, 1, &t, c, DAT_COMPLETION_DEFAULT_FLAG));
	return STEP(dat_ep_reset(ep)) && done;
}

Test(shortage, ep_modify__each_shortage_is_reported_and_leaks_nothing)
{
	open_all();
	each_failure(modify_ep);
	bench_close();
}

/* The first wait on an EVD or a CNO needs a descriptor, and memory in which to set completions
 * aside. */
static bool wait_for_events(void)
{
	DAT_EVD_HANDLE evd, told;
	DAT_CNO_HANDLE cno_;
	DAT_HANDLE *cno;
	DAT_COUNT more;
	DAT_RETURN ret;
	DAT_EVENT ev;

	if (!make_evd(8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd))
		return false;
	ret = dat_evd_wait(evd, 1000, 1, &ev, &more);
	if (DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED)
		return step(ret, "dat_evd_wait(");
	cno = keep();
	if (!MAKE(dat_cno_create(b.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, cno)))
		return false;
	cno_ = *cno;
	if (!STEP(dat_evd_modify_cno(evd, cno_)))
		return false;
	ret = dat_cno_wait(cno_, 1000, &told);
	if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY)
		return step(ret, "dat_cno_wait(");
	return STEP(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
}

Test(shortage, wait__each_shortage_is_reported_and_leaks_nothing)
{
	open_all();
	each_failure(wait_for_events);
	bench_close();
}
