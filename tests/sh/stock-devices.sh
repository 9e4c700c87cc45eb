#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What stock rdma-core prints for the devices of softnic-run. softnic-run itself: the command's status,
# forwarded signals, no files left behind, and messages for programs that it cannot preload.
# Slow: only with DAPL_ALL=1.
set -u
run=$DAPL_BUILD_DIR/bin/softnic-run
failed=0
. tests/harness/skip.sh
. tests/harness/background.sh
needs_preload

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/dir"
export TMPDIR=$tmp/dir SOFTNIC_STRICT=1

bad() {
	echo "$1"
	failed=1
}
left() { ls "$TMPDIR"; }
expect() {
	local want=$1 got
	shift
	timeout 120 "$@" >"$tmp/out" 2>&1
	got=$?
	[ $got = "$want" ] || bad "$*: status $got, not $want: $(cat "$tmp/out")"
	[ -z "$(left)" ] || bad "$*: these files are left in TMPDIR: $(left)"
}
says() { grep -q -- "$1" "$tmp/out" || bad "the output does not have '$1': $(cat "$tmp/out")"; }

# The tools
expect 0 "$run" ibv_devices
says '^ *mlx5_0[[:space:]]*5c0ff1ceff000000$'
expect 0 "$run" --devices 3 ibv_devices
says '^ *mlx5_2[[:space:]]*5c0ff1ceff000002$'
expect 0 "$run" --devices 0 ibv_devices
! grep -q mlx5 "$tmp/out" || bad "ibv_devices lists a device with --devices 0"
expect 0 "$run" --efa -d 2 ibv_devices
says '^ *efa_1[[:space:]]*000000000efa0002$'
! grep -q mlx5 "$tmp/out" || bad "ibv_devices lists a ConnectX with --efa"
expect 0 "$run" -d 2 ibv_devinfo -v
[ "$(grep -c 'PORT_ACTIVE (4)' "$tmp/out")" = 2 ] || bad "ibv_devinfo does not list two active ports"
says 'GID\[  0\]:.*fe80:.*RoCE v2'
! grep -q violation "$tmp/out" || bad "$(grep violation "$tmp/out")"

# The command's status, its arguments and its environment
expect 7 "$run" sh -c 'exit 7'
expect 143 "$run" sh -c 'kill -TERM $$'
expect 127 "$run" no-such-command-here
says 'not found'
expect 126 "$run" /etc/passwd
expect 0 "$run" echo --devices 9 -h
says '^--devices 9 -h$'
expect 64 "$run"
expect 64 "$run" --devices 17 true
expect 64 "$run" --efa --profile efa9 true
expect 64 "$run" --profile read true
expect 64 "$run" --efa --vfio true
expect 64 "$run" --vfio --ports 2 true
expect 0 "$run" --vfio --infiniband true
expect 0 "$run" --help
says 'COMMAND'

# Programs that cannot be preloaded get a message
echo 'int main(void) { return 0; }' >"$tmp/none.c"
if "${CC:-cc}" -static -o "$tmp/static" "$tmp/none.c" 2>/dev/null; then
	expect 126 "$run" "$tmp/static"
	says 'statically linked'
fi
if [ "$(id -u)" = 0 ] && "${CC:-cc}" -o "$tmp/setuid" "$tmp/none.c" &&
	chown 65534 "$tmp/setuid" 2>/dev/null; then	# not in a user namespace that has no other user
	chmod u+s "$tmp/setuid"
	expect 126 "$run" "$tmp/setuid"
	says 'setuid'
fi

# The loader would ignore a library of such a path, and the program would find no adapter.
mkdir -p "$tmp/a b/bin" "$tmp/a b/lib"
cp "$run" "$tmp/a b/bin"
cp "$DAPL_BUILD_DIR/lib/softnic-uverbs.so" "$tmp/a b/lib"
expect 125 "$tmp/a b/bin/softnic-run" true
says 'softnic-uverbs.so: the loader preloads no library whose path has a space'

# Signals are forwarded, and the directory is removed with the command
"$run" sh -c 'trap "exit 9" TERM; touch "$1/up"; while :; do sleep 0.05; done' sh "$tmp" &
pid=$!
for i in $(seq 1200); do [ -e "$tmp/up" ] && break; sleep 0.05; done
[ -n "$(left)" ] || bad "no directory while the command runs"
kill -TERM $pid
wait $pid
got=$?
[ $got = 9 ] || bad "after SIGTERM: status $got, not 9"
[ -z "$(left)" ] || bad "after SIGTERM: left behind $(left)"

# SIGKILL kills the command as well; the next run removes the directory
rm -f "$tmp/up"
"$run" sh -c 'echo $$ >"$1/up"; exec sleep 60' sh "$tmp" &
pid=$!
for i in $(seq 1200); do [ -s "$tmp/up" ] && break; sleep 0.05; done
kill -KILL $pid
wait $pid 2>/dev/null
for i in $(seq 1200); do alive "$(cat "$tmp/up")" || break; sleep 0.05; done
alive "$(cat "$tmp/up")" && bad "the command outlived softnic-run"
[ -n "$(left)" ] || bad "SIGKILL removed the directory?"
expect 0 "$run" true
exit $failed
