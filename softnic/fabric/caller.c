/* SPDX-License-Identifier: BSD-2-Clause */
/* The listener of a fabric, and its callers until their hello message has arrived. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "softnic/clock.h"
#include "softnic/fabric/link.h"

enum {
	AT_ONCE = 16,
	PAUSE_NS = 50000000,	/* how long a listener pauses if no descriptor is free */
};

static void forget_half_open(struct sn_fab *f, unsigned int i)
{
	close(f->half_open[i]);
	f->half_open[i] = -1;
}

/* Reads the hello of a caller, if it has arrived. Needs the registry's lock. */
static void read_hello(struct sn_fab *f, unsigned int i)
{
	struct sn_link *link;
	uint32_t slot;
	int err = sn_link_accept(f->half_open[i], f->config.protocol, &link);

	if (!err) {
		epoll_ctl(f->epfd, EPOLL_CTL_DEL, f->half_open[i], NULL);
		f->half_open[i] = -1;
		/* A peer with this device's own address is refused. */
		if (sn_addr_equal(&link->peer, &f->config.gid) || sn_fab_add_link(f, link, &slot)) {
			f->stats.refused++;
			sn_link_free(link, false);
		}
	} else if (err != -EAGAIN) {
		f->stats.refused++;
		forget_half_open(f, i);
	}
}

/* The hello has arrived, or the caller is gone or sent something else. */
void sn_caller_serve(struct sn_fab *f, unsigned int i)
{
	if (f->half_open[i] < 0)
		return;
	sn_registry_lock();
	read_hello(f, i);
	sn_registry_unlock();
}

/* Keeps a connection. If too many callers are silent, the oldest of them is dropped. Callers of
 * another user are refused. Needs the registry's lock. */
static void take_caller(struct sn_fab *f, int sock)
{
	bool ours = sn_link_same_user(sock);
	unsigned int i = (f->half_open_next += ours) % SN_FAB_HALF_OPEN;

	if (ours && f->half_open[i] >= 0) {
		f->stats.refused++;
		forget_half_open(f, i);
	}
	if (!ours || sn_fab_watch(f, sock, SN_KEY_HALF_OPEN | i)) {
		f->stats.refused++;
		close(sock);
		return;
	}
	f->half_open[i] = sock;
	read_hello(f, i);
}

static int accept_caller(struct sn_fab *f)
{
	return accept4(f->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static void watch_listener(struct sn_fab *f, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.u64 = SN_KEY_LISTENER};

	epoll_ctl(f->epfd, EPOLL_CTL_MOD, f->listener, &ev);
}

/*
 * Turns a caller away: accepts its connection and closes it. To the caller the peer seems gone, so it
 * retries, and reports an error after the last retry. False: no connection was accepted, even with the
 * spare descriptor.
 */
static bool turn_away(struct sn_fab *f)
{
	int sock = -1;

	sn_registry_lock();
	if (f->spare >= 0) {
		close(f->spare);
		sock = accept_caller(f);
		if (sock >= 0)
			close(sock);
		f->spare = eventfd(0, EFD_CLOEXEC);
	}
	sn_registry_unlock();
	f->stats.refused += sock >= 0;
	return sock >= 0;
}

/* Stops watching the listener for a while: a listener that stays readable but cannot be served would
 * keep every poller busy. */
static void out_of_descriptors(struct sn_fab *f, int err)
{
	if (!f->warned)
		fprintf(stderr, "softnic: connections are refused: %s; raise the limit with ulimit -n\n",
			strerror(err));
	f->warned = true;
	if (turn_away(f))
		return;
	watch_listener(f, 0);
	f->paused = sn_now() + PAUSE_NS;
}

void sn_callers_resume(struct sn_fab *f)
{
	if (sn_now() < f->paused)
		return;
	f->paused = 0;
	if (f->spare < 0) {
		sn_registry_lock();
		f->spare = eventfd(0, EFD_CLOEXEC);
		sn_registry_unlock();
	}
	watch_listener(f, EPOLLIN);
	atomic_store_explicit(&f->attention, 1, memory_order_relaxed);
}

/* Returns 0, or the error of accept4(2). */
static int accept_one(struct sn_fab *f)
{
	int sock, err = 0;

	sn_registry_lock();
	sock = accept_caller(f);
	if (sock >= 0)
		take_caller(f, sock);
	else
		err = errno;
	sn_registry_unlock();
	return err;
}

void sn_callers_accept(struct sn_fab *f)
{
	for (unsigned int i = 0; i < AT_ONCE && !f->paused; i++) {
		int err = accept_one(f);

		if (err == EMFILE || err == ENFILE || err == ENOMEM || err == ENOBUFS)
			out_of_descriptors(f, err);
		else if (err)
			return;
	}
}
