#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Verdicts of dat_qualify from evidence that is written here, what its soak counts as memory
# of a process, and what is left of its programs if it is killed.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
PYTHONPATH=qualify python3 -B - >"$tmp/out" 2>&1 <<'PY' && exit
import argparse, json, mmap, os, signal, time
import judge, peer, run, steps

def child(program, status=0, killed=None, *arguments, **more):
    """Returns the record of a program's run."""
    return {"argv": [program, *arguments], "status": status, "killed": killed, "seconds": 1.0, "stdout": "",
            "stderr": "", **more}

def entry(name, kind="perf", section="S", args=()):
    return {"name": name, "kind": kind, "section": section, "args": args, "evidence": name, "not_run": None,
            "needs": None}

def judged(entries, records, **members):
    """Returns (name, verdict, reason) of each check of the last of these steps."""
    manifest = {"steps": entries, "limits": None, "peer": None}
    files = {**{e["name"]: r for e, r in zip(entries, records)}, **members}
    evidence = judge.Evidence(manifest, {k: json.dumps(v).encode() for k, v in files.items()})
    return [c[:3] for c in judge.judge_step(entries[-1], evidence)]

def questions(status, *verdicts, answer=""):
    """Returns the checks of the step if dat_first_light ends with this status and gives these answers."""
    answers = [{"number": n, "verdict": v, "question": "?", "answer": answer, "set": "", "ms": 1}
               for n, v in enumerate(verdicts)]
    run = child("dat_first_light", status, stderr="an assertion failed\n", result="answers")
    return judged([entry("questions", "questions")], [{"children": [run]}],
                  answers={"access": "model", "probes": answers})

assert [c[:2] for c in questions(0, "good", "skip")] == [("00", "PASS"), ("01", "NOT APPLICABLE")]
assert [c[:2] for c in questions(1, "good", "bad")] == [("00", "PASS"), ("01", "FAIL")]
# A program that answers all questions well and crashes then is not good.
found = questions(-11, "good")
assert found[-1] == ("program", "FAIL", "dat_first_light was ended by SIGSEGV"), found
assert questions(1, "good")[-1] == ("program", "FAIL", "dat_first_light ended with status 1: an assertion failed")
# A step without a single answer does not vanish.
found = questions(0)
assert found == [("", "NOT TESTED", "the evidence of this step has no result")], found
# If the time of the run ends, what it leaves open is not tested. A crash counts nevertheless.
over = "not asked: the time for all probes is over"
found = questions(1, "none", "none", answer=over)
assert found == [(n, "NOT TESTED", "? " + over) for n in ("00", "01")], found
assert questions(-11, "none", answer=over)[-1][:2] == ("program", "FAIL")
assert questions(1, "none", answer="no answer within 3 s: it hangs")[0][1] == "FAIL"
found = questions(0, "skip", answer="not probed: only 900 messages in 40 s")
assert found[0][1] == "NOT TESTED", found

# A program that fails is not excused by another one that the end of the run has killed.
hung = child("dat_write_lat", -9, "time limit")
cut = {"children": [child("dat_write_lat"), hung], "cut": True}
cut["children"][0]["status"] = 1  # it reports that its client has gone
assert judged([entry("latency")], [cut]) == [("", "NOT TESTED", "the time of the run ended before the step")]
cut["children"][0]["status"] = -11
found = judged([entry("latency")], [cut])
assert found[0][1] == "FAIL", found
# A soak ends before the run does, so a program of it that is killed hangs.
cut = {"children": [child("dat_conn_rate"), hung], "cut": True, "seconds": 20, "samples": []}
found = judged([entry("soak", "soak", args=["20"])], [cut])
assert found[0][:2] == ("programs", "FAIL"), found

# Statements for which a server is needed are not judged without one.
passed = {"name": "s", "page": "dat_ep_free", "section": "S", "verdict": "PASS", "reason": "", "ms": 1}
statements = {"statements": [passed], "count": {"pass": 1, "fail": 0, "skip": 0}}
conform, client = entry("conformance", "conform"), child("dat_conform", role="client", result="statements")
good = child("dat_conform", -9, "end of the step", role="server")
assert judged([conform], [{"children": [good, client]}], statements=statements) == [("s", "PASS", "")]
for server in (child("dat_conform", -11, role="server"), child("dat_conform", 1, role="server")):
    found = judged([conform], [{"children": [server, client]}], statements=statements)
    assert ("server", "FAIL") in [c[:2] for c in found], found
found = judged([conform], [{"children": [good]}])
assert found == [("server", "FAIL", "dat_conform --serve did not start on the peer")], found
# Without any result of the step, the steps that use it are not tested.
broken = {"children": [], "broken": "the step was not finished: dat_conform: No such file or directory"}
windows = entry("windows", "statements", args=["page", "dat_lmr_*"])
found = judged([conform, windows], [broken, {"children": []}])
assert found == [("", "NOT TESTED", "the step conformance has no results")], found

