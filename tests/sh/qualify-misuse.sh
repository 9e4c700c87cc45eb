#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dat_qualify and bundles that are forged or hostile, several runs at once, peers that end or are busy, and bytes that
# are not UTF-8.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/skip.sh
. tests/harness/qualify.sh
. tests/harness/background.sh

run good.tar --steps 'identity,integrity-segments,windows-closed,errors-refused,latency-bind,counters' ||
	wrong "dat_qualify run fails on a good adapter"

# forge FILE <<CODE: writes a bundle that differs from good.tar as the code changes members, manifest, steps and checks
# (verdict, reason and attribute by name), and, after "# SUMS", members and body, the text of SUMS. The rest is valid.
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

# refuses FILE TEXT PATTERN: dat_qualify verify refuses the file and prints such a line
refuses() {
	q verify "$tmp/$1" && wrong "dat_qualify verify accepts $2"
	has "$2" "$3"
	grep -q 'Traceback' "$tmp/out" && wrong "dat_qualify verify crashes for $2"
}

# verify checks the verdict NOT APPLICABLE and the plan against the evidence, and each entry of SUMS.
forged_plans() {
	local body
	forge same.tar </dev/null
	q verify "$tmp/same.tar" || wrong "dat_qualify verify refuses a bundle that is made again"
	forge bad.tar <<-'PY'
		reason = "the adapter has 0 and 1 are needed", "limits.rmrs"
		steps["windows-closed"].update(evidence=None, not_applicable=reason)
		checks["windows-closed"] = "NOT APPLICABLE", *reason
	PY
	refuses bad.tar "an attribute that is not the adapter's" \
		'windows-closed: the bundle states NOT APPLICABLE, and its evidence gives FAIL'
	forge bad.tar <<<'steps["latency-bind"]["args"] = ["-n", "5"]'
	refuses bad.tar "another plan" 'manifest.json: its steps are not those of the plan'
	forge bad.tar <<-'PY'
		# SUMS
		body = re.sub(r"(?m)^file [0-9a-f]{8}(.* junit.xml)$", r"file 00000000\1", body)
	PY
	refuses bad.tar "a wrong hash in SUMS" 'SUMS: hash or blocks of junit.xml are not those of its bytes'
	forge bad.tar <<-'PY'
		# SUMS
		body = re.sub(r"(?m)^(file .* junit.xml\n)(block .*\n)+", r"\1", body)
	PY
	refuses bad.tar "a member without blocks" 'SUMS: hash or blocks of junit.xml are not those of its bytes'
	forge bad.tar <<-'PY'
		# SUMS
		body = re.sub(r"(?m)^(file .* deviations.tsv\n)", r"\1\1", body)
	PY
	refuses bad.tar "a member that is listed twice" 'SUMS: deviations.tsv is listed twice'
	for body in 'block 0 0 0' 'file 0 0' x 'file \xff 1 x'; do
		forge bad.tar <<<"# SUMS"$'\n'"body = '$body\\n'"
		refuses bad.tar "SUMS with $body" 'SUMS: its lines are not those of a bundle'
	done
	for body in 1e300 '" + "[" * 100000 + "]" * 100000 + "'; do
		forge bad.tar <<-PY
			# SUMS
			text = ('{"begun": ' + "$body" + ',').encode()
			members["manifest.json"] = members["manifest.json"].replace(b"{", text, 1)
			members["manifest.json"] = re.sub(rb'\n "begun": [0-9]+,', b"", members["manifest.json"])
			body = bundle.sums_text(members).decode().rpartition("self ")[0]
		PY
		refuses bad.tar "a manifest without a bound" 'the evidence cannot be judged: '
	done
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

# A soak that was cut short, or whose program wrote nothing, is no plain PASS. Neither is a statement that this host
# cannot try. An incomplete record is a FAIL of its step.
judges() {
	PYTHONPATH=qualify python3 -B - >"$tmp/out" 2>&1 <<'PY' || wrong "a judge gives a wrong verdict"
import json, judge
good = {"argv": ["dat_send_bw", "--verify"], "status": 0, "killed": None, "seconds": 20, "role": "dat_send_bw client",
        "stdout": "all data verified", "stderr": "", "result": "r"}

class Evidence:
    def __init__(self, report):
        self.report = report
    def result(self, child):
        return self.report

def soak(seconds, report):
    record = {"children": [good], "samples": [], "seconds": seconds}
    return [c[:3] for c in judge.judge_soak(record, Evidence(report), {"args": [20]})]

wrote = {"test_info": {"verified": True}}
assert soak(20, wrote) == [("programs", "PASS", "1 programs, 20 s"), ("dat_send_bw client/data", "PASS", "all data verified")]
assert soak(5, wrote)[0] == ("programs", "PASS with comment", "1 programs, 5 s instead of 20")
assert soak(20, None)[1][1] == "FAIL", soak(20, None)

class Short(Evidence):
    def limits(self):
        return {}
    def record(self, name):
        return {"children": [{"role": "server"}, good]}

found = judge.judge_step({"name": "x", "kind": "perf", "not_run": None, "needs": None}, Short(None))
assert [c[:3] for c in found] == [("", "FAIL", "the evidence cannot be judged: it lacks 'killed'")], found

def statement(reason):
    found = {"statements": [{"name": "n", "page": "dat_p", "section": "S", "verdict": "SKIP", "reason": reason, "ms": 1}],
             "count": {"pass": 0, "fail": 0, "skip": 1}}
    return next(judge.judge_conform({"children": [good]}, Evidence(found), {}))[1::2]

for reason in ("a test may not have a network of its own here, all of whose ports it can take",
               "the test cannot kill its peer, which is on another host (-r)"):
    assert statement(reason) == ("NOT TESTED", ""), reason
for reason, attribute in (
    ("srq_supported is false: dat_srq_create answers MODEL_NOT_SUPPORTED", "srq_supported"),
    ("dat_qos_supported has PREMIUM", "dat_qos_supported"),
    ("lmr_mem_types_supported of the peer has no SHARED_VIRTUAL", "lmr_mem_types_supported"),
    ("iov_ownership_on_return says that the provider owns the segments", "iov_ownership_on_return"),
    ("dat_cno_create answers INSUFFICIENT_RESOURCES, which its page allows", "dat_p(3), S"),
    ("the transport reads any registered memory: the page leaves the check to it", "dat_p(3), S"),
):
    assert statement(reason) == ("NOT APPLICABLE", attribute), (reason, statement(reason))
PY
}

# A run ends in time though each program hangs.
limits() {
	PYTHONPATH=qualify python3 -B - >"$tmp/out" 2>&1 <<'PY' || wrong "a run whose programs hang takes longer than it may"
import argparse, time, peer, run, steps
now = 1000.0
real = time.monotonic
time.monotonic = lambda: now

def sleep(seconds):
    global now
    now += seconds

time.sleep = sleep

class Hanging:
    ia, api, where = "x", "1.2", "/none"
    def start(self, program, args):
        return [program, *args]
    def output(self, child):
        return "", ""
    def alive(self, child):
        return True
    def kill(self, child, why):
        pass
    def counters(self):
        return {}
    def identity(self):
        return {"ia": "x", "build": {}, "adapter": {"limits": {"eps": 4096, "rmrs": 1}}, "host": {}, "device": {}}
    def finish(self, child, limit):
        sleep(max(limit, 0) + 0.05)
        return {"argv": child, "status": -9, "seconds": limit, "killed": "time limit", "stdout": "", "stderr": ""}

for quick, most in ((True, 300), (False, 3600)):
    for other in (None, Hanging()):
        options = argparse.Namespace(quick=quick, peer=other and "h", seed=1, steps="*", deviations=None, release="1", tester="")
        begun = now
        run.Run(options, Hanging(), other).all(steps.plan(quick))
        assert now - begun <= most, (quick, bool(other), now - begun)
PY
}

# A run that is interrupted while it waits for a program ends the program, and leaves nothing in TMPDIR.
interrupted() {
	local program sleeper
	mkdir "$tmp/bin" "$tmp/left"
	cp "$DAPL_BUILD_DIR/bin/dat_qualify" "$tmp/bin"
	for program in dat_integrity dat_info; do
		ln -sf "$DAPL_BUILD_DIR/bin/dat_info" "$tmp/bin/dat_info"
		rm -f "$tmp/bin/$program"
		printf '#!/bin/sh\necho $$ >"%s/sleeper"\nexec sleep 600\n' "$tmp" >"$tmp/bin/$program"
		chmod +x "$tmp/bin/$program"
		: >"$tmp/sleeper"
		TMPDIR=$tmp/left PYTHONPATH=qualify beside "$tmp/out" "$tmp/bin/dat_qualify" run -q -i $ia -o "$tmp/no.tar" --steps errors-refused
		server=$!
		until_said $server "$tmp/sleeper" '[0-9]' || wrong "dat_qualify run does not start $program"
		sleeper=$(cat "$tmp/sleeper")
		kill $server
		wait $server
		[ $? = 143 ] || wrong "the status of a run that was interrupted is not 143"
		server=
		alive "$sleeper" && kill -9 "$sleeper" && wrong "$program goes on after its run was interrupted"
		[ -z "$(ls -A "$tmp/left")" ] || wrong "an interrupted run leaves $(ls "$tmp/left") in TMPDIR"
		rm -rf "$tmp/left"/*
	done
}

# If the disk of its output is full, a run goes on: it writes its bundle, and fails.
unheard() {
	local command
	timeout 300 "$DAPL_BUILD_DIR/bin/dat_qualify" run --quick -i $ia -o "$tmp/unheard.tar" --steps identity,latency-bind \
		>/dev/full 2>"$tmp/out" </dev/null
	[ $? = 1 ] || wrong "the status of a run without output is not 1"
	has "a run without output" '^dat_qualify: cannot write its output: No space left on device; the run goes on$'
	[ "$(wc -l <"$tmp/out")" = 1 ] || wrong "a run without output prints more than one message"
	q verify "$tmp/unheard.tar" || wrong "dat_qualify verify refuses the bundle of a run without output"
	for command in --help --version "run --help" list "verify $tmp/unheard.tar"; do
		"$DAPL_BUILD_DIR/bin/dat_qualify" $command >/dev/full 2>"$tmp/out" </dev/null
		[ $? = 1 ] || wrong "the status of dat_qualify $command without output is not 1"
		has "dat_qualify $command without output" '^dat_qualify: cannot write its output: No space left on device$'
		[ "$(wc -l <"$tmp/out")" = 1 ] || wrong "dat_qualify $command without output prints more than one message"
	done
}

# So does a run whose errors go to the same full disk, or to the same pipe, whose reader has ended.
silent() {
	local status_of
	silently() {
		timeout 300 "$DAPL_BUILD_DIR/bin/dat_qualify" run --quick -i $ia -o "$tmp/silent.tar" --steps identity,latency-bind 2>&1 </dev/null
	}
	silently >/dev/full
	status_of=($?)
	q verify "$tmp/silent.tar" || wrong "a run leaves no bundle if the disk of its output and errors is full"
	rm -f "$tmp/silent.tar"
	silently | :
	status_of+=("${PIPESTATUS[0]}")
	q verify "$tmp/silent.tar" || wrong "a run leaves no bundle if nothing reads its output and errors"
	[ "${status_of[*]}" = "1 1" ] || wrong "the status of runs without output and errors is ${status_of[*]}, not 1"
}

# Two runs may write the same file. The evidence has the hash of the library that dat.conf names, and bytes that are
# not UTF-8 do not end a run.
several() {
	local i pids=()
	for i in 1 2; do
		timeout 300 "$DAPL_BUILD_DIR/bin/dat_qualify" run --quick -i $ia -o "$tmp/same.tar" --steps identity >"$tmp/same$i" 2>&1 </dev/null &
		pids+=($!)
	done
	for i in 0 1; do
		wait "${pids[i]}" || { cat "$tmp/same$((i + 1))"; wrong "dat_qualify run fails beside another one"; }
	done
	q verify "$tmp/same.tar" || wrong "dat_qualify verify refuses what one of two runs wrote"
	compgen -G "$tmp/same.tar.*" >"$tmp/out" && wrong "two runs leave files"
	mkdir "$tmp/other"
	cp "$DAPL_BUILD_DIR/lib/libdapl-direct.so" "$tmp/other"
	echo >>"$tmp/other/libdapl-direct.so"
	sed "s|[^ ]*/libdapl-direct.so|$tmp/other/libdapl-direct.so|" "$DAPL_BUILD_DIR/etc/dat.conf" >"$tmp/dat.conf"
	DAPL_NOTE=$'\xff' DAT_OVERRIDE=$tmp/dat.conf run other.tar --steps identity --tester $'Jos\xe9' ||
		wrong "dat_qualify run fails with bytes that are no text"
	q verify -x "$tmp/o" "$tmp/other.tar" || wrong "dat_qualify verify refuses bytes that are no text"
	grep -qF "\"libdapl-direct.so\": \"$(sha256sum <"$tmp/other/libdapl-direct.so" | cut -d' ' -f1)\"" "$tmp/o"/evidence/*-identity.json ||
		wrong "the evidence has the hash of another library than dat.conf names"
}

# The exit status of a program counts also if the caller of dat_qualify ignores SIGCHLD.
ignored() {
	timeout 60 env --ignore-signal=CHLD "$DAPL_BUILD_DIR/bin/dat_qualify" run --quick -i none -o "$tmp/none.tar" --steps identity \
		>"$tmp/out" 2>&1 </dev/null
	q verify -x "$tmp/none" "$tmp/none.tar" || wrong "dat_qualify verify refuses the bundle of an unknown adapter"
	grep -q '"status": 1' "$tmp/none"/evidence/*-identity.json ||
		wrong "the exit status of dat_info is lost if the caller ignores SIGCHLD"
}

# dat.conf may give an adapter any name: its device and counters are those of the port that it stands for.
renamed() {
	local port=$tmp/sys/class/infiniband/soft-mlx5/ports/0
	mkdir -p "$port/hw_counters"
	echo 0 >"$port/hw_counters/out_of_buffer"
	echo MT_1 >"$tmp/sys/class/infiniband/soft-mlx5/board_id"
	echo "ib0 u1.2 nonthreadsafe default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 \"device=soft-mlx5-0\" \"\"" >"$tmp/dat.conf"
	# The name of the file is relative to where dat_qualify is run.
	(cd "$tmp" && SYSFS_PATH=$tmp/sys DAT_OVERRIDE=dat.conf run renamed.tar -i ib0 --steps identity,latency-send-8,counters) ||
		wrong "dat_qualify run fails on an IA with another name"
	has "an IA with another name" '^PASS +counters '
	q verify -x "$tmp/n" "$tmp/renamed.tar" || wrong "dat_qualify verify refuses an IA with another name"
	grep -q '"board_id": "MT_1"' "$tmp/n"/evidence/*-identity.json || wrong "the evidence does not describe the device of an IA with another name"
}

# Any name includes one that is not UTF-8, which the JSON of the programs shows with question marks.
latin1() {
	echo $'ib-\xe9'" u1.2 nonthreadsafe default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 \"device=soft-mlx5-0\" \"\"" >"$tmp/dat.conf"
	DAT_OVERRIDE=$tmp/dat.conf run latin1.tar -i $'ib-\xe9' --steps identity,latency-bind || wrong "dat_qualify run fails on an IA whose name is not UTF-8"
	has "an IA whose name is not UTF-8" '^PASS +identity '
	q verify "$tmp/latin1.tar" || wrong "dat_qualify verify refuses an IA whose name is not UTF-8"
}

# An adapter whose limit leaves no endpoint for the control messages lacks endpoints, and does not fail.
few_endpoints() {
	echo "soft-efa-0 u1.2 nonthreadsafe default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 \"efa_cq=1024 efa_window=512\" \"\"" >"$tmp/dat.conf"
	DAT_OVERRIDE=$tmp/dat.conf run few.tar -i soft-efa-0 --steps identity,scale-1 || wrong "dat_qualify run fails on an adapter with one endpoint"
	has "one endpoint" '^NOT APPLICABLE +scale-1 +the adapter has 1 and 2 are needed$'
}

# While it serves a run, dat_qualify serve refuses another one at once. It listens on both families, notices a host that
# has vanished, and starts no program that writes a file.
busy() {
	local port
	at_port "$DAPL_BUILD_DIR/bin/dat_qualify" serve -i $ia --port 0
	timeout 60 "$DAPL_BUILD_DIR/bin/dat_qualify" serve --port "$port" >"$tmp/out" 2>&1
	[ $? = 1 ] && grep -qx "dat_qualify: cannot serve at TCP port $port: Address already in use; --port chooses another" "$tmp/out" ||
		wrong "a second server at a port does not end with the cure"
	python3 - "$port" "$DAPL_BUILD_DIR/bin/dat_qualify" $ia "$tmp" >"$tmp/out" 2>&1 <<'PY' || wrong "dat_qualify serve does not serve one run at a time"
import json, os, socket, subprocess, sys, time
port, program, ia, tmp = int(sys.argv[1]), *sys.argv[2:]

def ask(file, *request):
    file.write(json.dumps(request) + "\n")
    file.flush()
    return json.loads(file.readline())

def watched():
    """Is a timer of keepalive (2) set for the connection?"""
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        for f in map(str.split, open(name)) if os.path.exists(name) else ():
            if f[1].endswith(f":{port:04X}") and f[3] == "01" and f[5].startswith("02:"):
                return True

with socket.create_connection(("127.0.0.1", port), 20) as sock, sock.makefile("rw") as file:
    assert ask(file, "hello") == {"value": ia}
    until = time.monotonic() + 60
    while not watched():
        assert time.monotonic() < until, "the connection is not watched"
        time.sleep(0.1)
    for option in ("--json", "--jso=x", "--j", "--plot=x.svg", "--plo", "--out_json_file"):
        assert "refused" in ask(file, "start", "dat_conform", [option, "x"])["error"], option
    done = subprocess.run([program, "run", "-q", "-i", ia, "-o", f"{tmp}/second.tar", "-p", "127.0.0.1", "--port", str(port)],
                          stderr=subprocess.PIPE, timeout=300)
    text = f"127.0.0.1, TCP port {port}: dat_qualify serve: it serves a run from 127.0.0.1; try again later"
    assert done.returncode == 1 and text in done.stderr.decode() and "start it" not in done.stderr.decode(), done
if os.path.exists("/proc/net/if_inet6") and " lo\n" in open("/proc/net/if_inet6").read():
    with socket.create_connection(("::1", port), 20) as sock, sock.makefile("rw") as file:
        assert ask(file, "hello") == {"value": ia}
PY
	stop_server
}

# A server that cannot print serves all the same.
mute() {
	local port=$((20000 + $$ % 10000)) i
	"$DAPL_BUILD_DIR/bin/dat_qualify" serve -i $ia --port $port >/dev/full 2>"$tmp/out" &
	server=$!
	for i in {1..200}; do
		python3 - $port >>"$tmp/answer" 2>&1 <<-'PY' && break
			import socket, sys
			with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20) as sock, sock.makefile("rw") as file:
			    file.write('["hello"]\n')
			    file.flush()
			    sys.exit(file.readline() != '{"value": "soft-mlx5-0"}\n')
		PY
		alive $server || break
		sleep 0.1
	done
	alive $server || wrong "dat_qualify serve ends if the disk of its output is full"
	has "a server without output" '^dat_qualify: cannot write its output: No space left on device; the server goes on$'
	kill $server 2>/dev/null
	wait $server
	[ $? = 143 ] || wrong "the status of a server that was ended is not 143"
	server=
}

# A session that cannot start is refused with the reason, and the server goes on.
unable() {
	local port
	mkdir "$tmp/disk"
	TMPDIR=$tmp/disk at_port "$DAPL_BUILD_DIR/bin/dat_qualify" serve -i $ia --port 0
	served() { run served.tar -p 127.0.0.1 --port "$port" --steps identity; }
	served || wrong "dat_qualify run fails on a good peer"
	mv "$tmp/disk" "$tmp/lost"
	served && wrong "dat_qualify run succeeds though its peer cannot start a session"
	has "a session that cannot start" 'dat_qualify serve: .*/disk/.*: No such file or directory'
	mv "$tmp/lost" "$tmp/disk"
	served || wrong "dat_qualify serve ends after a session that cannot start"
	stop_server
}

# The peer ends during a run: the step fails, later steps that need it are not tested, and there is a bundle.
gone() {
	local port
	stranger <<'PY'
import json, socket
END = {"ia": "soft-mlx5-0", **{k: {} for k in ("adapter", "build", "device", "host", "sha256", "environment")}}
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1], flush=True)
    client, _ = listener.accept()
    for line in client.makefile():
        name = json.loads(line)[0]
        if name == "start":
            break
        reply = {"hello": "soft-mlx5-0", "identity": END, "counters": {"out_of_buffer": 1}}[name]
        client.sendall(json.dumps({"value": reply}).encode() + b"\n")
