#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# make bench, with few samples: every row of ours and of each built peer is there, JSON and Markdown
# agree, and a missing peer is named.
# Slow: only with DAPL_ALL=1.
set -u
build=$DAPL_BUILD_DIR
. tests/harness/skip.sh
[ -x "$build/tests/peer_verbs" ] || skip "not built here"
needs_valgrind "$build/bin/dat_bench"
export BENCH_QUICK=1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# A separate build directory, because other tests may be using this one.
for f in bin etc lib tests; do ln -s "$build/$f" "$tmp/$f"; done
rm "$tmp/etc" "$tmp/tests"
cp -r "$build/etc" "$tmp/etc"
mkdir "$tmp/tests"
for f in dat_bench2 peer_verbs peer_uct peer_dapl; do
	[ -x "$build/tests/$f" ] && ln -s "$build/tests/$f" "$tmp/tests/$f"
done
scripts/bench "$tmp" >"$tmp/out" 2>&1 || { cat "$tmp/out"; exit 1; }

# judge TEXT...: checks the files; peers whose programs are missing must be reported as missing
judge() {
	scripts/bench-peers "$tmp" >"$tmp/out" 2>&1 || { cat "$tmp/out"; exit 1; }
	python3 - "$tmp" <<-'END' || { cat "$tmp/out"; exit 1; }
		import json, os, sys
		build = sys.argv[1]
		rows = json.load(open(f"{build}/bench.json"))
		cells = {(r["api"], r["op"]): r for r in rows}
		assert len(cells) == len(rows), "a row twice"
		assert all(r["instructions"] > 0 and r["ns"] > 0 for r in rows)
		posts = ["post write 8 B inline", "post write 4 KB", "post read 4 KB", "post send 4 KB", "post recv"]
		binds, polls = ["bind unbound RMR", "rebind RMR", "unbind RMR"], ["dequeue one completion", "dequeue none"]
		have = {"direct 1.2": posts + binds + polls, "direct 1.2 threadsafe": posts + binds + polls}
		efa = ["post write 8 B", "post send 8 B", "post recv"] + polls + ["dequeue one message"]
		have["EFA 1.2"] = have["EFA 1.2, any order"] = have["EFA 1.2, writes kept"] = efa
		if os.path.exists(f"{build}/tests/dat_bench2"):
		    have["direct 2.0"] = have["direct 2.0 threadsafe"] = posts + binds + polls
		    have["EFA 2.0"] = efa
		missing = []
		for program, apis, ops in [
		        ("peer_verbs", ["ibv_post_send", "ibv_post_send, no locks"], posts + binds + polls),
		        ("peer_verbs", ["ibv_wr_*"], posts[:-1] + binds[::2]),
		        ("peer_uct", ["UCX rc_mlx5"], [posts[0]] + polls),
		        ("peer_dapl", ["OpenFabrics dapl"], posts + polls)]:
		    for api in apis:
		        if os.path.exists(f"{build}/tests/{program}"):
		            have[api] = ops
		        else:
		            missing.append(api)
		for api, ops in have.items():
		    for op in ops:
		        assert (api, op) in cells, f"no row {op} of {api}"
		assert {r["api"] for r in rows} == set(have), "an unrequested api"
		text = open(f"{build}/bench.md").read()
		heads = text.splitlines()[2].split("|")
		assert [h.strip() for h in heads[2:-1]] == list(dict.fromkeys(r["api"] for r in rows))
		for (api, op), r in cells.items():
		    assert f"{r['instructions']} / {r['ns']:.1f}" in text, f"{op} of {api} is not in the table"
		for api in missing:
		    assert f"Missing: {api}: not built" in text, f"{api} is not said to be missing"
		bars = text[text.index("# Bars"):].splitlines()[4:]
		assert len([b for b in bars if "holds" in b or "short by" in b]) == len(bars)
		levels = 2 if "direct 2.0" in have else 1
		assert len(bars) >= levels * (14 * 2 + 4) + 2, f"{len(bars)} bars for {levels} levels of the API"
		assert "| direct 1.2: bind unbound RMR, instructions | 120 |" in text
		assert levels == 1 or "| direct 2.0: bind unbound RMR, instructions | 132 |" in text
		assert "| direct 1.2: post_n, each of 16 writes 8 B, instructions | 30 |" in text
		assert "ibv_post_send" in missing or any("ns to those of ibv_poll_cq" in b for b in bars)
		assert not any("rebind RMR, more where threadsafe" in b and "short" in b for b in bars)
	END
	! command -v gnuplot >/dev/null || [ ! -e "$tmp/tests/peer_verbs" ] || grep -q '<svg' "$tmp/bench.svg" ||
		{ echo "no plot"; exit 1; }
}

judge
rm -f "$tmp"/tests/peer_* "$tmp/bench.svg"
judge
