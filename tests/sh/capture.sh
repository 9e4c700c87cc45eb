#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# pcap= and the rules of fault=: two processes with one line of dat.conf capture their packets, each in a file
# of its own that others cannot read. A rule loses the same packet in each run, and all data is right.
set -u
. tests/harness/perf-server.sh
files=$tmp/files
mkdir "$files"

# line PARAMS: a dat.conf with these ia_params
line() {
	echo "soft-mlx5-0 u1.2 nonthreadsafe default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 \"$1\" \"\"" \
		>"$tmp/dat.conf"
}
export DAT_OVERRIDE=$tmp/dat.conf

for run in 1 2; do
	line "seed=7 pcap=$files/$run.%p fault=drop:op=send,psn=+6;dup:op=send,psn=+9"
	serve "$bin/dat_pingpong" -s
	timeout -k 1 120 "$bin/dat_pingpong" -q -n 50 -p $port 127.0.0.1 >"$tmp/out" 2>&1 </dev/null || fail "dat_pingpong fails"
	kill $server
	wait $server 2>/dev/null
	server=
	[ "$(ls "$files"/$run.* | wc -l)" = 2 ] || fail "there are not two captures"
done
[ -z "$(find "$files" -type f ! -perm 600)" ] || fail "others may read a capture"
for file in "$files"/*; do
	python3 tests/harness/roce.py "$file" >"$tmp/out" 2>&1 || fail "$file has a wrong packet"
	grep -q '^[0-9]* packets .*, [1-9][0-9]* repeated requests$' "$tmp/out" || fail "the rules had another effect"
done

# The file of one process is not overwritten by another one.
line "pcap=$files/one"
serve "$bin/dat_pingpong" -s
"$bin/dat_info" -i soft-mlx5-0 >"$tmp/out" 2>&1 && fail "two processes write to one file"
grep -q 'pcap=.*: cannot write the file: another adapter writes to it' "$tmp/out" || fail "the message has another reason"
