#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every word of a manual page's source is in the page as mandoc prints it, in order. A word that is also
# a macro's name ("No", "In", "Do"), a line that begins with a point, and an unescaped "&" would be lost,
# and mandoc's lint does not report that.
set -u
. tests/harness/skip.sh
command -v mandoc >/dev/null || skip "mandoc is not installed"
exec python3 - man/*.[1-8] <<'END'
import re
import subprocess
import sys

AHEAD = 40              # most words that mandoc may add between two words of the source: headers, names
SILENT = {"Dd", "Dt", "Os", "Bl", "El", "Bd", "Ed", "Pp", "Bk", "Ek", "Bf", "Ef", "Sm", "Rs", "Re"}
NESTED = set("""Ac Ad An Ao Ap Aq Ar At Bc Bo Bq Brc Bro Brq Bsx Bx Cd Cm Dc Do Dq Dv Dx Ec Em En Eo Er
    Ev Fa Fc Fl Fn Fo Fr Ft Fx Ic In Li Lk Ms Mt Nm No Ns Nx Oc Oo Op Ot Ox Pa Pc Pf Po Pq Qc Ql Qo Qq
    Sc So Sq Sx Sy Ta Tn Ux Va Vt Xc Xo Xr""".split())
LINES = NESTED | SILENT | {"Sh", "Ss", "It", "Nd", "D1", "Dl", "Ex", "Rv", "St", "Lb", "Es", "Fd"}
# Words that are macros elsewhere, but are meant as English words if they come first after a macro.
ENGLISH = {"Ad", "An", "At", "Do", "In", "Me", "Ms", "No", "So"}


def words(text):
    return re.findall(r"[A-Za-z0-9_]+|&", text)


def plain(text):
    text = re.sub(r'\\".*', "", text)
    text = text.replace(r"\e", " ").replace(r"\&", "")
    return re.sub(r"\\(\[[^]]*\]|\(..|f.|.)", " ", text)


def of_macro(line):
    name, _, rest = line[1:].strip().partition(" ")
    if name not in LINES:
        return words(plain(line[1:]))
    if name in SILENT:
        return []
    args = rest.replace('"', " ").split()
    if name in ("Sh", "Ss", "It", "Nd") or name in NESTED:
        args = [a for i, a in enumerate(args)
                if a not in NESTED or (i == 0 and a in ENGLISH)]
    return words(plain(" ".join(args)))


def source(path):
    found, literal = [], False
    for number, line in enumerate(open(path), 1):
        line = line.rstrip("\n")
        if line.startswith('.\\"'):
            continue
        if line.startswith((".Bd -literal", ".Ed")):
            literal = line.startswith(".Bd")
        is_macro = line[:1] in (".", "'")
        got = of_macro(line) if is_macro else words(plain(line))
        if literal:
            got = [w for w in got if w != "&"]
        # An "&" is only allowed after a backslash.
        if "Ns" in line.split() and "&" in got:
            got.append("(an unescaped &)")
        found += [(number, w) for w in got if w != "&"]
    return found


def lost(path):
    text = subprocess.run(["mandoc", "-T", "ascii", "-O", "width=500", path], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    shown, at = words(re.sub(".\b", "", text)), 0
    for number, word in source(path):
        there = shown[at:at + AHEAD]
        if word in there:
            at += there.index(word) + 1
        else:
            yield number, word


status = 0
for page in sys.argv[1:]:
    for number, word in list(lost(page))[:3]:
        print(f'{page}:{number}: "{word}" is not printed')
        status = 1
sys.exit(status)
END
