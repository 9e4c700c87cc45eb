#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dat_qualify: a bundle of a few steps is verified, each changed byte is refused by name and offset, a failure
# is reported unless a known deviation has it, and signatures are checked.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/skip.sh
command -v ssh-keygen >/dev/null || skip "ssh-keygen is not installed"
. tests/harness/own_ip.sh
. tests/harness/qualify.sh

passes() {
	run good.tar --steps 'identity,integrity-segments,windows-*,errors-refused,latency-bind,counters' || wrong "dat_qualify run fails on a good adapter"
	has "a run" '^PASS +windows-closed '
	has "a run" '^PASS +windows-keys +[0-9.]+ million per second$'
	has "a run" '^PASS +integrity-segments +4 of 4 checks pass$'
	has "a run" '^PASS +errors-refused +96 accesses refused$'
	has "a run" '^NOT APPLICABLE +counters '
	has "a run" '^PASS: [1-9].* 0 FAIL, '
	q verify -x "$tmp/x" "$tmp/good.tar" || wrong "dat_qualify verify refuses a good bundle"
	python3 - "$tmp/x" <<'PY' || wrong "the bundle has other members than expected"
import hashlib, html.parser, json, pathlib, sys, xml.etree.ElementTree as tree
x = pathlib.Path(sys.argv[1])
manifest = json.loads((x / "manifest.json").read_text())
checks = {c["name"]: c for c in manifest["checks"]}
assert checks["windows-closed"]["verdict"] == "PASS" and manifest["seed"] == 5
for op in ("send", "write", "read", "window"):
    check = checks["integrity-segments/" + op]
    assert check["verdict"] == "PASS" and int(check["reason"].split()[0]) > 1000, check
assert checks["soak"]["verdict"] == "NOT TESTED" and "--steps" in checks["soak"]["reason"]
assert checks["counters/here"]["attribute"] == "access = model"
cases = tree.parse(x / "junit.xml").getroot().findall("*/testcase")
assert sorted(c.get("name") for c in cases) == sorted(checks)
page = (x / "report.html").read_text()
for text in ("A &amp; &lt;B&gt;", "windows-closed", "<svg", hashlib.sha256((x / "deviations.tsv").read_bytes()).hexdigest()):
    assert text in page, text
assert "http" not in page.replace("http-equiv", ""), "the page needs another file"
identity = json.loads(next((x / "evidence").glob("*-identity.json")).read_text())
assert identity["here"]["adapter"]["name"] == "soft-mlx5-0" and identity["here"]["host"]["kernel"]
assert len(identity["here"]["sha256"]["dat_conform"]) == 64
PY
}

