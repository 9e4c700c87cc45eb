# SPDX-License-Identifier: BSD-2-Clause
"""Makes verdicts from evidence. Nothing here depends on this machine, so verify gives the same
verdicts."""
import collections
import fnmatch
import json
import re
import signal

import identity
import steps

PASS, COMMENT, FAIL = "PASS", "PASS with comment", "FAIL"
NOT_APPLICABLE, NOT_TESTED = "NOT APPLICABLE", "NOT TESTED"
VERDICTS = (PASS, COMMENT, FAIL, NOT_APPLICABLE, NOT_TESTED)

REACHED = 0.99  # part of a rate that counts as the rate
# The exceptions that incomplete evidence causes, or evidence with a wrong type, huge numbers or deep nesting.
UNJUDGED = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError)
OVER = "the time for all probes is over"  # how an answer of dat_first_light ends if it had no time
UNABLE = ("the test cannot ", "a test may not ")  # how a reason of dat_conform begins if the host is the cause

Check = collections.namedtuple("Check", "name step section verdict reason attribute seconds")


def result_of(name, verdict, reason="", attribute="", seconds=0):
    return name, verdict, reason, attribute, seconds


class Evidence:
    """The evidence that judges read: records of steps, and the files that programs wrote."""

    def __init__(self, manifest, members):
        self.manifest, self.members = manifest, members
        self.steps = {s["name"]: s for s in manifest["steps"]}

    def record(self, name):
        entry = self.steps.get(name)
        return json.loads(self.members[entry["evidence"]]) if entry and entry.get("evidence") else None

    def result(self, child):
        """Returns the JSON that a program wrote, or None."""
        try:
            return json.loads(self.members[child["result"]])
        except (KeyError, ValueError, TypeError):
            return None

    def end(self, which):
        record = self.record("identity") or {}
        return record.get(which) or {}

    def limits(self):
        """Returns the limits of the adapter. --steps may exclude the step identity."""
        return self.end("here").get("adapter", {}).get("limits") or self.manifest["limits"] or {}


def last_line(text):
    lines = [s for line in text.splitlines() if (s := line.strip()) and not s.endswith("FAILED")]
    return lines[-1] if lines else ""


def died(child):
    """Returns how a child failed; empty if it succeeded."""
    if child["killed"]:
        return f"{child['argv'][0]} was killed: {child['killed']}, after {child['seconds']:.0f} s"
    if child["status"] < 0:
        return f"{child['argv'][0]} was ended by {signal.Signals(-child['status']).name}"
    if child["status"]:
        return (f"{child['argv'][0]} ended with status {child['status']}: "
                f"{last_line(child['stderr']) or last_line(child['stdout'])}")
    return ""


def last_death(children):
    """Returns how the last child that failed did so; empty if all succeeded."""
    return next(filter(None, map(died, reversed(children))), "")


def verified(child, report):
    return report["test_info"]["verified"] and "all data verified" in child["stdout"]


def judge_identity(record, evidence, _):
    for which in ("here", "peer"):
        end = record.get(which)
        if end is None:
            yield result_of(which, NOT_APPLICABLE, "both ends are on this host", "loopback")
            continue
        adapter = end["adapter"]
        if not adapter.get("opened"):
            why = ((adapter.get("error") or {}).get("why") or died(end["dat_info"])
                   or f"dat_info does not list {end['ia']}")
            yield result_of(which, FAIL, why)
            continue
        yield result_of(which, PASS,
                        f"{adapter['vendor']}, firmware {adapter['firmware']}, {adapter['provider']} "
                        f"{end['build'].get('version', '')}, {end['host'].get('kernel', '')}")
    here = record["here"]["build"].get("version")
    peer = (record.get("peer") or {}).get("build", {}).get("version")
    if peer and peer != here:
        yield result_of("releases", COMMENT, f"the ends have different releases: {here} and {peer}")


