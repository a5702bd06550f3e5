#!/usr/bin/env python3
"""How many voices hold: Hocket's engine, scsynth and supernova at the same work.

A voice is noise through 32 serial biquads into one bus: a unit generator each in the servers; in
Hocket a node each (`nodes`), or one cascade of 32 sections, as its equalizer has (`hocket`). Each engine is given more and more voices
until two steps in a row do not hold; rounds repeat that in an order drawn anew. Installs nothing;
the Debian packages are jackd2, supercollider-server and supercollider-supernova.

Exit code: 0 done, 1 two workers are slower than one, 2 bad usage, 3 not possible here.
"""

import argparse
import datetime
import json
import random
import subprocess
import sys
from pathlib import Path

import engines
import figures

sys.path.append(str(Path(__file__).resolve().parents[1]))
import records  # noqa: E402

FORMAT = "hocket-voices/1"
HERE = Path(__file__).resolve().parent
PROGRAM = HERE.parent / "target" / "release" / "voices"
ENGINES = ["hocket-1", "hocket-2", "nodes-1", "nodes-2", "scsynth", "supernova-1", "supernova-2"]
PAIRED_VOICES = [4, 8]
LARGEST = 4096


def main():
    options = parse()
    try:
        record = measure(options)
    except (engines.NotHere, OSError, TimeoutError) as error:
        print(f"voices: {error}", file=sys.stderr)
        return 3
    print(*figures.table(record), sep="\n")
    slower = any(pair["interval_95"] and pair["interval_95"][0] > 1 for pair in record["pairs"])
    return 1 if slower else 0


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engines", default=",".join(ENGINES), metavar="NAMES", type=names,
                        help=f"separated by commas (default {','.join(ENGINES)})")
    parser.add_argument("--rounds", default=3, type=positive, metavar="N", help="rounds (3)")
    parser.add_argument("--seconds", default=4, type=positive, metavar="S",
                        help="seconds that count, a step (4)")
    parser.add_argument("--start", default=20, type=positive, metavar="N",
                        help="voices of the first step (20)")
    parser.add_argument("--step", default=20, type=positive, metavar="N",
                        help="voices that each step adds (20)")
    parser.add_argument("--most", default=LARGEST, type=positive, metavar="N",
                        help=f"voices at which a ramp ends in any case ({LARGEST})")
    parser.add_argument("--pair-blocks", default=1500, type=positive, metavar="N",
                        help="blocks of one and of two workers at 4 and 8 voices (1500)")
    parser.add_argument("--frames", default=64, type=positive, metavar="N",
                        help="frames a cycle (64)")
    parser.add_argument("--port", default=57_310, type=positive, metavar="N",
                        help="UDP port of the servers (57310)")
    parser.add_argument("--seed", default=1, type=int, help="where the order of turns comes from")
    parser.add_argument("--program", default=PROGRAM, type=Path, metavar="FILE",
                        help="Hocket's side (target/release/voices of the package)")
    records.add_options(parser, "all steps")
    options = parser.parse_args()
    records.check(parser, options)
    return options


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def names(text):
    wanted = text.split(",")
    for name in wanted:
        if name not in ENGINES:
            raise argparse.ArgumentTypeError(f"no engine '{name}'; choose {', '.join(ENGINES)}")
    return wanted


def measure(options):
    """Everything; the record, written where that was asked for."""
    record = {
        "format": FORMAT,
        "command": sys.argv,
        "started_at": now(),
        **about(options),
        "versions": versions(),
        "frames": options.frames, "rate_hz": engines.RATE_HZ, "sections": engines.SECTIONS,
        "late_limit": figures.LATE_LIMIT, "load_limit": figures.LOAD_LIMIT,
        "rounds": options.rounds, "seconds_a_step": options.seconds, "seed": options.seed,
        "threads": {},
    }
    record["pairs"] = pairs(options)
    record["steps"] = steps(options, record["threads"])
    engine_names = [make(name, options).name for name in options.engines]
    record["engines"] = [
        figures.of_engine(record["steps"], name, options.rounds) for name in engine_names
    ]
    record["efficiency"] = [
        figures.efficiency(record["steps"], one, two, 2)
        for one, two in [("hocket, 1 worker", "hocket, 2 workers"),
                         ("hocket nodes, 1 worker", "hocket nodes, 2 workers"),
                         ("supernova -T 1", "supernova -T 2"),
                         ("scsynth", "supernova -T 2")]
    ]
    record["finished_at"] = now()
    if options.record:
        records.write(options.record, record)
    return record


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def about(options):
    """Build and machine, as Hocket's own records have them."""
    return json.loads(hocket(options, "about"))


def hocket(options, *arguments):
    """What Hocket's side prints."""
    if not options.program.exists():
        raise engines.NotHere(
            f"{options.program} is not there; build it: cargo build --locked --release "
            f"--manifest-path {HERE.parent / 'Cargo.toml'}"
        )
    command = [options.program, *map(str, arguments)]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    if said.returncode not in (0, 1):
        raise engines.NotHere(said.stderr.strip())
    return said.stdout


def versions():
    return {
        "jackd": engines.version("jackd", "--version"),
        "scsynth": engines.version("scsynth", "-v"),
        "supernova": engines.version("supernova", "-v"),
    }


def pairs(options):
    """A block on one worker and one on two in turn, where there is little to divide."""
    if not {"nodes-1", "nodes-2"} <= set(options.engines):
        return []
    arguments = ["--blocks", options.pair_blocks, "--frames", options.frames]
    return [
        json.loads(hocket(options, "pair", "--voices", voices, *arguments))
        for voices in PAIRED_VOICES
    ]


def steps(options, threads):
    """The ramps of all rounds; `threads` gets what each engine's threads have."""
    draw, found = random.Random(options.seed), []
    for number in range(options.rounds):
        order = draw.sample(options.engines, len(options.engines))
        for engine in (make(name, options) for name in order):
            with engine:
                for step in ramp(engine, options):
                    step["round"] = number
                    found.append(step)
                    say(step)
                threads[engine.name] = engine.threads
    return found


def make(name, options):
    program, _, workers = name.partition("-")
    workers = int(workers or 1)
    if program in ("hocket", "nodes"):
        voice = "cascade" if program == "hocket" else "nodes"
        return engines.Hocket(options.program, voice, workers, options.frames)
    return engines.Server(program, workers, options.frames, options.port)


def ramp(engine, options):
    """Steps with more and more voices. One that does not hold is tried once more, because machines
    stall; the second time ends the ramp."""
    voices, failed = options.start, False
    while voices <= options.most:
        step = {"engine": engine.name, "voices": voices, **engine.step(voices, options.seconds)}
        step["holds"] = figures.holds(step)
        yield step
        if not step["holds"] and failed:
            return
        failed = not step["holds"]
        voices += 0 if failed else options.step


def say(step):
    print(
        f"round {step['round'] + 1}  {step['engine']:<24} {step['voices']:>4} voices"
        f"  load {100 * step['load']:5.1f} %  highest {100 * step['load_highest']:5.1f} %"
        f"  missed {100 * step['late_share']:6.3f} %  CPU {100 * step['cpu_share']:5.1f} %"
        + ("" if step["holds"] else "  does not hold"),
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
