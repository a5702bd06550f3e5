"""What the script computes, without any server: python3 -m unittest discover -s comparison/voices"""

import struct
import unittest

import figures
import osc
import synthdef
import voices


class Osc(unittest.TestCase):
    def test_a_message_comes_back(self):
        packet = osc.message("/s_new", "voice", 1000, -0.5, "abc")
        self.assertEqual(len(packet) % 4, 0)
        self.assertEqual(osc.parse(packet), ("/s_new", ["voice", 1000, -0.5, "abc"]))

    def test_a_blob_is_padded(self):
        packet = osc.message("/d_recv", b"12345")
        self.assertTrue(packet.endswith(struct.pack(">i", 5) + b"12345\0\0\0"))


class Reader:
    """Reads the fields of a definition."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, kind):
        values = struct.unpack_from(">" + kind, self.data, self.at)
        self.at += struct.calcsize(">" + kind)
        return values if len(values) > 1 else values[0]

    def name(self):
        length = self.take("B")
        self.at += length
        return self.data[self.at - length:self.at].decode()

    def ugen(self):
        name = self.name()
        _, inputs, outputs, _ = self.take("biih")
        wires = [self.take("ii") for _ in range(inputs)]
        self.at += outputs
        return name, wires


class SynthDef(unittest.TestCase):
    def test_each_filter_reads_the_one_before_it(self):
        reader = Reader(synthdef.voice("v", 3))
        self.assertEqual(reader.take("4sih"), (b"SCgf", 2, 1))
        self.assertEqual(reader.name(), "v")
        constants = [reader.take("f") for _ in range(reader.take("i"))]
        self.assertEqual(reader.take("ii"), (0, 0))
        ugens = [reader.ugen() for _ in range(reader.take("i"))]
        self.assertEqual(reader.take("h"), 0)
        self.assertEqual(reader.at, len(reader.data), "nothing is left")
        self.assertEqual([name for name, _ in ugens], ["WhiteNoise", "SOS", "SOS", "SOS", "Out"])
        for place, (_, wires) in enumerate(ugens[1:4], start=1):
            self.assertEqual(wires[0], (place - 1, 0))
            values = [round(constants[constant], 6) for _, constant in wires[1:]]
            self.assertEqual(values, [0.2, 0.3, 0.2, 0.5, -0.25])
        bus, signal = ugens[4][1]
        self.assertEqual((constants[bus[1]], signal), (0.0, (3, 0)))


def step(engine, number, count, load, late=0.0):
    made = {"engine": engine, "round": number, "voices": count, "load": load, "cpu_share": load,
            "load_highest": load, "late_share": late}
    return {**made, "holds": figures.holds(made)}


class Figures(unittest.TestCase):
    def test_load_a_voice_and_capacity(self):
        steps = [step("e", number, count, 0.003 * count)
                 for number in range(3) for count in (100, 200, 300, 400)]
        shown = figures.of_engine(steps, "e", 3)
        self.assertAlmostEqual(shown["load_a_voice"]["median"], 0.003)
        self.assertEqual(shown["capacity"], {"median": 300, "lowest": 300, "highest": 300})

    def test_late_cycles_end_what_holds(self):
        self.assertEqual(figures.capacity([step("e", 0, 10, 0.1), step("e", 0, 20, 0.2, 0.006)]), 10)
        self.assertEqual(figures.capacity([step("e", 0, 10, 0.1, 0.5)]), 0)

    def test_efficiency_compares_equal_numbers_of_voices(self):
        steps = [step("one", 0, count, 0.005 * count) for count in range(20, 180, 20)]
        steps += [step("two", 0, count, 0.003125 * count) for count in range(20, 300, 20)]
        shown = figures.efficiency(steps, "one", "two", 2)
        self.assertAlmostEqual(shown["ratio"], 0.8)
        self.assertEqual(shown["observations"], 8)
        self.assertAlmostEqual(shown["interval_95"][0], 0.8)
        self.assertIsNone(figures.efficiency(steps, "one", "three", 2))


class Fake:
    """Holds up to 60 voices, but stalls once at 40."""

    name, stalls = "fake", 1

    def step(self, count, _seconds):
        late = 1.0 if count > 60 or (count == 40 and self.stalls) else 0.0
        self.stalls -= count == 40 and self.stalls
        return {"load": 0.1, "load_highest": 0.1, "late_share": late, "cpu_share": 0.1}


class Ramp(unittest.TestCase):
    def test_a_stall_is_forgiven_and_two_failures_end_it(self):
        options = type("Options", (), {"start": 20, "step": 20, "most": 1000, "seconds": 1})
        tried = [(step["voices"], step["holds"]) for step in voices.ramp(Fake(), options)]
        self.assertEqual(
            tried,
            [(20, True), (40, False), (40, True), (60, True), (80, False), (80, False)],
        )


if __name__ == "__main__":
    unittest.main()
