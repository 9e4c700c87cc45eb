#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A program whose output cannot be written says so and fails: the disk is full, or the reader of a pipe has ended.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/perf-server.sh
failed=0

# server_ends STATUS: the server ends with this status
server_ends() {
	local status
	wait $server
	status=$?
	server=
	[ $status = "$1" ] && return
	echo "the server ends with status $status instead of $1:"
	cat "$tmp/server"
	failed=1
}

# full PROGRAM ARGUMENT...: the program fails, with a message, if the disk is full
full() {
	local program=$1 status
	shift
	timeout -k 1 100 "$bin/$program" "$@" >/dev/full 2>"$tmp/err" </dev/null
	status=$?
	[ $status = 1 ] && grep -q "^$program: cannot write its output: is the disk full" "$tmp/err" && return
	echo "$program $* ends with status $status instead of 1, or without the reason:"
	cat "$tmp/err"
	failed=1
}

echo '# a comment' >"$tmp/dat.conf"
full dat_info --list
full dat_info --parameters
full dat_info --json --list
full dat_info -i soft-mlx5-0
full dat_info --check "$tmp/dat.conf"
full dat_migrate --variables
full dat_migrate "$tmp/dat.conf"
full dat_top --once
full dat_top --prometheus
full dat_conform --list
full dat_conform -t dat_pz_free
full dat_first_light --list
full dat_first_light -i soft-mlx5-0 -t 1
full dat_bench -p -n 16
full dat_pingpong -q -n 3
full dat_pingpong -q -n 0
full dat_integrity -q -t refusals
for program in dat_info dat_write_lat softnic-run softnic-vm; do
	[ -x "$bin/$program" ] || continue
	full $program --help
	full $program --version
done
for program in dat_write_lat dat_bind_bw; do
	serve "$bin/$program"
	full $program -n 5 -p $port 127.0.0.1
	server_ends 1
done

# early WHY FILE PROGRAM ARGUMENT...: the program fails before its first result, because it could not write FILE
early() {
	local why=$1 file=$2 status
	shift 2
	timeout -k 1 100 "$bin/$1" "${@:2}" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	[ $status != 0 ] && [ ! -s "$tmp/out" ] && grep -qxF "$file cannot be written: $why" "$tmp/err" && return
	echo "$* ends with status $status, or late, or without the reason:"
	cat "$tmp/out" "$tmp/err"
	failed=1
}
mkdir "$tmp/folder"
for option in --json --junit; do
	early 'Is a directory' "$tmp/folder" dat_conform -t dat_pz_free $option "$tmp/folder"
	early 'No such file or directory' "$tmp/none/x" dat_conform -t dat_pz_free $option "$tmp/none/x"
done
early 'Is a directory' "$tmp/folder" dat_first_light -i soft-mlx5-0 -t 1 --json "$tmp/folder"
early 'No such file or directory' "$tmp/none/x" dat_first_light -i soft-mlx5-0 -t 1 --json "$tmp/none/x"
early 'Is a directory' "$tmp/folder" dat_integrity -q -t refusals --json "$tmp/folder"
early 'No such file or directory' "$tmp/none/x" dat_integrity -q -t refusals --json "$tmp/none/x"
early 'Is a directory' "$tmp/folder" dat_send_lat --out_json_file "$tmp/folder" 127.0.0.1

# gnuplot fails: so does the client, and it prints gnuplot's exit status.
mkdir "$tmp/failing"
printf '#!/bin/sh\ncat >/dev/null\nexit 3\n' >"$tmp/failing/gnuplot"
chmod +x "$tmp/failing/gnuplot"
serve "$bin/dat_send_lat"
PATH=$tmp/failing:$PATH timeout -k 1 100 "$bin/dat_send_lat" -n 5 -p $port --plot "$tmp/x.svg" 127.0.0.1 \
	>"$tmp/out" 2>&1 </dev/null
if [ $? != 1 ] || ! grep -qxF "$tmp/x.svg: gnuplot ended with status 3" "$tmp/out"; then
	echo "dat_send_lat does not fail as gnuplot does:"
	cat "$tmp/out"
	failed=1
fi
server_ends 0

# A run without end notices that its reader has ended.
serve "$bin/dat_send_lat"
timeout -k 1 100 "$bin/dat_send_lat" -D 1 --run_infinitely -p $port 127.0.0.1 2>"$tmp/err" </dev/null | head -n 1 >/dev/null
if [ "${PIPESTATUS[0]}" != 1 ] || ! grep -q 'or the reader of the pipe gone' "$tmp/err"; then
	echo "dat_send_lat --run_infinitely does not end with its reader:"
	cat "$tmp/err"
	failed=1
fi
server_ends 1

# The name of an IA may have bytes that are not UTF-8; the JSON that a program writes is UTF-8 all the same.
latin1=$'ia-\xe9' utf8=$'ia-\xc3\xa9'
for line in {"$latin1","$utf8"}" u1.2 "{nonthreadsafe,threadsafe}; do
	echo "$line default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 \"device=soft-mlx5-0\" \"\""
done >"$tmp/latin1.conf"

# document PROGRAM ARGUMENT...: the program writes its JSON, in which the byte that is not UTF-8 is a question mark
document() {
	DAT_OVERRIDE=$tmp/latin1.conf timeout -k 1 100 "$bin/$1" "${@:2}" >"$tmp/out" 2>&1 </dev/null &&
		python3 -c 'import json, sys; assert "ia-?" in repr(json.load(open(sys.argv[1], encoding="utf-8")))' "$tmp/json" 2>>"$tmp/out"
	[ $? = 0 ] || { echo "the JSON of $1 lacks the IA or is no UTF-8:"; cat "$tmp/out"; failed=1; }
	rm -f "$tmp/json"
}
document dat_conform -i "$latin1" -t dat_pz_free --json "$tmp/json"
# junit IA NAME: the JUnit XML of dat_conform has the IA's name, in UTF-8
junit() {
	DAT_OVERRIDE=$tmp/latin1.conf timeout -k 1 100 "$bin/dat_conform" -i "$1" -t dat_pz_free --junit "$tmp/junit" >"$tmp/out" 2>&1 </dev/null &&
		python3 -c 'import sys, xml.etree.ElementTree as e; assert ascii(e.parse(sys.argv[1]).getroot().get("name")) == sys.argv[2]' \
			"$tmp/junit" "'dat_conform $2'" 2>>"$tmp/out"
	[ $? = 0 ] || { echo "the JUnit XML of dat_conform lacks the IA $2:"; cat "$tmp/out"; failed=1; }
}
junit "$latin1" 'ia-?'
junit "$utf8" 'ia-\xe9'
document dat_integrity -i "$latin1" -q -t refusals --json "$tmp/json"
document dat_first_light -i "$latin1" -a device=soft-mlx5-0 -t 1 --json "$tmp/json"
serve "$bin/dat_send_lat"
document dat_send_lat -d "$latin1" -n 5 -p $port --out_json_file "$tmp/json" 127.0.0.1
server_ends 0
exit $failed
