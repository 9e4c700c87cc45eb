/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Events. We create two event queues on the device, one for completions and one for all other
 * events, with one interrupt that is an eventfd. A thread sleeps on it, and on libmlx5's own
 * eventfd, by which the device requests pages and completes commands.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/barrier.h"
#include "core/dap.h"
#include "core/thread.h"
#include "hw_common/memory.h"
#include "hw_mlx5/ctl/vfio.h"

/* Each QP of an SRQ that fails causes an asynchronous event, and thousands can fail at once. Linux gives its
 * queue 4096 entries too (MLX5_NUM_ASYNC_EQE). */
enum { COMPLETIONS_LOG_LEAST = 11, COMPLETIONS_LOG_MOST = 15, ASYNC_LOG = 12 };

/* Reports the event to all IAs of the device. */
static void post_to_ias(struct vf_device *d, const struct m5_event *ev)
{
	pthread_mutex_lock(&d->lock);
	for (struct m5_ctl_vfio *v = d->ias; v; v = v->next)
		m5_events_put(&v->events, ev);
	pthread_mutex_unlock(&d->lock);
}

static void ring_eq(const struct vf_device *d, const struct vf_eq *eq, unsigned int offset)
{
	volatile be32_t *reg = (volatile be32_t *)(volatile void *)((uint8_t *)d->uar->base_addr + offset);

	dap_mb_cqe_before_ci();
	*reg = m5_eq_doorbell(&eq->eq);
}

static void eq_serve(struct vf_device *d, struct vf_eq *eq)
{
	while (m5_eq_read(&eq->eq, &d->events))
		ring_eq(d, eq, M5_UAR_EQ_CI);
	ring_eq(d, eq, M5_UAR_EQ_ARM);
}

/* The queues are armed after they are read, so later events raise another interrupt. */
static void read_eqs(struct vf_device *d)
{
	struct m5_event ev;

	pthread_mutex_lock(&d->eq_lock);
	if (d->eqs) {
		eq_serve(d, &d->completions);
		eq_serve(d, &d->async);
	}
	while (m5_events_read(&d->events, &ev) > 0)
		post_to_ias(d, &ev);
	pthread_mutex_unlock(&d->eq_lock);
}

static void handle_interrupt(struct vf_device *d)
{
	uint64_t n;

	(void)!read(d->msi->fd, &n, sizeof(n));
	read_eqs(d);
}

/* The device has written all events of the object before it answered the command. */
void vf_events_forget(struct vf_device *d, uint16_t create, uint32_t number)
{
	read_eqs(d);
	pthread_mutex_lock(&d->lock);
	for (struct m5_ctl_vfio *v = d->ias; v; v = v->next)
		m5_events_forget(&v->events, create, number);
	pthread_mutex_unlock(&d->lock);
}

/*
 * A thread that waits for a command sleeps in poll() on libmlx5's event descriptor. Replaces the
 * descriptor by a directory and wakes the thread: its read fails, which ends the command with an
 * error.
 */
static void release_commands(struct vf_device *d)
{
	int fd = mlx5dv_vfio_get_events_fd(d->ctx);
	int events = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	uint64_t one = 1;

	if (events < 0)
		return;
	dup3(d->dead_fd, fd, O_CLOEXEC);
	(void)!write(events, &one, sizeof(one));
	close(events);
}

static void died(struct vf_device *d, const char *why)
{
	const struct m5_event ev = { .kind = M5_EVENT_FATAL, .type = M5_EV_INTERNAL_ERROR };

	dap_log(DAP_LOG_ERR, "%s no longer responds: %s. It can be opened again after this process has "
		"ended and the device has been reset: scripts/vfio unbind %s, then bind", d->pci, why,
		d->pci);
	__atomic_store_n(&d->watch.dead, true, __ATOMIC_SEQ_CST);
	release_commands(d);
	post_to_ias(d, &ev);
}

