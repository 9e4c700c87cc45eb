/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * A device through VFIO. It belongs to one process and is booted when it is opened. So all IAs of
 * the process share one context: the first one opens it, the last one closes it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hw_mlx5/ctl/vfio.h"

static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static struct vf_device *devices;

/*
 * libmlx5 leaves the group open across exec; the new program would keep the device from all
 * others.
 */
static void close_on_exec(const char *pci)
{
	DIR *dir = opendir("/proc/self/fd");
	char group[64], target[256];
	struct dirent *e;
	size_t len;
	ssize_t n;

	if (!dir || !vf_group(pci, group, sizeof(group)))
		goto out;
	len = strlen(group);
	while ((e = readdir(dir))) {
		n = readlinkat(dirfd(dir), e->d_name, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		target[n] = 0;
		if ((size_t)n >= len && !strcmp(target + n - len, group))
			fcntl(atoi(e->d_name), F_SETFD, FD_CLOEXEC);
	}
out:
	if (dir)
		closedir(dir);
}

static int context_open(struct vf_device *d, char *why, size_t whylen)
{
	struct mlx5dv_vfio_context_attr attr = { .pci_name = d->pci };
	struct ibv_device **list;
	int answer;

	hw_enter();
	errno = 0;
	list = mlx5dv_get_vfio_device_list(&attr);
	if (list) {
		errno = 0;
		d->ctx = ibv_open_device(list[0]);
	}
	answer = errno;
	if (list)
		ibv_free_device_list(list);
	hw_leave();
	if (!d->ctx)
		return vf_why_not(d->pci, answer, why, whylen);
	hw_fork_handle();
	close_on_exec(d->pci);
	return 0;
}

static void context_close(struct vf_device *d)
{
	hw_enter();
	ibv_close_device(d->ctx);
	hw_leave();
}

static int interrupts_open(struct vf_device *d)
{
	int err;

	errno = 0;
	d->uar = mlx5dv_devx_alloc_uar(d->ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	if (!d->uar)
		return hw_errno();
	errno = 0;
	d->msi = mlx5dv_devx_alloc_msi_vector(d->ctx);
	if (!d->msi) {
		err = hw_errno();
		goto err_uar;
	}
	err = vf_serve_start(d);
	if (!err)
		return 0;
	mlx5dv_devx_free_msi_vector(d->msi);
err_uar:
	mlx5dv_devx_free_uar(d->uar);
	return err;
}

static void interrupts_close(struct vf_device *d)
{
	vf_serve_stop(d);
	mlx5dv_devx_free_msi_vector(d->msi);
	mlx5dv_devx_free_uar(d->uar);
}

/* Sets v->dv.ctx and v->dv.watch to the device's. */
static int bring_up(struct m5_ctl_vfio *v, char *why, size_t whylen)
{
	struct vf_device *d = v->dev;
	int err = context_open(d, why, whylen);

	if (err)
		return err;
	v->dv.ctx = d->ctx;
	v->dv.watch = &d->watch;
	err = interrupts_open(d);
	if (err) {
		snprintf(why, whylen, "cannot allocate an interrupt on %s: %s", d->pci, strerror(-err));
		goto err_context;
	}
	err = vf_eqs_create(v);
	if (err) {
		snprintf(why, whylen, "cannot create an event queue on %s: %s", d->pci, strerror(-err));
		goto err_interrupts;
	}
	return 0;

err_interrupts:
	interrupts_close(d);
err_context:
	if (!d->watch.dead)
		context_close(d);
	return err;
}

/* libmlx5 would wait for minutes if the device does not answer: then the context stays until the
 * process ends. */
static void take_down(struct m5_ctl_vfio *v)
{
	struct vf_device *d = v->dev;

	vf_eqs_destroy(v);
	interrupts_close(d);
	if (!d->watch.dead)
		context_close(d);
}

/* A child cannot use its parent's devices. A thread of the parent that opens one during fork() holds the
 * lock, but does not exist in the child. */
static void in_child(void)
{
	pthread_mutex_init(&devices_lock, NULL);
	devices = NULL;
}

static void handle_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

static struct vf_device *find_device(const char *pci)
{
	for (struct vf_device *d = devices; d; d = d->next)
		if (!strcmp(d->pci, pci))
			return d;
	return NULL;
}

static struct vf_device *add_device(const char *pci)
{
	struct vf_device *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	snprintf(d->pci, sizeof(d->pci), "%s", pci);
	pthread_mutex_init(&d->lock, NULL);
	pthread_mutex_init(&d->gid_lock, NULL);
	pthread_mutex_init(&d->eq_lock, NULL);
	d->next = devices;
	devices = d;
	return d;
}

/* A dead device stays in the list, because its context stays open: this process cannot open it again. */
static void drop(struct vf_device *d)
{
	struct vf_device **p = &devices;

	if (d->watch.dead)
		return;
	while (*p != d)
		p = &(*p)->next;
	*p = d->next;
	pthread_mutex_destroy(&d->eq_lock);
	pthread_mutex_destroy(&d->gid_lock);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

static void join(struct m5_ctl_vfio *v)
{
	struct vf_device *d = v->dev;

	v->dv.ctx = d->ctx;
	v->dv.watch = &d->watch;
	pthread_mutex_lock(&d->lock);
	v->next = d->ias;
	d->ias = v;
	d->users++;
	pthread_mutex_unlock(&d->lock);
}

static void leave_device(struct m5_ctl_vfio *v)
{
	struct vf_device *d = v->dev;
	struct m5_ctl_vfio **p = &d->ias;

	pthread_mutex_lock(&d->lock);
	while (*p != v)
		p = &(*p)->next;
	*p = v->next;
	d->users--;
	pthread_mutex_unlock(&d->lock);
}

static int first_open(struct m5_ctl_vfio *v, const char *pci, char *why, size_t whylen)
{
	int err = vf_ready(pci, why, whylen);

	if (err)
		return err;
	v->dev = add_device(pci);
	if (!v->dev)
		return -ENOMEM;
	err = bring_up(v, why, whylen);
	if (err)
		drop(v->dev);
	return err;
}

int vf_device_get(struct m5_ctl_vfio *v, const char *pci, char *why, size_t whylen)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int err = 0;

	pthread_once(&once, handle_forks);
	pthread_mutex_lock(&devices_lock);
	v->dev = find_device(pci);
	if (!v->dev) {
		err = first_open(v, pci, why, whylen);
	} else if (__atomic_load_n(&v->dev->watch.dead, __ATOMIC_SEQ_CST)) {
		snprintf(why, whylen, "%s no longer responds: %s", pci,
			 v->dev->users ? "close all its IAs" : "end this process");
		err = -EIO;
	}
	if (!err)
		join(v);
	pthread_mutex_unlock(&devices_lock);
	return err;
}

void vf_device_put(struct m5_ctl_vfio *v)
{
	pthread_mutex_lock(&devices_lock);
	vf_port_close(v);
	leave_device(v);
	if (!v->dev->users) {
		take_down(v);
		drop(v->dev);
	}
	pthread_mutex_unlock(&devices_lock);
}
