#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# make bench-hosts, with few samples: our device has its figures; each other column has them, or is named as missing
# or failed.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/skip.sh
[ -z "${SAN-}" ] || skip "the programs are slow under a sanitizer"
build=$DAPL_BUILD_DIR
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
ln -s "$build/bin" "$build/etc" "$build/lib" "$tmp/"
scripts/two-hosts true || exit
# A folder of PATH, and a program in it, may be a symbolic link.
ln -s "$(command -v sleep)" "$tmp/sleep"
PATH=$tmp:$PATH timeout -k 1 60 scripts/two-hosts true || { echo "two-hosts fails with sleep behind a link"; exit 1; }
BENCH_QUICK=1 timeout -k 1 300 scripts/bench-hosts "$tmp" >"$tmp/out" 2>&1 ||
	grep -q '^Failed: \(UCX\|TCP\)' "$tmp/out" || { cat "$tmp/out"; exit 1; }
python3 - "$tmp/hosts.md" <<'END' || { cat "$tmp/out"; exit 1; }
import sys
text = open(sys.argv[1]).read()
table = [[c.strip() for c in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
rows = {r[0]: dict(zip(table[0][1:], r[1:])) for r in table[2:]}
assert list(rows) == ["ping-pong 64 B, us", "stream 64 KB, GB/s"], rows
for row, cells in rows.items():
    assert float(cells["ours"]) > 0, row
    for title in "TCP socket", "UCX tcp":
        assert f"{title}: Debian's " in text or f"Failed: {title}, {row}: " in text or float(cells[title]) > 0, title
END
