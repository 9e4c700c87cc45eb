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

def questions(status, *verdicts):
    """Returns the checks of the step if dat_first_light ends with this status and gives these answers."""
    child = {"argv": ["dat_first_light"], "status": status, "killed": None, "seconds": 1.0, "stdout": "",
             "stderr": "an assertion failed\n", "result": "answers"}
    answers = [{"number": n, "verdict": v, "question": "?", "answer": "", "set": "", "ms": 1}
               for n, v in enumerate(verdicts)]
    entry = {"name": "questions", "kind": "questions", "evidence": "record", "not_run": None, "needs": None}
    evidence = judge.Evidence({"steps": [entry], "limits": None}, {
        "record": json.dumps({"children": [child]}).encode(),
        "answers": json.dumps({"access": "model", "probes": answers}).encode()})
    return [(name, verdict, reason) for name, verdict, reason, _, _ in judge.judge_step(entry, evidence)]

assert [c[:2] for c in questions(0, "good", "skip")] == [("00", "PASS"), ("01", "NOT APPLICABLE")]
assert [c[:2] for c in questions(1, "good", "bad")] == [("00", "PASS"), ("01", "FAIL")]
# A program that answers all questions well and crashes then is not good.
found = questions(-11, "good")
assert found[-1] == ("program", "FAIL", "dat_first_light was ended by SIGSEGV"), found
assert questions(1, "good")[-1] == ("program", "FAIL", "dat_first_light ended with status 1: an assertion failed")
# A step without a single answer does not vanish.
found = questions(0)
assert found == [("", "NOT TESTED", "the evidence of this step has no result")], found

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
