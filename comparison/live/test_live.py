"""What the script measures and says where a part is missing, without any server:
python3 -m unittest discover -s comparison/live"""

import argparse
import json
import unittest
from unittest import mock

import live

HEARD = {"out_frames": 128, "out_ms": 2.667, "in_frames": 64, "in_ms": 1.333, "session_frames": 151}


class Process:
    def __init__(self, text, returncode):
        self.text, self.returncode = text, returncode

    def communicate(self):
        return self.text, None


class Server:
    """Has these ports, and each program that it starts says this text."""

    def __init__(self, ports, text="", returncode=0):
        self.there, self.text, self.returncode, self.started = ports, text, returncode, []

    def ports(self):
        return self.there

    def start(self, *command):
        self.started.append([str(word) for word in command])
        return Process(self.text, self.returncode)


OPTIONS = argparse.Namespace(program="hocket", session="band.toml")


class Latency(unittest.TestCase):
    def test_it_is_that_of_a_play_on_the_ports_of_the_server(self):
        server = Server(["system:playback_1"], json.dumps({"latency": HEARD}))
        self.assertEqual(live.latency(OPTIONS, server), HEARD)
        [command] = server.started
        self.assertEqual(command[command.index("--connect") + 1], "physical")
        told = live.latency_told(HEARD)
        self.assertIn("out 128 frames (2.7 ms), in 64 frames (1.3 ms)", told)
        self.assertIn("out unknown", live.latency_told({**HEARD, "out_frames": None, "out_ms": None}))

    def test_a_server_without_ports_and_a_play_that_fails_say_why(self):
        why = live.or_why(lambda: live.latency(OPTIONS, Server(None)))
        self.assertIn("no port that plays", why["not_here"])
        failing = Server(["system:playback_1"], "", 3)
        why = live.or_why(lambda: live.latency(OPTIONS, failing))
        self.assertIn("exit code 3", why["not_here"])
        self.assertIn("not measured: a play", live.latency_told(why))


class Bare(unittest.TestCase):
    def test_calls_are_read_and_late_ones_in_a_row_are_one_stretch(self):
        calls = live.bare_calls("calls 100\n7 1300 0\n8 1250 2\n9 60 1\n20 1300 0\n30 900 0\n")
        self.assertEqual(calls["calls"], 100)
        self.assertEqual(live.bare_stretches(calls, 1200), [5, 1], "9 was in time, and behind a skipped period")
        self.assertEqual(live.bare_stretches(calls, 5000), [2, 1])
        with self.assertRaises(live.NotHere):
            live.bare_calls("")

    def test_a_session_without_a_miss_has_no_stretch(self):
        self.assertEqual(live.joined([]), [])


class Stops(unittest.TestCase):
    def test_only_gaps_count_that_nobody_saw(self):
        gaps = [[4000, 3990, 0], [4000, 100, 0], [4000, 3990, 1], [900, 899, 0]]
        self.assertEqual(live.unseen(gaps, 1200), [4000])
        told = live.stops_told({"spun_s": 30.0, "gaps": gaps}, 1200)
        self.assertIn("in 30 s its CPU stood still 1 times for longer than 1200 us, at most 4.0 ms", told)
        self.assertIn("0 times", live.stops_told({"spun_s": 30.0, "gaps": []}, 1200))


class RoundTrips(unittest.TestCase):
    def test_without_its_tool_the_record_says_so(self):
        with mock.patch.object(live.shutil, "which", return_value=None):
            why = live.or_why(lambda: live.round_trips(OPTIONS, Server([])))
        self.assertIn("missing: jack_iodelay", why["not_here"])
        self.assertIn("there and back: not measured: missing", live.round_trips_told(why))
        told = live.round_trips_told({"direct_frames": 64.0, "through_frames": 64.0})
        self.assertIn("64 frames by a cable, 64 through Hocket", told)


if __name__ == "__main__":
    unittest.main()
