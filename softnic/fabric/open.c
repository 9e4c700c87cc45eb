/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening and closing a fabric. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "softnic/bytes.h"
#include "softnic/fabric/link.h"

/* After an error, sn_registry_remove() closes the descriptors. */
static int open_sockets(struct sn_fab *f)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = SN_KEY_LISTENER};
	int err;

	f->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (f->epfd < 0)
		return -errno;
	f->spare = eventfd(0, EFD_CLOEXEC);
	if (f->spare < 0)
		return -errno;
	f->listener = err = sn_link_listen(&f->config.gid);
	if (err < 0)
		return err;
	err = epoll_ctl(f->epfd, EPOLL_CTL_ADD, f->listener, &ev) ? -errno : 0;
	if (!err && !sn_is_zero(&f->config.ip, sizeof(f->config.ip)))
		err = sn_udp_open(f);
	return err;
}

int sn_fab_open(const struct sn_fab_config *config, struct sn_fab **out)
{
	struct sn_fab *f = calloc(1, sizeof(*f));
	unsigned int i;
	int err = 0;

	if (!f)
		return -ENOMEM;
	f->config = *config;
	sn_fab_receive_directly(f);
	if (!f->config.ring_bytes)
		f->config.ring_bytes = SN_LINK_RING_DEFAULT;
	f->epfd = f->listener = f->spare = -1;
	for (i = 0; i < SN_FAB_HALF_OPEN; i++)
		f->half_open[i] = -1;
	err = sn_registry_add(f);
	if (err)
		goto err_free;
	if (!(config->flags & SN_FAB_ALONE)) {
		sn_registry_lock();
		err = open_sockets(f);
		sn_registry_unlock();
	}
	if (err)
		goto err_remove;
	*out = f;
	return 0;

err_remove:
	sn_registry_remove(f);
err_free:
	free(f);
	return err;
}

int sn_fab_listen(struct sn_fab *f, uint16_t port)
{
	int err;

	if (!f->udp || f->forked)
		return 0;
	sn_registry_lock();
	err = sn_udp_listen(f, port);
	sn_registry_unlock();
	return err;
}

static void close_link(struct sn_fab *f, uint32_t slot)
{
	struct sn_link *link = f->links[slot];
	struct sn_addr peer = link->peer;

	sn_registry_lock();
	f->links[slot] = NULL;
	sn_link_free(link, f->forked);
	sn_registry_unlock();
	if (!f->forked)
		sn_registry_notify(&peer);
}

void sn_fab_close(struct sn_fab *f)
{
	uint32_t i;

	for (i = 0; i < f->slots; i++)
		if (f->links[i])
			close_link(f, i);
	if (f->udp && !f->forked)
		sn_udp_flush(f);
	if (!f->forked)
		sn_registry_remove(f);
	free(f->udp);
	sn_chaos_close(f);
	free(f->links);
	free(f);
}
