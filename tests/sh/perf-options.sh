#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Each program with perftest's habits: --help, what is wrong, no server, and a file without gnuplot.
set -u
programs="dat_write_lat dat_write_bw dat_read_lat dat_read_bw dat_send_lat dat_send_bw dat_bind_lat dat_bind_bw dat_conn_rate"
bin=$DAPL_BUILD_DIR/bin
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
port=$((21000 + RANDOM % 9000))

must() {	# must STATUS TEXT COMMAND...: exits so and says so
	local want=$1 text=$2 out status
	shift 2
	out=$(timeout -k 1 60 "$@" 2>&1 </dev/null)
	status=$?
	if [ $status != "$want" ] || ! grep -qe "$text" <<<"$out"; then
		printf '%s\nstatus %s, wanted %s and "%s", from: %s\n' "$out" $status "$want" "$text" "$*"
		return 1
	fi
}

one_program() {
	local p=$bin/$1
	must 0 '^Usage: ' "$p" --help || return 1
	must 0 '^Usage: ' "$p" -h || return 1
	must 0 'dapl-direct perf' "$p" --version || return 1
	must 64 'unrecognized option' "$p" --no-such-option || return 1
	must 64 'is not a number' "$p" -n many || return 1
	must 64 'is not a number from 5' "$p" -n 4 || return 1
	must 64 'leave nothing' "$p" -D 4 -f 2 || return 1
	must 64 'needs -D' "$p" --run_infinitely || return 1
	must 64 'one HOST' "$p" one two || return 1
	must 64 'ends with .svg or .png' "$p" --plot picture.jpeg || return 1
	must 1 'is there a line for it in dat.conf' "$p" -d no-such-adapter || return 1
	must 1 'apt-get install gnuplot-nox' env PATH=/nowhere "$p" --plot "$tmp/x.svg" || return 1
	must 1 'cannot stay on CPU' "$p" --cpu 4095 || return 1
	must 1 "no $1 is waiting at 127.0.0.1" "$p" -p $port 127.0.0.1
}

# What means nothing for a program is not an option of it.
means_nothing() {
	local p
	for p in dat_bind_lat dat_bind_bw dat_read_lat dat_read_bw; do
		must 64 'invalid option' "$bin/$p" -I 64 || return 1
	done
	must 64 'invalid option' "$bin/dat_write_lat" -e || return 1
	must 64 'invalid option' "$bin/dat_conn_rate" -s 64 || return 1
	must 64 'needs -t' "$bin/dat_write_bw" -t 16 -Q 17 || return 1
	must 64 'not with -b' "$bin/dat_send_bw" -b -e
}

means_nothing || exit 1
for program in $programs; do
	one_program $program >"$tmp/$program" &
done
wait
for program in $programs; do
	[ -s "$tmp/$program" ] && cat "$tmp/$program" && exit 1
done
exit 0
