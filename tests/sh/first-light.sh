#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# scripts/first-light on softnic-run's adapters, and on a missing one. first-light-mlx5.sh and
# first-light-efa.sh test the answers.
# Slow: only with DAPL_ALL=1.
set -u
run=$DAPL_BUILD_DIR/bin/softnic-run
. tests/harness/skip.sh
needs_preload
. tests/harness/own_ip.sh
ip=$(own_ip)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0

# A link that trains for 16 s comes up in time, but late. This runs beside the next ones.
SOFTNIC_FAULT=quirk=late_link "$run" --vfio "$DAPL_BUILD_DIR/bin/dat_first_light" -i 0000:01:00.0 -a "ip=${ip/#10./11.}" -t 16 \
	>"$tmp/late" 2>&1 &
timeout 300 "$run" scripts/first-light -q -b "$DAPL_BUILD_DIR" -o "$tmp/good" mlx5_0-1 >"$tmp/out" 2>&1 || {
	echo "scripts/first-light fails on a good adapter:"
	cat "$tmp/out"
	status=1
}
for word in 'found mlx5_0-1 .NVIDIA ConnectX-6 Dx,.*firmware 22\.36' 'huge pages: ' 'locked memory: ' \
	'failed: .*CQE.*; work: .*RDMA_WRITE' 'mlx5_0-1 opens' 'blueflame doorbells' '8-byte doorbells' 'statements: .* 0 FAIL' 'hca_id' \
	'^ 1 good  Do endpoints connect' '^17 good .*: enp1s0np0 is in no bond' '^18 good .*([0-9a-f]{2}:){5}' \
	'ok .*questions: [0-9]+, and no answer is bad'; do
	grep -qE "$word" "$tmp/good" || { echo "the report of scripts/first-light does not have \"$word\""; status=1; }
done
if timeout 100 "$run" scripts/first-light -q -b "$DAPL_BUILD_DIR" -o "$tmp/bad" mlx5_9-1 >"$tmp/out" 2>&1; then
	echo "scripts/first-light succeeds with an unknown adapter"
	status=1
fi
# Simulates a failure: no packet arrives. The adapter's error is printed as text, on the terminal and in
# the report.
if SOFTNIC_FAULT=drop=1 timeout 200 "$run" scripts/first-light -q -b "$DAPL_BUILD_DIR" -o "$tmp/lost" mlx5_0-1 \
	>"$tmp/out" 2>&1; then
	echo "scripts/first-light succeeds with an adapter that loses packets"
	status=1
fi
for file in "$tmp/lost" "$tmp/out"; do
	grep -qE 'failed: .*transport retries.*; work: ' "$file" || {
		echo "the failure is not decoded in ${file##*/}"
		cat "$tmp/out"
		status=1
	}
done
grep -q 'there is no RDMA device mlx5_9' "$tmp/bad" || { echo "the report does not give the reason of the failed open"; status=1; }

# Relative paths count from the caller's folder, and those of the build and the report may have a blank.
mkdir -p "$tmp/a folder" "$tmp/gone"
cp -r "$DAPL_BUILD_DIR/bin" "$DAPL_BUILD_DIR/lib" "$tmp/a folder"
(cd "$tmp" && timeout 300 "$OLDPWD/scripts/first-light" -pq -b 'a folder' -o 'a folder/report' -j json soft-mlx5-0) >"$tmp/out" 2>&1 &&
	[ -s "$tmp/a folder/report" ] && [ -s "$tmp/json" ] || {
	echo "scripts/first-light fails, or loses a file, where the build's folder has a blank:"
	cat "$tmp/out"
	status=1
}
# One setting of an EFA fails: the other settings are tried, and the questions are asked.
mv "$tmp/a folder/bin/dat_pingpong" "$tmp/a folder/bin/good"
printf '#!/bin/sh\n! grep -q efa_window=4 "$DAT_OVERRIDE" && exec "${0%%/*}/good" "$@"\n' >"$tmp/a folder/bin/dat_pingpong"
chmod +x "$tmp/a folder/bin/dat_pingpong"
timeout 300 scripts/first-light -q -b "$tmp/a folder" -o "$tmp/one" soft-efa-0 >"$tmp/out" 2>&1 &&
	{ echo "scripts/first-light succeeds although a setting of an EFA fails"; status=1; }
