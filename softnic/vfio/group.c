/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /dev/vfio/N. One opener at a time, among all processes that see these devices: a lock on the group's
 * file, released with its last descriptor as in the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "softnic/vfio/front.h"

/* Removes the group from its container. A container without groups drops its IOMMU, and with it all
 * maps. */
static void leave_container(struct vf_group *g)
{
	struct vf_container *c = g->container;

	g->container = NULL;
	if (!c)
		return;
	LIST_REMOVE(g, link);
	if (LIST_EMPTY(&c->groups)) {
		c->iommu = 0;
		vf_maps_clear(&c->maps);
	}
	vf_put(&c->obj);
}

static int get_status(const struct vf_group *g, struct vfio_group_status *status)
{
	int err = VF_ARGSZ(status, struct vfio_group_status, flags);

	if (err)
		return err;
	status->flags = VFIO_GROUP_FLAGS_VIABLE;
	if (g->container)
		status->flags |= VFIO_GROUP_FLAGS_CONTAINER_SET;
	return 0;
}

static int set_container(struct vf_group *g, const int32_t *fd)
{
	struct vf_container *c;
	struct vf_file *f;

	if (g->container)
		return -EINVAL;
	if (fcntl(*fd, F_GETFD) < 0)
		return -EBADF;
	f = vf_file_of(*fd);
	if (!f || f->obj->kind != &vf_container_kind)
		return -EINVAL;
	c = (struct vf_container *)f->obj;
	c->obj.refs++;
	LIST_INSERT_HEAD(&c->groups, g, link);
	g->container = c;
	return 0;
}

static int unset_container(struct vf_group *g)
{
	if (!g->container)
		return -EINVAL;
	if (g->dev)
		return -EBUSY;
	leave_container(g);
	return 0;
}

static int get_device(struct vf_group *g, int fd, const char *name)
{
	char own[VF_PCI_NAME_SIZE];

	if (!g->container || !g->container->iommu)
		return -EINVAL;
	snprintf(own, sizeof(own), VF_PCI_NAME, (g->index + 1) & 0xff);
	if (strcmp(own, name) != 0)
		return -ENODEV;
	return vf_device_open(g, fd);
}

static int group_ioctl(struct vf_object *obj, int fd, unsigned long request, void *arg)
{
	struct vf_group *g = (struct vf_group *)obj;

	switch (request) {
	case VFIO_GROUP_GET_STATUS:
		return get_status(g, arg);
	case VFIO_GROUP_SET_CONTAINER:
		return set_container(g, arg);
	case VFIO_GROUP_UNSET_CONTAINER:
		return unset_container(g);
	case VFIO_GROUP_GET_DEVICE_FD:
		return get_device(g, fd, arg);
	default:
		return -ENOTTY;
	}
}

static void end(struct vf_object *obj)
{
	struct vf_group *g = (struct vf_group *)obj;

	leave_container(g);
	free(g);
}

int vf_group_open(const char *path, unsigned int index, int flags)
{
	static const struct vf_kind kind = { group_ioctl, end };
	int fd = pre_real()->open(path, O_RDWR | (flags & O_CLOEXEC), 0), err;
	struct vf_group *g;

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		err = errno == EWOULDBLOCK ? -EBUSY : -errno;
		pre_real()->close(fd);
		return err;
	}
	g = calloc(1, sizeof(*g));
	if (!g) {
		pre_real()->close(fd);
		return -ENOMEM;
	}
	g->obj = (struct vf_object){ .kind = &kind, .refs = 1, .own_fd = -1 };
	g->index = index;
	return vf_file_add(fd, &g->obj);
}
