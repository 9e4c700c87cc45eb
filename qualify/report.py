# SPDX-License-Identifier: BSD-2-Clause
"""Makes the JUnit XML and the page of a bundle, from manifest, checks and evidence alone."""
import collections
import hashlib
import html
import time
from xml.sax.saxutils import escape, quoteattr

import judge
import plots
import steps

e = html.escape
CLASSES = {
    judge.PASS: "pass",
    judge.COMMENT: "comment",
    judge.FAIL: "fail",
    judge.NOT_APPLICABLE: "na",
    judge.NOT_TESTED: "nt",
}
CSS = """
:root{--line:#d5d8dc;--soft:#f4f5f7}
*{box-sizing:border-box}
body{font:15px/1.45 system-ui,"Segoe UI","DejaVu Sans",sans-serif;color:#1a1d21;margin:0 auto;padding:16px;max-width:1080px;
background:#fff;overflow-wrap:anywhere}
h1{font-size:1.5em;margin:.2em 0}h2{font-size:1.15em;margin:1.8em 0 .5em;border-bottom:2px solid var(--line);padding-bottom:.2em}
h3{font-size:1em;margin:1.2em 0 .3em}
p{margin:.4em 0}a{color:#1b5e9b}
table{border-collapse:collapse;width:100%;font-size:.92em;margin-bottom:.8em}
th,td{text-align:left;vertical-align:top;padding:4px 8px;border-bottom:1px solid var(--line)}
th{background:var(--soft);font-weight:600;overflow-wrap:normal}
.s td:first-child,.k td:first-child{white-space:nowrap}.c td:first-child{min-width:14em}
td.n,th.n{text-align:right;white-space:nowrap}.k td:first-child{width:1%}
code,.hash{font:12.5px/1.4 ui-monospace,"DejaVu Sans Mono",monospace}
.v{display:inline-block;padding:0 .5em;border-radius:3px;font-size:.85em;font-weight:600;white-space:nowrap;border:1px solid}
.pass{background:#e3f3e6;color:#155724;border-color:#9ccfa6}.comment{background:#fff3cd;color:#6b4e00;border-color:#e2c35a}
.fail{background:#b3261e;color:#fff;border-color:#b3261e}.na{background:#eef0f2;color:#444;border-color:#c4c8cc}
.nt{background:#fff;color:#444;border-color:#999;border-style:dashed}
.verdict{font-size:1.15em;padding:.1em .7em}
.cards{display:flex;flex-wrap:wrap;gap:8px;margin:1em 0}.cards div{border:1px solid var(--line);padding:6px 14px;border-radius:4px}
.cards b{display:block;font-size:1.3em}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:16px;margin-bottom:12px}
figure{margin:0;max-width:720px;border:1px solid var(--line);border-radius:4px;padding:10px}figcaption{font-weight:600;margin-bottom:4px}
figure>svg{width:100%;height:auto;display:block;font:15px system-ui,"DejaVu Sans",sans-serif}
svg path,.line{fill:none}.axis{stroke:#444}.grid{stroke:#e3e5e8}.line{stroke-width:2}
.legend{font-size:.85em}.legend svg{width:30px;height:8px;margin-right:5px}.legend span{margin-right:14px;white-space:nowrap}
details{margin:.4em 0}summary{cursor:pointer}
@media(max-width:620px){body{padding:10px;font-size:14px}
.t thead{display:none}.t td:first-child{white-space:normal;min-width:0;width:auto}.t tr{display:block;border-bottom:1px solid var(--line);padding:6px 0}
.t td{display:block;border:0;padding:1px 0}.t td.n{display:inline-block;margin-right:1em}.t td.n:empty{display:none}
.k td:first-child{color:#666}.k td[data-h]:nth-child(2)::before{display:none}
.t td[data-h]:not(:empty)::before{content:attr(data-h) ": ";color:#666}}
.c,.s{overflow-wrap:break-word}
@media print{.hash{font-size:7pt}body{font-size:10pt;max-width:none;padding:0}h2{break-after:avoid}tr,figure,.cards div{break-inside:avoid}
.v,th,figure *{print-color-adjust:exact;-webkit-print-color-adjust:exact}details::details-content{content-visibility:visible}
a{color:inherit;text-decoration:none}.plots{grid-template-columns:1fr 1fr}}
"""


