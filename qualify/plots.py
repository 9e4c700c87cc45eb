# SPDX-License-Identifier: BSD-2-Clause
"""Plots as SVG, which scale with the page. Colors are distinguishable in print: each line also has
its own dashes."""
import html
import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 300, 72, 18, 14, 48
COLORS = ("#1b5e9b", "#b3500f", "#2f7a3d", "#7a3d8f", "#8a6d00", "#5a5a5a")
DASHES = ("", "7 3", "2 3", "10 3 2 3", "4 2", "1 2")


def si(value):
    """Returns a number in few characters."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def size(value):
    for unit, one in (("M", 1 << 20), ("K", 1 << 10)):
        if value >= one:
            return f"{value / one:g}{unit}"
    return f"{value:g}"


def decades(low, high):
    return [10.0**e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def svg(inner, title, height=HEIGHT):
    return (f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html.escape(title)}">'
            f"<title>{html.escape(title)}</title>{inner}</svg>")


def line_style(i):
    return f'class="line" stroke="{COLORS[i % 6]}" stroke-dasharray="{DASHES[i % 6]}"'


def label(x, y, text, anchor="middle"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'


def scale(low, high, first, last, log):
    """Returns a function that converts values to pixels."""
    a, b = (math.log10(low), math.log10(high)) if log else (low, high)
    span = (b - a) or 1
    return lambda v: first + ((math.log10(max(v, low)) if log else v) - a) / span * (last - first)


def nice(high):
    """Returns the ticks of a linear axis that begins at 0."""
    step = 10.0 ** math.floor(math.log10(high or 1))
    step = next(s for s in (step / 5, step / 2, step, step * 2) if high / s <= 6)
    return [step * i for i in range(int(high / step) + 2)]


def lines(title, series, x_title, y_title, log_x=2, log_y=True):
    """Draws lines. series: (name, [(x, y)]). log_x: the base of the horizontal axis, or 0."""
    series = [(n, [(x, y) for x, y in p if y > 0 or not log_y]) for n, p in series]
    points = [p for _, s in series for p in s]
    if not points:
        return ""
    xs, ys = sorted({x for x, _ in points}), [y for _, y in points]
    y_ticks = decades(min(ys), max(ys)) if log_y else nice(max(ys))
    to_y = scale(y_ticks[0], y_ticks[-1] if y_ticks[-1] > y_ticks[0] else y_ticks[0] * 10,
                 HEIGHT - BOTTOM, TOP, log_y)
    to_x = scale(xs[0], xs[-1], LEFT, WIDTH - RIGHT, bool(log_x))
    if log_x:
        x_ticks = xs[:: max(1, math.ceil(len(xs) / 8))]
    else:
        x_ticks = [t for t in nice(xs[-1]) if xs[0] <= t <= xs[-1]]
    out = [f'<path class="axis" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>']
    for t in y_ticks:
        out.append(f'<path class="grid" d="M{LEFT} {to_y(t):.1f}H{WIDTH - RIGHT}"/>')
        out.append(label(LEFT - 6, to_y(t) + 4, si(t), "end"))
    for t in x_ticks:
        out.append(label(to_x(t), HEIGHT - BOTTOM + 18, (size if log_x == 2 else si)(t)))
    out.append(label((LEFT + WIDTH) / 2, HEIGHT - 8, x_title))
    out.append(f'<text transform="translate(14 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) rotate(-90)" '
               f'text-anchor="middle">{html.escape(y_title)}</text>')
    for i, (_, own) in enumerate(series):
        path = " ".join(f"{to_x(x):.1f},{to_y(y):.1f}" for x, y in own)
        out.append(f'<polyline {line_style(i)} points="{path}"/>')
        if len(own) <= 30:
            out += [f'<circle cx="{to_x(x):.1f}" cy="{to_y(y):.1f}" r="2.6" fill="{COLORS[i % 6]}"/>'
                    for x, y in own]
    return svg("".join(out), title) + legend([n for n, _ in series])


def legend(names):
    shown = (f'<span><svg viewBox="0 0 30 8"><path {line_style(i)} d="M0 4H30"/></svg>{html.escape(n)}</span>'
             for i, n in enumerate(names))
    return f'<p class="legend">{" ".join(shown)}</p>'


def ranges(title, rows, x_title):
    """Draws bars. rows: (name, least, median, 99 %, 99.9 %, most): a bar from median to 99 %, lines
    to the ends."""
    if not rows:
        return ""
    ticks = decades(min(r[1] for r in rows), max(r[5] for r in rows))
    left, height = 118, 24 * len(rows) + 50
    to_x = scale(ticks[0], ticks[-1] if len(ticks) > 1 else ticks[0] * 10, left, WIDTH - RIGHT - 8,
                 True)
    out = []
    for t in ticks:
        out.append(f'<path class="grid" d="M{to_x(t):.1f} 6V{height - 42}"/>')
        out.append(label(to_x(t), height - 26, si(t)))
    for i, (name, least, median, p99, p999, most) in enumerate(rows):
        y, color = 18 + 24 * i, COLORS[0]
        out.append(label(left - 8, y + 4, name, "end"))
        out.append(f'<path stroke="{color}" d="M{to_x(least):.1f} {y}H{to_x(most):.1f}"/>')
        out.append(f'<rect x="{to_x(median):.1f}" y="{y - 6}" width="{max(to_x(p99) - to_x(median), 1):.1f}" '
                   f'height="12" fill="{color}" fill-opacity="0.35"/>')
        out.append(f'<path stroke="{color}" stroke-width="3" d="M{to_x(median):.1f} {y - 8}v16"/>')
        out.append(f'<path stroke="{color}" d="M{to_x(p999):.1f} {y - 6}v12'
                   f'M{to_x(most):.1f} {y - 3}v6M{to_x(least):.1f} {y - 3}v6"/>')
    out.append(label((left + WIDTH) / 2, height - 6, x_title))
    return svg("".join(out), title, height)
