# SPDX-License-Identifier: BSD-2-Clause
"""The cost of the calls that one function makes, as counted by callgrind."""
import re

SPEC = re.compile(r"\((\d+)\)(?: (.*))?")


def calls(path):
    """Yields (caller, callee, number of calls, their inclusive instructions) of a callgrind file."""
    names = {}
    caller = callee = number = None

    def name(text):
        key, given = SPEC.match(text).groups()
        if given:
            names[key] = given
        return names[key]

    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("fn="):
                caller = name(line[3:].strip())
            elif line.startswith("cfn="):
                callee = name(line[4:].strip())
            elif line.startswith("calls="):
                number = int(line[6:].split()[0])
            elif number is not None:
                yield caller, callee, number, int(line.split()[1])
                number = None


def edges(path):
    """Reads {caller: (calls, inclusive instructions of the calls)} from a callgrind file."""
    cost = {}
    for caller, _, number, instructions in calls(path):
        before, total = cost.get(caller, (0, 0))
        cost[caller] = (before + number, total + instructions)
    return cost


def rows(text):
    """Parses the output of dat_bench or a peer: (operation, function, ns, completions of a call)."""
    return [(op, function, float(ns), int(each)) for op, function, ns, each in
            (line.split("\t") for line in text.splitlines() if line.count("\t") == 3)]


def count(run, program, options, env, prefix, front=()):
    """Runs dat_bench or a peer under callgrind, by run(argv, env). Returns [(operation,
    instructions of one call, or of each completion that it takes)]."""
    profile = prefix + ".out"
    out = run(list(front) + ["valgrind", "--tool=callgrind", "--fair-sched=yes",
                             f"--callgrind-out-file={profile}", f"--log-file={prefix}.log", program] +
              options, env)
    cost = edges(profile)
    counted = []
    for op, function, _, each in rows(out):
        if function not in cost:
            raise SystemExit(f"callgrind saw no call from {function}")
        number, total = cost[function]
        counted.append((op, round(total / number / each)))
    return counted
