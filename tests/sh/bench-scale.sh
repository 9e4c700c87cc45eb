#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# make bench-scale, with few samples: all its figures are there, and neither a post nor a dequeue needs
# more instructions when there are more endpoints. A dequeue costs the same, whether the device had
# time before it or not.
# Slow: only with DAPL_ALL=1.
set -u
build=$DAPL_BUILD_DIR
. tests/harness/skip.sh
needs_valgrind "$build/tests/scale-bench"
BENCH_QUICK=1 timeout -k 1 600 scripts/bench-scale "$build"
status=$?
command -v gnuplot >/dev/null || status=0
[ $status = 0 ] || exit 1
python3 - "$build/scale.json" <<'END'
import json, sys
rows = json.load(open(sys.argv[1]))
few, many = rows["endpoints"][0], rows["endpoints"][-1]
assert many["endpoints"] > few["endpoints"] and few["device_instructions"] > 0
for what in "post_instructions", "poll_instructions":
    assert 0 < many[what] <= few[what] * 1.2, what
assert all(len(of_size) == 23 for of_size in rows["sizes"].values())
assert all(r["MiB_per_s"] > 0 for of_size in rows["sizes"].values() for r in of_size)
assert all(r["lmr_create_ns"] > 0 and r["rmr_bind_ns"] > 0 for r in rows["memory"])
assert [r["processes"] for r in rows["connections"]] == [1, 2]
END
python3 - "$build" <<'END'
import sys
from importlib.machinery import SourceFileLoader
sys.dont_write_bytecode = True
sys.path.insert(0, "scripts")
scale = SourceFileLoader("scale", "scripts/bench-scale").load_module()
scale.CALLS = 256
_, hurried, early = scale.calls_counted(sys.argv[1], 16, 1)
_, patient, _ = scale.calls_counted(sys.argv[1], 16, 50000)
assert abs(hurried - patient) < 0.5, f"{hurried} instructions with {early} early polls each, {patient} otherwise"
END
