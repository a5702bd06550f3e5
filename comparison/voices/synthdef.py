"""A voice as a compiled SynthDef: WhiteNoise through serial SOS filters to a bus.

The format is version 2 of SuperCollider's help file "Synth Definition File Format"; numbers are
big-endian.
"""

import struct

SCALAR, AUDIO = 0, 2
CONSTANT = -1

# The section of the lab's graphs, transfer function
# (0.2 + 0.3 z^-1 + 0.2 z^-2) / (1 - 0.5 z^-1 + 0.25 z^-2); SOS adds its feedback.
A0, A1, A2, B1, B2 = 0.2, 0.3, 0.2, 0.5, -0.25
CONSTANTS = [A0, A1, A2, B1, B2, 0.0]
BUS = (CONSTANT, CONSTANTS.index(0.0))
# By place, not by value: A0 and A2 are equal.
COEFFICIENTS = [(CONSTANT, place) for place in range(5)]


def pstring(string):
    """A string with its length in one byte before it."""
    return struct.pack("B", len(string)) + string.encode()


def ugen(name, inputs, outputs):
    """An audio rate unit generator; inputs are (unit generator, output) or (CONSTANT, place)."""
    head = pstring(name) + struct.pack(">biih", AUDIO, len(inputs), outputs, 0)
    wires = b"".join(struct.pack(">ii", *wire) for wire in inputs)
    return head + wires + struct.pack(">b", AUDIO) * outputs


def voice(name, sections):
    """The file of one definition: noise, `sections` filters one after the other, Out on bus 0."""
    ugens = [ugen("WhiteNoise", [], 1)]
    ugens += [ugen("SOS", [(before, 0), *COEFFICIENTS], 1) for before in range(sections)]
    ugens.append(ugen("Out", [BUS, (sections, 0)], 0))
    head = b"SCgf" + struct.pack(">ih", 2, 1) + pstring(name)
    constants = struct.pack(f">i{len(CONSTANTS)}f", len(CONSTANTS), *CONSTANTS)
    no_parameters = struct.pack(">ii", 0, 0)
    no_variants = struct.pack(">h", 0)
    count = struct.pack(">i", len(ugens))
    return head + constants + no_parameters + count + b"".join(ugens) + no_variants
