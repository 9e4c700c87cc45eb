/* SPDX-License-Identifier: BSD-2-Clause */
/* The devices of this process: opened by the first open() of their file, closed at exit. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "softnic/clock.h"
#include "softnic/uverbs/front.h"

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
/* Each entry is set once. In a forked child the copies are detached, and moved behind the live
 * devices. */
static struct uv_device *_Atomic live[PRE_DEVICES];
static struct uv_device *_Atomic lost;
static atomic_uint any_device;

/* A child has neither the threads nor the locks of its parent's device, so it must not use that
 * device. */
static void forked(void)
{
	for (unsigned int i = 0; i < PRE_DEVICES; i++) {
		struct uv_device *dev = live[i];

		if (!dev)
			continue;
		dev->owner = 0;
		dev->lost = lost;
		lost = dev;
		live[i] = NULL;
	}
	pthread_mutex_unlock(&registry);
}

static void before_fork(void)
{
	pthread_mutex_lock(&registry);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&registry);
}

static int know_bar(struct uv_device *dev)
{
	struct stat st;

	if (dev->bar_fd < 0 || pre_real()->fstat(dev->bar_fd, &st))
		return -EBADF;
	dev->bar_dev = st.st_dev;
	dev->bar_ino = st.st_ino;
	return 0;
}

static int device_new(unsigned int index, const struct uv_kind *kind, struct uv_device **out)
{
	struct uv_device *dev = calloc(1, sizeof(*dev));
	const char *script = getenv("SOFTNIC_FAULT");
	int err;

	if (!dev)
		return -ENOMEM;
	pthread_mutex_init(&dev->lock, NULL);
	pthread_mutex_init(&dev->ev_lock, NULL);
	dev->index = index;
	dev->owner = getpid();
	dev->kind = kind;
	dev->left.dev = dev;
	err = kind->open(dev);
	if (err)
		goto free_dev;
	err = know_bar(dev);
	if (!err && script)
		err = kind->fault(dev, script);
	if (err)
		goto close_nic;
	*out = dev;
	return 0;

close_nic:
	kind->close(dev);
free_dev:
	free(dev);
	return err;
}

static int forks_error;

static void watch_forks(void)
{
	forks_error = pre_open_model_once();
	if (!forks_error)
		forks_error = -pthread_atfork(before_fork, after_fork, forked);
}

static int device_get(unsigned int index, const struct uv_kind *kind, struct uv_device **out)
{
	static pthread_once_t watched = PTHREAD_ONCE_INIT;
	struct uv_device *dev;
	int err = 0;

	/* Register the fork handlers before the first lock: another thread may fork at any moment. */
	pthread_once(&watched, watch_forks);
	pthread_mutex_lock(&registry);
	dev = live[index];
	if (!dev) {
		err = forks_error;
		if (!err)
			err = device_new(index, kind, &dev);
		if (err) {
			fprintf(stderr, "softnic: cannot start software adapter %u: %s\n",
				index, strerror(-err));
		} else {
			live[index] = dev;
			atomic_store(&any_device, 1);
		}
	}
	pthread_mutex_unlock(&registry);
	*out = dev;
	return err;
}

static bool is_bar(const struct uv_device *dev, const struct stat *st)
{
	return dev->bar_ino == st->st_ino && dev->bar_dev == st->st_dev;
}

static bool is_of(const void *arg, int fd)
{
	const struct uv_ctx *ctx = arg;
	struct stat st;

	return !pre_real()->fstat(fd, &st) && is_bar(ctx->dev, &st) &&
		lseek(fd, 0, SEEK_CUR) == (off_t)ctx->id;
}

/* Looks for another descriptor of the context than fd, and uses it as the context's descriptor. */
static bool has_other(struct uv_ctx *ctx, int fd)
{
	int other = pre_other_fd(fd, is_of, ctx);

	if (other >= 0)
		ctx->fd = other;
	return other >= 0;
}

bool uv_ctx_ends_with(struct uv_ctx *ctx, int fd)
{
	return ctx->fd == fd && !has_other(ctx, fd);
}

/* Frees contexts whose last close() did not go through this front. */
static void sweep_contexts(struct uv_device *dev)
{
	struct uv_ctx *ctx = LIST_FIRST(&dev->ctxs);

	while (ctx) {
		struct uv_ctx *next = LIST_NEXT(ctx, link);

		if (!is_of(ctx, ctx->fd) && !has_other(ctx, -1))
			uv_ctx_close(ctx);
		ctx = next;
	}
}

/*
 * Each open() gets its own open file on the BAR's memory. Its offset has no other use, so it holds the
 * context's id: all duplicates of a descriptor share it.
 */
static int open_file(const struct uv_device *dev, uint64_t id)
{
	char path[40];
	int fd, err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dev->bar_fd);
	fd = pre_real()->open(path, O_RDWR | O_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (lseek(fd, (off_t)id, SEEK_SET) == (off_t)id)
		return fd;
	err = -errno;
	pre_real()->close(fd);
	return err;
}

