"""What the script computes, and a tiny run: python3 -m unittest discover -s comparison/render"""

import os
import shutil
import tempfile
import unittest
from pathlib import Path

import render

PROGRAMS = [os.environ.get("HOCKET"), *(render.ROOT / "target" / kind / "hocket" for kind in ("release", "debug"))]


def tiny(*more):
    return render.parse(["--rounds", "6", "--tracks", "2", "--bands", "5", "--seconds", "1", *more])


class Session(unittest.TestCase):
    def test_every_track_has_its_bands_and_no_two_are_the_same(self):
        options = tiny()
        text = render.session(options)
        self.assertEqual(text.count("_type = 1"), 2 * 5)
        self.assertEqual(text.count("_type = 0"), 2 * 3)
        bands = [render.band(options, track, number)[0] for track in range(2) for number in range(5)]
        self.assertEqual(len(set(bands)), 10)

    def test_sox_gets_a_process_for_each_track(self):
        command = render.sox(tiny())
        self.assertEqual(sum(word.startswith("|sox ") for word in command), 2)
        self.assertEqual(" ".join(command).count("equalizer"), 10)


class Figures(unittest.TestCase):
    def test_a_ratio_is_that_of_the_same_round(self):
        self.assertEqual(render.ratio([1.0] * 6, [2.0, 1.9, 2.1, 2.0, 2.0, 4.0]), "2.000 [1.900, 4.000]")

    def test_a_difference_is_relative_to_full_scale(self):
        self.assertEqual(render.difference([0, 2 ** 30, 5], [0, 0, 5]), 0.5)
        with self.assertRaises(render.Unlike):
            render.difference([0] * 10_000, [0] * 4)


class Tiny(unittest.TestCase):
    def test_all_programs_write_the_same_sound(self):
        program = next((Path(path) for path in PROGRAMS if path and Path(path).exists()), None)
        if program is None or not shutil.which("sox"):
            what = "sox" if program else "a built hocket (target/debug/hocket, or HOCKET)"
            print(f"SKIPPED all_programs_write_the_same_sound: there is no {what}", flush=True)
            return
        with tempfile.TemporaryDirectory() as folder:
            record = render.measure(tiny("--program", str(program), "--record", str(Path(folder) / "r.json")))
        self.assertLessEqual({*render.OWN, "sox"}, set(record["commands"]))
        self.assertEqual(len(record["starts"]), 6 * len(record["commands"]))
        self.assertEqual(record["largest_difference"]["hocket, again"], 0)
        self.assertTrue(all(start["wall_s"] > 0 for start in record["starts"]))
        for start in record["starts"]:
            blocks_s = start["blocks_s"]
            self.assertEqual(blocks_s is not None, start["program"] in render.OWN)
            self.assertLessEqual(blocks_s or 0, start["wall_s"])
        shown = "\n".join(render.table(record))
        for name in [*record["commands"], *record["missing"]]:
            self.assertIn(name, shown)
            if name in record["missing"]:
                print(f"SKIPPED a tiny render by {name}: {record['missing'][name]}", flush=True)


if __name__ == "__main__":
    unittest.main()
