#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two hosts: processes in two network namespaces, which a veth pair joins, by IPv4 and IPv6. Data is right, also
# with lost packets; the packets on the wire are RoCEv2; an adapter without ip= fails with a message that names
# ip=; a host that vanishes or reboots breaks the connection.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/skip.sh
[ -z "${SAN-}" ] || skip "the programs are slow under a sanitizer"
[ -n "${THERE-}" ] || exec scripts/two-hosts bash "$0"
. tests/harness/perf-server.sh

there=($THERE env "DAT_OVERRIDE=$tmp/there.conf")
six=
[ ! -e /proc/net/if_inet6 ] || six=yes

# conf IP_HERE IP_THERE [PARAMS]: the adapters of the two hosts have these addresses
conf() {
	sed "s/ \"\" \"\"\$/ \"ip=$1 ${3-}\" \"\"/" "$DAPL_BUILD_DIR/etc/dat.conf" >"$tmp/here.conf"
	sed "s/ \"\" \"\"\$/ \"ip=$2 ${3-}\" \"\"/" "$DAPL_BUILD_DIR/etc/dat.conf" >"$tmp/there.conf"
}
export DAT_OVERRIDE=$tmp/here.conf

# must TEXT COMMAND...: the command succeeds and prints TEXT
must() {
	local text=$1
	shift
	timeout -k 1 120 "$@" >"$tmp/out" 2>&1 </dev/null && grep -qe "$text" "$tmp/out" && return
	fail "this fails, or does not print \"$text\": $*"
}

# must_not TEXT COMMAND...: the command fails and prints TEXT
must_not() {
	local text=$1
	shift
	timeout -k 1 120 "$@" >"$tmp/out" 2>&1 </dev/null || { grep -qe "$text" "$tmp/out" && return; }
	fail "this succeeds, or does not print \"$text\": $*"
}

served() {
	wait $server || fail "the server ended with an error"
	server=
}

# pair TEXT PROGRAM HOST [OPTION...]: PROGRAM serves there, and its client here prints TEXT
pair() {
	local text=$1 program=$bin/$2 host=$3 server_only=() client_only=()
	shift 3
	[ "${program##*/}" != dat_pingpong ] || server_only=(-s) client_only=(-q)
	serve "${there[@]}" timeout -k 1 120 "$program" "${server_only[@]}" "$@"
	must "$text" "$program" "${client_only[@]}" "$@" -p $port "$host"
	served
}

# packets TEXT COMMAND...: like must; the packets that the command sends and receives are right
packets() {
	local judge
	beside "$tmp/judge" python3 tests/harness/roce.py wire 200
	judge=$!
	until_said $judge "$tmp/judge" capturing || fail "$(cat "$tmp/judge")"
	"$@"
	wait $judge || fail "$(cat "$tmp/judge")"
}

# both HOST_HERE HOST_THERE: the programs work between these addresses; of the second pair only one, unless DAPL_ALL=1
both() {
	conf "$1" "$2"
	must "fabric: memory; UDP $1 port [0-9]*, MTU 1024\$" "$bin/dat_info" -i soft-mlx5-0
	packets pair 'all verified' dat_pingpong "$2" -n 300
	[ "$1" = 10.77.0.1 ] || [ "${DAPL_ALL-}" = 1 ] || return 0
	for len in 29 1025 1048576; do
		pair 'all verified' dat_pingpong "$2" -n 5 -l $len
	done
	pair 'all verified' dat_pingpong "$2" -n 50 -e
	pair '#bytes' dat_write_lat "$2" -n 100
	pair '#bytes' dat_read_lat "$2" -n 50
	pair '#bytes' dat_write_bw "$2" -n 50 -s 65536
	pair '#bytes' dat_read_bw "$2" -n 50 -s 65536
}

# ip=auto is the address of the default route.
conf auto 10.77.0.2
must_not 'ip=auto: this machine has no default route' "$bin/dat_pingpong" -q -n 5
ip route add default dev wire src 10.77.0.1
must 'fabric: memory; UDP 10.77.0.1 port' "$bin/dat_info" -i soft-mlx5-0

both 10.77.0.1 10.77.0.2
[ -z "$six" ] || both fd77::1 fd77::2