int uv_open_device(unsigned int index, const struct uv_kind *kind)
{
	static atomic_ulong last_id;
	struct uv_device *dev;
	struct uv_ctx *ctx;
	int err = device_get(index, kind, &dev);
	int fd;

	if (err)
		return err;
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return -ENOMEM;
	ctx->id = atomic_fetch_add(&last_id, 1) + 1;
	fd = open_file(dev, ctx->id);
	if (fd < 0) {
		free(ctx);
		return fd;
	}
	pthread_mutex_lock(&dev->lock);
	sweep_contexts(dev);
	ctx->dev = dev;
	ctx->fd = fd;
	LIST_INSERT_HEAD(&dev->ctxs, ctx, link);
	pthread_mutex_unlock(&dev->lock);
	return fd;
}

bool uv_any_device(void)
{
	return atomic_load_explicit(&any_device, memory_order_relaxed);
}

struct uv_device *uv_device_of(const struct stat *st)
{
	if (!uv_any_device())
		return NULL;
	for (unsigned int i = 0; i < PRE_DEVICES; i++) {
		struct uv_device *dev = live[i];

		if (dev && is_bar(dev, st))
			return dev;
	}
	for (struct uv_device *dev = lost; dev; dev = dev->lost)
		if (is_bar(dev, st))
			return dev;
	return NULL;
}

void uv_closed(const struct stat *st)
{
	for (unsigned int i = 0; i < PRE_DEVICES; i++) {
		if (!live[i] || uv_detached(live[i]))
			continue;
		uv_devx_closed(live[i], st);
		pthread_mutex_lock(&live[i]->ev_lock);
		uv_chan_reap(live[i]);
		pthread_mutex_unlock(&live[i]->ev_lock);
	}
}

int uv_before_read(const struct stat *st, size_t *n)
{
	int err = 0;

	for (unsigned int i = 0; i < PRE_DEVICES && !err; i++)
		if (live[i])
			err = uv_devx_read(live[i], st, n);
	return err;
}

struct uv_ctx *uv_ctx_of(struct uv_device *dev, int fd)
{
	off_t id = lseek(fd, 0, SEEK_CUR);
	struct uv_ctx *ctx;

	LIST_FOREACH(ctx, &dev->ctxs, link)
		if ((off_t)ctx->id == id)
			return ctx;
	return NULL;
}

void uv_ctx_close(struct uv_ctx *ctx)
{
	uv_obj_purge(ctx);
	uv_devx_leave(ctx);
	uv_destroy_uctx(ctx);
	pthread_mutex_lock(&ctx->dev->ev_lock);
	if (ctx->async)
		uv_chan_put(ctx->async);
	/* The program may have closed a channel while an object of the context used it. */
	uv_chan_reap(ctx->dev);
	pthread_mutex_unlock(&ctx->dev->ev_lock);
	LIST_REMOVE(ctx, link);
	free(ctx);
}

static bool pump_all(void)
{
	bool any = false;

	for (unsigned int i = 0; i < PRE_DEVICES; i++) {
		struct uv_device *dev = atomic_load_explicit(&live[i], memory_order_acquire);

		if (dev)
			any |= dev->kind->pump(dev);
	}
	return any;
}

/*
 * Gives up the core, because a polling program keeps it although its peer or the peer's device may need
 * it. On hardware the NIC would run in parallel; here it needs a share of the core. If all cores are
 * busy, a yield lasts for other threads' time slices, milliseconds, but a short sleep returns at once.
 * So this sleeps in that case.
 */
static void yield_core(void)
{
	enum { CROWDED_NS = 100000, CROWDED_TIMES = 256, NAP_US = 10 };
	static _Thread_local unsigned int crowded;
	uint64_t before;

	if (crowded) {
		crowded--;
		sn_sleep_us(NAP_US);
		return;
	}
	before = sn_now();
	sched_yield();
	if (sn_now() - before > CROWDED_NS)
		crowded = CROWDED_TIMES;
}

static _Thread_local bool pumping;	/* this thread is in uv_pump() */

void uv_pump(void)
{
	enum { PATIENCE = 256, SHARE = 16 };
	static _Thread_local unsigned int idle;

	if (!uv_any_device() || pumping)
		return;
	pumping = true;
	idle = pump_all() ? 0 : idle + 1;
	if (idle > PATIENCE && idle % SHARE == 0)
		yield_core();
	pumping = false;
}

int softnic_front_fault(unsigned int index, const char *script)
{
	struct uv_device *dev = index < PRE_DEVICES ? live[index] : NULL;

	return dev ? dev->kind->fault(dev, script) : -ENODEV;
}

/* Prints the model's violations, for tests that request it. A signal handler that calls exit() may have
 * interrupted this thread while it held the model's lock. */
void uv_report(void)
{
	struct softnic_violation v[32];

	if (pumping || !pre_asked("SOFTNIC_STRICT"))
		return;
	for (unsigned int i = 0; i < PRE_DEVICES; i++) {
		size_t n = live[i] ? live[i]->kind->violations(live[i], v, 32) : 0;

		pre_print_violations(v, n < 32 ? n : 32);
	}
}
