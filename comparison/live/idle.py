#!/usr/bin/env python3
"""CPU time of an engine that stands still, in turns: of two versions of the program, and of a client that does next to nothing.

    comparison/live/idle.py [--before FILE] [--rounds 10] [--seconds 10] --record idle.json

Each round has each of these once, in random order, on a server of this script's own and on Hocket's virtual device, and on a
PipeWire of its own where that is installed. All have blocks of 64 frames at 48 kHz.

- On a server the session's song never plays, because the server's transport stands still. On the virtual device it is stopped over
  OSC, and the session is one silent track: an engine that rests leaves its blocks out, whatever they would be.
- A turn waits until the engine rests, and then reads the exact CPU time of each thread (`schedstat`) at both ends of the
  measured time. Each second the program says how it stands (`--headless --json`). If its song plays or moves meanwhile, or
  if it has no blocks any more, the turn counts for nothing and the script ends. So it does if the newer version does not rest. An
  earlier one may not know how; then the table says so.
- `bare_client.c` is called by the server as Hocket is, and plays silence. What it takes is the price of being called.

The table has the medians, and for `--before` the median of the ratios within rounds with its interval (exact, from the order of
the ratios; it holds in at least 95 of 100 cases).

Exit code: 0 done, 2 bad usage, 3 not possible here, or an engine that does not stand still.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import live
import records
from live import FRAMES, PROGRAM, RATE_HZ, RESTS_AFTER_S, ROOT, THROUGH, NotHere, await_that, now, positive, said
from versions import ratio

FORMAT = "hocket-idle/2"
# What the program says each second.
LINE_FORMAT = "hocket-play-now/1"
AFTER, BEFORE, BARE = "hocket", "hocket before", "bare client"
JACK, VIRTUAL, PIPEWIRE = "jack", "virtual", "pipewire"
# Fewer have no interval that holds in 95 of 100 cases.
FEWEST = 6
# How long the program may take to start and to stop its song.
STOPS_WITHIN_S = 30
SEED = 2026
SINK = ("{ factory.name=support.null-audio-sink node.name=card media.class=Audio/Sink object.linger=true "
        "audio.position=[FL FR] adapter.auto-port-config={ mode=dsp monitor=true position=preserve } }")


def main():
    return live.run("idle", parse(), measure, table)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", default=10, type=positive, metavar="N",
                        help=f"turns of each (10); with fewer than {FEWEST} there is no interval")
    parser.add_argument("--seconds", default=10, type=positive, metavar="S", help="how long each turn is measured (10)")
    parser.add_argument("--session", default=ROOT / "sessions" / "band.toml", type=Path, metavar="FILE",
                        help="what does not play on the servers (sessions/band.toml)")
    parser.add_argument("--program", default=PROGRAM, type=Path, metavar="FILE",
                        help="the program hocket (target/release/hocket)")
    parser.add_argument("--before", type=Path, metavar="FILE", help="an earlier version of it")
    records.add_options(parser, "all turns")
    options = parser.parse_args()
    records.check(parser, options)
    return options


def measure(options):
    tools = {tool: live.TOOLS[tool] for tool in ("cc", "jackd", "jack_lsp")}
    live.need(tools, options.program)
    started, order, turns = now(), random.Random(SEED), []
    programs = {AFTER: options.program, **({BEFORE: options.before} if options.before else {})}
    with live.Server() as server, live.built("bare_client") as built, pipewire() as pipewire_env:
        places = [(place, name) for place in (JACK, VIRTUAL, *([PIPEWIRE] if pipewire_env else [])) for name in programs]
        places.append((JACK, BARE))
        for number in range(options.rounds):
            for place, name in order.sample(places, len(places)):
                env = pipewire_env if place == PIPEWIRE else server.env
                command = [built["bare_client"], RESTS_AFTER_S + options.seconds + 60] if name == BARE else \
                    play(programs[name], options.session, place)
                turns.append({"round": number, "place": place, "name": name,
                              **turn(command, env, place, name, options.seconds)})
    return {
        "format": FORMAT, "started_at": started, "finished_at": now(),
        "machine": json.loads(said(options.program, "machine", "--json")),
        "versions": {"hocket": said(options.program, "--version"), "jackd": said("jackd", "--version").splitlines()[-1]},
        "rate_hz": RATE_HZ, "frames": FRAMES, "seconds": options.seconds, "session": options.session.name,
        "after_s": RESTS_AFTER_S, "real_time": server.real_time, "seed": SEED, "turns": turns,
    }


def play(program, session, place):
    if place == VIRTUAL:
        return [program, "play", "-", "--device", "virtual", "--frames", FRAMES, "--headless", "--json", "--osc", "127.0.0.1:0"]
    return [program, "play", session, "--device", "jack", "--connect", "no", "--transport", "jack", "--headless", "--json"]


def turn(command, env, place, name, seconds, rests_after_s=RESTS_AFTER_S):
    """What a program takes that stands still, and whether it rests."""
    with running(command, env, place) as (process, told):
        # A bare client has nothing to end before it rests.
        time.sleep(min(2, rests_after_s) if name == BARE else rests_after_s)
        lives(process)
        if name == BARE:
            taken = used(process.pid, seconds)
            lives(process)
            return {**taken, "rests": True}
        before = len(lines(told))
        taken = used(process.pid, seconds)
        meanwhile = len(lines(told))
        # The next line says how it stood until the end.
        await_line(process, f"{name} on {place} says nothing any more", lambda: len(lines(told)) > meanwhile)
        found = lines(told)[max(before - 1, 0):]
    why = moves(found)
    # While it rests, its threads have no part in a block, not even for a moment.
    rests = all(worker["load"] == 0 for line in found for worker in line["workers"])
    if why is None and name == AFTER and not rests:
        why = "it does not rest: it computes blocks"
    if why:
        raise NotHere(f"{name} on {place} does not stand still: {why}")
    return {**taken, "rests": rests}


def lines(told):
    """The whole lines of the program so far that say how it stands."""
    text = told.read_text(encoding="utf-8")
    objects = map(json.loads, text[:text.rfind("\n") + 1].splitlines())
    return [line for line in objects if line["format"] == LINE_FORMAT]


def moves(found):
    """Why these lines are not those of an engine that stands still; None if they are."""
    if len(found) < 2:
        return "it says too little about itself"
    if any(line["song"]["playing"] for line in found):
        return "its song plays"
    if len({line["song"]["seconds"] for line in found}) > 1:
        return "its song moves"
    if found[-1]["blocks"] <= found[0]["blocks"]:
        return "it has no blocks any more"
    return None


def lives(process):
    if process.poll() is not None:
        raise NotHere(f"{process.args[0]} ended with exit code {process.returncode} before its turn was over")


def await_line(process, what, is_so, meanwhile=lambda: None):
    """Until a line of the program says so; `what` if none does."""
    end = time.monotonic() + STOPS_WITHIN_S
    while not is_so():
        lives(process)
        if time.monotonic() > end:
            raise NotHere(what)
        meanwhile()
        time.sleep(0.1)


@contextlib.contextmanager
def running(command, env, place):
    """The program and the file that it writes to, until the turn is over; on the virtual device after its song has stopped."""
    with tempfile.TemporaryDirectory() as folder, open(Path(folder) / "told", "wb") as output:
        told = Path(output.name)
        words = [str(word) for word in command]
        if place == VIRTUAL:
            session = Path(folder) / "still.toml"
            session.write_text(THROUGH, encoding="utf-8")
            words = [str(session) if word == "-" else word for word in words]
            words[words.index("--osc") + 1] = f"127.0.0.1:{free_port()}"
        process = subprocess.Popen(words, env=env, stdout=output, stderr=subprocess.DEVNULL)
        try:
            if place == VIRTUAL:
                stop_song(process, told, words[words.index("--osc") + 1])
            yield process, told
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def free_port():
    """A port that nobody has at this moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def stop_song(process, told, address):
    """Stops the song over OSC, until the program says that it stands: at first it may not listen."""
    host, port = address.split(":")

    def stands():
        found = lines(told)
        return bool(found) and not found[-1]["song"]["playing"]

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        def ask():
            with contextlib.suppress(ConnectionRefusedError):
                sender.sendto(b"/stop\0\0\0,\0\0\0", (host, int(port)))

        await_line(process, f"the song does not stop within {STOPS_WITHIN_S} s of /stop over OSC", stands, ask)


