#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dat_first_light on the software ConnectX: all questions are answered, and each different behaviour of
# hardware changes its line as required.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/first-light.sh
whole soft-mlx5-0 29

# A probe waits several seconds for a lost completion, and many transfers of a slow adapter take long, so
# these cases run in the background.
mkdir "$tmp/slow"
(
	tmp=$tmp/slow
	answers soft-mlx5-0 <<'END'
10	fault=quirk=slow_bf	tune .*no: 8-byte writes take [0-9]{2,}[.].*.set: (mmio=combined|bf_eps=0)
12	fault=quirk=slow_inline	tune .*no: a write of 128 bytes takes [0-9]{2,}[.].*.set: inline=0
13	fault=quirk=slow_recv	tune .*yes: a message of 32 bytes takes .*, and [0-9]{2,}[.].*.set: scatter_cqe=1
14	fault=quirk=slow_read	tune .*yes: a read of 32 bytes takes .*, and [0-9]{2,}[.].*.set: scatter_cqe=2
20	fault=quirk=no_resize_cqe	bad .*a write across the change ends with none
23	fault=quirk=lost_wqe	bad .*not all of 16 receives can be used .set: nothing: make the SRQ longer
END
	# Each of many transfers is lost. The run still ends, when the time for all probes is over.
	"$first_light" -i soft-mlx5-0 -a fault=drop=1 -t 10 --total 8 >"$tmp/out" 2>/dev/null
	has 'end of a run in time' '^10 none .*no answer within [1-8] s: (it hangs|the time for all probes is over)'
	exit $status
) &
slow=$!

# each line: number, ia_params, and the resulting line of the report
answers soft-mlx5-0 <<'END'
1	fault=drop=1	bad .*the first write ends with TRANSPORT
1	fault=cmd_fail=0x500:1	bad .*two endpoints are not connected
2	fault=quirk=unordered	bad .*the last byte came before others .set: nothing: wait for a message
3	fault=drop=1	bad .*a write of a batch ends with TRANSPORT
4	fault=cmd_fail=0x503:9	bad .*connection [0-9]+ of 200 failed
5	fault=cmd_fail=0x400:20	bad .*EVD [0-9]+ of 64 is refused
5	fault=seed=1	good .*yes: 64 EVDs and 32 connections,
5	fault=cmd_fail=0x500:9	bad .*pair [0-9]+ of 32 is refused
6	fault=drop=1	bad .*a write of a pair of threads ends with TRANSPORT
7	fault=quirk=no_umr	bad .*a bind ends with RMR_OPERATION_FAILED
10	fault=drop=1	bad .*BlueFlame fails.*.set: mmio=doorbell
11	fault=cmd_fail=0x500:1	bad .*two endpoints are not connected
11	fault=drop=1	bad .*a write after the measurement ends with TRANSPORT
12	fault=drop=1	bad .*not measured
13	fault=quirk=no_scatter	good .*the adapter ignores it
13	fault=cmd_fail=0x500:1	bad .*.set: nothing: leave scatter_cqe at 0
14	fault=quirk=no_scatter	good .*the adapter ignores it
15	fault=drop=1	bad .*a write of 1 MiB ends with TRANSPORT
15	fault=quirk=small_mtu	tune .*no: 1024 bytes .set: the MTU of the network interface
20	fault=cmd_fail=0x403:1	bad .*to 2048 events is refused .set: nothing: create EVDs
21	fault=quirk=no_rmp_count	bad .*16 of 16 are left .*.set: nothing: do not trust
21	fault=cmd_fail=0x90f:1	bad .*the query is refused
21	fault=cmd_fail=0x90c:1	bad .*no SRQ can be created
22	fault=quirk=no_srq_limit	bad .*no event comes within 3 s
22	fault=quirk=early_limit	bad .*the event comes with 4 receives left
22	fault=cmd_fail=0x90d:1	bad .*dat_srq_set_lw is refused
23	fault=quirk=no_last_wqe	bad .*its event is missing: an end waits [0-9]+ ms
24	fault=quirk=no_qp_error	bad .*its target has no event
30	fault=quirk=no_umr	bad .*a bind ends with RMR_OPERATION_FAILED
30	fault=quirk=umr_disabled	bad .*no RMR can be created
30	fault=quirk=umr_atomic_disabled	good
31	fault=quirk=no_rebind	bad .*bind 2 ends with RMR_OPERATION_FAILED
32	fault=quirk=old_keys	bad .*a peer still writes by the context
32	retry_cnt=0 ack_timeout=12 fault=drop:op=write,psn=+2,times=9	bad .*by the old context is not refused, but ends with TRANSPORT
END

