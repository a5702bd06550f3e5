#!/usr/bin/env python3
"""Hocket live on a JACK server with its dummy driver, beside a bare client and a bare wake-up loop, without and with a load.

    comparison/live/live.py [--seconds 600] --record live.json

1. The session plays through a server of this script's own, twice: alone, and beside processes that compute. A session that
   ends earlier plays in a loop, because silence would be no load. Meanwhile `cyclictest` wakes up once per period with the
   priority of the server's clients. The table shows how many blocks were late or skipped, by cause and by whose fault, and
   how many of the loop's wake-ups came later than a block can begin: the deadline less the median block time. The loop
   counts one late wake-up for all periods that pass meanwhile, and a session each late block and each skipped period. So two
   pairs of counts are compared: the stretches of misses without a block in time between them with the loop's late wake-ups, and the misses with the
   periods that the loop would have begun too late, had it made up for each.
   The server also has a client that plays silence (`bare_client.c`). How often that is called too late for such a block is what
   any client has of this server: the hand-over takes more threads than the loop has.
2. How often the host stops a CPU under a loop that only reads the clock (`stops.c`), with no thread switch and no steal time. A block that
   runs then seems to take longer itself.
3. CPU time of the program while the server's transport stands still, and with it the song: from when the engine rests.
   Beside it that of `jack_thru`, a client that only copies two ports.
4. The latency that a play names which is connected to the server's own ports, as a sound card's user has it.
5. The way there and back that `jack_iodelay` measures, without and with Hocket in it; where it is missing, the record says so.

An interval is that of a count (Poisson, exact) and holds in 95 of 100 cases, if stretches and late wake-ups come independently
of each other. Disturbances may come in bursts, so it is rather too short. Misses have no interval: a stretch has many.

Exit code: 0 done, 2 bad usage, 3 not possible here.
"""

import argparse
import contextlib
import datetime
import itertools
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path += [str(ROOT / "comparison"), str(ROOT / "comparison" / "versions")]
import records  # noqa: E402
from versions import NotHere  # noqa: E402

FORMAT = "hocket-live/4"
PROGRAM = ROOT / "target" / "release" / "hocket"
RATE_HZ, FRAMES = 48_000, 64
PERIOD_US = 1e6 * FRAMES / RATE_HZ
# The server's own threads; its clients are five below.
SERVER_PRIORITY = 70
CLIENT_PRIORITY = SERVER_PRIORITY - 5
# The engine leaves its blocks out ten seconds after the last sound (docs/live.md); some seconds more for the start.
RESTS_AFTER_S = 15
# The longest wake-up that the loop's histogram tells apart.
HISTOGRAM_US = 100_000
# How long the loop runs that only reads the clock.
STOPS_S = 60
# Libraries of the programs in C.
LIBRARIES = {"bare_client": ["-l:libjack.so.0"], "stops": []}
TOOLS = {"cc": "gcc", "jackd": "jackd2", "jack_connect": "jackd2", "jack_lsp": "jackd2", "jack_thru": "jackd2", "cyclictest": "rt-tests"}
# Only for the way there and back.
IODELAY = "jack_iodelay"
# It writes lines also without a signal. After so many without a figure, none comes.
IODELAY_LINES = 60


def main():
    return run("live", parse(), measure, table)