# Changes one byte at places of each kind, with a fixed seed. The program itself checks one of them,
# its Python module the others.
changed_bytes() {
	PYTHONPATH=qualify python3 -B - "$tmp/good.tar" "$tmp/bad.tar" >"$tmp/out" 2>&1 <<'PY' || wrong "a bundle with a changed byte is not refused with the right message"
import random, sys, tarfile, bundle
data = open(sys.argv[1], "rb").read()
members = tarfile.open(sys.argv[1]).getmembers()
r = random.Random(19)

def refused(at, value, text):
    changed = data[:at] + bytes([value]) + data[at + 1:]
    try:
        bundle.unpack(changed)
    except bundle.Damaged as error:
        assert str(error).startswith(text), f"byte {at}: {text}: {error}"
        return changed
    raise AssertionError(f"byte {at} may change: {text}")

assert list(bundle.unpack(data)) == [m.name for m in members[1:]]
for m in members[1:]:
    for _ in range(4 if m.size else 0):
        n = r.randrange(m.size)
        old = data[m.offset_data + n]
        new = (old + r.randrange(1, 256)) % 256
        last = refused(m.offset_data + n, new, f"{m.name}: byte {n} was 0x{old:02x} and is 0x{new:02x}")
    n = m.offset + r.randrange(512)
    refused(n, data[n] ^ 1, f"header of {m.name}: byte {n} ")
sums = members[0]
for n in (0, sums.size // 2, sums.size - 90, sums.size - 2, *(r.randrange(sums.size) for _ in range(8))):
    old = data[sums.offset_data + n]
    refused(sums.offset_data + n, old ^ 1, f"SUMS: byte {n} was 0x{old:02x} and is 0x{old ^ 1:02x}")
refused(130, data[130] ^ 1, "header of SUMS: byte 130 ")
refused(len(data) - 1, 7, "end of the bundle")
with open(sys.argv[2], "wb") as f:
    f.write(last)
PY
	q verify "$tmp/bad.tar" && wrong "dat_qualify verify accepts a bundle with a changed byte"
	has "a changed byte" 'bad.tar: report.html: byte [0-9]+ was 0x.. and is 0x..$'
	head -c 4000 "$tmp/good.tar" >"$tmp/bad.tar"
	q verify "$tmp/bad.tar" && wrong "dat_qualify verify accepts half a bundle"
}

# A verdict that does not follow from the evidence is refused, even if all hashes are right.
forged() {
	PYTHONPATH=qualify python3 -B - "$tmp/good.tar" "$tmp/bad.tar" <<'PY'
import sys, bundle
members = bundle.unpack(open(sys.argv[1], "rb").read())
name = next(n for n in members if n.endswith("windows-closed.json"))
members[name] = members[name].replace(b"every byte verified", b"every byte is right")
open(sys.argv[2], "wb").write(bundle.pack(members))
PY
	q verify "$tmp/bad.tar" && wrong "dat_qualify verify accepts a forged verdict"
	has "a forged verdict" 'windows-closed: the bundle states PASS, and its evidence gives FAIL'
}

# A member whose name leads out of the folder of verify -x is refused, even if all else is right.
escapes() {
	PYTHONPATH=qualify python3 -B - "$tmp/good.tar" "$tmp/bad.tar" <<'PY'
import json, sys, bundle, judge, report
members = bundle.unpack(open(sys.argv[1], "rb").read())
members["evidence/../../escaped"] = b"written\n"
manifest = json.loads(members["manifest.json"])
evidence = sorted(n for n in members if n.startswith("evidence/"))
whole = {n: members[n] for n in ("manifest.json", *evidence, "deviations.tsv", "junit.xml")}
whole["report.html"] = report.page(manifest, judge.judge_all(manifest, members), whole)
open(sys.argv[2], "wb").write(bundle.pack(whole))
PY
	mkdir "$tmp/folder"
	q verify -x "$tmp/folder/x" "$tmp/bad.tar" && wrong "dat_qualify verify accepts a member outside of the bundle"
	has "a member outside" "no member of a bundle is named 'evidence/../../escaped'"
	[ ! -e "$tmp/folder/escaped" ] || wrong "dat_qualify verify -x writes outside of its folder"
}

# The end of a connection flushes the posted receives, and the adapter counts that. Other counters of requests may
# not grow.
flushed() {
	PYTHONPATH=qualify python3 -B - "$tmp/good.tar" >"$tmp/out" 2>&1 <<'PY' || wrong "a counter is judged wrongly"
import json, sys, bundle, judge
members = bundle.unpack(open(sys.argv[1], "rb").read())
manifest = json.loads(members["manifest.json"])
evidence = {s["name"]: s["evidence"] for s in manifest["steps"]}

def judged(name, growth):
    """Returns verdict and reason of the section Latency if this counter grew in it."""
    before, after = {name: 7}, {name: 7 + growth}
    step, last = (json.loads(members[evidence[n]]) for n in ("latency-bind", "counters"))
    step["counters"]["here"], last["here"] = [before, after], after
    changed = {evidence["latency-bind"]: step, evidence["counters"]: last}
    checks = judge.judge_all(manifest, {**members, **{n: json.dumps(r).encode() for n, r in changed.items()}})
    return next(c[3:5] for c in checks if c.name == "counters/here/Latency")

for name in ("resp_cqe_flush_error", "resp_cqe_error", "req_cqe_flush_error", "req_cqe_error"):
    assert judged(name, 512)[0] == "PASS", name
assert judged("out_of_buffer", 0)[0] == "PASS"
assert judged("out_of_buffer", 4) == ("FAIL", "out_of_buffer grew by 4")
PY
}

# A limit of the adapter is known also if --steps excludes the step that asks for it.
unselected() {
	run some.tar --steps 'windows-closed,scale-1' || wrong "dat_qualify run fails without the step identity"
	has "without the step identity" '^PASS +windows-closed '
	has "without the step identity" '^PASS +scale-1 '
}

# What makes a run useless is reported before its first step, and nothing remains in TMPDIR.
refusals() {
	local number port
	mkdir "$tmp/empty"
	export TMPDIR=$tmp/empty
	run none/x.tar --steps identity && wrong "dat_qualify run succeeds although its bundle cannot be written"
	has "no folder for the bundle" "cannot write $tmp/none/x.tar: No such file or directory; -o names another file"
	run empty --steps identity && wrong "dat_qualify run writes over a folder"
	has "a folder in place of the bundle" "cannot write $tmp/empty: Is a directory"
	for number in 65536 -1 x 1e9; do
		q run --port=$number
		[ $? = 64 ] || wrong "the status for --port=$number is not 64"
		has "--port=$number" "'$number' is not a number from 0 to 65535"
	done
	mkfifo "$tmp/fifo"
	run fifo --steps identity && wrong "dat_qualify run writes a bundle to a FIFO"
	has "a FIFO in place of the bundle" "cannot write $tmp/fifo: it is no regular file"
	[ -p "$tmp/fifo" ] || wrong "dat_qualify run replaces a FIFO"
	run x.tar --steps identity,conformence
	[ $? = 64 ] || wrong "the status for a step that does not exist is not 64"
	has "a step that does not exist" "no step of a quick run matches 'conformence': dat_qualify list names them"
	printf 'D8\t\xff\t*\ttext\n' >"$tmp/known"
	run x.tar --steps identity -d "$tmp/known" && wrong "dat_qualify run accepts deviations that are no text"
	has "deviations that are no text" "^dat_qualify: $tmp/known: "
	stranger <<'PY'
import socket
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1], flush=True)
    client, _ = listener.accept()
    client.sendall(b"SSH-2.0-\xff\r\n")
    while client.recv(1000):
        pass
