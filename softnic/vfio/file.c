/* SPDX-License-Identifier: BSD-2-Clause */
/* The descriptors that the program has of us, and what becomes of them in a child. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "softnic/vfio/front.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, vf_file) files = LIST_HEAD_INITIALIZER(files);
static atomic_bool any_file;

/*
 * Which numbers are in the list, to be asked without the lock: the device closes descriptors of its
 * own while somebody who holds the lock waits for it.
 */
enum { FDS = 65536 };
static atomic_ulong marks[FDS / 64];

static void mark(int fd, bool on)
{
	unsigned long bit = 1ul << fd % 64;

	if (fd >= FDS)
		return;
	if (on)
		atomic_fetch_or(&marks[fd / 64], bit);
	else
		atomic_fetch_and(&marks[fd / 64], ~bit);
}

bool vf_is_file(int fd)
{
	return fd >= 0 && fd < FDS && atomic_load(&marks[fd / 64]) >> fd % 64 & 1;
}

void vf_lock(void)
{
	pthread_mutex_lock(&lock);
}

void vf_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

bool vf_any_file(void)
{
	return atomic_load_explicit(&any_file, memory_order_relaxed);
}

/*
 * A child has copies of the descriptors, so that what they keep stays taken; but no thread drives a
 * device for it, and it must not touch its parent's. To it they are files that know no ioctl.
 */
static void in_child(void)
{
	vf_groups_forget();
	while (!LIST_EMPTY(&files)) {
		struct vf_file *f = LIST_FIRST(&files);

		LIST_REMOVE(f, link);
		mark(f->fd, false);
		free(f);
	}
	pthread_mutex_unlock(&lock);
}

static int watch_forks(void)
{
	static bool watched;
	int err;

	if (watched)
		return 0;
	err = pre_open_model_once();
	if (!err)
		err = -pthread_atfork(vf_lock, vf_unlock, in_child);
	watched = !err;
	return err;
}

static void release(struct vf_file *f)
{
	LIST_REMOVE(f, link);
	mark(f->fd, false);
	switch (f->kind) {
	case VF_FILE_CONTAINER:
		vf_container_put(f->container);
		break;
	case VF_FILE_GROUP:
		vf_group_put(f->group);
		break;
	case VF_FILE_DEVICE:
		vf_device_put(f->device);
		break;
	}
	free(f);
}

/* Whose close() went past us: their number has been given out again. */
void vf_file_closed(int fd)
{
	struct vf_file *f, *next;

	for (f = LIST_FIRST(&files); f; f = next) {
		next = LIST_NEXT(f, link);
		if (f->fd == fd)
			release(f);
	}
}

int vf_file_add(int fd, enum vf_kind kind, void *obj)
{
	struct vf_file *f = calloc(1, sizeof(*f));
	struct stat st;
	int err = f ? watch_forks() : -ENOMEM;

	if (!err && fd >= FDS)
		err = -EMFILE;
	if (!err && pre_real()->fstat(fd, &st))
		err = -errno;
	if (err) {
		free(f);
		pre_real()->close(fd);
		return err;
	}
	vf_file_closed(fd);
	*f = (struct vf_file){ .kind = kind, .fd = fd, .dev = st.st_dev, .ino = st.st_ino,
			       .container = obj };
	LIST_INSERT_HEAD(&files, f, link);
	mark(fd, true);
	atomic_store(&any_file, true);
	return 0;
}

struct vf_file *vf_file_of(int fd, const struct stat *st)
{
	struct vf_file *f, *same = NULL;

	LIST_FOREACH(f, &files, link) {
		if (f->ino != st->st_ino || f->dev != st->st_dev)
			continue;
		if (f->fd == fd)
			return f;
		same = f;
	}
	return same;
}

int vf_memfd(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}
