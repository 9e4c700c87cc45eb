/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loop: one epoll set waits for messages of a peer and for a pipe, as a daemon waits for RDMA beside its
 * sockets. The peer sends messages; a third process writes lines to the pipe. The argument is the
 * IA, by default soft-mlx5-0.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat/dapl_direct.h>

enum { MESSAGES = 20, RECEIVES = 8, LINES = 5, WAIT_US = 10000000 };

static const DAT_CONTEXT no_cookie;
static char *ia_name = "soft-mlx5-0";
static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_CNO_HANDLE cno;
static DAT_EVD_HANDLE async_evd, evd;
static DAT_EP_HANDLE ep;
static int received, lines, gone;

static void must(DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "?";

	dat_strerror(ret, &major, &minor);
	if (ret != DAT_SUCCESS)
		errx(1, "%s: %s %s", call, major, minor);
}

/* One EVD for requests, connections and messages; a daemon has more, on the same CNO. */
static void set_up(void)
{
	must(dat_ia_open(ia_name, 8, &async_evd, &ia), "dat_ia_open");
	must(dat_pz_create(ia, &pz), "dat_pz_create");
	must(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
	must(dat_evd_create(ia, 64, cno, DAT_EVD_DEFAULT_FLAG, &evd), "dat_evd_create");
	must(dat_ep_create(ia, pz, evd, evd, evd, NULL, &ep), "dat_ep_create");
}

static void post_recv(void)
{
	must(dat_ep_post_recv(ep, 0, NULL, no_cookie, DAT_COMPLETION_DEFAULT_FLAG), "recv");
}

static void on_event(const DAT_EVENT *event)
{
	switch (event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		for (int i = 0; i < RECEIVES; i++)
			post_recv();
		must(dat_cr_accept(event->event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL),
		     "dat_cr_accept");
		break;
	case DAT_DTO_COMPLETION_EVENT:
		if (event->event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			break;			/* the end of the connection flushed the receive */
		received++;
		post_recv();
		/* The receiver ends the connection: a message that is complete for its sender may
		 * still wait here. */
		if (received == MESSAGES)
			must(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "disconnect");
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		break;
	default:
		gone = 1;
	}
}

/* Empties the CNO and each EVD that it names. After this the next event makes the descriptor readable. */
static void on_cno(void)
{
	DAT_EVD_HANDLE which;
	DAT_EVENT event;

	while (dat_cno_wait(cno, 0, &which) == DAT_SUCCESS)
		while (dat_evd_dequeue(which, &event) == DAT_SUCCESS)
			on_event(&event);
}

static void on_pipe(int fd)
{
	char buf[64];
	ssize_t n = read(fd, buf, sizeof(buf));

	for (ssize_t i = 0; i < n; i++)
		lines += buf[i] == '\n';
}

static void watch(int set, int fd)
{
	struct epoll_event want = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &want))
		err(1, "epoll_ctl");
}

static int server(DAT_CONN_QUAL qual, int pipe_fd)
{
	int set = epoll_create1(0), cno_fd;
	struct epoll_event ready;
	DAT_PSP_HANDLE psp;

	set_up();
	must(dapl_cno_fd(cno, &cno_fd), "dapl_cno_fd");
	watch(set, cno_fd);
	watch(set, pipe_fd);
	must(dat_psp_create(ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp), "dat_psp_create");
	while (!gone || lines < LINES) {
		if (epoll_wait(set, &ready, 1, WAIT_US / 1000) != 1)
			errx(1, "nothing came");
		if (ready.data.fd == cno_fd)
			on_cno();
		else
			on_pipe(pipe_fd);
	}
	printf("%d messages and %d lines\n", received, lines);
	return received != MESSAGES;
}

static DAT_EVENT next_event(void)
{
	DAT_EVENT event;
	DAT_COUNT more;

	must(dat_evd_wait(evd, WAIT_US, 1, &event, &more), "dat_evd_wait");
	return event;
}

static int sender(DAT_CONN_QUAL qual)
{
	DAT_IA_ATTR attr;

	set_up();
	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), "dat_ia_query");
	must(dat_ep_connect(ep, attr.ia_address_ptr, qual, WAIT_US, 0, NULL, DAT_QOS_BEST_EFFORT,
			    DAT_CONNECT_DEFAULT_FLAG), "dat_ep_connect");
	if (next_event().event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		errx(1, "not connected");
	for (int i = 0; i < MESSAGES; i++) {
		must(dat_ep_post_send(ep, 0, NULL, no_cookie, DAT_COMPLETION_DEFAULT_FLAG), "send");
		if (next_event().event_number != DAT_DTO_COMPLETION_EVENT)
			errx(1, "the connection ended early");
	}
	if (next_event().event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		errx(1, "the receiver has not ended the connection");
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS;
}

static int writer(int fd)
{
	for (int i = 0; i < LINES; i++) {
		usleep(1000);
		if (dprintf(fd, "line %d\n", i) < 0)
			err(1, "pipe");
	}
	return 0;
}

int main(int argc, char **argv)
{
	DAT_CONN_QUAL qual = (DAT_CONN_QUAL)getpid();
	int status, fds[2];

	if (argc > 1)
		ia_name = argv[1];
	if (pipe(fds))
		err(1, "pipe");
	for (int i = 0; i < 3; i++)
		if (fork() == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
			exit(i == 0 ? server(qual, fds[0]) : i == 1 ? sender(qual) : writer(fds[1]));
	while (wait(&status) > 0)
		if (status)
			return 1;
	return 0;
}
