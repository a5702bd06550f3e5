#!/usr/bin/env python3
"""Draws the records of `executors --random` as an SVG, or prints them as a table for a read-me.

    docs/pictures/contest.py docs/results/random-graphs-2cpu-vm.json -o docs/pictures/random-graphs.svg
    docs/pictures/contest.py --table docs/results/random-graphs-2cpu-vm*.json

Standard library only. A dot is a graph: across, the serial walk's median block; up, how much longer or
shorter auto's is (left), and by the best fixed schedule's (right). The line is the 95 % interval.
"""

import argparse
import json
import math
import sys
from xml.sax.saxutils import escape

LEFT, TOP, WIDTH, HEIGHT, GAP = 60, 40, 360, 300, 70
LOW, HIGH = 0.4, 1.6
# Below 1, `auto` is the shorter one.
PANELS = [("auto_by_serial", "time of auto / serial walk", 1.03), ("auto_by_best", "time of auto / best fixed schedule", 1.05)]
COLOURS = {"kept": "#0b7285", "exceeded": "#e67700", "broken": "#c2255c"}
VERDICTS = {"auto_by_serial": "against_serial", "auto_by_best": "against_best"}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("records", nargs="+")
    arguments.add_argument("-o", "--output")
    arguments.add_argument("--table", action="store_true")
    options = arguments.parse_args()
    records = [read(path) for path in options.records]
    text = table(records) if options.table else draw(records[0])
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        print(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        record = json.load(file)
    if not str(record.get("format", "")).startswith("hocket-executors-contest/"):
        sys.exit(f"{path}: not a contest's record; make one with cargo bench --bench executors -- --random 200")
    return record


def table(records):
    rows = [
        "| host | graphs | several workers best on | median auto by serial | by best fixed | more than 3 % above serial | more than 5 % above best fixed |",
        "|---|---|---|---|---|---|---|",
    ]
    for record in records:
        summary = record["summary"]
        host = (record["hostile"] or "as it is").split(":")[0]
        promises = [f'{one["exceeded"]} ({one["broken"]} with the whole interval)' for one in summary["promises"]]
        cells = [host, summary["graphs"], summary["parallel_pays"], f'{summary["median_auto_by_serial"]:.3f}',
                 f'{summary["median_auto_by_best"]:.3f}', *promises]
        rows.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(rows)


def draw(record):
    graphs = record["graphs"]
    times = [graph["serial_ns"] / 1000 for graph in graphs]
    span = (math.log10(min(times) * 0.9), math.log10(max(times) * 1.1))
    body = []
    for index, (figure, title, bound) in enumerate(PANELS):
        body.extend(panel(LEFT + index * (WIDTH + GAP), graphs, figure, title, bound, span))
    across, down = LEFT + 2 * WIDTH + GAP + 20, TOP + HEIGHT + 50
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {down}" font-family="sans-serif" font-size="13">'
        "<style>text{fill:#222}@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>\n" + "\n".join(body) + "\n</svg>\n"
    )


def panel(left, graphs, figure, title, bound, span):
    def at_x(us):
        return left + (math.log10(us) - span[0]) / (span[1] - span[0]) * WIDTH

    def at_y(ratio):
        ratio = min(max(ratio, LOW), HIGH)
        return TOP + HEIGHT - math.log(ratio / LOW) / math.log(HIGH / LOW) * HEIGHT

    yield text(left, TOP - 16, title, weight="bold")
    for ratio in (0.5, 0.6, 0.8, 1.0, 1.2, 1.5):
        yield line(left, at_y(ratio), left + WIDTH, at_y(ratio), "#888", 0.3)
        yield text(left - 8, at_y(ratio) + 4, f"{ratio:.1f}", "end")
    yield line(left, at_y(bound), left + WIDTH, at_y(bound), COLOURS["broken"], 0.8)
    for us in (1, 10, 100, 1000):
        if span[0] <= math.log10(us) <= span[1]:
            yield text(at_x(us), TOP + HEIGHT + 18, f"{us} µs", "middle")
    yield text(left + WIDTH / 2, TOP + HEIGHT + 38, "the serial walk's block", "middle")
    for graph in graphs:
        ratio, (low, high) = graph[figure]["ratio"], graph[figure]["interval_95"]
        colour, x = COLOURS[graph[VERDICTS[figure]]], at_x(graph["serial_ns"] / 1000)
        yield line(x, at_y(low), x, at_y(high), colour, 0.5)
        yield (f'<circle cx="{x:.1f}" cy="{at_y(ratio):.1f}" r="3" fill="{colour}" fill-opacity="0.8">'
               f"<title>{escape(graph['graph'])}: {ratio:.3f}</title></circle>")


def line(x1, y1, x2, y2, colour, opacity):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-opacity="{opacity}"/>'


def text(x, y, words, anchor="start", weight="normal"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'


if __name__ == "__main__":
    main()
