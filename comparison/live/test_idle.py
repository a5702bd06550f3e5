"""What the script reads and says, without any server: python3 -m unittest discover -s comparison/live"""

import os
import time
import unittest

import idle


def turn(number, place, name, cpu_s):
    return {"round": number, "place": place, "name": name, "seconds": 10.0, "cpu_s": cpu_s,
            "threads": {"leader 7": 0.75 * cpu_s, "planner 8": 0.25 * cpu_s}}


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


if __name__ == "__main__":
    unittest.main()
