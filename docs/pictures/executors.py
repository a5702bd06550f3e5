#!/usr/bin/env python3
"""Draws the paced efficiencies of an executors record as an SVG, with intervals and bounds.

    docs/pictures/executors.py docs/results/executors-2cpu-vm.json docs/pictures/executors.svg

Standard library only. One row a graph and schedule; a dot is the median, the line its 95 % interval, the
tick what the critical path allows.
"""

import json
import sys
from xml.sax.saxutils import escape

LEFT, TOP, ROW, GAP, WIDTH = 190, 46, 20, 14, 470
LOW, HIGH = 0.3, 1.05
COLOURS = ["#0b7285", "#c2255c", "#5f3dc4", "#e67700", "#2b8a3e"]


def x(value):
    value = min(max(value, LOW), HIGH)
    return LEFT + (value - LOW) / (HIGH - LOW) * WIDTH


def text(at_x, at_y, words, anchor="start", weight="normal"):
    return (
        f'<text x="{at_x:.1f}" y="{at_y:.1f}" text-anchor="{anchor}" font-weight="{weight}">'
        f"{escape(words)}</text>"
    )


def axis(bottom):
    for step in range(3, 11):
        value = step / 10
        yield f'<line x1="{x(value):.1f}" y1="{TOP - 8}" x2="{x(value):.1f}" y2="{bottom}" stroke="#888" stroke-opacity="0.3"/>'
        yield text(x(value), TOP - 14, f"{value:.1f}", "middle")


def row(at_y, cell, colour):
    low, high = cell["interval_95"] or [cell["efficiency"]] * 2
    yield text(LEFT - 10, at_y + 4, cell["policy"].split(" / ")[0], "end")
    yield f'<line x1="{x(cell["cap"]):.1f}" y1="{at_y - 8}" x2="{x(cell["cap"]):.1f}" y2="{at_y + 8}" stroke="#888" stroke-width="2"/>'
    yield f'<line x1="{x(low):.1f}" y1="{at_y}" x2="{x(high):.1f}" y2="{at_y}" stroke="{colour}" stroke-width="3"/>'
    yield f'<circle cx="{x(cell["efficiency"]):.1f}" cy="{at_y}" r="5" fill="{colour}"/>'
    yield text(LEFT + WIDTH + 12, at_y + 4, f'{cell["efficiency"]:.2f}')


def draw(record):
    cells = [cell for cell in record["cells"] if cell["mode"] == "paced"]
    schedules = list(dict.fromkeys(cell["policy"] for cell in cells))
    colour = {policy: COLOURS[i % len(COLOURS)] for i, policy in enumerate(schedules)}
    body, at_y = [], TOP + 10
    for graph in dict.fromkeys(cell["graph"] for cell in cells):
        body.append(text(12, at_y + 4, graph, weight="bold"))
        for cell in (cell for cell in cells if cell["graph"] == graph):
            body.extend(row(at_y, cell, colour[cell["policy"]]))
            at_y += ROW
        at_y += GAP
    title = f'Efficiency with {cells[0]["workers"]} workers: serial / workers / parallel, a block each 1333 us'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 60} {at_y + 6}" font-family="sans-serif" font-size="13">'
    style = "<style>text{fill:#222}@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>"
    return "\n".join([head, style, text(12, 18, title, weight="bold"), *axis(at_y - GAP), *body, "</svg>"]) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        record = json.load(file)
    if not str(record.get("format", "")).startswith("hocket-executors/"):
        sys.exit(f"{sys.argv[1]}: not an executors record; make one with cargo bench --bench executors")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(draw(record))


if __name__ == "__main__":
    main()
