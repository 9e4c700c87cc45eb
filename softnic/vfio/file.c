/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's descriptors of this front, and references to their objects. */
#include <errno.h>
#include <stdlib.h>

#include "softnic/vfio/front.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, vf_file) files = LIST_HEAD_INITIALIZER(files);
static atomic_bool any_file;

/*
 * The numbers of the front's descriptors. The list is read without the lock: the device closes its
 * own descriptors while a thread that has the lock waits for it.
 */
enum { FDS = 65536 };
static atomic_ulong marks[FDS / 64];

static void mark_fd(int fd, bool on)
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

void vf_close(int fd)
{
	pre_real()->close(fd);
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

void vf_put(struct vf_object *obj)
{
	if (!--obj->refs)
		obj->kind->end(obj);
}

static struct vf_object *forget_file(struct vf_file *f)
{
	struct vf_object *obj = f->obj;

	LIST_REMOVE(f, link);
	mark_fd(f->fd, false);
	free(f);
	return obj;
}

void vf_files_forget(void)
{
	while (!LIST_EMPTY(&files))
		forget_file(LIST_FIRST(&files));
}

static bool is_duplicate(const void *arg, int fd)
{
	const struct vf_file *f = arg;
	struct stat st;

	return fd < FDS && fd != f->obj->own_fd && !pre_real()->fstat(fd, &st) && st.st_ino == f->ino &&
		st.st_dev == f->dev;
}

/*
 * If the program has a duplicate of fd, the file goes on with that one. Also handles a close() that bypassed
 * this front: the descriptor's number has been reused.
 */
void vf_file_closed(int fd)
{
	struct vf_file *f, *next;

	for (f = LIST_FIRST(&files); f; f = next) {
		int other;

		next = LIST_NEXT(f, link);
		if (f->fd != fd)
			continue;
		other = pre_other_fd(fd, is_duplicate, f);
		if (other < 0) {
			vf_put(forget_file(f));
			continue;
		}
		mark_fd(fd, false);
		mark_fd(other, true);
		f->fd = other;
	}
}

int vf_file_add(int fd, struct vf_object *obj)
{
	struct vf_file *f = calloc(1, sizeof(*f));
	struct stat st;
	int err = fd < 0 ? fd : !f ? -ENOMEM : fd >= FDS ? -EMFILE : 0;

	if (!err && pre_real()->fstat(fd, &st))
		err = -errno;
	if (err) {
		free(f);
		if (fd >= 0)
			pre_real()->close(fd);
		vf_put(obj);
		return err;
	}
	vf_file_closed(fd);
	*f = (struct vf_file){ .fd = fd, .dev = st.st_dev, .ino = st.st_ino, .obj = obj };
	LIST_INSERT_HEAD(&files, f, link);
	mark_fd(fd, true);
	atomic_store(&any_file, true);
	return fd;
}

struct vf_file *vf_file_of(int fd)
{
	struct vf_file *f, *same = NULL;
	struct stat st;

	if (!vf_any_file() || pre_real()->fstat(fd, &st))
		return NULL;
	LIST_FOREACH(f, &files, link) {
		if (f->ino != st.st_ino || f->dev != st.st_dev)
			continue;
		if (f->fd == fd)
			return f;
		same = f;
	}
	return same;
}
