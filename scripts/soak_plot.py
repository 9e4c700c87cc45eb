#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""soak_plot.py TSV SVG: plots the resources that the servers of a soak held, over time.

There is a panel for each resource, and in it a line for each server.
"""
import sys

WIDTH, PANEL, LEFT, TOP = 900, 110, 130, 24
COLORS = ("#1b6ca8", "#c2571a", "#3a7d44")
UNITS = {"heap": 1024, "anonymous": 1024, "shared": 1024}


def read(path):
    """Returns column names, and rows of numbers."""
    with open(path, encoding="ascii") as f:
        names = f.readline().split()
        return names, [[float(x) for x in line.split()] for line in f if line.strip()]


def points(rows, column, server, end, top):
    """Returns the line of one server, with at most 1000 points."""
    own = [(r[0], r[column]) for r in rows if r[1] == server]
    step = max(1, len(own) // 1000)
    return " ".join(f"{LEFT + t / end * (WIDTH - LEFT - 20):.1f},{PANEL - 12 - v / top * (PANEL - 30):.1f}"
                    for t, v in own[::step])


def panel(names, rows, column, end):
    """Returns the panel of one resource."""
    top = max(r[column] for r in rows) * 1.1 or 1
    unit = UNITS.get(names[column], 1)
    label = f"{names[column]}{', KiB' if unit > 1 else ''}"
    out = [f'<text x="8" y="{PANEL / 2}">{label}</text>',
           f'<text x="{LEFT - 6}" y="24" text-anchor="end">{top / unit:.0f}</text>',
           f'<text x="{LEFT - 6}" y="{PANEL - 10}" text-anchor="end">0</text>',
           f'<path d="M{LEFT} 12V{PANEL - 12}H{WIDTH - 20}" fill="none" stroke="#888"/>']
    for server in sorted({r[1] for r in rows}):
        out.append(f'<polyline fill="none" stroke="{COLORS[int(server) % len(COLORS)]}" '
                   f'points="{points(rows, column, server, end, top)}"/>')
    return "".join(out)


def main():
    names, rows = read(sys.argv[1])
    if not rows:
        sys.exit(f"soak_plot.py: {sys.argv[1]} has no samples")
    end = rows[-1][0] or 1
    height = TOP + PANEL * (len(names) - 3) + 20
    with open(sys.argv[2], "w", encoding="ascii") as f:
        f.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
                f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
                f'<text x="8" y="16">{len(rows)} clients in {end:.0f} s, {names[1]}s by color</text>')
        for i, column in enumerate(range(3, len(names))):
            f.write(f'<g transform="translate(0 {TOP + i * PANEL})">{panel(names, rows, column, end)}</g>')
        f.write("</svg>\n")


main()