def judge_conform(record, evidence, entry):
    server = next((c for c in record["children"] if c.get("role") == "server"), None)
    child = next((c for c in record["children"] if c is not server), None)
    if server and (not child or server["killed"] != "end of the step"):
        yield result_of("server", FAIL, "dat_conform --serve did not start on the peer"
                        if server["killed"] == "end of the step"
                        else died(server) or "dat_conform --serve ended before the step did")
    if not child:
        return
    report = evidence.result(child)
    if not report:
        yield result_of("statements", FAIL, died(child) or "dat_conform wrote no results")
        return
    verdicts = {"PASS": PASS, "FAIL": FAIL, "SKIP": NOT_APPLICABLE}
    for s in report["statements"]:
        verdict, reason, attribute = verdicts[s["verdict"]], s["reason"], ""
        if verdict == NOT_APPLICABLE and reason.startswith(UNABLE):
            verdict = NOT_TESTED
        elif verdict == NOT_APPLICABLE:
            named = re.match(r"(?!\w+ answers)[a-z]+(_[a-z]+)+", reason)
            attribute = named[0] if named else f"{s['page']}(3), {s['section']}"
        yield result_of(s["name"], verdict, reason, attribute, s["ms"] / 1000)
    count = report["count"]
    if len(report["statements"]) != sum(count.values()) or bool(count["fail"]) != bool(child["status"]):
        yield result_of("statements", FAIL,
                        "counts, statements and exit status of dat_conform disagree")


def judge_questions(record, evidence, entry):
    child = record["children"][-1]
    report = evidence.result(child)
    if not report:
        yield result_of("questions", FAIL, died(child) or "dat_first_light wrote no answers")
        return
    explained = False  # a verdict explains that the program did not succeed
    for p in report["probes"]:
        over = p["answer"].endswith(OVER)
        verdict = {"good": PASS, "tune": COMMENT, "skip": NOT_APPLICABLE}.get(p["verdict"], FAIL)
        reason, attribute = f"{p['question']} {p['answer']}", ""
        if verdict == COMMENT:
            reason += f"; to set: {p['set']}"
        if over or (verdict == NOT_APPLICABLE and p["answer"].startswith("not probed")):
            verdict = NOT_TESTED
        elif verdict == NOT_APPLICABLE:
            attribute = f"access = {report['access']}"
        explained = explained or verdict == FAIL or (over and child["status"] == 1)
        yield result_of(f"{p['number']:02d}", verdict, reason, attribute, p["ms"] / 1000)
    if died(child) and not explained:
        yield result_of("program", FAIL, died(child))


def judge_perf(record, evidence, entry):
    """Checks that both ends succeed, each size has the requested operations, and the data is
    verified."""
    reason = last_death(record["children"])
    client = record["children"][-1]
    report = evidence.result(client)
    if not reason and not report:
        reason = "the program wrote no results"
    if not reason and "--verify" in client["argv"] and not verified(client, report):
        reason = "the data was not verified"
    wanted = 23 if "-a" in client["argv"] else 1
    if not reason and len(report["results"]) != wanted:
        reason = f"{len(report['results'])} of {wanted} sizes were measured"
    if not reason and any(r["n_iterations"] < requested(client["argv"]) for r in report["results"]):
        reason = "fewer operations were measured than requested"
    if not reason and "--rate" in client["argv"]:
        reason = unplanned(client["argv"], report["results"][0])
    verdict = FAIL if reason else PASS if rate_reached(report) else COMMENT
    yield result_of("", verdict, reason or figures(report), "", client["seconds"])


def unplanned(argv, row):
    """Returns how a measurement at a rate contradicts its plan; empty if it does not. Each planned
    operation has a sample, or is counted as not started."""
    value = dict(zip(argv, argv[1:]))
    planned = int(value["--rate"]) * int(value["-D"])
    counted = row["n_iterations"] + row["unstarted"]
    if row["rate_asked"] != int(value["--rate"]) or abs(planned - counted) > 1:
        return f"{counted} operations are counted at {row['rate_asked']} per second, {planned} were planned"
    return ""


