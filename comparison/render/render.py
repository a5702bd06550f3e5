#!/usr/bin/env python3
"""How long a mix of equalised tracks takes to render: Hocket, sox and ecasound, in turns of one run.

    comparison/render/render.py --record render.json

Every track is a stereo file of noise through a row of peaking bands; all tracks go into one file of 24 bits. Each round
starts every program once, in an order drawn anew. Before the first round the script compares the files: what Hocket and
sox wrote must be the same sound. A time is that of a whole process, from its start to its end. A ratio is the median over
the rounds of a program's time / that of `hocket`; its interval covers that median with at least 95 % (order
statistics). `hocket, again` is the same program once more: a difference below it is none. The column `blocks` is the part
of the time that Hocket's blocks took, without loading, encoding and writing. Beside them a thread encodes and writes: the
column `writing` says for how long. `hocket, files in memory` decodes all files before its first block, so no thread reads
beside its blocks. The record also has how long blocks waited for the writing thread, and the parts that the program names.

sox and ecasound are programs of their own, started as such. One that is missing is left out, and the run says so.

Exit code: 0 done, 1 the programs wrote different sound, 2 bad usage, 3 not possible here.
"""

import argparse
import array
import datetime
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import wave
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path += [str(ROOT / "comparison"), str(ROOT / "comparison" / "versions")]
import records  # noqa: E402
from versions import FEWEST_ROUNDS, NotHere, outside  # noqa: E402

FORMAT = "hocket-render-comparison/3"
PROGRAM = ROOT / "target" / "release" / "hocket"
RATE_HZ = 48_000
TRACK_GAIN_DB = -18
BAND_Q = 0.7071
# Effects of Hocket with four bands each.
BANDS_AN_EFFECT = 4
# The bands of ecasound: a LADSPA plug-in of Steve Harris with its bandwidth in octaves.
LADSPA_BAND = "singlePara"
# Hocket's own ways, and what asks for them. All write the same samples.
OWN = {
    "hocket": [],
    "hocket, again": [],
    "hocket, lanes off": ["--lanes", "off"],
    "hocket, blocks of 8192": ["--frames", "8192"],
    "hocket, 1 worker": ["--workers", "1"],
    "hocket, files in memory": ["--disk-buffer", "0"],
}
# How Hocket says what its blocks took, what the thread beside them did, and how long they waited for it.
BESIDE = re.compile(
    r"the blocks took ([0-9.]+) s; files were encoded and written beside them in ([0-9.]+) s, and the blocks waited ([0-9.]+) s"
)
# How it says where its time went: `... times real time (loading 0.05 s, rendering 0.90 s, ...)`.
PARTS = re.compile(r"times real time \((.*)\)")
PART = re.compile(r"([a-z ]+?) ([0-9.]+) s")
# Filters of single and of double precision differ by less than this, relative to full scale.
ALIKE = 1e-4


def main():
    options = parse()
    try:
        record = measure(options)
    except (NotHere, OSError) as error:
        print(f"render: {error}", file=sys.stderr)
        return 3
    except Unlike as error:
        print(f"render: {error}", file=sys.stderr)
        return 1
    print(*table(record), sep="\n")
    if options.record:
        records.write(options.record, record)
    return 0


class Unlike(Exception):
    """Two programs wrote different sound."""