# The counters of this host are judged without the step identity, too.
grown = {"children": [], "counters": {"here": [{"symbol_error": 0}, {"symbol_error": 9}], "peer": [{}, {}]}}
bandwidth, counters = entry("bandwidth", section=steps.BANDWIDTH), entry("counters", "counters", steps.COUNTERS)
found = judged([bandwidth, counters], [grown, {"here": {"symbol_error": 9}, "peer": {}}])
assert found == [("here/Bandwidth", "FAIL", "symbol_error grew by 9")], found

# A message that waits for its receive is an error, except where a sender may be faster than its peer.
waits = {"rnr_nak_retry_err": 3, "out_of_buffer": 3}
for section in steps.SECTIONS[1:-1]:
    grown["counters"]["here"] = [dict.fromkeys(waits, 0), waits]
    step = {**bandwidth, "section": section}
    found = judged([step, counters], [grown, {"here": waits, "peer": {}}])
    excused = section in (*steps.PROVOKING, steps.INTEGRITY, steps.BANDWIDTH, steps.SOAK)
    assert [c[1] for c in found] == ["PASS" if excused else "FAIL"], (section, found)

# A dat_info that hangs is named as such.
end = {"ia": "mlx5_0-1", "adapter": {}, "build": {}, "host": {}, "dat_info": child("dat_info", -9, "time limit")}
found = judged([entry("identity", "identity")], [{"here": end, "peer": None}])
assert found[0] == ("here", "FAIL", "dat_info was killed: time limit, after 1 s"), found

# No client of dat_conform runs if the server of the peer does not start: it would test this host alone.
class Silent:
    ia, where, started = "x", "/nonexistent", []
    def start(self, program, args):
        Silent.started.append(args)
        return len(Silent.started)
    def output(self, child):
        return "", ""
    def alive(self, child):
        return False
    def kill(self, child, why):
        pass
    def finish(self, pid, limit):
        return child("dat_conform", 1)

between = run.Run(argparse.Namespace(seed=1, quick=True, peer="far"), Silent(), Silent())
record = between.do_conform({"n": 2, "name": "conformance"}, steps.plan(True)[1], 200)
assert [c["role"] for c in record["children"]] == ["server"] and len(Silent.started) == 1, record

# The name of the verbs port, whose counters are read, is known before the first step.
class Named(peer.Host):
    def __init__(self):
        self.ia, self.programs, self.build, self.port = "trading", ".", {}, None
    def start(self, program, args):
        return 1
    def finish(self, pid, limit):
        adapter = {"name": "trading", "provider_attributes": {"device": "mlx5_7-1"}}
        return child("dat_info", stdout=json.dumps({"adapters": [adapter]}))

named = Named()
named.counters()
assert named.port == "mlx5_7-1", named.port

# Without dat_info the limits are not known, and a step that needs one is tried.
class WithoutInfo:
    def identity(self):
        raise FileNotFoundError(2, "No such file or directory", "dat_info")

assert not run.Run(argparse.Namespace(seed=1, quick=True), WithoutInfo(), None).lacks(steps.plan(True)[-3])
assert steps.plan(True)[-3].needs == ("eps", 129), "the step needs no limit"

# A software adapter touches the pages of its registers one by one, so memory that can be shared does not count.
def growth(flags):
    """Returns by how many KiB the process grows if it touches 16 MiB of memory that is mapped with these flags."""
    before, memory = run.usage(os.getpid())[0], mmap.mmap(-1, 16 << 20, flags=flags)
    for at in range(0, len(memory), 4096):
        memory[at] = 1
    return run.usage(os.getpid())[0] - before

assert growth(mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) > 12 << 10
grown = growth(mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
assert grown < 4 << 10, f"shared memory counts: {grown} KiB"

# If dat_qualify is killed, no program stays that would wait for its client for ever.
reading, writing = os.pipe()
if not os.fork():
    child = peer.Child(["sleep", "100"], ".")
    os.write(writing, b"%d\n" % child.process.pid)
    os.kill(os.getpid(), signal.SIGKILL)
os.wait()
pid, until = int(os.read(reading, 100)), time.monotonic() + 20

def lives():
    """Returns whether the program has not ended. Process 1 may be slow to reap it."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False

while lives():
    if time.monotonic() > until:
        os.kill(pid, signal.SIGKILL)
        raise AssertionError("a program stays after dat_qualify was killed")
    time.sleep(0.05)
PY
echo "dat_qualify judges wrongly:"
cat "$tmp/out"
exit 1
