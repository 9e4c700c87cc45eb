# SPDX-License-Identifier: BSD-2-Clause
"""The plan: which steps a qualification has, in order."""
from collections import namedtuple

# kind: the functions that run and judge the step. needs: (limit of dat_info, least value), or None.
# limit: seconds after which the step is killed.
Step = namedtuple("Step", "name section title kind program args limit needs")

IDENTITY, CONFORMANCE, QUESTIONS = "Identity", "Conformance", "Questions"
INTEGRITY, WINDOWS, ERRORS, DEATH = ("Data integrity", "Windows and keys", "Error paths",
                                     "Peer death")
STORM, LATENCY, BANDWIDTH, SCALE = "Connection storm", "Latency", "Bandwidth", "Scale"
SOAK, COUNTERS = "Soak", "Adapter counters"
SECTIONS = (IDENTITY, CONFORMANCE, QUESTIONS, INTEGRITY, WINDOWS, ERRORS, DEATH, STORM, LATENCY,
            BANDWIDTH, SCALE, SOAK, COUNTERS)
# These phases provoke errors, so counters of refused requests may grow.
PROVOKING = (CONFORMANCE, QUESTIONS, WINDOWS, ERRORS, DEATH)
# In these phases dat_send_bw sends, and a message may wait for its receive.
WAITING = (INTEGRITY, BANDWIDTH, SOAK)

CONTROL = 1  # endpoints that a measuring program has beside those of -q
# Programs that do not run on an IA of uDAPL 2.0.
ONLY_12 = ("dat_conform", "dat_first_light")
# All questions except those about speed: a quick run has no time for those.
NO_SPEED = "1-9,16-59,63-99"
SOAK_PAIRS = (("dat_send_bw", ("-f", "0", "--verify", "-s", "4096")),
              ("dat_write_bw", ("-f", "0", "--verify", "-q", "4", "-s", "65536")),
              ("dat_conn_rate", ()))


def step(name, section, title, kind, program=None, args=(), limit=60, needs=None):
    return Step(name, section, title, kind, program, tuple(map(str, args)), limit, needs)


def planned(s):
    """Returns the plan of a step for the manifest."""
    return {
        **{k: getattr(s, k) for k in ("name", "section", "title", "kind", "program", "limit")},
        "args": list(s.args),
        "needs": list(s.needs) if s.needs else None,
    }


def integrity(quick):
    count = 20 if quick else 2000
    for op in ("write", "send", "read"):
        yield step(f"integrity-{op}", INTEGRITY, f"{op}s of 2 bytes to 8 MiB, data verified", "perf",
                   f"dat_{op}_bw", ("-a", "-n", count, "--warm-up", 5, "--verify"),
                   100 if quick else 300)
        yield step(f"integrity-{op}-odd", INTEGRITY,
                   f"{op}s of 4097 bytes, 8 endpoints, data verified", "perf", f"dat_{op}_bw",
                   ("-s", 4097, "-q", 8, "-n", count * 4, "--verify"), 60, ("eps", 8 + CONTROL))
    for size in (1, 4095) if quick else (1, 7, 63, 65, 4095, 4097, 65537, 1048575):
        yield step(f"integrity-all-{size}", INTEGRITY,
                   f"every byte of messages, writes, reads and windows of {size} bytes", "pingpong",
                   "dat_pingpong", ("-l", size, "-n", count), 60 if quick else 200, ("rmrs", 1))
    yield step("integrity-segments", INTEGRITY,
               "alignments and lists of segments, each operation, in loopback", "integrity",
               "dat_integrity", ("-t", "data", *(("-q",) if quick else ("-n", 4))),
               60 if quick else 300)


def death(quick):
    programs = ("write_lat", "write_bw", "read_lat", "read_bw", "send_lat", "send_bw", "bind_lat",
                "conn_rate")
    for program in ("write_lat", "send_bw") if quick else programs:
        for victim in ("server", "client"):
            yield step(f"death-{program}-{victim}", DEATH,
                       f"the {victim} of dat_{program} is killed", "death", f"dat_{program}",
                       (victim,), 75)