def rate_reached(report):
    """Returns whether each result with a requested rate reached it."""
    return all(r["rate_reached"] >= REACHED * r["rate_asked"]
               for r in report["results"] if "rate_asked" in r)


def requested(argv):
    value = dict(zip(argv, argv[1:]))
    endpoints = int(value.get("-q", 1)) if argv[0].endswith("_bw") else 1
    return int(value.get("-n", 1)) * int(value.get("--processes", 1)) * endpoints


def figures(report):
    """Returns the result in a few words; if there are several sizes, the largest rate."""
    row = report["results"][-1]
    rate = ""
    if "rate_asked" in row:
        rate = (f"{row['rate_asked']} per second asked, {row['rate_reached']:.0f} reached, "
                f"{row['late_starts']} of {row['n_iterations']} started late; ")
    if "t_typical" in row:
        return (f"{rate}median {row['t_typical']:.2f} us, 99% {row['percentile_99']:.2f}, "
                f"worst {row['t_max']:.2f}")
    if "BW_average" in row:
        return f"at most {max(r['BW_average'] for r in report['results']):.1f} MiB/s"
    return f"{row.get('MsgRate', 0):.3f} million per second"


def judge_pingpong(record, evidence, entry):
    reason = last_death(record["children"])
    client = record["children"][-1]
    for text in ("every byte verified", "write through the revoked window: refused"):
        if not reason and text not in client["stdout"]:
            reason = f'dat_pingpong does not print "{text}"'
    yield result_of("", FAIL if reason else PASS,
                    reason or "every byte verified; the closed window refuses a write", "",
                    client["seconds"])


def judge_integrity(record, evidence, entry):
    """Makes one check for each operation, or one for all refused accesses."""
    child = record["children"][-1]
    report = evidence.result(child)
    wrong = died(child)
    if not report or bool(report["failures"]) != bool(child["status"]):
        yield result_of("program", FAIL,
                        wrong or "dat_integrity wrote no results, or they contradict its exit status")
        return
    if "refusals" in entry["args"]:
        bad = [x for x in report["refusals"] if not x["good"]]
        reason = "; ".join(f"{x['name']}, {x['bytes']} bytes: {x['found']} instead of {x['expected']}"
                           for x in bad)
        if not report["refusals"] or (wrong and not bad):
            reason = wrong or "no access was tried"
        count = len(report["refusals"])
        yield result_of("", FAIL if reason else PASS, reason or f"{count} accesses refused", "",
                        child["seconds"])
        return
    blamed = any(t["failed"] for t in report["transfers"].values())
    if wrong and not blamed:
        yield result_of("program", FAIL, wrong)
    for op, t in report["transfers"].items():
        said = [m for m in report["messages"] if m.startswith(op + " ")]
        if op == "window" and not report["windows"]:
            yield result_of(op, NOT_APPLICABLE, "the adapter has no RMRs", "limits.rmrs")
        elif t["failed"]:
            yield result_of(op, FAIL, said[0] if said else f"{t['failed']} transfers failed")
        elif not t["transfers"] or (wrong and not blamed):
            yield result_of(op, NOT_TESTED, "dat_integrity ended before this step" if wrong
                            else "no transfer was tried")
        else:
            yield result_of(op, PASS, f"{t['transfers']} transfers, {t['bytes']} bytes")


def judge_statements(record, evidence, entry):
    """Judges statements of the conformance step, selected by page or section."""
    key, patterns = entry["args"]
    conform = evidence.record("conformance")
    report = evidence.result(conform["children"][-1]) if conform and conform["children"] else None
    chosen = [s for s in (report["statements"] if report else [])
              if any(fnmatch.fnmatch(s[key], p) for p in patterns.split("|"))]
    if not chosen:
        yield result_of("", NOT_TESTED, "the step conformance has no results")
        return
    count = collections.Counter(s["verdict"] for s in chosen)
    reason = f"{count['PASS']} of {len(chosen)} statements hold, {count['SKIP']} are not applicable"
    bad = [s["name"] for s in chosen if s["verdict"] == "FAIL"]
    yield result_of("", FAIL if bad else PASS if count["PASS"] else NOT_TESTED,
                    f"{reason}: {', '.join(bad)}" if bad else reason)


