#!/usr/bin/env python3
"""Whether the block path got slower: the benchmark `executors` of two versions of Hocket, in turns of one run.

    comparison/versions/versions.py OLD [--new COMMIT]

Each round starts the old program, the new one, and the new one a second time (its twin), in an order drawn anew. Both
are built from commits, in worktrees below the target folder. A figure of a round is the median of a start's blocks, so
the rounds also cover what differs between process starts, such as the layout of memory. A ratio is the median over the
rounds of new / old; its interval covers that median with at least 95 % (order statistics). The twin says which
differences this machine cannot show.

Exit code: 0 done, 2 bad usage, 3 not possible here.
"""

import argparse
import json
import math
import random
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import records  # noqa: E402

FORMAT = "hocket-versions/1"
ROOT = Path(__file__).resolve().parents[2]
# An interval of 95 % needs so many rounds.
FEWEST_ROUNDS = 6


class NotHere(Exception):
    """Something that this machine does not have."""


def main():
    options = parse()
    try:
        programs = {name: built(commit) for name, commit in (("old", options.old), ("new", options.new))}
        record = measure(options, programs)
    except (NotHere, OSError) as error:
        print(f"versions: {error}", file=sys.stderr)
        return 3
    print(*table(record), sep="\n")
    if options.record:
        records.write(options.record, record)
    return 0


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", help="a commit: what the other is compared with")
    parser.add_argument("--new", default="HEAD", metavar="COMMIT", help="a commit (HEAD)")
    parser.add_argument("--rounds", default=10, type=int, metavar="N",
                        help=f"rounds, at least {FEWEST_ROUNDS} (10)")
    parser.add_argument("--blocks", default=300, type=int, metavar="N", help="blocks of a cell (300)")
    parser.add_argument("--graph", default="empty,light,medium,narrow", metavar="NAMES",
                        help="graphs of the lab (empty,light,medium,narrow)")
    parser.add_argument("--schedule", default="dataflow", metavar="NAMES", help="schedules (dataflow)")
    parser.add_argument("--mode", default="paced", metavar="NAMES", help="paced, hot, or both (paced)")
    parser.add_argument("--seed", default=1, type=int, help="where the order of turns comes from")
    records.add_options(parser, "all figures")
    options = parser.parse_args()
    if options.rounds < FEWEST_ROUNDS:
        parser.error(f"--rounds {options.rounds}: at least {FEWEST_ROUNDS}")
    records.check(parser, options)
    return options


def built(commit):
    """The bench `executors` of a commit, built in a worktree of its own."""
    short = run("git", "rev-parse", "--short=12", f"{commit}^{{commit}}", at=ROOT).strip()
    tree = ROOT / "target" / "versions" / short
    if not tree.exists():
        run("git", "worktree", "add", "--detach", str(tree), short, at=ROOT)
    messages = run("cargo", "bench", "--locked", "-p", "hocket-lab", "--bench", "executors", "--no-run",
                   "--message-format=json", at=tree)
    programs = re.findall(r'"executable":"([^"]*/executors-[0-9a-f]+)"', messages)
    if not programs:
        raise NotHere(f"{commit}: cargo built no program")
    return programs[-1]


def run(*command, at):
    done = subprocess.run(command, cwd=at, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise NotHere(f"{' '.join(command[:3])} ended with exit code {done.returncode}")
    return done.stdout


def measure(options, programs):
    turns = {"old": programs["old"], "new": programs["new"], "new again": programs["new"]}
    order = random.Random(options.seed)
    starts, first = [], {}
    for round_ in range(options.rounds):
        names = list(turns)
        order.shuffle(names)
        for name in names:
            told = start(options, turns[name])
            first.setdefault(name, {key: told[key] for key in ("hocket", "machine")})
            for cell in told["cells"]:
                starts.append({"round": round_, "program": name, **figures(cell)})
        print(f"round {round_ + 1} of {options.rounds}", file=sys.stderr)
    return {
        "format": FORMAT,
        "command": sys.argv[1:],
        "old": first["old"]["hocket"],
        "hocket": first["new"]["hocket"],
        "machine": first["new"]["machine"],
        "starts": starts,
    }


def start(options, program):
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.json"
        run(program, "--bench", "--mode", options.mode, "--schedule", options.schedule, "--graph", options.graph,
            "--blocks", str(options.blocks), "--record", str(record), at=folder)
        return json.loads(record.read_text())


def figures(cell):
    what = {key: cell[key] for key in ("graph", "mode", "policy")}
    medians = {key: statistics.median(cell[key]) for key in ("serial_ns", "parallel_ns")}
    return {**what, **medians}


def table(record):
    yield f"new / old, medians over {1 + max(start['round'] for start in record['starts'])} process starts of each"
    cells = sorted({(start["graph"], start["mode"], start["policy"]) for start in record["starts"]})
    for cell in cells:
        for walk in ("serial_ns", "parallel_ns"):
            by = {name: rounds_of(record, cell, name, walk) for name in ("old", "new", "new again")}
            what = "serial walk" if walk == "serial_ns" else cell[2]
            yield (f"{cell[0]:<8} {cell[1]:<6} {what:<28} {ratio(by['old'], by['new'])}"
                   f"   twin {ratio(by['new'], by['new again'])}   {statistics.median(by['new']) / 1000:.1f} us")


def rounds_of(record, cell, name, walk):
    return [start[walk] for start in record["starts"]
            if start["program"] == name and (start["graph"], start["mode"], start["policy"]) == cell]


def ratio(before, after):
    ratios = sorted(new / old for old, new in zip(before, after))
    cut = outside(len(ratios))
    return f"{statistics.median(ratios):.3f} [{ratios[cut]:.3f}, {ratios[-1 - cut]:.3f}]"


def outside(count):
    """How many values of each end lie outside of the interval."""
    cut, tail = 0, 0.5 ** count
    while tail + math.comb(count, cut + 1) * 0.5 ** count <= 0.025:
        cut += 1
        tail += math.comb(count, cut) * 0.5 ** count
    return cut


if __name__ == "__main__":
    sys.exit(main())
