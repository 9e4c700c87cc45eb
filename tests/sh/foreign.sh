#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# softnic-run --ip: stock verbs programs in two network namespaces, which a veth pair joins, reach each other by RoCEv2
# at UDP port 4791. Data is right, also with lost packets and by IPv6; the packets on the wire are right; a taken port
# is named. The peer of a Linux's rdma_rxe is judged by scripts/check-vm.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/skip.sh
needs_preload
for program in ibv_rc_pingpong ib_write_bw; do
	command -v $program >/dev/null || skip "$program is not installed"
done
[ -n "${THERE-}" ] || exec scripts/two-hosts bash "$0"
. tests/harness/perf-server.sh

there=($THERE)
six=
[ ! -e /proc/net/if_inet6 ] || six=yes
ip link set wire mtu 4500
"${there[@]}" ip link set wire mtu 4500
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -o "$tmp/verbs" scripts/check-vm.verbs.c -libverbs >"$tmp/out" 2>&1 ||
	skip "libibverbs-dev is not installed: $(head -n 1 "$tmp/out")"

net=10.77.0.
# try_pair PROGRAM [OPTION...]: both ends succeed. The client tries again until the server listens.
try_pair() {
	local end=$((SECONDS + 60)) port=$((18600 + RANDOM % 10000)) gid=(-g 1) s
	[[ $1 != ib_* ]] || gid=(-x 1 -F)
	beside "$tmp/server" "${there[@]}" timeout -k 1 60 "$bin/softnic-run" --ip ${net}2 "$@" -p $port "${gid[@]}"
	server=$!
	while :; do
		timeout -k 1 60 "$bin/softnic-run" --ip ${net}1 "$@" -p $port "${gid[@]}" 10.77.0.2 >"$tmp/out" 2>&1 </dev/null
		s=$?
		[ $s != 0 ] && [ $SECONDS -lt $end ] && grep -qi "couldn't connect" "$tmp/out" && alive $server || break
		sleep 0.1
	done
	[ $s = 0 ] || kill $server 2>/dev/null
	wait $server || s=1
	server=
	return $s
}

# pair PROGRAM [OPTION...]: like try_pair. These programs choose a short timeout: on a busy machine the other
# process may answer none of the repetitions, which take two seconds. Then another pair tries.
pair() {
	local try
	for try in 1 2 3 4 5; do
		try_pair "$@" && return
		grep -qiE 'transport retry|status 12\b|syndrome? 0x81' "$tmp/out" "$tmp/server" || break
	done
	fail "$* ends with an error"
}

# packets COMMAND...: the packets that the command sends and receives are right
packets() {
	local judge
	beside "$tmp/judge" python3 tests/harness/roce.py wire 150 4791
	judge=$!
	until_said $judge "$tmp/judge" capturing || fail "$(cat "$tmp/judge")"
	"$@"
	wait $judge || fail "$(cat "$tmp/judge")"
}

packets pair ibv_rc_pingpong -c -n 100
packets pair ibv_ud_pingpong -c -n 100 -s 1000
pair "$tmp/verbs" -m 4096
pair ib_write_bw -s 65536 -n 50
pair ib_send_bw -c UD -s 1024 -n 50
SOFTNIC_FAULT=drop=0.01 pair "$tmp/verbs" -m 1024
if [ -n "$six" ]; then
	net=fd77::
	packets pair ibv_rc_pingpong -c -n 100
	pair ibv_ud_pingpong -c -n 100 -s 1000
	net=10.77.0.
fi

# The MTU of the port is that of the interface.
"$bin/softnic-run" --ip 10.77.0.1 ibv_devinfo -v >"$tmp/out"
grep -q 'active_mtu:[[:space:]]*4096' "$tmp/out" || fail "the MTU of the port is not 4096"
grep -qE 'GID\[ *1\]:[[:space:]]*::ffff:10.77.0.1' "$tmp/out" || fail "GID 1 is not the address"
ip link set wire mtu 1500
"$bin/softnic-run" --ip 10.77.0.1 ibv_devinfo -v >"$tmp/out"
grep -q 'active_mtu:[[:space:]]*1024' "$tmp/out" || fail "the MTU of the port is not 1024"

# Another process has the port.
beside "$tmp/taken" python3 -c 'import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.77.0.1", 4791))
print("bound", flush=True)
time.sleep(100)'
client=$!
until_said $client "$tmp/taken" bound || fail "$(cat "$tmp/taken")"
beside "$tmp/server" "${there[@]}" timeout -k 1 60 "$bin/softnic-run" --ip 10.77.0.2 "$tmp/verbs" -p 18599
server=$!
for _ in $(seq 300); do
	"$bin/softnic-run" --ip 10.77.0.1 "$tmp/verbs" -p 18599 10.77.0.2 >"$tmp/out" 2>&1 && fail "the client succeeds without its port"
	grep -q "Couldn't connect" "$tmp/out" || break
	sleep 0.1
done
grep -q 'UDP port 4791 of 10.77.0.1 is taken' "$tmp/out" || fail "the message does not name the port"
kill $client $server
wait $client $server 2>/dev/null
client= server=

# refused TEXT OPTION...
refused() {
	"$bin/softnic-run" "${@:2}" true >"$tmp/out" 2>&1 && fail "softnic-run ${*:2} succeeds"
	grep -qe "$1" "$tmp/out" || fail "softnic-run ${*:2} does not print \"$1\""
}
for address in 10.77.0 0.0.0.0 ::; do
	refused "'$address' is no IP address" --ip $address
done
refused '--ip supports one ConnectX' --ip 10.77.0.1 --infiniband
refused '--ip supports one ConnectX' --ip 10.77.0.1 -d 2
"$bin/softnic-run" --ip 10.77.0.9 ibv_devinfo >"$tmp/out" 2>&1
grep -q 'Cannot assign requested address' "$tmp/out" || fail "the address of another host is accepted"
exit 0