wait $slow || status=1

# A probe that hangs is killed, and the following ones still run. On a busy machine even the last one, or the
# open of the IA, may take longer than a second, but not each time.
for try in 1 2 3 4 5; do
	"$first_light" -i soft-mlx5-0 -a fault=drop=1 -t 3,15-16 --limit 1 >"$tmp/out" 2>/dev/null
	! grep -q '^16 skip' "$tmp/out" || break
done
has 'an answer in time' '^ 3 none .*no answer within 1 s: it hangs'
has 'the question after it' '^15 none .*within 1 s'
has 'the one after that' '^16 skip'
"$first_light" -i soft-mlx5-0 -a fault=quirk=no_qp_error -t 24,1 --total 30 >"$tmp/out" 2>/dev/null
has 'a question in time' '^ 1 good'
"$first_light" -i 'an adapter' -a device=soft-mlx5-0 -t 1 >"$tmp/out" 2>&1
has 'an IA whose name has a blank' '^ 1 good'
"$first_light" -i 'an adapter' -a device=soft-mlx5-0 -t 18 >"$tmp/out" 2>&1
has 'MAC of an IA with another name' '^18 good'

# The ia_params of the IA's line in dat.conf hold for each probe, and those of -a come after them.
lib=$DAPL_BUILD_DIR/lib/libdapl-direct.so
printf '%s\n' "ib0 u2.0 nonthreadsafe default $lib dapl_direct.2.0 \"device=none\" \"\"" \
	"ib0 u1.2 nonthreadsafe default /opt/libother.so other.1.2 \"other\" \"\"" \
	"ib0 u1.2 nonthreadsafe default $lib dapl_direct.1.2 \"device=soft-mlx5-0 fault=quirk=no_umr\" \"\"" >"$tmp/dat.conf"
DAT_OVERRIDE=$tmp/dat.conf "$first_light" -i ib0 -t 30 >"$tmp/out" 2>&1
has 'parameter of dat.conf' '^30 bad .*RMR_OPERATION_FAILED'
DAT_OVERRIDE=$tmp/dat.conf "$first_light" -i ib0 -a fault=seed=1 -t 30 >"$tmp/out" 2>&1
has 'parameter in place of that of dat.conf' '^30 good'

# Errors on the command line are reported, with status 2.
wrong 'quirk=none: this adapter has no such key' -i soft-mlx5-0 -a quirk=none
wrong 'there is no RDMA device mlx5_9' -i mlx5_9-1
wrong 'mlx5_9-1 does not open' -i mlx5_9-1
wrong 'must not contain quotation marks' -i soft-mlx5-0 -a 'ip="1"'
wrong 'numbers of probes are 1 to 99' -i soft-mlx5-0 -t 0
wrong 'numbers of probes are 1 to 99' -i soft-mlx5-0 -t 3-
wrong 'numbers of probes are 1 to 99' -i soft-mlx5-0 -t ''
wrong "limit 'x' is not a number from 1 to 86400" -i soft-mlx5-0 --limit x
wrong "total '0' is not a number from 1 to 86400" -i soft-mlx5-0 --total 0
wrong 'invalid option' -Z
wrong "unexpected 'more'" more
wrong 'none of these probes is for' -i soft-mlx5-0 -t 70
wrong 'name of the adapter is empty' -i ''
if scripts/first-light -b "$DAPL_BUILD_DIR" -Z >"$tmp/out" 2>&1 || ! grep -q '^usage: scripts/first-light' "$tmp/out"; then
	echo "scripts/first-light accepts the unknown option -Z"
	status=1
fi
exit $status
