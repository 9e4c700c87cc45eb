#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# softnic-vm as a program: it creates and removes its sockets, and reports errors.
set -u
vm=$DAPL_BUILD_DIR/bin/softnic-vm
status=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad() {
	echo "$1"
	status=1
}

# wait_for CONDITION...: waits at most 30 seconds
wait_for() {
	for ((i = 0; i < 300; i++)); do
		"$@" && return
		sleep 0.1
	done
	return 1
}

"$vm" --help | grep -q -- --infiniband || bad "softnic-vm --help does not name --infiniband"
"$vm" 2>/dev/null && bad "softnic-vm starts without a socket"
"$vm" -p 3 "$tmp/a" 2>/dev/null && bad "softnic-vm starts with three ports"
"$vm" -e -i "$tmp/a" 2>/dev/null && bad "softnic-vm starts an EFA with an InfiniBand port"
"$vm" -e -P "$tmp/a" 2>/dev/null && bad "softnic-vm starts an EFA as a physical function"
"$vm" -r read "$tmp/a" 2>/dev/null && bad "softnic-vm starts a ConnectX with the profile of an EFA"
"$vm" -e -r wide "$tmp/a" 2>"$tmp/err" && bad "softnic-vm starts an EFA with WQEs that Linux's driver does not support"
grep -qF "'wide' is none of" "$tmp/err" || bad "softnic-vm does not name the wrong profile: $(cat "$tmp/err")"
"$vm" "$tmp/no/such/folder" 2>"$tmp/err" && bad "softnic-vm starts with a socket in a missing folder"
grep -qF "cannot listen on $tmp/no/such/folder" "$tmp/err" || bad "softnic-vm does not name the socket that failed: $(cat "$tmp/err")"
"$vm" "$tmp/$(printf 'a%.0s' {1..200})" 2>/dev/null && bad "softnic-vm starts with a socket name that is too long"

"$vm" -i "$tmp/a" "$tmp/b" 2>"$tmp/err" &
pid=$!
wait_for test -S "$tmp/b" || bad "softnic-vm did not create its sockets in 30 s: $(cat "$tmp/err")"
"$vm" "$tmp/c" "$tmp/a" 2>/dev/null && bad "a second softnic-vm starts on a socket in use"
[ -e "$tmp/c" ] && bad "a server that did not start left its socket"
kill -TERM $pid
wait $pid || bad "the exit status after SIGTERM is $?"
[ -e "$tmp/a" ] || [ -e "$tmp/b" ] && bad "sockets are left behind"

"$vm" -e -r read -x 111 "$tmp/a" "$tmp/b" 2>"$tmp/err" &
pid=$!
wait_for test -S "$tmp/b" || bad "softnic-vm -e did not create its sockets in 30 s: $(cat "$tmp/err")"
kill -TERM $pid
wait $pid || bad "the exit status of a server of EFAs is $?"

# A killed server leaves its sockets, and the next server replaces them.
"$vm" "$tmp/a" 2>"$tmp/err" &
pid=$!
wait_for test -S "$tmp/a"
kill -KILL $pid
wait $pid 2>/dev/null
[ -S "$tmp/a" ] || bad "the socket of a killed server has gone"
"$vm" "$tmp/a" 2>"$tmp/err" &
pid=$!
listens() { grep -qF "$tmp/a" <(awk '$4 == "00010000"' /proc/net/unix); }
wait_for listens || bad "softnic-vm does not replace the socket of a killed server: $(cat "$tmp/err")"
kill -INT $pid
wait $pid || bad "the exit status after SIGINT is $?"
exit $status
