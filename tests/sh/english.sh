#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# english.sh [DIR]: no text of the tree has a phrase of tests/data/english.tsv. These phrases have no
# subject, or no word of the field.
set -u
exec python3 - "${1-.}" <<'END'
import pathlib
import re
import subprocess
import sys

TEXT = {".c", ".h", ".inl", ".sh", ".py", ".awk", ".md", ".mk", ".in", ".ac", ".yml", ".map"}
# Excepted files: the list of phrases, names of variables, and past releases.
EXCEPT = {"tests/data/english.tsv", "tests/sh/english.sh", "tests/sh/english-plants.sh", "CHANGELOG.md"}
# The marks of a comment ahead of a line's text.
MARK = re.compile(r"^[ \t]*(/\*+|\*(?!/)|#+|//|\.\\\"|dnl)?[ \t]*")


def phrases():
    for line in pathlib.Path("tests/data/english.tsv").read_text().splitlines():
        if not line.startswith("#"):
            pattern, instead, _ = line.split("\t")
            yield re.compile(pattern.replace(" ", r"\s+"), re.M), instead


def is_text(path):
    return path.suffix in TEXT or path.suffix[1:2].isdigit() or not path.suffix


def files(root):
    """Of a clone, the files that git tracks or could add; of a tarball, all but the build directories."""
    if (root / ".git").exists():
        names = subprocess.run(("git", "-C", root, "ls-files", "-co", "--exclude-standard"), check=True,
                               stdout=subprocess.PIPE, universal_newlines=True).stdout.splitlines()
        return [root / n for n in names]
    return [p for top in root.iterdir() if not top.name.startswith("build")
            for p in (top, *top.rglob("*")) if "__pycache__" not in p.parts]


root = pathlib.Path(sys.argv[1])
known, status = list(phrases()), 0
for path in sorted(files(root)):
    name = path.relative_to(root).as_posix()
    if not path.is_file() or not is_text(path) or name in EXCEPT:
        continue
    text = "\n".join(MARK.sub("", line) for line in path.read_text(errors="replace").splitlines())
    for pattern, instead in known:
        for found in pattern.finditer(text):
            number = text.count("\n", 0, found.start()) + 1
            print(f'{name}:{number}: "{" ".join(found[0].split())}": {instead}')
            status = 1
sys.exit(status)
END