/* The device requested pages and did not get them: its firmware may wait for them forever. */
static void events_failed(struct vf_device *d, int err)
{
	const struct m5_event ev = { .kind = M5_EVENT_STARVED };
	char why[160];

	hw_why_memory(-err, why, sizeof(why));
	dap_log(DAP_LOG_ERR, "cannot give %s the memory that it requests: %s", d->pci, why);
	post_to_ias(d, &ev);
}

/*
 * A thread that waits for a command would handle libmlx5's events, too. If one of them is a request for
 * pages and there is no memory, libmlx5 ends that thread's wait, although the device still executes the
 * command. Therefore such a thread gets a descriptor that is never readable. Only the thread of this file
 * handles the events, and libmlx5 then wakes the other one by a descriptor of the command.
 */
static int take_events(struct vf_device *d)
{
	int fd = mlx5dv_vfio_get_events_fd(d->ctx), err;
	int never = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (never < 0)
		return hw_errno();
	d->events_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	err = d->events_fd < 0 || dup3(never, fd, O_CLOEXEC) < 0 ? hw_errno() : 0;
	if (err && d->events_fd >= 0)
		close(d->events_fd);
	close(never);
	return err;
}

/* libmlx5 returns an errno, or -1 with errno set. */
static void handle_events(struct vf_device *d)
{
	uint64_t n;
	int err;

	(void)!read(d->events_fd, &n, sizeof(n));
	err = mlx5dv_vfio_process_events(d->ctx);
	if (err)
		events_failed(d, err < 0 ? errno : err);
}

static void *serve(void *arg)
{
	struct vf_device *d = arg;
	struct pollfd fds[] = {
		{ .fd = d->stop_fd, .events = POLLIN },
		{ .fd = d->msi->fd, .events = POLLIN },
		{ .fd = d->events_fd, .events = POLLIN },
	};
	uint32_t cpu = DAP_ANY_CPU;
	const char *why;

	for (;;) {
		dap_thread_follow(&cpu);
		if (poll(fds, 3, VF_HEALTH_MS) < 0)
			continue;
		if (fds[0].revents)
			return NULL;
		if (fds[1].revents)
			handle_interrupt(d);
		why = vf_health(d);
		if (why)
			break;
		handle_events(d);
	}
	died(d, why);
	return NULL;
}

int vf_serve_start(struct vf_device *d)
{
	int err;

	d->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (d->stop_fd < 0)
		return hw_errno();
	d->dead_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->dead_fd < 0) {
		err = hw_errno();
		goto err_stop;
	}
	err = m5_events_open(&d->events);
	if (err)
		goto err_dead;
	err = take_events(d);
	if (err)
		goto err_events;
	err = -dap_thread_start(&d->thread, "dapl-vfio", serve, d);
	if (!err)
		return 0;
	close(d->events_fd);
err_events:
	m5_events_close(&d->events);
err_dead:
	close(d->dead_fd);
err_stop:
	close(d->stop_fd);
	return err;
}

void vf_serve_stop(struct vf_device *d)
{
	uint64_t one = 1;

	(void)!write(d->stop_fd, &one, sizeof(one));
	pthread_join(d->thread, NULL);
	close(d->events_fd);
	m5_events_close(&d->events);
	close(d->dead_fd);
	close(d->stop_fd);
}

/*
 * libmlx5 fills in the address of the ring, whose memory is not cleared, so the ring is prepared when the
 * device has it. An event before that can only be one of the port, whose link trains. It is lost, but the
 * port's state is read later. The consumer index must pass the event, or each arm raises an interrupt.
 */
static int prepare_ring(struct m5_ctl *ctl, struct m5_eq *eq)
{
	const struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(M5_CMD_QUERY_EQ),
				      .number = cpu_to_be32(eq->eqn) };
	struct m5_query_eq_out out = { 0 };
	int err;

	m5_eq_init(eq);
	err = m5_cmd(ctl, &in, sizeof(in), &out, sizeof(out));
	if (!err)
		m5_eq_skip(eq, be32_to_cpu(out.producer) & 0xffffff);
	return err;
}