def junit(manifest, checks):
    out = ['<?xml version="1.0" encoding="UTF-8"?>',
           f'<testsuites name={quoted("dat_qualify " + manifest["ia"])}>']
    for section in steps.SECTIONS:
        own = [c for c in checks if c.section == section]
        if not own:
            continue
        skipped = sum(c.verdict in (judge.NOT_APPLICABLE, judge.NOT_TESTED) for c in own)
        out.append(f'  <testsuite name={quoteattr(section)} tests="{len(own)}" '
                   f'failures="{sum(c.verdict == judge.FAIL for c in own)}" skipped="{skipped}">')
        for c in own:
            head = f'    <testcase classname={quoted(c.step)} name={quoted(c.name)} time="{c.seconds:.3f}"'
            said = quoted(" ".join(f"{c.verdict}: {c.reason} {c.attribute}".split()))
            inside = {
                judge.PASS: "",
                judge.FAIL: f"<failure message={said}/>",
                judge.COMMENT: f"<system-out>{escape(clean(c.verdict + ': ' + c.reason))}</system-out>",
            }.get(c.verdict, f"<skipped message={said}/>")
            out.append(f"{head}>{inside}</testcase>" if inside else head + "/>")
        out.append("  </testsuite>")
    return ("\n".join(out) + "\n</testsuites>\n").encode()


def clean(text):
    """Replaces characters that XML does not allow."""
    return "".join(
        c if c in "\t\n" or " " <= c < "\ud800" or "\ue000" <= c < "\ufffe" else "?" for c in text
    )


def quoted(text):
    return quoteattr(clean(text))


def mark(verdict):
    return f'<span class="v {CLASSES[verdict]}">{verdict}</span>'


