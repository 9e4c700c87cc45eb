#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dat_first_light on the software EFA: all questions are answered, and each different behaviour of an EFA
# changes its line as required.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/first-light.sh
whole soft-efa-0 25

# each line: number, ia_params, and the resulting line of the report
answers soft-efa-0 <<'END'
1	fault=silence	bad .*the first write ends with TRANSPORT
2	write_order=relaxed efa_reorder=256 fault=drop=0.05	bad .*the last byte came before others .set: write_order=kept
3	fault=status=7:50	bad .*a write of a batch ends with REMOTE_ACCESS
4	fault=cmd_fail=modify:9	bad .*connection [0-9]+ of 200 failed
4	fault=unnamed=1	good .*yes: 200
5	fault=cmd_fail=qp:9	bad .*pair [0-9]+ of 32 is refused
6	fault=status=7:50	bad .*a write of a pair of threads ends with REMOTE_ACCESS
7	fault=cmd_fail=mr:20	bad .*a bind ends with a refused call
32	fault=late_dereg	bad .*a peer still writes by the context
60-62	fault=silence	bad .*not measured: .* with the default fails
60	fault=slow_sgl	tune .*no: a message of 64 bytes takes [0-9]{2,}[.].*.set: efa_inline=80
61	fault=slow_read	tune .*no: a message of 256 KiB .*.set: efa_rendezvous=1073741824
62	fault=slow_small	tune .*no: a burst of 24 messages .*.set: efa_window=256
60	efa_profile=unsol	skip .*the adapter takes 32 bytes at most
63	fault=cmd_fail=cq:2	tune .*16384 at most .set: efa_cq=16384
70	fault=flush=0	bad .*0 of 4 sends and 0 of 8 receives are flushed
70	fault=flush=300000	tune .*late: 4 sends and 8 receives are flushed after
70	fault=cmd_fail=modify:7	bad .*the transition to ERR is refused
71	fault=consumer	bad .*completions stop after 64 in a CQ of 64
72	fault=status=3	bad .*ends with "operation not supported".*.set: nothing: send at least one byte
72	fault=empty_sgl	good .*an empty list of buffers is accepted too
73	fault=unnamed=0	good .*all of 1280 receives
73	fault=unnamed=1	good .*yes: 1280 of 1280, 1280 of them with a GID
73	fault=silence	bad .*no message arrives after the first 0
74	fault=unknown=3	good .*yes: 60 times with 20 new handles
74	fault=status=7	bad .*RDMA fails for another reason in 1 of 20
74	fault=status=7:3	bad .*in 1 of 20 rounds, last with "bad remote address or key"
75	fault=rkey_reuse	tune .*yes: 199 of 200 keys at once
75	fault=rkey_reuse=5	good .*later: [0-9]+ of 200
76	efa_profile=write	good .*with 4096 KiB in flight no byte came later
76	fault=late_dereg	bad .*goes on after the call has returned
76	efa_profile=read	skip .*the adapter does no RDMA write
77	fault=cmd_fail=cq:2	bad .*a CQ of 16 is refused
77	fault=cmd_fail=qp:3	bad .*a receive queue of 1 is refused
78	fault=shared_ah	tune .*both PDs have number
79	fault=rx_op	bad .*no: the operation is 7
81	fault=consumer	good .*yes: 8193 messages with a CQ of 4096
81	fault=arm_only	bad .*no: message [0-9]+ with a CQ of 4096 ends with none
1-7,70-80	efa_profile=read	good|skip .*the adapter does no RDMA write|tune .*yes
END

"$first_light" -i ib0 -a device=soft-efa-0 -t 72,77 >"$tmp/out" 2>&1
has 'queues of an IA with another name' '^72 good'
has 'least queues of an IA with another name' '^77 good'

wrong 'efa_cq=7: must be a power of two' -i soft-efa-0 -a efa_cq=7
wrong 'none of these probes is for' -i soft-efa-0 -t 20
exit $status