PY
	run gone.tar -p 127.0.0.1 --port "$port" --steps 'identity,windows-keys,errors-refused,latency-send-8,counters' &&
		wrong "dat_qualify run succeeds although its peer goes"
	has "a peer that goes" '^FAIL +windows-keys +the step was not finished: dat_qualify serve has ended the connection; see its output$'
	has "a peer that goes" '^PASS +errors-refused '
	has "a peer that goes" '^NOT TESTED +latency-send-8 +the peer had gone before$'
	has "a peer that goes" '^NOT TESTED +counters '
	q verify "$tmp/gone.tar" || wrong "dat_qualify verify refuses the bundle of a run whose peer went"
	wait $server
	server=
}

# A peer of another release describes less and answers otherwise: its steps fail, and there is a bundle.
older() {
	local port
	stranger <<'PY'
import json, socket
END = {"adapter": {"opened": True, "vendor": "V", "firmware": "1", "provider": "P"}}
VALUES = {"hello": "soft-mlx5-0", "identity": END, "counters": {}, "start": 1, "output": 5}
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1], flush=True)
    client, _ = listener.accept()
    for line in client.makefile():
        name = json.loads(line)[0]
        client.sendall(json.dumps({"value": VALUES[name]} if name in VALUES else 7).encode() + b"\n")
PY
	run older.tar -p 127.0.0.1 --port "$port" --steps 'identity,windows-keys,errors-refused' &&
		wrong "dat_qualify run succeeds although its peer answers otherwise"
	has "a peer of another release" '^PASS +identity +2 of 2 checks pass$'
	has "a peer of another release" '^FAIL +windows-keys +the step was not finished: TypeError: '
	has "a peer of another release" '^PASS +errors-refused '
	q verify "$tmp/older.tar" || wrong "dat_qualify verify refuses the bundle of a run whose peer answered otherwise"
	wait $server
	server=
}

limits
interrupted
forged_plans
hostile
judges
unheard
silent
several
ignored
renamed
latin1
few_endpoints
busy
mute
unable
gone
older
exit $status
