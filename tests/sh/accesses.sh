#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The conformance statements have the same results on the model in this process and behind softnic-run,
# through uverbs and VFIO. tests/data/accesses.tsv has a reason for each difference. Runs a selection;
# with DAPL_ALL=1 all of them.
# Slow: only with DAPL_ALL=1.
set -u
build=$DAPL_BUILD_DIR
run=$build/bin/softnic-run
. tests/harness/skip.sh
needs_preload
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
only=(-t 'rmr*')
[ "${DAPL_ALL-}" != 1 ] || only=()

# conform ACCESS COMMAND...: writes the results to $tmp/ACCESS.json
conform() {
	local access=$1
	shift
	timeout -k 5 600 "$@" ${only[@]+"${only[@]}"} --json "$tmp/$access.json" >"$tmp/$access" 2>&1
	[ -s "$tmp/$access.json" ] && return
	echo "$access: dat_conform wrote no report:"
	tail -n 10 "$tmp/$access"
	exit 1
}

conform process "$build/bin/dat_conform" -i soft-mlx5-0
conform uverbs "$run" "$build/bin/dat_conform" -i mlx5_0-1
# Behind VFIO the device has no network interface with an address, and a second process needs another
# device.
for i in 0000:0{1,2,3,4}:00.0; do
	scripts/mkconf "$build/lib/libdapl-direct.so" gid=auto | sed -n "s/^mlx5_0-1 /$i /p"
done >"$tmp/vfio.conf"
DAT_OVERRIDE=$tmp/vfio.conf DAPL_TEST_CHILD_IA=0000:02:00.0,0000:03:00.0,0000:04:00.0 \
	conform vfio "$run" --vfio --devices 4 "$build/bin/dat_conform" -i 0000:01:00.0

python3 - "$tmp" tests/data/accesses.tsv "${only[*]-}" <<'END'
import glob, json, os, sys

where, listed, selection = sys.argv[1:]
verdicts = {}
for path in glob.glob(f"{where}/*.json"):
    with open(path) as f:
        verdicts[os.path.basename(path)[:-5]] = {
            s["name"]: (s["verdict"], s["reason"]) for s in json.load(f)["statements"]}
known = {}
with open(listed) as f:
    for line in f:
        if not line.startswith("#"):
            access, name, verdict, reason = line.rstrip("\n").split("\t")
            assert reason, line
            # uverbs.sh compares the results of the suites.
            if "/" not in name:
                known[access, name] = verdict
wrong = 0
for access, found in sorted(verdicts.items()):
    if set(found) != set(verdicts["process"]):
        print(f"{access}: dat_conform ran other statements than in this process")
        wrong += 1
    for name, (verdict, reason) in found.items():
        usual = verdicts["process"][name][0]
        expected = known.pop((access, name), None)
        if verdict != (expected or usual):
            print(f"{access}: {name} is {verdict}, not {expected or usual}: {reason}")
            wrong += 1
        elif expected == usual:
            print(f"{access}: tests/data/accesses.tsv lists {name}, which is {usual} in this process, too")
            wrong += 1
    print(f"{access}: {len(found)} statements, "
          f"{sum(v[0] == 'PASS' for v in found.values())} PASS")
for access, name in known:
    if access in verdicts and not selection:
        print(f"{access}: tests/data/accesses.tsv lists {name}, which no longer exists")
        wrong += 1
sys.exit(wrong != 0)
END