def judge_death(record, evidence, entry):
    """Checks that the survivor ends within 30 s with status 1 and a message."""
    killed, survivor = record["children"][:: 1 if record["victim"] == "server" else -1]
    said = survivor["stderr"] + survivor["stdout"]
    if not record["measuring"]:
        reason = "the measurement had not begun before the kill: " + last_line(said)
    elif not killed["killed"]:
        reason = f"the {record['victim']} ended before the kill: " + (died(killed) or "it succeeded")
    elif survivor["killed"] or record["after_s"] > 30:
        reason = f"the other end continued for {record['after_s']:.0f} s without its peer"
    elif survivor["status"] != 1:
        reason = died(survivor) or "the other end reports success"
    elif not re.search(r"connection ended: [A-Z_]+", said):
        reason = "the other end does not report why it ended"
    else:
        event = re.search(r"connection ended: ([A-Z_]+)", said)[1]
        yield result_of("", PASS, f"the other end reports {event} after {record['after_s']:.1f} s",
                        "", record["after_s"])
        return
    yield result_of("", FAIL, reason, "", record["after_s"])


def judge_soak(record, evidence, entry):
    reason = last_death(record["children"])
    seconds, planned = record["seconds"], int(entry["args"][0])
    took = f"{seconds} s" if seconds == planned else f"{seconds} s instead of {planned}"
    yield result_of("programs", FAIL if reason else PASS if seconds == planned else COMMENT,
                    reason or f"{len(record['children'])} programs, {took}", "", seconds)
    for child in record["children"]:
        if "--verify" in child["argv"]:
            report = evidence.result(child)
            good = report and verified(child, report)
            yield result_of(f"{child['role']}/data", PASS if good else FAIL,
                            "all data verified" if good else "the data was not verified")
    for name in sorted({s[1] for s in record["samples"]}):
        yield from judge_held(name, [s for s in record["samples"] if s[1] == name])