for word in '^FAIL +pingpong, efa_window=4' '^ok +pingpong, efa_rendezvous=0' 'ok +questions: '; do
	grep -qE "$word" "$tmp/out" || { echo "no \"$word\" where a setting of an EFA fails:"; cat "$tmp/out"; status=1; }
done
# The folder of the report disappears: the script fails, and says so.
timeout 300 scripts/first-light -pq -b "$DAPL_BUILD_DIR" -o "$tmp/gone/report" soft-mlx5-0 >"$tmp/out" 2>&1 &
until [ -s "$tmp/gone/report" ] || ! kill -0 $! 2>/dev/null; do sleep 0.1; done
mv "$tmp/gone" "$tmp/went"
if wait $! || ! grep -q '^first-light: cannot write all of .*/gone/report' "$tmp/out"; then
	echo "scripts/first-light does not report a lost report:"
	cat "$tmp/out"
	status=1
fi

# Prints only the questions, for an adapter behind VFIO, whose address is a parameter; also as JSON.
timeout 300 "$run" --vfio scripts/first-light -pq -a "ip=$ip" -j "$tmp/json" -b "$DAPL_BUILD_DIR" -o "$tmp/vfio" \
	0000:01:00.0 >"$tmp/out" 2>&1 || {
	echo "dat_first_light fails on an adapter behind VFIO:"
	cat "$tmp/out"
	status=1
}
# Without -p, too: dat_pingpong is two processes, and the adapter serves one.
timeout 300 "$run" --vfio scripts/first-light -q -a "ip=$ip" -b "$DAPL_BUILD_DIR" -o "$tmp/alone" 0000:01:00.0 >"$tmp/two" 2>&1 &&
	grep -q '^16 good ' "$tmp/two" && grep -q '^note  behind VFIO the adapter serves one process' "$tmp/two" || {
	echo "scripts/first-light fails on a good adapter behind VFIO:"
	cat "$tmp/two"
	status=1
}
grep -qE '^16 good  Does VFIO raise the link' "$tmp/vfio" || { echo "the link is not among the questions of VFIO"; status=1; }
! grep -q 'pingpong, ' "$tmp/out" || { echo "-p runs more than the questions"; status=1; }
python3 - "$tmp/json" "ip=$ip" <<'END' || status=1
import json, sys
d = json.load(open(sys.argv[1]))
assert d["schema"] == 1 and d["release"].startswith("dapl-direct ") and d["access"] == "vfio" and d["ia_params"] == sys.argv[2], d
assert {p["number"] for p in d["probes"]} >= {1, 16, 24, 44}, d
assert all(p["verdict"] in ("good", "tune", "skip") and p["answer"] and p["set"] for p in d["probes"]), d
END
# The network interface of a port belongs to a bond.
"$run" sh -c 'net=$SYSFS_PATH/class/net; mkdir -p $net/bond0 $net/enp1s0np0 && ln -s ../bond0 $net/enp1s0np0/master &&
	exec "$0" -i mlx5_0-1 -t 17' "$DAPL_BUILD_DIR/bin/dat_first_light" >"$tmp/out" 2>&1
grep -q '^17 tune .*yes: enp1s0np0, of bond0' "$tmp/out" || { echo "a bond is not reported"; cat "$tmp/out"; status=1; }
# Firmware refuses the command: the script reports it, and nothing else fails. The kernel has sent the
# same command before, an unknown number of times.
for n in $(seq 2 100); do
	SOFTNIC_FAULT=cmd_fail=0x760:$n "$run" "$DAPL_BUILD_DIR/bin/dat_first_light" -i mlx5_0-1 -t 18 >"$tmp/out" 2>&1
	grep -q '^18 bad' "$tmp/out" && break
