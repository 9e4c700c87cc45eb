#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs that follow perftest, where one side has no CPU for a while: the result is printed even if a
# message came late. A preloaded library makes one side late, or dead, at the critical point.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/perf-server.sh

client() {	# client OPTION...
	timeout -k 1 100 "$bin/dat_send_lat" -p $port "$@" 127.0.0.1 >"$tmp/client" 2>&1 </dev/null
}

# The server accepts its client only after the time limit for an absent server.
serve "$bin/dat_send_lat"
kill -STOP $server
beside "$tmp/client" timeout -k 1 100 "$bin/dat_send_lat" -p $port -n 50 127.0.0.1
pid=$!
until_said $pid "$tmp/client" TIMED_OUT
kill -CONT $server
wait $pid
end "a server that was stopped for a while" $?

[ -z "${SAN-}" ] || { echo "a library cannot be preloaded under a sanitizer"; exit 77; }
cat >"$tmp/slow.c" <<'END'
#define _GNU_SOURCE
#include <dat/udat_redirection.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BYE = 6, WORDS = 240, POLLS = 5000, MESSAGES = 10, JUMP_S = 20, SLOTS = 4, LAST = 20, SLEEPER = 300, HOUR_S = 3600 };

static DAT_EVD_HANDLE heard, said, data;	/* control: receives and sends; receives of what is measured */
static DAT_EVD_HANDLE own;			/* requests of what is measured */
static uint64_t where[SLOTS];			/* the receives of control */
static atomic_long skipped;			/* seconds */
static bool bye, holds, parent, orphaned;
static DAT_EVENT held;

static bool is(const char *what)
{
	return !strcmp(getenv("SLOW"), what);
}

static bool is_bye(uint64_t address)
{
	return *(const uint32_t *)(uintptr_t)address == BYE;
}

/* set: just after the program has looked at it, the clock of the system is set forward. */
int clock_gettime(clockid_t id, struct timespec *t)
{
	int rc = (int)syscall(SYS_clock_gettime, id, t);

	if (id == CLOCK_MONOTONIC)
		t->tv_sec += skipped;
	if (id == CLOCK_REALTIME && is("set"))
		t->tv_sec -= HOUR_S;
	return rc;
}

/* starved: the progress thread gets no CPU until the measurement is over. */
int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *lock, clockid_t clock, const struct timespec *until)
{
	int (*real)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *) =
		(int (*)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *))
		dlsym(RTLD_NEXT, "pthread_cond_clockwait");

	return is("starved") ? pthread_cond_wait(cond, lock) : real(cond, lock, clock, until);
}

DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE req,
			 DAT_EVD_HANDLE conn, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	if (!heard) {
		heard = recv;
		said = req;
	} else if (recv != heard) {
		data = recv;
		own = req;
	}
	return DAT_EP_CREATE(ia, pz, recv, req, conn, attr, ep);
}

/* dies, stops: as one of many endpoints is connected. */
DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR to, DAT_CONN_QUAL qual, DAT_TIMEOUT us,
			  DAT_COUNT len, const DAT_PVOID data_sent, DAT_QOS qos, DAT_CONNECT_FLAGS flags)
{
	static unsigned int n;

	if ((is("dies") || is("stops")) && ++n == LAST)
		raise(is("dies") ? SIGKILL : SIGSTOP);
	if (is("first"))	/* who asks just then is not to take his minute */
		us = 5000000;
	return DAT_EP_CONNECT(ep, to, qual, us, len, data_sent, qos, flags);
}

DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *l, DAT_DTO_COOKIE cookie,
			    DAT_COMPLETION_FLAGS flags)
{
	if (l->segment_length >= WORDS)
		where[cookie.as_64 % SLOTS] = l->virtual_address;
	return DAT_EP_POST_RECV(ep, n, l, cookie, flags);
}

DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *l, DAT_DTO_COOKIE cookie,
			    DAT_COMPLETION_FLAGS flags)
{
	static unsigned int messages;

	if (is("sleeps") && l->segment_length < WORDS && ++messages == SLEEPER)
		usleep(300000);
	bye = bye || (l->segment_length >= WORDS && is_bye(l->virtual_address));
	return DAT_EP_POST_SEND(ep, n, l, cookie, flags);
}

/* jumps: each message takes thousands of polls, and seconds go by between some, few from one to the next. */
static DAT_RETURN rarely(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	static unsigned long polls, messages;
	DAT_RETURN ret;

	if (++polls % POLLS)
		return DAT_CLASS_ERROR | DAT_QUEUE_EMPTY;
	ret = DAT_EVD_DEQUEUE(evd, event);
	if (ret == DAT_SUCCESS && ++messages % MESSAGES == 0)
		skipped += JUMP_S;
	return ret;
}

/* slow: each of its own operations takes a while. */
static DAT_RETURN slowly(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_RETURN ret = DAT_EVD_DEQUEUE(evd, event);

	if (ret == DAT_SUCCESS)
		usleep(20000);
	return ret;
}

/* first: its processes have heard of a dead server, and it has not. */
pid_t waitpid(pid_t pid, int *status, int options)
{
	pid_t ended = wait4(pid, status, options, NULL);

	parent = true;
	orphaned = orphaned || ended == pid;
	return ended;
}

static bool waits_to_hear(void)
{
	static unsigned int asked;

	return is("first") && parent && (!orphaned || ++asked < POLLS);
}

DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	if (waits_to_hear())
		return DAT_CLASS_ERROR | DAT_QUEUE_EMPTY;
	if (is("deaf") && bye && evd == said)
		return DAT_CLASS_ERROR | DAT_QUEUE_EMPTY;
	if (is("jumps") && evd == data)
		return rarely(evd, event);
	if (is("slow") && evd == own)
		return slowly(evd, event);
	if (!holds || evd != heard)
		return DAT_EVD_DEQUEUE(evd, event);
	*event = held;
	holds = false;
	return DAT_SUCCESS;
}