def performance(quick):
    for op in ("write", "send", "read"):
        for size in (8, 4096) if quick else (8, 64, 512, 4096, 65536):
            yield step(f"latency-{op}-{size}", LATENCY, f"{op}s of {size} bytes, closed loop",
                       "perf", f"dat_{op}_lat",
                       ("-s", size, *(("-n", 1000) if quick else ("-D", 10))), 45)
    yield step("latency-bind", LATENCY, "binds of a memory window", "perf", "dat_bind_lat",
               ("-n", 200 if quick else 5000), 60, ("rmrs", 1))
    for op in ("write",) if quick else ("write", "send", "read"):
        for rate in (1000, 10000) if quick else (1000, 10000, 100000):
            yield step(f"latency-rate-{op}-{rate}", LATENCY,
                       f"{op}s of 8 bytes, {rate} a second, open loop", "perf", f"dat_{op}_lat",
                       ("-s", 8, "--rate", rate, "-D", 2 if quick else 10, "-f", 0, "--histogram"),
                       45)
    for op in ("write", "send", "read"):
        yield step(f"bandwidth-{op}", BANDWIDTH, f"{op}s of 2 bytes to 8 MiB", "perf",
                   f"dat_{op}_bw", ("-a", "-n", 50 if quick else 2000, "--warm-up", 5),
                   60 if quick else 240)
    for n in (1, 16, 128) if quick else (1, 4, 16, 64, 128, 512, 2048):
        yield step(f"scale-{n}", SCALE, f"writes of 64 bytes, {n} endpoints", "perf",
                   "dat_write_bw", ("-s", 64, "-q", n, "-n", 1000 if quick else 10000, "-t", 16),
                   60, ("eps", n + CONTROL))


def plan(quick):
    """Returns all steps of a run, quick or full."""
    processes, connections = (4, 100) if quick else (8, 2000)
    return [step("identity", IDENTITY, "adapters, hosts and programs of both ends", "identity",
                 "dat_info", ("-v", "--json"), 60),
            step("conformance", CONFORMANCE, "each statement of the manual pages", "conform",
                 "dat_conform", (), 200 if quick else 900),
            step("questions", QUESTIONS, "what only an adapter answers, in loopback", "questions",
                 "dat_first_light", ("-q", "-t", NO_SPEED) if quick else (), 120 if quick else 900),
            *integrity(quick),
            step("windows", WINDOWS, "statements of the pages dat_lmr, dat_pz and dat_rmr",
                 "statements", args=("page", "dat_lmr_*|dat_pz_*|dat_rmr_*")),
            step("windows-keys", WINDOWS, "binds and unbinds in turns, data verified", "perf",
                 "dat_bind_bw", ("--verify", "--unbind", "-n", 200 if quick else 5000), 60,
                 ("rmrs", 1)),
            step("windows-closed", WINDOWS, "a write through a closed window is refused",
                 "pingpong", "dat_pingpong", ("-n", 20, "-e"), 60, ("rmrs", 1)),
            step("errors", ERRORS, "statements of the sections RETURN VALUES", "statements",
                 args=("section", "RETURN VALUES")),
            step("errors-refused", ERRORS,
                 "wrong contexts, bounds and rights, and unbound windows, in loopback", "integrity",
                 "dat_integrity", ("-t", "refusals"), 60), *death(quick),
            step("storm", STORM, f"{processes} processes connect {connections} times each", "perf",
                 "dat_conn_rate", ("--processes", processes, "-n", connections),
                 60 if quick else 300), *performance(quick),
            step("soak", SOAK, "messages, writes and connections at once, data verified", "soak",
                 None, (20 if quick else 1200,), 60 if quick else 1260),
            step("counters", COUNTERS, "error counters of the adapters, in each phase", "counters")]