def used(pid, seconds):
    """CPU time of each thread, by its number and name, in seconds."""
    before, begun = threads(pid), time.monotonic()
    time.sleep(seconds)
    after, passed = threads(pid), time.monotonic() - begun
    spent = {f"{name} {tid}": (ns - before.get((tid, name), 0)) / 1e9 for (tid, name), ns in after.items()}
    return {"seconds": passed, "cpu_s": sum(spent.values()), "threads": {name: s for name, s in spent.items() if s > 0}}


def threads(pid):
    found = {}
    for folder in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            name = (folder / "comm").read_text(encoding="utf-8").strip()
            found[(folder.name, name)] = int((folder / "schedstat").read_text(encoding="ascii").split()[0])
    return found


@contextlib.contextmanager
def pipewire():
    """The environment of a PipeWire of our own, with a sink that plays to nobody; None where it is not installed."""
    if not all(map(shutil.which, ("pipewire", "pw-cli"))):
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        left_out = ("DBUS_SESSION_BUS_ADDRESS", "PIPEWIRE_REMOTE", "JACK_DEFAULT_SERVER", "HOCKET_DEVICE")
        env = {name: value for name, value in os.environ.items() if name not in left_out}
        env |= {"XDG_RUNTIME_DIR": folder, "PIPEWIRE_RUNTIME_DIR": folder, "HOCKET_PROFILE": "none",
                "PIPEWIRE_LATENCY": f"{FRAMES}/{RATE_HZ}"}
        quiet = {"env": env, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(["pipewire"], **quiet)
        try:
            await_that("pipewire", lambda: not subprocess.run(["pw-cli", "info", "0"], **quiet, check=False).returncode)
            subprocess.run(["pw-cli", "create-node", "adapter", SINK], **quiet, check=True)
            yield env
        finally:
            process.terminate()
            process.wait()


def table(record):
    kind = "real-time threads" if record["real_time"] else "no real-time threads: not granted here"
    rounds = 1 + max(turn["round"] for turn in record["turns"])
    yield (f'{record["session"]} stands still: blocks of {FRAMES} frames at {RATE_HZ} Hz, {rounds} rounds of {record["seconds"]} s, '
           f'{kind}')
    for place in (JACK, VIRTUAL, PIPEWIRE):
        for name in (AFTER, BEFORE, BARE):
            turns = of(record, place, name)
            if turns:
                shares = [percent(turn) for turn in turns]
                busiest = statistics.median(map(busiest_percent, turns))
                awake = "" if all(turn["rests"] for turn in turns) else "; it does not rest"
                yield (f'  {place:9} {name:14} {statistics.median(shares):6.3f} % of a CPU, {busiest:.3f} % its busiest thread '
                       f'({min(shares):.3f} to {max(shares):.3f}){awake}')
        after, before = of(record, place, AFTER), of(record, place, BEFORE)
        if len(before) >= FEWEST:
            yield f'  {place:9} {AFTER} against {BEFORE}: {ratio(list(map(percent, before)), list(map(percent, after)))} times'


def of(record, place, name):
    turns = (turn for turn in record["turns"] if (turn["place"], turn["name"]) == (place, name))
    return sorted(turns, key=lambda turn: turn["round"])


def percent(turn):
    return 100 * turn["cpu_s"] / turn["seconds"]


def busiest_percent(turn):
    """Of the thread that takes most: the leader's, which the server or the clock wakes up."""
    return 100 * max(turn["threads"].values(), default=0.0) / turn["seconds"]


if __name__ == "__main__":
    sys.exit(main())