done
grep -q '^18 bad .*QUERY_ROCE_ADDRESS is refused' "$tmp/out" || { echo "a missing MAC is not reported"; cat "$tmp/out"; status=1; }
# The kernel delivers some events by DEVX. The script notices an adapter without these events there,
# too.
no_event() {
	SOFTNIC_FAULT=quirk=$2 "$run" "$DAPL_BUILD_DIR/bin/dat_first_light" -i mlx5_0-1 -t $1 >"$tmp/$2" 2>&1
}
no_event 22 no_srq_limit &
no_event 24 no_qp_error
wait
grep -q '^22 bad .*no event comes within' "$tmp/no_srq_limit" || { echo "a missing limit event is not reported"; cat "$tmp/no_srq_limit"; status=1; }
grep -q '^24 bad .*its target has no event' "$tmp/no_qp_error" || { echo "a missing QP event is not reported"; cat "$tmp/no_qp_error"; status=1; }
# The device reports an internal error after the measurement of doorbells, which writes blocks of zeros, and not before.
for i in {1..20}; do
	SOFTNIC_FAULT=quirk=zero_block "$run" "$DAPL_BUILD_DIR/bin/dat_info" -i mlx5_0-1 >"$tmp/out" 2>&1 || {
		echo "an adapter that fails later cannot be opened:"
		cat "$tmp/out"
		status=1
		break
	}
done
SOFTNIC_FAULT=quirk=zero_block "$run" "$DAPL_BUILD_DIR/bin/dat_first_light" -i mlx5_0-1 -t 11 >"$tmp/out" 2>&1
grep -q '^11 bad .*an asynchronous error follows .set: nothing: leave mmio' "$tmp/out" || {
	echo "an error after the measurement is not reported"
	cat "$tmp/out"
	status=1
}
# A link that its administrator has set down is brought up.
SOFTNIC_FAULT=admin_down "$run" --vfio "$DAPL_BUILD_DIR/bin/dat_first_light" -i 0000:01:00.0 -a "ip=$ip" -t 16 \
	>"$tmp/out" 2>&1
grep -qE '^16 good .*open after' "$tmp/out" || { echo "a link that is set down is not brought up"; cat "$tmp/out"; status=1; }
# A link that trains for long: the provider waits, and logs it. This runs beside the next question.
SOFTNIC_FAULT=quirk=slow_link "$run" --vfio "$DAPL_BUILD_DIR/bin/dat_first_light" -i 0000:01:00.0 -a "ip=$ip" -t 16 \
	--limit 3 >"$tmp/link" 2>&1 &
# If firmware has no heartbeat, the IA is lost.
SOFTNIC_FAULT=quirk=no_heartbeat "$run" --vfio "$DAPL_BUILD_DIR/bin/dat_first_light" -i 0000:01:00.0 -a "ip=$ip" \
	-t 44 >"$tmp/out" 2>&1
grep -qE '^44 bad .*the IA is lost after [0-9.]+ s' "$tmp/out" || { echo "a missing heartbeat is not reported"; cat "$tmp/out"; status=1; }
wait
grep -q '0000:01:00.0 does not open in time' "$tmp/link" && grep -q 'the link is down; waiting up to' "$tmp/link" || {
	echo "the wait for a link that trains too long is not reported:"
	cat "$tmp/link"
	status=1
}
grep -qE '^16 bad .*hardly: after (1[5-9]|2[0-9])[.].*dat_ia_open waits 20 s at most' "$tmp/late" || {
	echo "a link that trains for 16 s is not reported as late:"
	cat "$tmp/late"
	status=1
}
[ -e "$DAPL_BUILD_DIR/lib/softnic-efadv.so" ] || exit $status		# not if libefa was missing at the build
SOFTNIC_EFADV=63 timeout 300 "$run" --efa scripts/first-light -q -b "$DAPL_BUILD_DIR" -o "$tmp/efa" efa_0-1 >"$tmp/out" 2>&1 || {
	echo "scripts/first-light fails on a good EFA:"
	cat "$tmp/out"
	status=1
}
for word in 'found efa_0-1 .Amazon EFA' 'efa_0-1 opens' 'pingpong, efa_window=4' 'pingpong, by events' \
	'connection is broken: CQE of SQ RDMA_WRITE' 'statements: .* 0 FAIL' \
	'^70 (good|tune)  Does a QP in ERR flush' 'ok .*questions: [0-9]+, and no answer is bad'; do
	grep -qE "$word" "$tmp/efa" || { echo "the report of an EFA does not have \"$word\""; status=1; }
done
exit $status
