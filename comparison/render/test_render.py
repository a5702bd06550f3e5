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

    def test_the_times_of_parts_are_those_that_hocket_says(self):
        said = ("60.000 s of audio, 2 workers, 60.1 times real time (loading 0.05 s, rendering 0.90 s, completing the file 0.04 s)\n"
                "the blocks took 0.88 s; files were encoded and written beside them in 0.21 s, and the blocks waited 0.00 s for it\n")
        self.assertEqual(render.said_of_parts(said), {
            "blocks_s": 0.88, "writing_s": 0.21, "waited_s": 0.0,
            "parts_s": {"loading": 0.05, "rendering": 0.9, "completing the file": 0.04},
        })
        nothing = {"blocks_s": None, "writing_s": None, "waited_s": None, "parts_s": {}}
        self.assertEqual(render.said_of_parts("sox WARN"), nothing)

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
            is_own = start["program"] in render.OWN
            for key in ("blocks_s", "writing_s", "waited_s"):
                self.assertEqual(start[key] is not None, is_own)
            self.assertLessEqual(start["blocks_s"] or 0, start["wall_s"])
            named = ["loading", "rendering", "completing the file"] if is_own else []
            self.assertEqual(list(start["parts_s"]), named)
        shown = "\n".join(render.table(record))
        for name in [*record["commands"], *record["missing"]]:
            self.assertIn(name, shown)
            if name in record["missing"]:
                print(f"SKIPPED a tiny render by {name}: {record['missing'][name]}", flush=True)


if __name__ == "__main__":
    unittest.main()
