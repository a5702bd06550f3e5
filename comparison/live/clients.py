#!/usr/bin/env python3
"""One JACK client for a whole session, or one for each group: what each costs.

    comparison/live/clients.py [--rounds 9] [--seconds 8] --record clients.json

A session plays through a server of this script's own, in turns: as one client with one worker, as one client with the
workers that `auto` chooses, and cut by its groups (`hocket split`) into clients of one worker each, which the server may
call side by side. A twin of the first says what chance does. All follow the server's transport. The parts are connected as
`hocket split` says, but without a network.

Each turn has the processor time of all clients and the server, in seconds of a CPU per second, and the server's DSP load
(`jack_cpu_load`): the share of a period that a cycle takes. The table has the medians over all rounds, and the median of
the ratios within rounds with its interval (exact, from the order of the ratios; it holds in at least 95 of 100 cases).

Exit code: 0 done, 2 bad usage, 3 not possible here.
"""

import argparse
import contextlib
import json
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import live
import records
from live import FRAMES, PROGRAM, RATE_HZ, ROOT, NotHere, await_that, cpu_seconds, now, positive, said
from versions import ratio

FORMAT = "hocket-clients/1"
TOOLS = {**live.TOOLS, "jack_cpu_load": "jackd2", "jack_transport": "jackd2"}
# After the start, before anything is counted.
SETTLES_S = 2
ONE, TWIN, AUTO, PARTS = "one client, one worker", "the same again", "one client, auto", "a client for each group"
# Fewer have no interval that holds in 95 of 100 cases.
FEWEST = 6
SEED = 2026


def main():
    return live.run("clients", parse(), measure, table)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", default=9, type=enough, metavar="N", help=f"turns of each (9), {FEWEST} or more")
    parser.add_argument("--seconds", default=8, type=positive, metavar="S", help="how long each turn is measured (8)")
    parser.add_argument("--session", default=ROOT / "sessions" / "band.toml", type=Path, metavar="FILE",
                        help="what is played (sessions/band.toml); it has to last as long as a turn")
    parser.add_argument("--program", default=PROGRAM, type=Path, metavar="FILE",
                        help="the program hocket (target/release/hocket)")
    records.add_options(parser, "all turns")
    options = parser.parse_args()
    records.check(parser, options)
    return options


def enough(text):
    number = positive(text)
    if number < FEWEST:
        raise argparse.ArgumentTypeError(f"must be at least {FEWEST}")
    return number


def measure(options):
    live.need(TOOLS, options.program)
    started, order, turns = now(), random.Random(SEED), []
    with live.Server() as server, cut(options) as (parts, cables):
        one = [(options.session, "serial", "hocket")]
        players = {ONE: one, TWIN: one, AUTO: [(options.session, "auto", "hocket")],
                   PARTS: [(part, "serial", part.stem) for part in parts]}
        for number in range(options.rounds):
            for name in order.sample(list(players), len(players)):
                connected = cables if name == PARTS else []
                turns.append({"round": number, "name": name, **turn(options, server, players[name], connected)})
    return {
        "format": FORMAT, "started_at": started, "finished_at": now(),
        "machine": json.loads(said(options.program, "machine", "--json")),
        "versions": {"hocket": said(options.program, "--version"), "jackd": said("jackd", "--version").splitlines()[-1]},
        "rate_hz": RATE_HZ, "frames": FRAMES, "seconds": options.seconds, "session": options.session.name,
        "real_time": server.real_time, "seed": SEED, "clients": len(parts), "cables": len(cables), "turns": turns,
    }


@contextlib.contextmanager
def cut(options):
    """A part for each group that can leave, and one for the rest; and the connections between them."""
    with tempfile.TemporaryDirectory() as folder:
        groups = len(re.findall(r"^\s*\[\[group\]\]", options.session.read_text(encoding="utf-8"), re.MULTILINE))
        command = [options.program, "split", options.session, "--hosts", groups + 1, "--frames", FRAMES, "-o", folder]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotHere(f"hocket split: {done.stderr.strip()}")
        lines = (Path(folder) / "connections.txt").read_text(encoding="utf-8").splitlines()
        rows = [line.split("\t") for line in lines if not line.startswith("#")]
        cables = [(f"part-{host}:{port_of(start)}", f"part-0:{port_of(end)}")
                  for host, start, _, end, *_ in rows if host != "0"]
        yield sorted(Path(folder).glob("part-*.toml")), cables


