/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of port and device reach the consumer's asynchronous EVD. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hw_mlx5/ctl/vfio.h"
#include "tests/e2e/rig.h"
#include "tests/harness/capture.h"
#include "tests/uverbs/opened.h"
#include "tests/vfio_ctl/vfio_ctl.h"

static struct end a, b;

static void open_both(void)
{
	rig_conf("");
	setenv("DAPL_DBG_TYPE", "0", 1);
	pair_open(&a, &b);
}

static void close_both(void)
{
	end_close(&a);
	end_close(&b);
}

TestSuite(event, .init = open_both, .fini = close_both, .timeout = 60);

static void told(struct end *e, DAT_EVENT_NUMBER number)
{
	DAT_EVENT ev;

	check(TH_WITHIN(SOON_MS, dat_evd_dequeue(e->async, &ev) == DAT_SUCCESS));
	same(ev.event_number, number);
	check(ev.event_data.asynch_error_event_data.dat_handle == e->ia);
}

/* Both IAs use the same device. */
Test(event, port__down_is_reported_to_each_ia_and_up_is_not)
{
	check(!th_front_fault(0, "link_down"));
	told(&a, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	told(&b, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	check(!th_front_fault(0, ""));
	pair_moves(&a, &b);
	rig_empty(a.async);
	rig_empty(b.async);
}

Test(event, completions__wake_a_sleeping_waiter)
{
	rig_sleeps = true;
	for (int i = 0; i < 200; i++)
		pair_moves(&a, &b);
}

/* The device requested pages for which there was no memory. Everything else continues. */
Test(event, pages__that_cannot_be_allocated_are_reported)
{
	calls_fail_named("mlx5dv_vfio_process_events", ENOMEM);
	told(&a, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	calls_stop();
	pair_moves(&a, &b);
}

static uint32_t events_read(struct vf_device *d)
{
	uint32_t ci;

	pthread_mutex_lock(&d->eq_lock);
	ci = d->async.eq.ci;
	pthread_mutex_unlock(&d->eq_lock);
	return ci;
}

/* Many connections can fail, each with an event, before a thread reads the first one. */
Test(events, async_read__of_many_events_loses_none)
{
	enum { FLAPS = 600 };		/* more events than the driver reads before it tells the device */
	struct m5_ctl *ctl = opened(VFIO_IA, "gid=auto");
	struct vf_device *d = vf_of(ctl)->dev;
	uint32_t before = events_read(d);

	pthread_mutex_lock(&d->eq_lock);
	for (int i = 0; i < FLAPS; i++)
		check(!th_front_fault(0, "link_down") && !th_front_fault(0, ""));
	pthread_mutex_unlock(&d->eq_lock);
	check(TH_WITHIN(SOON_MS, events_read(d) - before >= 2 * FLAPS));
	ctl->ops->close(ctl);
}

/*
 * Returns when the second queue, that of asynchronous events, has an event of the link. On a slow machine the
 * link may be up before this queue is there, so it changes once more.
 */
static void link_comes_up(const struct mlx5dv_devx_eq *eq)
{
	static const struct mlx5dv_devx_eq *first;
	const volatile struct m5_eqe *ring = eq->vaddr;

	if (first) {
		check(!th_front_fault(0, "link_down") && !th_front_fault(0, ""));
		check(TH_WITHIN(SOON_MS, ring->type == M5_EV_PORT_CHANGE));
	}
	first = eq;
}

/*
 * PRM, QUERY_EQ: has the driver told the device that it has read all events? A queue of libmlx5 shares the
 * doorbell page, which the model scans, so the model may miss the doorbell. Thus the driver rings it again.
 */
static bool all_read(struct m5_ctl *ctl)
{
	enum { QUERY_EQ = 0x303, CONSUMER = 0x38, PRODUCER = 0x3c };
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(QUERY_EQ),
				.number = cpu_to_be32(vf_of(ctl)->dev->async.eq.eqn) };
	uint8_t out[272] = { 0 };

	check(!eventfd_write(vf_of(ctl)->dev->msi->fd, 1));
	check(!m5_cmd(ctl, &in, sizeof(in), out, sizeof(out)));
	check(out[PRODUCER + 3]);
	return !memcmp(out + CONSUMER, out + PRODUCER, 4);
}

/* An armed queue with an event that is not read raises an interrupt at once, and again and again. */
Test(events, open__event_before_the_ring_is_prepared_raises_one_interrupt)
{
	struct m5_ctl *ctl;

	vfio_eq_made = link_comes_up;
	ctl = opened(VFIO_IA, "gid=auto");
	vfio_eq_made = NULL;
	check(TH_WITHIN(SOON_MS, all_read(ctl)));
	ctl->ops->close(ctl);
}

/* The driver reads each of n changes of the link, and nothing else. The model may miss a doorbell that arms
 * the queue (all_read), so the interrupt comes from here. */
static void link_changes(struct vf_device *d, uint32_t n)
{
	uint32_t before = events_read(d);
	static bool down;

	for (uint32_t i = 0; i < n; i++) {
		down = !down;
		check(!th_front_fault(0, down ? "link_down" : ""));
	}
	check(TH_WITHIN(SOON_MS, (eventfd_write(d->msi->fd, 1), events_read(d) - before >= n)));
	same(events_read(d) - before, n);
}

/* PRM, "Event Queue Entry": the owner bit alternates with each lap of the ring. If the entry of the early
 * event has the wrong one, the driver reads it once more, and loses a later event. */
Test(events, async_read__a_lap_after_an_event_before_the_ring_is_prepared_reads_each_event_once)
{
	enum { LAP = 4096 };
	struct vf_device *d;
	struct m5_ctl *ctl;

	vfio_eq_made = link_comes_up;
	ctl = opened(VFIO_IA, "gid=auto");
	vfio_eq_made = NULL;
	check(TH_WITHIN(SOON_MS, all_read(ctl)));
	d = vf_of(ctl)->dev;
	check(events_read(d) && events_read(d) < LAP / 4);
	for (uint32_t quarter = 1; quarter <= 8; quarter++)
		link_changes(d, quarter * LAP / 4 - events_read(d));
	ctl->ops->close(ctl);
}

/* dup3(2): EBUSY, while another thread opens a file. */
Test(events, open__without_libmlx5s_events_leaves_no_descriptor)
{
	struct m5_ctl *ctl = opened(VFIO_IA, "gid=auto");
	struct th_usage before, after;
	char why[160] = "";

	ctl->ops->close(ctl);
	th_usage(&before);
	calls_fail_named("dup3", EBUSY);
	same(m5_ctl_open(VFIO_IA, "gid=auto", &ctl, why, sizeof(why)), -EBUSY);
	calls_stop();
	th_usage(&after);
	same(after.fds, before.fds);
}

static bool alloc_pd(struct m5_ctl *ctl)
{
	uint32_t pdn;
	void *priv;

	return !ctl->ops->pd_alloc(ctl, &pdn, &priv);
}

static bool starved(struct m5_ctl *ctl)
{
	struct m5_event ev;

	return ctl->ops->async_read(ctl, &ev) == 1 && ev.kind == M5_EVENT_STARVED;
}

/*
 * Each 32 objects need a page, and libmlx5 pins 512 pages at a time. When the device requests the 513th,
 * there is no memory. The command that waits meanwhile was executed, so it must succeed.
 */
Test(events, command__that_waits_while_pages_cannot_be_pinned_succeeds)
{
	enum { PDS_BEFORE = 14800, PDS_MOST = 15000 };
	struct rlimit limit;
	struct m5_ctl *ctl;
	int n = 0;

	check(!getrlimit(RLIMIT_MEMLOCK, &limit));
	limit.rlim_cur = limit.rlim_max < 64 << 20 ? limit.rlim_max : 64 << 20;
	check(!setrlimit(RLIMIT_MEMLOCK, &limit));
	ctl = opened(VFIO_IA, "gid=auto");
	while (n++ < PDS_BEFORE)
		check(alloc_pd(ctl));
	calls_fail_named("VFIO_IOMMU_MAP_DMA", ENOMEM);
	capture_begin(STDERR_FILENO);
	vfio_late(20);
	while (!calls_failed() && n++ < PDS_MOST)
		check(alloc_pd(ctl));
	vfio_late(0);
	check(calls_failed());
	check(TH_WITHIN(SOON_MS, starved(ctl)));
	check(strstr(capture_end(), "ulimit -l"));
	calls_stop();
	check(alloc_pd(ctl));
	ctl->ops->close(ctl);
}

static void died(void)
{
	DAT_EVD_HANDLE evd;

	told(&a, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	told(&b, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	took_ends(&a, &b, DAT_CONNECTION_EVENT_BROKEN);
	/* A dead device gets no commands, because each would wait for ever. */
	check(dat_evd_create(a.ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd) != DAT_SUCCESS);
}

Test(event, device__failure_ends_both_ias)
{
	check(!th_front_fault(0, "fatal"));
	died();
}
