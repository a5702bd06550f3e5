#!/usr/bin/env python3
"""Ways to read many files at once from a disk, as the preloader does: plain reads and io_uring, in turns of one run.

    comparison/reads/reads.py FOLDER [--record reads.json]

FOLDER lies on the disk in question. fio lays its files out there, one for each stream, and reads a chunk of each in turn.
Before every start the files leave the system's cache. Each round starts every way once, in an order drawn anew. A figure is
what a whole start read in a second. A ratio is the median over the rounds of a way's rate / that of `plain`; its interval
covers that median with at least 95 % (order statistics). `plain, again` is the same way once more: a difference below
it is none.

Exit code: 0 done, 2 bad usage, 3 not possible here.
"""

import argparse
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path += [str(Path(__file__).resolve().parents[1] / name) for name in ("", "versions")]
import records  # noqa: E402
from versions import FEWEST_ROUNDS, NotHere, ratio  # noqa: E402

FORMAT = "hocket-reads/1"
# A chunk of the preloader: 8192 stereo frames of 24 bits.
CHUNK = 8192 * 2 * 3
# Frames of 24-bit stereo at 96 kHz take so many bytes a second.
STREAM_BYTES = 96_000 * 2 * 3

WAYS = {
    "plain": ["--ioengine=psync"],
    "plain, again": ["--ioengine=psync"],
    "plain, four threads": ["--ioengine=psync", "--numjobs=4", "--thread"],
    "io_uring, 4 at once": ["--ioengine=io_uring", "--iodepth=4"],
    "io_uring, 32 at once": ["--ioengine=io_uring", "--iodepth=32"],
}


def main():
    options = parse()
    try:
        record = measure(options)
    except (NotHere, OSError) as error:
        print(f"reads: {error}", file=sys.stderr)
        return 3
    print(*table(record), sep="\n")
    if options.record:
        records.write(options.record, record)
    return 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="an existing folder on the disk")
    parser.add_argument("--streams", default=200, type=int, metavar="N", help="files (200)")
    parser.add_argument("--mib", default=4, type=int, metavar="N", help="MiB of each file (4)")
    parser.add_argument("--rounds", default=10, type=int, metavar="N", help=f"rounds, at least {FEWEST_ROUNDS} (10)")
    parser.add_argument("--seed", default=1, type=int, help="where the order of turns comes from")
    records.add_options(parser, "all figures")
    options = parser.parse_args()
    if options.rounds < FEWEST_ROUNDS:
        parser.error(f"--rounds {options.rounds}: at least {FEWEST_ROUNDS}")
    if options.streams < 4 or options.streams % 4 or options.mib < 1:
        parser.error("--streams must be a multiple of 4, and --mib at least 1")
    records.check(parser, options)
    return options


def measure(options):
    if not shutil.which("fio"):
        raise NotHere("fio is not installed (Debian: apt install fio)")
    if not options.folder.is_dir():
        raise NotHere(f"{options.folder} is no folder; make it first")
    needed = options.streams * options.mib << 20
    if shutil.disk_usage(options.folder).free < 2 * needed:
        raise NotHere(f"{options.folder} has no room for {needed >> 20} MiB of files; choose another disk or less --mib")
    order, starts = random.Random(options.seed), []
    with tempfile.TemporaryDirectory(prefix="hocket-reads-", dir=options.folder) as folder:
        for round_ in range(options.rounds):
            ways = list(WAYS)
            order.shuffle(ways)
            for way in ways:
                starts.append({"round": round_, "way": way, "bytes_per_s": rate(options, folder, way)})
            print(f"round {round_ + 1} of {options.rounds}", file=sys.stderr)
    return {
        "format": FORMAT,
        "command": [word for word in sys.argv[1:] if word != str(options.folder)],
        "tool": fio("--version").strip(),
        "kernel": platform.release(),
        "processor": processor(),
        "chunk_bytes": CHUNK,
        "starts": starts,
    }


def rate(options, folder, way):
    jobs = 4 if "--numjobs=4" in WAYS[way] else 1
    # Threads share the files between them, in a set of their own.
    command = ["--output-format=json", "--name=reads", "--rw=read", f"--bs={CHUNK}", "--invalidate=1", "--group_reporting",
               f"--directory={folder}", f"--filename_format=of-{jobs}-$jobnum-$filenum", f"--nrfiles={options.streams // jobs}",
               f"--filesize={options.mib}m", "--file_service_type=roundrobin", *WAYS[way]]
    told = json.loads(fio(*command))
    return sum(job["read"]["io_bytes"] for job in told["jobs"]) * 1000 / max(job["read"]["runtime"] for job in told["jobs"])


def fio(*arguments):
    done = subprocess.run(["fio", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise NotHere(f"fio ended with exit code {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return os.uname().machine


def table(record):
    starts = record["starts"]
    rates = {way: [start["bytes_per_s"] for start in starts if start["way"] == way] for way in WAYS}
    yield f"chunks of {record['chunk_bytes']} bytes from cold files, medians over {len(rates['plain'])} starts of each"
    for way, all_of_it in rates.items():
        streams = statistics.median(all_of_it) / STREAM_BYTES
        yield (f"{way:<22} {statistics.median(all_of_it) / 1e6:>7.0f} MB/s   by plain {ratio(rates['plain'], all_of_it)}"
               f"   enough for {streams:.0f} stereo tracks of 24 bits at 96 kHz")


if __name__ == "__main__":
    sys.exit(main())
