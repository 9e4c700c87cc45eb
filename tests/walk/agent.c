/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes and threads that make the calls of a walk, one command at a time for each thread. */
#include <errno.h>
#include <sys/socket.h>

#include "tests/harness/harness.h"
#include "tests/walk/walk.h"

#define H(n)   handle_at(c->a[n])
#define NEW(n) (c->a[n] < 0 ? &nowhere : &handles[c->a[n]])
#define N(n)   c->a[n]
#define S(n)   c->a[n]

struct answer {
	struct outcome o;
	int again;
};

struct agents {
	pid_t pid[PROCS];
	int fd[PROCS][THREADS];
};

const char *const op_names[OPS] = {
#define CALL(name, args, ...) #name,
#include "tests/walk/calls.inc"
#undef CALL
};

const char *const op_args[OPS] = {
#define CALL(name, args, ...) args,
#include "tests/walk/calls.inc"
#undef CALL
};

static __thread DAT_HANDLE nowhere;

static void make_call(const struct call *c)
{
	switch ((enum op)c->op) {
#define CALL(name, args, ...)          \
	case name:                     \
		out.ret = __VA_ARGS__; \
		break;
#include "tests/walk/calls.inc"
#undef CALL
	case OPS:
		break;
	}
}

/* Does a newer object have the handle of a freed one? */
static bool given_again(const struct call *c)
{
	for (int i = 0; op_args[c->op][i]; i++) {
		char kind = op_args[c->op][i];

		if (kind != 'n' && kind != '=' && c->a[i] >= 0 && handles[c->a[i]] &&
		    slot_of(handles[c->a[i]]) != c->a[i])
			return true;
	}
	return false;
}

static void *serve(void *arg)
{
	int fd = *(int *)arg;
	struct call c;

	while (recv(fd, &c, sizeof(c), 0) == sizeof(c)) {
		struct answer a = {.again = given_again(&c)};

		if (!a.again) {
			memset(&out, 0, sizeof(out));
			if (c.fail)
				th_fail_start(TH_FAIL_HEAP | TH_FAIL_MMAP | TH_FAIL_MINE, c.fail);
			make_call(&c);
			if (c.fail)
				th_fail_stop();
			a.o = out;
		}
		if (send(fd, &a, sizeof(a), MSG_NOSIGNAL) != sizeof(a))
			break;
	}
	/* Ends the process at the end of a walk. Its threads may be in calls. */
	_exit(0);
}

static void be_process(int number, const int *fds)
{
	static int fd[THREADS];
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_RETURN ret;
	pthread_t t;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	proc = number;
	ret = dat_ia_open(shared->ia, 8, &async, &handles[0]);
	if (ret != DAT_SUCCESS) {
		fprintf(stderr, "dat_walk: cannot open %s: 0x%x\n", shared->ia, ret);
		_exit(2);
	}
	for (int i = 0; i < THREADS; i++) {
		fd[i] = fds[i];
		if (i && pthread_create(&t, NULL, serve, &fd[i]))
			_exit(2);
	}
	serve(&fd[0]);
}

struct agents *agents_start(struct shared *s)
{
	struct agents *a = calloc(1, sizeof(*a));
	int pair[2], theirs[PROCS][THREADS];

	shared = s;
	fflush(NULL);
	for (int p = 0; p < PROCS; p++) {
		for (int t = 0; t < THREADS; t++) {
			if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
				perror("dat_walk: socketpair");
				exit(2);
			}
			a->fd[p][t] = pair[0];
			theirs[p][t] = pair[1];
		}
	}
	for (int p = 0; p < PROCS; p++) {
		a->pid[p] = fork();
		if (a->pid[p] < 0) {
			perror("dat_walk: fork");
			exit(2);
		}
		if (a->pid[p])
			continue;
		for (int q = 0; q < PROCS; q++) {
			for (int t = 0; t < THREADS; t++) {
				close(a->fd[q][t]);
				if (q != p)
					close(theirs[q][t]);
			}
		}
		be_process(p, theirs[p]);
	}
	for (int p = 0; p < PROCS; p++) {
		for (int t = 0; t < THREADS; t++)
			close(theirs[p][t]);
	}
	return a;
}

void agents_stop(struct agents *a)
{
	for (int p = 0; p < PROCS; p++) {
		for (int t = 0; t < THREADS; t++)
			close(a->fd[p][t]);
		agent_kill(a, p);
	}
	free(a);
}

void agent_kill(struct agents *a, int process)
{
	if (!a->pid[process])
		return;
	kill(a->pid[process], SIGKILL);
	waitpid(a->pid[process], NULL, 0);
	a->pid[process] = 0;
}

static void signal_process(pid_t pid, int number)
{
	if (pid)
		kill(pid, number);
}

/* The other process is stopped, and goes on after a while. */
static void pause_processes(pid_t self, pid_t other, enum pause pause)
{
	enum { MOMENT_MS = 5, LONG_MS = 11000 };

	poll(NULL, 0, pause == LONG_STOP ? LONG_MS : MOMENT_MS);
	if (pause == TURNS) {
		signal_process(self, SIGSTOP);
		signal_process(other, SIGCONT);
		poll(NULL, 0, MOMENT_MS);
		signal_process(self, SIGCONT);
	}
	signal_process(other, SIGCONT);
}

void agent_send(struct agents *a, const struct call *c)
{
	pid_t self = a->pid[c->proc], other = a->pid[!c->proc];
	ssize_t sent;

	if (c->pause)
		signal_process(other, SIGSTOP);
	sent = send(a->fd[c->proc][c->thread], c, sizeof(*c), MSG_NOSIGNAL);
	(void)sent; /* if the process is gone, agent_receive() reports that */
	if (c->pause)
		pause_processes(self, other, c->pause);
}

int agent_receive(struct agents *a, const struct call *c, struct outcome *o, int limit_ms, const char **why)
{
	struct pollfd p = {.fd = a->fd[c->proc][c->thread], .events = POLLIN};
	static char text[80];
	struct answer answer;
	int status;

	if (poll(&p, 1, limit_ms) == 0) {
		snprintf(text, sizeof(text), "the call has not returned after %d s", limit_ms / 1000);
		*why = text;
		return -ETIMEDOUT;
	}
	if (recv(p.fd, &answer, sizeof(answer), 0) != sizeof(answer)) {
		waitpid(a->pid[c->proc], &status, 0);
		snprintf(text, sizeof(text), "process %d ended with %s %d", c->proc,
			 WIFSIGNALED(status) ? "signal" : "status",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		*why = text;
		return -EPIPE;
	}
	*o = answer.o;
	return answer.again;
}
