#!/usr/bin/env python3
"""Draws the paced efficiencies of an executors record as an SVG, with intervals and bounds.

    docs/pictures/executors.py docs/results/executors-2cpu-vm.json docs/pictures/executors.svg

Standard library only. One row a graph and schedule; a dot is the median, the line its 95 % interval, the
tick what the critical path allows.
"""

from chart import grid_line, main, page, text

LEFT, TOP, ROW, GAP, WIDTH = 190, 46, 20, 14, 470
LOW, HIGH = 0.3, 1.05
COLOURS = ["#0b7285", "#c2255c", "#5f3dc4", "#e67700", "#2b8a3e"]


def x(value):
    value = min(max(value, LOW), HIGH)
    return LEFT + (value - LOW) / (HIGH - LOW) * WIDTH


def axis(bottom):
    for step in range(3, 11):
        value = step / 10
        yield grid_line(x(value), TOP - 8, bottom)
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
    workers = cells[0]["workers"]
    title = f"Efficiency with {workers} workers: serial time / ({workers} × parallel time), a block each 1333 µs"
    return page(LEFT + WIDTH + 60, at_y + 6, title, *axis(at_y - GAP), *body)


if __name__ == "__main__":
    main(__doc__, "hocket-executors", "cargo bench --bench executors", draw)
