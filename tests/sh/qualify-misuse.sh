#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dat_qualify and bundles that are forged or hostile, several runs at once, peers that go or are busy, and text that is
# none.
set -u
. tests/harness/skip.sh
. tests/harness/qualify.sh

run good.tar --steps 'identity,integrity-segments,windows-closed,errors-refused,latency-bind,counters' ||
	wrong "dat_qualify run fails on a good adapter"

# forge FILE <<CODE: writes a bundle that differs from good.tar as the code changes members, manifest, steps and checks
# (verdict, reason and attribute by name), and behind "# SUMS" members and body, the text of SUMS. All else fits.
forge() {
	PYTHONPATH=qualify python3 -B - "$tmp/good.tar" "$tmp/$1" 3<<<"$(cat)" >"$tmp/out" 2>&1 <<'PY' || wrong "$1 is not made"
import json, os, re, sys, bundle, judge, report
members = bundle.unpack(open(sys.argv[1], "rb").read())
manifest, checks = json.loads(members["manifest.json"]), {}
steps = {s["name"]: s for s in manifest["steps"]}
code = os.fdopen(3).read()
exec(code.partition("# SUMS")[0])
found = [c._replace(**dict(zip(("verdict", "reason", "attribute"), checks.get(c.name, ()))))
         for c in judge.judge_all(manifest, members)]
manifest.update(checks=[c._asdict() for c in found], verdict=judge.overall(found),
                count={v: sum(c.verdict == v for c in found) for v in judge.VERDICTS})
evidence = {n: members[n] for n in sorted(members) if n.startswith("evidence/")}
whole = {"manifest.json": (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode(), **evidence,
         "deviations.tsv": members["deviations.tsv"]}
whole["junit.xml"] = report.junit(manifest, found)
whole["report.html"] = report.page(manifest, found, whole)
members, body = whole, bundle.sums_text(whole).decode().rpartition("self ")[0]
exec(code.partition("# SUMS")[2])
open(sys.argv[2], "wb").write(bundle.pack(members, (body + bundle.own_line(body.encode())).encode()))
PY
}

# Text of a bundle does not become part of the page, of JUnit or of the terminal.
hostile() {
	PYTHONPATH=qualify python3 -B - "$tmp/good.tar" >"$tmp/out" 2>&1 <<'PY' || wrong "text of a bundle becomes part of its page"
import json, sys, xml.etree.ElementTree as tree, bundle, judge, report
BAD = "<script>\x1b\udcff"
members = bundle.unpack(open(sys.argv[1], "rb").read())
manifest = json.loads(members["manifest.json"])
name = next(s["evidence"] for s in manifest["steps"] if s["name"] == "identity")
identity = json.loads(members[name])
tried = 0

def leaves(value, path=()):
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for k, v in pairs:
        yield from leaves(v, path + (k,)) if isinstance(v, (dict, list)) else [path + (k,)]

def changed(top, path, value):
    top = json.loads(json.dumps(top))
    at = top
    for k in path[:-1]:
        at = at[k]
    at[path[-1]] = value
    return top

def judged(manifest, members):
    global tried
    try:
        checks = judge.judge_all(manifest, members)
        made = report.page(manifest, checks, members), report.junit(manifest, checks)
    except (LookupError, ValueError, TypeError, AttributeError):
        return
    tried += 1
    assert b"<script" not in made[0], path
    tree.fromstring(made[1])

plain = {k: v for k, v in manifest.items() if k not in ("steps", "checks", "count", "verdict")}
for path in leaves(plain):
    judged({**manifest, **changed(plain, path, BAD)}, members)
for path in leaves(manifest["steps"][:3]):
    judged({**manifest, "steps": changed(manifest["steps"], path, BAD)}, members)
for path in leaves(identity["here"]):
    judged(manifest, {**members, name: json.dumps({**identity, "here": changed(identity["here"], path, BAD)}).encode()})
assert tried > 100, tried
PY
	forge bad.tar <<<'manifest["program"] = "dat_qualify\x1b[2K\rverified"'
	q verify "$tmp/bad.tar" && wrong "dat_qualify verify accepts another program"
	grep -q $'[\x1b\r]' "$tmp/out" && wrong "dat_qualify verify prints control characters of a bundle"
	has "control characters" 'made by dat_qualify\?\[2K\?verified, '
}

hostile
exit $status