PY
	run x.tar -p 127.0.0.1 --port "$port" --steps identity && wrong "dat_qualify run accepts another server"
	has "another server" "no dat_qualify serve answers at 127.0.0.1, TCP port .*: another program answers: .SSH-2.0"
	stop_server
	[ -z "$(ls -A "$TMPDIR")" ] || wrong "a refused run leaves $(ls "$TMPDIR") in TMPDIR"
	unset TMPDIR
}

# The model lets a peer write through an old key. This is a failure, unless it is a known deviation.
planted() {
	for instance in nonthreadsafe threadsafe; do
		echo "$ia u1.2 $instance default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 \"fault=quirk=old_keys\" \"\""
	done >"$tmp/dat.conf"
	DAT_OVERRIDE=$tmp/dat.conf run fail.tar --steps 'identity,windows-closed,errors-refused' && wrong "dat_qualify run succeeds on an adapter with a planted defect"
	has "a planted failure" '^FAIL +windows-closed '
	has "a planted failure" '^FAIL +errors-refused +write, unbound window, 1 bytes: SUCCESS instead of REMOTE_ACCESS'
	q verify "$tmp/fail.tar" || wrong "dat_qualify verify refuses the bundle of a failed run"
	has "a planted failure" '^FAIL: .* 2 FAIL, '
	printf '# a comment\nD7\twindows-*\t*\told keys\n' >"$tmp/known"
	DAT_OVERRIDE=$tmp/dat.conf run known.tar --steps 'identity,windows-closed' -d "$tmp/known" || wrong "dat_qualify run fails on a known deviation"
	has "a known deviation" '^PASS with comment +windows-closed +known deviation D7: old keys'
	q verify "$tmp/known.tar" || wrong "dat_qualify verify refuses a bundle with a known deviation"
	echo 'D8 windows' >"$tmp/known"
	run none.tar --steps identity -d "$tmp/known" && wrong "dat_qualify run accepts a malformed file of deviations"
	has "a malformed deviation" "$tmp/known: line 1: four fields"
}

