#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# make bench-transports, with few samples: each available column has its figures, each limit is checked,
# and missing ones are named. With DAPL_ALL=1 the other transports run too; otherwise all of them count
# as missing.
# Slow: only with DAPL_ALL=1.
set -u
build=$DAPL_BUILD_DIR
[ -x "$build/bin/dat_write_bw" ] || { echo "not built here"; exit 77; }
export BENCH_QUICK=1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
ln -s "$build/bin" "$build/etc" "$build/lib" "$tmp/"

# judge COLUMN...: checks that these columns have figures, and that every other column is missing
# because of its package
judge() {
	python3 - "$tmp/transports.md" "$@" <<-'END' || { cat "$tmp/transports.md"; exit 1; }
		import sys
		text = open(sys.argv[1]).read()
		wanted = sys.argv[2:]
		lines = text.splitlines()
		table = [[c.strip() for c in l.split("|")[1:-1]] for l in lines if l.startswith("|")]
		heads, bars = table[0][1:], [r for r in table if len(r) == 4 and r[1].startswith("at ")]
		rows = {r[0]: dict(zip(heads, r[1:])) for r in table if len(r) == len(heads) + 1 and r[0]}
		assert heads == wanted, heads
		everyone = ["UCX posix", "UCX sysv", "UCX cma", "UCX tcp", "libfabric shm", "libfabric tcp"]
		for title in everyone:
		    assert (title in heads) != (f"Missing: {title}: Debian's " in text), title
		for title in heads:
		    ours = title.startswith("ours")
		    for row in ["write 64 KB, GB/s", "write 1 MB, GB/s"] + (
		            ["write 8 B, us", "message 8 B, us", "write 8 B, M/s", "write 4 KB, GB/s",
		             "64 endpoints in turn, M/s"] if ours else []):
		        # A peer that fails has no figure, and a line reports the failure.
		        assert (not ours and f"Failed: {title}, {row}: " in text) or float(rows[row][title]) > 0
		assert len(bars) == 12, bars
		for bar in bars:
		    compared = "of UCX posix" not in bar[1] or float(bar[2] if bar[2] != "-" else 0)
		    assert bar[3] == "holds" or bar[3].startswith("short by ") if compared else bar[3] == "not measured", bar
		    assert compared or "UCX posix" not in heads or "Failed: UCX posix" in text, bar
	END
}

ours=("ours, target polls" "ours, target asleep")
ours+=("ours on an EFA, target polls" "ours on an EFA, target asleep")
ours+=("ours on an EFA, relaxed, target polls" "ours on an EFA, relaxed, target asleep")
theirs=()
command -v ucx_perftest >/dev/null && theirs+=("UCX posix" "UCX sysv" "UCX cma" "UCX tcp")
command -v fi_pingpong >/dev/null && theirs+=("libfabric shm" "libfabric tcp")
if [ -n "${DAPL_ALL-}" ]; then
	timeout -k 1 300 scripts/bench-transports "$tmp" >"$tmp/out" 2>&1 ||
		grep -q '^Failed: \(UCX\|libfabric\) ' "$tmp/out" || { cat "$tmp/out"; exit 1; }
	judge "${ours[@]}" ${theirs[0]+"${theirs[@]}"}
fi
mkdir "$tmp/path"
ln -s "$(python3 -c "import sys; print(sys.executable)")" "$tmp/path/python3"
timeout -k 1 300 env PATH="$tmp/path" python3 scripts/bench-transports "$tmp" >"$tmp/out" 2>&1 || { cat "$tmp/out"; exit 1; }
judge "${ours[@]}"
