#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Verdicts of dat_qualify from evidence that is written here.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
PYTHONPATH=qualify python3 -B - >"$tmp/out" 2>&1 <<'PY' && exit
import json
import judge

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
PY
echo "dat_qualify judges wrongly:"
cat "$tmp/out"
exit 1