# Latencies at given rates: the verdict follows from the rate that was reached. It says how many operations were
# late. Figures that miss planned operations are refused.
rates() {
	run rate.tar --steps 'identity,latency-rate-write-*' || wrong "dat_qualify run fails on latencies at given rates"
	has "a rate" '^PASS( with comment)? +latency-rate-write-1000 +1000 per second asked, [0-9]+ reached, [0-9]+ of [0-9]+ started late; median '
	has "a rate" '^PASS( with comment)? +latency-rate-write-10000 +10000 per second asked, '
	q verify -x "$tmp/r" "$tmp/rate.tar" || wrong "dat_qualify verify refuses the bundle of latencies at given rates"
	PYTHONPATH=qualify python3 -B - "$tmp/rate.tar" >"$tmp/out" 2>&1 <<'PY' || wrong "a verdict does not follow from the rate that was reached"
import json, sys, bundle, judge
members = bundle.unpack(open(sys.argv[1], "rb").read())
manifest = json.loads(members["manifest.json"])
page = members["report.html"].decode()
assert "Latency over rate, dat_write_lat" in page and "operations per second asked" in page
name = next(n for n in members if n.endswith("latency-rate-write-1000.result.json"))

def verdict(**changed):
    """Returns verdict and reason if these figures of the program were others."""
    report = json.loads(members[name])
    report["results"][0].update(changed)
    checks = judge.judge_all(manifest, {**members, name: json.dumps(report).encode()})
    return next(c[3:5] for c in checks if c.name == "latency-rate-write-1000")

assert verdict(rate_reached=995.0)[0] == "PASS"
found = verdict(rate_reached=500.0)
assert found[0] == "PASS with comment" and "1000 per second asked, 500 reached" in found[1], found
found = verdict(n_iterations=1500, unstarted=0)
assert found == ("FAIL", "1500 operations are counted at 1000 per second, 2000 were planned"), found
assert verdict(rate_asked=10)[0] == "FAIL"
PY
}

# On an IA of uDAPL 2.0 all steps run whose programs exist for it.
dat2() {
	[ -x "$DAPL_BUILD_DIR/libexec/dapl-direct/dat2/dat_info" ] || return
	DAT_OVERRIDE=$DAPL_BUILD_DIR/etc/dat2.conf run dat2.tar --steps \
		'identity,conformance,questions,windows*,errors*,integrity-write-odd,integrity-segments,death-send_bw-client,latency-send-8,latency-bind' ||
		wrong "dat_qualify run fails on an IA of uDAPL 2.0"
	has "an IA of uDAPL 2.0" '^PASS +errors-refused +96 accesses refused$'
	has "an IA of uDAPL 2.0" '^PASS +integrity-segments +4 of 4 checks pass$'
	q verify -x "$tmp/2" "$tmp/dat2.tar" || wrong "dat_qualify verify refuses the bundle of an IA of uDAPL 2.0"
	grep -q 'Qualification of soft-mlx5-0 for uDAPL 2.0</h1>' "$tmp/2/report.html" || wrong "the page does not state uDAPL 2.0"
	python3 - "$tmp/2" <<'PY' || wrong "the evidence of uDAPL 2.0 lacks verdicts or hashes"
import json, pathlib, sys
x = pathlib.Path(sys.argv[1])
manifest = json.loads((x / "manifest.json").read_text())
checks = {c["name"]: (c["verdict"], c["reason"]) for c in manifest["checks"]}
for name in ("windows-keys", "windows-closed", "integrity-write-odd", "death-send_bw-client", "latency-send-8", "latency-bind"):
    assert checks[name][0] == "PASS", (name, checks[name])
for name, program in (("conformance", "dat_conform"), ("errors", "dat_conform"), ("questions", "dat_first_light")):
    assert checks[name] == ("NOT TESTED", f"{program} is a program of uDAPL 1.2 only"), checks[name]
end = json.loads(next((x / "evidence").glob("*-identity.json")).read_text())["here"]
assert end["adapter"]["api_major"] == 2 and end["build"]["version"]
assert len(end["sha256"]["dat2/dat_send_lat"]) == len(end["sha256"]["libdapl-direct2.so"]) == 64
PY
}