def port_of(name):
    return name.split(":", 1)[1]


def turn(options, server, players, cables):
    playing = [server.start(options.program, "play", session, "--device", "jack", "--client", client, "--connect", "no",
                            "--transport", "jack", "--schedule", schedule, "--headless", "--json")
               for session, schedule, client in players]
    try:
        await_that("hocket", lambda: all(has_ports(server, client) for _, _, client in players), 120)
        for start, end in cables:
            server.connect(start, end)
        if len(players) == 1:
            server.connect("hocket:main_1", "system:playback_1")
        transport(server, "locate 0", "play")
        time.sleep(SETTLES_S)
        processes = [process.pid for process in [*playing, server.process]]
        load = server.start("stdbuf", "-oL", "jack_cpu_load")
        before, begun = sum(map(cpu_seconds, processes)), time.monotonic()
        time.sleep(options.seconds)
        used, passed = sum(map(cpu_seconds, processes)) - before, time.monotonic() - begun
        load.terminate()
        loads = [float(found) for found in re.findall(r"DSP load ([0-9.]+)", load.communicate()[0])]
        transport(server, "stop")
    finally:
        for process in playing:
            process.send_signal(signal.SIGINT)
        told = [process.communicate()[0] for process in playing]
    if not loads:
        raise NotHere("jack_cpu_load tells nothing here")
    told = [last_object(text) for text in told]
    return {"cpu": used / passed, "dsp_load_percent": loads, "xruns": [one["xruns"] for one in told],
            "misses": [one["misses"] for one in told], "workers": [one["workers"] for one in told]}


def has_ports(server, client):
    return any(port.startswith(f"{client}:") for port in server.ports() or [])


def transport(server, *commands):
    """The server's transport, steered by its own tool."""
    subprocess.run(["jack_transport"], env=server.env, input="\n".join([*commands, "quit", ""]), text=True, check=True,
                   capture_output=True)


def last_object(text):
    """What a play tells at its end, behind its lines."""
    return json.loads(text.splitlines()[-1])


def table(record):
    kind = "real-time threads" if record["real_time"] else "no real-time threads: not granted here"
    rounds = 1 + max(turn["round"] for turn in record["turns"])
    yield (f'{record["session"]}: blocks of {FRAMES} frames at {RATE_HZ} Hz, {rounds} rounds of {record["seconds"]} s, {kind}; '
           f'{record["clients"]} clients with {record["cables"]} connections')
    for name in (ONE, TWIN, AUTO, PARTS):
        turns = of(record, name)
        cpu, load = median_of(turns, cpu_of), median_of(turns, load_of)
        misses = sum(sum(turn["misses"]) for turn in turns)
        yield f"  {name:24} {100 * cpu:6.2f} % of a CPU, DSP load {load:5.2f} %, {misses} misses"
    for name in (TWIN, AUTO, PARTS):
        for what, figure in (("processor time", cpu_of), ("DSP load", load_of)):
            yield f"  {what} of {name} against {ONE}: {ratio_told(record, name, figure)} times"


def of(record, name):
    return sorted((turn for turn in record["turns"] if turn["name"] == name), key=lambda turn: turn["round"])


def cpu_of(turn):
    return turn["cpu"]


def load_of(turn):
    return statistics.fmean(turn["dsp_load_percent"])


def median_of(turns, figure):
    return statistics.median(map(figure, turns))


def ratio_told(record, name, figure):
    """The median of the ratios within rounds, with its interval, as text."""
    return ratio([figure(turn) for turn in of(record, ONE)], [figure(turn) for turn in of(record, name)])


if __name__ == "__main__":
    sys.exit(main())
