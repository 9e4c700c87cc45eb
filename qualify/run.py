# SPDX-License-Identifier: BSD-2-Clause
"""Runs the steps and collects their evidence."""
import fnmatch
import functools
import json
import os
import random
import re
import sys
import time

import identity
import judge
import peer
import steps
from peer import say

RESERVE = 8  # seconds kept for the work after the last step
LEAST = 5  # a step does not start if fewer seconds are left
UNSELECTED = "not selected by --steps"
LOCAL = ("questions", "integrity", "statements", "counters")  # kinds of steps that need no peer
ALONE = ("identity", "conform", "questions", "integrity", "counters")  # kinds of steps that need one process


class Run:
    """One run: both ends, its deadline and its evidence."""

    def __init__(self, options, here, other):
        self.options, self.here, self.peer = options, here, other
        self.seed = random.SystemRandom().randrange(1 << 31) if options.seed is None else options.seed
        self.random = random.Random(self.seed)
        self.begun, self.start = time.time(), time.monotonic()
        self.deadline = self.start + (300 if options.quick else 3600) - RESERVE
        self.members, self.entries, self.limits = {}, [], None
        self.gone = False  # the peer does not answer any more
        self.until = self.start  # when the current step has to end

    @functools.cached_property
    def adapter(self):
        """Describes the adapter of this host, also if --steps excludes the step identity."""
        try:
            return self.here.identity()["adapter"]
        except OSError:  # there is no dat_info, as other steps report
            return {}

    @functools.cached_property
    def host(self):
        """Where clients connect to. Without a peer it is the adapter's own address: software listens only there."""
        address = self.options.peer or self.adapter.get("address", "none")
        return "127.0.0.1" if address == "none" else address

    def too_many(self, step):
        """Returns whether the step has two processes on this host, and the adapter serves one."""
        if self.peer or step.kind in ALONE:
            return False
        return self.adapter.get("provider_attributes", {}).get("access") == "vfio"

    def qual(self):
        """Returns a connection qualifier that no other run on this host uses."""
        return str((os.getpid() % 8192) << 28 | 8192 + self.random.randrange(8192))

    def left(self):
        return self.deadline - time.monotonic()

    def rest(self, most):
        """Returns how many seconds a program of the step may still take: at least 1, so that it can end."""
        return max(min(most, self.until - time.monotonic()), 1)

    def other(self):
        """Returns the end where servers run."""
        return self.peer or self.here

    def keep_result(self, entry, child, file):
        """Makes a file that a program wrote a member of the bundle, unchanged."""
        path = os.path.join(self.here.where, file)
        if os.path.exists(path):
            name = f"evidence/{entry['n']:03d}-{entry['name']}.{file}"
            with open(path, "rb") as f:
                self.members[name] = f.read()
            os.unlink(path)
            child["result"] = name

    def alone(self, entry, step, args, limit):
        """Runs the step's program, which needs no server."""
        child = self.here.finish(self.here.start(step.program, args), self.rest(limit))
        child["role"] = "client"
        self.keep_result(entry, child, "result.json")
        return {"children": [child]}

    def start_server(self, program, args, ready):
        server = self.other().start(program, args)
        until = time.monotonic() + self.rest(10)
        while time.monotonic() < until:
            found = re.search(ready, self.other().output(server)[0])
            if found or not self.other().alive(server):
                return server, found
            time.sleep(0.1)
        return server, None

    def start_pair(self, program, args, result):
        """Runs a measuring program: the server, then the client, whose results it keeps."""
        for tries_left in (4, 3, 2, 1, 0):
            qual = ["-p", self.qual()]
            server, _ = self.start_server(program, qual + ["-d", self.other().ia],
                                          "Waiting for client")
            if not tries_left or "CONN_QUAL_IN_USE" not in self.other().output(server)[1]:
                break
            self.other().finish(server, 1)  # another program has the port
        args = [*qual, "-d", self.here.ia, *args, "--out_json_file", result, self.host]
        return server, self.here.start(program, args)

    def finish_pair(self, entry, pair, limit, result):
        server, client = pair
        client = self.here.finish(client, self.rest(limit))
        self.keep_result(entry, client, result)  # before the peer is asked, which may have gone
        server = self.other().finish(server, self.rest(15 if client["status"] else 30))
        client["role"], server["role"] = "client", "server"
        return [server, client]

    def do_identity(self, entry, step, limit):
        here, other = self.here.identity(), self.peer.identity() if self.peer else None
        self.limits = here["adapter"].get("limits", {})
        return {"here": here, "peer": other and identity.complete(other, self.peer.ia)}

    def do_conform(self, entry, step, limit):
        args = ["-i", self.here.ia, "--json", "result.json", "--limit", "30"]
        if not self.peer:
            return self.alone(entry, step, args, limit)
        server, found = self.start_server(step.program,
                                          ["--serve", "-i", self.peer.ia, "--port", "0"],
                                          r"serving at TCP port (\d+)")
        record = {"children": []}
        if found:
            args += ["-r", self.host, "--port", found[1]]
            record = self.alone(entry, step, args, limit)
        self.peer.kill(server, "end of the step")
        record["children"].insert(0, {"role": "server", **self.peer.finish(server, 5)})
        return record

    def do_questions(self, entry, step, limit):
        args = ["-i", self.here.ia, "--json", "result.json", "--total",
                str(max(int(limit) - 10, 1)), *step.args]
        return self.alone(entry, step, args, limit)

    def do_integrity(self, entry, step, limit):
        args = ["-i", self.here.ia, "-S", str(entry["seed"]), "--json", "result.json", *step.args]
        return self.alone(entry, step, args, limit)

    def do_perf(self, entry, step, limit):
        pair = self.start_pair(step.program, list(step.args), "result.json")
        return {"children": self.finish_pair(entry, pair, limit, "result.json")}

    def do_pingpong(self, entry, step, limit):
        args = ["-q", "-S", str(entry["seed"]), "-p", self.qual(), *step.args]
        if not self.peer:
            return self.alone(entry, step, ["-i", self.here.ia, *args], limit)
        server, _ = self.start_server(step.program, ["-s", "-i", self.peer.ia, *args[3:5]], ".")
        client = self.here.start(step.program, ["-i", self.here.ia, *args, self.host])
        client = self.here.finish(client, self.rest(limit))
        server = self.peer.finish(server, self.rest(15))
        return {"children": [{"role": "server", **server}, {"role": "client", **client}]}

    def do_statements(self, entry, step, limit):
        return {"children": []}

    def do_death(self, entry, step, limit):
        """Starts a measurement of several minutes, kills one end, and waits for the other."""
        started = time.monotonic()
        server, client = self.start_pair(step.program, ["-D", "300"], "result.json")

        def has_begun():
            return "\n #" in self.here.output(client)[0]

        until = time.monotonic() + min(limit / 2, 40)
        while not has_begun() and self.here.alive(client) and time.monotonic() < until:
            time.sleep(0.1)
        measuring = has_begun() and self.here.alive(client)
        time.sleep(0.3)
        ends = {"server": (self.other(), server), "client": (self.here, client)}
        victim, survivor = step.args[0], "client" if step.args[0] == "server" else "server"
        host, child = ends[victim]
        other, survived = ends[survivor]
        host.kill(child, "by this step")
        begun = time.monotonic()
        record = {survivor: other.finish(survived, min(32, limit - 5 - (begun - started)))}
        after = time.monotonic() - begun
        record[victim] = host.finish(child, 5)
        return {"children": [{"role": end, **record[end]} for end in ends], "victim": victim,
                "measuring": measuring, "after_s": round(after, 2)}

    def do_soak(self, entry, step, limit):
        """Runs all pairs at once, for the planned time or the rest of the run."""
        seconds = int(min(int(step.args[0]), limit - 15))
        pairs = [self.start_pair(program, ["-D", str(seconds), *args], f"{program}.json")
                 for program, args in steps.SOAK_PAIRS]
        begun, samples = time.monotonic(), []
        while any(self.here.alive(c) for _, c in pairs) and time.monotonic() < self.until - 8:
            for (program, _), (server, client) in zip(steps.SOAK_PAIRS, pairs):
                for role, pid in (("server", None if self.peer else server), ("client", client)):
                    held = pid and usage(pid)
                    if held:
                        samples.append([round(time.monotonic() - begun, 2), f"{program} {role}",
                                        *held])
            time.sleep(max(0.25, seconds / 200))
        children = []
        for (program, _), pair in zip(steps.SOAK_PAIRS, pairs):
            for child in self.finish_pair(entry, pair, 10, f"{program}.json"):
                children.append({**child, "role": f"{program} {child['role']}"})
        return {"children": children, "samples": samples, "seconds": seconds}

    def do_counters(self, entry, step, limit):
        return {**self.both_counters(), **({"peer": None} if self.gone else {})}

    def both_counters(self):
        peer_too = self.peer and not self.gone
        return {"here": self.here.counters(), "peer": self.peer.counters() if peer_too else {}}

    def lacks(self, step):
        """Returns whether the adapter lacks what the step needs. --steps may exclude the step identity."""
        if step.needs and self.limits is None:
            self.limits = self.adapter.get("limits", {})
        return bool(judge.lacks(step.needs, self.limits or {}))

    def why_not(self, step):
        """Returns why the step is not tested, or None."""
        if not any(fnmatch.fnmatch(step.name, p) for p in self.options.steps.split(",")):
            return UNSELECTED
        if self.here.api == "2.0" and (step.kind == "statements" or step.program in steps.ONLY_12):
            return f"{step.program or 'dat_conform'} is a program of uDAPL 1.2 only"
        if self.gone and step.kind not in LOCAL:
            return "the peer had gone before"
        if self.too_many(step):
            return "behind VFIO the adapter serves one process; --peer names another host"
        least = 20 if step.kind in ("soak", "death") else LEAST
        if step.name != "counters" and self.left() < least:
            return f"only {max(self.left(), 0):.0f} s of the run were left"
        return None

    def tried(self, entry, step, limit):
        """Runs a step. Returns its record, also if the peer or a program is missing, or the peer answers what no
        release of this program expects."""
        try:
            before = self.both_counters()
            record = getattr(self, "do_" + step.kind)(entry, step, limit)
            after = self.both_counters()
        except (OSError, *judge.UNJUDGED) as error:
            self.gone = self.gone or isinstance(error, peer.Gone)
            self.here.stop()
            why = peer.words(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
            return {"children": [], "broken": f"the step was not finished: {why}"}
        return {**record, "counters": {e: [before[e], after[e]] for e in before}}

    def one(self, number, step):
        entry = {
            **steps.planned(step),
            "n": number,
            "seed": self.random.randrange(1 << 31),
            "evidence": None,
            "not_run": self.why_not(step),
        }
        self.entries.append(entry)
        if entry["not_run"] or self.lacks(step):
            return entry
        limit = min(step.limit, self.left()) if step.name != "counters" else step.limit
        begun, start = time.time(), time.monotonic()
        self.until = start + limit
        record = self.tried(entry, step, limit)
        record.update(begun=round(begun, 3), took=round(time.monotonic() - start, 3))
        late = any(c.get("killed") == "time limit" for c in record.get("children", ()))
        record["cut"] = late and limit < step.limit
        entry["evidence"] = f"evidence/{number:03d}-{step.name}.json"
        self.members[entry["evidence"]] = as_json(record)
        return entry

    def all(self, plan):
        """Runs all steps, and prints the result of each as it ends."""
        manifest = {
            "schema": 1,
            "program": f"dat_qualify {self.options.release}",
            "quick": self.options.quick,
            "ia": self.here.ia,
            "peer": self.options.peer,
            "seed": self.seed,
            "begun": round(self.begun),
            "tester": self.options.tester,
            "selected": self.options.steps,
            "api": self.here.api,
            "steps": self.entries,
        }
        self.members["deviations.tsv"] = known_deviations(self.options.deviations)
        for number, step in enumerate(plan, 1):
            entry = self.one(number, step)
            manifest["limits"] = self.limits
            checks = [c for c in judge.judge_all(manifest, self.members) if c.step == step.name]
            verdict = judge.overall(checks)
            worst = next((c.reason for c in checks if c.verdict == verdict), "")
            result = worst
            if len(checks) > 1 and verdict != judge.FAIL:
                result = f"{sum(c.verdict == judge.PASS for c in checks)} of {len(checks)} checks pass"
            if entry["not_run"] != UNSELECTED:
                # If printing fails, the run continues, because the bundle has all results.
                say(f"{verdict:<18} {step.name:<26} {result}", "; the run goes on")
        manifest["seconds"] = round(time.monotonic() - self.start, 1)
        return manifest


def known_deviations(path):
    """Returns the content of a file of known deviations."""
    if not path:
        return b""
    with open(path, "rb") as f:
        text = f.read()
    try:
        judge.deviations(text.decode())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return text


def usage(pid):
    """Returns private memory in KiB, descriptors and threads of a process; None if it has ended. Memory that can be
    shared does not count: a software adapter touches the pages of its registers one after another."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
            fields = dict(line.split(":", 1) for line in f if ":" in line)
        return (int(fields["RssAnon"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")),
                int(fields["Threads"]))
    except (OSError, KeyError, ValueError):
        return None


def as_json(value):
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


def ends(options, programs):
    """Returns this host, and the peer or None."""
    here = peer.Host(programs, options.ia)
    if not options.peer:
        return here, None
    try:
        return here, peer.Remote(options.peer, options.port)
    except BaseException as error:
        here.close()
        if isinstance(error, peer.Refused):
            sys.exit(f"dat_qualify: {options.peer}, TCP port {options.port}: {error}")
        if not isinstance(error, OSError):
            raise
        sys.exit(f"dat_qualify: no dat_qualify serve answers at {options.peer}, TCP port {options.port}: "
                 f"{peer.words(error)}; start it there first")
