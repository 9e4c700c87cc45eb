#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs whose caller has closed the standard streams, as some supervisors do: no descriptor of the adapter gets the
# number of a stream, and what they print reaches no other file.
set -u
. tests/harness/perf-server.sh
status=0

# opens PROGRAM: checks the standard streams of the program once its IA is open
opens() {
	local fd file
	"$bin/$1" -s -q -p $port <&- >&- 2>&- &
	server=$!
	for _ in $(seq 3000); do
		compgen -G "/dev/shm/dapl-direct.$server.*" >/dev/null && break
		alive $server || break
		sleep 0.02
	done
	for fd in 0 1 2; do
		file=$(readlink /proc/$server/fd/$fd)
		[ "$file" = /dev/null ] && continue
		echo "$1 without standard streams: descriptor $fd is ${file:-closed}"
		status=1
	done
	kill -9 $server
	wait $server 2>/dev/null
	server=
}
opens dat_pingpong

# A program that cannot print fails, also if its standard output was closed.
for command in 'dat_info --list' 'dat_qualify list'; do
	"$bin"/$command >&- 2>"$tmp/err"
	[ $? = 1 ] && grep -q "^${command% *}: cannot write its output" "$tmp/err" && continue
	echo "$command without standard output does not fail, or does not say why:"
	cat "$tmp/err"
	status=1
done
exit $status