def parse(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", default=10, type=int, metavar="N",
                        help=f"rounds, at least {FEWEST_ROUNDS} (10)")
    parser.add_argument("--tracks", default=16, type=positive, metavar="N", help="stereo tracks (16)")
    parser.add_argument("--bands", default=16, type=positive, metavar="N", help="peaking bands of a track (16)")
    parser.add_argument("--seconds", default=60, type=positive, metavar="S", help="length of the mix (60)")
    parser.add_argument("--seed", default=1, type=int, help="where noise and order come from")
    parser.add_argument("--program", default=PROGRAM, type=Path, metavar="FILE",
                        help="the program hocket (target/release/hocket)")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where the audio files lie meanwhile (a temporary one)")
    records.add_options(parser, "all times")
    options = parser.parse_args(arguments)
    if options.rounds < FEWEST_ROUNDS:
        parser.error(f"--rounds {options.rounds}: at least {FEWEST_ROUNDS}")
    records.check(parser, options)
    return options


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def measure(options):
    if not options.program.exists():
        raise NotHere(f"{options.program} is not there; build it: cargo build --locked --release -p hocket")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        make_tracks(options, Path(folder))
        programs, missing = commands(options)
        started = now()
        agreement = compare(programs, Path(folder))
        starts = rounds(options, programs, Path(folder))
    return {
        "format": FORMAT,
        "command": sys.argv[1:],
        "started_at": started,
        "finished_at": now(),
        "machine": json.loads(said(options.program, "machine", "--json")),
        "versions": versions(options, programs),
        "tracks": options.tracks, "bands": options.bands, "seconds": options.seconds, "rate_hz": RATE_HZ,
        "rounds": options.rounds, "seed": options.seed,
        # Programs by name: where they lie says nothing, and a record names no folder of a machine.
        "commands": {name: [Path(command[0]).name, *command[1:]] for name, command in programs.items()},
        "missing": missing,
        "largest_difference": agreement,
        "starts": starts,
    }


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def said(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    return done.stdout or done.stderr


def versions(options, programs):
    found = {"hocket": said(options.program, "--version").strip()}
    for name in ("sox", "ecasound"):
        if name in programs:
            found[name] = said(name, "--version").strip().splitlines()[0]
    return found


def make_tracks(options, folder):
    """A file of noise for each track, and the session that plays them."""
    draw = random.Random(options.seed)
    for track in range(options.tracks):
        # One second, again and again: filters do not care, and drawing takes longer than rendering.
        second = array.array("h", (draw.randrange(-4096, 4096) for _ in range(2 * RATE_HZ)))
        if sys.byteorder == "big":
            second.byteswap()
        with wave.open(str(folder / f"{track}.wav"), "wb") as file:
            file.setnchannels(2)
            file.setsampwidth(2)
            file.setframerate(RATE_HZ)
            file.writeframes(second.tobytes() * options.seconds)
    (folder / "session.toml").write_text(session(options))


def band(options, track, number):
    """Centre in Hz and gain in dB; no two tracks have the same."""
    share = (number + 0.5 + track / (2 * options.tracks)) / options.bands
    return round(40 * (12_000 / 40) ** share, 1), 3 if number % 2 else -3


def session(options):
    lines = ["[session]", f"sample_rate_hz = {RATE_HZ}", f"length_s = {options.seconds}"]
    for track in range(options.tracks):
        lines += ["[[track]]", f'name = "{track}"', f"gain_db = {TRACK_GAIN_DB}", f'clip = [{{ file = "{track}.wav" }}]']
        for first in range(0, options.bands, BANDS_AN_EFFECT):
            lines += ["[[track.effect]]", 'kind = "eq"']
            for place in range(BANDS_AN_EFFECT):
                if first + place >= options.bands:
                    lines += [f"band{place + 1}_type = 0"]
                    continue
                hertz, gain_db = band(options, track, first + place)
                lines += [f"band{place + 1}_type = 1", f"band{place + 1}_freq_hz = {hertz}",
                          f"band{place + 1}_q = {BAND_Q}", f"band{place + 1}_gain_db = {gain_db}"]
    return "\n".join(lines) + "\n"


def commands(options):
    """What each program is started with, in the folder of the tracks; and what is missing, with the reason."""
    hocket = [options.program.resolve(), "render", "session.toml", "--format", "24", "--force", "--no-profile", "-v"]
    programs = {name: [*hocket, *more, "-o", f"{name}.wav"] for name, more in OWN.items()}
    missing = {}
    if shutil.which("sox"):
        programs["sox"] = sox(options)
    else:
        missing["sox"] = "no program sox (Debian: sox)"
    if not shutil.which("ecasound"):
        missing["ecasound"] = "no program ecasound (Debian: ecasound)"
    elif not ladspa_band():
        missing["ecasound"] = "no LADSPA plug-in with a peaking band (Debian: swh-plugins)"
    else:
        programs["ecasound"] = ecasound(options)
    for name, why in missing.items():
        print(f"left out: {name}: {why}", file=sys.stderr)
    return programs, missing


def ladspa_band():
    folders = os.environ.get("LADSPA_PATH", "/usr/lib/ladspa:/usr/local/lib/ladspa").split(":")
    return any((Path(folder) / "single_para_1203.so").exists() for folder in folders)


def sox(options):
    """A process for each track; the first sox sums what they write into its pipes."""
    command = ["sox", "-D", "-m"]
    for track in range(options.tracks):
        bands = (band(options, track, number) for number in range(options.bands))
        effects = " ".join(f"equalizer {hertz} {BAND_Q}q {gain_db}" for hertz, gain_db in bands)
        command += ["-v", str(lin(TRACK_GAIN_DB)), f"|sox -D {track}.wav -p {effects}"]
    return [*command, "-b", "24", "sox.wav"]


def ecasound(options):
    command = ["ecasound", "-q", "-x", "-z:mixmode,sum", "-z:nodb", "-b:1024", f"-f:s16_le,2,{RATE_HZ}"]
    octaves = 2 * math.asinh(1 / (2 * BAND_Q)) / math.log(2)
    for track in range(options.tracks):
        command += [f"-a:{track}", f"-i:{track}.wav", f"-eadb:{TRACK_GAIN_DB}"]
        for hertz, gain_db in (band(options, track, number) for number in range(options.bands)):
            command += [f"-el:{LADSPA_BAND},{gain_db},{hertz},{octaves:.4f}"]
    return [*command, "-a:all", f"-f:s24_le,2,{RATE_HZ}", "-o:ecasound.wav"]


def lin(level_db):
    return 10 ** (level_db / 20)


def start(command, folder):
    """Wall time and CPU time of a process and its children, and what Hocket says of its parts."""
    before, begun = os.times(), time.perf_counter()
    done = subprocess.run(list(map(str, command)), cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    wall_s, after = time.perf_counter() - begun, os.times()
    if done.returncode:
        raise NotHere(f"{' '.join(map(str, command[:2]))} ended with exit code {done.returncode}: {done.stderr.strip()[-400:]}")
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    return {"wall_s": wall_s, "cpu_s": cpu_s, **said_of_parts(done.stderr)}


def said_of_parts(text):
    """The times that Hocket says with --verbose; without them `None`, and no parts."""
    beside, parts = BESIDE.search(text), PARTS.search(text)
    times_s = map(float, beside.groups()) if beside else (None, None, None)
    found = dict(zip(("blocks_s", "writing_s", "waited_s"), times_s))
    named = PART.findall(parts[1]) if parts else []
    return {**found, "parts_s": {name.strip(): float(time_s) for name, time_s in named}}


def compare(programs, folder):
    """The largest difference of each program's mix to Hocket's; it also warms the files up."""
    mixes = {}
    for name, command in programs.items():
        start(command, folder)
        mixes[name] = samples(folder / f"{name}.wav")
    differences = {name: difference(mixes["hocket"], mix) for name, mix in mixes.items()}
    for name in OWN:
        if differences[name] > 0:
            raise Unlike(f"'{name}' wrote other samples than 'hocket'")
    if differences.get("sox", 0) > ALIKE:
        raise Unlike(f"sox and hocket differ by {differences['sox']:.2e} of full scale")
    return differences


def samples(path):
    """Of a WAV file of 24 bits, as integers."""
    data = path.read_bytes()
    at = data.index(b"data") + 8
    data = data[at:at + (len(data) - at) // 3 * 3]
    wide = bytearray(len(data) // 3 * 4)
    for byte in range(3):
        wide[byte + 1::4] = data[byte::3]
    found = array.array("i", bytes(wide))
    if sys.byteorder == "big":
        found.byteswap()
    return found


def difference(one, other):
    """Of the frames that both have; a mix that is shorter by more than a block is another one."""
    if abs(len(one) - len(other)) > 2 * 1024:
        raise Unlike(f"one mix has {len(one) // 2} frames, another {len(other) // 2}")
    return max((abs(a - b) for a, b in zip(one, other)), default=0) / 2 ** 31


def rounds(options, programs, folder):
    draw, starts = random.Random(options.seed), []
    for number in range(options.rounds):
        for name in draw.sample(list(programs), len(programs)):
            starts.append({"round": number, "program": name, **start(programs[name], folder)})
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    return starts


def table(record):
    yield (f"{record['tracks']} stereo tracks, {record['bands']} bands each, {record['seconds']} s;"
           f" medians over {record['rounds']} process starts")
    yield f"{'program':<24}{'wall':>9}{'CPU':>9}{'blocks':>9}{'writing':>9}   wall / hocket's, 95 %"
    own = times(record, "hocket", "wall_s")
    for name in record["commands"]:
        wall = times(record, name, "wall_s")
        columns = (middle(times(record, name, key)) for key in ("wall_s", "cpu_s", "blocks_s", "writing_s"))
        beside = "" if name == "hocket" else ratio(own, wall)
        yield f"{name:<24}{''.join(columns)}   {beside}".rstrip()
    for name, why in record["missing"].items():
        yield f"{name:<24}left out: {why}"


def middle(seconds):
    """The median as a column; a dash where nobody says it."""
    return f"{'-':>9}" if None in seconds else f"{statistics.median(seconds):>7.2f} s"


def times(record, name, key):
    return [start[key] for start in sorted(record["starts"], key=lambda start: start["round"])
            if start["program"] == name]


def ratio(own, others):
    ratios = sorted(other / mine for mine, other in zip(own, others))
    cut = outside(len(ratios))
    return f"{statistics.median(ratios):.3f} [{ratios[cut]:.3f}, {ratios[-1 - cut]:.3f}]"


if __name__ == "__main__":
    sys.exit(main())
