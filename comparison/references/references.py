#!/usr/bin/env python3
"""How far Hocket's effects, its hosting of LV2 plug-ins and its DAWproject reader are from renders by other programs.

    comparison/references/references.py FOLDER [--record references.json]

FOLDER holds `manifest.json`, which says of each render who made it, how, and how it is to be compared. Hocket's own tests
render the same, compare each sample and print the largest difference, of which 1 is full scale; this script runs these
tests, and collects what they print. Renders that no test knows are listed with how the manifest wants them compared:
`tool-specific` and `lv2-host-loose` ones depend on their program or on its blocks.

Exit code: 0 done, 1 a difference is larger than the manifest allows, 2 bad usage, 3 not possible here.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import records  # noqa: E402

FORMAT = "hocket-references/1"
# Package, test program, and which of its tests.
TESTS = [
    ("hocket-dsp", "references", ""),
    ("hocket-convolution", "reference", ""),
    ("hocket-plugins", "plugins", "references::"),
    ("hocket", "cli", "dawproject::"),
    ("hocket", "cli", "references::"),
]
# The first one of each test stands behind the test's name.
DIFFERENCE = re.compile(r"(\S+): largest difference ([0-9.e+-]+)")


def main():
    options = parse()
    try:
        cases = json.loads((options.folder / "manifest.json").read_text(encoding="utf-8"))["cases"]
    except (OSError, ValueError, KeyError) as error:
        print(f"references: {options.folder}/manifest.json: {error!r}; name the folder of the renders", file=sys.stderr)
        return 3
    folder = options.folder.resolve()
    if folder.parts[-2:] != ("data", "references"):
        print(f"references: {folder}: the tests look for a folder data/references; name that", file=sys.stderr)
        return 3
    said, passed = run_tests(folder)
    found = differences(said)
    record = {
        "format": FORMAT,
        "commit": git("rev-parse", "HEAD"),
        "machine": platform.machine(),
        "tests_passed": passed,
        "cases": [row(case, found) for case in cases],
    }
    print(*table(record["cases"]), sep="\n")
    if options.record:
        records.write(options.record, record)
    return 0 if passed else 1


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the renders and their manifest.json")
    records.add_options(parser, "all differences")
    options = parser.parse_args()
    records.check(parser, options)
    return options


def run_tests(folder):
    """What the tests print, and whether all of them passed."""
    said, passed = "", True
    # `FOLDER/../..` is what the tests call the shared folder.
    env = dict(os.environ, HOCKET_SHARED=str(folder.parents[1]))
    for package, program, tests in TESTS:
        command = ["cargo", "test", "--locked", "-p", package, "--test", program, "--", "--nocapture", "--test-threads=1", tests]
        ran = subprocess.run(command, cwd=records.ROOT, env=env, stdout=subprocess.PIPE, text=True, check=False)
        said, passed = said + ran.stdout, passed and ran.returncode == 0
    return said, passed


def differences(said):
    """The largest difference of each case; a case has two lines if it has two sides."""
    found = {}
    for case, difference in DIFFERENCE.findall(said):
        found[case] = max(found.get(case, 0.0), float(difference))
    return found


def row(case, found):
    return {
        "id": case["id"],
        "by": case["version"],
        "compare": case["compare"],
        "tolerance": case.get("tolerance"),
        "largest_difference": found.get(case["id"]),
    }


def table(rows):
    yield f'{"render":36} {"compare":16} {"largest":>9} {"allowed":>9}'
    for one in rows:
        largest, allowed = one["largest_difference"], one["tolerance"]
        shown = "no test" if largest is None else f"{largest:.1e}"
        yield f'{one["id"]:36} {one["compare"]:16} {shown:>9} {"" if allowed is None else f"{allowed:.0e}":>9}'
    known = [one for one in rows if one["largest_difference"] is not None]
    exact = sum(one["largest_difference"] == 0 for one in known)
    yield f"{len(known)} of {len(rows)} renders are compared; {exact} of them are equal bit for bit"


def git(*arguments):
    return subprocess.run(["git", "-C", str(records.ROOT), *arguments], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