def table(heads, rows, numbers=(), kind="t"):
    """Makes a table of HTML cells. On a narrow screen, the column's heading is beside each cell."""

    def cell(i, tag, text, more=""):
        return f'<{tag}{" class=n" if i in numbers else ""}{more}>{text}</{tag}>'

    head = "".join(cell(i, "th", e(h)) for i, h in enumerate(heads))
    body = "".join(
        "<tr>"
        + "".join(
            cell(i, "td", c, f' data-h="{e(heads[i])}"' if heads[i] else "")
            for i, c in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def reason(check):
    return e(check.reason) + (f" <code>[{e(check.attribute)}]</code>" if check.attribute else "")


def summary(manifest, checks):
    rows = []
    for section in steps.SECTIONS:
        own = [c for c in checks if c.section == section]
        if own:
            count = collections.Counter(c.verdict for c in own)
            rows.append([f'<a href="#{anchor(section)}">{e(section)}</a>', mark(judge.overall(own)),
                         *(str(count[v] or "") for v in judge.VERDICTS)])
    return table(["Section", "Verdict", *judge.VERDICTS], rows, range(2, 7))


def anchor(section):
    return section.lower().replace(" ", "-")


def identity(evidence):
    here, other = evidence.end("here"), evidence.end("peer")
    if not here:
        return "<p>Not collected.</p>"
    sides = [facts(here)] + ([facts(other)] if other else [])
    keys = list(dict.fromkeys(k for s in sides for k in s))
    return table(["", "Under test", "Peer"][: 1 + len(sides)],
                 [[e(k), *(e(s.get(k, "")) for s in sides)] for k in keys],
                 kind="t k" if len(sides) == 1 else "t")


def facts(end):
    a = end["adapter"]
    provider, limits = a.get("provider_attributes", {}), a.get("limits", {})
    found = {
        "IA": end["ia"],
        "adapter": a.get("vendor"),
        "firmware": provider.get("firmware") or a.get("firmware"),
        "hardware": a.get("hardware"),
        "address": a.get("address"),
        "provider": f"{a.get('provider', '')} {end['build'].get('version', '')}, uDAPL "
        f"{a.get('api_major', '')}.{a.get('api_minor', '')}",
        "library": a.get("library"),
        "built with": f"{end['build'].get('compiler', '')}, rdma-core {end['build'].get('rdma_core', '')}",
    }
    found.update({k: v for k, v in provider.items() if k not in ("firmware", "device")})
    found.update({k.replace("_", " "): v for k, v in {**end["device"], **end["host"]}.items()})
    found["limits"] = ", ".join(f"{k} {v}" for k, v in limits.items())
    found["environment"] = ", ".join(f"{k}={v}" for k, v in end["environment"].items())
    return {k: str(v) for k, v in found.items() if v}


def wrap(name):
    """Allows a long name to wrap between its parts."""
    return e(name).replace("__", "__<wbr>").replace("/", "/<wbr>")


def section_steps(section, manifest, checks, evidence):
    rows = []
    for entry in manifest["steps"]:
        own = [c for c in checks if c.step == entry["name"]]
        if entry["section"] != section or not own:
            continue
        record = evidence.record(entry["name"]) or {}
        command = [c for c in record.get("children", ()) if c.get("role", "").endswith("client")]
        shown = "<br>".join(f"<code>{e(' '.join(c['argv']))}</code>" for c in command)
        said = (
            reason(own[0])
            if len(own) == 1
            else f"{sum(c.verdict == judge.PASS for c in own)} of {len(own)} checks pass"
        )
        took = f"{record['took']:.1f}" if record.get("took") and command else ""
        rows.append([wrap(entry["name"]), mark(judge.overall(own)),
                     f"{e(entry['title'])}: {said}" + (f"<br>{shown}" if shown else ""), took])
    return table(["Step", "Verdict", "What, and result", "Seconds"], rows, (3,), "t s")


def not_plain(section, checks):
    """Lists the checks that are not a plain PASS, for steps with several checks."""
    many = collections.Counter(c.step for c in checks)
    odd = [c for c in checks
           if c.section == section and many[c.step] > 1 and c.verdict != judge.PASS]
    if not odd:
        return ""
    order = (judge.FAIL, judge.COMMENT, judge.NOT_TESTED, judge.NOT_APPLICABLE)
    odd.sort(key=lambda c: order.index(c.verdict))
    rows = [[wrap(c.name), mark(c.verdict), reason(c)] for c in odd]
    return table(["Check", "Verdict", "Reason"], rows, kind="t c")


def results(evidence, section):
    """Yields (step entry, results of its client) for a section of measurements."""
    for entry in evidence.manifest["steps"]:
        if entry["section"] != section or entry["kind"] != "perf":
            continue
        record = evidence.record(entry["name"]) or {}
        report = evidence.result(record["children"][-1]) if record.get("children") else None
        if report and report.get("results"):
            yield entry, report["results"]


def figure(title, plot):
    return f"<figure><figcaption>{e(title)}</figcaption>{plot}</figure>" if plot else ""


PERCENTILES = (("median", "t_typical"), ("99 %", "percentile_99"), ("99.9 %", "percentile_99.9"),
               ("most", "t_max"))


def drawn(title, *plot, **axes):
    """Returns a figure of lines."""
    return figure(title, plots.lines(*plot, **axes))


def rate_figures(found):
    """Draws the percentiles over the rate, for each program that measured at given rates."""
    programs = {}
    for entry, rows in found:
        programs.setdefault(entry["program"], []).extend(r for r in rows if "rate_asked" in r)
    return [drawn(f"Latency over rate, {program}", "latency over rate",
                  [(n, [(r["rate_asked"], r[key]) for r in rows]) for n, key in PERCENTILES],
                  "operations per second asked", "microseconds", log_x=10)
            for program, rows in programs.items() if rows]


def latency_figures(found):
    rows = [(entry["name"].removeprefix("latency-").replace("-", " "), r["t_min"], r["t_typical"],
             r["percentile_99"], r["percentile_99.9"], r["t_max"])
            for entry, of_step in found for r in of_step if "rate_asked" not in r]
    return [figure("Latency: least, median (thick), 99 % (bar), 99.9 % and most",
                   plots.ranges("latency", [r for r in rows if r[1] > 0], "microseconds")),
            *rate_figures(found)]


def bandwidth_figures(found):
    sizes = [(entry["name"].removeprefix("bandwidth-"), rows) for entry, rows in found]
    return [drawn("Bandwidth over size", "bandwidth",
                  [(n, [(r["MsgSize"], r["BW_average"]) for r in rows]) for n, rows in sizes],
                  "bytes", "MiB/s"),
            drawn("Operations over size", "rate",
                  [(n, [(r["MsgSize"], r["MsgRate"] * 1e6) for r in rows]) for n, rows in sizes],
                  "bytes", "per second")]


def scale_figures(found):
    points = [(int(entry["name"].split("-")[1]), rows[0]["MsgRate"] * 1e6) for entry, rows in found]
    return [drawn("Operations over endpoints", "scale",
                  [("write of 64 bytes", points)] if points else [], "endpoints", "per second",
                  log_x=10, log_y=False)]


def soak_figures(evidence):
    samples = (evidence.record("soak") or {}).get("samples", [])
    names = sorted({s[1] for s in samples})
    return [drawn(f"{what} over time", what,
                  [(n, thin([(s[0], s[column]) for s in samples if s[1] == n])) for n in names],
                  "seconds", unit, log_x=0, log_y=False)
            for column, what, unit in ((2, "Memory", "KiB"), (3, "Descriptors", ""))]


def plots_of(section, evidence):
    draw = {steps.LATENCY: latency_figures, steps.BANDWIDTH: bandwidth_figures, steps.SCALE: scale_figures}
    if section in draw:
        shown = "".join(draw[section](list(results(evidence, section))))
    else:
        shown = "".join(soak_figures(evidence)) if section == steps.SOAK else ""
    return f'<div class="plots">{shown}</div>' if shown else ""


def thin(points):
    return points[:: max(1, len(points) // 200)]


def hashes(members, evidence):
    def listed(what, found):
        rows = [[e(n), f'<span class="hash">{e(str(d))}</span>'] for n, d in found.items()]
        return (f"<details><summary>SHA-256 of {len(rows)} {what}</summary>"
                f"{table(['File', 'SHA-256'], rows)}</details>")

    own = {n: hashlib.sha256(d).hexdigest() for n, d in members.items()}
    return (listed("files of the evidence", own) +
            listed("programs and libraries", evidence.end("here").get("sha256", {})))


def page(manifest, checks, members):
    evidence = judge.Evidence(manifest, members)
    adapter = evidence.end("here").get("adapter", {})
    begun = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(manifest["begun"]))
    peer = f"peer {manifest['peer']}" if manifest["peer"] else "loopback"
    failed = [c for c in checks if c.verdict == judge.FAIL]
    out = [
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f"<title>Qualification of {e(manifest['ia'])}</title><style>{CSS}</style></head><body>",
        f"<h1>Qualification of {e(manifest['ia'])} for uDAPL {e(manifest['api'])}</h1>",
        f"<p>{e(adapter.get('vendor', 'no adapter'))}, firmware {e(str(adapter.get('firmware', '')))}; {e(peer)}</p>",
        f'<p><span class="v verdict {CLASSES[manifest["verdict"]]}">{manifest["verdict"]}</span></p>',
        '<div class="cards">'
        + "".join(f"<div><b>{manifest['count'][v]}</b>{v}</div>" for v in judge.VERDICTS)
        + "</div>",
        f"<p>{begun}, {manifest['seconds'] / 60:.1f} minutes, {'quick' if manifest['quick'] else 'full'} run, "
        f"seed {e(str(manifest['seed']))}, {e(manifest['program'])}"
        + (f", tester: {e(manifest['tester'])}" if manifest["tester"] else "")
        + "</p>",
        f"<p>Selected steps: <code>{e(manifest['selected'])}</code></p>"
        if manifest["selected"] != "*"
        else "",
        "<p>The signatures are in files beside the bundle. <code>dat_qualify verify</code> recomputes each verdict from "
        "the evidence and names any changed byte.</p>",
    ]
    if failed:
        rows = [[e(c.name), e(c.section), reason(c)] for c in failed]
        out.append("<h2>Failed</h2>" + table(["Check", "Section", "Reason"], rows))
    out += ["<h2>Sections</h2>", summary(manifest, checks)]
    for section in steps.SECTIONS:
        out.append(f'<h2 id="{anchor(section)}">{e(section)}</h2>')
        if section == steps.IDENTITY:
            out.append(identity(evidence))
        out += [plots_of(section, evidence), section_steps(section, manifest, checks, evidence),
                not_plain(section, checks)]
    known = judge.deviations(members["deviations.tsv"].decode())
    if known:
        used = " ".join(c.reason for c in checks if c.verdict == judge.COMMENT)
        rows = [[e(n), f"<code>{e(c)}</code>", e(t), "yes" if f"known deviation {n}:" in used else "no"]
                for n, c, _, t in known]
        out.append("<h2>Known deviations</h2>" + table(["Number", "Checks", "Text", "Seen"], rows))
    out += ["<h2>Hashes</h2>", hashes(members, evidence), "</body></html>\n"]
    # An argument or an environment variable may have bytes that are not UTF-8.
    return "\n".join(filter(None, out)).encode(errors="replace")