signatures() {
	ssh-keygen -q -t ed25519 -N '' -f "$tmp/key" && ssh-keygen -q -t ed25519 -N '' -f "$tmp/other" || exit 1
	echo "tester@example.org namespaces=\"dat-qualify\" $(cut -d' ' -f1,2 "$tmp/key.pub")" >"$tmp/signers"
	q verify --signers "$tmp/signers" "$tmp/good.tar" && wrong "dat_qualify verify accepts an unsigned bundle"
	q sign -k "$tmp/key" "$tmp/good.tar" || wrong "dat_qualify sign fails"
	q verify --signers "$tmp/signers" "$tmp/good.tar" || wrong "dat_qualify verify refuses a good signature"
	has "a signature" '^signature good.tar.tester.sig: valid: Good "dat-qualify" signature for tester@example.org'
	q sign -k "$tmp/other" --role reviewer "$tmp/good.tar" || wrong "dat_qualify sign --role reviewer fails"
	q verify --signers "$tmp/signers" "$tmp/good.tar" && wrong "dat_qualify verify accepts a signature of another key"
	has "a signature of another key" 'reviewer.sig: NOT valid: its key is not in'
	echo "reviewer@example.org namespaces=\"dat-qualify-reviewer\" $(cut -d' ' -f1,2 "$tmp/other.pub")" >>"$tmp/signers"
	q verify --signers "$tmp/signers" "$tmp/good.tar" || wrong "dat_qualify verify refuses the signatures of both roles"
	has "a reviewer" 'reviewer.sig: valid: Good "dat-qualify-reviewer" signature for reviewer@example.org'
	echo "again@example.org namespaces=\"dat-qualify-reviewer\" $(cut -d' ' -f1,2 "$tmp/key.pub")" | cat "$tmp/signers" - >"$tmp/twice"
	q sign -k "$tmp/key" --role reviewer "$tmp/good.tar" || wrong "dat_qualify sign fails for a second role"
	q verify --signers "$tmp/twice" "$tmp/good.tar" || wrong "dat_qualify verify refuses a key that has another name as the reviewer's"
	has "a key of both roles" 'reviewer.sig: valid: .* for again@example.org'
	cp "$tmp/good.tar.tester.sig" "$tmp/good.tar.reviewer.sig"
	q verify "$tmp/good.tar" && wrong "dat_qualify verify accepts the tester's signature as the reviewer's"
	q verify --signers "$tmp/signers" "$tmp/good.tar" && wrong "dat_qualify verify accepts the tester's signature as the reviewer's"
	has "a signature of another role" 'reviewer.sig: NOT valid: .*namespace'
	rm "$tmp/good.tar.reviewer.sig"
	q verify --signers "$tmp/signers" -s "$tmp/good.tar.tester.sig" "$tmp/known.tar" && wrong "dat_qualify verify accepts a signature of another bundle"
	cp "$tmp/good.tar.tester.sig" "$tmp/good.tar.old.tester.sig"
	q verify --signers "$tmp/signers" -s "$tmp/good.tar.tester.sig" "$tmp/good.tar" && q verify --signers "$tmp/signers" "$tmp/good.tar" ||
		wrong "dat_qualify verify takes the signature of another bundle"
	grep -q old "$tmp/out" && wrong "dat_qualify verify takes the signature of a bundle whose name is longer"
	q verify --signers "$tmp/none" "$tmp/good.tar" && wrong "dat_qualify verify succeeds without a file of signers"
	has "no file of signers" "tester.sig: NOT valid: .*\"$tmp/none\": No such file"
	echo nonsense >"$tmp/none.sig"
	q verify --signers "$tmp/signers" -s "$tmp/none.sig" "$tmp/good.tar" && wrong "dat_qualify verify accepts a file that is no signature"
	has "no signature" "none.sig: NOT valid: .*parse signature"
	env PATH=/none "$DAPL_BUILD_DIR/bin/dat_qualify" verify "$tmp/good.tar" >"$tmp/out" 2>&1 &&
		wrong "dat_qualify verify succeeds without ssh-keygen"
	has "no ssh-keygen" "tester.sig: NOT valid: there is no ssh-keygen: install openssh-client"
	q sign -k "$tmp/none" "$tmp/good.tar" && wrong "dat_qualify sign succeeds without a key file"
}

# limited ARGUMENT...: runs the program, which cannot write to a file, as on a full disk
limited() { (ulimit -f 0 && timeout 60 "$DAPL_BUILD_DIR/bin/dat_qualify" "$@" 2>&1 </dev/null) | cat >"$tmp/out"; }

