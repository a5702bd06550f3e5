#!/usr/bin/env python3
"""Draws the paced block times of a comparison record as an SVG: median and p99 of each executor on each graph.

    docs/pictures/comparison.py docs/results/comparison-16cpu-vm.json docs/pictures/comparison-16.svg

Standard library only. The axis is logarithmic. A dot is the median of all blocks, the line reaches to the 99th percentile.
"""

import math

from chart import grid_line, main, page, text

LEFT, TOP, ROW, GAP, WIDTH = 210, 46, 18, 16, 470
LOW, HIGH = 3.0, 3000.0
OURS, OTHERS, SERIAL = "#0b7285", "#868e96", "#e67700"


def x(us):
    us = min(max(us, LOW), HIGH)
    return LEFT + math.log(us / LOW) / math.log(HIGH / LOW) * WIDTH


def axis(bottom):
    for us in (3, 10, 30, 100, 300, 1000, 3000):
        yield grid_line(x(us), TOP - 8, bottom)
        yield text(x(us), TOP - 14, f"{us} µs", "middle")


def colour(name):
    if name == "serial walk":
        return SERIAL
    return OURS if name.startswith("hocket") else OTHERS


def row(at_y, executor):
    times = sorted(ns / 1000 for ns in executor["block_ns"])
    median, p99 = times[len(times) // 2], times[min(len(times) * 99 // 100, len(times) - 1)]
    name, fill = executor["name"], colour(executor["name"])
    yield text(LEFT - 10, at_y + 4, name, "end", "bold" if name == "hocket" else "normal")
    yield f'<line x1="{x(median):.1f}" y1="{at_y}" x2="{x(p99):.1f}" y2="{at_y}" stroke="{fill}" stroke-width="3" stroke-opacity="0.5"/>'
    yield f'<circle cx="{x(median):.1f}" cy="{at_y}" r="5" fill="{fill}"/>'
    yield text(LEFT + WIDTH + 12, at_y + 4, f"{median:.0f}")


def draw(record):
    body, at_y = [], TOP + 10
    for cell in (cell for cell in record["cells"] if cell["mode"] == "paced"):
        body.append(text(12, at_y + 4, cell["graph"], weight="bold"))
        for executor in cell["executors"]:
            body.extend(row(at_y, executor))
            at_y += ROW
        at_y += GAP
    title = f'Time of a block of 64 frames with {record["workers"]} workers: median (dot) to 99th percentile'
    return page(LEFT + WIDTH + 60, at_y + 6, title, *axis(at_y - GAP), *body)


if __name__ == "__main__":
    main(__doc__, "hocket-comparison", "make comparison", draw)