/*
 * libmlx5 does not free the ring (at least up to release 64): its pages are released here, when
 * they are no longer read; the address range stays.
 */
static void eq_destroy(struct m5_ctl_vfio *v, struct vf_eq *eq)
{
	struct dv_call call;
	int err;

	madvise(eq->eq.ring, sizeof(struct m5_eqe) << eq->eq.log, MADV_DONTNEED);
	if (dv_begin(&v->dv.ctl, &call))
		return;
	err = mlx5dv_devx_destroy_eq(eq->devx);
	if (err)
		dap_log(DAP_LOG_ERR, "%s: cannot destroy an event queue: %s; it stays until the device is "
			"closed", v->dev->pci, strerror(abs(err)));
	dv_end(&call);
}

static int eq_create(struct m5_ctl_vfio *v, struct vf_eq *eq, unsigned int log, uint64_t events)
{
	const struct vf_device *d = v->dev;
	struct m5_create_eq_in in = {
		.hdr.opcode = cpu_to_be16(M5_CMD_CREATE_EQ),
		.size_uar = cpu_to_be32(log << 24 | d->uar->page_id),
		.intr = cpu_to_be32((uint32_t)d->msi->vector),
		.event_bitmask[0] = cpu_to_be64(events),
	};
	struct m5_obj_out out = { 0 };
	struct dv_call call;
	int err = dv_begin(&v->dv.ctl, &call);

	if (err)
		return err;
	eq->devx = mlx5dv_devx_create_eq(d->ctx, &in, sizeof(in), &out, sizeof(out));
	if (!eq->devx)
		err = m5_cmd_error(&v->dv.ctl, out.hdr.status ? -EREMOTEIO : hw_errno(), &in, &out);
	dv_end(&call);
	if (err)
		return err;
	eq->eq = (struct m5_eq){ .ring = eq->devx->vaddr, .log = log,
				 .eqn = be32_to_cpu(out.number) & 0xff };
	err = prepare_ring(&v->dv.ctl, &eq->eq);
	if (err)
		eq_destroy(v, eq);
	return err;
}

/*
 * An armed CQ has a descriptor, and at most one unread event. All of them can have one before the thread
 * runs, and the device learns only a quarter of the ring later which entries have been read.
 */
static unsigned int completions_log(void)
{
	unsigned int log = COMPLETIONS_LOG_LEAST;
	struct rlimit limit = { 0 };

	getrlimit(RLIMIT_NOFILE, &limit);
	while (log < COMPLETIONS_LOG_MOST && (rlim_t)1 << log < limit.rlim_cur / 3 * 4)
		log++;
	return log;
}

static void eqs_readable(struct vf_device *d, bool on)
{
	pthread_mutex_lock(&d->eq_lock);
	d->eqs = on;
	pthread_mutex_unlock(&d->eq_lock);
}

int vf_eqs_create(struct m5_ctl_vfio *v)
{
	struct vf_device *d = v->dev;
	uint64_t one = 1;
	int err = eq_create(v, &d->completions, completions_log(), 0);

	if (err)
		return err;
	err = eq_create(v, &d->async, ASYNC_LOG, M5_EVENTS_OF_OBJECTS);
	if (err) {
		eq_destroy(v, &d->completions);
		return err;
	}
	eqs_readable(d, true);
	/* The thread handles this write like an interrupt, and arms both queues. */
	(void)!write(d->msi->fd, &one, sizeof(one));
	return 0;
}

void vf_eqs_destroy(struct m5_ctl_vfio *v)
{
	eqs_readable(v->dev, false);
	eq_destroy(v, &v->dev->async);
	eq_destroy(v, &v->dev->completions);
}