/* waits: seconds go by in each wait for a message of the server.
 * late: a wait was over before BYE came, and its sender is gone by the time it is looked for. */
DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT us, DAT_COUNT n, DAT_EVENT *event, DAT_COUNT *more)
{
	DAT_RETURN ret;

	if (is("deaf") && bye && evd == said) {
		usleep(us);
		return DAT_CLASS_ERROR | DAT_TIMEOUT_EXPIRED;
	}
	if (holds && evd == heard)
		return dat_evd_dequeue(evd, event);
	ret = DAT_EVD_WAIT(evd, us, n, event, more);
	if (is("waits") && evd == heard && ret != DAT_SUCCESS)
		skipped += JUMP_S;
	if (!is("late") || evd != heard || ret != DAT_SUCCESS ||
	    !is_bye(where[event->event_data.dto_completion_event_data.user_cookie.as_64 % SLOTS]))
		return ret;
	held = *event;
	holds = true;
	usleep(500000);
	return DAT_CLASS_ERROR | DAT_TIMEOUT_EXPIRED;
}
END
${CC:-gcc} -Wall -Iinclude -shared -fPIC -o "$tmp/slow.so" "$tmp/slow.c" || exit 1

# The client's last message has arrived, but the server ended before its acknowledgement was delivered.
serve "$bin/dat_send_lat"
SLOW=deaf LD_PRELOAD=$tmp/slow.so client -n 5 --warm-up 1
end "a client that is not told that its last word has come" $?

# Messages can take seconds, also during the warm-up. That is no timeout.
serve "$bin/dat_send_lat"
SLOW=jumps LD_PRELOAD=$tmp/slow.so client -n 50
end "a client to which 300 s go by" $?

serve "$bin/dat_send_lat"
SLOW=starved LD_PRELOAD=$tmp/slow.so client -D 3 -f 0
end "a client without a progress thread" $?
grep -q ' \.\.\. 2 bytes: 2 s, ' "$tmp/client" || { echo "the client does not print its progress:"; cat "$tmp/client"; exit 1; }

serve "$bin/dat_send_lat"
SLOW=set LD_PRELOAD=$tmp/slow.so client -n 50
end "a client whose clock is set" $?
[ "$(grep -c ' \.\.\. 2 bytes: ' "$tmp/client")" -lt 100 ] || { echo "the client prints progress for an hour:"; tail -n 20 "$tmp/client"; exit 1; }

# The client sleeps before it sends one of the messages. The table of causes has one voluntary switch, of at least half
# that time.
serve "$bin/dat_send_lat"
SLOW=sleeps LD_PRELOAD=$tmp/slow.so client -n 500 --explain
end "a client that sleeps" $?
awk '/^   voluntary switch/ && $3 >= 1 && $4 >= 150000 { found = 1 } END { exit !found }' "$tmp/client" ||
	{ echo "the table of causes does not name the sleep:"; cat "$tmp/client"; exit 1; }

# With -b the server measures as well, and may take minutes longer than its client.
SLOW=slow serve env LD_PRELOAD="$tmp/slow.so" "$bin/dat_write_bw"
timeout -k 1 100 env SLOW=waits LD_PRELOAD="$tmp/slow.so" "$bin/dat_write_bw" -p $port -b -n 100 -t 1 -Q 1 -s 2 \
	127.0.0.1 >"$tmp/client" 2>&1 </dev/null
end "a client whose server is slow" $?

SLOW=late serve env LD_PRELOAD="$tmp/slow.so" "$bin/dat_send_lat"
client -n 5 --warm-up 1
end "a server that is late for the last word" $?

serve timeout -k 1 100 "$bin/dat_write_bw"
timeout -k 1 100 env SLOW=dies LD_PRELOAD="$tmp/slow.so" "$bin/dat_write_bw" -p $port -q 30 127.0.0.1 \
	>"$tmp/client" 2>&1 </dev/null
wait $server
served=$?
server=
if [ $served != 1 ] || ! grep -q 'the client is gone; see its output' "$tmp/server"; then
	echo "a client died while it connected, and the server ended with the wrong status $served or output:"
	cat "$tmp/server" "$tmp/client"
	exit 1
fi

serve "$bin/dat_write_bw"
beside "$tmp/client" env SLOW=stops LD_PRELOAD="$tmp/slow.so" "$bin/dat_write_bw" -p $port -q 30 127.0.0.1
client=$!
for _ in $(seq 3000); do
	grep -q '^State:.T' "/proc/$client/status" && break
	sleep 0.02
done
kill -9 $server
wait $server 2>/dev/null
server=
kill -CONT $client
wait $client
status=$?
client=
if [ $status != 1 ] || ! grep -q 'the server is gone; see its output' "$tmp/client"; then
	echo "the server died while its client connected, and the client ended with status $status or the wrong output:"
	cat "$tmp/client"
	exit 1
fi

# The server dies. The client's processes notice it first, the main process later.
serve "$bin/dat_conn_rate"
beside "$tmp/client" env SLOW=first LD_PRELOAD="$tmp/slow.so" "$bin/dat_conn_rate" -p $port -D 300 127.0.0.1
client=$!
until_said $client "$tmp/client" '^ #'
kill -9 $server
wait $server 2>/dev/null
server=
wait $client
status=$?
client=
if [ $status != 1 ] || ! grep -q 'the server is gone; see its output' "$tmp/client"; then
	echo "the client's processes notice the server's end first, and the client ended with status $status:"
	cat "$tmp/client"
	exit 1
fi