# Statements of the manual about two processes, and those about Endpoints and RMRs within one process, by UDP
conf 10.77.0.1 10.77.0.2
beside "$tmp/server" "${there[@]}" timeout -k 1 120 "$bin/dat_conform" --serve --port 0
server=$!
until_said $server "$tmp/server" 'serving at TCP port [1-9]' || fail "dat_conform --serve"
port=$(sed -n 's/.*serving at TCP port //p' "$tmp/server")
must ' 6 PASS, 0 FAIL, 1 SKIP' "$bin/dat_conform" -r 10.77.0.2 --port "$port" -t 'two_processes__*'
kill $server
server=
conf 10.77.0.1 10.77.0.2 fault=far
must ' [1-9][0-9]* PASS, 0 FAIL' "$bin/dat_conform" -t 'dat_[er]*'

# All data in both directions, and all refusals, by UDP
must 'every byte verified, every wrong access refused' "$bin/dat_integrity" -q
# Within a host, packets do not use UDP.
conf 10.77.0.1 10.77.0.2
sent() { awk '/^Udp: [0-9]/ { print $5 }' /proc/net/snmp; }
before=$(sent)
serve timeout -k 1 60 "$bin/dat_pingpong" -s -i soft-mlx5-0
must 'all verified' "$bin/dat_pingpong" -q -i soft-mlx5-0 -p $port -n 50 10.77.0.1
served
[ "$(sent)" = "$before" ] || fail "two processes of a host exchange datagrams"

# Two servers and a client of a host, which work at the same time with processes of the other
serve "${there[@]}" timeout -k 1 60 "$bin/dat_pingpong" -s -i soft-mlx5-0
first=$server first_port=$port
serve timeout -k 1 60 "$bin/dat_pingpong" -s -i soft-mlx5-0
second=$server second_port=$port
serve "${there[@]}" timeout -k 1 60 "$bin/dat_pingpong" -s -i soft-mlx5-0
beside "$tmp/out2" timeout -k 1 60 "$bin/dat_pingpong" -q -n 100 -p $first_port 10.77.0.2
first_client=$!
beside "$tmp/out3" "${there[@]}" timeout -k 1 60 "$bin/dat_pingpong" -q -n 100 -p $second_port 10.77.0.1
second_client=$!
must 'all verified' "$bin/dat_pingpong" -q -n 100 -p $port 10.77.0.2
served
for process in $first $second $first_client $second_client; do
	wait $process || { cat "$tmp/out2" "$tmp/out3"; fail "one of the processes ended with an error"; }
done
grep -q 'all verified' "$tmp/out2" && grep -q 'all verified' "$tmp/out3" || fail "a client did not verify its data"

# Lost packets: by the interfaces if the kernel can, else by the adapters
if tc qdisc add dev wire root netem loss 1% 2>/dev/null &&
	"${there[@]}" tc qdisc add dev wire root netem loss 1% 2>/dev/null; then
	conf 10.77.0.1 10.77.0.2 ack_timeout=14
else
	conf 10.77.0.1 10.77.0.2 'ack_timeout=14 fault=drop=0.01,dup=0.01,reorder=0.01'
fi
# On a busy machine a process may answer none of the repetitions, which take two seconds here. Then another
# pair tries.
#
# survives TEXT PROGRAM [OPTION...]: like pair. The last step of dat_pingpong breaks the connection. If an ACK
# was lost before, a request is flushed, as on hardware, and the step fails: only the rounds have to succeed.
survives() {
	local text=$1 program=$bin/$2 server_only=() client_only=() rounds_only= try status
	shift 2
	[ "${program##*/}" != dat_pingpong ] || server_only=(-s) client_only=(-q) rounds_only=yes
	for try in 1 2 3 4 5; do
		serve "${there[@]}" timeout -k 1 120 "$program" "${server_only[@]}" "$@"
		timeout -k 1 120 "$program" "${client_only[@]}" "$@" -p $port 10.77.0.2 >"$tmp/out" 2>&1 </dev/null
		status=$?
		if grep -qe "$text" "$tmp/out" && { [ $status = 0 ] || [ -n "$rounds_only" ]; }; then
			wait $server || [ -n "$rounds_only" ] || fail "the server ended with an error"
			server=
			return
		fi
		kill $server 2>/dev/null
		wait $server
		server=
		grep -qE 'TRANSPORT|BROKEN' "$tmp/out" "$tmp/server" || break
	done
	fail "${program##*/} $* with lost packets"
}
survives 'all rounds, .* every byte verified' dat_pingpong -n 60 -l 5000
survives 'all rounds, .* every byte verified' dat_pingpong -n 2 -l 1048576
survives '#bytes' dat_read_bw -n 50 -s 65536
tc qdisc del dev wire root 2>/dev/null
"${there[@]}" tc qdisc del dev wire root 2>/dev/null

