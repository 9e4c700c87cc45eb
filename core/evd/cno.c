/* SPDX-License-Identifier: BSD-2-Clause */
/* Consumer Notification Objects: create, free and abort. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/evd/cno.h"
#include "core/obj.h"

static void close_fds(struct dap_cno *cno)
{
	for (unsigned int e = 0; e < DAP_CNO_QUEUES; e++) {
		if (cno->queue[e].fd >= 0)
			close(cno->queue[e].fd);
	}
	if (cno->cq_fds >= 0)
		close(cno->cq_fds);
	if (cno->consumer_fd >= 0)
		close(cno->consumer_fd);
}

static int open_fds(struct dap_cno *cno)
{
	bool all = true;
	int err;

	cno->consumer_fd = -1;
	for (unsigned int e = 0; e < DAP_CNO_QUEUES; e++) {
		cno->queue[e].fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		all &= cno->queue[e].fd >= 0;
	}
	cno->cq_fds = epoll_create1(EPOLL_CLOEXEC);
	if (all && cno->cq_fds >= 0)
		return 0;
	err = -errno;
	close_fds(cno);
	return err;
}

int dap_cno_create(struct dap_ia *ia, dap_agent_fn fn, void *data, struct dap_cno **out)
{
	struct dap_cno *cno = dap_obj_alloc(DAP_CNO, ia);
	int err;

	if (!cno)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
	pthread_mutex_init(&cno->lock, NULL);
	pthread_cond_init(&cno->changed, NULL);
	err = dap_err_from_errno(open_fds(cno));
	if (err)
		goto free_obj;
	if (fn) {
		cno->agent = dap_agent_start(cno, fn, data, true);
		if (!cno->agent) {
			err = DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
			goto close_all;
		}
	}
	*out = cno;
	return 0;

close_all:
	close_fds(cno);
free_obj:
	dap_obj_free(cno);
	return err;
}

/* Combines the descriptors of dap_cno_sleep(). */
static int open_consumer_fd(const struct dap_cno *cno)
{
	struct epoll_event in = {.events = EPOLLIN};
	int fd = epoll_create1(EPOLL_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	if (!epoll_ctl(fd, EPOLL_CTL_ADD, cno->queue[DAP_CNO_WAITERS].fd, &in) &&
	    !epoll_ctl(fd, EPOLL_CTL_ADD, cno->cq_fds, &in))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

int dap_cno_fd(struct dap_cno *cno, int *fd)
{
	int got;

	pthread_mutex_lock(&cno->lock);
	got = cno->consumer_fd;
	if (got < 0)
		got = open_consumer_fd(cno);
	if (got >= 0)
		*fd = cno->consumer_fd = got;
	pthread_mutex_unlock(&cno->lock);
	return got < 0 ? dap_err_from_errno(got) : 0;
}

void dap_cno_abort(struct dap_cno *cno)
{
	pthread_mutex_lock(&cno->lock);
	cno->dead = true;
	dap_cno_end_all(cno);
	while (cno->waiters)
		pthread_cond_wait(&cno->changed, &cno->lock);
	pthread_mutex_unlock(&cno->lock);
	dap_agent_stop(cno);
}

static void release_evd(void *object, void *cno)
{
	struct core_evd *evd = object;

	if (evd->cno == cno)
		dap_evd_set_cno(&evd->pub, NULL);
}

/* The IA's own asynchronous EVD is destroyed after all CNOs, so the CNO may still have it. */
void dap_cno_destroy(struct dap_cno *cno)
{
	if (cno->evds)
		dap_obj_each(DAP_EVD, cno->obj.ia, release_evd, cno);
	pthread_mutex_lock(&cno->lock);
	for (unsigned int e = 0; e < DAP_CNO_QUEUES; e++)
		while (dap_cno_next(cno, e))
			;
	pthread_mutex_unlock(&cno->lock);
	close_fds(cno);
	dap_obj_free(cno);
}

int dap_cno_free(struct dap_cno *cno)
{
	bool in_use;
	int cancel;

	pthread_mutex_lock(&cno->lock);
	/* If the IA is being closed, dead is set already: the close frees the CNO. The caller is then its
	 * agent. */
	in_use = cno->evds || cno->waiters || cno->dead;
	if (!in_use)
		cno->dead = true;
	pthread_mutex_unlock(&cno->lock);
	if (in_use)
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_CNO_IN_USE);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	dap_agent_stop(cno);
	dap_cno_destroy(cno);
	pthread_setcancelstate(cancel, NULL);
	return 0;
}
