"""What the script reads and says, without any server: python3 -m unittest discover -s comparison/live"""

import contextlib
import io
import os
import signal
import sys
import time
import unittest
from pathlib import Path
from unittest import mock

import idle

# Says how it stands as Hocket does, but more often. It `obeys` /stop or `ignores` it, and plays again after SIGUSR1.
PLAYER = """
import json, signal, socket, sys, time
how, load, address = sys.argv[1], float(sys.argv[2]), sys.argv[sys.argv.index("--osc") + 1]
host, port = address.split(":")
listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
listener.bind((host, int(port)))
listener.setblocking(False)
playing, seconds = True, 0.0
def play(*_):
    global playing
    playing = True
signal.signal(signal.SIGUSR1, play)
for block in range(1, 100_000):
    try:
        if listener.recv(2048).startswith(b"/stop") and how != "ignores":
            playing = False
    except BlockingIOError:
        pass
    seconds += playing
    line = {"format": "hocket-play-now/1", "blocks": block, "workers": [{"load": load}],
            "song": {"playing": playing, "seconds": seconds}}
    print(json.dumps(line), flush=True)
    time.sleep(0.01)
"""


def turn(number, place, name, cpu_s):
    return {"round": number, "place": place, "name": name, "seconds": 10.0, "cpu_s": cpu_s, "rests": True,
            "threads": {"leader 7": 0.75 * cpu_s, "planner 8": 0.25 * cpu_s}}


def line(blocks, seconds=1.5, playing=False):
    return {"blocks": blocks, "song": {"playing": playing, "seconds": seconds}}


class Stands(unittest.TestCase):
    def play(self, how, load, name=idle.AFTER, patience_s=30):
        command = [sys.executable, "-c", PLAYER, how, load, "--osc", "127.0.0.1:0"]
        with mock.patch.object(idle, "STOPS_WITHIN_S", patience_s):
            return idle.turn(command, dict(os.environ), idle.VIRTUAL, name, 0.3, 0.3)

    def test_what_stands_still_is_measured(self):
        taken = self.play("obeys", 0.0)
        self.assertTrue(taken["rests"])
        self.assertGreaterEqual(taken["seconds"], 0.3)

    def test_an_engine_that_does_not_stop_is_none(self):
        with self.assertRaisesRegex(idle.NotHere, "does not stop within 1 s of /stop"):
            self.play("ignores", 0.0, patience_s=1)

    def test_an_engine_that_plays_again_is_none(self):
        def plays_again(pid, _):
            os.kill(pid, signal.SIGUSR1)
            while not any(line["song"]["playing"] for line in idle.lines(Path(f"/proc/{pid}/fd/1"))[-3:]):
                time.sleep(0.01)
            return {}

        with mock.patch.object(idle, "used", plays_again), \
                self.assertRaisesRegex(idle.NotHere, "hocket on virtual does not stand still: its song plays"):
            self.play("obeys", 0.0)

    def test_only_an_earlier_version_may_compute(self):
        self.assertFalse(self.play("obeys", 0.01, idle.BEFORE)["rests"])
        with self.assertRaisesRegex(idle.NotHere, "does not rest"):
            self.play("obeys", 0.01)

    def test_a_program_that_ends_is_none(self):
        with self.assertRaisesRegex(idle.NotHere, "ended with exit code 7"):
            idle.turn([sys.executable, "-c", "raise SystemExit(7)", "--osc", "x:0"], dict(os.environ), idle.VIRTUAL,
                      idle.AFTER, 0.1, 0.1)

    def test_it_is_told_with_exit_code_3(self):
        told = io.StringIO()
        with contextlib.redirect_stderr(told):
            code = idle.live.run("idle", None, lambda _: self.play("ignores", 0.0, patience_s=1), None)
        self.assertEqual(code, 3)
        self.assertTrue(told.getvalue().startswith("idle: the song does not stop"), told.getvalue())

    def test_lines_tell_what_moves(self):
        self.assertIsNone(idle.moves([line(1), line(2)]))
        self.assertEqual(idle.moves([line(1)]), "it says too little about itself")
        self.assertEqual(idle.moves([line(1), line(2, playing=True)]), "its song plays")
        # It played between two lines.
        self.assertEqual(idle.moves([line(1), line(2, seconds=1.6)]), "its song moves")
        self.assertEqual(idle.moves([line(2), line(2)]), "it has no blocks any more")


class Threads(unittest.TestCase):
    def test_the_time_of_a_thread_that_computes_is_found_under_its_name(self):
        before = idle.threads(os.getpid())
        begun = time.thread_time()
        while time.thread_time() - begun < 0.02:
            pass
        after = idle.threads(os.getpid())
        spent = {key: ns - before.get(key, 0) for key, ns in after.items()}
        self.assertGreaterEqual(max(spent.values()), 15_000_000)


class Table(unittest.TestCase):
    def test_versions_are_compared_within_rounds(self):
        turns = [turn(number, place, name, cpu_s) for number in range(6) for place, name, cpu_s in
                 ((idle.JACK, idle.AFTER, 0.1), (idle.JACK, idle.BEFORE, 0.2), (idle.JACK, idle.BARE, 0.08),
                  (idle.VIRTUAL, idle.AFTER, 0.05))]
        record = {"session": "band.toml", "seconds": 10, "real_time": True, "turns": turns}
        told = "\n".join(idle.table(record))
        self.assertIn("jack      hocket          1.000 % of a CPU, 0.750 % its busiest thread", told)
        self.assertIn("jack      hocket against hocket before: 0.500 [0.500, 0.500] times", told)
        self.assertNotIn("virtual   hocket against", told)
        self.assertIn("bare client     0.800 %", told)
        self.assertNotIn("rest", told)

    def test_a_version_that_does_not_rest_is_named(self):
        turns = [{**turn(0, idle.JACK, idle.BEFORE, 0.2), "rests": False}]
        record = {"session": "band.toml", "seconds": 10, "real_time": True, "turns": turns}
        self.assertIn("; it does not rest", "\n".join(idle.table(record)))


if __name__ == "__main__":
    unittest.main()