def judge_held(name, samples):
    """Checks memory, descriptors and threads: their maximum in the last quarter of the
    samples is hardly above the maximum in the second quarter."""
    n = len(samples)
    if n < 16:
        yield result_of(f"{name}/memory", NOT_TESTED, f"{n} samples are too few")
        return
    for column, what, slack in ((2, "memory", 2048), (3, "descriptors", 4), (4, "threads", 1)):
        early = max(s[column] for s in samples[n // 4 : n // 2])
        late = max(s[column] for s in samples[n * 3 // 4 :])
        unit = " KiB" if what == "memory" else ""
        yield result_of(f"{name}/{what}", FAIL if late > early * 1.1 + slack else PASS,
                        f"{early}{unit} in the second quarter of the time, {late}{unit} in the last")


def judge_counters(record, evidence, entry):
    """Checks that no error counter of either end grew during any step."""
    for which in ("here", "peer"):
        if which == "peer" and not evidence.manifest["peer"]:
            continue
        if record[which] is None:
            yield result_of(which, NOT_TESTED, "the peer had gone at the end")
            continue
        if not record[which]:
            adapter = evidence.end(which).get("adapter", {})
            access = adapter.get("provider_attributes", {}).get("access", "unknown")
            yield result_of(which, NOT_APPLICABLE,
                            "the adapter has no counters in /sys/class/infiniband",
                            f"access = {access}")
            continue
        for section in steps.SECTIONS[1:-1]:
            yield from judge_phase(which, section, evidence)


def judge_phase(which, section, evidence):
    names = identity.LINK if section in steps.PROVOKING else identity.LINK | identity.REQUEST
    if section in steps.WAITING:
        names = names - identity.WAITS
    grown, seen = {}, False
    for entry in evidence.manifest["steps"]:
        found = evidence.record(entry["name"]) if entry["section"] == section else None
        if not found or not found.get("counters"):
            continue
        seen = True
        before, after = found["counters"][which]
        for name in sorted(names & before.keys() & after.keys()):
            if after[name] != before[name]:
                grown[name] = grown.get(name, 0) + after[name] - before[name]
    if seen:
        yield result_of(f"{which}/{section}", FAIL if grown else PASS,
                        "; ".join(f"{k} grew by {v}" for k, v in sorted(grown.items()))
                        or "no error counter has grown")


JUDGES = {
    "identity": judge_identity,
    "conform": judge_conform,
    "questions": judge_questions,
    "perf": judge_perf,
    "pingpong": judge_pingpong,
    "integrity": judge_integrity,
    "statements": judge_statements,
    "death": judge_death,
    "soak": judge_soak,
    "counters": judge_counters,
}


def lacks(needs, limits):
    """Returns (reason, attribute) if a limit of the adapter is below what a step needs, or None."""
    limit, least = needs or (None, 0)
    has = limits.get(limit)
    if has is None or has >= least:
        return None
    return f"the adapter has {has} and {least} are needed", f"limits.{limit}"


def was_cut(record, entry):
    """Returns whether the end of the run's time explains why the step failed. It explains no crash, and no soak
    that hangs, since a soak ends before that time."""
    return (record.get("cut") and entry["kind"] != "soak"
            and not any(c["status"] < 0 and not c["killed"] for c in record["children"]))


def judge_step(entry, evidence):
    if entry["not_run"]:
        return [result_of("", NOT_TESTED, entry["not_run"])]
    lacking = lacks(entry["needs"], evidence.limits())
    if lacking:
        return [result_of("", NOT_APPLICABLE, *lacking)]
    record = evidence.record(entry["name"])
    if not record:
        return [result_of("", FAIL, "the bundle has no evidence of this step")]
    if was_cut(record, entry):
        return [result_of("", NOT_TESTED, "the time of the run ended before the step")]
    if record.get("broken"):
        return [result_of("", FAIL, record["broken"])]
    try:
        found = list(JUDGES[entry["kind"]](record, evidence, entry))
        return found or [result_of("", NOT_TESTED, "the evidence of this step has no result")]
    except UNJUDGED as error:  # for example, because the peer has another release
        return [result_of("", FAIL, f"the evidence cannot be judged: {cause_of(error)}")]


def cause_of(error):
    """Describes an exception by words that do not depend on the release of Python."""
    return f"it lacks {error}" if isinstance(error, KeyError) else type(error).__name__


def deviations(text):
    """Returns the rows of a file of known deviations: id, pattern of checks, pattern of reasons,
    text."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        row = line.split("\t")
        if len(row) != 4 or not all(row):
            raise ValueError(f"line {number}: four fields separated by tabs are needed: "
                             "id, check, reason, text")
        rows.append(row)
    return rows


def judge_all(manifest, members):
    """Returns all checks, with the known deviations applied."""
    evidence, checks = Evidence(manifest, members), []
    known = deviations(members["deviations.tsv"].decode())
    for entry in manifest["steps"]:
        for name, verdict, reason, attribute, seconds in judge_step(entry, evidence):
            full = f"{entry['name']}/{name}" if name else entry["name"]
            if verdict == FAIL:
                for number, check, why, text in known:
                    if fnmatch.fnmatchcase(full, check) and fnmatch.fnmatchcase(reason, why):
                        verdict, reason = COMMENT, f"known deviation {number}: {text} ({reason})"
                        break
            checks.append(Check(full, entry["name"], entry["section"], verdict, reason, attribute,
                                round(seconds, 3)))
    return checks


def overall(checks):
    """Returns the verdict of a step, a section or the bundle."""
    found = {c.verdict for c in checks}
    return next((v for v in (FAIL, COMMENT, PASS, NOT_TESTED, NOT_APPLICABLE) if v in found),
                NOT_TESTED)
