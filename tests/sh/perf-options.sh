#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Each program that follows perftest: --help, errors on the command line, no server, and plots without
# gnuplot.
set -u
programs="dat_write_lat dat_write_bw dat_read_lat dat_read_bw dat_send_lat dat_send_bw dat_bind_lat dat_bind_bw dat_conn_rate"
bin=$DAPL_BUILD_DIR/bin
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
port=$(($$ << 16))		# without a listener

must() {	# must STATUS TEXT COMMAND...: it exits with this status and output
	local want=$1 text=$2 status
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
	must 0 '^dapl-direct [0-9]' "$p" --version || return 1
	must 64 'unrecognized option' "$p" --no-such-option || return 1
	must 64 "-n 'many' is not a number" "$p" -n many || return 1
	must 64 'requires an argument' "$p" -n || return 1
	must 64 'requires an argument' "$p" --plot || return 1
	must 64 'is not a number from 5' "$p" -n 4 || return 1
	must 64 "--warm-up '-1' is not a number from 0" "$p" --warm-up=-1 || return 1
	must 64 'needs -D' "$p" --run_infinitely || return 1
	must 64 'one HOST' "$p" one two || return 1
	must 64 'ends with .svg or .png' "$p" --plot picture.jpeg || return 1
	must 1 'is there a line for it in dat.conf' "$p" -d no-such-adapter || return 1
	must 1 'sl=9: must be 0 to 7 on Ethernet' "$p" -S 9 h || return 1
	must 64 "--tclass '256' is not a number from 0 to 255" "$p" --tclass 256 || return 1
	must 1 'tclass=106: this adapter has no such key' "$p" --tclass 106 -d soft-efa-0 h || return 1
	must 1 'apt-get install gnuplot-nox' env PATH=/nowhere "$p" --plot "$tmp/x.svg" || return 1
	must 1 'cannot stay on CPU' "$p" --cpu 4095 || return 1
	must 1 '/nowhere/j cannot be written: No such file' "$p" --out_json_file /nowhere/j h || return 1
	must 1 'no.such.host: ' "$p" no.such.host || return 1
	grep -q waiting <<<"$out" && { echo "$1: there is no host to wait for: $out"; return 1; }
	must 1 "no $1 is waiting at 127.0.0.1" "$p" -p $port 127.0.0.1
}

# The options on a page, and those of the program: the first name of each.
documented() {
	sed -n '/that all these programs have, and/,/^\.\(Pp\|Sh\)/p' "man/$1.1" | sed -n 's/^\.Fl -\{0,1\}\([^ ]*\).*/\1/p' | sort
}

offered() {
	"$bin/$1" --help | sed -n 's/^ *\(-\([A-Za-z]\), \)\{0,1\}--\([A-Za-z_-]*\).*/\2 \3/p' |
		awk '{ print $1 }' | grep -vxE 'V|help|usage' | sort
}

# A page lists the options of its program beyond the common ones; dat_perf(7) has all of them.
as_documented() {
	local p option
	for p in $programs; do offered $p; done | sort | uniq -c | awk '$1 == 9 { print $2 }' >"$tmp/common"
	for p in $programs; do
		diff <(offered $p | grep -vxFf "$tmp/common") <(documented $p) ||
			{ echo "man/$p.1 has other options than $p --help"; return 1; }
		for option in $("$bin/$p" --help | grep -oE '^ +(-[A-Za-z], +)?--[A-Za-z_-]+' | tr -d ','); do
			case $option in -V | --help | --usage | --version) continue;; esac
			grep -qE "(Fl|,) ${option#-}( |\$)" man/dat_perf.7 ||
				{ echo "man/dat_perf.7 has no $option"; return 1; }
		done
	done
}

# Options without an effect in a program are refused.
means_nothing() {
	local p
	for p in dat_bind_lat dat_bind_bw dat_read_lat dat_read_bw; do
		must 64 'invalid option' "$bin/$p" -I 64 || return 1
	done
	for p in dat_write_lat dat_read_lat dat_send_lat dat_bind_lat; do
		must 64 'unrecognized option' "$bin/$p" --report_gbits || return 1
		must 64 'up to 16777216 samples' "$bin/$p" -n 16777217 -H h || return 1
		must 64 'leave nothing' "$bin/$p" -D 4 -f 2 || return 1
	done
	must 64 'invalid option' "$bin/dat_bind_bw" -w 1 || return 1
	must 64 'invalid option' "$bin/dat_conn_rate" -D 4 -f 1 || return 1
	must 64 'up to 16777216 samples' "$bin/dat_conn_rate" -n 9000000 --processes 2 -U h || return 1
	must 1 '^-t asks for 16385, and soft-mlx5-0 has ' "$bin/dat_write_bw" -t 16384 localhost || return 1
	must 1 '^-o asks for 128, and soft-mlx5-0 has ' "$bin/dat_read_bw" -o 128 localhost || return 1
	must 64 'invalid option' "$bin/dat_write_lat" -e || return 1
	must 64 'invalid option' "$bin/dat_conn_rate" -s 64 || return 1
	must 64 'needs -t' "$bin/dat_write_bw" -t 16 -Q 17 || return 1
	must 64 'not with -b' "$bin/dat_send_bw" -b -e
}

means_nothing || exit 1
as_documented || exit 1
for program in $programs; do
	one_program $program >"$tmp/$program" &
done
wait
for program in $programs; do
	[ -s "$tmp/$program" ] && cat "$tmp/$program" && exit 1
done
exit 0
