#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs that follow perftest, whose peer dies during a control message: the send is refused, or its
# completion is missing; and client processes whose parent dies as they begin. A preloaded library waits
# there until the other process is gone.
set -u
. tests/harness/perf-server.sh
. tests/harness/skip.sh
[ -z "${SAN-}" ] || skip "a library cannot be preloaded under a sanitizer"

cat >"$tmp/gone.c" <<'CODE'
#include <dat/udat_redirection.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static DAT_EP_HANDLE control;
static DAT_EVD_HANDLE said;
static bool alone;

DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE req,
			 DAT_EVD_HANDLE conn, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	DAT_RETURN ret = DAT_EP_CREATE(ia, pz, recv, req, conn, attr, ep);

	if (!control) {
		control = *ep;
		said = req;
	}
	return ret;
}

static void until_alone(void)
{
	DAT_EP_STATE state = DAT_EP_STATE_CONNECTED;
	DAT_BOOLEAN recv_idle, req_idle;

	fputs("waits for the end\n", stderr);
	while (state == DAT_EP_STATE_CONNECTED) {
		usleep(1000);
		dat_ep_get_status(control, &state, &recv_idle, &req_idle);
	}
	alone = true;
}

DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *l, DAT_DTO_COOKIE cookie,
			    DAT_COMPLETION_FLAGS flags)
{
	static int words;
	bool here = ep == control && ++words == atoi(getenv("WORD")), refused = !strcmp(getenv("HOW"), "refused");
	DAT_RETURN ret;

	if (here && refused)
		until_alone();
	ret = DAT_EP_POST_SEND(ep, n, l, cookie, flags);
	if (here && !refused)
		until_alone();
	return ret;
}

DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	if (alone && evd == said)
		return DAT_CLASS_ERROR | DAT_QUEUE_EMPTY;
	return DAT_EVD_DEQUEUE(evd, event);
}

/* orphan: what a process asks for as it begins. */
int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	pid_t parent = getppid();

	if (!strcmp(getenv("HOW"), "orphan")) {
		fputs("waits for the end\n", stderr);
		while (getppid() == parent)
			usleep(1000);
	}
	return (int)syscall(SYS_prctl, option, a, b, c, d);
}
CODE
${CC:-gcc} -Wall -D_GNU_SOURCE -Iinclude -shared -fPIC -o "$tmp/gone.so" "$tmp/gone.c" || exit 1

# told FILE STATUS PEER: checks that the survivor exited with this status and reported why its peer is
# gone
told() {
	[ "$2" = 1 ] && grep -q "connection ended: BROKEN: the $3 is gone; see its output" "$1" && return
	echo "HOW=$HOW WORD=$WORD: the survivor has status $2, or does not report that the $3 is gone:"
	cat "$1"
	exit 1
}

until_it_waits() {	# until_it_waits PID FILE
	until_said "$1" "$2" 'waits for the end' && return
	echo "HOW=$HOW WORD=$WORD: the program never waits for the end:"
	cat "$tmp/server" "$tmp/client"
	exit 1
}

# The first message tells the server the CPU of the client; the second begins or answers a measurement.
for HOW in refused untold; do
	for WORD in 1 2; do
		export HOW WORD
		serve "$bin/dat_write_lat"
		beside "$tmp/client" env LD_PRELOAD="$tmp/gone.so" "$bin/dat_write_lat" -p $port 127.0.0.1
		client=$!
		until_it_waits $client "$tmp/client"
		kill -9 $server
		wait $server 2>/dev/null
		wait $client
		told "$tmp/client" $? server

		serve env LD_PRELOAD="$tmp/gone.so" "$bin/dat_write_lat"
		beside "$tmp/client" "$bin/dat_write_lat" -p $port 127.0.0.1
		client=$!
		until_it_waits $server "$tmp/server"
		kill -9 $client
		wait $client 2>/dev/null
		wait $server
		told "$tmp/server" $? client
	done
done

# The client waits for the answer. No message comes that would make it continue or end.
export HOW=orphan WORD=0
serve "$bin/dat_conn_rate"
beside "$tmp/client" env LD_PRELOAD="$tmp/gone.so" "$bin/dat_conn_rate" -p $port --warm-up 0 127.0.0.1
client=$!
until_it_waits $client "$tmp/client"
orphan=$(children $client)
alive "$orphan" || { echo "dat_conn_rate has no client process, or several: $orphan"; exit 1; }
kill -9 $client
wait $client 2>/dev/null
client=$orphan
wait $server
server=
for _ in $(seq 1500); do
	alive "$orphan" || exit 0
	sleep 0.02
done
echo "a client process of dat_conn_rate continues without its parent"
exit 1
