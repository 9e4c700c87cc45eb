#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Without free descriptors, and with two users on one host, the log has the failing call and the reason.
# A failing call logs its reason without DAPL_DBG_TYPE.
set -u
. tests/harness/skip.sh
. tests/harness/perf-server.sh
unset DAPL_DBG_TYPE

# Raises the limit until the server works. Before that, the log must have the reason of each failing
# call.
seen= n=6
while [ $n -le 40 ]; do
	beside "$tmp/out" bash -c "ulimit -n $n; exec \"\$0\" -s -n 1 -p $port" "$bin/dat_pingpong"
	server=$!
	until_said $server "$tmp/out" '^serving conn_qual' && break
	wait $server
	server=
	grep -q CONN_QUAL_IN_USE "$tmp/out" && { port=$((port + 7)); continue; }
	call=$(sed -n 's/^\(dat_ia_open\|dat_psp_create\): DAT_INSUFFICIENT_RESOURCES.*/\1/p' "$tmp/out")
	n=$((n + 1))
	[ -n "$call" ] || continue
	seen="$seen $call"
	grep -q 'dapl-direct: cannot .*no descriptor is left.*ulimit -n' "$tmp/out" && continue
	printf 'with a limit of %s descriptors, %s fails without a reason in the log:\n' $((n - 1)) "$call"
	cat "$tmp/out"
	exit 1
done
[ -z "$server" ] || { kill $server; wait $server; server=; }
case $seen in
*dat_ia_open*dat_psp_create*) ;;
*) echo "dat_ia_open and dat_psp_create should both have failed; these did:$seen"; exit 1 ;;
esac

# If a call lets the provider choose the qualifier, no qualifier in use is logged.
seen=
for n in $(seq 6 40); do
	out=$(ulimit -n $n; timeout 60 "$bin/dat_bench" -n 16 2>&1)
	grep -q '^dat_psp_create_any: DAT_INSUFFICIENT_RESOURCES' <<<"$out" ||
		{ [ -n "$seen" ] && break; continue; }
	seen=yes
	grep -q 'dapl-direct: cannot listen on [^ ,]*: no descriptor is left.*ulimit -n' <<<"$out" && continue
	printf 'with a limit of %s descriptors, dat_psp_create_any fails without a reason:\n%s\n' $n "$out"
	exit 1
done
[ -n "$seen" ] || { echo "no descriptor limit made dat_psp_create_any fail"; exit 1; }

[ "$(id -u)" = 0 ] || skip "only root can start a process of another user; descriptors: ok"
other="setpriv --reuid 65534 --clear-groups"
$other test -x "$bin/dat_pingpong" || skip "another user cannot read this directory; descriptors: ok"
serve "$bin/dat_pingpong" -s
out=$($other timeout 30 "$bin/dat_pingpong" -s -q -n 1 -p $port 2>&1)
grep -q 'cannot listen on 127.0.0.1 port .* another process.*user' <<<"$out" || {
	echo "the second user's listener fails without a reason: $out"; exit 1; }
out=$(DAPL_DBG_TYPE=3 $other timeout 30 "$bin/dat_pingpong" -q -n 1 -p $port 127.0.0.1 2>&1)
grep -q '127.0.0.1 port .*another user.*software adapters' <<<"$out" || {
	echo "the second user's connection breaks without a reason: $out"; exit 1; }