# A file that cannot be written is named, and no part of it remains.
full_disk() {
	cp "$tmp/good.tar.tester.sig" "$tmp/kept.sig"
	limited sign -k "$tmp/other" "$tmp/good.tar"
	has "a signature that cannot be written" "^dat_qualify: cannot write $tmp/good.tar.tester.sig: File too large$"
	cmp -s "$tmp/kept.sig" "$tmp/good.tar.tester.sig" || wrong "dat_qualify sign destroys a signature that it cannot replace"
	limited verify -x "$tmp/full" "$tmp/good.tar"
	has "a member that cannot be written" "^dat_qualify: cannot write $tmp/full/manifest.json: File too large$"
	[ -z "$(ls -A "$tmp/full")" ] || wrong "dat_qualify verify -x leaves a part of a member"
}

peer() {
	local port
	at_port "$DAPL_BUILD_DIR/bin/dat_qualify" serve -i $ia --port 0
	# A connection of another program does not end the server.
	printf 'GET / \xff\n1\n["finish"]\n' >"/dev/tcp/127.0.0.1/$port"
	head -c 100000 /dev/zero | tr '\0' '[' >"/dev/tcp/127.0.0.1/$port"
	run peer.tar -p 127.0.0.1 --port "$port" --steps 'identity,windows-closed,death-send_bw-server' || wrong "dat_qualify run with a peer fails"
	has "with a peer" '^PASS +death-send_bw-server +the other end reports BROKEN'
	q verify "$tmp/peer.tar" || wrong "dat_qualify verify refuses a bundle of two hosts"
	PYTHONPATH=qualify python3 -B - "$tmp/peer.tar" >"$tmp/out" 2>&1 <<'PY' || wrong "a server that crashed passes as one that was killed"
import json, sys, bundle, judge
members = bundle.unpack(open(sys.argv[1], "rb").read())
name = next(n for n in members if n.endswith("death-send_bw-server.json"))
record = json.loads(members[name])
record["children"][0].update(killed=None, status=-11)
checks = judge.judge_all(json.loads(members["manifest.json"]), {**members, name: json.dumps(record).encode()})
found = next(c[3:5] for c in checks if c.name == "death-send_bw-server")
assert found == ("FAIL", "the server ended before the kill: dat_send_bw was ended by SIGSEGV"), found
PY
	stop_server
	run peer.tar -p 127.0.0.1 --port "$port" && wrong "dat_qualify run succeeds although its peer does not answer"
	has "without a peer" "no dat_qualify serve answers at 127.0.0.1, TCP port $port: Connection refused; start it there first$"
}

options() {
	q verify "$tmp/none.tar" && wrong "dat_qualify verify succeeds without a bundle"
	has "no bundle" "^dat_qualify: $tmp/none.tar: No such file or directory$"
	q run --nonsense
	[ $? = 64 ] || wrong "the status for an invalid option is not 64"
	q list -q || wrong "dat_qualify list fails"
	has "the list" '^conformance +Conformance '
}

# Behind VFIO an adapter serves one process, so steps with two processes on this host are not tested.
by_vfio() {
	[ -x "$DAPL_BUILD_DIR/bin/softnic-run" ] || return 0
	echo "0000:01:00.0 u1.2 nonthreadsafe default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 \"ip=$(own_ip)\" \"\"" \
		>"$tmp/vfio.conf"
	DAT_OVERRIDE=$tmp/vfio.conf timeout 300 "$DAPL_BUILD_DIR/bin/softnic-run" --vfio "$DAPL_BUILD_DIR/bin/dat_qualify" run \
		--quick -i 0000:01:00.0 -o "$tmp/vfio.tar" --steps 'latency-bind,conformance,errors-refused' >"$tmp/out" 2>&1 ||
		wrong "dat_qualify run fails on a good adapter behind VFIO"
	has "a run behind VFIO" '^NOT TESTED +latency-bind +behind VFIO the adapter serves one process; --peer'
	has "a run behind VFIO" '^PASS +conformance '
	has "a run behind VFIO" '^PASS +errors-refused '
	q verify "$tmp/vfio.tar" || wrong "dat_qualify verify refuses the bundle of an adapter behind VFIO"
}

passes
by_vfio
changed_bytes
forged
escapes
flushed
unselected
refusals
planted
rates
dat2
signatures
full_disk
peer
options
exit $status
