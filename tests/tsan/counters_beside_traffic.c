/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The manager's thread reads the counters of an IA for dat_top(1), while messages and waits change them, and
 * while CQs grow.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include "core/page.h"
#include "tests/tsan/tsan.h"

enum { ROUNDS = 500, IAS = 2 };

static atomic_bool over;

/* Asks for the counters of both IAs, again and again, as dat_top does. */
static void *reader(void *arg)
{
	int fds[IAS];
	glob_t found;
	char path[64];

	snprintf(path, sizeof(path), DAP_PAGE_DIR "/" DAP_PAGE_PREFIX "%d.*" DAP_PAGE_ASK, (int)getpid());
	tsan_must(!glob(path, 0, NULL, &found) && found.gl_pathc == IAS, "an IA has no page of counters");
	for (int i = 0; i < IAS; i++) {
		fds[i] = open(found.gl_pathv[i], O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		tsan_must(fds[i] >= 0, "a FIFO cannot be opened");
	}
	globfree(&found);
	while (!atomic_load(&over)) {
		for (int i = 0; i < IAS; i++)
			tsan_must(write(fds[i], "", 1) == 1 || errno == EAGAIN, "a FIFO refuses");
		usleep(50);
	}
	for (int i = 0; i < IAS; i++)
		close(fds[i]);
	return arg;
}

static void send_one(struct pair *p)
{
	DAT_LMR_TRIPLET from = region_segment(&p->local, 0, 8), to = region_segment(&p->remote, 0, 8);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	tsan_must(!dat_ep_post_recv(p->b.ep, 1, &to, cookie, DAT_COMPLETION_DEFAULT_FLAG), "no receive");
	tsan_must(!dat_ep_post_send(p->a.ep, 1, &from, cookie, DAT_COMPLETION_DEFAULT_FLAG), "no send");
}

int main(void)
{
	static struct pair p;
	DAT_COUNT more;
	DAT_EVENT ev;
	pthread_t t;

	tsan_must(pair_open(&p, tsan_ia()) == 0, "pair_open failed");
	t = tsan_thread(reader, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		send_one(&p);
		tsan_reap(p.a.req_evd, 1);
		tsan_reap(p.b.recv_evd, 1);
		send_one(&p);
		tsan_must(!dat_evd_wait(p.b.recv_evd, TSAN_LIMIT_S * 1000000, 1, &ev, &more), "no message");
		tsan_reap(p.a.req_evd, 1);
		if (i % 100 == 99)
			tsan_must(!dat_evd_resize(p.b.recv_evd, (DAT_COUNT)256 << i / 100), "no resize");
	}
	atomic_store(&over, true);
	pthread_join(t, NULL);
	pair_close(&p);
	return 0;
}