# Without ip=
conf 10.77.0.1 10.77.0.2
serve "${there[@]}" timeout -k 1 60 "$bin/dat_pingpong" -s -i soft-mlx5-0
must_not 'set ip= in ia_params of both software adapters' env DAT_OVERRIDE="$DAPL_BUILD_DIR/etc/dat.conf" \
	"$bin/dat_pingpong" -q -n 5 -p $port 10.77.0.2
wait $server && fail "the server accepted a peer without ip="
server=
grep -q 'ia_params of its software adapter lack ip=' "$tmp/server" || fail "the server does not name ip="
conf 10.77.0.9 10.77.0.2
must_not 'ip=10.77.0.9 is not an address of this machine' "$bin/dat_pingpong" -q -n 5
ip link set wire mtu 300
conf 10.77.0.1 10.77.0.2
must_not 'MTU of the interface .* is too small' "$bin/dat_pingpong" -q -n 5
ip link set wire mtu 1500

# A long run, of which the client reports the first rounds after two seconds
runs() {
	until_said $client "$1" 'rounds$' && return
	cp "$1" "$tmp/out"
	fail "dat_pingpong finishes no round"
}

# The MTU of the path shrinks in the middle of a long run.
conf 10.77.0.1 10.77.0.2
serve "${there[@]}" timeout -k 1 100 "$bin/dat_pingpong" -s -i soft-mlx5-0 -l 4096
beside "$tmp/out" timeout -k 1 100 "$bin/dat_pingpong" -q -l 4096 -n 100000000 -p $port 10.77.0.2
client=$!
runs "$tmp/out"
"${there[@]}" ip link set wire mtu 700
ip link set wire mtu 700
wait $client && fail "the client succeeds although its packets are too long"
client=
# The end that was about to send long packets names the MTU.
grep -q 'packets to 10.77.0.[12] are lost: they are longer than the MTU of the path' "$tmp/out" "$tmp/server" ||
	fail "neither end names the MTU"
kill $server 2>/dev/null
server=
"${there[@]}" ip link set wire mtu 1500
ip link set wire mtu 1500

# The other host vanishes: its interface goes down in the middle of a long run.
serve "${there[@]}" timeout -k 1 100 "$bin/dat_pingpong" -s -i soft-mlx5-0
beside "$tmp/out" timeout -k 1 100 "$bin/dat_pingpong" -q -n 100000000 -p $port 10.77.0.2
client=$!
runs "$tmp/out"
alive $client || fail "the client ended early"
"${there[@]}" ip link set wire down
wait $client && fail "the client succeeds although the other host has vanished"
client=
grep -q 'BROKEN\|DTO_ERR_TRANSPORT\|TRANSPORT' "$tmp/out" || fail "the client does not report a broken connection"
kill $server 2>/dev/null
server=

# The other host reboots: a new namespace has its interface, and nothing of the old one speaks any more. ARP has asked
# for the vanished host; without the flush its last question can end in the new connection's EHOSTUNREACH.
"${there[@]}" ip link set wire up
ip neigh flush dev wire
conf 10.77.0.1 10.77.0.2
serve "${there[@]}" timeout -k 1 100 "$bin/dat_pingpong" -s -i soft-mlx5-0
beside "$tmp/out2" timeout -k 1 100 "$bin/dat_pingpong" -q -n 100000000 -p $port 10.77.0.2
client=$!
runs "$tmp/out2"
alive $client || fail "the client ended early"
unshare -n sleep infinity &
rebooted=$!
for _ in $(seq 3000); do
	[ "$(readlink /proc/$rebooted/ns/net)" != "$(readlink /proc/$$/ns/net)" ] && break
	sleep 0.01
done
"${there[@]}" ip link set wire netns $rebooted
old=$server server=
there=(nsenter -t $rebooted -n env "DAT_OVERRIDE=$tmp/there.conf")
"${there[@]}" ip link set lo up
"${there[@]}" ip link set wire up
"${there[@]}" ip addr add 10.77.0.2/24 dev wire
pair 'all verified' dat_pingpong 10.77.0.2 -n 50
wait $client && fail "the client succeeds although the other host has rebooted"
client=
grep -q 'BROKEN\|TRANSPORT' "$tmp/out2" || fail "the client does not report a broken connection"
# It may have ended by itself.
kill $old 2>/dev/null || :