def run(name, options, measured, told):
    """Measures, prints the table and writes the record; returns the exit code. For the scripts of this folder."""
    try:
        record = measured(options)
    except (NotHere, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 3
    print(*told(record), sep="\n")
    if options.record:
        records.write(options.record, record)
    return 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", default=600, type=positive, metavar="S", help="how long each play takes (600)")
    parser.add_argument("--load", default=2, type=positive, metavar="N", help="processes that compute (2)")
    parser.add_argument("--session", default=ROOT / "sessions" / "band.toml", type=Path, metavar="FILE",
                        help="what is played (sessions/band.toml)")
    parser.add_argument("--program", default=PROGRAM, type=Path, metavar="FILE",
                        help="the program hocket (target/release/hocket)")
    records.add_options(parser, "all counts")
    options = parser.parse_args()
    records.check(parser, options)
    return options


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def measure(options):
    need(TOOLS, options.program)
    started = now()
    with Server() as server, looped(options.session) as session, built(*LIBRARIES) as programs:
        plays = [play(options, server, session, load, programs["bare_client"]) for load in (0, options.load)]
        stopped = stops(programs["stops"], server.real_time)
        stands = {**standing(options, server), "bare": bare_client(server)}
        heard = or_why(lambda: latency(options, server))
        delays = or_why(lambda: round_trips(options, server))
    return {
        "format": FORMAT,
        "started_at": started,
        "finished_at": now(),
        "machine": json.loads(said(options.program, "machine", "--json")),
        "versions": {"hocket": said(options.program, "--version"), "jackd": said("jackd", "--version").splitlines()[-1]},
        "rate_hz": RATE_HZ, "frames": FRAMES, "seconds": options.seconds, "session": options.session.name,
        "real_time": server.real_time,
        "plays": plays,
        "stops": stopped,
        "standing": stands,
        "latency": heard,
        "round_trips": delays,
    }


def or_why(part):
    """What a part measures, or why it cannot be measured here: the other parts took long."""
    try:
        return part()
    except NotHere as error:
        return {"not_here": str(error)}


def need(tools, program):
    """Ends with what is missing, and what installs it."""
    missing = [f"{tool} (Debian: {package})" for tool, package in tools.items() if not shutil.which(tool)]
    if missing:
        raise NotHere(f"missing: {', '.join(missing)}")
    if not program.exists():
        raise NotHere(f"{program} is not there; build it: cargo build --locked --release -p hocket")


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def said(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).strip()


class Server:
    """A JACK server of our own, with real-time threads where the system grants them."""

    def __init__(self):
        self.name = f"hocket-live-{os.getpid()}"
        self.env = dict(os.environ, JACK_DEFAULT_SERVER=self.name, HOCKET_PROFILE="none")
        granted = subprocess.run(["chrt", "-f", str(SERVER_PRIORITY), "true"], capture_output=True, check=False)
        self.real_time = granted.returncode == 0

    def __enter__(self):
        how = ["-R", "-P", str(SERVER_PRIORITY)] if self.real_time else ["--no-realtime"]
        command = ["jackd", "--name", self.name, *how, "-d", "dummy", "-r", str(RATE_HZ), "-p", str(FRAMES)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await_that("jackd", lambda: self.ports() is not None)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def start(self, *command):
        """A program that knows the server; what it prints can be read."""
        words = [str(word) for word in command]
        return subprocess.Popen(words, env=self.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def ports(self):
        """The names of all ports, or None if nobody answers."""
        ran = subprocess.run(["jack_lsp"], env=self.env, capture_output=True, text=True, check=False)
        return ran.stdout.split() if ran.returncode == 0 else None

    def connect(self, source, sink):
        subprocess.run(["jack_connect", source, sink], env=self.env, check=True, capture_output=True)


def await_that(what, is_so, seconds=20):
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise NotHere(f"{what} does not answer")
        time.sleep(0.05)


@contextlib.contextmanager
def busy(count):
    """Ordinary processes that compute."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@contextlib.contextmanager
def looped(session):
    """The session, or a copy of it that plays in a loop if it would end. Its files lie beside the copy, as links."""
    text = session.read_text(encoding="utf-8")
    content = tomllib.loads(text)
    length_s = content["session"].get("length_s")
    if length_s is None or "transport" in content:
        yield session
        return
    with tempfile.TemporaryDirectory() as folder:
        for there in session.resolve().parent.iterdir():
            if there.name != session.name:
                (Path(folder) / there.name).symlink_to(there)
        copy = Path(folder) / session.name
        copy.write_text(f"{text}\n[transport]\nloop_from = 0\nloop_to = {length_s}\n", encoding="utf-8")
        yield copy


@contextlib.contextmanager
def built(*names):
    """The programs in C of this folder, by their names, compiled for this run."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            command = ["cc", "-O2", str(HERE / f"{name}.c"), "-o", str(Path(folder) / name), *LIBRARIES[name]]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise NotHere(f"{name}.c cannot be compiled: {done.stderr.strip()}")
        yield {name: Path(folder) / name for name in names}


def stops(program, real_time, seconds=STOPS_S):
    """Gaps of a loop that only reads the clock, of more than 200 us: [us, us of CPU time meanwhile, thread switches]."""
    how = ["chrt", "-f", str(CLIENT_PRIORITY)] if real_time else []
    lines = said(*how, program, seconds).splitlines()
    if not lines or not lines[-1].startswith("spun "):
        raise NotHere("the loop that reads the clock says nothing")
    return {"spun_s": float(lines[-1].split()[1]), "gaps": [[int(word) for word in line.split()] for line in lines[:-1]]}


def unseen(gaps, longer_than_us):
    """Gaps of the loop that are longer, without a switch, and most of whose time counts as the loop's own."""
    return [us for us, cpu_us, switches in gaps if us > longer_than_us and switches == 0 and cpu_us > 0.9 * us]


def play(options, server, session, load, bare_program):
    seconds = options.seconds
    with busy(load), tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        playing = server.start(options.program, "play", session, "--device", "jack", "--connect", "no",
                               "--length", seconds, "--log", log, "--json")
        # Not while it loads, because the loop is to meet the same time as the blocks.
        await_that("hocket", lambda: any(port.startswith("hocket:") for port in server.ports() or []), 120)
        loop = Loop(server.real_time, seconds)
        bare = server.start(bare_program, seconds)
        told = json.loads(playing.communicate()[0])
        latencies, calls = loop.end(), bare_calls(bare.communicate()[0])
        found = stretches(log)
    one = {"load": load, "told": keep(told), "stretches": found, "loop": latencies, "bare": calls, "slack_us": slack_us(told)}
    return {**one, "compared": compared(one)}


def stretches(log):
    """The lengths of stretches of misses without a block in time between them; None if the log lacks lines."""
    incidents = []
    for line in log.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["event"] == "end" and event["lines_left_out"]:
            return None
        if event["event"] in ("late", "skipped"):
            incidents.append((event["block"], event["event"] == "late", event["skipped_periods"]))
    return joined(incidents)


def joined(incidents):
    """The lengths of stretches of incidents: (number of the block or call, whether it was late, periods skipped before it)."""
    lengths, last = [], None
    for number, is_late, skipped in incidents:
        if last is not None and number <= last + 1:
            lengths[-1] += skipped + is_late
        else:
            lengths.append(skipped + is_late)
        # A block that was in time ends the stretch, also if periods were skipped before it.
        last = number if is_late else None
    return lengths


def bare_calls(text):
    """What bare_client.c prints: how many calls, and those that were late or behind skipped periods: [number, us, skipped]."""
    first, *lines = text.splitlines() or [""]
    if not first.startswith("calls "):
        raise NotHere("the bare client says nothing")
    return {"calls": int(first.split()[1]), "late": [[int(word) for word in line.split()] for line in lines]}


def bare_stretches(calls, slack_us):
    """As stretches, of a client whose block would take as long as half of the session's."""
    incidents = ((number, us > slack_us, skipped) for number, us, skipped in calls["late"])
    return joined([incident for incident in incidents if incident[1] or incident[2]])


def compared(one):
    """The session's stretches and misses beside late wake-ups of the bare loop and the periods that they stand for."""
    told, found = one["told"], one["stretches"]
    late, wake_ups = later_than(one["loop"], one["slack_us"]), sum(one["loop"].values())
    share = told["blocks"] / max(told["blocks"] + wake_ups, 1)
    count = None if found is None else len(found)
    bare = bare_stretches(one["bare"], one["slack_us"])
    return {
        "misses": told["misses"], "ours": told["whose"]["ours"], "stretches": count,
        "late_wake_ups": late, "late_periods": late_periods(one["loop"], one["slack_us"]), "wake_ups": wake_ups,
        "bare_misses": sum(bare), "bare_stretches": len(bare), "bare_calls": one["bare"]["calls"],
        "chance": None if count is None else at_least(count, count + late, share),
    }


def late_periods(latencies, slack_us):
    """Periods that began later than that, if each is made up for at once: a wake-up that is late stands for itself and those
    that have passed."""
    late = ((int(us), count) for us, count in latencies.items() if int(us) > slack_us)
    return sum(count * (1 + math.floor((us - slack_us) / PERIOD_US)) for us, count in late)


def at_least(count, of_all, share):
    """How likely so many or more of all incidents are the session's, if both are late equally often."""
    if count == 0 or not 0 < share < 1:
        return 1.0

    def log_chance(n):
        ways = math.lgamma(of_all + 1) - math.lgamma(n + 1) - math.lgamma(of_all - n + 1)
        return ways + n * math.log(share) + (of_all - n) * math.log(1 - share)

    return min(1.0, math.fsum(math.exp(log_chance(n)) for n in range(count, of_all + 1)))


class Loop:
    """cyclictest, once per period, with the class and the priority of the server's clients."""

    def __init__(self, real_time, seconds):
        how = ["-p", str(CLIENT_PRIORITY)] if real_time else ["--policy=other"]
        loops = int(1e6 * seconds / PERIOD_US)
        command = ["cyclictest", "-q", "-t1", *how, "-i", f"{PERIOD_US:.0f}", "-l", str(loops), "-h", str(HISTOGRAM_US)]
        self.process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def end(self):
        """How many wake-ups were so many microseconds late. The last number stands for all that were later."""
        said = self.process.communicate()[0]
        counts = {int(us): int(count) for us, count in re.findall(r"^(\d{6}) (\d+)", said, re.MULTILINE) if int(count)}
        later = re.search(r"Histogram Overflows: *(\d+)", said)
        if not counts:
            raise NotHere("cyclictest measures nothing here")
        if later and int(later[1]):
            counts[HISTOGRAM_US] = int(later[1])
        return counts


# Of what a play tells, as it tells it.
KEPT = ["blocks", "misses", "late", "skipped", "whose", "causes", "unexplained", "xruns", "deadline_ns", "duration_ns", "lateness_ns", "ready_ns",
        "threads", "workers", "schedule", "sibling", "wait", "latency"]


def keep(told):
    return {key: told[key] for key in KEPT}


def slack_us(told):
    """A block that begins later than this is late, if it takes as long as half of all blocks."""
    return (told["deadline_ns"] - told["duration_ns"]["p50"]) / 1000


def later_than(latencies, us):
    return sum(count for latency, count in latencies.items() if int(latency) > us)


def standing(options, server, seconds=20):
    """CPU time while the song stands still, and the engine rests."""
    playing = server.start(options.program, "play", options.session, "--device", "jack", "--connect", "no",
                           "--transport", "jack", "--headless")
    try:
        await_that("hocket", lambda: any(port.startswith("hocket") for port in server.ports() or []))
        time.sleep(RESTS_AFTER_S)
        before, begun = cpu_seconds(playing.pid), time.monotonic()
        time.sleep(seconds)
        used, passed = cpu_seconds(playing.pid) - before, time.monotonic() - begun
    finally:
        playing.send_signal(signal.SIGINT)
        playing.communicate()
    return {"cpu_s": used, "seconds": passed, "after_s": RESTS_AFTER_S}


def bare_client(server, seconds=20):
    """CPU time of a client that does next to nothing: what it takes to be called by the server."""
    client = server.start("jack_thru", "bare")
    try:
        await_that("jack_thru", lambda: any(port.startswith("bare:") for port in server.ports() or []))
        time.sleep(1)
        before, begun = cpu_seconds(client.pid), time.monotonic()
        time.sleep(seconds)
        return {"cpu_s": cpu_seconds(client.pid) - before, "seconds": time.monotonic() - begun}
    finally:
        client.terminate()
        client.wait()


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def latency(options, server):
    """What a play names that is connected to the server's own ports: out to the ear, in from the microphone."""
    if not any(port.startswith("system:playback_") for port in server.ports() or []):
        raise NotHere("the server has no port that plays")
    playing = server.start(options.program, "play", options.session, "--device", "jack", "--connect", "physical",
                           "--length", 1, "--json")
    text = playing.communicate()[0]
    if playing.returncode:
        raise NotHere(f"a play for the latency ended with exit code {playing.returncode}")
    return json.loads(text)["latency"]


THROUGH = """[session]
format = 2
name = "through"
sample_rate_hz = 48000
length_s = 600

[[input]]
name = "line"
channels = 1

[[track]]
name = "line"
input = "line"
"""


def round_trips(options, server):
    """Frames from jack_iodelay's output to its input: by a cable of the server, and through a track of Hocket."""
    if not shutil.which(IODELAY):
        raise NotHere(f"missing: {IODELAY} (Debian: jackd2)")
    direct = round_trip(server, [("jack_delay:out", "jack_delay:in")])
    with tempfile.TemporaryDirectory() as folder:
        session = Path(folder) / "through.toml"
        session.write_text(THROUGH, encoding="utf-8")
        playing = server.start(options.program, "play", session, "--device", "jack", "--connect", "no", "--headless")
        try:
            await_that("hocket", lambda: "hocket:main_1" in (server.ports() or []))
            cables = [("jack_delay:out", "hocket:line_1"), ("hocket:main_1", "jack_delay:in")]
            through = round_trip(server, cables)
        finally:
            playing.send_signal(signal.SIGINT)
            playing.communicate()
    return {"direct_frames": direct, "through_frames": through}


def round_trip(server, cables, lines=5):
    delay = server.start("stdbuf", "-oL", IODELAY)
    try:
        await_that(IODELAY, lambda: "jack_delay:out" in (server.ports() or []))
        for source, sink in cables:
            server.connect(source, sink)
        found = []
        for line in itertools.islice(delay.stdout, IODELAY_LINES):
            measured = re.match(r"\s*([0-9.]+) frames", line)
            if measured:
                found.append(float(measured[1]))
            if len(found) == lines:
                return sorted(found)[lines // 2]
        raise NotHere(f"{IODELAY} measures nothing here")
    finally:
        delay.terminate()
        delay.wait()


def table(record):
    kind = "real-time threads" if record["real_time"] else "no real-time threads: not granted here"
    yield f'{record["session"]}: blocks of {FRAMES} frames at {RATE_HZ} Hz, {record["seconds"]} s each, {kind}'
    for one in record["plays"]:
        told, load = one["told"], one["load"]
        both = one["compared"]
        late, all_of_loop = both["late_wake_ups"], both["wake_ups"]
        found = both["stretches"]
        yield f"\nbeside {load} processes that compute" if load else "\nalone"
        yield f'  hocket        {told["late"]:6} of {told["blocks"]} blocks late, {told["skipped"]} skipped'
        yield f'                {"unknown, the log lacks lines" if found is None else f"{found} {interval(found)}"}: stretches of misses'
        causes = ", ".join(f"{count} {cause}" for cause, count in sorted((told["causes"] or {}).items()) if count)
        yield f'                {causes or "no cause to tell"}; {told["unexplained"]} unexplained; xruns: {json.dumps(told["xruns"])}'
        yield f'                whose: {", ".join(f"{count} {party}" for party, count in told["whose"].items())}'
        yield (f'  bare client   {both["bare_misses"]:6} of {both["bare_calls"]} calls too late or skipped, in {both["bare_stretches"]} '
               f'{interval(both["bare_stretches"])} stretches')
        yield f'  bare loop     {late:6} of {all_of_loop} wake-ups later than {one["slack_us"]:.0f} us {interval(late)}'
        yield f'                {both["late_periods"]:6} periods that it would have begun too late'
        yield f'  {verdict(both)}'
    yield stops_told(record["stops"], min(one["slack_us"] for one in record["plays"]))
    stands = record["standing"]
    bare = stands["bare"]
    yield (f'\nstanding still: {100 * stands["cpu_s"] / stands["seconds"]:.2f} % of a CPU; a client that copies two ports: '
           f'{100 * bare["cpu_s"] / bare["seconds"]:.2f} %')
    yield latency_told(record["latency"])
    yield round_trips_told(record["round_trips"])


def stops_told(stopped, slack_us):
    there = unseen(stopped["gaps"], slack_us)
    most = f', at most {max(there) / 1000:.1f} ms' if there else ""
    return (f'\na loop that only reads the clock: in {stopped["spun_s"]:.0f} s its CPU stood still {len(there)} times for longer than '
            f'{slack_us:.0f} us{most}, without a switch, and the kernel counted it as its own time')


def latency_told(heard):
    if "not_here" in heard:
        return f'latency: not measured: {heard["not_here"]}'
    ways = ", ".join(f'{way} {way_told(heard[f"{way}_frames"], heard[f"{way}_ms"])}' for way in ("out", "in"))
    return f'latency of a connected play: {ways}; effects add {heard["session_frames"]} frames'


def way_told(frames, ms):
    return "unknown" if frames is None else f"{frames} frames ({ms:.1f} ms)"


def round_trips_told(trips):
    if "not_here" in trips:
        return f'there and back: not measured: {trips["not_here"]}'
    return f'there and back: {trips["direct_frames"]:.0f} frames by a cable, {trips["through_frames"]:.0f} through Hocket'


def verdict(both):
    misses = f'{both["misses"]} misses against {both["late_periods"]} late periods of the bare loop'
    if both["stretches"] is None:
        return misses
    stretches = f'{both["stretches"]} stretches against {both["late_wake_ups"]} late wake-ups'
    if both["stretches"] <= both["late_wake_ups"]:
        return f"{misses}; {stretches}: no more"
    return f'{misses}; {stretches}: by chance alone, so many come in {100 * both["chance"]:.1f} of 100 such runs'


def interval(count):
    """Of the mean of a Poisson count, as text."""
    return f"[{poisson_bound(count, 0.975):.1f}, {poisson_bound(count, 0.025):.1f}]"


def poisson_bound(count, share):
    """The mean with which so many or fewer are counted in `share` of all cases; for the lower bound, one fewer."""
    if share > 0.5:
        if count == 0:
            return 0.0
        count -= 1
    low, high = 0.0, 10.0 + 4 * count
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if at_most(count, middle) > share else (low, middle)
    return high


def at_most(count, mean):
    terms = (n * math.log(mean) - mean - math.lgamma(n + 1) for n in range(count + 1)) if mean else [0.0]
    return math.fsum(map(math.exp, terms))


if __name__ == "__main__":
    sys.exit(main())
