#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Each example runs by itself, with a time limit, and succeeds.
set -u
status=0

# example NAME [ARGUMENT...]: runs the example; its output is in $out. The port of its qualifier, which comes
# from its process id, may be another program's: then it runs again.
example() {
	local try code
	for try in 1 2 3 4 5; do
		out=$(timeout -k 1 60 "$DAPL_BUILD_DIR/examples/$1" "${@:2}" 2>&1 </dev/null)
		code=$?
		[[ $code != 0 && $out == *CONN_QUAL_IN_USE* ]] || break
	done
	return $code
}

for source in examples/*.c; do
	name=$(basename "$source" .c)
	example "$name"
	code=$?
	if [ $code != 0 ] || [ -z "$out" ]; then
		printf '%s\nexit status %s, or no output, of example %s\n' "$out" $code "$name"
		status=1
	fi
	if grep -q 'ia_name = ' "$source" && ! example "$name" soft-efa-0; then
		printf '%s\nexample %s fails on an EFA\n' "$out" "$name"
		status=1
	fi
	[ "$name" != storage ] || [[ $out = "1000 clients"* ]] || { echo "the example storage does not report 1000 clients: $out"; status=1; }
done

# With ip= in dat.conf a software adapter listens only there, and the examples find it.
conf=$(mktemp)
trap 'rm -f "$conf"' EXIT
sed 's/ "" ""$/ "ip=127.0.0.5" ""/' "$DAPL_BUILD_DIR/etc/dat.conf" >"$conf"
for source in examples/*.c; do
	name=$(basename "$source" .c)
	DAT_OVERRIDE=$conf example "$name" || { printf '%s\nexample %s fails with ip=127.0.0.5\n' "$out" "$name"; status=1; }
done

# The ACK of a message that carries a window is lost, and the peer ends the connection before the repetition.
sed 's/ "" ""$/ "ack_timeout=10 fault=drop:op=ack,dir=in,psn=+1,times=1" ""/' "$DAPL_BUILD_DIR/etc/dat.conf" >"$conf"
export DAT_OVERRIDE=$conf
for run in 'fence soft-mlx5-0 20' 'lease soft-mlx5-0 30'; do
	example $run || { printf '%s\nexample %s fails if an ACK is lost\n' "$out" "$run"; status=1; }
done
exit $status
